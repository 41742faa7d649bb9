/* SPDX-License-Identifier: Apache-2.0 */
/* The lessons' worked example, to the digit: rows of numbers.csv by their id. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>
#include <weft/envelope.h>

#include "plan/lesson.h"

static weft_layout layout_of(int tp, int pp, int dp, int zero, const char *schedule)
{
    weft_layout l;
    weft_layout_defaults(&l);
    l.tp = tp;
    l.pp = pp;
    l.dp = dp;
    l.zero = zero;
    l.global_batch = 256;
    l.seq = 4096;
    snprintf(l.schedule, sizeof l.schedule, "%s", schedule);
    return l;
}

static weft_envelope envelope_of(const weft_cost_model *q, const weft_layout *l)
{
    weft_envelope e;
    if (weft_envelope_make(q, l, &e)) fail_msg("%s", weft_status_message());
    return e;
}

/* The model and cluster of section 4c. */
static weft_envelope lesson(int tp, int pp, int dp, int zero, const char *schedule)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_layout l = layout_of(tp, pp, dp, zero, schedule);
    return envelope_of(&q, &l);
}

/* All digits that numbers.csv has of a value. */
static void assert_near(double got, double want, double digits)
{
    if (fabs(got - want) > digits * fabs(want))
        fail_msg("%.17g is not %.17g", got, want);
}

#define EXACT 1e-14

static void L22_model_states_of_70e9_parameters_are_1120_GB(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "1f1b").states_bytes, 1120000000000.0, EXACT);
}

static void L23_tp_ratio_on_nvlink_and_across_nodes(void **state)
{
    weft_envelope e = lesson(8, 8, 1, 0, "1f1b");
    assert_near(e.ratio_tp, 0.253183, 2e-6);
    assert_near(e.ratio_tp_across, 2.27865, 2e-6);
}

static void L24_activations_of_a_layer_without_sequence_parallelism(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "1f1b").act_layer_bytes, 436207616, EXACT);
}

static void L25_states_of_a_rank_of_tp8_pp8(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "1f1b").rank_states_bytes, 17500000000.0, EXACT);
}

static void L26_stage_0_holds_8_micro_batches_of_10_layers(void **state)
{
    weft_envelope e = lesson(8, 8, 1, 0, "1f1b");
    assert_near(e.act_bytes, 34896609280, EXACT);
    assert_int_equal(e.stage, 0);
    /* "the same as TP 8 without PP" */
    assert_near(lesson(8, 1, 8, 3, "1f1b").act_bytes, 34896609280, EXACT);
}

static void L27_bytes_and_time_over_a_boundary(void **state)
{
    weft_envelope e = lesson(8, 8, 1, 0, "1f1b");
    assert_near(e.pp_bytes, 8.38861e+06, 1e-6);
    assert_near(e.pp_s, 0.000167772, 1e-6);
}

static void L28_compute_of_a_micro_batch(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "1f1b").compute_s, 0.0672, EXACT);
}

static void L29_bubble_of_8_stages_and_256_micro_batches(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "1f1b").bubble, 0.026615969581749048, 1e-12);
}

static void L30_L31_zero3_is_communication_bound(void **state)
{
    weft_envelope e = lesson(8, 1, 8, 3, "1f1b");
    assert_int_equal(e.dp_per_micro, 1);
    assert_near(e.dp_bytes, 4.59375e+10, EXACT);
    assert_near(e.dp_s, 0.91875, EXACT);
    assert_near(e.compute_s, 0.5376, EXACT);
    assert_near(e.tokens, 4096, EXACT);
    assert_near(e.tokens_needed, 8000, EXACT);
    assert_true(e.tokens < e.tokens_needed && e.ratio_dp > 1);
    assert_near(e.rank_states_bytes, 17.5e9, EXACT);
}

static void L32_tp8_pp8_takes_52_GB(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "1f1b").total_bytes, 52396609280.0, EXACT);
}

