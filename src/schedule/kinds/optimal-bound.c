/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lower bound of the step time, for any order of any kind of the same placement.
 *
 * Let every stage take its micro-batches in order (optimal.h says why that is no loss),
 * and B be I and W in one (which is no better than I, then W). For each op a head, a time
 * before which it cannot start, and a tail, a time that must pass after its end:
 *
 *   head  of F(s, k): after F(s-1, k) and a message; after F(s, k-1).
 *         With room for n forwards of the stage alone until I: after I(s, k-n), since of
 *         k+1 forwards that have begun at most n may still be held whole.
 *   head  of I(s, k): after I(s+1, k), or F(s, k) on the last stage; after I(s, k-1).
 *         When I(s, k) starts, its rank has done F of the micro-batches 0..k on all its
 *         stages (they reached the last stage in order), I of 0..k on its later stages
 *         and I of 0..k-1 on s. It began no sooner than the head of its first forward.
 *   head  of W(s, k): after I(s, k); after W(s, k-1).
 *   tail  the same seen from the end: after F(s, k) come F(s+1, k), F(s, k+1), I(s, k),
 *         and on its rank F of k..m-1 on later stages, of k+1..m-1 on s itself, I and W
 *         of k..m-1 on all of its stages; after I(s, k) come I(s-1, k), I(s, k+1) and
 *         W(s, k), and on its rank I of k+1..m-1 on s, I of k..m-1 on earlier stages,
 *         W of k..m-1 on s and on earlier stages.
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
    double *head, *tail; /* [3n][m] */
    item *item;          /* [len] of a rank, by head */
    int *heap;           /* [len] items that are released, by tail */
    double *left;        /* [len] what an item still needs */
} bounder;

static double *at(const bounder *b, double *table, int stage, int part, int64_t k)
{
    return &table[wf_lane(stage, part) * (int64_t)b->x->m + k];
}

static double dur(const bounder *b, int stage, int part)
{
    return b->x->dur[wf_lane(stage, part)];
}

/* Work of one micro-batch on the stages of a rank that come before (-1) or after (1)
 * `stage`, or on all (0). */
static double rank_work(const bounder *b, int stage, int side, int part)
{
    const wf_problem *x = b->x;
    int r = x->rank[stage];
    double work = 0;
    for (int k = 0; k < x->v; k++) {
        int s = x->stage[(int64_t)r * x->v + k];
        if (!side || (side > 0 ? s > stage : s < stage)) work += dur(b, s, part);
    }
    return work;
}

/* Forwards of a stage that fit whole; m where memory is no limit. */
static int64_t room(const bounder *b, int stage)
{
    double each = b->x->hold[wf_lane(stage, WF_LANE_F)];
    double n = wf_most_held(b->x, b->x->rank[stage]) / each;
    return each > 0 && n < b->x->m ? (int64_t)n : b->x->m;
}

static int first_stage(const wf_problem *x, int rank)
{
    int first = x->n;
    for (int k = 0; k < x->v; k++)
        first = (int)wf_least(first, x->stage[(int64_t)rank * x->v + k]);
    return first;
}

static double after(const bounder *b, int stage, int part, int64_t k)
{
    return *at(b, b->head, stage, part, k) + dur(b, stage, part);
}

static void forward_heads(bounder *b, int64_t k)
{
    const wf_problem *x = b->x;
    for (int s = 0; s < x->n; s++) {
        double t = 0;
        if (s) t = after(b, s - 1, WF_LANE_F, k) + x->delay[wf_lane(s, WF_LANE_F)];
        if (k) t = fmax(t, after(b, s, WF_LANE_F, k - 1));
        int64_t n = room(b, s);
        if (k >= n) t = fmax(t, after(b, s, WF_LANE_I, k - n));
        *at(b, b->head, s, WF_LANE_F, k) = t;
    }
}

static void backward_heads(bounder *b, int64_t k)
{
    const wf_problem *x = b->x;
    for (int s = x->n - 1; s >= 0; s--) {
        double t = after(b, s, WF_LANE_F, k);
        double begun = *at(b, b->head, first_stage(x, x->rank[s]), WF_LANE_F, 0);
        if (s < x->n - 1)
            t = after(b, s + 1, WF_LANE_I, k) + x->delay[wf_lane(s, WF_LANE_I)];
        if (k) t = fmax(t, after(b, s, WF_LANE_I, k - 1));
        double work = (double)(k + 1) * (rank_work(b, s, 0, WF_LANE_F) +
                                         rank_work(b, s, 1, WF_LANE_I)) +
                      (double)k * dur(b, s, WF_LANE_I);
        *at(b, b->head, s, WF_LANE_I, k) = fmax(t, begun + work);
        t = after(b, s, WF_LANE_I, k);
        if (k) t = fmax(t, after(b, s, WF_LANE_W, k - 1));
        *at(b, b->head, s, WF_LANE_W, k) = t;
    }
}

