/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient reduction over the copies of a stage, in buckets that start while the backward
 * runs. */
#include "base/alloc.h"
#include "train/engine.h"

static int64_t acc_bytes(const weft_engine *e)
{
    return weft_dtype_bytes(weft_dtype_acc(e->cfg.dtype));
}

/* Cut a chunk's parameters, in the order in which they finish, into buckets of at least
 * bucket_bytes. Returns how many; fills when out is not NULL. */
static int cut(const weft_engine *e, int chunk, wf_bucket *out)
{
    const weft_chunk *c = &e->chunk[chunk];
    int64_t bytes = e->cfg.bucket_bytes > 0 ? e->cfg.bucket_bytes : 25000000;
    int64_t want = bytes / acc_bytes(e), n = 0;
    int count = 0, first = 0;

    for (int i = 0; i < c->n_params; i++) {
        n += c->param[i].count;
        if (n < want && i + 1 < c->n_params) continue;
        if (out)
            out[count] = (wf_bucket){.chunk = chunk,
                                     .first = first,
                                     .last = i,
                                     .at = c->param[first].at,
                                     .n = n};
        count++;
        first = i + 1;
        n = 0;
    }
    return count;
}

weft_status wf_buckets_create(weft_engine *e)
{
    int total = 0;

    for (int i = 0; i < e->cfg.layout.vpp; i++)
        total += cut(e, i, NULL);
    WF_TRY(WF_ALLOC(total, &e->bucket));
    for (int i = 0; i < e->cfg.layout.vpp; i++)
        e->n_buckets += cut(e, i, e->bucket + e->n_buckets);
    return WEFT_OK;
}

/* Let reductions under way move on; a bucket that arrives is finished here. */
static weft_status progress(weft_engine *e)
{
    for (int i = 0; i < e->n_buckets; i++) {
        int done;
        if (e->bucket[i].started && e->bucket[i].ev.kind)
            WF_TRY(weft_test(e->comm, &e->bucket[i].ev, &done));
    }
    return WEFT_OK;
}

weft_status wf_buckets_ready(void *engine, int chunk, int n_done)
{
    weft_engine *e = engine;
    const weft_chunk *c = &e->chunk[chunk];

    for (int i = 0; i < e->n_buckets; i++) {
        wf_bucket *b = &e->bucket[i];
        if (b->chunk != chunk || b->started || b->last >= n_done) continue;
        b->started = 1;
        b->start_s = weft_now_s();
        WF_TRY(weft_all_reduce(wf_sum_group(e, chunk), WEFT_FOR_DP_GRAD,
                               (char *)c->g_all + b->at * acc_bytes(e), b->n,
                               weft_dtype_acc(e->cfg.dtype), WEFT_SUM, &b->ev));
    }
    return progress(e);
}

weft_status wf_buckets_finish(weft_engine *e)
{
    for (int i = 0; i < e->n_buckets; i++) {
        wf_bucket *b = &e->bucket[i];
        if (!b->started)
            return WF_FAIL(WEFT_E_INVALID,
                           "gradients %d..%d of chunk %d were never finished", b->first,
                           b->last, b->chunk);
        WF_TRY(weft_wait(e->comm, &b->ev));
        b->started = 0;
        if (weft_group_size(wf_sum_group(e, b->chunk)) > 1)
            WF_TRY(wf_mark(e, WEFT_LANE_COLLECTIVE, "dp bucket", b->start_s,
                           b->n * acc_bytes(e)));
    }
    return WEFT_OK;
}

/* Both copies on this rank: the sum, in both. */
static void tied_sum_here(weft_engine *e)
{
    weft_param *a = e->tied_copy[0], *b = e->tied_copy[1];
    weft_dtype acc = weft_dtype_acc(e->cfg.dtype);

    weft_k_add(e->k, acc, a->count, a->g, b->g, a->g);
    weft_k_cast(e->k, acc, acc, a->count, a->g, b->g);
}

weft_status wf_tied_sum(weft_engine *e)
{
    weft_param *p = e->tied_copy[0] ? e->tied_copy[0] : e->tied_copy[1];
    weft_event ev = {0};

    if (e->tied_copy[0] && e->tied_copy[1]) tied_sum_here(e);
    if (!e->tied) return WEFT_OK;
    double t0 = weft_now_s();
    WF_TRY(weft_all_reduce(e->tied, WEFT_FOR_TIED, p->g, p->count,
                           weft_dtype_acc(e->cfg.dtype), WEFT_SUM, &ev));
    WF_TRY(weft_wait(e->comm, &ev));
    return wf_mark(e, WEFT_LANE_COLLECTIVE, "tied sum", t0, p->count * acc_bytes(e));
}
