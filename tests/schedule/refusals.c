/* SPDX-License-Identifier: Apache-2.0 */
/* What a generator refuses, and in which words. */
#include "support.h"

static weft_status applies(const char *kind, int p, int m, int v, int64_t group)
{
    return weft_schedule_applicable(kind, p, m, v,
                                    &(weft_schedule_options){.group = group});
}

static void assert_refused(const char *kind, int p, int m, int v, int64_t group,
                           const char *words)
{
    assert_int_equal(applies(kind, p, m, v, group), WEFT_E_INVALID);
    weft_schedule s = {.p = -7};
    weft_schedule_options opt = {.group = group};
    assert_fails(weft_schedule_make(kind, p, m, v, &opt, &s), WEFT_E_INVALID, words);
    assert_int_equal(s.p, -7); /* untouched */
}

static void ranges_name_the_flag(void **state)
{
    assert_refused("gpipe", 0, 4, 1, 0, "-p 0");
    assert_refused("gpipe", 4097, 4, 1, 0, "-p 4097: 1 to 4096");
    assert_refused("1f1b", 4, 0, 1, 0, "-m 0");
    assert_refused("1f1b", 4, -3, 1, 0, "-m -3");
    assert_refused("interleaved", 4, 8, 256, 0, "-v 256: 1 to 255");
    assert_refused("1f1b", 4, 8, 1, 4, "--group 4: 1f1b has no groups");
    assert_refused("interleaved", 4, 8, 2, -1, "--group -1");
    assert_refused("gpipe", 4096, 1 << 20, 1, 0, "-m 262144 is the most");
}

static void more_than_one_chunk_is_refused_where_a_rank_holds_one_stage(void **state)
{
    assert_refused("gpipe", 4, 8, 2, 0, "-v 2: gpipe holds one stage per rank");
    assert_refused("1f1b", 4, 8, 3, 0, "interleaved takes -v 3");
    assert_refused("interleaved", 4, 8, 1, 0, "1f1b is the case of 1");
}

static void a_fixed_number_of_chunks_is_said_with_its_reason(void **state)
{
    assert_refused("zb-v", 4, 8, 1, 0, "-v 1: zb-v holds two chunks per rank (a V)");
    assert_refused("dualpipev", 4, 8, 3, 0, "-v 2 is needed");
    assert_refused("dualpipe", 4, 8, 1, 0, "one for each direction, -v 2 is needed");
    assert_refused("chimera", 4, 8, 4, 0, "-v 2 is needed");
    assert_refused("bitpipe", 4, 8, 2, 0, "four half-stages per rank");
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const char *kind = weft_schedule_kind_name(weft_schedule_kind_at(i));
        weft_schedule s;
        assert_ok(weft_schedule_make(kind, 4, 16, 0, NULL, &s)); /* its own number */
        assert_true(s.v >= 1);
        if (!strcmp(kind, "interleaved")) assert_int_equal(s.v, 2);
        weft_schedule_clear(&s);
    }
}

static void case47_dualpipe_needs_even_p_even_m_and_2p_micro_batches(void **state)
{
    assert_refused("dualpipe", 7, 16, 2, 0, "-p 7: ");
    assert_refused("dualpipe", 7, 16, 2, 0, "must be even; nearest are 6 and 8");
    assert_refused("dualpipe", 3, 6, 2, 0, "nearest are 2 and 4");
    assert_refused("dualpipe", 1, 6, 2, 0, "-p 1: ");
    assert_refused("dualpipe", 8, 15, 2, 0,
                   "-m must be even; nearest are 16 and 18"); /* 14 is below 2p */
    assert_refused("dualpipe", 8, 21, 2, 0, "nearest are 20 and 22");
    assert_refused("dualpipe", 4, 7, 2, 0, "-m 7: ");
    assert_refused("dualpipe", 8, 14, 2, 0,
                   "-m 14 with -p 8: dualpipe needs 2p micro-batches, -m 16 is the "
                   "least");
    assert_refused("dualpipe", 4, 6, 2, 0, "-m 8 is the least");
    assert_ok(applies("dualpipe", 8, 16, 2, 0));
    weft_schedule s = made("dualpipe", 8, 16, 2);
    for (int r = 0; r < 8; r++) {
        assert_int_equal(weft_schedule_stage(&s, r, 0), r);
        assert_int_equal(weft_schedule_stage(&s, r, 1), 7 - r);
    }
    weft_schedule_clear(&s);
    assert_refused("dualpipev", 4, 7, 2, 0, "-m 8 is the least");
    assert_ok(applies("dualpipev", 7, 15, 2, 0)); /* no rule of parity */
    assert_ok(applies("dualpipev", 1, 2, 2, 0));
}

