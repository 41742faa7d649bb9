/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list scheduler: in the order of time, the rank that can start first takes an op.
 *
 * A rank with its memory full of forwards of one chunk can keep the forward of the next
 * chunk out for ever. A forward is taken only where all that is in flight can still be
 * finished, oldest micro-batch first, each with the memory that those before it have
 * given back (the banker's rule). As all ranks can finish in that order, nothing gets
 * stuck.
 */
#include <math.h>
#include <string.h>

#include "schedule/kinds/optimal.h"

typedef struct lister {
    const wf_problem *x;
    const wf_rule *rule;
    wf_clock *c;
    int *order;
    double period; /* longest work of a rank for one micro-batch */
    uint64_t seed;
} lister;

typedef struct choice {
    int lane; /* -1: none now */
    double start;
} choice;

static double held_by(const lister *l, int r)
{
    double held = 0;
    for (int k = 0; k < l->x->v; k++) {
        int lane = wf_lane(l->x->stage[r * l->x->v + k], 0);
        for (int part = 0; part < WF_LANES; part++)
            held += l->c->count[lane + part] * l->x->hold[lane + part];
    }
    return held;
}

/* What is held from I to W could be had by doing the W's. */
static double held_for_w(const lister *l, int r)
{
    double held = 0;
    for (int k = 0; k < l->x->v; k++) {
        int s = l->x->stage[r * l->x->v + k];
        int due =
            l->c->count[wf_lane(s, WF_LANE_I)] - l->c->count[wf_lane(s, WF_LANE_W)];
        held -= due * l->x->hold[wf_lane(s, WF_LANE_W)];
    }
    return held;
}

/* Can all micro-batches in flight be finished one by one after a forward of `stage`? */
static int is_safe(const lister *l, int r, int stage, double room)
{
    const wf_problem *x = l->x;
    const int *stages = x->stage + (int64_t)r * x->v;
    int oldest = x->m, newest = 0;
    for (int k = 0; k < x->v; k++) {
        int f = l->c->count[wf_lane(stages[k], WF_LANE_F)] + (stages[k] == stage);
        int i = l->c->count[wf_lane(stages[k], WF_LANE_I)];
        if (i < oldest) oldest = i;
        if (f > newest) newest = f;
    }
    for (int micro = oldest; micro < newest; micro++) {
        double back = 0, need = 0;
        for (int k = 0; k < x->v; k++) {
            int f = l->c->count[wf_lane(stages[k], WF_LANE_F)] + (stages[k] == stage);
            int i = l->c->count[wf_lane(stages[k], WF_LANE_I)];
            double h = x->hold[wf_lane(stages[k], WF_LANE_F)];
            if (f <= micro)
                need += h;
            else if (i <= micro)
                back += h;
        }
        if (need > room) return 0;
        room += back;
    }
    return 1;
}

/* Shortest time from the start of F to the end of I on a stage. */
static double round_trip(const wf_problem *x, int stage)
{
    double t = 0;
    for (int s = stage; s < x->n; s++) {
        int f = wf_lane(s, WF_LANE_F), i = wf_lane(s, WF_LANE_I);
        t += x->dur[f] + x->dur[i];
        if (s > stage) t += x->delay[f];
        if (s < x->n - 1) t += x->delay[i];
    }
    return t;
}

static int is_deep(const lister *l, int stage)
{
    if (l->rule->depth <= 0) return 0;
    int ahead =
        l->c->count[wf_lane(stage, WF_LANE_F)] - l->c->count[wf_lane(stage, WF_LANE_I)];
    double period = l->period > 0 ? l->period : 1;
    return ahead >= fmax(1, ceil(l->rule->depth * l->c->start[stage] / period - 1e-9));
}

static double ready_at(const lister *l, int lane)
{
    const wf_problem *x = l->x;
    int k = l->c->count[lane], in = x->input[lane];
    if (k >= x->m) return INFINITY;
    if (in < 0) return 0;
    if (l->c->count[in] <= k) return INFINITY;
    return l->c->end[(int64_t)in * x->m + k] + x->delay[lane];
}

/* The W whose stage has most of them waiting; -1: none. */
static int waiting_w(const lister *l, int r)
{
    int best = -1, most = 0;
    for (int k = 0; k < l->x->v; k++) {
        int w = wf_lane(l->x->stage[r * l->x->v + k], WF_LANE_W);
        int due = l->c->count[w - 1] - l->c->count[w];
        if (due > most) {
            most = due;
            best = w;
        }
    }
    return best;
}

/* Earliest start of the F or the I of a rank; of equal ones the deepest, or the one
 * that is behind. */
static choice best_of(const lister *l, int r, int part, int *full)
{
    const wf_problem *x = l->x;
    choice best = {-1, INFINITY};
    double held = held_by(l, r), most = wf_most_held(x, r);
    for (int j = x->v - 1; j >= 0; j--) {
        int stage = x->stage[(int64_t)r * x->v + (l->rule->wide ? x->v - 1 - j : j)];
        int lane = wf_lane(stage, part);
        double t = ready_at(l, lane);
        if (!(t < INFINITY)) continue;
        if (t < l->c->free[r]) t = l->c->free[r];
        if (!(t < best.start)) continue;
        if (part == WF_LANE_F) {
            double after = held + x->hold[lane];
            if (is_deep(l, stage) ||
                (most < INFINITY &&
                 !is_safe(l, r, stage, most - after + held_for_w(l, r))))
                continue;
            if (after > most) {
                *full = 1; /* a W makes room */
                continue;
            }
        }
        best = (choice){lane, t};
    }
    return best;
}

/* Does a rule with chance in it do otherwise this time? */
static int is_whim(lister *l)
{
    return l->rule->chance && wf_random_below(&l->seed, 8) == 0;
}

/* The F or the I. */
static choice first_of(lister *l, choice f, choice i)
{
    int forward = l->rule->forward ^ is_whim(l);
    if (i.lane < 0) return f;
    if (f.lane < 0) return i;
    if (forward) return i.start < f.start ? i : f;
    return i.start <= f.start + l->rule->patience * l->x->dur[f.lane] ? i : f;
}

/* What the rank would do next. */
static choice choose(lister *l, int r)
{
    int full = 0, w = waiting_w(l, r);
    choice f = best_of(l, r, WF_LANE_F, &full), i = best_of(l, r, WF_LANE_I, &full);
    choice best = first_of(l, f, i);
    if (w < 0) return best;
    double now = l->c->free[r], gap = best.start - now;
    double least = full ? 0 : l->rule->fill * l->x->dur[w] * (1 - 1e-9);
    if (best.lane >= 0 && is_whim(l)) return gap > 0 ? best : (choice){w, now};
    return gap > 0 && gap >= least ? (choice){w, now} : best;
}

static void take(lister *l, int r, choice a)
{
    wf_clock *c = l->c;
    int k = c->count[a.lane]++;
    double end = a.start + l->x->dur[a.lane];
    l->order[r * l->x->len + c->at[r]++] = a.lane;
    c->end[(int64_t)a.lane * l->x->m + k] = end;
    c->free[r] = end;
}

static void begin(lister *l)
{
    const wf_problem *x = l->x;
    memset(l->c->count, 0, (size_t)x->n * WF_LANES * sizeof *l->c->count);
    l->period = 0;
    for (int s = 0; s < x->n; s++) /* start[] is free until the order is timed */
        l->c->start[s] = round_trip(x, s);
    for (int r = 0; r < x->p; r++) {
        double work = 0;
        l->c->free[r] = 0;
        l->c->at[r] = 0;
        for (int k = 0; k < x->v * WF_LANES; k++)
            work += x->dur[wf_lane(x->stage[r * x->v + k / WF_LANES], k % WF_LANES)];
        if (work > l->period) l->period = work;
    }
}

/* Rank that starts first; -1: nobody can go on. */
static int first_rank(lister *l)
{
    wf_clock *c = l->c;
    int first = -1;
    for (int r = 0; r < l->x->p; r++) {
        if (c->todo[r]) { /* look again at what it would do */
            choice a = choose(l, r);
            c->next[r] = a.lane;
            c->when[r] = a.start;
            c->todo[r] = 0;
        }
        if (c->next[r] >= 0 && (first < 0 || c->when[r] < c->when[first])) first = r;
    }
    return first;
}

double wf_list_run(const wf_problem *x, const wf_rule *rule, wf_clock *c, int *order)
{
    lister l = {x, rule, c, order, 0, rule->chance};
    begin(&l);
    for (int r = 0; r < x->p; r++)
        c->todo[r] = 1;
    for (int64_t left = x->p * x->len; left > 0; left--) {
        int r = first_rank(&l);
        if (r < 0) return INFINITY;
        int stage = c->next[r] / WF_LANES, part = c->next[r] % WF_LANES;
        take(&l, r, (choice){c->next[r], c->when[r]});
        c->todo[r] = 1;
        if (part == WF_LANE_F && stage + 1 < x->n) c->todo[x->rank[stage + 1]] = 1;
        if (part == WF_LANE_I && stage > 0) c->todo[x->rank[stage - 1]] = 1;
    }
    return wf_clock_run(x, order, c);
}
