/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the lessons' number table that concern schedules, and cases from public bug
 * reports, each under its id. */
#include "support.h"

static double bubble(const char *kind, int p, int m, int v, double tf, double tb)
{
    weft_schedule s = made(kind, p, m, v);
    weft_eval e = timed(&s, tf, tb);
    double b = e.bubble_of_total;
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
    return b;
}

static void assert_makespan(const char *kind, int p, int m, int v, double tf, double tb,
                            double expected)
{
    weft_schedule s = made(kind, p, m, v);
    assert_near(makespan(&s, tf, tb), expected);
    assert_near(weft_schedule_closed_makespan(&s, tf, tb), expected);
    weft_schedule_clear(&s);
}

/* Peaks as the check counts them and as the closed form says. */
static void assert_peaks(const char *kind, int p, int m, int v, const int *peaks)
{
    weft_schedule s = made(kind, p, m, v);
    weft_schedule_report report;
    assert_ok(weft_schedule_check(&s, 0, &report));
    for (int r = 0; r < p; r++) {
        assert_int_equal(report.peak_in_flight[r], peaks[r]);
        assert_int_equal(weft_schedule_closed_peak(&s, r), peaks[r]);
    }
    weft_schedule_report_clear(&report);
    weft_schedule_clear(&s);
}

static void L01_four_stages_four_micro_batches_idle_three_sevenths(void **state)
{
    assert_near(bubble("gpipe", 4, 4, 1, 1, 2), 3.0 / 7);
    assert_near(bubble("1f1b", 4, 4, 1, 1, 2), 0.42857142857142855);
}

