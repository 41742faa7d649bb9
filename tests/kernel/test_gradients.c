/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backward kernels against central differences of the forward ones, in f64. With weights w
 * the loss is sum w_i y_i, so dy = w. Step 1e-5: the difference is good to about 1e-9.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

enum { ROWS = 5, COLS = 7, N = ROWS * COLS };
static const double STEP = 1e-5, TOLERANCE = 1e-7; /* required: 1e-6 */

typedef struct bench {
    weft_kctx *k;
    lab l;
    double x[N], w[N], gain[COLS], bias[COLS];
    int32_t target[ROWS];
} bench;

static void fill(bench *b, double *x, int n, double scale)
{
    for (int i = 0; i < n; i++)
        x[i] = lab_value(&b->l, scale);
}

static void set_up(bench *b, uint32_t seed)
{
    const char *name;
    memset(b, 0, sizeof *b);
    b->k = lab_context(-1, 1, &name);
    b->l.seed = seed;
    fill(b, b->x, N, 2);
    fill(b, b->w, N, 1);
    fill(b, b->gain, COLS, 1);
    fill(b, b->bias, COLS, 1);
}

/* d loss / d p[0..n) equals want, p being part of b. */
static void check(bench *b, double (*loss)(bench *), double *p, int n,
                  const double *want)
{
    for (int i = 0; i < n; i++) {
        const double old = p[i];
        p[i] = old + STEP;
        const double up = loss(b);
        p[i] = old - STEP;
        const double down = loss(b);
        p[i] = old;
        const double slope = (up - down) / (2 * STEP);
        if (!(fabs(slope - want[i]) <= TOLERANCE * (1 + fabs(slope))))
            fail_msg("derivative %d is %.12g, kernel says %.12g", i, slope, want[i]);
    }
}

static double weighted(const bench *b, const double *y)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += b->w[i] * y[i];
    return sum;
}

static double loss_layernorm(bench *b)
{
    double y[N], mean[ROWS], rstd[ROWS];
    weft_k_layernorm(b->k, WEFT_F64, ROWS, COLS, 1e-5, b->x, b->gain, b->bias, y, mean,
                     rstd);
    return weighted(b, y);
}

static void layernorm_gradients_are_the_slopes(void **state)
{
    bench b;
    double y[N], mean[ROWS], rstd[ROWS], dx[N], dg[COLS] = {0}, db[COLS] = {0};
    set_up(&b, 1);
    weft_k_layernorm(b.k, WEFT_F64, ROWS, COLS, 1e-5, b.x, b.gain, b.bias, y, mean,
                     rstd);
    weft_k_layernorm_dx(b.k, WEFT_F64, ROWS, COLS, b.x, b.gain, mean, rstd, b.w, 0, dx);
    weft_k_layernorm_dw(b.k, WEFT_F64, ROWS, COLS, b.x, mean, rstd, b.w, dg, db);
    check(&b, loss_layernorm, b.x, N, dx);
    check(&b, loss_layernorm, b.gain, COLS, dg);
    check(&b, loss_layernorm, b.bias, COLS, db);
    lab_free_context(b.k);
}

static double loss_gelu(bench *b)
{
    double u[N], y[N];
    memcpy(u, b->x, sizeof u);
    weft_k_bias_gelu(b->k, WEFT_F64, ROWS, COLS, b->bias, u, y);
    return weighted(b, y);
}

static void gelu_and_bias_gradients_are_the_slopes(void **state)
{
    bench b;
    double u[N], y[N], du[N], db[COLS] = {0};
    set_up(&b, 2);
    memcpy(u, b.x, sizeof u);
    weft_k_bias_gelu(b.k, WEFT_F64, ROWS, COLS, b.bias, u, y);
    weft_k_gelu_dx(b.k, WEFT_F64, N, u, b.w, du);
    weft_k_bias_dw(b.k, WEFT_F64, ROWS, COLS, du, db);
    check(&b, loss_gelu, b.x, N, du);
    check(&b, loss_gelu, b.bias, COLS, db);
    lab_free_context(b.k);
}

enum { SIDE = 5 }; /* one causal matrix, in the first 25 elements */

static double loss_softmax(bench *b)
{
    double p[N] = {0};
    memcpy(p, b->x, SIDE * SIDE * sizeof *p);
    weft_k_softmax_causal(b->k, WEFT_F64, 1, SIDE, 0.7, p);
    return weighted(b, p);
}