static void chimera_and_bitpipe_go_in_units_of_p_over_an_even_p(void **state)
{
    assert_refused("bitpipe", 4, 6, 4, 0, "nearest are 4 and 8");
    assert_refused("bitpipe", 3, 6, 4, 0, "-p 3: the two directions of bitpipe");
    assert_refused("chimera", 4, 2, 2, 0, "-m 4 is the least");
    assert_refused("chimera", 6, 16, 2, 0, "nearest are 12 and 18");
    assert_refused("chimera", 5, 10, 2, 0, "must be even; nearest are 4 and 6");
}

static void options_of_the_search_are_refused_where_the_order_is_fixed(void **state)
{
    weft_schedule_options limit = {.mem_limit = 3}, v = {.placement = WEFT_PLACE_V};
    assert_fails(weft_schedule_applicable("1f1b", 4, 8, 1, &limit), WEFT_E_INVALID,
                 "--mem-limit 3: the order of 1f1b is fixed");
    assert_fails(
        weft_schedule_applicable("zb-h1", 4, 8, 1, &v), WEFT_E_INVALID,
        "--placement v: zb-h1 has its own, single; zb-auto and optimal take one");
    assert_ok(weft_schedule_applicable("zb-v", 4, 8, 2, &v)); /* its own */
}

static void an_unknown_kind_is_answered_with_the_nearest(void **state)
{
    const weft_schedule_kind *k = NULL;
    assert_refused("1f1d", 4, 8, 1, 0, "nearest is 1f1b");
    assert_refused("interleave", 4, 8, 2, 0, "nearest is interleaved");
    assert_fails(weft_schedule_kind_require("xyzzyxyzzy", &k), WEFT_E_INVALID,
                 "there are gpipe 1f1b ");
    assert_null(k);
    assert_null(weft_schedule_kind_find("GPipe2"));
}

static void every_kind_describes_itself(void **state)
{
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i), *again = NULL;
        assert_ok(weft_schedule_kind_require(weft_schedule_kind_name(k), &again));
        assert_ptr_equal(k, again);
        assert_true(strlen(weft_schedule_kind_name(k)) < 16);
        assert_true(strlen(weft_schedule_kind_summary(k)) > 10);
        assert_true(strlen(weft_schedule_kind_source(k)) > 10);
    }
    assert_null(weft_schedule_kind_at(-1));
    assert_null(weft_schedule_kind_at(weft_schedule_kind_count()));
}

static void assert_group(int p, int m, int expected)
{
    weft_schedule s = made("interleaved", p, m, 2);
    assert_int_equal(s.group, expected);
    weft_schedule_clear(&s);
}

static void case38_default_group_is_p_or_equal_groups_of_at_least_p(void **state)
{
    assert_group(4, 8, 4);
    assert_group(4, 10, 5);
    assert_group(4, 3, 3);
    assert_group(6, 3, 3);
    assert_refused(
        "interleaved", 4, 9, 2, 0,
        "-m 9 with -p 4: 9 micro-batches do not split into 2 equal groups of at "
        "least 4; nearest -m are 8 and 10");
    /* PyTorch's negative vectors */
    assert_refused("interleaved", 2, 5, 2, 0, "nearest -m are 4 and 6");
    assert_refused("interleaved", 3, 7, 2, 0, "nearest -m are 6 and 8");
    assert_refused("interleaved", 16, 100, 2, 0, "nearest -m are 96 and 102");
}

/* Groups below p hold less and take longer; below p/2 ranks wait for each other. */
static void interleaved_zb_takes_groups_down_to_half_of_p(void **state)
{
    assert_ok(applies("interleaved-zb", 8, 16, 2, 4));
    assert_ok(applies("interleaved-zb", 4, 8, 2, 3)); /* the last has 2 */
    assert_refused("interleaved-zb", 8, 16, 2, 3, "a group of 3 is smaller than half");
    assert_refused("interleaved-zb", 8, 16, 2, 3, "deadlock: rank");
    assert_refused("interleaved-zb", 8, 17, 2, 8, "a last group of 1");
    assert_refused("interleaved-zb", 2, 5, 2, 0, "nearest -m are 4 and 6");
    assert_refused("interleaved-zb", 3, 7, 2, 0, "nearest -m are 6 and 8");
    assert_refused("interleaved-zb", 16, 100, 2, 0, "nearest -m are 96 and 102");
    assert_refused("interleaved-zb", 4, 9, 2, 0, "nearest -m are 8 and 10");
    for (int p = 1; p <= 7; p++)
        for (int m = 1; m <= 2 * p; m++)
            for (int group = 1; group <= m; group++)
                for (int v = 2; v <= 4; v++) {
                    if (applies("interleaved-zb", p, m, v, group) != WEFT_OK) continue;
                    weft_schedule s = made_group("interleaved-zb", p, m, v, group);
                    assert_ok(weft_schedule_check(&s, 1, NULL));
                    weft_schedule_clear(&s);
                }
}

