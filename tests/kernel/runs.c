/* SPDX-License-Identifier: Apache-2.0 */
/* One run of each kernel: its arguments out of rows and cols. */
#include <math.h>
#include <string.h>

#include "lab.h"

static void run_layernorm(lab *l)
{
    const int64_t n = l->rows * l->cols;
    void *x = lab_input(l, l->t, n, 3), *g = lab_input(l, l->t, l->cols, 2);
    void *b = lab_input(l, l->t, l->cols, 1), *y = lab_zeros(l, l->t, n);
    void *mean = lab_zeros(l, l->acc, l->rows), *rstd = lab_zeros(l, l->acc, l->rows);
    weft_k_layernorm(l->k, l->t, l->rows, l->cols, 1e-3, x, g, b, y, mean, rstd);
    lab_keep(l, y, l->t, n);
    lab_keep(l, mean, l->acc, l->rows);
    lab_keep(l, rstd, l->acc, l->rows);
}

static void layernorm_dx(lab *l, int add)
{
    const int64_t n = l->rows * l->cols;
    void *x = lab_input(l, l->t, n, 2), *g = lab_input(l, l->t, l->cols, 2);
    void *mean = lab_input(l, l->acc, l->rows, 1),
         *rstd = lab_input(l, l->acc, l->rows, 1);
    void *dy = lab_input(l, l->t, n, 1), *dx = lab_input(l, l->t, n, 1);
    if (!add)
        for (int64_t i = 0; i < n; i++)
            lab_set(dx, l->t, i, NAN); /* what was there must not count */
    weft_k_layernorm_dx(l->k, l->t, l->rows, l->cols, x, g, mean, rstd, dy, add, dx);
    lab_keep(l, dx, l->t, n);
}

static void run_layernorm_dx(lab *l)
{
    layernorm_dx(l, 0);
}

static void run_layernorm_dx_add(lab *l)
{
    layernorm_dx(l, 1);
}

static void run_layernorm_dw(lab *l)
{
    const int64_t n = l->rows * l->cols;
    void *x = lab_input(l, l->t, n, 2), *dy = lab_input(l, l->t, n, 1);
    void *mean = lab_input(l, l->acc, l->rows, 1),
         *rstd = lab_input(l, l->acc, l->rows, 1);
    void *dg = lab_input(l, l->acc, l->cols, 1), *db = lab_input(l, l->acc, l->cols, 1);
    weft_k_layernorm_dw(l->k, l->t, l->rows, l->cols, x, mean, rstd, dy, dg, db);
    lab_keep(l, dg, l->acc, l->cols);
    lab_keep(l, db, l->acc, l->cols);
}

static void run_bias_gelu(lab *l)
{
    const int64_t n = l->rows * l->cols;
    void *bias = lab_input(l, l->t, l->cols, 1), *u = lab_input(l, l->t, n, 6);
    void *y = lab_zeros(l, l->t, n);
    weft_k_bias_gelu(l->k, l->t, l->rows, l->cols, bias, u, y);
    lab_keep(l, u, l->t, n);
    lab_keep(l, y, l->t, n);
}

static void run_gelu_dx(lab *l)
{
    const int64_t n = l->rows * l->cols;
    void *u = lab_input(l, l->t, n, 6), *dy = lab_input(l, l->t, n, 2);
    for (int64_t i = 0; i < n; i += 97) /* far out the gate is exactly 0 or 1 */
        lab_set(u, l->t, i, i % 2 ? 1e4 : -1e4);
    weft_k_gelu_dx(l->k, l->t, n, u, dy, dy);
    lab_keep(l, dy, l->t, n);
}

static void run_bias_residual(lab *l)
{
    const int64_t n = l->rows * l->cols;
    for (int partial = 0; partial < 2; partial++) {
        const weft_dtype zt = partial ? l->acc : l->t;
        void *res = lab_input(l, l->t, n, 2), *z = lab_input(l, zt, n, 2);
        void *bias = lab_input(l, l->t, l->cols, 1), *out = lab_zeros(l, l->t, n);
        weft_k_bias_residual(l->k, l->t, zt, l->rows, l->cols, res, z, bias, out);
        lab_keep(l, out, l->t, n);
    }
}

static void run_bias_dw(lab *l)
{
    void *dy = lab_input(l, l->t, l->rows * l->cols, 1);
    void *db = lab_input(l, l->acc, l->cols, 1);
    weft_k_bias_dw(l->k, l->t, l->rows, l->cols, dy, db);
    lab_keep(l, db, l->acc, l->cols);
}