/* What must pass after the end of an op that comes before (stage, part, k). */
static double until(const bounder *b, int stage, int part, int64_t k)
{
    return dur(b, stage, part) + *at(b, b->tail, stage, part, k);
}

static void backward_tails(bounder *b, int64_t k)
{
    const wf_problem *x = b->x;
    int64_t rest = x->m - k; /* micro-batches k .. m-1 */
    for (int s = 0; s < x->n; s++) {
        *at(b, b->tail, s, WF_LANE_W, k) = rest > 1 ? until(b, s, WF_LANE_W, k + 1) : 0;
        double t = until(b, s, WF_LANE_W, k);
        if (s)
            t = fmax(t, until(b, s - 1, WF_LANE_I, k) +
                            x->delay[wf_lane(s - 1, WF_LANE_I)]);
        if (rest > 1) t = fmax(t, until(b, s, WF_LANE_I, k + 1));
        double own = (double)(rest - 1) * dur(b, s, WF_LANE_I) +
                     (double)rest * dur(b, s, WF_LANE_W);
        double earlier =
            rank_work(b, s, -1, WF_LANE_I) + rank_work(b, s, -1, WF_LANE_W);
        *at(b, b->tail, s, WF_LANE_I, k) = fmax(t, own + (double)rest * earlier);
    }
}

static void forward_tails(bounder *b, int64_t k)
{
    const wf_problem *x = b->x;
    int64_t rest = x->m - k;
    for (int s = x->n - 1; s >= 0; s--) {
        double t = until(b, s, WF_LANE_I, k);
        if (s < x->n - 1)
            t = fmax(t, until(b, s + 1, WF_LANE_F, k) +
                            x->delay[wf_lane(s + 1, WF_LANE_F)]);
        if (rest > 1) t = fmax(t, until(b, s, WF_LANE_F, k + 1));
        double work = (double)rest * (rank_work(b, s, 0, WF_LANE_I) +
                                      rank_work(b, s, 0, WF_LANE_W) +
                                      rank_work(b, s, 1, WF_LANE_F)) +
                      (double)(rest - 1) * dur(b, s, WF_LANE_F);
        *at(b, b->tail, s, WF_LANE_F, k) = fmax(t, work);
    }
}

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
                int s = x->stage[(int64_t)rank * x->v + c];
                b->item[n++] = (item){*at(b, b->head, s, part, k),
                                      *at(b, b->tail, s, part, k), dur(b, s, part)};
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
            trip += dur(b, s, WF_LANE_F) + dur(b, s, WF_LANE_I);
            if (s > stage) trip += x->delay[wf_lane(s, WF_LANE_F)];
            if (s < x->n - 1) trip += x->delay[wf_lane(s, WF_LANE_I)];
        }
        area -= x->hold[wf_lane(stage, WF_LANE_I)] * trip;
        area -= x->hold[wf_lane(stage, WF_LANE_W)] * (trip + dur(b, stage, WF_LANE_W));
    }
    return *at(b, b->head, first_stage(x, rank), WF_LANE_F, 0) +
           x->m * area / wf_most_held(x, rank);
}

/* ---- all ------------------------------------------------------------------------ */

static weft_schedule_lower_bound find(bounder *b)
{
    const wf_problem *x = b->x;
    weft_schedule_lower_bound best = {.makespan = 0};
    for (int64_t k = 0; k < x->m; k++) {
        forward_heads(b, k);
        backward_heads(b, k);
    }
    for (int64_t k = x->m - 1; k >= 0; k--) {
        backward_tails(b, k);
        forward_tails(b, k);
    }
    for (int r = 0; r < x->p; r++) {
        double work = work_bound(b, r), memory = memory_bound(b, r);
        double most = fmax(work, memory);
        if (most > best.makespan)
            best = (weft_schedule_lower_bound){most, r, memory > work};
    }
    return best;
}

weft_status wf_problem_bound(const wf_problem *x, weft_schedule_lower_bound *out)
{
    bounder b = {.x = x};
    weft_status st = WF_ALLOC(x->p * x->len, &b.head);
    if (st == WEFT_OK) st = WF_ALLOC(x->p * x->len, &b.tail);
    if (st == WEFT_OK) st = WF_ALLOC(x->len, &b.item);
    if (st == WEFT_OK) st = WF_ALLOC(x->len, &b.heap);
    if (st == WEFT_OK) st = WF_ALLOC(x->len, &b.left);
    if (st == WEFT_OK) *out = find(&b);
    wf_free(b.head);
    wf_free(b.tail);
    wf_free(b.item);
    wf_free(b.heap);
    wf_free(b.left);
    return st;
}