static void case38_a_short_last_group_is_refused_as_slow_with_both_times(void **state)
{
    assert_refused("interleaved", 4, 5, 2, 4, "slow: 48 instead of 39");
    assert_refused("interleaved", 4, 6, 2, 4, "slow: 55 instead of 45");
    assert_refused("interleaved", 4, 9, 2, 4, "slow: 74 instead of 63");
    assert_refused("interleaved", 4, 6, 2, 4, "nearest is 6");
    assert_refused("interleaved", 4, 13, 2, 4, "a last group of 1, smaller than -p 4");
    assert_refused("interleaved", 4, 13, 2, 6, "nearest is 7");
    assert_refused("interleaved", 2, 5, 2, 2, "a last group of 1, smaller than -p 2");
}

static void case38_a_group_below_p_is_refused_as_a_deadlock_with_its_cycle(void **state)
{
    assert_refused("interleaved", 4, 8, 2, 2, "a group of 2 is smaller than -p 4");
    assert_refused("interleaved", 4, 8, 2, 2, "deadlock: rank");
    assert_refused("interleaved", 4, 8, 2, 3, "deadlock: rank");
    assert_refused("interleaved", 8, 12, 2, 8, "deadlock: rank");
    assert_refused("interleaved", 8, 12, 2, 8, "nearest is 12");
    assert_refused("interleaved", 2, 4, 2, 1, "slow: 39 instead of 27");
    assert_refused("interleaved", 4, 3, 2, 4,
                   "--group 4 is more than -m 3; -m itself is the largest");
    assert_refused("interleaved", 4, 8, 2, INT64_MAX,
                   "--group 9223372036854775807 is more than -m 8");
}

/* Everything accepted runs at the closed form; everything refused would not. */
static void exactly_the_groups_that_reach_the_closed_form_are_accepted(void **state)
{
    int accepted = 0, refused = 0;
    for (int p = 1; p <= 5; p++) {
        for (int m = 1; m <= 12; m++) {
            for (int group = 1; group <= m; group++) {
                for (int v = 2; v <= 3; v++) {
                    if (applies("interleaved", p, m, v, group) != WEFT_OK) {
                        const char *words = weft_status_message();
                        weft_schedule none;
                        assert_non_null(strstr(words, "slow or a deadlock; nearest"));
                        assert_int_equal(
                            weft_schedule_make("interleaved", p, m, v,
                                               &(weft_schedule_options){.group = group},
                                               &none),
                            WEFT_E_INVALID);
                        assert_true(strstr(words, "slow: ") ||
                                    strstr(words, "deadlock: "));
                        refused++;
                        continue;
                    }
                    weft_schedule s = made_group("interleaved", p, m, v, group);
                    assert_near(makespan(&s, 3, 4),
                                weft_schedule_closed_makespan(&s, 3, 4));
                    weft_schedule_clear(&s);
                    accepted++;
                }
            }
        }
    }
    assert_int_equal(accepted + refused, 5 * 2 * (12 * 13 / 2));
    assert_true(accepted > 200 && refused > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_name_the_flag),
        cmocka_unit_test(more_than_one_chunk_is_refused_where_a_rank_holds_one_stage),
        cmocka_unit_test(a_fixed_number_of_chunks_is_said_with_its_reason),
        cmocka_unit_test(case47_dualpipe_needs_even_p_even_m_and_2p_micro_batches),
        cmocka_unit_test(chimera_and_bitpipe_go_in_units_of_p_over_an_even_p),
        cmocka_unit_test(options_of_the_search_are_refused_where_the_order_is_fixed),
        cmocka_unit_test(interleaved_zb_takes_groups_down_to_half_of_p),
        cmocka_unit_test(an_unknown_kind_is_answered_with_the_nearest),
        cmocka_unit_test(every_kind_describes_itself),
        cmocka_unit_test(case38_default_group_is_p_or_equal_groups_of_at_least_p),
        cmocka_unit_test(case38_a_short_last_group_is_refused_as_slow_with_both_times),
        cmocka_unit_test(
            case38_a_group_below_p_is_refused_as_a_deadlock_with_its_cycle),
        cmocka_unit_test(exactly_the_groups_that_reach_the_closed_form_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
