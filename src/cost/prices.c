/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/prices.h"

#include <string.h>

#include "base/error.h"

const int64_t wf_all_near[WEFT_N_AXES] = {1, 1, 1, 1, 1};

static wf_price_key key_of(const wf_place *p)
{
    const weft_layout *l = p->l;
    wf_price_key k;
    memset(&k, 0, sizeof k); /* compared as bytes */
    k.micro_batch = l->micro_batch;
    k.seq = l->seq;
    k.vocab_multiple = l->vocab_multiple;
    k.stride_tp = p->stride[WEFT_TP];
    k.stride_cp = p->stride[WEFT_CP];
    k.stride_ep = p->stride[WEFT_EP];
    k.tp = l->tp;
    k.cp = l->cp;
    k.ep = l->ep;
    k.sp = l->sp;
    k.cp_comm = l->cp_comm[0];
    return k;
}

static unsigned slot_of(const wf_price_key *k)
{
    uint64_t word[sizeof *k / sizeof(uint64_t)], h = 0;
    memcpy(word, k, sizeof word);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        h = (h ^ word[i]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 32) % WF_PRICES;
}

const wf_priced *wf_prices_get(wf_prices *cache, const wf_place *p)
{
    wf_price_key k = key_of(p);
    unsigned at = slot_of(&k);

    if (!cache->entry[at].filled || memcmp(&cache->entry[at].key, &k, sizeof k)) {
        wf_price(p, &cache->entry[at].price);
        cache->entry[at].key = k;
        cache->entry[at].filled = 1;
    }
    return &cache->entry[at].price;
}

static double both_passes(const wf_layer_cost *x)
{
    double split = x->i.total + x->w.total;
    return x->f.total + (split < x->b.total ? split : x->b.total);
}

/* Of a micro-batch that nothing else delays: F and the input gradients. */
static double way_through(const wf_layer_cost *x)
{
    return x->f.total + (x->i.total < x->b.total ? x->i.total : x->b.total);
}

weft_status wf_cost_least_s(const weft_cost_model *q, const weft_layout *l,
                            wf_prices *cache, const int64_t *stride, double *out)
{
    const weft_arch *a = &q->arch;
    double moe = a->experts ? (double)weft_arch_moe_layers_before(a, a->layers) : 0;
    wf_place p;

    WF_TRY(wf_place_make(q, l, &p));
    for (int axis = 0; stride && axis < WEFT_N_AXES; axis++)
        p.stride[axis] = stride[axis];
    const wf_priced *x = wf_prices_get(cache, &p);
    double s = ((double)a->layers - moe) * both_passes(&x->layer[0]) +
               moe * both_passes(&x->layer[1]) + x->embed_f.total + x->embed_b.total +
               x->head_f.total + x->head_i.total + x->head_w.total;
    double through = ((double)a->layers - moe) * way_through(&x->layer[0]) +
                     moe * way_through(&x->layer[1]) + x->embed_f.total +
                     x->head_f.total + x->head_i.total;
    double mean = (double)p.m * s / l->pp;
    *out = mean > through ? mean : through;
    return WEFT_OK;
}
