/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches small problems layer by layer: layer i holds partial schedules of i ops besides
 * W's, one for each way that could still become the shortest.
 *
 * A partial schedule is no more than how far each lane is, when each rank is free, and
 * when each message arrives that no op has taken yet. It is dropped when
 *
 *   its ranks or chains cannot end below the target (optimal-partial.c), or
 *   another one of the layer makes it needless (optimal-layer.c).
 *
 * W's are what multiplies them: nothing waits for one but room. So a W leads to the same
 * layer, where it is compared with those that have other W's.
 *
 * If no layer ever outgrows its width, this is complete: the schedule found is a shortest
 * one, and that none is found proves that nothing is below the target. Otherwise the
 * ones with the least bounds go on (a beam search).
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal-layer.h"

enum { SLACK = 4 }; /* a layer may have so many times its width before it is cut */

/* How a partial schedule came about, kept of every layer. */
typedef struct step {
    int parent, lane;
} step;

typedef struct beam {
    const wf_problem *x;
    wf_partial at, child;
    wf_layer now, next;
    step *step;
    int64_t steps; /* room for */
    double target;
    wf_effort effort;
    int n_steps, is_cut;
} beam;

/* ---- the search ----------------------------------------------------------------- */

static weft_status put(beam *b, wf_layer *l, int parent, int lane, double bound)
{
    int before = l->n;
    WF_TRY(wf_layer_put(l, &b->child, bound, b->n_steps));
    if (l->n == before) return WEFT_OK;
    WF_TRY(wf_grow(&b->step, &b->steps, b->n_steps + 1, sizeof *b->step));
    b->step[b->n_steps++] = (step){parent, lane};
    return WEFT_OK;
}

static int is_full(const beam *b)
{
    int64_t most = SLACK * (int64_t)b->effort.width;
    return b->now.n >= most || b->next.n >= most || b->n_steps >= b->effort.steps;
}

static weft_status expand(beam *b, int i)
{
    int parent = b->now.entry[i].step;
    wf_layer_read(&b->now, i, &b->at);
    int n = wf_partial_choices(&b->at);
    for (int k = 0; k < n; k++) {
        int lane = b->at.choice[k].lane;
        wf_partial_put(&b->at, k, &b->child);
        double bound = wf_partial_bound(&b->child, b->target);
        if (!(bound < b->target)) continue;
        wf_layer *to = lane % WF_LANES == WF_LANE_W ? &b->now : &b->next;
        WF_TRY(put(b, to, parent, lane, bound));
    }
    return WEFT_OK;
}

/* All of a layer, and the W's on the way. */
static weft_status run_layer(beam *b)
{
    wf_layer_empty(&b->next);
    if (wf_layer_cut(&b->now, b->effort.width)) b->is_cut = 1;
    for (int i = 0; i < b->now.n; i++) {
        if (b->now.entry[i].is_dropped) continue;
        if (is_full(b)) {
            b->is_cut = 1;
            break;
        }
        WF_TRY(expand(b, i));
    }
    return WEFT_OK;
}

static weft_status run(beam *b)
{
    int64_t others = b->x->p * b->x->len / WF_LANES * (WF_LANES - 1);
    WF_TRY(run_layer(b));
    for (int64_t done = 0; done < others && b->next.n; done++) {
        wf_layer swap = b->now;
        b->now = b->next;
        b->next = swap;
        WF_TRY(run_layer(b));
    }
    return WEFT_OK;
}

/* Step of the shortest one in the last layer; -1: none. */
static int best_step(const beam *b)
{
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < b->now.n; i++) {
        const wf_entry *e = &b->now.entry[i];
        if (!(e->bound < least) || !wf_layer_is_whole(&b->now, i)) continue;
        least = e->bound;
        best = e->step;
    }
    return best;
}

/* The ops of each rank, from the last step back. */
static void trace_back(const beam *b, int at, int *order)
{
    const wf_problem *x = b->x;
    for (int r = 0; r < x->p; r++)
        b->at.free[r] = (double)x->len; /* what is left to fill */
    for (; b->step[at].parent >= 0; at = b->step[at].parent) {
        int lane = b->step[at].lane, r = x->rank[lane / WF_LANES];
        order[r * x->len + (int64_t)--b->at.free[r]] = lane;
    }
}

/* Layer 0: nothing is done. */
static weft_status begin(beam *b)
{
    memset(b->child.count, 0, (size_t)(WF_LANES * b->x->n));
    memset(b->child.free, 0, (size_t)b->x->p * sizeof *b->child.free);
    return put(b, &b->now, -1, -1, b->at.least);
}

static weft_status init(beam *b, const wf_window *w, double least)
{
    WF_TRY(wf_partial_init(b->x, w, least, &b->at));
    WF_TRY(wf_partial_init(b->x, w, least, &b->child));
    WF_TRY(wf_layer_init(b->x, &b->now));
    WF_TRY(wf_layer_init(b->x, &b->next));
    return begin(b);
}

static void clear(beam *b)
{
    wf_layer_clear(&b->now);
    wf_layer_clear(&b->next);
    wf_partial_clear(&b->at);
    wf_partial_clear(&b->child);
    wf_free(b->step);
}

weft_status wf_order_search(const wf_problem *x, const wf_window *w, double least,
                            wf_effort effort, double target, int *order, int *found)
{
    beam b = {.x = x, .target = target, .effort = effort};
    weft_status st = init(&b, w, least);
    if (st == WEFT_OK) st = run(&b);
    if (st == WEFT_OK) {
        int best = best_step(&b);
        if (best >= 0) trace_back(&b, best, order);
        *found = (best >= 0 ? WF_FOUND : 0) | (b.is_cut ? 0 : WF_COMPLETE);
    }
    clear(&b);
    return st;
}
