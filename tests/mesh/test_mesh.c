/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/mesh.h>

#define BIT(a) (1u << (a))

static weft_mesh make(int tp, int cp, int pp, int dp, const char *order)
{
    const int degree[WEFT_MAX_AXES] = {
        [WEFT_TP] = tp, [WEFT_CP] = cp, [WEFT_PP] = pp, [WEFT_DP] = dp};
    weft_mesh m;
    assert_int_equal(weft_mesh_make(degree, order, &m), WEFT_OK);
    return m;
}

static void assert_group(const weft_mesh *m, int rank, unsigned axes, int n,
                         const int *want)
{
    int got_n, got[64];
    assert_int_equal(weft_mesh_group(m, rank, axes, &got_n, got), WEFT_OK);
    assert_int_equal(got_n, n);
    assert_memory_equal(got, want, (size_t)n * sizeof *want);
}

/* Case 123: the lesson's order (PP inside DP) beside Megatron's (DP inside PP). */
static void case_123_order_decides_where_rank_13_sits(void **state)
{
    weft_mesh a = make(2, 1, 4, 2, "tp,cp,pp,dp");
    assert_int_equal(weft_mesh_coord_of(&a, 13, WEFT_TP), 1);
    assert_int_equal(weft_mesh_coord_of(&a, 13, WEFT_PP), 2);
    assert_int_equal(weft_mesh_coord_of(&a, 13, WEFT_DP), 1);
    assert_group(&a, 0, BIT(WEFT_PP), 4, (int[]){0, 2, 4, 6});
    assert_group(&a, 7, BIT(WEFT_PP), 4, (int[]){1, 3, 5, 7});
    assert_group(&a, 12, BIT(WEFT_PP), 4, (int[]){8, 10, 12, 14});
    assert_group(&a, 9, BIT(WEFT_PP), 4, (int[]){9, 11, 13, 15});
    assert_group(&a, 8, BIT(WEFT_DP), 2, (int[]){0, 8});

    weft_mesh b = make(2, 1, 4, 2, "tp-cp-dp-pp");
    assert_int_equal(weft_mesh_coord_of(&b, 13, WEFT_TP), 1);
    assert_int_equal(weft_mesh_coord_of(&b, 13, WEFT_DP), 0);
    assert_int_equal(weft_mesh_coord_of(&b, 13, WEFT_PP), 3);
    assert_group(&b, 0, BIT(WEFT_PP), 4, (int[]){0, 4, 8, 12});
}

static void case_123_context_groups_are_consecutive_ranks(void **state)
{
    weft_mesh m = make(1, 16, 1, 2, NULL);
    int want[16];
    for (int i = 0; i < 16; i++)
        want[i] = 16 + i;
    assert_group(&m, 20, BIT(WEFT_CP), 16, want);
    assert_group(&m, 0, BIT(WEFT_DP), 2, (int[]){0, 16});
}

/* Case 122: with node = rank % 2 the TP group spans both nodes; with rank / 4 it does not. */
static void case_122_tp_group_is_consecutive_so_only_round_robin_splits_it(void **state)
{
    weft_mesh m = make(4, 1, 1, 2, NULL);
    int ranks[4], round_robin = 0, by_slot = 0;
    assert_int_equal(weft_mesh_group(&m, 0, BIT(WEFT_TP), NULL, ranks), WEFT_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ranks[i], i);
        round_robin |= 1 << ranks[i] % 2;
        by_slot |= 1 << ranks[i] / 4;
    }
    assert_int_equal(round_robin, 3);
    assert_int_equal(by_slot, 1);
}

static void L52_world_size_is_the_product_of_the_degrees(void **state)
{
    for (int d = 1; d <= 5; d++)
        for (int t = 1; t <= 5; t++)
            for (int p = 1; p <= 5; p++) {
                weft_mesh m = make(t, 1, p, d, NULL);
                assert_int_equal(weft_mesh_world(&m), d * t * p);
            }
}

static const char *const orders[] = {"tp,cp,pp,dp", "dp,pp,cp,tp", "cp,tp,dp,pp",
                                     "pp-dp-tp-cp"};

/* Independent of the digit arithmetic: two ranks are in one group when their coordinates
 * outside the set agree. */
