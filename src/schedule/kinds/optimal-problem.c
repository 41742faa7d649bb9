/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `optimal` as a problem: times, memory and neighbours of each lane. */
#include <math.h>

#include "base/alloc.h"
#include "schedule/eval.h"
#include "schedule/ir.h"
#include "schedule/kinds/optimal.h"

static weft_status alloc_problem(wf_problem *x)
{
    int64_t lanes = (int64_t)WF_LANES * x->n;
    WF_TRY(WF_ALLOC(x->n, &x->rank));
    WF_TRY(WF_ALLOC(x->n, &x->stage));
    WF_TRY(WF_ALLOC(lanes, &x->input));
    WF_TRY(WF_ALLOC(lanes, &x->dur));
    WF_TRY(WF_ALLOC(lanes, &x->delay));
    WF_TRY(WF_ALLOC(lanes, &x->hold));
    return WF_ALLOC(x->p, &x->limit);
}

static void place(const weft_schedule *q, wf_problem *x)
{
    for (int r = 0; r < x->p; r++)
        for (int k = 0; k < x->v; k++) {
            int s = weft_schedule_stage(q, r, k);
            x->stage[(int64_t)r * x->v + k] = s;
            x->rank[s] = r;
        }
}

static void set_input(wf_problem *x, int stage, int part, int from_stage, int from_part)
{
    int lane = wf_lane(stage, part);
    x->input[lane] = wf_lane(from_stage, from_part);
    int from = x->rank[from_stage], to = x->rank[stage];
    wf_wire w = wf_wire_between(&x->links, from, to);
    x->delay[lane] = from == to ? 0 : w.latency + w.gap;
}

static void link_stages(wf_problem *x)
{
    int last = x->n - 1;
    x->input[0] = -1;
    for (int s = 0; s < x->n; s++) {
        if (s) set_input(x, s, WF_LANE_F, s - 1, WF_LANE_F);
        set_input(x, s, WF_LANE_I, s == last ? s : s + 1,
                  s == last ? WF_LANE_F : WF_LANE_I);
        set_input(x, s, WF_LANE_W, s, WF_LANE_I);
    }
}

/* An item of the list; without one, `whole` of a full stage. */
static double of_stage(const wf_problem *x, const double *list, int stage, double whole)
{
    return list ? list[stage] : whole / x->v;
}

static void set_times(const weft_schedule_options *opt, wf_problem *x)
{
    int given = opt->tf > 0 || opt->ti > 0 || opt->tw > 0;
    for (int s = 0; s < x->n; s++) {
        double *t = &x->dur[wf_lane(s, 0)];
        t[WF_LANE_F] = of_stage(x, opt->stage_f, s, given ? opt->tf : 1);
        t[WF_LANE_I] = of_stage(x, opt->stage_i, s, given ? opt->ti : 1);
        t[WF_LANE_W] = of_stage(x, opt->stage_w, s, given ? opt->tw : 1);
    }
}

/* Halves of a chunk's forward count 1 where nothing else is said: sums stay exact. */
static void set_memory(const weft_schedule_options *opt, wf_problem *x)
{
    int own_unit = opt->stage_free_i || opt->stage_free_w;
    for (int s = 0; s < x->n; s++) {
        double i = own_unit ? 0 : 1, w = i;
        if (opt->stage_free_i) i = opt->stage_free_i[s];
        if (opt->stage_free_w) w = opt->stage_free_w[s];
        double *h = &x->hold[wf_lane(s, 0)];
        h[WF_LANE_F] = i + w;
        h[WF_LANE_I] = -i;
        h[WF_LANE_W] = -w;
    }
    for (int r = 0; r < x->p; r++) {
        double limit = opt->rank_limit ? opt->rank_limit[r] : opt->mem_limit;
        x->limit[r] = limit > 0 ? limit * (own_unit ? 1 : 2 * x->v) : INFINITY;
    }
}

weft_status wf_problem_init(const weft_schedule *q, const weft_schedule_options *opt,
                            wf_problem *out)
{
    wf_problem x = {.p = q->p,
                    .m = q->m,
                    .v = q->v,
                    .n = q->p * q->v,
                    .len = (int64_t)WF_LANES * q->m * q->v,
                    .links = {.latency = opt->latency,
                              .n_tiers = opt->n_tiers,
                              .tier = opt->tier,
                              .message_bytes = opt->message_bytes}};
    weft_status st = alloc_problem(&x);
    if (st != WEFT_OK) {
        wf_problem_clear(&x);
        return st;
    }
    place(q, &x);
    link_stages(&x);
    set_times(opt, &x);
    set_memory(opt, &x);
    *out = x;
    return WEFT_OK;
}

void wf_problem_clear(wf_problem *x)
{
    wf_free(x->rank);
    wf_free(x->stage);
    wf_free(x->input);
    wf_free(x->dur);
    wf_free(x->delay);
    wf_free(x->hold);
    wf_free(x->limit);
    *x = (wf_problem){.p = 0};
}
