/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw/toy.h"
#include "trace/step.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static double spent_sum(const double *spent)
{
    double sum = 0;
    for (int w = 0; w < WEFT_N_SPENT; w++)
        sum += spent[w];
    return sum;
}

static void a_trace_compared_with_itself_differs_nowhere(void **state)
{
    weft_trace t = toy_1f1b(4, 12, 1, 2);
    weft_compare c;
    assert_int_equal(weft_trace_compare(&t, &t, &c), WEFT_OK);
    NEAR(c.length_a, 45); /* L20 */
    NEAR(c.length_b, 45);
    assert_int_equal(c.n_matched, 2 * 4 * 12);
    assert_int_equal(c.n_missing, 0);
    assert_int_equal(c.n_worst, 0);
    NEAR(c.mean_abs_error, 0);
    for (int r = 0; r < 4; r++) {
        NEAR(c.rank[r].a[WEFT_SPENT_F], 12);
        NEAR(c.rank[r].a[WEFT_SPENT_B], 24);
        NEAR(c.rank[r].a[WEFT_SPENT_WAIT], 9); /* (p-1)(tf+tb) */
    }
    weft_compare_clear(&c);
    weft_trace_clear(&t);
}

static void longer_backwards_show_as_B_and_as_waiting(void **state)
{
    weft_trace a = toy_1f1b(4, 12, 1, 2), b = toy_1f1b(4, 12, 1, 2.5);
    weft_compare c;
    assert_int_equal(weft_trace_compare(&a, &b, &c), WEFT_OK);
    NEAR(c.length_b - c.length_a, 15 * 0.5);
    for (int r = 0; r < 4; r++) {
        NEAR(c.rank[r].b[WEFT_SPENT_B] - c.rank[r].a[WEFT_SPENT_B], 6);
        NEAR(c.rank[r].b[WEFT_SPENT_WAIT] - c.rank[r].a[WEFT_SPENT_WAIT], 1.5);
    }
    NEAR(c.mean_abs_error, 0.2 / 2); /* half of the ops are B: 0.5 / 2.5 */
    assert_int_equal(c.n_worst, 10);
    assert_int_equal(c.worst[0].name[0], 'B');
    weft_compare_clear(&c);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

static void the_largest_differences_come_first(void **state)
{
    weft_trace a = toy_gpipe(2, 20, 1, 2), b = toy_gpipe(2, 20, 1, 2);
    weft_compare c;
    for (int i = 0; i < 20; i++)
        b.entry[i].end += 0.01 * ((i * 7) % 20);
    assert_int_equal(weft_trace_compare(&a, &b, &c), WEFT_OK);
    assert_int_equal(c.n_worst, 10);
    for (int i = 0; i < 10; i++)
        NEAR(c.worst[i].b - c.worst[i].a, 0.01 * (19 - i));
    weft_compare_clear(&c);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

/* Every instant of a step has one owner, whatever overlaps. */
static void shares_sum_to_the_step_length_for_random_entries(void **state)
{
    srand(7);
    for (int round = 0; round < 50; round++) {
        weft_trace t;
        weft_trace_init(&t, 3, "s", "random");
        for (int i = 0; i < 40; i++) {
            double start = rand() % 1000 / 10.0, length = rand() % 100 / 10.0;
            static const char *const label[] = {"wait", "optimizer", "dp bucket",
                                                "norm"};
            if (i % 2)
                toy_add(&t, rand() % 3, rand() % 4, i, 0, start, length);
            else
                toy_label(&t, rand() % 3, 0, label[rand() % 4], rand() % 4, start,
                          length);
        }
        int n;
        wf_step *step;
        double share[3][WEFT_N_SPENT];
        assert_int_equal(wf_trace_steps(&t, &n, &step), WEFT_OK);
        assert_int_equal(n, 1);
        assert_int_equal(wf_trace_share(&t, step, share), WEFT_OK);
        for (int r = 0; r < 3; r++)
            NEAR(spent_sum(share[r]), step->end - step->start);
        free(step);
        weft_trace_clear(&t);
    }
}

static void collectives_count_only_where_nothing_else_runs(void **state)
{
    weft_trace t;
    int n;
    wf_step *step;
    double share[1][WEFT_N_SPENT];
    weft_trace_init(&t, 1, "s", "overlap");
    toy_add(&t, 0, WEFT_OP_B, 0, 0, 0, 10);
    toy_label(&t, 0, 0, "dp bucket", WEFT_LANE_COLLECTIVE, 6, 8);
    toy_label(&t, 0, 0, "wait", WEFT_LANE_COMPUTE, 10, 6);
    toy_label(&t, 0, 0, "optimizer", WEFT_LANE_COMPUTE, 16, 3);
    assert_int_equal(wf_trace_steps(&t, &n, &step), WEFT_OK);
    assert_int_equal(wf_trace_share(&t, step, share), WEFT_OK);
    NEAR(share[0][WEFT_SPENT_B], 10);
    NEAR(share[0][WEFT_SPENT_COLLECTIVE], 4);
    NEAR(share[0][WEFT_SPENT_WAIT], 2);
    NEAR(share[0][WEFT_SPENT_OPTIMIZER], 3);
    free(step);
    weft_trace_clear(&t);
}

static weft_trace three_steps(void)
{
    weft_trace t;
    weft_trace_init(&t, 1, "s", "three");
    t.measured = 1;
    const double length[] = {9, 2, 3};
    for (int s = 0; s < 3; s++) {
        toy_add(&t, 0, WEFT_OP_F, 0, 0, 10 * s, length[s]);
        t.entry[t.n - 1].step = s;
    }
    return t;
}

static void several_steps_give_the_median_of_each_op_and_the_median_step(void **state)
{
    weft_trace a = toy_forward(1, 1), b = three_steps();
    weft_compare c;
    int step;
    assert_int_equal(weft_trace_median_step(&b, &step), WEFT_OK);
    assert_int_equal(step, 2);
    snprintf(a.unit, sizeof a.unit, "s");
    assert_int_equal(weft_trace_compare(&a, &b, &c), WEFT_OK);
    assert_int_equal(c.steps_b, 3);
    assert_int_equal(c.step_b, 2);
    NEAR(c.length_b, 3);
    NEAR(c.worst[0].b, 3);
    NEAR(c.kind[0].median_b, 3);
    NEAR(c.kind[0].total_b, 14.0 / 3);
    weft_compare_clear(&c);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

static void of_two_middle_steps_the_shorter_is_the_median(void **state)
{
    weft_trace t = three_steps();
    int step;
    toy_add(&t, 0, WEFT_OP_F, 0, 0, 30, 2.5);
    t.entry[t.n - 1].step = 3;
    assert_int_equal(weft_trace_median_step(&t, &step), WEFT_OK);
    assert_int_equal(step, 3);
    weft_trace_clear(&t);
}

static void cost_units_are_brought_to_seconds_by_all_compute_time(void **state)
{
    weft_trace a = toy_1f1b(2, 4, 1, 2), b = toy_1f1b(2, 4, 0.003, 0.006);
    weft_compare c;
    snprintf(b.unit, sizeof b.unit, "s");
    assert_int_equal(weft_trace_compare(&a, &b, &c), WEFT_OK);
    NEAR(c.scale, 0.003);
    NEAR(c.mean_abs_error, 0);
    NEAR(c.length_a, c.length_b);
    assert_int_equal(c.n_matched, 16);
    weft_compare_clear(&c);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

static void ops_that_one_trace_lacks_are_named(void **state)
{
    weft_trace a = toy_gpipe(2, 3, 1, 2), b = toy_gpipe(2, 3, 1, 2);
    weft_compare c;
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    a.entry[4].op.micro = 9; /* rank 0: B1 becomes B9 */
    assert_int_equal(weft_trace_compare(&a, &b, &c), WEFT_OK);
    assert_int_equal(c.n_missing, 2);
    assert_int_equal(c.n_matched, 11);
    weft_compare_write_text(&c, &w);
    assert_non_null(strstr(text.s, "rank 0 B1.0 (only in b), rank 0 B9.0 (only in a)"));
    weft_text_clear(&text);
    weft_compare_clear(&c);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

static void traces_that_cannot_be_compared_are_refused_in_words(void **state)
{
    weft_trace a = toy_forward(2, 2), b = toy_forward(3, 2), none;
    weft_compare c = {.n_ranks = -7};
    weft_trace_init(&none, 2, "", "nothing");
    assert_int_equal(weft_trace_compare(&a, &b, &c), WEFT_E_MISMATCH);
    assert_non_null(strstr(weft_status_message(), "has 2 ranks"));
    assert_int_equal(weft_trace_compare(&a, &none, &c), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "second trace (nothing) holds no"));
    a.entry[1].end = NAN;
    assert_int_equal(weft_trace_compare(&a, &a, &c), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "entry 1:"));
    a.entry[1] = a.entry[0];
    a.entry[1].rank = 2;
    assert_int_equal(weft_trace_check(&a), WEFT_E_INVALID);
    assert_int_equal(c.n_ranks, -7);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
    weft_trace_clear(&none);
}

static void labels_of_a_trace_live_once_and_as_long_as_it(void **state)
{
    weft_trace t;
    const char *a, *b, *c;
    char text[8] = "wait";
    weft_trace_init(&t, 1, "", "");
    assert_int_equal(weft_trace_label(&t, text, &a), WEFT_OK);
    text[0] = 'W';
    assert_int_equal(weft_trace_label(&t, text, &b), WEFT_OK);
    assert_int_equal(weft_trace_label(&t, "wait", &c), WEFT_OK);
    assert_string_equal(a, "wait");
    assert_ptr_equal(a, c);
    assert_ptr_not_equal(a, b);
    weft_trace_clear(&t);
}

static void the_json_form_holds_the_same_numbers(void **state)
{
    weft_trace a = toy_1f1b(2, 2, 1, 2);
    weft_compare c;
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    assert_int_equal(weft_trace_compare(&a, &a, &c), WEFT_OK);
    weft_compare_write_json(&c, &w);
    assert_int_equal(weft_writer_status(&w), WEFT_OK);
    assert_non_null(strstr(text.s, "\"ops_matched\":8"));
    assert_non_null(strstr(text.s, "\"length\":9"));
    weft_text_clear(&text);
    weft_compare_clear(&c);
    weft_trace_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_compared_with_itself_differs_nowhere),
        cmocka_unit_test(longer_backwards_show_as_B_and_as_waiting),
        cmocka_unit_test(the_largest_differences_come_first),
        cmocka_unit_test(shares_sum_to_the_step_length_for_random_entries),
        cmocka_unit_test(collectives_count_only_where_nothing_else_runs),
        cmocka_unit_test(several_steps_give_the_median_of_each_op_and_the_median_step),
        cmocka_unit_test(of_two_middle_steps_the_shorter_is_the_median),
        cmocka_unit_test(cost_units_are_brought_to_seconds_by_all_compute_time),
        cmocka_unit_test(ops_that_one_trace_lacks_are_named),
        cmocka_unit_test(traces_that_cannot_be_compared_are_refused_in_words),
        cmocka_unit_test(labels_of_a_trace_live_once_and_as_long_as_it),
        cmocka_unit_test(the_json_form_holds_the_same_numbers),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
