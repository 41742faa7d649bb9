/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimal: a schedule for given times of F, I and W on every stage, a latency of
 * each link, a memory limit on every rank and a placement (single, loop or v), beside a lower bound of its
 * time (weft_schedule_bound(); the proof is in optimal-bound.c).
 *
 *     p = 3, m = 4, tf = ti = tw = 1, twice as long on the last stage
 *     (F as digits, I as a b c, W as A B C; 26 is the least possible)
 *
 *     0 1 2 . . . . a A 3 . b B . . c C . . . . d D . . .
 *     . 0 1 . . . a 2 . . b A 3 . c B . . . . d C D . . .
 *     . . 0 - a - 1 - b - 2 - c - A - 3 - d - B - C - D -
 *
 * Of these sources the best is taken:
 *
 *   kinds    every synchronous kind of the same placement that fits the memory, its B's
 *            split: so no fixed kind is ever better
 *   lists    a list scheduler (optimal-list.c) under each of a set of rules: how deep the
 *            forwards run ahead, which of two ops that are ready goes first, and when a W
 *            fills a wait
 *   layers   of smaller problems: partial schedules that could become the shortest, op
 *            by op (optimal-beam.c). Of small ones that is mostly all there are, and then
 *            the schedule is proved to be a shortest one
 *   depth    the same partial schedules depth first (optimal-dive.c): what it finds lowers
 *            the target
 *   moves    on the critical path of the best of these (optimal-improve.c)
 *   layers   wider, below what was found; up to 144 ops then depth first again, mostly to
 *            the end
 *
 * It ends where the time is that of the bound. All effort is counted in ops that are
 * looked at, not in seconds, so that the same input gives the same schedule. Layers are
 * searched up to about p = 8, m = 12, v = 2. Up to some ten thousand ops (p = 16, m = 64
 * has 3072) there are thousands of moves; at a million the kinds and a few lists are what
 * is left, and above 2^22 (2^28/p from 64 ranks on: the scheduler looks at every rank for
 * each op) the kinds alone.
 *
 * 2m(p-1) messages, 2m(pv-1) on a loop, 2mv(p-1) on a V; no closed forms.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/eval.h"
#include "schedule/ir.h"
#include "schedule/kinds/optimal-search.h"

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
    WF_TRY(wf_check_links(q, &(weft_costs){.n_tiers = opt->n_tiers,
                                           .tier = opt->tier,
                                           .message_bytes = opt->message_bytes}));
    return check_room(q, opt);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return WF_LANES * (int64_t)q->m * q->v;
}

static void write_ops(const wf_searcher *a)
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

static weft_status init(wf_searcher *a, const weft_schedule_options *opt)
{
    WF_TRY(wf_problem_init(a->s, opt, &a->x));
    WF_TRY(WF_ALLOC(a->x.p * a->x.len, &a->order));
    WF_TRY(WF_ALLOC(a->x.p * a->x.len, &a->best));
    WF_TRY(wf_clock_init(&a->x, &a->clock));
    WF_TRY(wf_window_init(&a->x, &a->window));
    return wf_problem_bound(&a->x, &a->window, &a->bound);
}

static weft_status solve(const weft_schedule *s, const weft_schedule_options *opt,
                         weft_schedule_lower_bound *bound)
{
    wf_searcher a = {.s = s, .makespan = INFINITY};
    weft_status st = init(&a, opt);
    if (st == WEFT_OK) st = wf_search(&a);
    if (st == WEFT_OK) {
        write_ops(&a);
        *bound = a.bound;
    }
    wf_free(a.order);
    wf_free(a.best);
    wf_clock_clear(&a.clock);
    wf_window_clear(&a.window);
    wf_problem_clear(&a.x);
    return st;
}

static const weft_schedule_options none = {.group = 0};

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    weft_schedule_lower_bound bound;
    return solve(s, opt ? opt : &none, &bound);
}

const weft_schedule_kind wf_kind_optimal = {
    .name = "optimal",
    .summary = "found for unequal stages, latency and --mem-limit; --placement single, "
               "loop or v",
    .source = "weft; its time is printed beside a proved lower bound",
    .splits = 1,
    .searched = 1,
    .places = 1 << WEFT_PLACE_SINGLE | 1 << WEFT_PLACE_LOOP | 1 << WEFT_PLACE_V,
    .applicable = applicable,
    .count = count,
    .generate = generate,
};

weft_status weft_schedule_bound(int p, int m, int v, const weft_schedule_options *opt,
                                weft_schedule_lower_bound *out)
{
    weft_schedule q;
    wf_problem x;
    wf_window w = {0};
    if (!opt) opt = &none;
    WF_TRY(weft_schedule_shape(wf_kind_optimal.name, p, m, v, opt, &q));
    WF_TRY(wf_problem_init(&q, opt, &x));
    weft_status st = wf_window_init(&x, &w);
    if (st == WEFT_OK) st = wf_problem_bound(&x, &w, out);
    wf_window_clear(&w);
    wf_problem_clear(&x);
    return st;
}

weft_status weft_schedule_optimal(int p, int m, int v, const weft_schedule_options *opt,
                                  weft_schedule *out, weft_schedule_lower_bound *bound)
{
    weft_schedule q, s;
    int64_t *n = NULL;
    if (!opt) opt = &none;
    WF_TRY(weft_schedule_shape(wf_kind_optimal.name, p, m, v, opt, &q));
    WF_TRY(WF_ALLOC(q.p, &n));
    for (int r = 0; r < q.p; r++)
        n[r] = count(&q, r);
    weft_status st = wf_schedule_alloc(&q, n, &s);
    wf_free(n);
    if (st != WEFT_OK) return st;
    st = solve(&s, opt, bound);
    if (st == WEFT_OK)
        *out = s;
    else
        weft_schedule_clear(&s);
    return st;
}
