/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives without copies. Starting one publishes the buffers and returns. When the
 * last member has arrived the work is there to be taken, unit by unit, by every member
 * that waits (for this or for anything else) or tests.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/loop/loop.h"

static void mark_done(loop_world *w, loop_coll *k, const loop_group *g)
{
    for (int m = 0; m < k->n; m++) {
        wf_op_done(&k->op[m]->base);
        wf_loop_ring(w, g->ranks[m]);
    }
}

/* ---- work -------------------------------------------------------------------------- */

static void pin(loop_world *w, const loop_group *g)
{
    for (int m = 0; m < g->n; m++)
        w->rank[g->ranks[m]].pins++;
}

static void unpin(loop_world *w, const loop_group *g)
{
    for (int m = 0; m < g->n; m++)
        wf_loop_unpin(w, g->ranks[m]);
}

static int has_work(loop_coll *k)
{
    return k->ready && !atomic_load_explicit(&k->dead, memory_order_relaxed) &&
           atomic_load_explicit(&k->next_unit, memory_order_relaxed) < k->n_units;
}

/* The caller is a member that has not finished, so k stays. */
static void work(loop_world *w, const loop_group *g, loop_coll *k)
{
    int64_t did = 0, unit;

    pin(w, g);
    pthread_mutex_unlock(&w->lock);
    while (!atomic_load_explicit(&k->dead, memory_order_relaxed) &&
           (unit = atomic_fetch_add_explicit(&k->next_unit, 1, memory_order_relaxed)) <
               k->n_units) {
        wf_loop_unit(k, unit);
        did++;
    }
    pthread_mutex_lock(&w->lock);
    unpin(w, g);
    k->done_units += did;
    if (did && k->done_units == k->n_units) mark_done(w, k, g);
}

void wf_loop_help(loop_world *w, int rank)
{
    for (loop_op *op = w->rank[rank].flying; op; op = op->next)
        if (has_work(op->coll)) work(w, op->base.group->impl, op->coll);
}

/* ---- start and end ----------------------------------------------------------------- */

static weft_status new_coll(loop_group *g, loop_coll **out)
{
    loop_coll *k = g->spare;
    if (k)
        g->spare = k->next;
    else
        WF_TRY(wf_alloc(1, (int64_t)(sizeof *k + (size_t)g->n * sizeof *k->op),
                        (void **)&k));
    memset(k, 0, sizeof *k + (size_t)g->n * sizeof *k->op);
    k->n = g->n;
    *out = k;
    return WEFT_OK;
}

/* The collective number `seq` of the group, made by its first member. */
static weft_status coll_at(loop_group *g, int64_t seq, loop_coll **out)
{
    loop_coll *k;
    for (k = g->first; k; k = k->next)
        if (k->seq == seq) {
            *out = k;
            return WEFT_OK;
        }
    WF_TRY(new_coll(g, &k));
    k->seq = seq;
    if (g->first)
        g->last->next = k;
    else
        g->first = k;
    g->last = k;
    *out = k;
    return WEFT_OK;
}

static int is_same(const wf_op *a, const wf_op *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->count == b->count &&
           a->reduce == b->reduce && (a->kind != WF_BROADCAST || a->peer == b->peer);
}

static weft_status check_same(const loop_coll *k, const loop_group *g, int me,
                              const wf_op *a)
{
    for (int m = 0; m < k->n; m++) {
        const wf_op *b = k->op[m] ? &k->op[m]->base : NULL;
        if (!b || is_same(a, b)) continue;
        return WF_FAIL(
            WEFT_E_MISMATCH,
            "group %s: rank %d starts %s %s of %lld bytes where rank %d started "
            "%s %s of %lld bytes",
            g->axes, g->ranks[me], weft_purpose_name(a->why), wf_kind_name(a->kind),
            (long long)a->bytes, g->ranks[m], weft_purpose_name(b->why),
            wf_kind_name(b->kind), (long long)b->bytes);
    }
    return WEFT_OK;
}

/* The last member is here. Small work is done at once: it is cheaper than waking others
 * for it. */
static void all_here(loop_world *w, const loop_group *g, loop_coll *k)
{
    wf_loop_cut(k);
    k->ready = 1;
    if (k->n_units == 0) {
        mark_done(w, k, g);
    } else if (k->n_units == 1) {
        work(w, g, k);
    } else {
        for (int m = 0; m < g->n; m++)
            wf_loop_ring(w, g->ranks[m]);
    }
}

static weft_status arrive(loop_world *w, loop_comm *c, loop_op *op)
{
    loop_group *g = op->base.group->impl;
    int me = op->base.group->me;
    loop_coll *k;

    WF_TRY(coll_at(g, g->started[me], &k));
    WF_TRY(check_same(k, g, me, &op->base));
    g->started[me]++;
    op->coll = k;
    k->op[me] = op;
    op->next = w->rank[c->base.rank].flying;
    w->rank[c->base.rank].flying = op;
    if (++k->arrived == k->n && !atomic_load(&k->dead)) all_here(w, g, k);
    return WEFT_OK;
}

weft_status wf_loop_coll_start(loop_comm *c, loop_op *op)
{
    loop_world *w = c->world;
    pthread_mutex_lock(&w->lock);
    weft_status st = arrive(w, c, op);
    pthread_mutex_unlock(&w->lock);
    return st;
}

static void recycle(loop_group *g, loop_coll *k)
{
    loop_coll *prev = NULL;
    for (loop_coll *at = g->first; at != k; at = at->next)
        prev = at;
    if (prev)
        prev->next = k->next;
    else
        g->first = k->next;
    if (g->last == k) g->last = prev;
    k->next = g->spare;
    g->spare = k;
}

void wf_loop_coll_finished(loop_comm *c, loop_op *op)
{
    loop_world *w = c->world;
    loop_coll *k = op->coll;

    pthread_mutex_lock(&w->lock);
    loop_op **at = &w->rank[c->base.rank].flying;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    if (++k->left == k->n) recycle(op->base.group->impl, k);
    pthread_mutex_unlock(&w->lock);
}

int wf_loop_missing(weft_comm *comm, wf_op *op, int *ranks, int max)
{
    loop_world *w = ((loop_comm *)comm)->world;
    loop_coll *k = ((loop_op *)op)->coll;
    int n = 0;
    if (op->lost) return -1;

    pthread_mutex_lock(&w->lock);
    for (int m = 0; m < k->n && n < max; m++)
        if (!k->op[m]) ranks[n++] = op->group->ranks[m];
    pthread_mutex_unlock(&w->lock);
    return n;
}
