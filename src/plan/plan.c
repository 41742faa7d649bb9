/* SPDX-License-Identifier: Apache-2.0 */
/* All sets of degrees, the promising ones first, and what is always shown beside them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "layout/rule.h"
#include "plan/rank.h"
#include "plan/search.h"

static const char *const dim_names[WEFT_N_DIMS] = {
    "tp",          "cp",       "pp",        "dp",   "ep",        "vpp",
    "micro_batch", "schedule", "zero",      "sp",   "recompute", "stage_layers",
    "order",       "cp_comm",  "replicate", "group"};

const char *weft_dim_name(weft_dim dim)
{
    return (unsigned)dim < WEFT_N_DIMS ? dim_names[dim] : NULL;
}

void weft_plan_defaults(weft_plan_options *o)
{
    memset(o, 0, sizeof *o);
    weft_layout_defaults(&o->given);
    o->top = 10;
    o->tie = 0.01;
    o->tool = -1;
}

/* ---- which degrees first ------------------------------------------------------------ */

typedef struct promise {
    wf_degrees d;
    double
        step_s; /* of a plain layout of these degrees: a guess at how good they are */
} promise;

/* A plain layout of the degrees; what a flag fixed stays as it is. */
static weft_layout plain(const wf_search *s, const wf_degrees *d)
{
    weft_layout l = s->o->given;
    l.tp = d->tp;
    l.cp = d->cp;
    l.pp = d->pp;
    l.dp = d->dp;
    l.ep = d->ep;
    if (!wf_is_fixed(&s->space, WEFT_DIM_REPLICATE)) l.replicate = 1;
    if (!wf_is_fixed(&s->space, WEFT_DIM_GROUP)) l.group = 0;
    if (!wf_is_fixed(&s->space, WEFT_DIM_SP)) l.sp = d->tp > 1;
    if (!wf_is_fixed(&s->space, WEFT_DIM_ORDER))
        memcpy(l.order, "tp,cp,pp,dp", sizeof "tp,cp,pp,dp");
    if (!wf_is_fixed(&s->space, WEFT_DIM_CP_COMM))
        memcpy(l.cp_comm, "ring", sizeof "ring");
    return l;
}

/* The i-th of some promising ones; 0 when there are no more. */
static int plain_variant(const wf_search *s, int i, weft_layout *l)
{
    static const char *const kind[] = {"1f1b", "interleaved", "zb-v"};
    static const char *const recompute[] = {"none", "selective", "full"};
    int k = i % 3, r = i / 3 % 3, z = i / 9 % 3, b = i / 27;
    int64_t chunks = s->q->arch.layers / l->pp;

    if (i >= 3 * 3 * 3 * 3) return 0;
    if (!wf_is_fixed(&s->space, WEFT_DIM_SCHEDULE))
        snprintf(l->schedule, sizeof l->schedule, "%s", kind[l->pp == 1 ? 0 : k]);
    if (!wf_is_fixed(&s->space, WEFT_DIM_VPP))
        l->vpp = l->pp == 1 || k == 0 ? 1
                 : k == 2             ? 2
                 : chunks < 4         ? (int32_t)chunks
                                      : 4;
    if (!wf_is_fixed(&s->space, WEFT_DIM_RECOMPUTE))
        snprintf(l->recompute, sizeof l->recompute, "%s", recompute[r]);
    if (!wf_is_fixed(&s->space, WEFT_DIM_ZERO)) l->zero = l->dp > 1 ? z + 1 : 0;
    if (!wf_is_fixed(&s->space, WEFT_DIM_MICRO_BATCH)) l->micro_batch = (int64_t)1 << b;
    if (!wf_is_fixed(&s->space, WEFT_DIM_STAGE_LAYERS)) {
        snprintf(l->stage_layers, sizeof l->stage_layers, "balanced");
        if (wf_rules_hold(l, &s->q->arch, wf_rule_index("pp-layers")))
            weft_layout_settle_stages(l, &s->q->arch);
    }
    return 1;
}

/* The simulated step of the plain one that promises most: the degrees have one as fast.
 * HUGE_VAL when none of them fits. */
static weft_status guess(wf_search *s, const wf_degrees *d, double *out)
{
    weft_layout l = plain(s, d), best = l;
    weft_cost c, least = {.step_time_s = HUGE_VAL};

    *out = HUGE_VAL;
    for (int i = 0; plain_variant(s, i, &l); i++) {
        if (l.pp == 1 && i % 3) continue;
        if (l.dp == 1 && i / 9 % 3) continue;
        if (!wf_rules_hold(&l, &s->q->arch, -1)) continue;
        WF_TRY(wf_value(&s->pool, s->q, &l, NULL, &c));
        WF_TRY(wf_search_tick(s));
        if (!c.fits || c.step_time_s >= least.step_time_s) continue;
        if (s->o->tool >= 0 &&
            weft_emit_check((weft_tool)s->o->tool, &l, &s->q->arch) != WEFT_OK)
            continue;
        least = c;
        best = l;
    }
    if (least.step_time_s == HUGE_VAL) return WEFT_OK;
    WF_TRY(wf_simulate_step(&s->pool, s->q, &best, &least));
    WF_TRY(wf_hold(&s->pool, s->q, &best, &least));
    if (least.fits) *out = least.step_time_s;
    return WEFT_OK;
}