static void L33_gpipe_would_hold_1117_GB(void **state)
{
    assert_near(lesson(8, 8, 1, 0, "gpipe").act_bytes, 1116691496960, EXACT);
}

static void L34_L35_tp8_pp4_dp2_with_zero1(void **state)
{
    weft_envelope e = lesson(8, 4, 2, 1, "1f1b");
    assert_near(e.bubble, 0.022900763358778626, 1e-12);
    assert_near(e.rank_states_bytes, 2.1875e+10, EXACT);
    assert_near(e.total_bytes, 5.67716e+10, 1e-6);
}

static void L36_its_gradients_hide(void **state)
{
    weft_envelope e = lesson(8, 4, 2, 1, "1f1b");
    assert_int_equal(e.dp_per_micro, 0);
    assert_near(e.dp_bytes, 4.375e+09, EXACT);
    assert_near(e.ratio_dp, 0.007629, 1e-4);
    assert_near(e.step_s, 128 * 0.1344 * 131 / 128, 1e-12); /* nothing is exposed */
}

static void L37_tp8_dp8_with_zero2_is_too_tight(void **state)
{
    assert_near(lesson(8, 1, 8, 2, "1f1b").total_bytes, 6.77091e+10, 1e-6);
}

static void L39_tp_ratio_of_a_narrow_model_at_peak(void **state)
{
    weft_cost_model q = model_of("layers=32,hidden=4096,heads=32,positions=4096", 7e9,
                                 "h100:8x8", 989e12);
    weft_layout l = layout_of(4, 1, 16, 0, "1f1b");
    weft_envelope e = envelope_of(&q, &l);
    assert_near(e.ratio_tp, 0.536567, 1e-5);
    assert_near(e.ratio_tp_across, 4.8291, 1e-5);
}

/* 69 and 61.5 units where a micro-batch takes 3: the step is what the lesson counts. */
static void L40_steps_of_6_stages_and_18_micro_batches(void **state)
{
    weft_cost_model q = model_of("layers=12,hidden=1024,heads=16,positions=4096", 7e9,
                                 "h100:6x1", 400e12);
    weft_layout l = layout_of(1, 6, 1, 0, "gpipe");
    l.global_batch = 18;
    weft_envelope e = envelope_of(&q, &l);
    double layer = e.act_layer_bytes, unit = e.compute_s / 3;
    assert_near(e.step_s, 69 * unit, 1e-12);
    assert_near(e.bubble, 5.0 / 23, 1e-12);
    assert_near(e.act_bytes, 18 * 2 * layer, EXACT);
    snprintf(l.schedule, sizeof l.schedule, "1f1b");
    e = envelope_of(&q, &l);
    assert_near(e.step_s, 69 * unit, 1e-12);
    assert_near(e.act_bytes, 6 * 2 * layer, EXACT);
    snprintf(l.schedule, sizeof l.schedule, "interleaved");
    l.vpp = 2;
    e = envelope_of(&q, &l);
    assert_near(e.step_s, 61.5 * unit, 1e-12);
    assert_near(e.bubble, 5.0 / 41, 1e-12);
}

static void L41_more_replicas_at_the_same_batch_make_a_larger_bubble(void **state)
{
    const int replicas[] = {1, 16};
    const double want[] = {0.0134875, 0.179487};

    for (int i = 0; i < 2; i++) {
        char machine[32];
        snprintf(machine, sizeof machine, "h100:%dx8", replicas[i]);
        weft_cost_model q = model_of(LESSON, 70e9, machine, 400e12);
        weft_layout l = layout_of(1, 8, replicas[i], 0, "1f1b");
        l.global_batch = 512;
        assert_near(envelope_of(&q, &l).bubble, want[i], 1e-5);
    }
}

