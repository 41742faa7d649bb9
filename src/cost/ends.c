/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding on the first stage; last norm, output layer and loss on the last. */
#include "cost/cost.h"

static weft_op_cost op(double compute, double tp)
{
    return (weft_op_cost){compute + tp, compute, tp, 0, 0};
}

static double hidden_bytes(const wf_place *p)
{
    return p->tokens * (double)p->q->arch.hidden * p->q->options.act_bytes;
}

/* Rows are looked up, each TP rank those that it has, and summed; dropout is a kernel of its
 * own. Backward the rows' gradients are added to the accumulated ones: all of them where
 * the table's gradient is dense. */
static void price_embed(const wf_place *p, wf_priced *out)
{
    const weft_machine *m = &p->q->machine;
    const weft_cost_options *o = &p->q->options;
    double bytes = hidden_bytes(p), rows, reduce = 0;

    rows = (double)weft_layout_padded_vocab(p->l, &p->q->arch) / p->t;
    double table = rows * (double)p->q->arch.hidden;
    if (p->q->derived.embed_rows <= 0) table = 0;
    if (!o->dense_embedding) table = 0;
    if (p->l->tp > 1)
        reduce = p->l->sp
                     ? wf_coll_s(p, WEFT_COLL_REDUCE_SCATTER, bytes, WEFT_TP, p->l->tp)
                     : wf_reduce_s(p);
    double f = weft_machine_memory_s(m, (o->dropout ? 5 : 3) * bytes);
    double b =
        weft_machine_memory_s(m, (o->dropout ? 5 : 3) * bytes +
                                     table * (2 * o->param_bytes + 2 * o->grad_bytes));
    out->embed_f = op(wf_work_s(p, (wf_work){f, 4}), reduce);
    out->embed_b = op(wf_work_s(p, (wf_work){b, 4}),
                      p->l->sp && p->l->tp > 1
                          ? wf_coll_s(p, WEFT_COLL_ALL_GATHER, bytes, WEFT_TP, p->l->tp)
                          : 0);
}

/* Bytes that the loss moves for a logit. One kernel forward and one backward; or op by op
 * in fp32: convert, max, subtract, exp, sum, divide; subtract, scale, convert back. */
static double loss_bytes(const weft_cost_options *o, int backward)
{
    if (o->fused_loss) return 2 * wf_kernel_bytes(o);
    return backward ? 22 : 38;
}

static void price_head(const wf_place *p, wf_priced *out)
{
    const weft_machine *m = &p->q->machine;
    const weft_cost_options *o = &p->q->options;
    weft_math math = (weft_math)o->math;
    if (math > WEFT_MATH_BF16) math = WEFT_MATH_BF16; /* logits stay in 16 bits */
    double h = (double)p->q->arch.hidden, bytes = hidden_bytes(p), tp_f = 0, tp_b = 0;
    double v = (double)weft_layout_padded_vocab(p->l, &p->q->arch) / p->t;
    double logits = p->tokens * v, norm = (p->l->sp ? 1 / p->t : 1) * bytes;

    if (p->l->tp > 1) {
        double gather = wf_coll_s(p, WEFT_COLL_ALL_GATHER, bytes, WEFT_TP, p->l->tp);
        tp_f = p->l->sp ? gather : 0;
        tp_b = p->l->sp ? 2 * gather : wf_reduce_s(p); /* reduce-scatter, gather */
        /* max, sum and the target's logit of each token are reduced in the loss */
        tp_f +=
            3 * wf_coll_s(p, WEFT_COLL_ALL_REDUCE, 4 * p->tokens, WEFT_TP, p->l->tp);
    }
    double f = weft_machine_gemm_s(m, math, 1, p->tokens, v, h) +
               weft_machine_memory_s(m, loss_bytes(o, 0) * logits + 2 * norm);
    double i = weft_machine_gemm_s(m, math, 1, p->tokens, h, v) +
               weft_machine_memory_s(m, loss_bytes(o, 1) * logits + 3 * norm);
    double w =
        weft_machine_gemm_s(m, math, 1, v, h, p->tokens) + wf_accumulate_s(p, v * h);
    out->head_f = op(wf_work_s(p, (wf_work){f, 10}), tp_f);
    out->head_i = op(wf_work_s(p, (wf_work){i, 8}), tp_b);
    out->head_w = op(wf_work_s(p, (wf_work){w, 2}), 0);
}

void wf_ends_price(const wf_place *p, wf_priced *out)
{
    static const weft_op_cost nothing;
    if (p->envelope) {
        out->embed_f = out->embed_b = out->head_f = out->head_i = out->head_w = nothing;
        return;
    }
    price_embed(p, out);
    price_head(p, out);
}
