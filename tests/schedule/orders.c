/* SPDX-License-Identifier: Apache-2.0 */
/* Orders written out, and the placements. */
#include "support.h"

static void assert_order(const char *kind, int p, int m, int v, const char *expected)
{
    weft_schedule s = made(kind, p, m, v);
    char *text = ops_text(&s);
    assert_string_equal(text, expected);
    free(text);
    weft_schedule_clear(&s);
}

static void gpipe_runs_all_forwards_then_backwards_in_ascending_order(void **state)
{
    assert_order("gpipe", 2, 3, 1,
                 "F0.0 F1.0 F2.0 B0.0 B1.0 B2.0\n"
                 "F0.0 F1.0 F2.0 B0.0 B1.0 B2.0\n");
}

static void one_f_one_b_warms_up_with_the_stages_that_follow(void **state)
{
    assert_order("1f1b", 3, 4, 1,
                 "F0.0 F1.0 F2.0 B0.0 F3.0 B1.0 B2.0 B3.0\n"
                 "F0.0 F1.0 B0.0 F2.0 B1.0 F3.0 B2.0 B3.0\n"
                 "F0.0 B0.0 F1.0 B1.0 F2.0 B2.0 F3.0 B3.0\n");
}

static void one_f_one_b_with_fewer_micro_batches_than_stages_is_capped_at_m(
    void **state)
{
    assert_order("1f1b", 4, 2, 1,
                 "F0.0 F1.0 B0.0 B1.0\n"
                 "F0.0 F1.0 B0.0 B1.0\n"
                 "F0.0 F1.0 B0.0 B1.0\n"
                 "F0.0 B0.0 F1.0 B1.0\n");
}

static void interleaved_goes_group_by_group_and_backwards_from_the_last_chunk(
    void **state)
{
    assert_order(
        "interleaved", 2, 4, 2,
        "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 "
        "B2.0 B3.0\n"
        "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 "
        "B2.0 B3.0\n");
}

static void forward_gives_its_last_group_the_remainder(void **state)
{
    assert_order("forward", 2, 3, 1, "F0.0 F1.0 F2.0\nF0.0 F1.0 F2.0\n");
    assert_order("forward", 2, 5, 2,
                 "F0.0 F1.0 F0.1 F1.1 F2.0 F3.0 F4.0 F2.1 F3.1 F4.1\n"
                 "F0.0 F1.0 F0.1 F1.1 F2.0 F3.0 F4.0 F2.1 F3.1 F4.1\n");
}

/* Small ones of every kind with a written-out order, where the recorded ones are not at
 * hand. */
