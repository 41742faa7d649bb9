/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels at values worked out by hand, with ref and with the best vector set. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/fast/math.h"
#include "lab.h"

static const weft_dtype every[] = {WEFT_F64, WEFT_F32, WEFT_BF16};

/* Calls f for ref and the best vector set with every dtype. */
static void with_each(void (*f)(weft_kctx *k, weft_dtype t))
{
    const char *name;
    for (int set = -1; set < 1; set++)
        for (int t = 0; t < 3; t++) {
            weft_kctx *k = lab_context(set, 2, &name);
            f(k, every[t]);
            lab_free_context(k);
        }
}

static void put(void *x, weft_dtype t, int n, const double *v)
{
    for (int i = 0; i < n; i++)
        lab_set(x, t, i, v[i]);
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", got, tolerance, want);
}

static double ce_loss(weft_kctx *k, weft_dtype t, int n, const double *v,
                      int32_t target)
{
    const weft_dtype acc = weft_dtype_acc(t);
    double x[8], max, sum, own;
    put(x, t, n, v);
    weft_k_ce_max(k, t, 1, n, n, x, &max);
    weft_k_ce_sum(k, t, 1, n, 0, n, &target, x, &max, &sum, &own);
    return log(lab_get(&sum, acc, 0)) - lab_get(&own, acc, 0);
}

static void large_logits(weft_kctx *k, weft_dtype t)
{
    const double large[] = {1000, 0, 0, 0}, six[] = {1, 2, 3, 4, 5, 6};
    assert_near(ce_loss(k, t, 4, large, 0), 0, 0);
    assert_near(ce_loss(k, t, 4, large, 1), 1000, 0);
    assert_near(ce_loss(k, t, 6, six, 2), 3.4562, 5e-5); /* target value 3 */
}

static void case_73_logits_of_1000_give_a_loss_without_inf_or_nan(void **state)
{
    with_each(large_logits);
}

static void nan_logits(weft_kctx *k, weft_dtype t)
{
    const double bad[] = {1, NAN, 2};
    assert_true(isnan(ce_loss(k, t, 3, bad, 0)));
}

static void a_nan_among_the_logits_reaches_the_loss(void **state)
{
    with_each(nan_logits);
}

static void nan_scores(weft_kctx *k, weft_dtype t)
{
    double s[9] = {0};
    const double v[] = {1, 9, 9, NAN, 1, 9, 1, 2, 3};
    put(s, t, 9, v);
    weft_k_softmax_causal(k, t, 1, 3, 1, s);
    assert_true(lab_get(s, t, 0) == 1); /* alone in its row */
    assert_true(isnan(lab_get(s, t, 3)) && isnan(lab_get(s, t, 4)));
    assert_true(lab_get(s, t, 5) == 0);
    assert_near(lab_get(s, t, 8), exp(2) / (1 + exp(1) + exp(2)), 4e-3);
}

static void above_diagonal(weft_kctx *k, weft_dtype t)
{
    double s[25] = {0}, dp[25] = {0};
    for (int i = 0; i < 25; i++) {
        lab_set(s, t, i, i);
        lab_set(dp, t, i, i);
    }
    weft_k_softmax_causal(k, t, 1, 5, 1, s);
    weft_k_softmax_causal_dx(k, t, 1, 5, 1, s, dp);
    for (int i = 0; i < 25; i++)
        if (i % 5 > i / 5) assert_true(lab_get(s, t, i) == 0 && lab_get(dp, t, i) == 0);
}

static void nothing_is_above_the_diagonal(void **state)
{
    with_each(above_diagonal);
}

static void a_nan_score_spoils_its_own_row_only(void **state)
{
    with_each(nan_scores);
}

