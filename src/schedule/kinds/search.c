/* SPDX-License-Identifier: Apache-2.0 */
/* The best of several runs of squeeze.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/ir.h"
#include "schedule/kinds/squeeze.h"

static int better(const wf_score *a, const wf_score *b, double rounding)
{
    if (fabs(a->makespan - b->makespan) > rounding) return a->makespan < b->makespan;
    if (fabs(a->span - b->span) > rounding) return a->span < b->span;
    return a->memory < b->memory;
}

/* Sum over ranks of both peaks, freed at I and at W. */
static int64_t memory_of(const weft_schedule *s)
{
    int64_t sum = 0;
    for (int r = 0; r < s->p; r++) {
        int64_t at_i = 0, at_w = 0, most_i = 0, most_w = 0;
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            int kind = s->op[i].kind;
            at_i += kind == WEFT_OP_F ? 1 : -wf_is_backward(kind);
            at_w += kind == WEFT_OP_F ? 1 : -(kind == WEFT_OP_B || kind == WEFT_OP_W);
            most_i = wf_most(most_i, at_i);
            most_w = wf_most(most_w, at_w);
        }
        sum += most_i + most_w;
    }
    return sum;
}

static weft_status judge(const wf_search *x, const weft_schedule *s, const double *dur,
                         wf_score *out)
{
    weft_eval e;
    weft_costs costs = {.latency = x->judged_latency};
    if (x->links) costs = *x->links;
    costs.dur = dur;
    WF_TRY(weft_schedule_eval(s, &costs, NULL, NULL, &e));
    *out = (wf_score){e.makespan, e.span, memory_of(s)};
    weft_eval_clear(&e);
    return WEFT_OK;
}

/* Then the end of a run is what it is judged by. */
static int runs_as_judged(const wf_search *x)
{
    return !x->links && x->judged_latency == x->latency;
}

static weft_status durations(const wf_search *x, const weft_schedule *s, double **out)
{
    double *dur = NULL;
    WF_TRY(WF_ALLOC((int64_t)s->p * s->v * WEFT_OP_N_COMPUTE, &dur));
    for (int64_t i = 0; i < (int64_t)s->p * s->v; i++) {
        dur[i * WEFT_OP_N_COMPUTE + WEFT_OP_F] = x->dur[WF_FORWARD];
        dur[i * WEFT_OP_N_COMPUTE + WEFT_OP_B] = x->dur[WF_BACK];
        dur[i * WEFT_OP_N_COMPUTE + WEFT_OP_I] = x->dur[WF_BACK];
        dur[i * WEFT_OP_N_COMPUTE + WEFT_OP_W] = x->dur[WF_WEIGHT];
    }
    *out = dur;
    return WEFT_OK;
}

/* Ops after which the best try so far has to do: some seconds. */
enum { ENOUGH_OPS = 1 << 25 };

/* Index of the best try on s, -1 if none comes to its end. s holds the ops of the
 * last. */
static weft_status compare(const wf_search *x, const weft_schedule *s,
                           const double *dur, int *out)
{
    wf_score best = {0}, own;
    wf_squeezed ran;
    int64_t ops = 0;
    int at = -1;
    for (int i = 0; i < x->n_tries && (at < 0 || ops < ENOUGH_OPS); i++) {
        /* No message makes anything earlier, so the run's own end is a lower bound. */
        double latest = at < 0 ? DBL_MAX : best.makespan + wf_rounding(x);
        weft_status st = wf_squeeze(x, &x->tries[i], s, latest, &ran);
        ops += s->first[s->p];
        if (st == WEFT_E_INFEASIBLE) continue;
        WF_TRY(st);
        if (runs_as_judged(x))
            own = (wf_score){ran.makespan, ran.span, memory_of(s)};
        else
            WF_TRY(judge(x, s, dur, &own));
        if (at >= 0 && !better(&own, &best, wf_rounding(x))) continue;
        best = own;
        at = i;
    }
    *out = at;
    return WEFT_OK;
}

static weft_status shorter(const weft_schedule *s, int m, weft_schedule *out)
{
    weft_schedule q = *s;
    int64_t *n = NULL;
    q.m = m;
    WF_TRY(WF_ALLOC(s->p, &n));
    for (int r = 0; r < s->p; r++)
        n[r] = (s->first[r + 1] - s->first[r]) / s->m * m;
    weft_status st = wf_schedule_alloc(&q, n, out);
    wf_free(n);
    return st;
}

/* What the ends of a schedule look like shows with a few micro-batches per rank. */
static weft_status choose(const wf_search *x, const weft_schedule *s, int *out)
{
    double *dur = NULL;
    weft_schedule small;
    WF_TRY(shorter(s, (int)wf_least(s->m, x->sample), &small));
    weft_status st = durations(x, s, &dur);
    if (st == WEFT_OK) st = compare(x, &small, dur, out);
    wf_free(dur);
    weft_schedule_clear(&small);
    return st;
}

weft_status wf_search_run(const wf_search *x, const weft_schedule *s, wf_score *out)
{
    int best = 0;
    wf_squeezed ran;
    if (x->n_tries > 1) WF_TRY(choose(x, s, &best));
    if (best < 0)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "%s: no order was found for -p %d -m %d within its memory",
                       s->kind, s->p, s->m);
    WF_TRY(wf_squeeze(x, &x->tries[best], s, DBL_MAX, &ran));
    if (!out) return WEFT_OK;
    *out = (wf_score){ran.makespan, ran.span, memory_of(s)};
    if (!x->links) return WEFT_OK;
    double *dur = NULL;
    WF_TRY(durations(x, s, &dur));
    weft_status st = judge(x, s, dur, out);
    wf_free(dur);
    return st;
}

static int keeps_limit(const wf_search *x, const weft_schedule *s)
{
    for (int r = 0; r < s->p; r++) {
        int64_t held = 0;
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            held += s->op[i].kind == WEFT_OP_F ? 2 : -1;
            if (held > x->limit) return 0;
        }
    }
    return 1;
}

weft_status wf_search_take(const wf_search *x, const weft_schedule *other,
                           const weft_schedule *s, wf_score *own)
{
    wf_score its;
    double *dur = NULL;
    if (!keeps_limit(x, other)) return WEFT_OK;
    WF_TRY(durations(x, s, &dur));
    weft_status st = judge(x, other, dur, &its);
    wf_free(dur);
    if (st != WEFT_OK || !better(&its, own, wf_rounding(x))) return st;
    memcpy(s->op, other->op, (size_t)s->first[s->p] * sizeof *s->op);
    *own = its;
    return WEFT_OK;
}
