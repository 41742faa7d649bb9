/* SPDX-License-Identifier: Apache-2.0 */
/* Data parallelism. ZeRO 0: an all-reduce of the gradients. 1: reduce-scatter, and all-gather
 * of the updated weights. 2: the same, but gradients are sharded as they come: a
 * reduce-scatter for every micro-batch. 3: weights are gathered for every forward and every
 * backward of every micro-batch as well (Rajbhandari et al. 2020, section 7). HSDP: shards
 * within a group, an all-reduce of them across. */
#include "cost/cost.h"

typedef struct dp_group {
    double bytes_grads, bytes_params;
    int64_t stride, shards, copies;
} dp_group;

static double coll(const wf_place *p, weft_collective c, double bytes, int64_t stride,
                   int64_t size)
{
    if (size <= 1) return 0;
    return weft_machine_collective_s(&p->q->machine, c, bytes, stride, size);
}

/* Gradients once, weights once. */
static void pass_s(const wf_place *p, const dp_group *g, double *grads, double *params)
{
    if (!p->l->zero) {
        *grads = coll(p, WEFT_COLL_ALL_REDUCE, g->bytes_grads, g->stride, g->shards);
        *params = 0;
        return;
    }
    *grads = coll(p, WEFT_COLL_REDUCE_SCATTER, g->bytes_grads, g->stride, g->shards);
    *params = coll(p, WEFT_COLL_ALL_GATHER, g->bytes_params, g->stride, g->shards);
    *grads += coll(p, WEFT_COLL_ALL_REDUCE, g->bytes_grads / (double)g->shards,
                   g->stride * g->shards, g->copies);
}

static dp_group group(const wf_place *p, double params, int64_t stride,
                      int64_t replicas)
{
    const weft_cost_options *o = &p->q->options;
    dp_group g = {params * o->grad_bytes, params * o->param_bytes, stride, replicas, 1};
    if (p->l->zero && p->l->replicate > 1 && replicas % p->l->replicate == 0) {
        g.shards = replicas / p->l->replicate;
        g.copies = p->l->replicate;
    }
    return g;
}

/* cp and dp together hold the replicas of a weight; where they lie apart the nearer stands
 * for both, which is so with tp,cp,pp,dp only if pp is 1. */
static int64_t dp_stride(const wf_place *p)
{
    if (p->l->cp == 1) return p->stride[WEFT_DP];
    if (p->l->dp == 1) return p->stride[WEFT_CP];
    return p->stride[WEFT_CP] < p->stride[WEFT_DP] ? p->stride[WEFT_CP]
                                                   : p->stride[WEFT_DP];
}

/* What is left of a collective beside `work`, and what the work loses to it meanwhile. */
static double beside(const wf_place *p, double comm, double work)
{
    double hidden = comm < work ? comm : work;
    return comm - hidden + p->q->machine.overlap_tax * hidden;
}

wf_dp wf_dp_price(const wf_place *p, const wf_rank *r)
{
    dp_group dense = group(p, r->params - r->experts, dp_stride(p), p->replicas);
    dp_group expert =
        group(p, r->experts, p->stride[WEFT_DP] * p->l->ep, p->replicas / p->l->ep);
    double gd, pd, ge = 0, pe = 0, m = (double)p->m;
    wf_dp x;

    pass_s(p, &dense, &gd, &pd);
    if (r->experts > 0) pass_s(p, &expert, &ge, &pe);
    double grads = gd + ge, params = pd + pe, layers = (double)r->layers;
    if (layers < 1) layers = 1;
    if (p->l->zero < 2 || p->m == 1) { /* once a step */
        if (p->l->zero == 3) params *= 2;
        x.total = grads + params;
        x.exposed = x.total;
        if (p->q->options
                .overlap_dp) /* of a bucket each way nothing is left to hide in */
            x.exposed = beside(p, grads, r->b + r->r) + beside(p, params, r->f) +
                        (grads + params) / layers;
        if (x.exposed > x.total) x.exposed = x.total;
        return x;
    }
    double per_micro = grads + (p->l->zero == 3 ? 2 * params : 0);
    double once = p->l->zero == 3 ? 0 : params;
    x.total = m * per_micro + once;
    x.exposed = x.total;
    if (p->q->options.overlap_dp) {
        double forward = p->l->zero == 3 ? beside(p, params, r->f) : 0;
        double backward =
            beside(p, grads + (p->l->zero == 3 ? params : 0), r->b + r->r);
        x.exposed = m * (forward + backward) + beside(p, once, r->f) +
                    (per_micro + once) / layers;
    }
    if (x.exposed > x.total) x.exposed = x.total;
    return x;
}
