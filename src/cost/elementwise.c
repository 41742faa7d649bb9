/* SPDX-License-Identifier: Apache-2.0 */
/* What is no matmul moves bytes. Norms and residual are on whole activations unless SP
 * splits them (Korthikanti et al. 2022, section 4.2.2); the rest is split by TP. */
#include "cost/cost.h"

double wf_kernel_bytes(const weft_cost_options *o)
{
    return o->kernel_bytes > 0 ? o->kernel_bytes : o->act_bytes;
}

void wf_elementwise_price(const wf_place *p, int kind, wf_work *f, wf_work *b)
{
    const struct weft_cost_layer *k = &p->q->derived.kind[kind];
    const weft_layer_width *w = &k->width;
    const weft_cost_options *o = &p->q->options;
    const weft_machine *m = &p->q->machine;
    double e = wf_kernel_bytes(o), mask = o->dropout ? 1 : 0;
    double outside = p->l->sp ? 1 / p->t : 1, inside = 1 / p->t;
    double residual = (double)w->residual, norm = (double)w->norm;

    /* norms read and write; bias, dropout and residual are one kernel of three tensors */
    double forward = outside * (2 * e * norm + (3 * e + mask) * residual);
    double backward =
        outside * (3 * e * norm + 3 * e * residual + (2 * e + mask) * mask * residual);
    /* activation with its bias; q, k, v and the output change their order in memory */
    forward += inside * e * (double)(w->act_in + w->act_out);
    backward += inside * e * (double)(2 * w->act_in + w->act_out);
    double moved = 2 * e * inside * (double)(w->inner_norm + w->rotary);
    if (!o->fused_attention) moved += 2 * e * inside * (double)(w->qkv + w->attn_out);
    forward += moved;
    backward += moved;
    /* tokens go to their experts and come back in order */
    if (kind) {
        double tokens = 4 * e * (double)p->q->arch.experts_per_token *
                        (double)p->q->arch.hidden * outside;
        forward += tokens;
        backward += tokens;
    }
    *f = (wf_work){weft_machine_memory_s(m, forward * p->tokens),
                   8 + 6 * kind + (o->fused_attention ? 0 : 3)};
    *b = (wf_work){weft_machine_memory_s(m, backward * p->tokens),
                   12 + 10 * kind + (o->fused_attention ? 0 : 3)};
}
