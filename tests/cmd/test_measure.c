/* SPDX-License-Identifier: Apache-2.0 */
/* weft machine measure, and train --machine, as users type them. */
#define _DEFAULT_SOURCE /* getloadavg */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/run.h"
#include "skip.h"

static const char model[] = "layers=2,hidden=32,heads=2,vocab=256,positions=16";

static int measure_once(void **state)
{
    if (make_folder(state)) return 1;
    result r = weft("machine measure --quick --seconds 0.2 --ranks 2 --dtype f32 "
                    "--name lab -o lab.json");
    if (r.rc) fprintf(stderr, "%s", r.err);
    int rc = r.rc;
    done(&r);
    return rc;
}

static void the_file_says_of_what_it_was_measured(void **state)
{
    json_t *j = json_load_file("lab.json", 0, NULL);
    assert_non_null(j);
    const char *source = json_string_value(json_object_get(j, "source"));
    assert_non_null(strstr(source, "2 ranks of 1 thread on cpus "));
    assert_non_null(strstr(source, " by weft "));
    assert_non_null(strstr(source, ", loop, "));
    assert_int_equal(strncmp(source, "measured 2", 10), 0);
    assert_string_equal(json_string_value(json_object_get(j, "name")), "lab");
    assert_true(number(j, "ranks_per_node") == 2 && number(j, "nodes") == 1);
    assert_true(json_array_size(json_object_get(j, "gemms")) >= 10);
    json_decref(j);
}

static void show_takes_the_file(void **state)
{
    result r = weft("machine show ./lab.json");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "all-reduce"));
    assert_non_null(strstr(r.out, "p2p"));
    done(&r);
}

/* Between loads that are clearly low and high, either is right: it changes meanwhile. */
static void a_busy_machine_is_said_to_be(void **state)
{
    double load, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) < 1) SKIP_NEEDS("loadavg", "the load is not known");
    result r = weft("machine measure --quick --seconds 0.1 --ranks 1 --dtype f32");
    int said = strstr(r.err, "note: the load average is ") != NULL;
    assert_int_equal(r.rc, 0);
    if (load > 0.6 * cores) assert_true(said);
    if (load < 0.4 * cores) assert_false(said);
    done(&r);
    r = weft(
        "train --comm loop --machine ./lab.json --dtype f32 --threads 1 --dry-run");
    said = strstr(r.err, "weft train: note: the load average is ") != NULL;
    assert_int_equal(r.rc, 0);
    if (load > 0.6 * cores) assert_true(said);
    if (load < 0.4 * cores) assert_false(said);
    done(&r);
}

static void without_a_file_it_is_json_on_the_standard_output(void **state)
{
    json_t *j =
        weft_json("machine measure --quick --seconds 0.1 --ranks 1 --dtype f32");
    assert_true(number(j, "ranks_per_node") == 1);
    json_decref(j);
}

static void what_cannot_be_measured_is_refused_by_name(void **state)
{
    refuses(2, "f32", "machine measure --dtype f31 -o no.json");
    refuses(2, "names f32 twice", "machine measure --dtype f32,f32 -o no.json");
    refuses(2, "--ranks", "machine measure --ranks -1 -o no.json");
    refuses(2, "no/such/no.json", "machine measure -o no/such/no.json");
    refuses(2, "unexpected word", "machine measure no.json");
    assert_null(read_text("no.json"));
}

static const json_t *last_line(const char *name, json_t **out)
{
    char *text = read_text(name), *at = strrchr(text, '{'), *line = text;
    assert_non_null(at);
    for (char *p = text; *p; p++)
        if (p[0] == '\n' && p[1]) line = p + 1;
    *out = json_loads(line, 0, NULL);
    free(text);
    assert_non_null(*out);
    return *out;
}

/* Class by class what the arenas had; the step's time is whatever this machine takes. */
static void train_compares_time_and_memory_with_the_machine(void **state)
{
    json_t *j;
    const json_t *row;
    size_t i;
    result r = weft("train --model %s --data lab.json --dtype f32 --backend ref "
                    "--pp 2 --train-iters 4 --eval-iters 0 --machine ./lab.json "
                    "--compare --log run.jsonl",
                    model);
    if (r.rc) fail_msg("%s", r.err);
    assert_non_null(strstr(r.out, "on machine lab: a step of "));
    assert_non_null(strstr(r.out, "machine lab: step predicted "));
    done(&r);
    last_line("run.jsonl", &j);
    assert_string_equal(json_string_value(json_object_get(j, "event")), "machine");
    assert_true(number(j, "predicted_step_s") > 0 && number(j, "measured_step_s") > 0);
    assert_int_equal(json_array_size(json_object_get(j, "memory")), 2 * 7);
    json_array_foreach(json_object_get(j, "memory"), i, row)
    {
        assert_true(number(row, "predicted_bytes") == number(row, "used_bytes"));
    }
    json_decref(j);
}

static void a_dry_run_says_what_a_step_would_take(void **state)
{
    result r = weft("train --model %s --dp 2 --machine ./lab.json --dry-run", model);
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "on machine lab: a step of "));
    done(&r);
    refuses(2, "lab.json",
            "train --model %s --dp 4 --machine ./lab.json --dry-run "
            "--global-batch 4 --micro-batch 1 --machine ./nolab.json",
            model);
    refuses(
        2,
        "--machine ./lab.json was measured on 2 ranks, this run has 4; weft machine "
        "measure --ranks 4 -o FILE",
        "train --model %s --dp 4 --machine ./lab.json --dry-run", model);
    refuses(2,
            "--machine h100:1x2 has 2 ranks, this run has 5; 3 nodes of 2 are needed",
            "train --model %s --dp 5 --machine h100:1x2 --dry-run", model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_says_of_what_it_was_measured),
        cmocka_unit_test(show_takes_the_file),
        cmocka_unit_test(a_busy_machine_is_said_to_be),
        cmocka_unit_test(without_a_file_it_is_json_on_the_standard_output),
        cmocka_unit_test(what_cannot_be_measured_is_refused_by_name),
        cmocka_unit_test(train_compares_time_and_memory_with_the_machine),
        cmocka_unit_test(a_dry_run_says_what_a_step_would_take)};
    return cmocka_run_group_tests_name("measure", tests, measure_once, remove_folder);
}