static void check_absmax(weft_kctx *k, weft_dtype t)
{
    double x[40] = {0};
    for (int i = 0; i < 40; i++)
        lab_set(x, t, i, i % 2 ? -i : i);
    assert_true(weft_k_absmax(k, t, 40, x) == 39);
    lab_set(x, t, 17, -INFINITY);
    assert_true(isinf(weft_k_absmax(k, t, 40, x)));
    lab_set(x, t, 3, NAN);
    assert_true(isnan(weft_k_absmax(k, t, 40, x)));
    assert_true(weft_k_absmax(k, t, 0, x) == 0 && weft_k_sumsq(k, t, 0, x) == 0);
}

static void absmax_finds_infinity_and_nan(void **state)
{
    with_each(check_absmax);
}

static void check_adamw(weft_kctx *k, weft_dtype t)
{
    const weft_dtype acc = weft_dtype_acc(t);
    const double b1 = 0.9, b2 = 0.999, eps = 1e-8, lr = 0.25, decay = 0.5;
    const double fix1 = 0.68619, fix2 = 0.010945; /* case 105: step 11 */
    const double tolerance = t == WEFT_F64 ? 1e-15 : 2e-7;
    double g, m, v, master, w;
    const weft_adamw o = {lr, b1, b2, eps, decay, 2, 11};
    assert_near(1 - pow(b1, 11), fix1, 5e-6);
    assert_near(1 - pow(b2, 11), fix2, 5e-7);
    lab_set(&g, acc, 0, 0.25); /* times grad_scale: 0.5 */
    lab_set(&m, acc, 0, 0.125);
    lab_set(&v, acc, 0, 0.0625);
    lab_set(&master, acc, 0, 1);
    weft_k_adamw(k, t, 1, &o, &g, &m, &v, &master, &w);
    const double m1 = b1 * 0.125 + (1 - b1) * 0.5, v1 = b2 * 0.0625 + (1 - b2) * 0.25;
    const double step = m1 / (1 - pow(b1, 11)) / (sqrt(v1 / (1 - pow(b2, 11))) + eps);
    const double p = 1 - lr * (step + decay * 1);
    assert_near(lab_get(&m, acc, 0), m1, tolerance);
    assert_near(lab_get(&v, acc, 0), v1, tolerance);
    assert_near(lab_get(&master, acc, 0), p, tolerance);
    assert_near(lab_get(&w, t, 0), p, t == WEFT_BF16 ? 0x1p-8 : tolerance);
}

static void case_105_adamw_of_step_11_has_its_bias_corrections(void **state)
{
    with_each(check_adamw);
}

static void assert_all(const void *x, weft_dtype t, int n, const double *want)
{
    for (int i = 0; i < n; i++)
        assert_true(lab_get(x, t, i) == want[i]);
}

static void check_clamp(weft_kctx *k, weft_dtype t)
{
    const double in[] = {-3, -2, 0, 2, 5}, out[] = {-2, -2, 0, 2, 2};
    const double slope[] = {10, 20, 30, 40, 50}, through[] = {0, 20, 30, 40, 0};
    const double twice[] = {0, 40, 60, 80, 0};
    double x[5] = {0}, y[5] = {0}, dy[5] = {0};
    put(x, t, 5, in);
    put(dy, t, 5, slope);
    assert_int_equal(weft_k_clamp(k, t, 5, 2, x, y), 2);
    assert_all(y, t, 5, out);
    weft_k_clamp_dx(k, t, 5, 2, x, dy, 0, y);
    assert_all(y, t, 5, through);
    weft_k_clamp_dx(k, t, 5, 2, x, y, 1, y);
    assert_all(y, t, 5, twice);
}

/* Row 0 sees column 0, row 1 both; what is masked is not counted as outside. */
static void check_clamp_causal(weft_kctx *k, weft_dtype t)
{
    const double in[] = {-9, 9, 2, 3}, out[] = {-2, 0, 2, 2};
    const double slope[] = {1, 2, 3, 4}, through[] = {0, 0, 3, 0};
    double s[4] = {0}, p[4] = {0}, dp[4] = {0};
    put(s, t, 4, in);
    put(dp, t, 4, slope);
    assert_int_equal(weft_k_clamp_causal(k, t, 1, 2, 2, s, p), 2);
    assert_all(p, t, 4, out);
    weft_k_clamp_causal_dx(k, t, 1, 2, 2, s, dp);
    assert_all(dp, t, 4, through);
}

