/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches small problems layer by layer: layer i holds partial schedules of i ops, one
 * for each way that could still become the shortest.
 *
 * A partial schedule is no more than how far each lane is, when each rank is free, and
 * when each message arrives that no op has taken yet. It is dropped when
 *
 *   its ranks or chains cannot end below the target (optimal-partial.c), or
 *   another one of the layer is as far in each lane and no later in anything.
 *
 * If no layer ever outgrows its width, this is complete: the schedule found is a shortest
 * one, and that none is found proves that nothing is below the target. Otherwise the
 * ones with the least bounds go on (a beam search).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal-partial.h"

enum {
    SLACK = 4,  /* a layer may have so many times its width before it is cut */
    TIMES = 24, /* that a partial schedule keeps, on average, at most        */
    NOBODY = -1
};

/* How a partial schedule came about, kept of every layer. */
typedef struct step {
    int parent, lane;
} step;

typedef struct entry {
    double bound, sum; /* of its times: what breaks ties */
    int64_t time;      /* its place in time[] */
    int step, next;    /* next of the same hash */
    int count;         /* its place in count[] */
} entry;

typedef struct layer {
    entry *entry;         /* [most] */
    unsigned char *count; /* [most][3n] */
    double *time;         /* [most*TIMES] */
    int *bucket;          /* [n_buckets] first entry, NOBODY: none */
    int n;
    int64_t n_times;
} layer;

typedef struct beam {
    const wf_problem *x;
    wf_partial at, child;
    layer now, next;
    step *step; /* [most_steps] */
    double *scratch;
    double target;
    int width, most, n_buckets, n_steps, most_steps, is_cut;
} beam;

static int lanes(const beam *b)
{
    return WF_LANES * b->x->n;
}

/* ---- a layer -------------------------------------------------------------------- */

static void empty(const beam *b, layer *l)
{
    l->n = 0;
    l->n_times = 0;
    for (int i = 0; i < b->n_buckets; i++)
        l->bucket[i] = NOBODY;
}

static int bucket_of(const beam *b, const unsigned char *count)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < lanes(b); i++)
        hash = (hash ^ count[i]) * 1099511628211u;
    return (int)((hash >> 20) % (unsigned)b->n_buckets);
}

static int no_later(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] > b[i]) return 0;
    return 1;
}

static int by_bound(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->bound != y->bound) return x->bound < y->bound ? -1 : 1;
    if (x->sum != y->sum) return x->sum < y->sum ? -1 : 1;
    return x->step - y->step;
}

/* Keeps the `width` best; their counts and times stay where they are. */
static void cut(beam *b, layer *l)
{
    if (l->n <= b->width) return;
    qsort(l->entry, (size_t)l->n, sizeof *l->entry, by_bound);
    l->n = b->width;
    b->is_cut = 1;
}

/* The child, unless one that is as far is no later; it takes the place of one that is
 * later. 0 where there is no room. */
static int insert(beam *b, layer *l, int parent, int lane, double bound)
{
    int n = wf_partial_times(&b->child, b->scratch);
    const unsigned char *count = b->child.count;
    int *first = &l->bucket[bucket_of(b, count)];
    entry *place = NULL;
    for (int i = *first; i != NOBODY; i = l->entry[i].next) {
        entry *e = &l->entry[i];
        if (memcmp(l->count + (int64_t)e->count * lanes(b), count, (size_t)lanes(b)))
            continue;
        if (no_later(l->time + e->time, b->scratch, n)) return 1;
        if (!place && no_later(b->scratch, l->time + e->time, n)) place = e;
    }
    if (!place) {
        if (l->n == b->most || l->n_times + n > (int64_t)b->most * TIMES ||
            b->n_steps == b->most_steps)
            return 0;
        place = &l->entry[l->n];
        *place = (entry){
            .time = l->n_times, .step = b->n_steps++, .next = *first, .count = l->n};
        memcpy(l->count + (int64_t)place->count * lanes(b), count, (size_t)lanes(b));
        *first = l->n++;
        l->n_times += n;
    }
    place->bound = bound;
    place->sum = 0;
    for (int i = 0; i < n; i++)
        place->sum += b->scratch[i];
    memcpy(l->time + place->time, b->scratch, (size_t)n * sizeof *b->scratch);
    b->step[place->step] = (step){parent, lane};
    return 1;
}

