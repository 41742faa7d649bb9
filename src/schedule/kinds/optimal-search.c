/* SPDX-License-Identifier: Apache-2.0 */
/* How the kind `optimal` looks for its schedule; optimal.c says in what order and why. */
#include <math.h>
#include <string.h>

#include "schedule/kinds/optimal-partial.h"
#include "schedule/kinds/optimal-search.h"

enum {
    RULES = 5 * 3 * 2 * 2 * 2,
    MOST_LISTS = 4000,
    LIST_WORK = 1 << 20,   /* ops that lists may place                            */
    MOST_LISTED = 1 << 22, /* ops of a schedule beyond which there are none       */
    MOVE_WORK = 12000000,  /* ops that moves may time                             */
    MOST_MOVES = 300000,
    STARTS = 4, /* of their own, where there are so many moves: */
    LEAST_FRESH_MOVES = 40000,
    FIRST_WIDTH = 256, /* partial schedules of a layer: from here by fours ...      */
    LAST_WIDTH = 4096, /* ... to here, or to so many lanes of them in all           */
    SEARCH_WORK = 8000000,
    SEARCH_STEPS = 1 << 21, /* partial schedules that are kept to the end          */
    MOST_SEEN = 1 << 16,    /* of them depth first                                 */
    SMALL = 144, /* ops: p = 4, m = 6, v = 2. So few are searched by layers of ... */
    SMALL_WIDTH = 2048, /* ... this before there are moves, and after them of ...  */
    LAST_SMALL = 8192,  /* ... this and depth first again, mostly to the end       */
    MOST_SEEN_LAST = 1 << 20
};

static int is_done(const wf_searcher *a)
{
    return a->bound.by_search || a->makespan <= a->bound.makespan * (1 + 1e-12);
}

/* order is a candidate: is it better than all before? */
static int offer(wf_searcher *a, double makespan)
{
    if (!(makespan < a->makespan)) return 0;
    for (int r = 0; r < a->x.p; r++)
        if (!wf_order_fits(&a->x, r, a->order + r * a->x.len)) return 0;
    int *swap = a->best;
    a->best = a->order;
    a->order = swap;
    a->makespan = makespan;
    return 1;
}

/* Lanes of another schedule's ops, B as I and W. 0 where a list is longer or shorter. */
static int lanes_of(const wf_problem *x, const weft_schedule *other, int *order)
{
    for (int r = 0; r < x->p; r++) {
        int *o = order + r * x->len, *end = o + x->len;
        for (int64_t i = other->first[r]; i < other->first[r + 1]; i++) {
            const weft_op *op = &other->op[i];
            int lane = wf_lane(x->stage[(int64_t)r * x->v + op->chunk], 0);
            int n = op->kind == WEFT_OP_B ? 2 : 1;
            if (op->kind > WEFT_OP_W || end - o < n) return 0;
            if (op->kind == WEFT_OP_F) *o++ = lane + WF_LANE_F;
            if (op->kind == WEFT_OP_B || op->kind == WEFT_OP_I) *o++ = lane + WF_LANE_I;
            if (op->kind == WEFT_OP_B || op->kind == WEFT_OP_W) *o++ = lane + WF_LANE_W;
        }
        if (o != end) return 0;
    }
    return 1;
}

/* Mean times for a kind that is made for equal stages. */
static weft_schedule_options even(const wf_searcher *a)
{
    weft_schedule_options o = {.latency = a->x.links.latency,
                               .n_tiers = a->x.links.n_tiers,
                               .tier = a->x.links.tier,
                               .message_bytes = a->x.links.message_bytes,
                               .placement =
                                   a->x.v == 1 ? WEFT_PLACE_SINGLE : WEFT_PLACE_V};
    double *mean[] = {&o.tf, &o.ti, &o.tw};
    for (int lane = 0; lane < WF_LANES * a->x.n; lane++)
        *mean[lane % WF_LANES] += a->x.dur[lane] / a->x.p;
    double least = INFINITY;
    for (int r = 0; r < a->x.p; r++) {
        double most = 0; /* in forwards of a full stage */
        for (int k = 0; k < a->x.v; k++)
            most = fmax(most, a->x.hold[wf_lane(a->x.stage[r * a->x.v + k], 0)]);
        if (most > 0) least = fmin(least, a->x.limit[r] / (most * a->x.v));
    }
    o.mem_limit = least < a->x.m ? least : a->x.m;
    return o;
}

