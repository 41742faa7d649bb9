/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

/* Weights gathered beside the shards under ZeRO-3: of the layer that runs and of the next. */
static double gathered(const wf_place *p, const wf_rank *r)
{
    if (p->l->zero < 3 || p->shards == 1 || r->layers < 1) return 0;
    return 2 * r->params / (double)r->layers * p->q->options.param_bytes;
}

/* Shares of states: of dense weights among all that hold them, of experts among those that
 * hold the same ones. */
static double shared(const wf_place *p, const wf_rank *r, int zero, double bytes)
{
    double dense = (r->params - r->experts) * bytes, experts = r->experts * bytes;
    if (p->l->zero < zero) return dense + experts;
    double among = (double)p->shards / p->l->ep;
    return dense / (double)p->shards + experts / (among < 1 ? 1 : among);
}

/* Buffers of collectives: with SP the gathered input of a matmul, the messages of the
 * pipeline, one bucket of gradients. */
static double comm_bytes(const wf_place *p)
{
    const weft_cost_options *o = &p->q->options;
    double hidden = p->tokens * (double)p->q->arch.hidden * o->act_bytes, n = 0;

    if (p->envelope) return 0;
    if (p->l->sp && p->l->tp > 1) n += hidden;
    if (p->l->pp > 1) n += 2 * wf_p2p_bytes(p);
    if (p->replicas > 1) n += 25e6 * o->grad_bytes;
    return n;
}

/* Of ZeRO-2 in groups: shards of all, and whole the chunk that gathers its group's, and the
 * one before it, which is reduced meanwhile. */
static double grads(const wf_place *p, const wf_rank *r)
{
    double bytes = p->q->options.grad_bytes, shares = shared(p, r, 2, bytes);
    double whole = r->params * bytes;

    if (p->l->zero != 2 || p->rounds == p->m) return shares;
    double held = shares + 2 * r->chunk_params * bytes;
    return held < whole ? held : whole;
}

void wf_rank_memory(const wf_place *p, const wf_rank *r, double act_bytes, int copies,
                    weft_memory *out)
{
    const weft_cost_options *o = &p->q->options;
    int envelope = p->envelope;

    out->params = copies * shared(p, r, 3, o->param_bytes) + gathered(p, r);
    out->grads = grads(p, r);
    out->optimizer = shared(p, r, 1, o->optimizer_bytes);
    out->activations = act_bytes;
    out->logits = r->has_head && !envelope ? wf_logits_bytes(p) : 0;
    out->comm = comm_bytes(p);
    out->temporaries = envelope ? 0 : r->transient;
    out->reserve = envelope ? 0 : p->q->machine.reserve_bytes;
    out->total = out->params + out->grads + out->optimizer + out->activations +
                 out->logits + out->comm + out->temporaries + out->reserve;
}
