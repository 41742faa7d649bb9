/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimal: a schedule for given times of F, I and W on every stage, a latency, a memory
 * limit on every rank and a placement (single, loop or v), beside a lower bound of its
 * time (weft_schedule_bound(); the proof is in optimal-bound.c).
 *
 *     p = 3, m = 4, tf = ti = tw = 1, twice as long on the last stage
 *     (F as digits, I as a b c, W as A B C; 26 is the least possible)
 *
 *     0 1 2 . . . . a A 3 . b B . . c C . . . . d D . . .
 *     . 0 1 . . . a 2 . . b A 3 . c B . . . . d C D . . .
 *     . . 0 - a - 1 - b - 2 - c - A - 3 - d - B - C - D -
 *
 * Three sources, of which the best is taken:
 *
 *   kinds    every synchronous kind of the same placement that fits the memory, its B's
 *            split: so no fixed kind is ever better
 *   lists    a list scheduler (optimal-list.c) under each of a set of rules: how deep the
 *            forwards run ahead, which of two ops that are ready goes first, and when a W
 *            fills a wait
 *   moves    on the critical path of the best of these (optimal-improve.c)
 *
 * It ends where the time is that of the bound. All effort is counted in ops that are
 * looked at, not in seconds, so that the same input gives the same schedule. Up to some
 * ten thousand ops (p = 16, m = 64 has 3072) there are thousands of moves; at a million
 * the kinds and a few lists are what is left, and above 2^22 (2^28/p from
 * 64 ranks on: the scheduler looks at every rank for each op) the kinds alone.
 *
 * 2m(p-1) messages, 2m(pv-1) on a loop, 2mv(p-1) on a V; no closed forms.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal.h"

/* ---- what it can do ------------------------------------------------------------- */

static weft_status check_list(const char *flag, const double *list, int n)
{
    for (int i = 0; list && i < n; i++)
        if (!(list[i] >= 0 && list[i] < 1e300))
            return WF_FAIL(WEFT_E_INVALID, "%s: item %d is %g, not 0 or more", flag,
                           i + 1, list[i]);
    return WEFT_OK;
}

static weft_status check_lists(const weft_schedule *q, const weft_schedule_options *opt)
{
    int n = q->p * q->v;
    if ((opt->stage_f || opt->stage_i || opt->stage_w || opt->stage_free_i ||
         opt->stage_free_w) &&
        opt->n_stages != n)
        return WF_FAIL(WEFT_E_INVALID,
                       "%d stages have times, -p %d with %d chunks per rank has %d",
                       opt->n_stages, q->p, q->v, n);
    WF_TRY(check_list("--stage-tf", opt->stage_f, n));
    WF_TRY(check_list("--stage-ti", opt->stage_i, n));
    WF_TRY(check_list("--stage-tw", opt->stage_w, n));
    WF_TRY(check_list("--stage-free-i", opt->stage_free_i, n));
    WF_TRY(check_list("--stage-free-w", opt->stage_free_w, n));
    const double scalars[] = {opt->tf, opt->ti, opt->tw, opt->latency, opt->mem_limit};
    static const char *const flags[] = {"--tf", "--ti", "--tw", "--latency",
                                        "--mem-limit"};
    for (int i = 0; i < 5; i++)
        WF_TRY(check_list(flags[i], &scalars[i], 1));
    return check_list("--mem-limit", opt->rank_limit, q->p);
}

/* Room for one micro-batch on all stages of a rank. */
static weft_status check_room(const weft_schedule *q, const weft_schedule_options *opt)
{
    wf_problem x;
    weft_status st = WEFT_OK;
    WF_TRY(wf_problem_init(q, opt, &x));
    for (int r = 0; r < x.p && st == WEFT_OK; r++) {
        double need = 0;
        for (int k = 0; k < x.v; k++)
            need += x.hold[wf_lane(x.stage[(int64_t)r * x.v + k], WF_LANE_F)];
        if (need <= wf_most_held(&x, r)) continue;
        double unit = opt->stage_free_i || opt->stage_free_w ? 1 : 2 * x.v;
        st = WF_FAIL(WEFT_E_INVALID,
                     "--mem-limit %g: one micro-batch needs %g on rank %d, the least "
                     "limit there",
                     x.limit[r] / unit, need / unit, r);
    }
    wf_problem_clear(&x);
    return st;
}

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = opt->placement;
    switch (opt->placement) {
    case WEFT_PLACE_SINGLE:
        WF_TRY(wf_need_chunks(q, 1, "one stage per rank with --placement single"));
        break;
    case WEFT_PLACE_V:
        if (q->v % 2)
            return WF_FAIL(WEFT_E_INVALID,
                           "-v %d: a V comes back to its first rank, so -v is even; "
                           "-v %d is",
                           q->v, q->v + 1);
        break;
    case WEFT_PLACE_LOOP: break;
    default:
        return WF_FAIL(
            WEFT_E_INVALID, "--placement %s: optimal knows single, loop and v",
            weft_placement_name(opt->placement) ? weft_placement_name(opt->placement)
                                                : "?");
    }
    WF_TRY(check_lists(q, opt));
    return check_room(q, opt);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return WF_LANES * (int64_t)q->m * q->v;
}

/* ---- the search ----------------------------------------------------------------- */

