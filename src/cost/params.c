/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

wf_params wf_stage_params(const wf_place *p, const wf_stage_shape *s)
{
    const struct weft_cost_derived *d = &p->q->derived;
    double dense = (double)(s->count - s->moe), moe = (double)s->moe;
    double vocab = (double)weft_layout_padded_vocab(p->l, &p->q->arch) / p->t;
    wf_params x;

    if (p->q->options.params > 0) { /* back of the envelope: all of them, evenly */
        x.dense =
            p->q->options.params * (double)s->count / (double)p->q->arch.layers / p->t;
        x.expert = 0;
        return x;
    }
    x.dense = dense * (d->kind[0].split / p->t + d->kind[0].whole) +
              moe * (d->kind[1].split / p->t + d->kind[1].whole);
    x.expert = moe * d->kind[1].expert / p->t / p->l->ep;
    if (s->has_embed)
        x.dense += d->embed_rows * vocab + d->embed_split / p->t + d->embed_whole;
    if (s->has_head) {
        double rows = d->head_rows;
        if (p->q->arch.tied && !s->has_embed) rows = d->embed_rows; /* a second copy */
        x.dense += rows * vocab + d->head_split / p->t + d->head_whole + d->mtp / p->t;
    }
    return x;
}