/* ---- the search ----------------------------------------------------------------- */

static int expand(beam *b, const entry *e)
{
    int n = wf_partial_choices(&b->at);
    for (int i = 0; i < n; i++) {
        wf_partial_put(&b->at, i, &b->child);
        double bound = wf_partial_bound(&b->child, b->target);
        if (!(bound < b->target)) continue;
        if (!insert(b, &b->next, e->step, b->at.choice[i].lane, bound)) return 0;
    }
    return 1;
}

static int64_t run(beam *b)
{
    int64_t ops = b->x->p * b->x->len;
    for (int64_t done = 0; done < ops && b->now.n; done++) {
        empty(b, &b->next);
        cut(b, &b->now);
        for (int i = 0; i < b->now.n; i++) {
            const entry *e = &b->now.entry[i];
            wf_partial_read(&b->at, b->now.count + (int64_t)e->count * lanes(b),
                            b->now.time + e->time);
            if (!expand(b, e)) {
                b->is_cut = 1;
                break;
            }
        }
        layer swap = b->now;
        b->now = b->next;
        b->next = swap;
    }
    return b->now.n;
}

/* The ops of each rank, from the last step back. */
static void trace_back(const beam *b, int at, int *order)
{
    const wf_problem *x = b->x;
    for (int r = 0; r < x->p; r++)
        b->at.free[r] = (double)x->len; /* what is left to fill */
    for (; b->step[at].parent != NOBODY; at = b->step[at].parent) {
        int lane = b->step[at].lane, r = x->rank[lane / WF_LANES];
        order[r * x->len + (int64_t)--b->at.free[r]] = lane;
    }
}

static weft_status alloc_layer(const beam *b, layer *l)
{
    WF_TRY(WF_ALLOC(b->most, &l->entry));
    WF_TRY(WF_ALLOC((int64_t)b->most * lanes(b), &l->count));
    WF_TRY(WF_ALLOC((int64_t)b->most * TIMES, &l->time));
    return WF_ALLOC(b->n_buckets, &l->bucket);
}

static weft_status init(beam *b, const wf_window *w, double least)
{
    WF_TRY(wf_partial_init(b->x, w, least, &b->at));
    WF_TRY(wf_partial_init(b->x, w, least, &b->child));
    WF_TRY(alloc_layer(b, &b->now));
    WF_TRY(alloc_layer(b, &b->next));
    WF_TRY(WF_ALLOC(b->x->p + b->x->p * b->x->len, &b->scratch));
    return WF_ALLOC(b->most_steps, &b->step);
}

static void clear(beam *b)
{
    layer *l[] = {&b->now, &b->next};
    for (int i = 0; i < 2; i++) {
        wf_free(l[i]->entry);
        wf_free(l[i]->count);
        wf_free(l[i]->time);
        wf_free(l[i]->bucket);
    }
    wf_partial_clear(&b->at);
    wf_partial_clear(&b->child);
    wf_free(b->scratch);
    wf_free(b->step);
}

/* Layer 0: nothing is done. */
static void begin(beam *b)
{
    empty(b, &b->now);
    memset(b->child.count, 0, (size_t)lanes(b));
    memset(b->child.free, 0, (size_t)b->x->p * sizeof *b->child.free);
    insert(b, &b->now, NOBODY, NOBODY, b->at.least);
}

weft_status wf_order_search(const wf_problem *x, const wf_window *w, double least,
                            wf_effort effort, double target, int *order, int *found)
{
    beam b = {.x = x,
              .target = target,
              .width = effort.width,
              .most = SLACK * effort.width,
              .n_buckets = SLACK * effort.width,
              .most_steps = effort.steps};
    weft_status st = init(&b, w, least);
    if (st == WEFT_OK) {
        begin(&b);
        int64_t n = run(&b);
        if (n) {
            qsort(b.now.entry, (size_t)n, sizeof *b.now.entry, by_bound);
            trace_back(&b, b.now.entry[0].step, order);
        }
        *found = (n ? WF_FOUND : 0) | (b.is_cut ? 0 : WF_COMPLETE);
    }
    clear(&b);
    return st;
}
