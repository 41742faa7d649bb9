/* SPDX-License-Identifier: Apache-2.0 */
/* What this executor cannot run it refuses by name, before anything starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <weft/run/exec.h>

#include "claim.h"

static void refused(const char *ops, weft_placement_kind placement, const char *words)
{
    weft_arch arch;
    weft_schedule s;
    weft_exec *e = NULL;
    int rank[2] = {0, 1};

    MUST(weft_arch_parse("layers=1,hidden=4,heads=1,vocab=4,positions=4", &arch));
    MUST(weft_schedule_read(ops, (int64_t)strlen(ops), placement, &s));
    weft_chunk c = {.cfg = {.arch = &arch, .batch = 1, .seq = 2}};
    weft_exec_config x = {.schedule = &s, .chunk = &c, .comm_rank = rank};
    assert_int_equal(weft_exec_create(&x, &e), WEFT_E_INVALID);
    assert_null(e);
    if (!strstr(weft_status_message(), words))
        fail_msg("\"%s\" lacks \"%s\"", weft_status_message(), words);
    weft_schedule_clear(&s);
}

static void two_copies_of_the_weights_are_refused(void **state)
{
    (void)state;
    refused("F0.0 F1.1 B0.0 B1.1\nF0.0 F1.1 B0.0 B1.1\n", WEFT_PLACE_BIDIR,
            "two copies of the weights");
}

static void recomputation_is_refused_by_its_letter(void **state)
{
    (void)state;
    refused("F0.0 R0.0 B0.0\n", WEFT_PLACE_SINGLE, "an op R");
}

static void versions_of_the_weights_are_refused(void **state)
{
    weft_arch arch;
    weft_schedule s;
    weft_exec *e = NULL;
    int rank[2] = {0, 1};
    (void)state;

    MUST(weft_arch_parse("layers=2,hidden=4,heads=1,vocab=4,positions=4", &arch));
    MUST(weft_schedule_make("pipedream", 2, 4, 1, NULL, &s));
    weft_chunk c = {.cfg = {.arch = &arch, .batch = 1, .seq = 2}};
    weft_exec_config x = {.schedule = &s, .chunk = &c, .comm_rank = rank};
    assert_int_equal(weft_exec_create(&x, &e), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "versions of the weights"));
    weft_schedule_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_copies_of_the_weights_are_refused),
        cmocka_unit_test(recomputation_is_refused_by_its_letter),
        cmocka_unit_test(versions_of_the_weights_are_refused)};
    return cmocka_run_group_tests_name("what the executor refuses", tests, NULL, NULL);
}
