/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depth first over partial schedules, each stage first-in first-out. Let o be the op that
 * can end first. If o can go earlier without memory that another op needs (it frees some;
 * or there is no limit; or there is one stage per rank, where between a forward and its
 * earlier place are only ops that free; or all forwards that are left have room), some best
 * schedule starts an op of o's rank before o's end (Giffler and Thompson): only those are
 * tried. Otherwise the op that starts first of all that are left comes next, before the
 * first end of an op of the other kind, and no rank starts anything sooner.
 *
 * A state that is no better in any time than one with the same counts seen before is
 * dropped, and one whose ranks or chains cannot end in time.
 */
#include "exact.h"
#include "problems.h"

enum {
    STAGES = 8,
    MICROS = 6,
    LANES = 3 * STAGES,
    MOST_TIMES = STAGES + 2 * STAGES * MICROS,
    TIMES = 40, /* more are not remembered */
    SLOTS = 1 << 14,
    WAYS = 4
};

typedef struct seen {
    unsigned char count[LANES], used;
    double time[TIMES];
} seen;

typedef struct solver {
    int p, m, n, by_start, left;
    int rank[STAGES];
    double dur[LANES], hold[LANES], limit[STAGES], delay[LANES], tail[LANES], target;
    int input[LANES];
    seen *table; /* [SLOTS][WAYS] */
    unsigned next;
} solver;

typedef struct state {
    unsigned char count[LANES];
    double free[STAGES], held[STAGES], end[LANES][MICROS];
    int done;
} state;

static double after_inputs(const solver *x, const state *s, int lane)
{
    int in = x->input[lane], k = s->count[lane];
    double t = s->free[x->rank[lane / 3]];
    if (in < 0) return t;
    if (s->count[in] <= k) return INFINITY;
    return fmax(t, s->end[in][k] + x->delay[lane]);
}

static int fits(const solver *x, const state *s, int lane)
{
    int r = x->rank[lane / 3];
    return s->held[r] + x->hold[lane] <= x->limit[r] * (1 + 1e-12);
}

/* Can it not end below the target any more? */
static int is_hopeless(const solver *x, const state *s)
{
    double start[LANES], work[STAGES] = {0}, first[STAGES];
    static const int down[] = {0}, up[] = {1}, weight[] = {2};
    const int *part[] = {down, up, weight};
    for (int r = 0; r < x->p; r++)
        first[r] = INFINITY;
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < x->n; i++) {
            int lane = 3 * (pass == 1 ? x->n - 1 - i : i) + *part[pass];
            int k = s->count[lane], in = x->input[lane], r = x->rank[lane / 3];
            start[lane] = s->free[r];
            if (k >= x->m) continue;
            if (in >=
                0) { /* its input ends then, or at the earliest with those before it */
                double t = s->count[in] > k
                               ? s->end[in][k]
                               : start[in] + (k + 1 - s->count[in]) * x->dur[in];
                start[lane] = fmax(start[lane], t + x->delay[lane]);
            }
            double rest = (x->m - k) * x->dur[lane];
            work[r] += rest;
            first[r] = fmin(first[r], start[lane]);
            if (start[lane] + rest + x->tail[lane] >= x->target) return 1;
        }
    for (int r = 0; r < x->p; r++)
        if (work[r] > 0 && first[r] + work[r] >= x->target) return 1;
    return 0;
}

static int times_of(const solver *x, const state *s, double *time)
{
    int n = 0;
    for (int r = 0; r < x->p; r++)
        time[n++] = s->free[r];
    for (int lane = 0; lane < 3 * x->n; lane++) {
        int in = x->input[lane], r = x->rank[lane / 3];
        if (in < 0 || x->rank[in / 3] == r) continue; /* made before the rank is free */
        for (int k = s->count[lane]; k < s->count[in]; k++)
            time[n++] = fmax(s->end[in][k] + x->delay[lane], s->free[r]);
    }
    return n;
}

/* Seen before, no later in anything? Else remember it. */
static int is_seen(solver *x, const state *s)
{
    double time[MOST_TIMES];
    int n = times_of(x, s, time);
    if (n > TIMES) return 0;
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < 3 * x->n; i++)
        hash = (hash ^ s->count[i]) * 1099511628211u;
    seen *way = x->table + (hash >> 20) % SLOTS * WAYS;
    for (int i = 0; i < WAYS; i++) {
        if (!way[i].used || memcmp(way[i].count, s->count, sizeof s->count)) continue;
        int no_later = 1;
        for (int k = 0; k < n && no_later; k++)
            no_later = way[i].time[k] <= time[k] + 1e-12;
        if (no_later) return 1;
    }
    seen *keep = &way[x->next++ % WAYS];
    memcpy(keep->count, s->count, sizeof s->count);
    memcpy(keep->time, time, (size_t)n * sizeof *time);
    keep->used = 1;
    return 0;
}