static void each_kind_keeps_the_order_of_its_rule(void **state)
{
    static const struct {
        const char *kind;
        int p, m, v;
        const char *ops;
    } row[] = {
        {"eager-1f1b", 2, 3, 1,
         "F0.0 F1.0 F2.0 B0.0 B1.0 B2.0\n"
         "F0.0 B0.0 F1.0 B1.0 F2.0 B2.0\n"},
        {"pipedream", 3, 4, 1,
         "F0.0 F1.0 F2.0 B0.0 F3.0 B1.0 B2.0 B3.0\n"
         "F0.0 F1.0 B0.0 F2.0 B1.0 F3.0 B2.0 B3.0\n"
         "F0.0 B0.0 F1.0 B1.0 F2.0 B2.0 F3.0 B3.0\n"},
        {"looped-bfs", 2, 2, 2,
         "F0.0 F1.0 F0.1 F1.1 B1.1 B0.1 B1.0 B0.0\n"
         "F0.0 F1.0 F0.1 F1.1 B1.1 B0.1 B1.0 B0.0\n"},
        {"zb-h1", 3, 4, 1,
         "F0.0 F1.0 F2.0 I0.0 W0.0 F3.0 I1.0 W1.0 I2.0 W2.0 I3.0 W3.0\n"
         "F0.0 F1.0 I0.0 F2.0 I1.0 W0.0 F3.0 I2.0 W1.0 I3.0 W2.0 W3.0\n"
         "F0.0 I0.0 F1.0 I1.0 F2.0 I2.0 W0.0 F3.0 I3.0 W1.0 W2.0 W3.0\n"},
        {"zb-h2", 2, 4, 1,
         "F0.0 F1.0 F2.0 I0.0 W0.0 F3.0 I1.0 W1.0 I2.0 W2.0 I3.0 W3.0\n"
         "F0.0 I0.0 F1.0 I1.0 F2.0 I2.0 W0.0 F3.0 I3.0 W1.0 W2.0 W3.0\n"},
        {"interleaved-zb", 2, 2, 2,
         "F0.0 F1.0 F0.1 F1.1 I0.1 W0.1 I1.1 W1.1 I0.0 W0.0 I1.0 W1.0\n"
         "F0.0 F1.0 F0.1 I0.1 F1.1 I1.1 W0.1 I0.0 W1.1 I1.0 W0.0 W1.0\n"},
        {"zb-v", 2, 3, 2,
         "F0.0 F1.0 F2.0 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 I0.0 W0.0 F2.1 I2.1 "
         "W2.1 I1.0 W1.0 I2.0 W2.0\n"
         "F0.0 F0.1 F1.0 F1.1 I0.1 W0.1 F2.0 I0.0 W0.0 F2.1 I1.1 W1.1 I1.0 "
         "I2.1 I2.0 W1.0 W2.1 W2.0\n"},
        {"dualpipe", 2, 4, 2,
         "F0.0 F2.1 F1.0 B2.1 F3.1& B0.0 B3.1 I1.0 W1.0\n"
         "F2.1 F0.0 F3.1 B0.0 F1.0& B2.1 B1.0 I3.1 W3.1\n"},
        {"dualpipev", 2, 4, 2,
         "F0.0 F1.0 F2.0 F0.1 I0.1 W0.1 F1.1 F3.0& B1.1 F2.1& B0.0 B2.1 "
         "F3.1& B1.0 B3.1 I2.0 W2.0 I3.0 W3.0\n"
         "F0.0 F0.1 F1.0 F1.1 F2.0 B0.1 F2.1& B0.0 F3.0& B1.1 F3.1& B1.0 "
         "B2.1 B2.0 I3.1 I3.0 W3.1 W3.0\n"},
        {"chimera", 4, 4, 2,
         "F0.0 F1.0 F2.1 B2.1 F3.1 B3.1 B0.0 B1.0\n"
         "F0.0 F2.1 F1.0 F3.1 B2.1 B0.0 B3.1 B1.0\n"
         "F2.1 F0.0 F3.1 F1.0 B0.0 B2.1 B1.0 B3.1\n"
         "F2.1 F3.1 F0.0 B0.0 F1.0 B1.0 B2.1 B3.1\n"},
        {"bitpipe", 2, 2, 4,
         "F0.0 F1.1 F1.3 F0.2 B0.2 B1.3 B1.1 B0.0\n"
         "F1.1 F0.0 F0.2 F1.3 B1.3 B0.2 B0.0 B1.1\n"},
        {"hanayo", 2, 3, 2,
         "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 F2.0 B1.0 F2.1 B2.1 B2.0\n"
         "F0.0 F0.1 F1.0 F1.1 B0.1 B0.0 B1.1 B1.0 F2.0 F2.1 B2.1 B2.0\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_order(row[i].kind, row[i].p, row[i].m, row[i].v, row[i].ops);
}

static void zb_h1_is_interleaved_zb_with_one_chunk(void **state)
{
    for (int p = 1; p <= 6; p++) {
        for (int m = p; m <= 4 * p; m += p) {
            weft_schedule s = made("interleaved-zb", p, m, 1);
            char *text = ops_text(&s);
            assert_order("zb-h1", p, m, 1, text);
            free(text);
            weft_schedule_clear(&s);
        }
    }
}

/* Stage of (rank, chunk) by hand; cases 48 and the golden README. */
static void kinds_that_say_so_and_no_other_split_their_backwards(void **state)
{
    static const int chunks[] = {1, 2, 4};
    int seen[2] = {0, 0};

    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        const char *name = weft_schedule_kind_name(k);
        for (int p = 2; p <= 4; p++)
            for (int m = p; m <= 2 * p; m++)
                for (int c = 0; c < 3; c++) {
                    if (weft_schedule_applicable(name, p, m, chunks[c], NULL)) continue;
                    weft_schedule s = made(name, p, m, chunks[c]);
                    char *text = ops_text(&s);
                    int weights = strchr(text, 'W') != NULL;
                    if (weights != weft_schedule_kind_splits(k))
                        fail_msg("%s -p %d -m %d -v %d", name, p, m, chunks[c]);
                    seen[weights]++;
                    free(text);
                    weft_schedule_clear(&s);
                }
    }
    assert_true(seen[0] > 100 && seen[1] > 100);
}

static void stages_are_placed_as_the_header_says(void **state)
{
    static const struct {
        weft_placement_kind placement;
        int v, stage[16]; /* [4][v] */
    } row[] = {
        {WEFT_PLACE_SINGLE, 1, {0, 1, 2, 3}},
        {WEFT_PLACE_LOOP, 2, {0, 4, 1, 5, 2, 6, 3, 7}},
        {WEFT_PLACE_V, 2, {0, 7, 1, 6, 2, 5, 3, 4}},
        {WEFT_PLACE_V, 3, {0, 7, 8, 1, 6, 9, 2, 5, 10, 3, 4, 11}},
        {WEFT_PLACE_BIDIR, 2, {0, 3, 1, 2, 2, 1, 3, 0}},
        {WEFT_PLACE_BIDIRV, 4, {0, 3, 7, 4, 1, 2, 6, 5, 2, 1, 5, 6, 3, 0, 4, 7}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        weft_schedule s = {
            .p = 4, .m = 8, .v = row[i].v, .placement = row[i].placement};
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < s.v; c++)
                assert_int_equal(weft_schedule_stage(&s, r, c),
                                 row[i].stage[r * s.v + c]);
    }
}

static void holder_inverts_stage_for_every_placement(void **state)
{
    static const int chunks[] = {1, 3, 5, 2, 4};
    for (int place = WEFT_PLACE_SINGLE; place <= WEFT_PLACE_BIDIRV; place++) {
        for (int p = 1; p <= 6; p++) {
            weft_schedule s = {.p = p, .m = 5, .v = chunks[place]};
            s.placement = (weft_placement_kind)place;
            int two_ways = place >= WEFT_PLACE_BIDIR;
            for (int r = 0; r < p; r++) {
                for (int c = 0; c < s.v; c++) {
                    int rank, chunk, up = two_ways && (c & 1);
                    weft_schedule_holder(&s, weft_schedule_stage(&s, r, c), up ? 4 : 0,
                                         &rank, &chunk);
                    assert_int_equal(rank, r);
                    assert_int_equal(chunk, c);
                }
            }
        }
    }
}

static void placements_have_names(void **state)
{
    weft_placement_kind k;
    for (int i = WEFT_PLACE_SINGLE; i <= WEFT_PLACE_BIDIRV; i++) {
        assert_ok(weft_placement_find(weft_placement_name((weft_placement_kind)i), &k));
        assert_int_equal(k, i);
    }
    assert_null(weft_placement_name((weft_placement_kind)5));
    assert_fails(weft_placement_find("bidr", &k), WEFT_E_INVALID, "nearest is bidir");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_runs_all_forwards_then_backwards_in_ascending_order),
        cmocka_unit_test(one_f_one_b_warms_up_with_the_stages_that_follow),
        cmocka_unit_test(
            one_f_one_b_with_fewer_micro_batches_than_stages_is_capped_at_m),
        cmocka_unit_test(
            interleaved_goes_group_by_group_and_backwards_from_the_last_chunk),
        cmocka_unit_test(forward_gives_its_last_group_the_remainder),
        cmocka_unit_test(each_kind_keeps_the_order_of_its_rule),
        cmocka_unit_test(zb_h1_is_interleaved_zb_with_one_chunk),
        cmocka_unit_test(kinds_that_say_so_and_no_other_split_their_backwards),
        cmocka_unit_test(stages_are_placed_as_the_header_says),
        cmocka_unit_test(holder_inverts_stage_for_every_placement),
        cmocka_unit_test(placements_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
