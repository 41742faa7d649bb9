/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can come next. Let o be the op, of those whose inputs are made and that have room,
 * that could end first. If o never costs memory that another op needs (it is an I or a W,
 * or a forward that has room whatever comes), some shortest schedule has an op of o's rank
 * start before o could end: else o could go into that gap. So only ops of that rank are
 * tried (Giffler and Thompson 1960, active schedules). Of stages one to a rank every
 * forward that has room is such an op: it only passes ops that free memory.
 *
 * Where o is a forward that another chunk of the rank may have to wait for, the op that
 * starts first of all that are left comes next, whichever it is; no rank goes on before
 * its start. It starts before the first of the other kind could end.
 */
#include "schedule/kinds/optimal-partial.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* fmax() knows NaN and is no one instruction */
static inline double later(double a, double b)
{
    return a > b ? a : b;
}

weft_status wf_partial_init(const wf_problem *x, const wf_window *w, double least,
                            wf_partial *out)
{
    wf_partial a = {.x = x, .w = w, .least = least};
    int64_t lanes = (int64_t)WF_LANES * x->n;
    weft_status st = WF_ALLOC(lanes, &a.count);
    if (st == WEFT_OK) st = WF_ALLOC(lanes, &a.crosses);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &a.free);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &a.held);
    if (st == WEFT_OK) st = WF_ALLOC(lanes * x->m, &a.arrival);
    if (st == WEFT_OK) st = WF_ALLOC(lanes, &a.start);
    if (st == WEFT_OK) st = WF_ALLOC(lanes, &a.choice);
    if (st == WEFT_OK) st = WF_ALLOC((int64_t)WF_LANES * x->v, &a.rest);
    if (st != WEFT_OK) {
        wf_partial_clear(&a);
        return st;
    }
    for (int lane = 0; lane < lanes; lane++) {
        int in = x->input[lane];
        a.crosses[lane] = in >= 0 && x->rank[in / WF_LANES] != x->rank[lane / WF_LANES];
    }
    *out = a;
    return WEFT_OK;
}

void wf_partial_clear(wf_partial *a)
{
    wf_free(a->count);
    wf_free(a->crosses);
    wf_free(a->free);
    wf_free(a->held);
    wf_free(a->arrival);
    wf_free(a->start);
    wf_free(a->choice);
    wf_free(a->rest);
    *a = (wf_partial){.x = NULL};
}

/* ---- its times ------------------------------------------------------------------ */

static double *arrival(const wf_partial *a, int lane, int k)
{
    return &a->arrival[(int64_t)lane * a->x->m + k];
}

int wf_partial_times(const wf_partial *a, double *time)
{
    const wf_problem *x = a->x;
    int n = 0;
    for (int r = 0; r < x->p; r++)
        time[n++] = a->free[r];
    for (int lane = 0; lane < WF_LANES * x->n; lane++) {
        double t = a->free[x->rank[lane / WF_LANES]];
        for (int k = a->count[lane]; a->crosses[lane] && k < a->count[x->input[lane]];
             k++) {
            t = later(t, *arrival(a, lane, k));
            t = later(t, a->w->head[(int64_t)lane * x->m + k]);
            time[n++] = t;
            t += x->dur[lane];
        }
    }
    return n;
}

void wf_partial_read(wf_partial *a, const unsigned char *count, const double *time)
{
    const wf_problem *x = a->x;
    memcpy(a->count, count, (size_t)(WF_LANES * x->n));
    for (int r = 0; r < x->p; r++) {
        a->free[r] = *time++;
        a->held[r] = 0;
    }
    for (int lane = 0; lane < WF_LANES * x->n; lane++) {
        a->held[x->rank[lane / WF_LANES]] += count[lane] * x->hold[lane];
        for (int k = count[lane]; a->crosses[lane] && k < count[x->input[lane]]; k++)
            *arrival(a, lane, k) = *time++;
    }
}

/* ---- what can come next --------------------------------------------------------- */