static state put(const solver *x, const state *s, int lane, double start, int is_next)
{
    state after = *s;
    int r = x->rank[lane / 3];
    after.end[lane][after.count[lane]++] = after.free[r] = start + x->dur[lane];
    after.held[r] += x->hold[lane];
    for (int k = 0; is_next && k < x->p; k++)
        after.free[k] = fmax(after.free[k], start);
    after.done++;
    return after;
}

/* Does an op go as early as it can, since it takes no memory that another one may need? */
static int is_free(const solver *x, const state *s, int lane)
{
    int r = x->rank[lane / 3];
    double all = s->held[r];
    if (lane % 3 || !x->by_start) return 1;
    for (int f = 0; f < 3 * x->n; f += 3)
        if (x->rank[f / 3] == r) all += (x->m - s->count[f]) * x->hold[f];
    return all <= x->limit[r];
}

static exact_answer search(solver *x, const state *s)
{
    if (s->done == 3 * x->n * x->m) return EXACT_BELOW;
    if (x->left-- <= 0) return EXACT_UNKNOWN;
    if (is_seen(x, s)) return EXACT_NONE;
    double start[LANES], stop = INFINITY, any = INFINITY;
    int first = -1;
    for (int lane = 0; lane < 3 * x->n; lane++) {
        start[lane] = INFINITY;
        if (s->count[lane] == x->m || !fits(x, s, lane)) continue;
        start[lane] = after_inputs(x, s, lane);
        double end = start[lane] + x->dur[lane];
        any = fmin(any, end);
        if (!is_free(x, s, lane) || end >= stop) continue;
        stop = end;
        first = lane;
    }
    int one_rank = first >= 0 && stop <= any;
    for (;;) {
        int lane = -1;
        for (int k = 0; k < 3 * x->n; k++)
            if (start[k] < INFINITY && (lane < 0 || start[k] < start[lane])) lane = k;
        if (lane < 0) return EXACT_NONE;
        double t = start[lane];
        start[lane] = INFINITY;
        if (t >= stop && lane != first) continue;
        if (one_rank && x->rank[lane / 3] != x->rank[first / 3]) continue;
        state after = put(x, s, lane, t, !one_rank);
        if (is_hopeless(x, &after)) continue;
        exact_answer a = search(x, &after);
        if (a != EXACT_NONE) return a;
    }
}

static void open_solver(solver *x, const weft_schedule *q,
                        const weft_schedule_options *o)
{
    int bounded = 0, own = o->stage_free_i || o->stage_free_w;
    for (int r = 0; r < q->p; r++) {
        double limit = o->rank_limit ? o->rank_limit[r] : o->mem_limit;
        x->limit[r] = limit > 0 ? limit : INFINITY;
        bounded |= limit > 0;
        for (int c = 0; c < q->v; c++)
            x->rank[weft_schedule_stage(q, r, c)] = r;
    }
    x->by_start = bounded && q->v > 1;
    for (int s = 0; s < x->n; s++) {
        double i = own ? 0 : 0.5 / q->v, w = i;
        if (o->stage_free_i) i = o->stage_free_i[s];
        if (o->stage_free_w) w = o->stage_free_w[s];
        double d[] = {o->stage_f[s], o->stage_i[s], o->stage_w[s]},
               h[] = {i + w, -i, -w};
        int last = s == x->n - 1;
        int in[] = {s ? 3 * s - 3 : -1, last ? 3 * s : 3 * s + 4, 3 * s + 1};
        for (int k = 0; k < 3; k++) {
            x->dur[3 * s + k] = d[k];
            x->hold[3 * s + k] = h[k];
            x->input[3 * s + k] = in[k];
        }
    }
    for (int lane = 0; lane < 3 * x->n; lane++) {
        int in = x->input[lane];
        if (in >= 0 && x->rank[lane / 3] != x->rank[in / 3])
            x->delay[lane] = delay_of(o, x->rank[in / 3], x->rank[lane / 3]);
    }
    for (int s = 0; s < x->n; s++) /* longest way from the end of an op to the end */
        x->tail[3 * s + 1] =
            fmax(x->dur[3 * s + 2],
                 s ? x->delay[3 * s - 2] + x->dur[3 * s - 2] + x->tail[3 * s - 2] : 0);
    for (int s = x->n - 1; s >= 0; s--)
        x->tail[3 * s] = s == x->n - 1 ? x->dur[3 * s + 1] + x->tail[3 * s + 1]
                                       : x->delay[3 * s + 3] + x->dur[3 * s + 3] +
                                             x->tail[3 * s + 3];
}

exact_answer exact_below(const weft_schedule *q, const weft_schedule_options *o,
                         double target, int most_states)
{
    solver x = {
        .p = q->p, .m = q->m, .n = q->p * q->v, .target = target, .left = most_states};
    assert_true(x.n <= STAGES && x.m <= MICROS);
    open_solver(&x, q, o);
    x.table = calloc((size_t)SLOTS * WAYS, sizeof *x.table);
    state begin = {.done = 0};
    exact_answer a = is_hopeless(&x, &begin) ? EXACT_NONE : search(&x, &begin);
    free(x.table);
    return a;
}
