/* SPDX-License-Identifier: Apache-2.0 */
/* Matmuls by shape. A layer runs each of its products in three forms: y = x W^T, dx = dy W
 * and dW += dy^T x, the last into the accumulation type. Where the tokens are few they are m
 * in the first two and k in the third: a point is the rate of the forms that it stands for,
 * by which of m and k is smaller. The first operand was made just before and is in the
 * caches, as far as they hold it: activations or their gradient; weights and results are
 * not. */
#include <math.h>

#include "base/error.h"
#include "probe/probe_impl.h"

typedef struct shape {
    int64_t batch, m, n, k;
} shape;

enum { GRID = 3, HEADS = 8 };
static const int64_t grid[GRID] = {128, 512, 2048};
/* the products with the vocabulary, and those of attention */
static const shape ends[] = {{1, 512, 32768, 512},  {1, 512, 512, 32768},
                             {1, 32768, 512, 512},  {HEADS, 512, 512, 64},
                             {HEADS, 512, 64, 512}, {HEADS, 128, 128, 64},
                             {HEADS, 128, 64, 128}};
enum { N_ENDS = sizeof ends / sizeof *ends, FIRST_ATTENTION = 3 };

typedef struct product {
    weft_gemm g;
    int64_t a_bytes, b_bytes, c_bytes;
} product;

static weft_status multiply(wf_probe *p, void *ctx)
{
    product *x = ctx;
    x->g.b = wf_probe_operand(p, x->b_bytes);
    x->g.c = wf_probe_operand(p, x->c_bytes);
    return weft_k_gemm(p->k, &x->g);
}

enum { FORWARD, INPUT_GRAD, WEIGHT_GRAD };

static product product_of(const shape *s, weft_dtype t, int form)
{
    weft_dtype out = form == WEIGHT_GRAD && s->batch == 1 ? weft_dtype_acc(t) : t;
    int64_t in_bytes = weft_dtype_bytes(t);

    return (product){.g = {.ta = form == WEIGHT_GRAD,
                           .tb = form == FORWARD,
                           .m = s->m,
                           .n = s->n,
                           .k = s->k,
                           .batch = s->batch,
                           .sa = s->m * s->k,
                           .sb = s->k * s->n,
                           .sc = s->m * s->n,
                           .alpha = 1,
                           .beta = form == WEIGHT_GRAD && s->batch == 1,
                           .in = t,
                           .out = out},
                     .a_bytes = s->batch * s->m * s->k * in_bytes,
                     .b_bytes = s->batch * s->k * s->n * in_bytes,
                     .c_bytes = s->batch * s->m * s->n * weft_dtype_bytes(out)};
}

weft_math wf_probe_math(weft_dtype t)
{
    return t == WEFT_F64   ? WEFT_MATH_F64
           : t == WEFT_F32 ? WEFT_MATH_F32
                           : WEFT_MATH_BF16;
}

static weft_status add_point(wf_probe *p, weft_dtype t, const shape *s)
{
    double all = 0, flops = 2.0 * (double)(s->batch * s->m * s->n) * (double)s->k;
    int first = s->batch == 1 && s->k < s->m ? WEIGHT_GRAD : FORWARD;
    int last = s->batch == 1 && s->m < s->k ? INPUT_GRAD : WEIGHT_GRAD;

    if (p->m->n_gemms == WEFT_MAX_GEMM_POINTS) return WEFT_OK;
    for (int form = first; form <= last; form++) {
        product x = product_of(s, t, form);
        double one;
        x.g.a = wf_probe_keep(p, x.a_bytes);
        WF_TRY(wf_probe_time(p, multiply, &x, &one));
        p->report->matmuls++;
        all += one;
    }
    wf_probe_keep(p, 0);
    p->m->gemm[p->m->n_gemms++] =
        (weft_gemm_point){.math = (int32_t)wf_probe_math(t),
                          .m = s->m,
                          .n = s->n,
                          .k = s->k,
                          .flops_per_s = (last - first + 1) * flops / all};
    return WEFT_OK;
}

weft_status wf_probe_matmuls(wf_probe *p, weft_dtype t)
{
    int n = p->o->quick ? GRID - 1 : GRID;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                WF_TRY(add_point(p, t, &(shape){1, grid[i], grid[j], grid[k]}));
    for (int i = p->o->quick ? FIRST_ATTENTION : 0; i < N_ENDS; i++)
        WF_TRY(add_point(p, t, &ends[i]));
    return WEFT_OK;
}

/* For a machine without points, and for people: the peak is the best rate seen, the
 * efficiency and half_k those of the curve through the square-ish shapes of the grid. */
weft_status wf_probe_matmul_constants(wf_probe *p, weft_dtype t)
{
    double k[WEFT_MAX_GEMM_POINTS], rate[WEFT_MAX_GEMM_POINTS], peak = 0, top, half;
    int n = 0;

    for (int i = 0; i < p->m->n_gemms; i++) {
        const weft_gemm_point *g = &p->m->gemm[i];
        if (g->math != (int32_t)wf_probe_math(t)) continue;
        peak = fmax(peak, g->flops_per_s);
        if (g->m < grid[1] || g->n < grid[1]) continue;
        k[n] = (double)g->k;
        rate[n++] = g->flops_per_s;
    }
    WF_TRY(weft_fit_half_k(n, k, rate, peak, &top, &half));
    p->m->flops_per_s[wf_probe_math(t)] = peak;
    p->m->gemm_efficiency = top / peak;
    p->m->gemm_half_k = half;
    return WEFT_OK;
}
