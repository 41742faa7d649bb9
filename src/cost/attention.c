/* SPDX-License-Identifier: Apache-2.0 */
/* Scores, softmax and weighted values, fused (Dao et al. 2022, FlashAttention) or with the
 * scores in memory (Korthikanti et al. 2022, section 4.1). */
#include "cost/cost.h"

/* Keys that a query meets: all of them, or what mask and window leave. */
static double keys(const wf_place *p, int kind, int causal)
{
    const weft_arch *a = &p->q->arch;
    double windowed = p->q->derived.windowed;
    double n =
        weft_arch_attention_keys(a, p->q->derived.kind[kind].layer, p->l->seq, causal);
    if (windowed > 0 && windowed < 1) { /* layers of both sorts: their mean */
        double all = (double)p->l->seq * (causal ? 0.5 : 1), w = (double)a->window;
        double few = w >= (double)p->l->seq ? all
                     : causal               ? w - w * w / (2 * (double)p->l->seq)
                                            : w;
        n = windowed * few + (1 - windowed) * all;
    }
    return n;
}

/* Two matmuls forward, five backward (the scores are made again), all in one kernel. */
static void fused(const wf_place *p, int kind, wf_scores *out)
{
    const weft_attention *at = &p->q->derived.kind[kind].attention;
    const weft_machine *m = &p->q->machine;
    weft_math math = (weft_math)p->q->options.math;
    if (math > WEFT_MATH_BF16) math = WEFT_MATH_BF16; /* attention stays in 16 bits */
    double rate = m->flops_per_s[math] * m->attention_efficiency;
    double flops = 2 * p->tokens * keys(p, kind, 1) * (double)at->heads *
                   (double)(at->qk_dim + at->v_dim) / p->t;
    if (!(rate > 0)) rate = 1e12;
    out->f = (wf_work){flops / rate, 1};
    out->b = (wf_work){2.5 * flops / rate, 2};
}

/* Whole squares through memory: scaled masked softmax reads and writes the scores, dropout
 * reads and writes them and writes its mask; backward each is read and written again. */
static void stored(const wf_place *p, int kind, wf_scores *out)
{
    const weft_attention *at = &p->q->derived.kind[kind].attention;
    const weft_machine *m = &p->q->machine;
    const weft_cost_options *o = &p->q->options;
    weft_math math = (weft_math)o->math;
    if (math > WEFT_MATH_BF16) math = WEFT_MATH_BF16;
    double e = wf_kernel_bytes(o), batch = p->batch * (double)at->heads / p->t;
    double s = (double)p->l->seq, qk = (double)at->qk_dim, v = (double)at->v_dim;
    double scores = batch * p->queries * s;
    double make = weft_machine_gemm_s(m, math, batch, p->queries, s, qk);
    double use = weft_machine_gemm_s(m, math, batch, p->queries, v, s);
    double forward = 2 * e, backward = 3 * e;

    if (o->dropout) {
        forward += 2 * e + 1;
        backward += 2 * e + 1;
    }
    out->f = (wf_work){make + use + weft_machine_memory_s(m, forward * scores),
                       3 + o->dropout};
    /* the gradients of v and of the weights; of q and of k */
    out->b.s = weft_machine_gemm_s(m, math, batch, s, v, p->queries) +
               weft_machine_gemm_s(m, math, batch, p->queries, s, v) +
               weft_machine_gemm_s(m, math, batch, p->queries, qk, s) +
               weft_machine_gemm_s(m, math, batch, s, qk, p->queries) +
               weft_machine_memory_s(m, backward * scores);
    out->b.kernels = 5 + o->dropout;
}

void wf_attention_price(const wf_place *p, int kind, wf_scores *out)
{
    if (p->q->options.fused_attention)
        fused(p, kind, out);
    else
        stored(p, kind, out);
}
