/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

double wf_work_s(const wf_place *p, wf_work w)
{
    double starts = w.kernels * p->q->machine.op_overhead_s;
    return w.s > starts ? w.s : starts;
}

wf_work wf_work_add(wf_work a, wf_work b)
{
    return (wf_work){a.s + b.s, a.kernels + b.kernels};
}

static weft_op_cost op(double compute, double tp, double cp, double ep)
{
    return (weft_op_cost){compute + tp + cp + ep, compute, tp, cp, ep};
}

/* Back of the envelope: matmul FLOPs at the rate that was given, backward twice that. */
static void price_envelope(const wf_place *p, int kind, wf_layer_cost *out)
{
    const struct weft_cost_layer *k = &p->q->derived.kind[kind];
    double weights = 0;

    if (p->q->options.params > 0)
        weights = p->q->options.params / (double)p->q->arch.layers;
    else
        for (int i = 0; i < k->n_gemms; i++)
            weights += (double)k->gemm[i].n * (double)k->gemm[i].k * k->gemm[i].rows;
    double s = 2 * p->tokens * weights / p->t / p->q->options.achieved_flops_per_s;
    out->f = out->i = out->w = op(s, 0, 0, 0);
    out->b = op(2 * s, 0, 0, 0);
    out->again[WEFT_RECOMPUTE_NONE] = out->again[WEFT_RECOMPUTE_SELECTIVE] =
        op(0, 0, 0, 0);
    out->again[WEFT_RECOMPUTE_FULL] = out->f;
}

void wf_layer_price(const wf_place *p, int kind, wf_layer_cost *out)
{
    wf_matmuls g;
    wf_scores a;
    wf_work ef, eb;
    wf_layer_comm tp, cp, ep;

    if (p->envelope) {
        price_envelope(p, kind, out);
        return;
    }
    wf_matmul_price(p, kind, &g);
    wf_attention_price(p, kind, &a);
    wf_elementwise_price(p, kind, &ef, &eb);
    wf_tp_price(p, kind, &g, &tp);
    wf_cp_price(p, kind, &a, &cp);
    wf_ep_price(p, kind, &ep);
    double f = wf_work_s(p, wf_work_add(g.f, wf_work_add(a.f, ef)));
    double i = wf_work_s(p, wf_work_add(g.i, wf_work_add(a.b, eb)));
    double w = wf_work_s(p, g.w);
    out->f = op(f, tp.f, cp.f, ep.f);
    out->i = op(i, tp.i, cp.i, ep.i);
    out->w = op(w, tp.w, cp.w, ep.w);
    out->b = op(i + w, tp.b, cp.b, ep.b);
    out->again[WEFT_RECOMPUTE_NONE] = op(0, 0, 0, 0);
    /* scores that are stored and dropped; else what is no matmul */
    out->again[WEFT_RECOMPUTE_SELECTIVE] = p->q->options.fused_attention
                                               ? op(wf_work_s(p, ef), 0, 0, 0)
                                               : op(wf_work_s(p, a.f), 0, cp.f, 0);
    out->again[WEFT_RECOMPUTE_FULL] = out->f;
}
