/* SPDX-License-Identifier: Apache-2.0 */
/* Memory bandwidth, and what the kernels between the matmuls reach of it. */
#include <math.h>

#include "base/error.h"
#include "probe/probe_impl.h"

/* One layer of a medium model: one sequence of S tokens. */
enum { S = 512, HEADS = 8, D = 64, HIDDEN = HEADS * D, FFN = 4 * HIDDEN };

/* Sizes as elements; what a call needs is cut from the pool anew. */
static const int64_t wide = (int64_t)S * HIDDEN, deep = (int64_t)S * FFN,
                     square = (int64_t)HEADS * S * S;

typedef struct kernel {
    weft_dtype t;
    int64_t n; /* of add() */
    void (*run)(wf_probe *p, weft_dtype t);
} kernel;

static void *tensor(wf_probe *p, weft_dtype t, int64_t n)
{
    return wf_probe_operand(p, n * weft_dtype_bytes(t));
}

static void *statistic(wf_probe *p, weft_dtype t, int64_t n)
{
    return tensor(p, weft_dtype_acc(t), n);
}

static void layernorm(wf_probe *p, weft_dtype t)
{
    void *g = tensor(p, t, HIDDEN);
    weft_k_layernorm(p->k, t, S, HIDDEN, 1e-5, tensor(p, t, wide), g, g,
                     tensor(p, t, wide), statistic(p, t, S), statistic(p, t, S));
}

static void layernorm_dx(wf_probe *p, weft_dtype t)
{
    void *stat = statistic(p, t, S), *g = tensor(p, t, HIDDEN);
    weft_k_layernorm_dx(p->k, t, S, HIDDEN, tensor(p, t, wide), g, stat, stat,
                        tensor(p, t, wide), 1, tensor(p, t, wide));
}

static void layernorm_dw(wf_probe *p, weft_dtype t)
{
    void *stat = statistic(p, t, S);
    weft_k_layernorm_dw(p->k, t, S, HIDDEN, tensor(p, t, wide), stat, stat,
                        tensor(p, t, wide), statistic(p, t, HIDDEN),
                        statistic(p, t, HIDDEN));
}

static void copy(wf_probe *p, weft_dtype t)
{
    weft_k_cast(p->k, t, t, wide, tensor(p, t, wide), tensor(p, t, wide));
}

static void bias_gelu(wf_probe *p, weft_dtype t)
{
    weft_k_bias_gelu(p->k, t, S, FFN, tensor(p, t, FFN), tensor(p, t, deep),
                     tensor(p, t, deep));
}

static void gelu_dx(wf_probe *p, weft_dtype t)
{
    void *dy = tensor(p, t, deep);
    weft_k_gelu_dx(p->k, t, deep, tensor(p, t, deep), dy, dy);
}

static void bias_residual(wf_probe *p, weft_dtype t)
{
    weft_k_bias_residual(p->k, t, t, S, HIDDEN, tensor(p, t, wide), tensor(p, t, wide),
                         tensor(p, t, HIDDEN), tensor(p, t, wide));
}

static void bias_dw(wf_probe *p, weft_dtype t)
{
    weft_k_bias_dw(p->k, t, S, FFN, tensor(p, t, deep), statistic(p, t, FFN));
}

static void pack_qkv(wf_probe *p, weft_dtype t)
{
    weft_k_pack_qkv(p->k, t, 1, S, HEADS, D, tensor(p, t, 3 * wide),
                    tensor(p, t, 3 * HIDDEN), tensor(p, t, wide), tensor(p, t, wide),
                    tensor(p, t, wide));
}

static void unpack_qkv(wf_probe *p, weft_dtype t)
{
    weft_k_unpack_qkv(p->k, t, 1, S, HEADS, D, tensor(p, t, wide), tensor(p, t, wide),
                      tensor(p, t, wide), tensor(p, t, 3 * wide));
}

static void merge_heads(wf_probe *p, weft_dtype t)
{
    weft_k_merge_heads(p->k, t, 1, S, HEADS, D, tensor(p, t, wide), tensor(p, t, wide));
}

static void softmax(wf_probe *p, weft_dtype t)
{
    weft_k_softmax_causal(p->k, t, HEADS, S, 0.125, tensor(p, t, square));
}

static void softmax_dx(wf_probe *p, weft_dtype t)
{
    weft_k_softmax_causal_dx(p->k, t, HEADS, S, 0.125, tensor(p, t, square),
                             tensor(p, t, square));
}

/* How often a layer runs each in a forward and a backward. bias_dw: of fc, and in all 5
 * HIDDEN = 1.25 FFN columns of the others. */
static const struct job {
    void (*run)(wf_probe *p, weft_dtype t);
    double calls;
} jobs[] = {{layernorm, 2}, {layernorm_dx, 2}, {layernorm_dw, 2},  {copy, 2},
            {bias_gelu, 1}, {gelu_dx, 1},      {bias_residual, 2}, {bias_dw, 2.25},
            {pack_qkv, 1},  {unpack_qkv, 1},   {merge_heads, 2},   {softmax, 1},
            {softmax_dx, 1}};