enum {
    RULES = 5 * 3 * 2 * 2 * 2,
    MOST_LISTS = 4000,
    LIST_WORK = 1 << 20,   /* ops that lists may place                            */
    MOST_LISTED = 1 << 22, /* ops of a schedule beyond which there are none       */
    MOVE_WORK = 12000000,  /* ops that moves may time                             */
    MOST_MOVES = 300000,
    STARTS = 4, /* of their own, where there are so many moves: */
    LEAST_FRESH_MOVES = 40000
};

typedef struct searcher {
    const weft_schedule *s;
    const weft_schedule_options *opt;
    wf_problem x;
    wf_clock clock;
    int *order, *best; /* [p][len] */
    double makespan;   /* of best */
    weft_schedule_lower_bound bound;
} searcher;

static int is_done(const searcher *a)
{
    return a->makespan <= a->bound.makespan * (1 + 1e-12);
}

/* order is a candidate. */
static void offer(searcher *a, double makespan)
{
    if (!(makespan < a->makespan)) return;
    for (int r = 0; r < a->x.p; r++)
        if (!wf_order_fits(&a->x, r, a->order + r * a->x.len)) return;
    int *swap = a->best;
    a->best = a->order;
    a->order = swap;
    a->makespan = makespan;
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
static weft_schedule_options even(const searcher *a)
{
    weft_schedule_options o = {.latency = a->x.latency,
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

static weft_status try_kind(searcher *a, const weft_schedule_kind *k,
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
static weft_status try_searched(searcher *a, const weft_schedule_kind *k)
{
    weft_schedule_options told = even(a), own = told;
    own.mem_limit = 0;
    WF_TRY(try_kind(a, k, &own));
    return is_done(a) ? WEFT_OK : try_kind(a, k, &told);
}

static weft_status try_kinds(searcher *a)
{
    static const weft_schedule_options none = {.group = 0};
    for (int i = 0; i < wf_schedule_n_kinds && !is_done(a); i++) {
        const weft_schedule_kind *k = wf_schedule_kinds[i];
        int synchronous = !k->forward_only && !k->weight_copies;
        if (!synchronous || !strcmp(k->name, a->s->kind)) continue;
        WF_TRY(k->searched ? try_searched(a, k) : try_kind(a, k, &none));
    }
    return WEFT_OK;
}

/* Fills the micro-batches one after the other: fits wherever anything does. */
static void try_serial(searcher *a)
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

static void try_lists(searcher *a)
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
static weft_status start_afresh(searcher *a, int64_t moves)
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

static weft_status search(searcher *a)
{
    int64_t ops = a->x.p * a->x.len, moves = wf_least(MOST_MOVES, MOVE_WORK / ops);
    try_serial(a);
    WF_TRY(try_kinds(a));
    try_lists(a);
    if (is_done(a) || moves < 100) return WEFT_OK;
    WF_TRY(wf_order_improve(&a->x, moves, a->bound.makespan, a->best, &a->makespan));
    return moves < LEAST_FRESH_MOVES ? WEFT_OK : start_afresh(a, moves / STARTS);
}

static void write_ops(const searcher *a)
{
    const wf_problem *x = &a->x;
    memset(a->clock.count, 0, (size_t)(WF_LANES * x->n) * sizeof *a->clock.count);
    for (int r = 0; r < x->p; r++) {
        int chunk_of_stage = 0;
        weft_op *o = a->s->op + a->s->first[r];
        for (int64_t i = 0; i < x->len; i++) {
            static const int kind[] = {WEFT_OP_F, WEFT_OP_I, WEFT_OP_W};
            int lane = a->best[r * x->len + i];
            for (chunk_of_stage = 0;
                 x->stage[(int64_t)r * x->v + chunk_of_stage] != lane / WF_LANES;)
                chunk_of_stage++;
            o = wf_put(o, kind[lane % WF_LANES], a->clock.count[lane]++,
                       chunk_of_stage);
        }
    }
}

static weft_status init(searcher *a)
{
    WF_TRY(wf_problem_init(a->s, a->opt, &a->x));
    WF_TRY(WF_ALLOC(a->x.p * a->x.len, &a->order));
    WF_TRY(WF_ALLOC(a->x.p * a->x.len, &a->best));
    WF_TRY(wf_clock_init(&a->x, &a->clock));
    return wf_problem_bound(&a->x, &a->bound);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    static const weft_schedule_options none = {.group = 0};
    searcher a = {.s = s, .opt = opt ? opt : &none, .makespan = INFINITY};
    weft_status st = init(&a);
    if (st == WEFT_OK) st = search(&a);
    if (st == WEFT_OK) write_ops(&a);
    wf_free(a.order);
    wf_free(a.best);
    wf_clock_clear(&a.clock);
    wf_problem_clear(&a.x);
    return st;
}

const weft_schedule_kind wf_kind_optimal = {
    .name = "optimal",
    .summary = "found for unequal stages, latency and --mem-limit; --placement single, "
               "loop or v",
    .source = "weft; its time is printed beside a proved lower bound",
    .searched = 1,
    .applicable = applicable,
    .count = count,
    .generate = generate,
};

weft_status weft_schedule_bound(int p, int m, int v, const weft_schedule_options *opt,
                                weft_schedule_lower_bound *out)
{
    static const weft_schedule_options none = {.group = 0};
    weft_schedule q;
    wf_problem x;
    if (!opt) opt = &none;
    WF_TRY(weft_schedule_shape(wf_kind_optimal.name, p, m, v, opt, &q));
    WF_TRY(wf_problem_init(&q, opt, &x));
    weft_status st = wf_problem_bound(&x, out);
    wf_problem_clear(&x);
    return st;
}
