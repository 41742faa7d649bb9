/* SPDX-License-Identifier: Apache-2.0 */
/* Data parallelism. ZeRO 0: an all-reduce of the gradients. 1: reduce-scatter, and all-gather
 * of the updated weights. 2: the same, but gradients are sharded as they come: a
 * reduce-scatter for every micro-batch; where the schedule takes them in groups, one group
 * after the other through a chunk, for every group. 3: weights are gathered for every forward
 * and every backward of every micro-batch as well (Rajbhandari et al. 2020, section 7). HSDP:
 * shards within a group, an all-reduce of them across. */
#include "cost/cost.h"

/* Ranks that hold the same weights: `shards` of them share what ZeRO splits, and as many
 * groups of those as `copies` has ranks. */
typedef struct dp_group {
    double bytes_grads, bytes_params;
    weft_span shard[2], copies; /* nearer first */
    int64_t n_shards;
} dp_group;

static double over_shards(const wf_place *p, const dp_group *g, weft_collective c,
                          double bytes)
{
    if (g->n_shards <= 1) return 0;
    return weft_machine_group_s(&p->q->machine, c, bytes, g->shard[0], g->shard[1]);
}

static double over_copies(const wf_place *p, const dp_group *g, double bytes)
{
    if (g->copies.size <= 1) return 0;
    return weft_machine_collective_s(&p->q->machine, WEFT_COLL_ALL_REDUCE, bytes,
                                     g->copies.stride, g->copies.size);
}

/* Gradients once, weights once, and the sum over the copies, which a step needs once. */
typedef struct dp_times {
    double grads, params, across;
} dp_times;

static void add_pass(const wf_place *p, const dp_group *g, dp_times *t)
{
    if (!p->l->zero) {
        t->grads += over_shards(p, g, WEFT_COLL_ALL_REDUCE, g->bytes_grads);
        return;
    }
    t->grads += over_shards(p, g, WEFT_COLL_REDUCE_SCATTER, g->bytes_grads);
    t->params += over_shards(p, g, WEFT_COLL_ALL_GATHER, g->bytes_params);
    t->across += over_copies(p, g, g->bytes_grads / (double)g->n_shards);
}

/* Of weights that every `every`-th rank of DP holds. HSDP splits what is left of DP, its
 * nearest ranks sharing; cp is always among those that share. */
static dp_group group(const wf_place *p, double params, int64_t every)
{
    const weft_cost_options *o = &p->q->options;
    weft_span cp = {p->stride[WEFT_CP], p->l->cp};
    weft_span dp = {p->stride[WEFT_DP] * every, p->l->dp / every};
    weft_span copies = {dp.stride * dp.size, 1};

    if (p->l->zero && p->l->replicate > 1 && dp.size % p->l->replicate == 0) {
        dp.size /= p->l->replicate;
        copies = (weft_span){dp.stride * dp.size, p->l->replicate};
    }
    int cp_first = cp.stride <= dp.stride;
    return (dp_group){params * o->grad_bytes,
                      params * o->param_bytes,
                      {cp_first ? cp : dp, cp_first ? dp : cp},
                      copies,
                      cp.size * dp.size};
}

/* What is left of a collective beside `work`, and what the work loses to it meanwhile. */
static double beside(const wf_place *p, double comm, double work)
{
    double hidden = comm < work ? comm : work;
    return comm - hidden + p->q->machine.overlap_tax * hidden;
}

/* Of one gather or reduction after the other: nothing hides the first layer's weights and
 * the last one's gradients. */
static double exposed_once(const wf_place *p, const wf_rank *r, const dp_times *t)
{
    double layers = r->layers < 1 ? 1 : (double)r->layers;
    double all = t->grads + t->across + t->params;
    return beside(p, t->grads + t->across, r->b + r->r) + beside(p, t->params, r->f) +
           all / layers;
}

/* ZeRO-2 and 3 over several micro-batches. */
static double exposed_each(const wf_place *p, const wf_rank *r, const dp_times *t)
{
    double m = (double)p->m, layers = r->layers < 1 ? 1 : (double)r->layers;
    double work = r->b + r->r, first = beside(p, t->params, r->f);
    double last =
        beside(p, t->grads + t->across, work) -
        beside(p, t->grads, work); /* the last backward sums over copies too */

    if (p->l->zero == 2) {
        double each = beside(p, t->grads, work);
        return (double)p->rounds * each + last + first +
               (t->grads + t->across + t->params) / layers;
    }
    double each = beside(p, t->grads + t->params, work);
    return m * (first + each) + last + (t->grads + t->across + 2 * t->params) / layers;
}

wf_dp wf_dp_price(const wf_place *p, const wf_rank *r)
{
    dp_group dense = group(p, r->params - r->experts, 1);
    dp_group expert = group(p, r->experts, p->l->ep);
    dp_times t = {0};
    double m = (double)p->m;
    wf_dp x;

    add_pass(p, &dense, &t);
    if (r->experts > 0) add_pass(p, &expert, &t);
    if (p->l->zero < 2 || p->m == 1) { /* once a step */
        if (p->l->zero == 3) t.params *= 2;
        x.total = t.grads + t.across + t.params;
        x.exposed = p->q->options.overlap_dp ? exposed_once(p, r, &t) : x.total;
    } else {
        double times = p->l->zero == 3 ? m : (double)p->rounds;
        x.total = times * t.grads + t.across + (p->l->zero == 3 ? 2 * m : 1) * t.params;
        x.exposed = p->q->options.overlap_dp ? exposed_each(p, r, &t) : x.total;
    }
    if (x.exposed > x.total) x.exposed = x.total;
    return x;
}