static void L02_forward_phase_of_three_stages_and_four_micro_batches_is_six_slots(
    void **state)
{
    weft_schedule s = made("forward", 3, 4, 1);
    weft_eval e = timed(&s, 1, 0);
    assert_near(e.makespan, 6);
    for (int r = 0; r < 3; r++)
        assert_near(e.idle[r], 2);
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

static void L09_eight_stages_24_micro_batches(void **state)
{
    assert_near(bubble("gpipe", 8, 24, 1, 1, 2), 0.22580645161290322);
    assert_near(bubble("1f1b", 8, 24, 1, 1, 2), 0.22580645161290322);
}

static void L10_dp_4_at_batch_512_leaves_128_micro_batches(void **state)
{
    assert_near(bubble("1f1b", 8, 512 / 4, 1, 1, 2), 0.05185185185185185);
}

static void L11_dp_32_at_batch_512_leaves_16_micro_batches(void **state)
{
    assert_near(bubble("1f1b", 8, 512 / 32, 1, 1, 2), 0.30434782608695654);
}

static void L12_four_micro_batches_a_stage_keep_the_bubble_below_a_fifth(void **state)
{
    for (int p = 2; p <= 64; p++) {
        double b = bubble("1f1b", p, 4 * p, 1, 1, 2);
        assert_near(b, (p - 1) / (5.0 * p - 1));
        assert_true(b < 0.2);
    }
}

static void L19_gpipe_4_stages_12_micro_batches_takes_45_and_stores_12(void **state)
{
    assert_makespan("gpipe", 4, 12, 1, 1, 2, 45);
    assert_near(bubble("gpipe", 4, 12, 1, 1, 2), 9.0 / 45);
    assert_peaks("gpipe", 4, 12, 1, (int[]){12, 12, 12, 12});
    weft_schedule s = made("gpipe", 4, 12, 1);
    weft_eval e = timed(&s, 1, 2);
    assert_near(e.bubble_of_ideal, 9.0 / 36);
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

static void L20_1f1b_4_stages_12_micro_batches_takes_45_and_stores_4_3_2_1(void **state)
{
    assert_makespan("1f1b", 4, 12, 1, 1, 2, 45);
    assert_peaks("1f1b", 4, 12, 1, (int[]){4, 3, 2, 1});
}

static void L21_interleaved_v3_takes_39_and_gpu_0_peaks_at_15_chunks(void **state)
{
    assert_makespan("interleaved", 4, 12, 3, 1, 2, 39);
    assert_near(bubble("interleaved", 4, 12, 3, 1, 2), 3.0 / 39);
    assert_peaks("interleaved", 4, 12, 3, (int[]){15, 13, 11, 9});
    weft_schedule s = made("interleaved", 4, 12, 3);
    weft_eval e = timed(&s, 1, 2);
    assert_int_equal(e.p2p_messages, 12 * 11 * 2); /* 11 boundaries each way */
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

static void L29_eight_stages_256_micro_batches(void **state)
{
    assert_near(bubble("1f1b", 8, 256, 1, 1, 2), 0.026615969581749048);
}

static void L34_four_stages_128_micro_batches(void **state)
{
    assert_near(bubble("1f1b", 4, 128, 1, 1, 2), 0.022900763358778626);
}

static void L40_six_stages_18_micro_batches(void **state)
{
    assert_makespan("gpipe", 6, 18, 1, 1, 2, 69);
    assert_makespan("1f1b", 6, 18, 1, 1, 2, 69);
    assert_makespan("interleaved", 6, 18, 2, 1, 2, 61.5);
    assert_near(bubble("gpipe", 6, 18, 1, 1, 2), 5.0 / 23);
    assert_near(bubble("interleaved", 6, 18, 2, 1, 2), 5.0 / 41);
    assert_peaks("gpipe", 6, 18, 1, (int[]){18, 18, 18, 18, 18, 18});
    assert_peaks("1f1b", 6, 18, 1, (int[]){6, 5, 4, 3, 2, 1});
}

static void L41_dp_1_and_dp_16_at_batch_512(void **state)
{
    assert_near(bubble("1f1b", 8, 512, 1, 1, 2), 7.0 / 519);
    assert_near(bubble("1f1b", 8, 512 / 16, 1, 1, 2), 7.0 / 39);
}

typedef struct backward_ends {
    int p;
    double tf, tb;
    int64_t seen;
} backward_ends;

static void compare_backward_end(void *ctx, int s, const weft_op *op, double start,
                                 double end)
{
    backward_ends *x = ctx;
    if (op->kind != WEFT_OP_B) return;
    assert_near(end, (x->p - 1) * x->tf + (op->micro + 1.0) * (x->tf + x->tb) +
                         (x->p - 1 - s) * x->tb);
    x->seen++;
}

static void L42_end_of_each_backward_of_1f1b_is_as_the_theorem_says(void **state)
{
    uint64_t seed = 42;
    for (int i = 0; i < 300; i++) {
        int p = 1 + (int)random_below(&seed, 9), m = 1 + (int)random_below(&seed, 20);
        backward_ends x = {.p = p,
                           .tf = 1 + random_below(&seed, 50) / 8.0,
                           .tb = 1 + random_below(&seed, 50) / 8.0};
        double *dur = calloc((size_t)p * WEFT_OP_N_COMPUTE, sizeof *dur);
        weft_schedule s = made("1f1b", p, m, 1);
        weft_costs_uniform(&s, x.tf, x.tb, 0, 0, 0, dur);
        weft_eval e;
        assert_ok(weft_schedule_eval(&s, &(weft_costs){.dur = dur},
                                     compare_backward_end, &x, &e));
        assert_int_equal(x.seen, p * m);
        weft_eval_clear(&e);
        weft_schedule_clear(&s);
        free(dur);
    }
}

static void compare_forward_start(void *ctx, int s, const weft_op *op, double start,
                                  double end)
{
    assert_near(start, s + op->micro); /* "0123...", ".0123..", "..0123.", "...0123" */
    assert_near(end, start + 1);
}

static void L46_forward_only_on_four_stages_is_25_57_84_percent_busy(void **state)
{
    static const struct {
        int m;
        double busy;
    } row[] = {{1, 0.25}, {4, 4.0 / 7}, {16, 16.0 / 19}};
    for (int i = 0; i < 3; i++) {
        weft_schedule s = made("forward", 4, row[i].m, 1);
        double dur[4 * WEFT_OP_N_COMPUTE];
        weft_costs_uniform(&s, 1, 0, 0, 0, 0, dur);
        weft_eval e;
        assert_ok(weft_schedule_eval(&s, &(weft_costs){.dur = dur},
                                     compare_forward_start, NULL, &e));
        assert_near(1 - e.bubble_of_total, row[i].busy);
        weft_eval_clear(&e);
        weft_schedule_clear(&s);
    }
}

static void L47_forward_only_on_eight_stages(void **state)
{
    assert_near(1 - bubble("forward", 8, 1, 1, 1, 0), 0.125);
    assert_near(1 - bubble("forward", 8, 8, 1, 1, 0), 8.0 / 15);
    assert_near(1 - bubble("forward", 8, 32, 1, 1, 0), 32.0 / 39);
}

static void L48_ninety_percent_on_eight_stages_needs_63_micro_batches(void **state)
{
    assert_true(1 - bubble("forward", 8, 62, 1, 1, 0) < 0.9);
    assert_near(1 - bubble("forward", 8, 63, 1, 1, 0), 0.9);
}

static void L51_interleaved_bubble_is_9_of_57_and_not_what_that_lesson_prints(
    void **state)
{
    double printed =
        (4 - 1) / (2.0 * (4 + 8 - 1)); /* divides the fraction, not the time */
    assert_near(bubble("interleaved", 4, 8, 2, 1, 2), 9.0 / 57);
    assert_near(bubble("interleaved", 4, 8, 2, 1, 2), 3 / (2 * 8 + 4 - 1.0));
    assert_true(fabs(printed - 9.0 / 57) > 0.02);
}

static void case31_one_micro_batch_gains_nothing_from_stages(void **state)
{
    for (int p = 1; p <= 8; p *= 2) {
        assert_makespan("forward", p, 1, 1, 12.0 / p, 0, 12);
        assert_near(1 - bubble("forward", p, 1, 1, 12.0 / p, 0), 1.0 / p);
    }
}

static void case34_1f1b_takes_as_long_as_gpipe_and_stores_less(void **state)
{
    assert_makespan("gpipe", 8, 32, 1, 1, 1, 78);
    assert_makespan("1f1b", 8, 32, 1, 1, 1, 78);
    assert_peaks("gpipe", 8, 32, 1, (int[]){32, 32, 32, 32, 32, 32, 32, 32});
    assert_peaks("1f1b", 8, 32, 1, (int[]){8, 7, 6, 5, 4, 3, 2, 1});
}

static void case35_fewer_micro_batches_than_stages_run(void **state)
{
    static const char *const kinds[] = {"gpipe", "1f1b"};
    for (int i = 0; i < 2; i++) {
        assert_makespan(kinds[i], 4, 1, 1, 1, 2, 12);
        assert_makespan(kinds[i], 4, 2, 1, 1, 2, 15);
        assert_makespan(kinds[i], 4, 3, 1, 1, 2, 18);
        assert_makespan(kinds[i], 8, 4, 1, 1, 2, 33);
    }
    assert_peaks("1f1b", 4, 1, 1, (int[]){1, 1, 1, 1});
    assert_peaks("1f1b", 4, 2, 1, (int[]){2, 2, 2, 1});
    assert_peaks("1f1b", 4, 3, 1, (int[]){3, 3, 2, 1});
    assert_peaks("1f1b", 8, 4, 1, (int[]){4, 4, 4, 4, 4, 3, 2, 1});
}

static int leading_forwards(const weft_schedule *s, int r)
{
    int64_t i = s->first[r];
    while (i < s->first[r + 1] && s->op[i].kind == WEFT_OP_F)
        i++;
    return (int)(i - s->first[r]);
}

/* 1f1b's steady phase begins with the F that pairs with the first B. */
static void case36_interleaved_warm_up_counts(void **state)
{
    static const int warm_up[] = {10, 8, 6, 4};
    weft_schedule s = made("interleaved", 4, 8, 2);
    for (int r = 0; r < 4; r++)
        assert_int_equal(leading_forwards(&s, r), warm_up[r] + 1);
    weft_schedule_clear(&s);
    assert_makespan("interleaved", 4, 8, 2, 1, 2, 28.5);
    assert_peaks("interleaved", 4, 8, 2, (int[]){11, 9, 7, 5});
}

/* The order with `w` forwards before the first pair, else as interleaved. */
static void set_warm_up(weft_schedule *s, int r, int w)
{
    int64_t half = (int64_t)s->m * s->v;
    weft_op *op = &s->op[s->first[r]];
    weft_op *f = malloc((size_t)half * sizeof *f),
            *b = malloc((size_t)half * sizeof *b);
    int64_t nf = 0, nb = 0, jf = 0, jb = 0;
    for (int64_t i = 0; i < 2 * half; i++)
        *(op[i].kind == WEFT_OP_F ? &f[nf++] : &b[nb++]) = op[i];
    while (jf < w)
        *op++ = f[jf++];
    while (jf < half) {
        *op++ = f[jf++];
        *op++ = b[jb++];
    }
    while (jb < half)
        *op++ = b[jb++];
    free(f);
    free(b);
}

static void case36_a_shorter_warm_up_deadlocks_with_a_named_cycle(void **state)
{
    weft_schedule s = made("interleaved", 4, 8, 2);
    for (int r = 0; r < 4; r++)
        set_warm_up(&s, r, 2 * (3 - r) + 4); /* the right one gives the same order */
    assert_near(makespan(&s, 1, 2), 28.5);
    set_warm_up(&s, 0, (4 - 1) * 2); /* the proposed one, on rank 0 alone */
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE, "deadlock: rank");
    assert_contains(weft_status_message(), "a cycle of");
    weft_schedule_clear(&s);
}

static void case36_the_proposed_warm_up_is_refused_by_check_and_eval(void **state)
{
    weft_schedule s = made("interleaved", 4, 8, 2);
    double dur[4 * 2 * WEFT_OP_N_COMPUTE] = {0};
    weft_eval e;
    for (int r = 0; r < 4; r++)
        set_warm_up(&s, r, (4 - r - 1) * 2);
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE,
                 "order: rank 2 op 3 (B0.1) comes before its F");
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                 WEFT_E_INFEASIBLE, "deadlock: rank");
    weft_schedule_clear(&s);
}

