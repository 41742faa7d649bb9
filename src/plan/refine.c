/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the space leaves out, tried on the rows of the table: recompute on the first stages
 * alone, larger groups of micro-batches, and kinds that are searched for. Each that is tried
 * is simulated unless its bound says that it cannot be the better of the two; all else of
 * the row stays.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/rule.h"
#include "layout/split.h"
#include "plan/rank.h"
#include "plan/search.h"
#include "schedule/kind.h"

/* Does it take the place of the best so far? */
static weft_status try_layout(wf_search *s, const weft_layout *l, weft_plan_row *best)
{
    weft_plan_row pair[2] = {*best};
    weft_cost *c = &pair[1].cost;

    if (!wf_rules_hold(l, &s->q->arch, -1)) return WEFT_OK;
    if (s->o->tool >= 0 &&
        weft_emit_check((weft_tool)s->o->tool, l, &s->q->arch) != WEFT_OK)
        return WEFT_OK;
    pair[1].layout = *l;
    WF_TRY(wf_cost_evaluate(s->q, l, &s->pool.prices, NULL, NULL, c, NULL));
    WF_TRY(wf_search_tick(s));
    if (c->bound_s > best->cost.step_time_s * (1 + s->o->tie)) return WEFT_OK;
    WF_TRY(wf_simulate_step(&s->pool, s->q, l, c));
    WF_TRY(wf_hold(&s->pool, s->q, l, c));
    s->counts.refined++;
    if (c->fits && wf_winner(pair, 2, s->o->tie) == 1) *best = pair[1];
    return WEFT_OK;
}

/* ---- recompute --------------------------------------------------------------------------- */

static void put_prefix(weft_layout *l, const char *more, int k, const char *less,
                       int stages)
{
    snprintf(l->recompute, sizeof l->recompute, "%.12s*%d,%.12s*%d", more, k, less,
             stages - k);
}

/* `less` on the last stages, which hold fewest micro-batches: the most of them that fit, by
 * halves, since memory falls with the number of the others. */
static weft_status try_prefix(wf_search *s, const weft_layout *row, const char *less,
                              weft_plan_row *best)
{
    int stages = (int)wf_layout_stages(row), low = 0, high = stages;
    weft_layout l = *row;
    weft_cost c;

    while (high - low > 1) {
        int k = low + (high - low) / 2;
        put_prefix(&l, row->recompute, k, less, stages);
        WF_TRY(wf_value(&s->pool, s->q, &l, NULL, &c));
        WF_TRY(wf_search_tick(s));
        if (c.fits)
            high = k;
        else
            low = k;
    }
    if (high == stages) return WEFT_OK;
    put_prefix(&l, row->recompute, high, less, stages);
    return try_layout(s, &l, best);
}

static weft_status try_prefixes(wf_search *s, const weft_layout *row,
                                weft_plan_row *best)
{
    if (wf_is_fixed(&s->space, WEFT_DIM_RECOMPUTE)) return WEFT_OK;
    for (int i = 0; i < 2 && strcmp(row->recompute, wf_recompute_words[i]); i++)
        WF_TRY(try_prefix(s, row, wf_recompute_words[i], best));
    return WEFT_OK;
}

/* ---- groups ------------------------------------------------------------------------------ */

/* Equal groups of several times p: fewer turns from chunk to chunk. */
static weft_status try_groups(wf_search *s, const weft_layout *row, weft_plan_row *best)
{
    int64_t m = weft_layout_n_micro(row), times = m / row->pp;
    weft_layout l = *row;

    if (wf_is_fixed(&s->space, WEFT_DIM_GROUP)) return WEFT_OK;
    if (!weft_schedule_kind_find(row->schedule)->least_group) return WEFT_OK;
    for (int64_t n = 2; m % row->pp == 0 && n <= times; n++) {
        if (times % n) continue;
        l.group = (int32_t)(n * row->pp);
        WF_TRY(try_layout(s, &l, best));
    }
    return WEFT_OK;
}

/* ---- searched kinds ---------------------------------------------------------------------- */

static weft_status try_kind(wf_search *s, weft_layout l, weft_plan_row *best)
{
    static const char *const split[] = {"even", "balanced"};
    int fixed = wf_is_fixed(&s->space, WEFT_DIM_STAGE_LAYERS);

    for (int i = 0; i < (fixed ? 1 : 2); i++) {
        snprintf(l.stage_layers, sizeof l.stage_layers, "%s",
                 fixed ? s->o->given.stage_layers : split[i]);
        if (!wf_rules_hold(&l, &s->q->arch, wf_rule_index("pp-layers"))) continue;
        weft_layout_settle_stages(&l, &s->q->arch);
        WF_TRY(try_layout(s, &l, best));
    }
    return WEFT_OK;
}

static weft_status try_kinds(wf_search *s, const weft_layout *row, weft_plan_row *best)
{
    if (wf_is_fixed(&s->space, WEFT_DIM_SCHEDULE)) return WEFT_OK;
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        weft_layout l = *row;
        if (!k->searched) continue;
        snprintf(l.schedule, sizeof l.schedule, "%s", weft_schedule_kind_name(k));
        if (!strpbrk(l.recompute, ",*") && !wf_is_fixed(&s->space, WEFT_DIM_VPP)) {
            l.vpp = 1;
            WF_TRY(try_kind(s, l, best));
            l.vpp = 2;
        }
        if (row->group == 0) WF_TRY(try_kind(s, l, best));
    }
    return WEFT_OK;
}

/* ---- the rows ---------------------------------------------------------------------------- */

weft_status wf_refine_rows(wf_search *s, weft_plan_row *row, int n)
{
    if (s->o->space_only || s->q->options.achieved_flops_per_s > 0) return WEFT_OK;
    for (int i = 0; i < n; i++) {
        weft_layout found = row[i].layout;
        if (found.pp == 1) continue;
        WF_TRY(try_prefixes(s, &found, &row[i]));
        WF_TRY(try_groups(s, &found, &row[i]));
        WF_TRY(try_kinds(s, &found, &row[i]));
    }
    return WEFT_OK;
}
