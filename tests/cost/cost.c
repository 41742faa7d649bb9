/* SPDX-License-Identifier: Apache-2.0 */
/* The worked examples of the lessons; L numbers are rows of their table of numbers. */
#include <weft/cost.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* after the four headers that it needs */
#include <cmocka.h>

static const double H100 = 989e12, ACHIEVED = 400e12, NVLINK = 450e9, NETWORK = 50e9;
enum { BF16 = 2 };

static weft_arch width(int hidden, int layers)
{
    weft_arch a;
    char text[96];
    snprintf(text, sizeof text, "layers=%d,hidden=%d,heads=%d,positions=4096", layers,
             hidden, hidden / 128);
    if (weft_arch_parse(text, &a)) fail_msg("%s", weft_status_message());
    return a;
}

static void equal(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", x, expected);
}

/* To the digits that the lesson prints. */
static void near(double x, double expected, double tolerance)
{
    if (!(fabs(x - expected) <= tolerance)) fail_msg("%.9g is not %.9g", x, expected);
}

static double tp_ratio(int hidden, int tp, double flops, double link)
{
    weft_arch a = width(hidden, 2);
    return weft_cost_tp_ratio(&a, WEFT_FORWARD, tp, BF16, flops, link);
}

/* The ring itself, step by step: t-1 steps of a reduce-scatter and t-1 of an all-gather,
 * each sending one of t equal parts. */
static void L03_a_ring_all_reduce_sends_2_t_minus_1_parts_of_t(void **state)
{
    for (int t = 1; t <= 64; t++) {
        double part = 840.0 * 64 / t, sent = 0;
        for (int step = 0; step < 2 * (t - 1); step++)
            sent += part;
        if (t == 1)
            assert_true(weft_cost_ring_all_reduce_bytes(part, t) == 0);
        else
            equal(weft_cost_ring_all_reduce_bytes(840.0 * 64, t), sent);
    }
}

static void L04_a_layer_has_two_all_reduces_each_way(void **state)
{
    weft_arch a = width(1024, 3);
    assert_int_equal(weft_cost_tp_all_reduces(WEFT_FORWARD), 2);
    assert_int_equal(weft_cost_tp_all_reduces(WEFT_BACKWARD), 2);
    for (int pass = 0; pass < 2; pass++) /* each on T*h values */
        equal(weft_cost_tp_block_bytes(&a, pass, 512, 4, BF16),
              2 * weft_cost_ring_all_reduce_bytes(512.0 * 1024 * BF16, 4));
}

static void L05_tp_ratio_8192_nvlink(void **state)
{
    equal(tp_ratio(8192, 8, H100, NVLINK), 0.6259946469907407);
}

static void L06_tp_ratio_8192_network(void **state)
{
    equal(tp_ratio(8192, 8, H100, NETWORK), 5.633951822916667);
}

static void L07_tp_ratio_4096_nvlink(void **state)
{
    equal(tp_ratio(4096, 8, H100, NVLINK), 1.2519892939814814);
}

static void L08_tp_ratio_4096_network(void **state)
{
    equal(tp_ratio(4096, 8, H100, NETWORK), 11.267903645833334);
}

static void L13_pp_ratio_with_scatter_gather(void **state)
{
    weft_arch a = width(8192, 80);
    double ratio = weft_cost_pp_ratio(&a, 8, 8, BF16, 1, H100, NETWORK);
    equal(ratio, 0.020121256510416668);
    equal(ratio, 8 * H100 / (12.0 * 80 * 8192 * NETWORK)); /* pF/(12LhW) */
    equal(weft_cost_pp_ratio(&a, 8, 8, BF16, 0, H100, NETWORK), 8 * ratio);
    for (int tp = 1; tp <= 8; tp *= 2) /* t cancels */
        equal(weft_cost_pp_ratio(&a, tp, 8, BF16, 1, H100, NETWORK), ratio);
}