static weft_status try_kind(wf_searcher *a, const weft_schedule_kind *k,
                            const weft_schedule_options *options)
{
    const wf_problem *x = &a->x;
    weft_schedule other;
    /* one that does not apply is no failure */
    if (weft_schedule_shape(k->name, x->p, x->m, x->v, options, &other) != WEFT_OK ||
        other.placement != a->s->placement)
        return WEFT_OK;
    weft_status st = weft_schedule_make(k->name, x->p, x->m, x->v, options, &other);
    if (st != WEFT_OK) return st == WEFT_E_INFEASIBLE ? WEFT_OK : st;
    if (lanes_of(x, &other, a->order)) offer(a, wf_clock_run(x, a->order, &a->clock));
    weft_schedule_clear(&other);
    return WEFT_OK;
}

/* A kind that searches itself: under its own limit, and under this one. */
static weft_status try_searched(wf_searcher *a, const weft_schedule_kind *k)
{
    weft_schedule_options told = even(a), own = told;
    own.mem_limit = 0;
    WF_TRY(try_kind(a, k, &own));
    return is_done(a) ? WEFT_OK : try_kind(a, k, &told);
}

static weft_status try_kinds(wf_searcher *a)
{
    static const weft_schedule_options none = {.group = 0};
    for (int i = 0; i < wf_schedule_n_kinds && !is_done(a); i++) {
        const weft_schedule_kind *k = wf_schedule_kinds[i];
        int synchronous = !k->forward_only && !k->asynchronous;
        if (!synchronous || !strcmp(k->name, a->s->kind)) continue;
        WF_TRY(k->searched ? try_searched(a, k) : try_kind(a, k, &none));
    }
    return WEFT_OK;
}

/* Fills the micro-batches one after the other: fits wherever anything does. */
static void try_serial(wf_searcher *a)
{
    const wf_problem *x = &a->x;
    for (int r = 0; r < x->p; r++) {
        int *o = a->order + r * x->len;
        for (int k = 0; k < x->m; k++) {
            for (int c = 0; c < x->v; c++)
                *o++ = wf_lane(x->stage[(int64_t)r * x->v + c], WF_LANE_F);
            for (int c = x->v - 1; c >= 0; c--) {
                *o++ = wf_lane(x->stage[(int64_t)r * x->v + c], WF_LANE_I);
                *o++ = wf_lane(x->stage[(int64_t)r * x->v + c], WF_LANE_W);
            }
        }
    }
    offer(a, wf_clock_run(x, a->order, &a->clock));
}

static wf_rule rule_at(int i)
{
    static const double depth[] = {1, 0, 1.5, 2, 1.2}, fill[] = {0, 1, 0.5},
                        patience[] = {0, 0.5};
    wf_rule rule = {.depth = depth[i % 5]};
    rule.fill = fill[(i /= 5) % 3];
    rule.wide = (i /= 3) % 2;
    rule.patience = patience[(i /= 2) % 2];
    rule.forward = (i / 2) % 2;
    return rule;
}

static wf_rule random_rule(uint64_t *seed)
{
    wf_rule rule = {.depth = wf_random_below(seed, 11) / 4.0};
    rule.fill = wf_random_below(seed, 5) / 4.0;
    rule.wide = (int)wf_random_below(seed, 2);
    rule.patience = wf_random_below(seed, 5) / 4.0;
    rule.forward = wf_random_below(seed, 4) == 0;
    rule.chance = 1 + *seed / 2;
    return rule;
}