static void clamp_keeps_its_bounds_and_counts_what_it_cuts(void **state)
{
    with_each(check_clamp);
    with_each(check_clamp_causal);
}

static void check_sgd(weft_kctx *k, weft_dtype t)
{
    const weft_dtype acc = weft_dtype_acc(t);
    double g = 0, master = 0, w = 0;
    lab_set(&g, acc, 0, 3);
    lab_set(&master, acc, 0, 1);
    weft_k_sgd(k, t, 1, 0.5, 0.25, &g, &master, &w);
    assert_true(lab_get(&master, acc, 0) == 0.625 && lab_get(&w, t, 0) == 0.625);
}

static void sgd_takes_rate_times_scale_times_gradient(void **state)
{
    with_each(check_sgd);
}

/* Adding ones to 2^24 in f32 would stop there; in pairs it does not. */
static void check_sumsq(weft_kctx *k, weft_dtype t)
{
    enum { N = 3000000 };
    if (t == WEFT_F64) return;
    void *x = malloc(N * sizeof(float));
    for (int i = 0; i < N; i++)
        lab_set(x, t, i, 3);
    assert_true(weft_k_sumsq(k, t, N, x) == 27000000.0);
    free(x);
}

static void sum_of_squares_does_not_drift(void **state)
{
    with_each(check_sumsq);
}

static int64_t units_apart(float a, float b)
{
    int32_t i, j;
    memcpy(&i, &a, sizeof i);
    memcpy(&j, &b, sizeof j);
    return i > j ? (int64_t)i - j : (int64_t)j - i;
}

/* 2.2 million values over the range in which the result is normal. */
static void exp_is_within_two_units_of_libm(void **state)
{
    for (double x = -87.33; x < 88.37; x += 0.00008) {
        const float got = fast_exp((float)x), want = (float)exp((double)(float)x);
        if (units_apart(got, want) > 2)
            fail_msg("exp(%.9g) is %.9g, not %.9g", x, (double)got, (double)want);
    }
}

static void exp_has_its_limits(void **state)
{
    assert_true(fast_exp(0) == 1);
    for (float x = 88.4f; x < FLT_MAX; x *= 1.5f)
        assert_true(isinf(fast_exp(x)) && fast_exp(-x) == 0);
    assert_true(isinf(fast_exp(INFINITY)) && fast_exp(-INFINITY) == 0);
    for (uint32_t payload = 1; payload < 1u << 23; payload <<= 1)
        for (uint32_t sign = 0; sign < 2; sign++)
            assert_true(isnan(fast_exp(wf_float(sign << 31 | 0x7f800000u | payload))));
}

static void exp_never_falls(void **state)
{
    float before = 0;
    for (double x = -90; x < 89; x += 0.0001) {
        const float now = fast_exp((float)x);
        assert_true(now >= before * (1 - 2 * FLT_EPSILON));
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_73_logits_of_1000_give_a_loss_without_inf_or_nan),
        cmocka_unit_test(a_nan_among_the_logits_reaches_the_loss),
        cmocka_unit_test(a_nan_score_spoils_its_own_row_only),
        cmocka_unit_test(nothing_is_above_the_diagonal),
        cmocka_unit_test(absmax_finds_infinity_and_nan),
        cmocka_unit_test(case_105_adamw_of_step_11_has_its_bias_corrections),
        cmocka_unit_test(clamp_keeps_its_bounds_and_counts_what_it_cuts),
        cmocka_unit_test(sgd_takes_rate_times_scale_times_gradient),
        cmocka_unit_test(sum_of_squares_does_not_drift),
        cmocka_unit_test(exp_is_within_two_units_of_libm),
        cmocka_unit_test(exp_has_its_limits),
        cmocka_unit_test(exp_never_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