static void L15_forward_flops_of_a_layer_per_gpu(void **state)
{
    weft_arch a = width(8192, 1);
    equal(weft_cost_block_flops(&a, WEFT_FORWARD, 4096, 8), 824633720832.0);
    equal(weft_cost_block_flops(&a, WEFT_BACKWARD, 4096, 8), 2 * 824633720832.0);
}

static void L16_time_of_them(void **state)
{
    weft_arch a = width(8192, 1);
    equal(weft_cost_block_flops(&a, WEFT_FORWARD, 4096, 8) / H100,
          0.0008338055822366026);
}

static void L17_all_reduce_bytes_of_a_layer_per_gpu(void **state)
{
    weft_arch a = width(8192, 1);
    equal(weft_cost_tp_block_bytes(&a, WEFT_FORWARD, 4096, 8, BF16), 234881024.0);
}

static void L18_time_of_them(void **state)
{
    weft_arch a = width(8192, 1);
    double bytes = weft_cost_tp_block_bytes(&a, WEFT_FORWARD, 4096, 8, BF16);
    near(bytes / NVLINK, 0.000521958, 5e-10);
    near(bytes / NETWORK, 0.00469762, 5e-9);
}

static void L23_tp_ratio_at_achieved_flops(void **state)
{
    near(tp_ratio(8192, 8, ACHIEVED, NVLINK), 0.253183, 5e-7);
    near(tp_ratio(8192, 8, ACHIEVED, NETWORK), 2.27865, 5e-6);
}

static void L27_boundary_bytes_and_their_time(void **state)
{
    weft_arch a = width(8192, 80);
    double bytes = weft_cost_pp_boundary_bytes(&a, 4096, 8, BF16, 1);
    equal(bytes, 2.0 * 4096 * 8192 / 8);
    near(bytes / NETWORK, 0.000167772, 5e-10);
}

static void L39_tp_ratio_4096_tp_4(void **state)
{
    near(tp_ratio(4096, 4, H100, NVLINK), 0.536567, 5e-7);
    near(tp_ratio(4096, 4, H100, NETWORK), 4.8291, 5e-5);
}

static void the_ratio_is_the_closed_form_and_halves_backward(void **state)
{
    for (int hidden = 128; hidden <= 4096; hidden *= 2)
        for (int tp = 1; tp <= 16; tp++) {
            weft_arch a = width(hidden, 2);
            double ratio = tp_ratio(hidden, tp, H100, NVLINK);
            if (tp == 1)
                assert_true(ratio == 0);
            else
                equal(ratio, (tp - 1) * H100 / (3.0 * hidden * NVLINK));
            if (tp > 1)
                equal(weft_cost_tp_ratio(&a, WEFT_BACKWARD, tp, BF16, H100, NVLINK),
                      ratio / 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(L03_a_ring_all_reduce_sends_2_t_minus_1_parts_of_t),
        cmocka_unit_test(L04_a_layer_has_two_all_reduces_each_way),
        cmocka_unit_test(L05_tp_ratio_8192_nvlink),
        cmocka_unit_test(L06_tp_ratio_8192_network),
        cmocka_unit_test(L07_tp_ratio_4096_nvlink),
        cmocka_unit_test(L08_tp_ratio_4096_network),
        cmocka_unit_test(L13_pp_ratio_with_scatter_gather),
        cmocka_unit_test(L15_forward_flops_of_a_layer_per_gpu),
        cmocka_unit_test(L16_time_of_them),
        cmocka_unit_test(L17_all_reduce_bytes_of_a_layer_per_gpu),
        cmocka_unit_test(L18_time_of_them),
        cmocka_unit_test(L23_tp_ratio_at_achieved_flops),
        cmocka_unit_test(L27_boundary_bytes_and_their_time),
        cmocka_unit_test(L39_tp_ratio_4096_tp_4),
        cmocka_unit_test(the_ratio_is_the_closed_form_and_halves_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