static int most_promising(const void *a, const void *b)
{
    const promise *x = a, *y = b;
    if (x->step_s != y->step_s) return x->step_s < y->step_s ? -1 : 1;
    return memcmp(&x->d, &y->d, sizeof x->d);
}

/* ---- the table ----------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Degrees whose best step is above this cannot come into the table. */
static weft_status cutoff_of(const weft_plan_options *o, const weft_plan_row *row,
                             int n, double *out)
{
    double *t;
    *out = HUGE_VAL;
    if (o->every || n < o->top) return WEFT_OK;
    WF_TRY(WF_ALLOC(n, &t));
    for (int i = 0; i < n; i++)
        t[i] = row[i].cost.step_time_s;
    qsort(t, (size_t)n, sizeof *t, by_time);
    *out = t[o->top - 1] * (1 + o->tie);
    wf_free(t);
    return WEFT_OK;
}

static weft_status fill_table(wf_search *s, const promise *p, int64_t n, weft_plan *out)
{
    double tie = 1 + s->o->tie;
    /* as many degrees as the table has rows are known to be as fast as this */
    double known =
        n >= s->o->top && !s->o->every ? p[s->o->top - 1].step_s * tie * tie : HUGE_VAL;

    for (int64_t i = 0; i < n; i++) {
        double cutoff;
        int found;
        WF_TRY(cutoff_of(s->o, out->row, out->n_rows, &cutoff));
        if (known < cutoff) cutoff = known;
        WF_TRY(wf_search_degrees(s, &p[i].d, cutoff, &out->row[out->n_rows], &found));
        out->n_rows += found;
    }
    wf_rank_rows(out->row, out->n_rows, s->o->tie);
    if (out->n_rows > s->o->top) out->n_rows = s->o->top;
    WF_TRY(wf_refine_rows(s, out->row, out->n_rows));
    wf_rank_rows(out->row, out->n_rows, s->o->tie);
    return WEFT_OK;
}

static weft_status search_all(wf_search *s, weft_plan *out)
{
    wf_degrees *d = NULL;
    promise *p = NULL;
    int64_t n;

    WF_TRY(wf_space_degrees(&s->space, &d, &n));
    weft_status st = WF_ALLOC(n, &p);
    if (st == WEFT_OK) st = WF_ALLOC(n, &out->row);
    if (st == WEFT_OK) {
        for (int64_t i = 0; i < n && st == WEFT_OK; i++) {
            p[i].d = d[i];
            st = guess(s, &d[i], &p[i].step_s);
        }
        if (n) qsort(p, (size_t)n, sizeof *p, most_promising);
        if (st == WEFT_OK) st = fill_table(s, p, n, out);
    }
    wf_free(p);
    wf_free(d);
    return st;
}

/* ---- the whole ------------------------------------------------------------------------ */

static weft_status check_given(const weft_cost_model *q, const weft_plan_options *o)
{
    if (o->top < 1)
        return WF_FAIL(WEFT_E_INVALID, "--top %d: at least one row", o->top);
    if (q->options.exact_memory)
        return WF_FAIL(WEFT_E_INVALID,
                       "--exact-memory is of one layout, as weft train runs it: weft "
                       "report takes it");
    if (!(o->tie >= 0 && o->tie < 1))
        return WF_FAIL(WEFT_E_INVALID, "--tie %g is outside 0 .. 1", o->tie);
    if (o->given.global_batch < 1)
        return WF_FAIL(WEFT_E_INVALID, "--global-batch is missing");
    if (o->given.seq < 1) return WF_FAIL(WEFT_E_INVALID, "--seq is missing");
    return WEFT_OK;
}

static weft_status make(wf_search *s, weft_plan *out)
{
    WF_TRY(check_given(s->q, s->o));
    WF_TRY(search_all(s, out));
    if (s->o->front) WF_TRY(wf_search_front(s, &out->front, &out->n_front));
    out->counts = s->counts;
    wf_space_report(&s->space, out);
    if (!out->n_rows) wf_space_why_none(&s->space, out);
    return wf_plan_references(s->q, s->o, out);
}

weft_status weft_plan_make(const weft_cost_model *q, const weft_plan_options *o,
                           weft_plan *out)
{
    weft_plan p;
    wf_search *s;

    memset(&p, 0, sizeof p);
    WF_TRY(WF_ALLOC(1, &s));
    wf_search_init(s, q, o);
    weft_status st = make(s, &p);
    wf_search_clear(s);
    wf_free(s);
    if (st == WEFT_OK)
        *out = p;
    else
        weft_plan_clear(&p);
    return st;
}

void weft_plan_clear(weft_plan *p)
{
    wf_free(p->row);
    wf_free(p->front);
    memset(p, 0, sizeof *p);
}
