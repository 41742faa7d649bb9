/* SPDX-License-Identifier: Apache-2.0 */
/* Data parallelism alone: what a plan is always compared with, and whether it is enough. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "layout/rule.h"
#include "plan/search.h"

static weft_plan_options data_parallel(const weft_cost_model *q,
                                       const weft_plan_options *o, int zero)
{
    weft_plan_options x = *o;
    x.given.tp = x.given.cp = x.given.pp = x.given.ep = x.given.replicate = 1;
    x.given.dp = weft_machine_ranks(&q->machine);
    x.given.zero = zero;
    x.given.group = 0;
    /* one stage: what is said of a pipeline has nothing to say */
    x.given.vpp = 1;
    snprintf(x.given.schedule, sizeof x.given.schedule, "1f1b");
    snprintf(x.given.placement, sizeof x.given.placement, "auto");
    snprintf(x.given.stage_layers, sizeof x.given.stage_layers, "even");
    x.fixed = 1u << WEFT_DIM_TP | 1u << WEFT_DIM_CP | 1u << WEFT_DIM_PP |
              1u << WEFT_DIM_DP | 1u << WEFT_DIM_EP | 1u << WEFT_DIM_ZERO |
              1u << WEFT_DIM_REPLICATE | 1u << WEFT_DIM_VPP | 1u << WEFT_DIM_SCHEDULE |
              1u << WEFT_DIM_STAGE_LAYERS;
    x.tool = -1;
    return x;
}

/* One sequence a micro-batch, on one stage. */
static weft_layout least(const weft_plan_options *x, const char *recompute)
{
    weft_layout l = x->given;
    l.vpp = 1;
    l.micro_batch = 1;
    l.sp = 0;
    snprintf(l.schedule, sizeof l.schedule, "1f1b");
    snprintf(l.placement, sizeof l.placement, "auto");
    snprintf(l.stage_layers, sizeof l.stage_layers, "even");
    snprintf(l.order, sizeof l.order, "tp,cp,pp,dp");
    snprintf(l.recompute, sizeof l.recompute, "%s", recompute);
    return l;
}

static void say_why_not(const weft_cost_model *q, const weft_plan_options *x,
                        weft_plan_row *out)
{
    weft_layout l = least(x, "full");
    weft_cost c;

    out->layout = l;
    if (weft_layout_plan_check(&l, &q->arch) != WEFT_OK ||
        weft_plan_price(q, &l, &c) != WEFT_OK) {
        snprintf(out->why_not, sizeof out->why_not, "%s", weft_status_message());
        return;
    }
    out->cost = c;
    snprintf(
        out->why_not, sizeof out->why_not,
        "needs %.1f GB of a rank's %.1f GB, with one sequence a micro-batch and full "
        "recompute",
        c.memory.total / 1e9, q->machine.memory_bytes / 1e9);
}

static weft_status best(const weft_cost_model *q, const weft_plan_options *x,
                        weft_plan_row *out, int *found)
{
    wf_degrees d = {1, 1, 1, x->given.dp, 1};
    wf_search *s;

    WF_TRY(WF_ALLOC(1, &s));
    wf_search_init(s, q, x);
    weft_status st = wf_search_degrees(s, &d, HUGE_VAL, out, found);
    wf_search_clear(s);
    wf_free(s);
    return st;
}

static weft_status reference(const weft_cost_model *q, const weft_plan_options *o,
                             int zero, weft_plan_row *out)
{
    weft_plan_options x = data_parallel(q, o, zero);
    int found = 0;
    weft_status st = best(q, &x, out, &found);

    if (st == WEFT_OK && !found) say_why_not(q, &x, out);
    return st;
}

/* What the lessons add one after the other, before any split of the model. */
static weft_status ladder(const weft_cost_model *q, const weft_plan_options *o,
                          weft_plan_row *out)
{
    static const char *const recompute[] = {"none", "selective", "full"};

    for (int zero = 0; zero <= 3; zero++)
        for (int r = 0; r < 3; r++) {
            weft_plan_options x = data_parallel(q, o, zero);
            weft_layout l = least(&x, recompute[r]);
            weft_cost c;
            if (!wf_rules_hold(&l, &q->arch, -1)) continue;
            if (weft_plan_price(q, &l, &c) != WEFT_OK || !c.fits) continue;
            out->layout = l;
            out->cost = c;
            x.given = l; /* larger micro-batches may be faster */
            x.fixed |= 1u << WEFT_DIM_RECOMPUTE;
            int found;
            return best(q, &x, out, &found);
        }
    snprintf(out->why_not, sizeof out->why_not, "the model must be split");
    return WEFT_OK;
}

weft_status wf_plan_references(const weft_cost_model *q, const weft_plan_options *o,
                               weft_plan *out)
{
    WF_TRY(reference(q, o, 0, &out->plain_dp));
    WF_TRY(reference(q, o, 3, &out->zero3));
    return ladder(q, o, &out->ladder);
}
