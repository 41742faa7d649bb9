/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* getloadavg */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/test_cmd.h"
#include "skip.h"

static const json_t *finding(const json_t *report, const char *name)
{
    const json_t *all = json_object_get(report, "findings"), *v;
    size_t i;
    json_array_foreach(all, i, v)
    {
        if (!strcmp(json_string_value(json_object_get(v, "name")), name)) return v;
    }
    return NULL;
}

static const char *level(const json_t *report, const char *name)
{
    const json_t *v = finding(report, name);
    if (!v) fail_msg("there is no finding '%s'", name);
    return json_string_value(json_object_get(v, "level"));
}

static json_t *examine(const char *environment, const char *words, int rc)
{
    char name[32] = "doctor.sh";
    char text[1024];
    snprintf(text, sizeof text, "%s %s doctor --json %s\n", environment, WEFT_PROGRAM,
             words);
    write_text(name, text);
    int status = system("sh doctor.sh > doctor.json");
    assert_int_equal(status / 256, rc);
    json_t *report = json_load_file("doctor.json", 0, NULL);
    assert_non_null(report);
    return report;
}

static void findings_have_a_level_and_problems_have_a_fix(void **state)
{
    result r = weft("doctor --ranks 1");
    assert_true(r.rc == 0 || r.rc == 1);
    assert_non_null(strstr(r.out, "cpu mask"));
    done(&r);
    r = weft("doctor --ranks 1 --json");
    json_t *report = json_loads(r.out, 0, NULL);
    const json_t *all = json_object_get(report, "findings"), *v;
    size_t i;
    assert_true(json_array_size(all) >= 8);
    assert_int_equal(r.rc, number(report, "breaks") > 0);
    json_array_foreach(all, i, v)
    {
        const char *l = json_string_value(json_object_get(v, "level"));
        if (!strcmp(l, "breaks") || !strcmp(l, "slow"))
            assert_true(json_is_string(json_object_get(v, "fix")));
    }
    json_decref(report);
    done(&r);
}

static void more_threads_than_cpus_are_slow(void **state)
{
    json_t *report = examine("env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u PMIX_RANK",
                             "--ranks 64 --threads 64 || true", 0);
    assert_string_equal(level(report, "ranks"), "slow");
    json_decref(report);
}

/* Between loads that are clearly low and high, either is right: it changes meanwhile. */
static void a_busy_machine_is_slow(void **state)
{
    double load, cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) < 1) SKIP_NEEDS("loadavg", "the load is not known");
    json_t *report = examine("env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u PMIX_RANK",
                             "--ranks 1 || true", 0);
    if (load > 0.6 * cpus) assert_string_equal(level(report, "load"), "slow");
    if (load < 0.4 * cpus) assert_string_equal(level(report, "load"), "ok");
    json_decref(report);
}

/* Case 125: the launcher binds a rank to one core, its threads share it. */
static void case_125_a_rank_bound_to_one_core_with_two_threads_is_told(void **state)
{
    result r = weft("--version; nproc > nproc; taskset -V");
    char *cpus = read_text("nproc");
    int enough = r.rc == 0 && strcmp(cpus, "1\n");
    free(cpus);
    done(&r);
    if (!enough) SKIP_NEEDS("cores:2", "one core: nothing to bind to");
    json_t *report = examine("OMPI_COMM_WORLD_SIZE=2 taskset -c 0",
                             "--ranks 1 --threads 2 || true", 0);
    assert_string_equal(level(report, "cpu mask"), "slow");
    const char *fix =
        json_string_value(json_object_get(finding(report, "cpu mask"), "fix"));
    assert_non_null(strstr(fix, "--bind-to none"));
    json_decref(report);
}

/* Case 126: /dev/shm too small for the ranks is a bus error later. */
static void case_126_shared_memory_too_small_breaks(void **state)
{
    json_t *report = examine("", "--ranks 65536", 1);
    assert_string_equal(level(report, "shared memory"), "breaks");
    assert_string_equal(level(report, "memory"), "breaks");
    assert_string_equal(level(report, "open files"), "breaks");
    json_decref(report);
}

static void case_126_single_copy_is_tried(void **state)
{
    json_t *report = examine("", "--ranks 1 || true", 0);
    assert_non_null(finding(report, "single copy"));
    json_decref(report);
}

static void a_temporary_folder_that_cannot_be_used_breaks(void **state)
{
    json_t *report = examine("TMPDIR=/nowhere", "--ranks 1", 1);
    assert_string_equal(level(report, "temporary"), "breaks");
    json_decref(report);
}

static void a_folder_without_status_files_is_told(void **state)
{
    refuses(2, "/nowhere: no status of rank 0", "doctor --status /nowhere");
}

const struct CMUnitTest doctor_tests[] = {
    cmocka_unit_test(findings_have_a_level_and_problems_have_a_fix),
    cmocka_unit_test(more_threads_than_cpus_are_slow),
    cmocka_unit_test(a_busy_machine_is_slow),
    cmocka_unit_test(case_125_a_rank_bound_to_one_core_with_two_threads_is_told),
    cmocka_unit_test(case_126_shared_memory_too_small_breaks),
    cmocka_unit_test(case_126_single_copy_is_tried),
    cmocka_unit_test(a_temporary_folder_that_cannot_be_used_breaks),
    cmocka_unit_test(a_folder_without_status_files_is_told),
};
const int n_doctor_tests = sizeof doctor_tests / sizeof *doctor_tests;
