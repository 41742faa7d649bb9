/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of the time of every layout. */
#include <weft/predict.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the headers that it needs */
#include <cmocka.h>

#include "cost/given.h"

static weft_cost price(const weft_cost_model *q, const weft_layout *l)
{
    weft_cost c;
    MUST(weft_cost_evaluate(q, l, &c));
    return c;
}

static double sum(const weft_time_parts *t)
{
    return t->compute + t->tp_comm + t->cp_comm + t->ep_comm + t->pp_comm + t->dp_comm +
           t->bubble + t->recompute + t->optimizer;
}

static void alone_nothing_is_sent(void **state)
{
    weft_cost_model q = given_model(GIVEN_GPT, "h100:1x1", NULL);
    weft_layout l = given_layout(&q.arch, "global_batch=4");
    weft_cost c = price(&q, &l);
    assert_true(c.time.tp_comm == 0 && c.time.cp_comm == 0 && c.time.ep_comm == 0);
    assert_true(c.time.pp_comm == 0 && c.time.dp_comm == 0 && c.time.bubble == 0);
    assert_true(c.ratio_tp == 0 && c.ratio_pp == 0 && c.ratio_dp == 0);
    assert_true(c.time.compute > 0 && c.time.optimizer > 0);
}

static void each_axis_sends_only_if_it_is_above_one(void **state)
{
    unsigned seed = 5;
    weft_cost_model q = given_model(GIVEN_LLAMA, "a100-80:64x8", NULL);
    for (int i = 0; i < 400; i++) {
        weft_layout l = given_random(&q.arch, &seed, 512);
        weft_cost c = price(&q, &l);
        assert_true((c.time.tp_comm > 0) == (l.tp > 1));
        assert_true(l.cp > 1 || c.time.cp_comm == 0);
        assert_true(l.dp * l.cp > 1 || c.dp_s == 0);
        assert_true((c.p2p_s > 0) == (l.pp > 1));
        assert_true(l.pp > 1 || c.time.bubble < 1e-9 * c.step_time_s);
    }
}

static void parts_sum_to_the_step(void **state)
{
    unsigned seed = 9;
    weft_cost_model q = given_model(GIVEN_GPT, "a100-80:64x8", NULL);
    for (int i = 0; i < 400; i++) {
        weft_layout l = given_random(&q.arch, &seed, 512);
        weft_cost c = price(&q, &l);
        assert_true(fabs(sum(&c.time) / c.step_time_s - 1) < 1e-9);
        assert_true(c.mfu > 0 && c.mfu < 1);
    }
}

/* Without quantisation, starts of kernels or links, t ranks take 1/t of the matmuls' time,
 * and the stages together the whole. */
static void compute_of_all_ranks_is_that_of_one(void **state)
{
    const char *ideal = "h100:64x8,tile_m=0,align=0,gemm-half-k=0,op-overhead=0,"
                        "memory-bandwidth=1e21";
    weft_cost_model q = given_model(GIVEN_GPT, ideal, NULL);
    weft_layout one = given_layout(&q.arch, "global_batch=8 vocab_multiple=1");
    weft_stage_cost whole, part;
    weft_cost_stage(&q, &one, 0, &whole);
    static const char *const split[] = {"tp=2", "tp=8", "pp=4", "pp=8 tp=2",
                                        "tp=4 pp=2"};
    q.arch.vocab = 50256; /* a multiple of 8: nothing is padded */
    weft_cost_stage(&q, &one, 0, &whole);
    for (int i = 0; i < 5; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s vocab_multiple=1", split[i]);
        weft_layout l = given_layout(&q.arch, text);
        double f = 0, b = 0;
        for (int s = 0; s < l.pp; s++) {
            weft_cost_stage(&q, &l, s, &part);
            f += l.tp * part.f.compute;
            b += l.tp * part.b.compute;
        }
        assert_true(fabs(f / whole.f.compute - 1) < 1e-6);
        assert_true(fabs(b / whole.b.compute - 1) < 1e-6);
    }
}

static void more_bandwidth_never_slows(void **state)
{
    static const char *const field[] = {"scaleup", "network", "memory-bandwidth",
                                        "bf16"};
    static const char *const twice[] = {"600GB/s", "50GB/s", "4078GB/s", "624TFLOP/s"};
    unsigned seed = 21;
    weft_cost_model q = given_model(GIVEN_GPT, "a100-80:64x8", NULL);
    for (int i = 0; i < 300; i++) {
        weft_layout l = given_random(&q.arch, &seed, 512);
        weft_cost_model fast = q;
        int which = (int)given_next(&seed, 4);
        MUST(weft_machine_set(&fast.machine, field[which], twice[which]));
        weft_cost a = price(&q, &l), b = price(&fast, &l);
        if (b.step_time_s > a.step_time_s * (1 + 1e-12) ||
            b.bound_s > a.bound_s * (1 + 1e-12))
            fail_msg("%s doubled: %.9g -> %.9g", field[which], a.step_time_s,
                     b.step_time_s);
    }
}