/* Start of the next op of a lane; INFINITY: not now. */
static double start_of(const wf_partial *a, int lane)
{
    const wf_problem *x = a->x;
    int k = a->count[lane], in = x->input[lane], r = x->rank[lane / WF_LANES];
    if (k == x->m || (in >= 0 && a->count[in] <= k)) return INFINITY;
    if (a->held[r] + x->hold[lane] > wf_most_held(x, r)) return INFINITY;
    return a->crosses[lane] ? later(a->free[r], *arrival(a, lane, k)) : a->free[r];
}

/* Does an op of the lane take no memory that another one may need? */
static int is_safe(const wf_partial *a, int lane)
{
    const wf_problem *x = a->x;
    int r = x->rank[lane / WF_LANES];
    if (lane % WF_LANES != WF_LANE_F || x->v == 1) return 1;
    double all = a->held[r];
    for (int c = 0; c < x->v; c++) {
        int f = wf_lane(x->stage[(int64_t)r * x->v + c], WF_LANE_F);
        all += (x->m - a->count[f]) * x->hold[f];
    }
    return all <= wf_most_held(x, r);
}

int wf_partial_choices(wf_partial *a)
{
    const wf_problem *x = a->x;
    int n = 0, first = -1, safe = -1;
    double stop = INFINITY, safe_stop = INFINITY;
    for (int lane = 0; lane < WF_LANES * x->n; lane++) {
        double start = a->start[lane] = start_of(a, lane), end = start + x->dur[lane];
        if (!(start < INFINITY)) continue;
        int safer = is_safe(a, lane);
        if (end < stop || (end <= stop && safer && safe != first)) {
            stop = end;
            first = lane;
        }
        if (safer && end < safe_stop) {
            safe_stop = end;
            safe = lane;
        }
    }
    int one_rank = first == safe;
    for (int lane = 0; lane < WF_LANES * x->n; lane++) {
        double start = a->start[lane];
        if (!(start < INFINITY) || (start >= safe_stop && lane != safe)) continue;
        if (one_rank && x->rank[lane / WF_LANES] != x->rank[safe / WF_LANES]) continue;
        a->choice[n++] = (wf_choice){lane, !one_rank, start};
    }
    return n;
}

/* Lane that takes the results of another one from another rank; -1: none. */
static int reader(const wf_partial *a, int lane)
{
    int step = lane % WF_LANES == WF_LANE_F ? WF_LANES : -WF_LANES, to = lane + step;
    int exists = lane % WF_LANES != WF_LANE_W && to >= 0 && to < WF_LANES * a->x->n;
    return exists && a->crosses[to] ? to : -1;
}

void wf_partial_put(const wf_partial *a, int i, wf_partial *out)
{
    const wf_problem *x = a->x;
    wf_choice c = a->choice[i];
    int r = x->rank[c.lane / WF_LANES], to = reader(a, c.lane);
    memcpy(out->count, a->count, (size_t)(WF_LANES * x->n));
    memcpy(out->arrival, a->arrival,
           (size_t)(WF_LANES * x->n) * (size_t)x->m * sizeof *a->arrival);
    for (int k = 0; k < x->p; k++)
        out->free[k] = c.is_first ? later(a->free[k], c.start) : a->free[k];
    out->free[r] = c.start + x->dur[c.lane];
    if (to >= 0) *arrival(out, to, out->count[c.lane]) = out->free[r] + x->delay[to];
    out->count[c.lane]++;
}

/* ---- how long it takes at least ------------------------------------------------- */

/* So many ops of a lane end no sooner. */
static double ended(const wf_partial *a, int lane, int n)
{
    return n > a->count[lane] ? a->start[lane] + (n - a->count[lane]) * a->x->dur[lane]
                              : 0;
}