/* What weft/cost.h counts for all of them: values read and written (a test holds this to
 * it). The efficiency is that of these, so that a layer takes the time that was measured,
 * however its kernels divide the work. */
static const double layer_values = 58. * S * HIDDEN + 5. * HEADS * S * S;

static weft_status run_kernel(wf_probe *p, void *ctx)
{
    const kernel *k = ctx;
    k->run(p, k->t);
    return WEFT_OK;
}

static weft_status add(wf_probe *p, void *ctx)
{
    const kernel *k = ctx;
    weft_k_add(p->k, k->t, k->n, tensor(p, k->t, k->n), tensor(p, k->t, k->n),
               tensor(p, k->t, k->n));
    return WEFT_OK;
}

/* A third of the pool each: beyond the caches of a core. z = x + y moves what STREAM's
 * triad moves. */
static weft_status measure_bandwidth(wf_probe *p, weft_dtype t)
{
    int64_t size = weft_dtype_bytes(t);
    kernel k = {.t = t, .n = p->pool_bytes / (3 * size) - 64};
    double s;

    WF_TRY(wf_probe_time(p, add, &k, &s));
    p->m->memory_bytes_per_s = 3.0 * (double)(k.n * size) / s;
    return WEFT_OK;
}

static weft_status tiny_product(wf_probe *p, void *ctx)
{
    weft_dtype t = *(weft_dtype *)ctx;
    weft_gemm g = {.tb = 1, .m = 8, .n = 8, .k = 8, .alpha = 1, .in = t, .out = t};
    g.a = tensor(p, t, 64);
    g.b = tensor(p, t, 64);
    g.c = tensor(p, t, 64);
    return weft_k_gemm(p->k, &g);
}

static weft_status measure_overhead(wf_probe *p, weft_dtype t)
{
    kernel k = {.t = t, .n = 16};
    double product, other;

    WF_TRY(wf_probe_time(p, tiny_product, &t, &product));
    WF_TRY(wf_probe_time(p, add, &k, &other));
    p->m->op_overhead_s = fmax(product, other);
    return WEFT_OK;
}

/* Scores, softmax and values as the layers run them: whole squares, of which a fused
 * kernel would compute what is below the diagonal. */
static weft_status attend(wf_probe *p, void *ctx)
{
    weft_dtype t = *(weft_dtype *)ctx;
    void *scores = tensor(p, t, square);
    weft_gemm g = {.tb = 1,
                   .m = S,
                   .n = S,
                   .k = D,
                   .batch = HEADS,
                   .sa = S * D,
                   .sb = S * D,
                   .sc = (int64_t)S * S,
                   .alpha = 1,
                   .in = t,
                   .out = t,
                   .a = tensor(p, t, wide),
                   .b = tensor(p, t, wide),
                   .c = scores};
    WF_TRY(weft_k_gemm(p->k, &g));
    weft_k_softmax_causal(p->k, t, HEADS, S, 0.125, scores);
    weft_gemm mix = {.m = S,
                     .n = D,
                     .k = S,
                     .batch = HEADS,
                     .sa = (int64_t)S * S,
                     .sb = S * D,
                     .sc = S * D,
                     .alpha = 1,
                     .in = t,
                     .out = t,
                     .a = scores,
                     .b = tensor(p, t, wide),
                     .c = tensor(p, t, wide)};
    return weft_k_gemm(p->k, &mix);
}

static weft_status measure_attention(wf_probe *p, weft_dtype t)
{
    double s, flops = 2.0 * HEADS * S * S * D,
              peak = p->m->flops_per_s[wf_probe_math(t)];

    WF_TRY(wf_probe_time(p, attend, &t, &s));
    p->m->attention_efficiency = fmin(1, fmax(0.01, flops / s / peak));
    return WEFT_OK;
}

weft_status wf_probe_kernels(wf_probe *p, weft_dtype t)
{
    /* weft_cost_of_weft().kernel_bytes: bf16 is computed in f32, which takes the time */
    double seconds = 0, value = (double)weft_dtype_bytes(weft_dtype_acc(t));
    const int n = sizeof jobs / sizeof *jobs;

    WF_TRY(measure_bandwidth(p, t));
    for (int i = 0; i < n; i++) {
        kernel k = {.t = t, .run = jobs[i].run};
        double s;
        WF_TRY(wf_probe_time(p, run_kernel, &k, &s));
        seconds += jobs[i].calls * s;
    }
    p->m->memory_efficiency =
        fmin(1, fmax(0.01, layer_values * value / seconds / p->m->memory_bytes_per_s));
    WF_TRY(measure_overhead(p, t));
    WF_TRY(measure_attention(p, t));
    p->report->kernels += n + 4;
    return WEFT_OK;
}