static void an_order_of_ranks_differs_only_in_its_tiers(void **state)
{
    static const char *const orders[] = {"tp,cp,pp,dp", "dp,pp,cp,tp", "pp,dp,tp,cp"};
    unsigned seed = 33;
    /* all ranks in one domain: no order is better */
    weft_cost_model q = given_model(GIVEN_LLAMA, "h100:1x512", NULL);
    weft_cost_model two = given_model(GIVEN_LLAMA, "h100:64x8", NULL);
    int differ = 0;
    for (int i = 0; i < 200; i++) {
        weft_layout l = given_random(&q.arch, &seed, 512), other = l;
        snprintf(other.order, sizeof other.order, "%s", orders[i % 3]);
        assert_true(price(&q, &l).step_time_s == price(&q, &other).step_time_s);
        weft_cost a = price(&two, &l), b = price(&two, &other);
        weft_stage_cost x, y;
        weft_cost_stage(&two, &l, 0, &x);
        weft_cost_stage(&two, &other, 0, &y);
        assert_true(x.f.compute == y.f.compute && x.b.compute == y.b.compute);
        assert_true(a.memory.total == b.memory.total);
        differ += a.step_time_s != b.step_time_s;
    }
    assert_true(differ > 20);
}

/* Where TP's reductions hide, the same is computed: what they hide behind is no compute
 * less, and no bubble. */
static void what_tp_hides_is_communication(void **state)
{
    static const char *const layouts[] = {
        "tp=8 pp=8 sp=1 vpp=2 schedule=dualpipe", "tp=8 pp=8 sp=1 vpp=2 schedule=zb-v",
        "tp=8 pp=8 sp=1 schedule=zb-h1", "tp=8 pp=8 sp=1 vpp=5 schedule=interleaved-zb",
        "tp=8 pp=8 sp=1 schedule=1f1b"};
    weft_cost_options o;
    weft_cost_defaults(&o);
    weft_cost_model hides = given_model("llama3-70b", "h100:8x8", &o);
    o.overlap_tp = 0;
    weft_cost_model shows = given_model("llama3-70b", "h100:8x8", &o);
    int hidden = 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char text[128];
        weft_cost a, b;
        snprintf(text, sizeof text, "%s global_batch=64", layouts[i]);
        weft_layout l = given_layout(&hides.arch, text);
        MUST(weft_predict(&hides, &l, NULL, NULL, &a));
        MUST(weft_predict(&shows, &l, NULL, NULL, &b));
        assert_float_equal(a.time.compute, b.time.compute, 1e-9 * b.time.compute);
        assert_true(a.time.tp_comm <= b.time.tp_comm);
        hidden += a.time.tp_comm < b.time.tp_comm;
        assert_true(a.time.bubble >= 0 && b.time.bubble >= 0);
        assert_float_equal(sum(&a.time), a.step_time_s, 1e-9 * a.step_time_s);
    }
    assert_true(hidden >= 2); /* of dualpipe and 1f1b, whose backwards are whole */
}

/* Weights that every rank of cp and dp gathers come over the links of its box, whichever
 * axis is nearer: 8 links, whose ranks all gather at once. */
static void no_order_gathers_weights_faster_than_the_boxes_take_them_in(void **state)
{
    static const char *const orders[] = {"tp,cp,pp,dp", "cp,tp,pp,dp", "cp,tp,dp,pp",
                                         "tp,dp,cp,pp", "dp,tp,cp,pp", "cp,dp,tp,pp"};
    weft_cost_options o;
    weft_cost_defaults(&o);
    o.overlap_dp = 0;
    weft_cost_model q = given_model(GIVEN_LLAMA, "h100:8x8", &o);
    weft_layout l = given_layout(
        &q.arch, "tp=4 cp=2 dp=8 sp=1 zero=3 global_batch=64 micro_batch=4 seq=4096");
    double link = 50e9 * q.machine.tier[1].efficiency;
    double params = (double)weft_arch_params(&q.arch) / 4;
    double tp_first = 0;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        snprintf(l.order, sizeof l.order, "%s", orders[i]);
        int members = i < 4 ? 2 : 8; /* of a group in a box, by hand */
        double in = (16.0 - members) / 16 * params * (8.0 / members);
        double micros = (double)weft_layout_n_micro(&l);
        double least =
            micros * (2 * 2 + 4) * in / (8 * link); /* bf16 twice, fp32 once */
        double s = price(&q, &l).dp_s;
        assert_true(s >= least);
        assert_true(s < 2 * least);
        if (i == 0) tp_first = s;
        if (i < 4) assert_float_equal(s, tp_first, 1e-3 * s);
        if (i >= 4) assert_true(s < tp_first / 3);
    }
}

