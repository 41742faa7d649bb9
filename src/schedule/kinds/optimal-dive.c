/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches a small problem depth first: of what can come next, what starts first goes
 * first. It sees few partial schedules of a layer, but all kinds of whole ones, and each of
 * those lowers the target. What is dropped is what the search layer by layer drops
 * (optimal-beam.c), here among all that have been seen: each of them has been gone into, or
 * will be, or another one that makes it needless. So with nothing left it is complete.
 */
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal-layer.h"

typedef struct step {
    int parent, lane;
} step;

typedef struct diver {
    const wf_problem *x;
    wf_partial at, child;
    wf_layer seen;
    step *step; /* of each entry of seen */
    int *open;  /* entries to go into, the next one last */
    int *order; /* [p][len] the best one */
    int n_open, most;
    int64_t steps, opens; /* room for */
    double target;
    int has_found;
} diver;

static weft_status put(diver *d, int parent, int lane, double bound)
{
    int i = d->seen.n;
    WF_TRY(wf_layer_put(&d->seen, &d->child, bound, i));
    if (d->seen.n == i) return WEFT_OK;
    WF_TRY(wf_grow(&d->step, &d->steps, i + 1, sizeof *d->step));
    WF_TRY(wf_grow(&d->open, &d->opens, d->n_open + 1, sizeof *d->open));
    d->step[i] = (step){parent, lane};
    d->open[d->n_open++] = i;
    return WEFT_OK;
}

/* Lists the ops of each rank from the last step back. */
static void keep(diver *d, int i)
{
    const wf_problem *x = d->x;
    d->has_found = 1;
    d->target = d->seen.entry[i].bound * (1 - 1e-9);
    for (int r = 0; r < x->p; r++)
        d->at.free[r] = (double)x->len; /* what is left to fill */
    for (; d->step[i].parent >= 0; i = d->step[i].parent) {
        int lane = d->step[i].lane, r = x->rank[lane / WF_LANES];
        d->order[r * x->len + (int64_t)--d->at.free[r]] = lane;
    }
}

/* Of the choices, the first to start last, so that it is the next one to go into. */
static void sort_choices(wf_choice *c, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && c[k].start > c[k - 1].start; k--) {
            wf_choice swap = c[k];
            c[k] = c[k - 1];
            c[k - 1] = swap;
        }
}

static weft_status expand(diver *d, int i)
{
    wf_layer_read(&d->seen, i, &d->at);
    int n = wf_partial_choices(&d->at);
    sort_choices(d->at.choice, n);
    for (int k = 0; k < n; k++) {
        wf_partial_put(&d->at, k, &d->child);
        double bound = wf_partial_bound(&d->child, d->target);
        if (bound < d->target) WF_TRY(put(d, i, d->at.choice[k].lane, bound));
    }
    return WEFT_OK;
}

/* While there is something left and room for it. */
static weft_status run(diver *d)
{
    while (d->n_open && d->seen.n < d->most) {
        int i = d->open[--d->n_open];
        const wf_entry *e = &d->seen.entry[i];
        if (e->is_dropped || !(e->bound < d->target)) continue;
        if (wf_layer_is_whole(&d->seen, i))
            keep(d, i);
        else
            WF_TRY(expand(d, i));
    }
    return WEFT_OK;
}

static weft_status init(diver *d, const wf_window *w, double least)
{
    WF_TRY(wf_partial_init(d->x, w, least, &d->at));
    WF_TRY(wf_partial_init(d->x, w, least, &d->child));
    WF_TRY(wf_layer_init(d->x, &d->seen));
    return put(d, -1, -1, least); /* nothing is done */
}

weft_status wf_order_dive(const wf_problem *x, const wf_window *w, double least,
                          int most, double target, int *order, int *found)
{
    diver d = {.x = x, .most = most, .target = target, .order = order};
    weft_status st = init(&d, w, least);
    if (st == WEFT_OK) st = run(&d);
    if (st == WEFT_OK)
        *found = (d.has_found ? WF_FOUND : 0) | (d.n_open ? 0 : WF_COMPLETE);
    wf_layer_clear(&d.seen);
    wf_partial_clear(&d.at);
    wf_partial_clear(&d.child);
    wf_free(d.step);
    wf_free(d.open);
    return st;
}