/* Attention: 2 sequences of `rows`, 3 heads of `cols`, both kept small. */
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_heads(lab *l)
{
    const int64_t B = 2, S = least(l->rows, 40), H = 3, d = least(l->cols, 65);
    const int64_t n = B * S * H * d;
    void *qkv = lab_input(l, l->t, 3 * n, 1), *bias = lab_input(l, l->t, 3 * H * d, 1);
    void *q = lab_zeros(l, l->t, n), *k = lab_zeros(l, l->t, n),
         *v = lab_zeros(l, l->t, n);
    void *back = lab_zeros(l, l->t, 3 * n), *merged = lab_zeros(l, l->t, n);
    void *heads = lab_zeros(l, l->t, n);
    weft_k_pack_qkv(l->k, l->t, B, S, H, d, qkv, bias, q, k, v);
    weft_k_unpack_qkv(l->k, l->t, B, S, H, d, q, k, v, back);
    weft_k_merge_heads(l->k, l->t, B, S, H, d, q, merged);
    weft_k_split_heads(l->k, l->t, B, S, H, d, merged, heads);
    lab_keep(l, q, l->t, n);
    lab_keep(l, k, l->t, n);
    lab_keep(l, v, l->t, n);
    lab_keep(l, back, l->t, 3 * n);
    lab_keep(l, merged, l->t, n);
    for (int64_t i = 0; i < n; i++)
        assert_true(lab_get(heads, l->t, i) == lab_get(q, l->t, i));
}

static void run_softmax_causal(lab *l)
{
    const int64_t n = 3, S = l->rows;
    void *s = lab_input(l, l->t, n * S * S, 20);
    weft_k_softmax_causal(l->k, l->t, n, S, 0.25, s);
    lab_keep(l, s, l->t, n * S * S);
}

static void run_softmax_causal_dx(lab *l)
{
    const int64_t n = 3, S = l->rows;
    void *p = lab_input(l, l->t, n * S * S, 1), *dp = lab_input(l, l->t, n * S * S, 1);
    weft_k_softmax_causal_dx(l->k, l->t, n, S, 0.25, p, dp);
    lab_keep(l, dp, l->t, n * S * S);
}

/* A shard of 11 rows from number 7 on; tokens before, inside and after. */
static void run_embed(lab *l)
{
    const int64_t n = l->rows * l->cols, first = 7, count = 11;
    int32_t *token = lab_integers(l, l->rows, 0, 25);
    void *w = lab_input(l, l->t, count * l->cols, 1);
    for (int partial = 0; partial < 2; partial++) {
        const weft_dtype ot = partial ? l->acc : l->t;
        void *out = lab_input(l, ot, n, 1);
        weft_k_embed(l->k, l->t, ot, l->rows, l->cols, first, count, token, w, out);
        lab_keep(l, out, ot, n);
    }
    void *dx = lab_input(l, l->t, n, 1), *dw = lab_input(l, l->acc, count * l->cols, 1);
    weft_k_embed_dw(l->k, l->t, l->rows, l->cols, first, count, token, dx, dw);
    weft_k_embed_dw(l->k, l->t, l->rows, l->cols, first, 0, token, dx,
                    dw); /* no rows */
    lab_keep(l, dw, l->acc, count * l->cols);
}

static void run_position(lab *l)
{
    const int64_t n = l->rows * l->cols, places = 9;
    int32_t *pos = lab_integers(l, l->rows, 0, places);
    void *wpe = lab_input(l, l->t, places * l->cols, 1);
    for (int partial = 0; partial < 2; partial++) {
        const weft_dtype xt = partial ? l->acc : l->t;
        void *x = lab_input(l, xt, n, 1), *out = lab_zeros(l, l->t, n);
        weft_k_add_position(l->k, l->t, xt, l->rows, l->cols, pos, x, wpe, out);
        lab_keep(l, out, l->t, n);
    }
    void *dx = lab_input(l, l->t, n, 1),
         *dw = lab_input(l, l->acc, places * l->cols, 1);
    weft_k_position_dw(l->k, l->t, l->rows, l->cols, pos, dx, dw);
    lab_keep(l, dw, l->acc, places * l->cols);
}

/* Shard from number 5 on with `padding` columns that hold NaN; some tokens ignored. */
static void cross_entropy(lab *l, int64_t count)
{
    const int64_t ld = l->cols, first = 5, n = l->rows * ld;
    int32_t *target = lab_integers(l, l->rows, -2, first + ld + 3);
    void *logits = lab_input(l, l->t, n, 10), *max = lab_zeros(l, l->acc, l->rows);
    void *sum = lab_zeros(l, l->acc, l->rows), *own = lab_zeros(l, l->acc, l->rows);
    for (int64_t i = 0; i < n; i++)
        if (i % ld >= count) lab_set(logits, l->t, i, NAN);
    weft_k_ce_max(l->k, l->t, l->rows, ld, count, logits, max);
    lab_keep(l, max, l->acc, l->rows);
    for (int64_t i = 0; i < l->rows; i++) /* the maximum over all shards is larger */
        lab_set(max, l->acc, i, count ? lab_get(max, l->acc, i) + (double)(i % 3) : 1);
    weft_k_ce_sum(l->k, l->t, l->rows, ld, first, count, target, logits, max, sum, own);
    lab_keep(l, sum, l->acc, l->rows);
    lab_keep(l, own, l->acc, l->rows);
    for (int64_t i = 0; i < l->rows; i++) /* and so is the sum */
        lab_set(sum, l->acc, i, lab_get(sum, l->acc, i) + 0.5);
    weft_k_ce_dx(l->k, l->t, l->rows, ld, first, count, target, max, sum, 0.125,
                 logits);
    lab_keep(l, logits, l->t, n);
}

