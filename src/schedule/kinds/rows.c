/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/rows.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "schedule/ir.h"

/* 0 when m has none. */
static int64_t default_group(int64_t p, int64_t m)
{
    int64_t groups = m / p > 1 ? m / p : 1;
    return m % p == 0 ? p : m % groups == 0 ? m / groups : 0;
}

static weft_status set_default_group(weft_schedule *q)
{
    int64_t group = default_group(q->p, q->m), below = q->m, above = q->m;
    if (group) {
        q->group = (int)group;
        return WEFT_OK;
    }
    while (!default_group(q->p, --below))
        ;
    while (!default_group(q->p, ++above))
        ;
    return WF_FAIL(
        WEFT_E_INVALID,
        "-m %d with -p %d: %d micro-batches do not split into %d equal groups "
        "of at least %d; nearest -m are %lld and %lld",
        q->m, q->p, q->m, q->m / q->p, q->p, (long long)below, (long long)above);
}

/* What a group that does not fit would cost: its makespan in chunk ops (F = I = W = 1,
 * B = 2), NaN for a deadlock whose words are then the last message. */
static weft_status try_group(const weft_schedule_kind *k, const weft_schedule *q,
                             double *units)
{
    static const double unit[WEFT_OP_N_COMPUTE] = {1, 2, 1, 1, 1};
    weft_schedule s;
    weft_eval e;
    double *dur = NULL;
    WF_TRY(wf_schedule_generate(k, q, NULL, &s));
    int64_t n = (int64_t)q->p * q->v * WEFT_OP_N_COMPUTE;
    weft_status st = WF_ALLOC(n, &dur);
    if (st == WEFT_OK) {
        for (int64_t i = 0; i < n; i++)
            dur[i] = unit[i % WEFT_OP_N_COMPUTE];
        st = weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e);
    }
    wf_free(dur);
    weft_schedule_clear(&s);
    if (st == WEFT_E_INFEASIBLE) {
        *units = NAN;
        return WEFT_OK;
    }
    if (st == WEFT_OK) {
        *units = e.makespan;
        weft_eval_clear(&e);
    }
    return st;
}

/* The same units for groups that fit, NaN if there is no formula. */
static double best_units(const weft_schedule_kind *k, const weft_schedule *q)
{
    weft_schedule all = *q;
    all.group = q->m;
    return k->makespan(&all, &(wf_times){q->v, 2 * q->v, q->v, q->v});
}

typedef struct words {
    char why[96], near[64];
} words;

static void explain(const weft_schedule *q, int64_t least, const char *least_is,
                    words *w)
{
    int64_t n = q->group, below = n, above = n; /* the group of all m fits */
    while (--below >= 1 && !wf_group_fits(least, q->m, below))
        ;
    while (!wf_group_fits(least, q->m, ++above))
        ;
    if (below >= 1)
        snprintf(w->near, sizeof w->near, "nearest are %lld and %lld", (long long)below,
                 (long long)above);
    else
        snprintf(w->near, sizeof w->near, "nearest is %lld", (long long)above);
    if (n < least)
        snprintf(w->why, sizeof w->why, "a group of %lld is smaller than %s %lld",
                 (long long)n, least_is, (long long)least);
    else
        snprintf(w->why, sizeof w->why,
                 "-m %d leaves a last group of %lld, smaller than %s %lld", q->m,
                 (long long)(q->m % n), least_is, (long long)least);
}

static weft_status refuse(const weft_schedule_kind *k, const weft_schedule *q, int cost,
                          const words *w)
{
    enum { TRY_OPS = 1 << 22 }; /* an error message may cost this much */
    double units;
    char best[48] = "";
    if (!cost || 2 * (int64_t)q->p * q->m * q->v > TRY_OPS)
        return WF_FAIL(WEFT_E_INVALID,
                       "--group %d: %s, which is slow or a deadlock; %s", q->group,
                       w->why, w->near);
    WF_TRY(try_group(k, q, &units));
    if (isnan(units))
        return WF_FAIL(WEFT_E_INVALID, "--group %d: %s, which ends in a %s; %s",
                       q->group, w->why, weft_status_message(), w->near);
    if (best_units(k, q) < units)
        snprintf(best, sizeof best, " instead of %g", best_units(k, q));
    return WF_FAIL(WEFT_E_INVALID,
                   "--group %d: %s, which is slow: %g%s (chunk ops of 1 and 2); %s",
                   q->group, w->why, units, best, w->near);
}

weft_status wf_check_group(const weft_schedule_kind *k, weft_schedule *q, int cost)
{
    int64_t least = k->least_group(q);
    words w;
    if (!q->group) return set_default_group(q);
    if (wf_group_fits(least, q->m, q->group)) return WEFT_OK;
    explain(q, least, k->least_group_is, &w);
    return refuse(k, q, cost, &w);
}
