/* SPDX-License-Identifier: Apache-2.0 */
/* Making and simulating the schedule that the flags of `weft schedule` describe. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "cmd/schedule.h"

enum {
    MOST_DRAWN_RANKS = 128, /* more rows than anyone reads; --ascii draws them anyway */
    MOST_DRAWN_OPS = 1 << 20,
    MOST_FORWARDS = 1 << 26
};

/* ---- making and reading --------------------------------------------------------- */

static const char *kind_at(const void *ctx, int i)
{
    (void)ctx;
    return weft_schedule_kind_name(weft_schedule_kind_at(i));
}

static weft_status require_kind(const char *kind)
{
    if (weft_schedule_kind_find(kind)) return WEFT_OK;
    const char *near = wf_nearest(kind, weft_schedule_kind_count(), kind_at, NULL);
    return WF_FAIL(WEFT_E_INVALID,
                   "there is no schedule '%.40s'%s%s%s weft schedule list shows all",
                   kind, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

/* Time and memory of a schedule are those of its ops, here some 100 ns and 13 bytes each. */
static weft_status check_size(const wf_schedule_args *a, weft_placement_kind placement)
{
    weft_schedule_options plain = {.group = a->group, .placement = placement};
    weft_schedule shape;

    WF_TRY(weft_schedule_shape(a->kind, a->p, a->m, a->v, &plain, &shape));
    int stages = weft_schedule_stages(&shape);
    if ((int64_t)stages * a->m <= MOST_FORWARDS) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID,
        "-m %d: %d stages of so many micro-batches are %lld forwards, and this "
        "command takes at most %d (2^26: some 2 GB and 20 s); -m %d is the "
        "most",
        a->m, stages, (long long)stages * a->m, MOST_FORWARDS, MOST_FORWARDS / stages);
}

/* What the search of `optimal` would not look at, though the result depends on it. */
static weft_status check_optimal(const wf_schedule_args *a)
{
    int has_bytes = a->stage_free_i || a->stage_free_w;
    if (a->overlap_cost || (a->overlap && !strcmp(a->overlap, "atomic")))
        return WF_FAIL(
            WEFT_E_INVALID,
            "--%s %s: optimal makes no pairs of ops; --overlap serial is all "
            "it knows, dualpipev has pairs",
            a->overlap_cost ? "overlap-cost" : "overlap",
            a->overlap_cost ? a->overlap_cost : a->overlap);
    if (a->mem_limit && !has_bytes && wf_schedule_has_bytes(a))
        return WF_FAIL(WEFT_E_INVALID,
                       "--mem-limit %s: optimal keeps a limit in bytes of what I and W "
                       "free; give --stage-free-i or --stage-free-w",
                       a->mem_limit);
    return WEFT_OK;
}

/* A schedule for the times of each stage, and what no schedule can beat. */
static weft_status make_optimal(const wf_schedule_args *a, weft_schedule_options *o,
                                weft_schedule *s, double *bound)
{
    weft_schedule shape;
    weft_schedule_options plain = {.placement = o->placement};
    weft_schedule_lower_bound least = {.makespan = 0};
    wf_schedule_stages lists;
    WF_TRY(check_optimal(a));
    WF_TRY(weft_schedule_shape(a->kind, a->p, a->m, a->v, &plain, &shape));
    WF_TRY(wf_schedule_stages_read(a, &shape, o, &lists));
    weft_status st = weft_schedule_optimal(a->p, a->m, a->v, o, s, &least);
    if (st == WEFT_OK) *bound = least.makespan / lists.parts;
    wf_schedule_stages_clear(&lists);
    return st;
}

weft_status wf_schedule_make(const wf_schedule_args *a, const wf_args *args,
                             weft_schedule *s, double *bound)
{
    weft_schedule_options options = {.group = a->group};
    weft_link_tier *tier = NULL;
    WF_TRY(require_kind(a->kind));
    if (!wf_args_given(args, "p") || !wf_args_given(args, "m"))
        return WF_FAIL(WEFT_E_INVALID, "%s needs -p (ranks) and -m (micro-batches)",
                       a->kind);
    weft_placement_kind own =
        weft_schedule_kind_placement(weft_schedule_kind_find(a->kind), a->v);
    WF_TRY(wf_schedule_placement(a, own, &options.placement));
    WF_TRY(check_size(a, options.placement));
    if (!strcmp(a->kind, "optimal")) return make_optimal(a, &options, s, bound);
    if (a->mem_limit && !wf_schedule_has_bytes(a))
        WF_TRY(wf_num_f64("--mem-limit", a->mem_limit, WF_PLAIN, &options.mem_limit));
    if (!strcmp(a->kind, "zb-auto")) {
        if (a->mem_limit && wf_schedule_has_bytes(a))
            return WF_FAIL(
                WEFT_E_INVALID,
                "--mem-limit %s: zb-auto is searched for a limit in forwards, "
                "without bytes beside it; optimal takes bytes",
                a->mem_limit);
        double parts = options.placement == WEFT_PLACE_V ? 2 : 1;
        WF_TRY(wf_schedule_times_read(a, parts, &options, &tier));
    }
    weft_status made = weft_schedule_make(a->kind, a->p, a->m, a->v, &options, s);
    wf_free(tier);
    WF_TRY(made);
    if (!wf_schedule_says_placement(a) || s->placement == options.placement)
        return WEFT_OK;
    weft_status st = WF_FAIL(WEFT_E_INVALID, "--placement %s: %s has its own, %s",
                             a->placement, a->kind, wf_placement_name(s->placement));
    weft_schedule_clear(s);
    return st;
}

/* ---- check and simulate --------------------------------------------------------- */

int wf_schedule_wants_picture(const wf_schedule_args *a, const weft_schedule *s)
{
    int steps = a->steps > 1 ? a->steps : 1;
    int small = s->p <= MOST_DRAWN_RANKS && s->first[s->p] <= MOST_DRAWN_OPS / steps;
    if (a->svg || a->trace) return 1;
    return !a->json && !a->summary && !a->ops && (small || a->ascii);
}

static void shrink_held(weft_sim_held *held, int p, double parts)
{
    for (int k = 0; held && k < p; k++)
        held[k].at /= parts;
}

/* Back from the time of parts to that of full stages. */
static void shrink(wf_schedule_result *r, double parts)
{
    weft_eval *e = &r->sim.eval;
    e->makespan /= parts;
    e->span /= parts;
    e->ideal /= parts;
    for (int k = 0; k < r->s->p; k++) {
        e->busy[k] /= parts;
        e->idle[k] /= parts;
    }
    r->sim.step_time /= parts;
    for (int k = 0; k < r->sim.steps; k++)
        r->sim.step_end[k] /= parts;
    shrink_held(r->sim.peak, r->s->p, parts);
    shrink_held(r->sim.first_over, r->s->p, parts);
    for (int64_t i = 0; i < r->trace.n; i++) {
        r->trace.entry[i].start /= parts;
        r->trace.entry[i].end /= parts;
    }
    for (int64_t i = 0; i < r->trace.n_levels; i++)
        r->trace.level[i].at /= parts;
}

weft_status wf_schedule_simulate(const wf_schedule_args *a, int picture,
                                 wf_schedule_result *r)
{
    wf_schedule_costs c;
    wf_schedule_sim_options o;
    WF_TRY(wf_schedule_costs_read(a, r->s, &c));
    weft_status st = wf_schedule_sim_read(a, r->s, &c, &o);
    if (st == WEFT_OK)
        st = weft_simulate_steps(r->s, &c.costs, &o.o, picture ? &r->trace : NULL,
                                 &r->sim);
    snprintf(r->trace.unit, sizeof r->trace.unit, "%s", c.unit);
    r->overlap = c.costs.overlap;
    if (st == WEFT_OK && c.parts != 1) shrink(r, c.parts);
    wf_schedule_sim_clear(&o);
    wf_schedule_costs_clear(&c);
    return st;
}

void wf_schedule_result_clear(wf_schedule_result *r)
{
    weft_trace_clear(&r->trace);
    weft_sim_clear(&r->sim);
    weft_schedule_report_clear(&r->report);
}
