/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lower bound of the step time, for any order of any kind of the same placement, from
 * the heads and tails of its ops (optimal-window.c).
 *
 * (1) Work. A rank does one op at a time. Let it interrupt them, and give each op the
 * deadline T - tail: the least T that can be kept is found by always doing the released
 * op with the longest tail (Jackson's rule, optimal for one machine with preemption). T
 * is a bound, because the real rank is a special case. For every set of ops of a rank
 * it is at least least head + work + least tail.
 *
 * (2) Memory. A forward holds what I frees from its start at least until the end of the
 * shortest round trip to the last stage and back, and what W frees one W longer. The sum
 * over a rank's forwards of (size x time) is an area, which must fit below the rank's
 * limit between the head of its first op and the end of its last one. So the step takes at
 * least head + area/limit.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal.h"

typedef struct item {
    double head, tail, dur;
} item;

typedef struct bounder {
    const wf_problem *x;
    const wf_window *w;
    item *item;   /* [len] of a rank, by head */
    int *heap;    /* [len] items that are released, by tail */
    double *left; /* [len] what an item still needs */
} bounder;

/* ---- Jackson's rule ------------------------------------------------------------- */

static int by_head(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return (x->head > y->head) - (x->head < y->head);
}

static int64_t sift(const bounder *b, int64_t n, int64_t i)
{
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child + 1 < n &&
            b->item[b->heap[child + 1]].tail > b->item[b->heap[child]].tail)
            child++;
        if (child >= n || b->item[b->heap[child]].tail <= b->item[b->heap[i]].tail)
            return n;
        int swap = b->heap[i];
        b->heap[i] = b->heap[child];
        b->heap[child] = swap;
        i = child;
    }
}

static int64_t push(const bounder *b, int64_t n, int new_item)
{
    int64_t i = n;
    b->heap[i] = new_item;
    while (i && b->item[b->heap[(i - 1) / 2]].tail < b->item[b->heap[i]].tail) {
        int swap = b->heap[i];
        b->heap[i] = b->heap[(i - 1) / 2];
        b->heap[(i - 1) / 2] = swap;
        i = (i - 1) / 2;
    }
    return n + 1;
}

/* Least end of the items with their tails, on one machine that may interrupt them. */
static double one_machine(const bounder *b, int64_t n)
{
    double now = 0, last = 0;
    int64_t next = 0, open = 0;
    qsort(b->item, (size_t)n, sizeof *b->item, by_head);
    while (next < n || open) {
        if (!open && b->item[next].head > now) now = b->item[next].head;
        for (; next < n && b->item[next].head <= now; next++) {
            b->left[next] = b->item[next].dur;
            open = push(b, open, (int)next);
        }
        int top = b->heap[0];
        double stop = next < n ? b->item[next].head : INFINITY;
        if (now + b->left[top] <= stop) {
            now += b->left[top];
            last = fmax(last, now + b->item[top].tail);
            b->heap[0] = b->heap[--open];
            sift(b, open, 0);
        } else {
            b->left[top] -= stop - now;
            now = stop;
        }
    }
    return last;
}

static double work_bound(const bounder *b, int rank)
{
    const wf_problem *x = b->x;
    int64_t n = 0;
    for (int c = 0; c < x->v; c++)
        for (int part = 0; part < WF_LANES; part++)
            for (int64_t k = 0; k < x->m; k++) {
                int lane = wf_lane(x->stage[(int64_t)rank * x->v + c], part);
                int64_t at = (int64_t)lane * x->m + k;
                b->item[n++] = (item){b->w->head[at], b->w->tail[at], x->dur[lane]};
            }
    return one_machine(b, n);
}

/* ---- memory --------------------------------------------------------------------- */

static double memory_bound(const bounder *b, int rank)
{
    const wf_problem *x = b->x;
    double area = 0;
    if (!(x->limit[rank] < INFINITY)) return 0;
    for (int c = 0; c < x->v; c++) {
        int stage = x->stage[(int64_t)rank * x->v + c];
        double trip = 0;
        for (int s = stage; s < x->n; s++) {
            trip += x->dur[wf_lane(s, WF_LANE_F)] + x->dur[wf_lane(s, WF_LANE_I)];
            if (s > stage) trip += x->delay[wf_lane(s, WF_LANE_F)];
            if (s < x->n - 1) trip += x->delay[wf_lane(s, WF_LANE_I)];
        }
        area -= x->hold[wf_lane(stage, WF_LANE_I)] * trip;
        area -= x->hold[wf_lane(stage, WF_LANE_W)] *
                (trip + x->dur[wf_lane(stage, WF_LANE_W)]);
    }
    int first = wf_lane(x->stage[(int64_t)rank * x->v], WF_LANE_F);
    return b->w->head[(int64_t)first * x->m] + x->m * area / wf_most_held(x, rank);
}

/* ---- all ------------------------------------------------------------------------ */

static weft_schedule_lower_bound find(bounder *b)
{
    const wf_problem *x = b->x;
    weft_schedule_lower_bound best = {.makespan = 0};
    for (int r = 0; r < x->p; r++) {
        double work = work_bound(b, r), memory = memory_bound(b, r);
        double most = fmax(work, memory);
        if (most > best.makespan)
            best = (weft_schedule_lower_bound){
                .makespan = most, .rank = r, .by_memory = memory > work};
    }
    return best;
}

weft_status wf_problem_bound(const wf_problem *x, const wf_window *w,
                             weft_schedule_lower_bound *out)
{
    bounder b = {.x = x, .w = w};
    weft_status st = WF_ALLOC(x->len, &b.item);
    if (st == WEFT_OK) st = WF_ALLOC(x->len, &b.heap);
    if (st == WEFT_OK) st = WF_ALLOC(x->len, &b.left);
    if (st == WEFT_OK) *out = find(&b);
    wf_free(b.item);
    wf_free(b.heap);
    wf_free(b.left);
    return st;
}