static double room_start(const wf_partial *a, int lane)
{
    const wf_problem *x = a->x;
    int stage = lane / WF_LANES, k = a->count[lane];
    double t = 0;
    for (int i = 0; i < 2 * x->v; i++) {
        int64_t n = a->w->room[(int64_t)stage * x->v * 2 + i];
        int e = x->stage[(int64_t)x->rank[stage] * x->v + i / 2];
        if (k >= n)
            t = later(t, ended(a, wf_lane(e, WF_LANE_I + i % 2), (int)(k - n) + 1));
    }
    return t;
}

static inline void set_start(wf_partial *a, int lane)
{
    const wf_problem *x = a->x;
    int k = a->count[lane], in = x->input[lane], r = x->rank[lane / WF_LANES];
    if (k == x->m) return;
    double t = later(a->free[r], a->w->head[(int64_t)lane * x->m + k]);
    if (in >= 0 && a->count[in] <= k)
        t = later(t, ended(a, in, k + 1) + x->delay[lane]);
    else if (a->crosses[lane])
        t = later(t, *arrival(a, lane, k));
    a->start[lane] = t;
}

/* Forwards with a limit look at the I's and W's for room, so all go on from there once
 * more. */
static void set_starts(wf_partial *a)
{
    const wf_problem *x = a->x;
    int is_limited = 0;
    for (int pass = 0; pass < 1 + is_limited; pass++) {
        for (int s = 0; s < x->n; s++) {
            int lane = wf_lane(s, WF_LANE_F);
            set_start(a, lane);
            if (!(x->limit[x->rank[s]] < INFINITY)) continue;
            is_limited = 1;
            if (pass && a->count[lane] < x->m)
                a->start[lane] = later(a->start[lane], room_start(a, lane));
        }
        for (int s = x->n - 1; s >= 0; s--)
            set_start(a, wf_lane(s, WF_LANE_I));
        for (int s = 0; s < x->n; s++)
            set_start(a, wf_lane(s, WF_LANE_W));
    }
}

/* What is left of each lane of a rank. */
static int list_rest(wf_partial *a, int r)
{
    const wf_problem *x = a->x;
    int n = 0;
    for (int c = 0; c < x->v; c++)
        for (int part = 0; part < WF_LANES; part++) {
            int lane = wf_lane(x->stage[(int64_t)r * x->v + c], part);
            int left = x->m - a->count[lane];
            if (!left) continue;
            const double *tail = a->w->tail + (int64_t)(lane + 1) * x->m;
            a->rest[n++] = (wf_rest){a->start[lane], left * x->dur[lane], tail[-1],
                                     x->dur[lane] + tail[-left], part};
        }
    return n;
}

/* The lanes that start no sooner than the i-th: all of their work, and the least that
 * comes after it. */
static double work_from(const wf_partial *a, int n, int i)
{
    double work = 0, tail = INFINITY, start = a->rest[i].start;
    for (int k = 0; k < n; k++) {
        const wf_rest *l = &a->rest[k];
        if (l->start < start) continue;
        work += l->work;
        if (l->tail < tail) tail = l->tail;
    }
    return start + work + tail;
}

/* The rank does nothing before its first lane starts. With W's alone it ends when they
 * end, be that before the least end of the step. */
static void raise_free(wf_partial *a, int r, int n)
{
    double first = INFINITY, left = 0;
    int others = 0;
    for (int i = 0; i < n; i++) {
        if (a->rest[i].start < first) first = a->rest[i].start;
        left += a->rest[i].work;
        others |= a->rest[i].part != WF_LANE_W;
    }
    if (n) a->free[r] = later(a->free[r], first);
    if (!others) a->free[r] = later(a->free[r], a->least - left);
}

double wf_partial_bound(wf_partial *a, double target)
{
    double most = a->least;
    set_starts(a);
    for (int r = 0; r < a->x->p; r++) {
        int n = list_rest(a, r);
        most = later(most, a->free[r]);
        for (int i = 0; i < n; i++) {
            most = later(most, a->rest[i].start + a->rest[i].chain);
            most = later(most, work_from(a, n, i));
        }
        if (most >= target) return INFINITY;
        raise_free(a, r, n);
    }
    return most;
}
