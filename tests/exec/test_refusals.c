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

static void recomputation_is_refused_by_its_letter(void **state)
{
    (void)state;
    refused("F0.0 R0.0 B0.0\n", WEFT_PLACE_SINGLE, "an op R");
}

/* The ops of "pipedream" with its B's split: there is no list in which the update after I
 * would be right, or wait for W. */
static void a_split_backward_is_refused_where_each_is_followed_by_an_update(
    void **state)
{
    static const char ops[] = "F0.0 I0.0 W0.0\n";
    weft_schedule s;
    (void)state;

    MUST(weft_schedule_read(ops, (int64_t)strlen(ops), WEFT_PLACE_SINGLE, &s));
    MUST(weft_exec_check(&s));
    strcpy(s.kind, "pipedream");
    assert_int_equal(weft_exec_check(&s), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "must not be split"));
    weft_schedule_clear(&s);
}

/* A schedule without backward passes evaluates, and does not train. */
static void forwards_alone_do_not_train(void **state)
{
    weft_arch arch;
    weft_schedule s;
    weft_exec *e = NULL;
    weft_exec_step step = {.step = 0};
    weft_exec_result r;
    int rank[1] = {0};
    (void)state;

    MUST(weft_arch_parse("layers=1,hidden=4,heads=1,vocab=4,positions=4", &arch));
    MUST(weft_schedule_make("forward", 1, 2, 1, NULL, &s));
    weft_chunk c = {.cfg = {.arch = &arch, .batch = 1, .seq = 2}};
    weft_exec_config x = {.schedule = &s, .chunk = &c, .comm_rank = rank};
    MUST(weft_exec_create(&x, &e));
    assert_int_equal(weft_exec_train(e, &step, &r), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "no backward passes"));
    weft_exec_destroy(e);
    weft_schedule_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recomputation_is_refused_by_its_letter),
        cmocka_unit_test(
            a_split_backward_is_refused_where_each_is_followed_by_an_update),
        cmocka_unit_test(forwards_alone_do_not_train)};
    return cmocka_run_group_tests_name("what the executor refuses", tests, NULL, NULL);
}