/* Section 2 and 3: L05 to L08 at the peak, L13, L14. */
static void L05_to_L08_L13_L14_ratios_at_the_peak(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 989e12);
    weft_layout l = layout_of(8, 8, 1, 0, "1f1b");
    weft_envelope e = envelope_of(&q, &l);
    assert_near(e.ratio_tp, 0.6259946469907407, EXACT);
    assert_near(e.ratio_tp_across, 5.633951822916667, EXACT);
    assert_near(e.ratio_pp, 0.020121256510416668, EXACT);
    q = model_of("layers=32,hidden=4096,heads=32,positions=4096", 7e9, "h100:8x8",
                 989e12);
    e = envelope_of(&q, &l);
    assert_near(e.ratio_tp, 1.2519892939814814, EXACT);
    assert_near(e.ratio_tp_across, 11.267903645833334, EXACT);
    assert_near(lesson(8, 4, 2, 0, "1f1b").tokens_needed, 8000, EXACT);
}

static void tp_over_two_nodes_has_the_ratio_of_the_network(void **state)
{
    weft_envelope e = lesson(16, 4, 1, 0, "1f1b");
    assert_near(e.ratio_tp, 15 * 400e12 / (3 * 8192 * 50e9), EXACT);
    assert_near(e.ratio_tp, e.ratio_tp_across, EXACT);
}

/* ---- the cases of others ------------------------------------------------------------ */

/* Case 17: bytes a parameter with 16-bit gradients, d = 8. */
static void case_17_bytes_a_parameter_by_zero_stage(void **state)
{
    const double want[] = {16, 5.5, 3.75, 2};
    weft_cost_model q = model_of(LESSON, 70e9, "h100:1x8", 400e12);
    double last = 17;
    for (int z = 0; z < 4; z++) {
        weft_layout l = layout_of(1, 1, 8, z, "1f1b");
        double bytes = envelope_of(&q, &l).rank_states_bytes / 70e9;
        assert_near(bytes, want[z], EXACT);
        assert_true(bytes < last);
        last = bytes;
    }
}

/* Case 19: the fullest rank is where layers times micro-batches in flight are most. */
static void case_19_uneven_stages_fill_the_stage_that_they_fill(void **state)
{
    weft_cost_model q =
        model_of("layers=8,hidden=1024,heads=16,positions=4096", 1, "h100:1x4", 400e12);
    weft_layout l = layout_of(1, 4, 1, 0, "1f1b");
    snprintf(l.stage_layers, sizeof l.stage_layers, "1,2,2,3");
    weft_envelope e = envelope_of(&q, &l);
    assert_int_equal(e.stage, 1);
    assert_near(e.act_bytes, 6 * e.act_layer_bytes, EXACT);
    snprintf(l.stage_layers, sizeof l.stage_layers, "even");
    e = envelope_of(&q, &l);
    assert_int_equal(e.stage, 0);
    assert_near(e.act_bytes, 8 * e.act_layer_bytes, EXACT);
}

/* Case 12: a larger micro-batch at the same global batch makes a larger bubble. */
static void case_12_larger_micro_batches_raise_the_bubble(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:2x8", 400e12);
    weft_layout l = layout_of(1, 8, 2, 0, "1f1b");
    l.global_batch = 64;
    assert_near(envelope_of(&q, &l).bubble, 7.0 / 39, 1e-12);
    l.micro_batch = 4;
    assert_near(envelope_of(&q, &l).bubble, 7.0 / 15, 1e-12);
}

/* Case 26: ZeRO-2 of more than one micro-batch reduces each time. */
static void case_26_zero2_pays_for_every_micro_batch(void **state)
{
    weft_cost_model q = model_of("layers=8,hidden=1024,heads=16,positions=4096", 2e9,
                                 "h100:16x1", 400e12);
    weft_layout l = layout_of(1, 2, 8, 1, "1f1b");
    l.micro_batch = 1;
    l.global_batch = 8 * 32;
    assert_near(envelope_of(&q, &l).dp_bytes / 2, 1.75e9, EXACT); /* one of the two */
    l.zero = 2;
    weft_envelope e = envelope_of(&q, &l);
    assert_int_equal(e.dp_per_micro, 1);
    assert_near(e.dp_bytes * (double)e.n_micro, 56e9, EXACT);
}

