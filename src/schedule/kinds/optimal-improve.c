/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Improves an order by moves on its critical path: the chain of ops without a wait that
 * ends last. It consists of blocks, runs of ops of one rank. No order is shorter unless
 * an op of some block goes before the first or after the last one of that block (the
 * blocks otherwise keep the length of the chain), so those moves are tried, and swaps
 * inside, at random but from a fixed seed; a longer order is kept for a while with a
 * probability that falls, as in annealing. The result depends on the input alone: the
 * end is a number of evaluations and not a time.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal.h"

enum { ROUNDS = 6 }; /* from the best so far, or on from the last one */

typedef struct block {
    int rank;
    int64_t first, last;
} block;

typedef struct improver {
    const wf_problem *x;
    int *order, *best; /* [p][len] */
    wf_clock now, trial;
    block *path; /* [p*len] */
    int64_t n_path;
    double at, least; /* makespans of order and best */
    uint64_t seed;
} improver;

typedef struct move {
    int rank;
    int64_t from, to;
} move;

static uint32_t random_below(improver *a, int64_t n)
{
    return wf_random_below(&a->seed, (uint32_t)n);
}

static double random_unit(improver *a)
{
    return (1 + random_below(a, 1 << 24)) / (double)(1 << 24);
}

static double end_at(const improver *a, int r, int64_t i)
{
    return a->now.start[r * a->x->len + i] + a->x->dur[a->order[r * a->x->len + i]];
}

static int last_rank(const improver *a)
{
    int r = 0;
    while (a->now.free[r] < a->at)
        r++;
    return r;
}

/* Micro-batch of entry i: how many of its lane stand before it. */
static int64_t micro_of(const improver *a, int r, int64_t i)
{
    const wf_problem *x = a->x;
    int lane = a->order[r * x->len + i];
    const int64_t *place = a->now.place + (int64_t)lane * x->m;
    int64_t low = 0, high = x->m - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (place[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The blocks from the end to the start; of two reasons to start no earlier, either. */
static void find_path(improver *a)
{
    const wf_problem *x = a->x;
    int r = last_rank(a);
    int64_t i = x->len - 1;
    a->n_path = 0;
    for (;;) {
        block b = {r, i, i};
        double t;
        for (;;) {
            t = a->now.start[r * x->len + b.first];
            int in = x->input[a->order[r * x->len + b.first]];
            int by_rank = b.first > 0 && end_at(a, r, b.first - 1) >= t;
            if (!by_rank) break;
            if (in >= 0 && x->rank[in / WF_LANES] != r) {
                int64_t k = micro_of(a, r, b.first);
                double ready = a->now.end[(int64_t)in * x->m + k] +
                               x->delay[a->order[r * x->len + b.first]];
                if (ready >= t && random_below(a, 2)) break;
            }
            b.first--;
        }
        a->path[a->n_path++] = b;
        int lane = a->order[r * x->len + b.first], in = x->input[lane];
        if (in < 0 || t <= 0) return;
        int64_t k = micro_of(a, r, b.first);
        r = x->rank[in / WF_LANES];
        i = a->now.place[(int64_t)in * x->m + k];
    }
}

/* A move of an op of a block: out of it on either side, or one step. */
static move pick(improver *a)
{
    const block *b = &a->path[random_below(a, a->n_path)];
    int64_t n = b->last - b->first + 1, len = a->x->len;
    int64_t from = b->first + random_below(a, n), to;
    switch (random_below(a, 6)) {
    case 0: to = b->first; break;
    case 1: to = b->last; break;
    case 2: to = from + 1; break;
    case 3: to = b->first - 1 - random_below(a, 4); break;
    case 4: to = b->last + 1 + random_below(a, 4); break;
    default: /* any op near the block, to make room for another move */
        from = wf_most(0, wf_least(len - 1, from + (int64_t)random_below(a, 17) - 8));
        to = from + (int64_t)random_below(a, 17) - 8;
    }
    if (to < 0) to = 0;
    if (to >= len) to = len - 1;
    return (move){b->rank, from, to};
}

static void shift(int *list, int64_t from, int64_t to)
{
    int lane = list[from];
    if (from < to)
        memmove(list + from, list + from + 1, (size_t)(to - from) * sizeof *list);
    else
        memmove(list + to + 1, list + to, (size_t)(from - to) * sizeof *list);
    list[to] = lane;
}

/* Does it change anything? */
static int is_change(const improver *a, move v)
{
    const wf_problem *x = a->x;
    const int *list = a->order + v.rank * x->len;
    int64_t low = wf_least(v.from, v.to), high = wf_most(v.from, v.to);
    int other = 0;
    for (int64_t i = low; i <= high; i++)
        other |= list[i] != list[v.from];
    return other;
}

/* Takes the move if it is allowed and good enough. */
static void try_move(improver *a, move v, double warmth)
{
    const wf_problem *x = a->x;
    int *list = a->order + v.rank * x->len;
    shift(list, v.from, v.to);
    double t = INFINITY;
    if (!(x->limit[v.rank] < INFINITY) || wf_order_fits(x, v.rank, list))
        t = wf_clock_run(x, a->order, &a->trial);
    if (t < INFINITY && t <= a->at - warmth * log(random_unit(a))) {
        wf_clock swap = a->now;
        a->now = a->trial;
        a->trial = swap;
        a->at = t;
        find_path(a);
        if (t < a->least * (1 - 1e-12)) {
            a->least = t;
            memcpy(a->best, a->order, (size_t)(x->p * x->len) * sizeof *a->best);
        }
        return;
    }
    shift(list, v.to, v.from);
}

static double mean_time(const wf_problem *x)
{
    double sum = 0;
    for (int k = 0; k < WF_LANES * x->n; k++)
        sum += x->dur[k];
    return sum / (WF_LANES * x->n);
}

static void improve(improver *a, int64_t tries, double bound)
{
    const wf_problem *x = a->x;
    static const double warmth[ROUNDS] = {2, 1, 3, 1, 2, 0.5};
    int64_t each = tries / ROUNDS;
    for (int round = 0; round < ROUNDS; round++) {
        int is_short = each < 8 * x->p * x->len; /* no time to cool down from more */
        double warm = mean_time(x) * (is_short ? 0.1 : warmth[round]);
        if (round % 2 == 0)
            memcpy(a->order, a->best, (size_t)(x->p * x->len) * sizeof *a->order);
        a->at = wf_clock_run(x, a->order, &a->now);
        find_path(a);
        for (int64_t i = 0; i < each; i++) {
            if (a->least <= bound * (1 + 1e-12)) return;
            double left = (double)(each - i) / (double)each;
            move v = pick(a);
            if (is_change(a, v)) try_move(a, v, warm * left * left);
        }
    }
}

static weft_status init(improver *a)
{
    int64_t ops = a->x->p * a->x->len;
    WF_TRY(WF_ALLOC(ops, &a->order));
    WF_TRY(WF_ALLOC(ops, &a->path));
    WF_TRY(wf_clock_init(a->x, &a->now));
    return wf_clock_init(a->x, &a->trial);
}

weft_status wf_order_improve(const wf_problem *x, int64_t tries, double bound,
                             int *order, double *makespan)
{
    improver a = {
        .x = x, .best = order, .least = *makespan, .seed = 0x9e3779b97f4a7c15};
    weft_status st = init(&a);
    if (st == WEFT_OK) {
        improve(&a, tries, bound);
        *makespan = a.least;
    }
    wf_free(a.order);
    wf_free(a.path);
    wf_clock_clear(&a.now);
    wf_clock_clear(&a.trial);
    return st;
}