static void try_lists(wf_searcher *a)
{
    int64_t ops = a->x.p * a->x.len;
    if (ops > MOST_LISTED || ops * a->x.p > 64 * (int64_t)MOST_LISTED) return;
    int64_t runs = wf_least(MOST_LISTS, 2 + LIST_WORK / ops);
    uint64_t seed = 0x2545f4914f6cdd1d;
    for (int i = 0; i < runs && !is_done(a); i++) {
        wf_rule rule = i < RULES ? rule_at(i) : random_rule(&seed);
        if (i < RULES && rule.wide && a->x.v == 1) continue;
        offer(a, wf_list_run(&a->x, &rule, &a->clock, a->order));
    }
}

/* Small problems: the same from other lists, which lie in other valleys. */
static weft_status start_afresh(wf_searcher *a, int64_t moves)
{
    uint64_t seed = 0x9e3779b97f4a7c15;
    for (int k = 0; k < STARTS && !is_done(a); k++) {
        wf_rule rule = random_rule(&seed);
        double t = wf_list_run(&a->x, &rule, &a->clock, a->order);
        if (!(t < INFINITY)) continue;
        WF_TRY(wf_order_improve(&a->x, moves, a->bound.makespan, a->order, &t));
        offer(a, t);
    }
    return WEFT_OK;
}

/* What a search has left in order; there is none better if it was complete. */
static void take(wf_searcher *a, int found)
{
    if (found & WF_FOUND && !offer(a, wf_clock_run(&a->x, a->order, &a->clock))) return;
    if (found & WF_COMPLETE)
        a->bound = (weft_schedule_lower_bound){
            .makespan = a->makespan, .rank = -1, .by_search = 1};
}

/* All there is to do, as far as the width goes. */
static weft_status search_layers(wf_searcher *a, int width)
{
    int found;
    WF_TRY(wf_order_search(&a->x, &a->window, a->bound.makespan,
                           (wf_effort){width, SEARCH_STEPS}, a->makespan * (1 - 1e-9),
                           a->order, &found));
    take(a, found);
    return WEFT_OK;
}

static weft_status dive(wf_searcher *a, int most)
{
    int found;
    WF_TRY(wf_order_dive(&a->x, &a->window, a->bound.makespan, most,
                         a->makespan * (1 - 1e-9), a->order, &found));
    take(a, found);
    return WEFT_OK;
}

static weft_status make_moves(wf_searcher *a, int64_t moves)
{
    WF_TRY(wf_order_improve(&a->x, moves, a->bound.makespan, a->best, &a->makespan));
    return moves < LEAST_FRESH_MOVES ? WEFT_OK : start_afresh(a, moves / STARTS);
}

/* Of a layer, with so much work for all of them. */
static int most_width(const wf_searcher *a)
{
    double lanes = WF_LANES * a->x.n, ops = (double)a->x.p * (double)a->x.len;
    if (a->x.m > WF_MOST_COUNTED) return 0;
    double most = SEARCH_WORK / (lanes * ops);
    return most < LAST_WIDTH ? (int)most : LAST_WIDTH;
}

/* What a small problem adds after the moves. */
static weft_status search_small(wf_searcher *a)
{
    WF_TRY(search_layers(a, LAST_SMALL));
    return is_done(a) ? WEFT_OK : dive(a, MOST_SEEN_LAST);
}

weft_status wf_search(wf_searcher *a)
{
    int64_t ops = a->x.p * a->x.len, moves = wf_least(MOST_MOVES, MOVE_WORK / ops);
    int most = most_width(a), width = FIRST_WIDTH, is_small = ops <= SMALL;
    try_serial(a);
    WF_TRY(try_kinds(a));
    try_lists(a);
    if (width <= most && !is_done(a)) WF_TRY(search_layers(a, width));
    if (width <= most && !is_done(a)) WF_TRY(dive(a, MOST_SEEN));
    if (is_small && !is_done(a)) WF_TRY(search_layers(a, SMALL_WIDTH));
    if (moves >= 100 && !is_done(a)) WF_TRY(make_moves(a, moves));
    if (is_small && !is_done(a)) return search_small(a);
    for (; width < most / 1.5 && !is_done(a); width *= 4)
        WF_TRY(search_layers(a, (int)wf_least(4 * width, most)));
    return WEFT_OK;
}