static void case42_unequal_stages_are_simulated_not_computed(void **state)
{
    static const struct {
        double tf[4], gpipe, one_f_one_b;
    } row[] = {
        {{1, 1, 1, 2}, 57, 57},
        {{2, 1, 1, 1}, 57, 51},
        {{1, 2, 1, 1}, 57, 53},
        {{1, 1, 1, 1}, 33, 33},
    };
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2; k++) {
            weft_schedule s = made(k ? "1f1b" : "gpipe", 4, 8, 1);
            double tb[4], dur[4 * WEFT_OP_N_COMPUTE];
            for (int j = 0; j < 4; j++)
                tb[j] = 2 * row[i].tf[j];
            assert_ok(weft_costs_by_stage(&s, 4, row[i].tf, tb, NULL, NULL, dur));
            weft_eval e;
            assert_ok(
                weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e));
            assert_near(e.makespan, k ? row[i].one_f_one_b : row[i].gpipe);
            weft_eval_clear(&e);
            weft_schedule_clear(&s);
        }
    }
}

static void case54_evaluation_of_three_micro_batches_takes_six(void **state)
{
    assert_makespan("forward", 4, 3, 1, 1, 0, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(L01_four_stages_four_micro_batches_idle_three_sevenths),
        cmocka_unit_test(
            L02_forward_phase_of_three_stages_and_four_micro_batches_is_six_slots),
        cmocka_unit_test(L09_eight_stages_24_micro_batches),
        cmocka_unit_test(L10_dp_4_at_batch_512_leaves_128_micro_batches),
        cmocka_unit_test(L11_dp_32_at_batch_512_leaves_16_micro_batches),
        cmocka_unit_test(L12_four_micro_batches_a_stage_keep_the_bubble_below_a_fifth),
        cmocka_unit_test(L19_gpipe_4_stages_12_micro_batches_takes_45_and_stores_12),
        cmocka_unit_test(
            L20_1f1b_4_stages_12_micro_batches_takes_45_and_stores_4_3_2_1),
        cmocka_unit_test(L21_interleaved_v3_takes_39_and_gpu_0_peaks_at_15_chunks),
        cmocka_unit_test(L29_eight_stages_256_micro_batches),
        cmocka_unit_test(L34_four_stages_128_micro_batches),
        cmocka_unit_test(L40_six_stages_18_micro_batches),
        cmocka_unit_test(L41_dp_1_and_dp_16_at_batch_512),
        cmocka_unit_test(L42_end_of_each_backward_of_1f1b_is_as_the_theorem_says),
        cmocka_unit_test(L46_forward_only_on_four_stages_is_25_57_84_percent_busy),
        cmocka_unit_test(L47_forward_only_on_eight_stages),
        cmocka_unit_test(L48_ninety_percent_on_eight_stages_needs_63_micro_batches),
        cmocka_unit_test(
            L51_interleaved_bubble_is_9_of_57_and_not_what_that_lesson_prints),
        cmocka_unit_test(case31_one_micro_batch_gains_nothing_from_stages),
        cmocka_unit_test(case34_1f1b_takes_as_long_as_gpipe_and_stores_less),
        cmocka_unit_test(case35_fewer_micro_batches_than_stages_run),
        cmocka_unit_test(case36_interleaved_warm_up_counts),
        cmocka_unit_test(case36_a_shorter_warm_up_deadlocks_with_a_named_cycle),
        cmocka_unit_test(case36_the_proposed_warm_up_is_refused_by_check_and_eval),
        cmocka_unit_test(case42_unequal_stages_are_simulated_not_computed),
        cmocka_unit_test(case54_evaluation_of_three_micro_batches_takes_six),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