static void softmax_gradient_is_the_slope_and_zero_above_the_diagonal(void **state)
{
    bench b;
    double p[N] = {0}, dp[N];
    set_up(&b, 3);
    memcpy(p, b.x, SIDE * SIDE * sizeof *p);
    memcpy(dp, b.w, sizeof dp);
    weft_k_softmax_causal(b.k, WEFT_F64, 1, SIDE, 0.7, p);
    weft_k_softmax_causal_dx(b.k, WEFT_F64, 1, SIDE, 0.7, p, dp);
    check(&b, loss_softmax, b.x, SIDE * SIDE, dp);
    for (int i = 0; i < SIDE; i++)
        for (int j = i + 1; j < SIDE; j++) {
            assert_true(p[i * SIDE + j] == 0);
            assert_true(dp[i * SIDE + j] == 0);
        }
    lab_free_context(b.k);
}

/* Two shards of 3 and 2 columns in rows of 4 and 3: their maxima and sums joined as the
 * ranks would. Loss: sum over rows of log(sum) - target, times 1/8. */
enum { LD0 = 4, COUNT0 = 3, LD1 = 3, COUNT1 = 2 };

typedef struct joined {
    double max[ROWS], sum[ROWS], own[ROWS];
} joined;

static joined join(bench *b, const double *l0, const double *l1)
{
    joined a, c;
    weft_k_ce_max(b->k, WEFT_F64, ROWS, LD0, COUNT0, l0, a.max);
    weft_k_ce_max(b->k, WEFT_F64, ROWS, LD1, COUNT1, l1, c.max);
    for (int i = 0; i < ROWS; i++)
        a.max[i] = a.max[i] > c.max[i] ? a.max[i] : c.max[i];
    weft_k_ce_sum(b->k, WEFT_F64, ROWS, LD0, 0, COUNT0, b->target, l0, a.max, a.sum,
                  a.own);
    weft_k_ce_sum(b->k, WEFT_F64, ROWS, LD1, COUNT0, COUNT1, b->target, l1, a.max,
                  c.sum, c.own);
    for (int i = 0; i < ROWS; i++) {
        a.sum[i] += c.sum[i];
        a.own[i] += c.own[i];
    }
    return a;
}

static double loss_ce(bench *b)
{
    const joined j = join(b, b->x, b->x + ROWS * LD0);
    double loss = 0;
    for (int i = 0; i < ROWS; i++)
        if (b->target[i] >= 0) loss += (log(j.sum[i]) - j.own[i]) / 8;
    return loss;
}

static void cross_entropy_of_two_shards_has_the_slopes_of_one_loss(void **state)
{
    bench b;
    double d[N];
    set_up(&b, 4);
    const int32_t target[ROWS] = {0, 4, -1, 3,
                                  2}; /* ends of both shards, one ignored */
    memcpy(b.target, target, sizeof target);
    memcpy(d, b.x, sizeof d);
    double *l0 = d, *l1 = d + ROWS * LD0;
    const joined j = join(&b, l0, l1);
    weft_k_ce_dx(b.k, WEFT_F64, ROWS, LD0, 0, COUNT0, target, j.max, j.sum, 0.125, l0);
    weft_k_ce_dx(b.k, WEFT_F64, ROWS, LD1, COUNT0, COUNT1, target, j.max, j.sum, 0.125,
                 l1);
    check(&b, loss_ce, b.x, N, d);
    for (int i = 0; i < ROWS; i++)
        assert_true(l0[i * LD0 + 3] == 0 && l1[i * LD1 + 2] == 0); /* padding */
    lab_free_context(b.k);
}

static double loss_embed(bench *b)
{
    const int32_t token[ROWS] = {3, 1, 3, 9,
                                 2}; /* rows 1..3 are here; 9 is elsewhere */
    double y[N];
    weft_k_embed(b->k, WEFT_F64, WEFT_F64, ROWS, COLS, 1, 3, token, b->x, y);
    return weighted(b, y);
}

static void embedding_gradient_sums_over_equal_tokens(void **state)
{
    const int32_t token[ROWS] = {3, 1, 3, 9, 2};
    bench b;
    double dw[3 * COLS] = {0};
    set_up(&b, 5);
    weft_k_embed_dw(b.k, WEFT_F64, ROWS, COLS, 1, 3, token, b.w, dw);
    check(&b, loss_embed, b.x, 3 * COLS, dw);
    lab_free_context(b.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layernorm_gradients_are_the_slopes),
        cmocka_unit_test(gelu_and_bias_gradients_are_the_slopes),
        cmocka_unit_test(softmax_gradient_is_the_slope_and_zero_above_the_diagonal),
        cmocka_unit_test(cross_entropy_of_two_shards_has_the_slopes_of_one_loss),
        cmocka_unit_test(embedding_gradient_sums_over_equal_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