static void no_schedule_takes_less_than_its_work(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    for (int k = 0; k < weft_schedule_kind_count(); k++)
        for (int v = 1; v <= 4; v++)
            for (int full = 0; full < 2; full++) {
                weft_layout l = layout_of(
                    8, 4, 2, 0, weft_schedule_kind_name(weft_schedule_kind_at(k)));
                l.vpp = v;
                if (full) snprintf(l.recompute, sizeof l.recompute, "full");
                if (!strcmp(l.schedule, "optimal") || !strcmp(l.schedule, "zb-auto"))
                    continue; /* found for given times, which takes long */
                if (weft_layout_plan_check(&l, &q.arch)) continue;
                weft_envelope e = envelope_of(&q, &l);
                if (!(e.bubble > -1e-12 && e.bubble < 0.35))
                    fail_msg("%s v %d: bubble %g", l.schedule, v, e.bubble);
                assert_true(e.step_s > 0.9999 * (double)e.n_micro * e.compute_s);
            }
}

static void without_a_rate_there_is_no_envelope(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 0);
    weft_layout l = layout_of(8, 8, 1, 0, "1f1b");
    weft_envelope e;
    assert_int_equal(weft_envelope_make(&q, &l, &e), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "--achieved-flops"));
    q.options.achieved_flops_per_s = 1;
    l.dp = 2;
    assert_int_equal(weft_envelope_make(&q, &l, &e), WEFT_E_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(L22_model_states_of_70e9_parameters_are_1120_GB),
        cmocka_unit_test(L23_tp_ratio_on_nvlink_and_across_nodes),
        cmocka_unit_test(L24_activations_of_a_layer_without_sequence_parallelism),
        cmocka_unit_test(L25_states_of_a_rank_of_tp8_pp8),
        cmocka_unit_test(L26_stage_0_holds_8_micro_batches_of_10_layers),
        cmocka_unit_test(L27_bytes_and_time_over_a_boundary),
        cmocka_unit_test(L28_compute_of_a_micro_batch),
        cmocka_unit_test(L29_bubble_of_8_stages_and_256_micro_batches),
        cmocka_unit_test(L30_L31_zero3_is_communication_bound),
        cmocka_unit_test(L32_tp8_pp8_takes_52_GB),
        cmocka_unit_test(L33_gpipe_would_hold_1117_GB),
        cmocka_unit_test(L34_L35_tp8_pp4_dp2_with_zero1),
        cmocka_unit_test(L36_its_gradients_hide),
        cmocka_unit_test(L37_tp8_dp8_with_zero2_is_too_tight),
        cmocka_unit_test(L39_tp_ratio_of_a_narrow_model_at_peak),
        cmocka_unit_test(L40_steps_of_6_stages_and_18_micro_batches),
        cmocka_unit_test(L41_more_replicas_at_the_same_batch_make_a_larger_bubble),
        cmocka_unit_test(L05_to_L08_L13_L14_ratios_at_the_peak),
        cmocka_unit_test(tp_over_two_nodes_has_the_ratio_of_the_network),
        cmocka_unit_test(case_17_bytes_a_parameter_by_zero_stage),
        cmocka_unit_test(case_19_uneven_stages_fill_the_stage_that_they_fill),
        cmocka_unit_test(case_12_larger_micro_batches_raise_the_bubble),
        cmocka_unit_test(case_26_zero2_pays_for_every_micro_batch),
        cmocka_unit_test(no_schedule_takes_less_than_its_work),
        cmocka_unit_test(without_a_rate_there_is_no_envelope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