static int same_group(const weft_mesh *m, unsigned axes, int a, int b)
{
    for (int x = 0; x < WEFT_N_AXES; x++)
        if (!(axes >> x & 1) && weft_mesh_coord_of(m, a, (weft_axis)x) !=
                                    weft_mesh_coord_of(m, b, (weft_axis)x))
            return 0;
    return 1;
}

static void check_partition(const weft_mesh *m, unsigned axes)
{
    int world = weft_mesh_world(m), size = weft_mesh_group_size(m, axes);
    int n, ranks[256], seen[256] = {0}, last_first = -1;

    for (int g = 0; g < weft_mesh_group_count(m, axes); g++) {
        int first = weft_mesh_group_first(m, axes, g);
        assert_true(first > last_first);
        last_first = first;
        assert_int_equal(weft_mesh_group(m, first, axes, &n, ranks), WEFT_OK);
        assert_int_equal(n, size);
        assert_int_equal(ranks[0], first);
        for (int i = 0; i < n; i++) {
            if (i) assert_true(ranks[i] > ranks[i - 1]);
            assert_true(same_group(m, axes, first, ranks[i]));
            assert_int_equal(weft_mesh_group_index(m, axes, ranks[i]), g);
            assert_int_equal(seen[ranks[i]]++, 0);
        }
    }
    for (int r = 0; r < world; r++)
        assert_int_equal(seen[r], 1);
}

static void groups_of_every_axis_set_partition_the_ranks(void **state)
{
    for (int o = 0; o < 4; o++) {
        weft_mesh m = make(2, 3, 4, 3, orders[o]);
        for (unsigned axes = 0; axes < BIT(WEFT_N_AXES); axes++)
            check_partition(&m, axes);
    }
}

static void rank_and_coordinates_are_inverse(void **state)
{
    for (int o = 0; o < 4; o++) {
        weft_mesh m = make(3, 2, 4, 2, orders[o]);
        for (int r = 0; r < weft_mesh_world(&m); r++) {
            int by_axis[WEFT_MAX_AXES] = {0}, by_place[WEFT_MAX_AXES];
            for (int x = 0; x < WEFT_N_AXES; x++)
                by_axis[x] = weft_mesh_coord_of(&m, r, (weft_axis)x);
            assert_int_equal(weft_mesh_rank(&m, by_axis), r);
            assert_int_equal(weft_mesh_coord(&m, r, by_place), WEFT_OK);
            for (int a = 0; a < m.n_axes; a++)
                assert_int_equal(by_place[a], by_axis[m.axis[a]]);
        }
        int outside[WEFT_MAX_AXES] = {[WEFT_TP] = 3};
        assert_int_equal(weft_mesh_rank(&m, outside), -1);
        outside[WEFT_TP] = -1;
        assert_int_equal(weft_mesh_rank(&m, outside), -1);
    }
}

static void neighbours_move_one_coordinate_and_stop_or_go_round(void **state)
{
    weft_mesh m = make(2, 1, 4, 2, NULL);
    for (int r = 0; r < 16; r++) {
        int pp = weft_mesh_coord_of(&m, r, WEFT_PP);
        int next = weft_mesh_neighbour(&m, r, WEFT_PP, 1, 0);
        assert_int_equal(next, pp == 3 ? -1 : r + 2);
        int prev = weft_mesh_neighbour(&m, r, WEFT_PP, -1, 1);
        assert_int_equal(prev, pp == 0 ? r + 6 : r - 2);
        assert_true(same_group(&m, BIT(WEFT_PP), r, prev));
        assert_int_equal(weft_mesh_neighbour(&m, r, WEFT_EP, 1, 0), -1);
        assert_int_equal(weft_mesh_neighbour(&m, r, WEFT_EP, 1, 1), r);
    }
}

static void assert_says(weft_status st, const char *part)
{
    assert_int_equal(st, WEFT_E_INVALID);
    if (!strstr(weft_status_message(), part))
        fail_msg("\"%s\" does not say \"%s\"", weft_status_message(), part);
}