static void run_cross_entropy(lab *l)
{
    cross_entropy(l, l->cols);
}

static void run_cross_entropy_padded(lab *l)
{
    cross_entropy(l, l->cols - l->cols / 3);
}

static void run_cross_entropy_empty_shard(lab *l)
{
    cross_entropy(l, 0);
}

static void run_clamp(lab *l)
{
    const int64_t n = l->rows * l->cols;
    void *x = lab_input(l, l->t, n, 4), *y = lab_zeros(l, l->t, n);
    lab_set(x, l->t, 0, 2); /* on the bound: inside */
    lab_keep_number(l, (double)weft_k_clamp(l->k, l->t, n, 2, x, y));
    lab_keep(l, y, l->t, n);
    for (int add = 0; add < 2; add++) {
        void *dy = lab_input(l, l->t, n, 1), *dx = lab_input(l, l->t, n, 1);
        weft_k_clamp_dx(l->k, l->t, n, 2, x, dy, add, dx);
        lab_keep(l, dx, l->t, n);
    }
}

static void run_clamp_causal(lab *l)
{
    const int64_t S = l->rows, n = 3 * S * S;
    void *s = lab_input(l, l->t, n, 4), *p = lab_zeros(l, l->t, n);
    void *dp = lab_input(l, l->t, n, 1);
    lab_keep_number(l, (double)weft_k_clamp_causal(l->k, l->t, 3, S, 2, s, p));
    lab_keep(l, p, l->t, n);
    weft_k_clamp_causal_dx(l->k, l->t, 3, S, 2, s, dp);
    lab_keep(l, dp, l->t, n);
    lab_keep_number(
        l, (double)weft_k_clamp_causal(l->k, l->t, 3, S, 2, s, s)); /* in place */
    lab_keep(l, s, l->t, n);
}

static void run_elements(lab *l)
{
    const int64_t n = l->rows * l->cols;
    void *x = lab_input(l, l->t, n, 4), *y = lab_input(l, l->t, n, 4);
    lab_keep_number(l, weft_k_sumsq(l->k, l->t, n, x));
    lab_keep_number(l, weft_k_absmax(l->k, l->t, n, x));
    weft_k_add(l->k, l->t, n, x, y, x);
    lab_keep(l, x, l->t, n);
    for (int t = 0; t < WEFT_N_DTYPES; t++) {
        void *z = lab_zeros(l, (weft_dtype)t, n);
        weft_k_cast(l->k, l->t, (weft_dtype)t, n, y, z);
        lab_keep(l, z, (weft_dtype)t, n);
    }
}

static void run_adamw(lab *l)
{
    const int64_t n = l->rows * l->cols;
    const weft_adamw o = {.lr = 0.01,
                          .beta1 = 0.9,
                          .beta2 = 0.95,
                          .eps = 1e-6,
                          .decay = 0.1,
                          .grad_scale = 0.5,
                          .step = 7};
    void *g = lab_input(l, l->acc, n, 1), *m = lab_input(l, l->acc, n, 1);
    void *v = lab_input(l, l->acc, n, 1), *master = lab_input(l, l->acc, n, 1);
    void *w = l->t == l->acc ? master : lab_zeros(l, l->t, n);
    for (int64_t i = 0; i < n; i++)
        lab_set(v, l->acc, i, fabs(lab_get(v, l->acc, i)));
    weft_k_adamw(l->k, l->t, n, &o, g, m, v, master, w);
    weft_k_sgd(l->k, l->t, n, 0.5, 0.25, g, master, w);
    lab_keep(l, m, l->acc, n);
    lab_keep(l, v, l->acc, n);
    lab_keep(l, master, l->acc, n);
    lab_keep(l, w, l->t, n);
}

const lab_kernel lab_kernels[] = {
    {"layernorm", run_layernorm},
    {"layernorm_dx", run_layernorm_dx},
    {"layernorm_dx onto dx", run_layernorm_dx_add},
    {"layernorm_dw", run_layernorm_dw},
    {"bias_gelu", run_bias_gelu},
    {"gelu_dx", run_gelu_dx},
    {"bias_residual", run_bias_residual},
    {"bias_dw", run_bias_dw},
    {"pack, unpack, merge, split heads", run_heads},
    {"softmax_causal", run_softmax_causal},
    {"softmax_causal_dx", run_softmax_causal_dx},
    {"embed, embed_dw", run_embed},
    {"add_position, position_dw", run_position},
    {"ce_max, ce_sum, ce_dx", run_cross_entropy},
    {"ce with padding", run_cross_entropy_padded},
    {"ce of a shard without columns", run_cross_entropy_empty_shard},
    {"clamp, clamp_dx", run_clamp},
    {"clamp_causal, clamp_causal_dx", run_clamp_causal},
    {"sumsq, absmax, add, cast", run_elements},
    {"adamw, sgd", run_adamw},
};
const int lab_n_kernels = sizeof lab_kernels / sizeof *lab_kernels;