/* ---- against simulation ---------------------------------------------------------- */

static void the_bound_is_below_and_the_estimate_near_what_is_simulated(void **state)
{
    unsigned seed = 77;
    double worst = 0, total = 0;
    int n = 300;
    weft_cost_model q = given_model(GIVEN_GPT, "a100-80:64x8", NULL);
    for (int i = 0; i < n; i++) {
        weft_layout l = given_random(&q.arch, &seed, 256);
        weft_cost c = price(&q, &l), s;
        MUST(weft_predict(&q, &l, NULL, NULL, &s));
        if (c.bound_s > s.step_time_s * (1 + 1e-9))
            fail_msg("%s pp=%d vpp=%d m=%lld: bound %.9g above %.9g", l.schedule, l.pp,
                     l.vpp, (long long)weft_layout_n_micro(&l), c.bound_s,
                     s.step_time_s);
        double e = fabs(c.step_time_s / s.step_time_s - 1);
        total += e;
        if (e > worst) worst = e;
    }
    if (total / n > 0.03 || worst > 0.5)
        fail_msg("mean %.3f, worst %.3f", total / n, worst);
}

/* ---- cases ----------------------------------------------------------------------- */

/* Case 26: reduced for every micro-batch, gradients are sent m times. */
static void case_26_sharded_gradients_with_a_pipeline_pay_for_each_micro_batch(
    void **state)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    o.grad_bytes = 2;
    o.achieved_flops_per_s = 400e12; /* back of the envelope, with ... */
    o.params = 4e9;                  /* ... 1e9 on a stage */
    weft_cost_model q = given_model(GIVEN_GPT, "h100:32x1", &o);
    q.machine.tier[0].alpha_s = q.machine.tier[1].alpha_s = 0;
    q.machine.tier[0].efficiency = q.machine.tier[1].efficiency = 1;
    weft_layout l = given_layout(&q.arch, "pp=4 dp=8 global_batch=256 zero=1");
    double w = q.machine.tier[1].bytes_per_s, once = 1.75e9 / w;
    /* a reduce-scatter of the gradients and an all-gather of the weights */
    assert_true(fabs(price(&q, &l).dp_s / (2 * once) - 1) < 1e-9);
    l.zero = 2;
    assert_true(fabs(price(&q, &l).dp_s / (33 * once) - 1) < 1e-9); /* 56 GB + 1.75 */
    l.zero = 3;
    assert_true(fabs(price(&q, &l).dp_s / (32 * 3 * once) - 1) < 1e-9);
    l.global_batch = 8; /* one micro-batch: nothing to pay again */
    l.zero = 2;
    assert_true(fabs(price(&q, &l).dp_s / (2 * once) - 1) < 1e-9);
}

/* Case 12: at a fixed batch a larger micro-batch makes the bubble longer. */
static void case_12_a_larger_micro_batch_makes_the_bubble_longer(void **state)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    o.achieved_flops_per_s = 400e12;
    weft_cost_model q = given_model(GIVEN_GPT, "h100:2x8", &o);
    q.machine.tier[0].alpha_s = q.machine.tier[1].alpha_s = 0;
    weft_layout l = given_layout(&q.arch, "pp=8 dp=2 global_batch=64");
    q.machine.tier[1].bytes_per_s = q.machine.tier[0].bytes_per_s = 1e20;
    assert_true(fabs(price(&q, &l).bubble_of_total - 7.0 / 39) < 1e-9);
    l.micro_batch = 4;
    assert_true(fabs(price(&q, &l).bubble_of_total - 7.0 / 15) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nothing_is_sent),
        cmocka_unit_test(each_axis_sends_only_if_it_is_above_one),
        cmocka_unit_test(parts_sum_to_the_step),
        cmocka_unit_test(compute_of_all_ranks_is_that_of_one),
        cmocka_unit_test(more_bandwidth_never_slows),
        cmocka_unit_test(an_order_of_ranks_differs_only_in_its_tiers),
        cmocka_unit_test(what_tp_hides_is_communication),
        cmocka_unit_test(no_order_gathers_weights_faster_than_the_boxes_take_them_in),
        cmocka_unit_test(the_bound_is_below_and_the_estimate_near_what_is_simulated),
        cmocka_unit_test(
            case_26_sharded_gradients_with_a_pipeline_pay_for_each_micro_batch),
        cmocka_unit_test(case_12_a_larger_micro_batch_makes_the_bubble_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