static void refusals_name_the_flag_and_the_nearest_axis(void **state)
{
    weft_mesh m = make(1, 1, 1, 1, NULL), before = m;
    int d[WEFT_MAX_AXES] = {2, 1, 2, 2, 1};
    assert_says(weft_mesh_make(d, "tp,cp,pq,dp", &m), "did you mean");
    assert_says(weft_mesh_make(d, "tp,cp,pp,tp", &m), "names tp twice");
    assert_says(weft_mesh_make(d, "tp,cp,pp", &m), "--dp 2 needs a place in the order");
    assert_says(weft_mesh_make(d, "tp,,pp,dp", &m), "there is no axis ''");
    d[WEFT_PP] = 0;
    assert_says(weft_mesh_make(d, NULL, &m), "--pp 0");
    d[WEFT_PP] = -3;
    assert_says(weft_mesh_make(d, NULL, &m), "--pp -3");
    d[WEFT_PP] = 2147483647;
    assert_says(weft_mesh_make(d, NULL, &m), "more than 2147483647 ranks");
    assert_memory_equal(&m, &before, sizeof m);
    assert_says(weft_mesh_group(&m, 1, 0, NULL, NULL), "rank 1 is outside");
    assert_says(weft_mesh_group(&m, -1, 0, NULL, NULL), "rank -1 is outside");
}

static void axes_left_out_of_the_order_have_degree_one(void **state)
{
    const int degree[WEFT_MAX_AXES] = {[WEFT_DP] = 2, [WEFT_EP] = 4};
    weft_mesh m;
    assert_int_equal(weft_mesh_make(degree, "ep,dp", &m), WEFT_OK);
    assert_int_equal(weft_mesh_world(&m), 8);
    assert_int_equal(weft_mesh_degree(&m, WEFT_TP), 1);
    assert_int_equal(weft_mesh_coord_of(&m, 7, WEFT_TP), 0);
    assert_int_equal(weft_mesh_coord_of(&m, 5, WEFT_EP), 1);
}

static void text_form_round_trips(void **state)
{
    for (int o = 0; o < 4; o++) {
        weft_mesh m = make(2, 3, 4, 1, orders[o]), back;
        weft_text text = {0};
        weft_writer w = weft_text_writer(&text);
        weft_mesh_write_text(&m, &w);
        assert_int_equal(weft_mesh_parse(text.s, &back), WEFT_OK);
        assert_memory_equal(&m, &back, sizeof m);
        if (o == 0) assert_string_equal(text.s, "tp=2,cp=3,pp=4,dp=1");
        weft_text_clear(&text);
    }
}

static void text_form_refuses_what_it_did_not_write(void **state)
{
    static const char *const bad[] = {"tp",
                                      "tp=",
                                      "tp=0",
                                      "tp=-1",
                                      "tp=2x",
                                      "tp=2,",
                                      "tp=2,tp=2",
                                      "zz=3",
                                      "tp= 2",
                                      "=2",
                                      ",",
                                      "tp=99999999999",
                                      "tp=70000,dp=70000"};
    weft_mesh m = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (weft_mesh_parse(bad[i], &m) != WEFT_E_INVALID)
            fail_msg("took '%s'", bad[i]);
    assert_int_equal(weft_mesh_parse("", &m), WEFT_OK);
    assert_int_equal(weft_mesh_world(&m), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_123_order_decides_where_rank_13_sits),
        cmocka_unit_test(case_123_context_groups_are_consecutive_ranks),
        cmocka_unit_test(
            case_122_tp_group_is_consecutive_so_only_round_robin_splits_it),
        cmocka_unit_test(L52_world_size_is_the_product_of_the_degrees),
        cmocka_unit_test(groups_of_every_axis_set_partition_the_ranks),
        cmocka_unit_test(rank_and_coordinates_are_inverse),
        cmocka_unit_test(neighbours_move_one_coordinate_and_stop_or_go_round),
        cmocka_unit_test(refusals_name_the_flag_and_the_nearest_axis),
        cmocka_unit_test(axes_left_out_of_the_order_have_degree_one),
        cmocka_unit_test(text_form_round_trips),
        cmocka_unit_test(text_form_refuses_what_it_did_not_write),
    };
    return cmocka_run_group_tests_name("mesh", tests, NULL, NULL);
}
