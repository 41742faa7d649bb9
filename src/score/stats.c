/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "score/stats.h"

int wf_run_counts(const weft_run *r, weft_half half)
{
    if (*r->skip) return 0;
    if (half == WEFT_HALF_ALL) return 1;
    return weft_run_in_fit_half(r->id) == (half == WEFT_HALF_FIT);
}

void weft_score_source(const weft_runs *r, const char *source, weft_half half,
                       weft_score_line *out)
{
    weft_score_line x = {0};
    int within = 0;

    for (int64_t i = 0; i < r->n; i++) {
        const weft_run *run = &r->run[i];
        if (!wf_run_counts(run, half) || (source && strcmp(source, run->source)))
            continue;
        double e = run->predicted_s / run->measured_s - 1;
        x.rows++;
        x.step_time_mape += fabs(e);
        x.step_time_bias += e;
        within += fabs(e) <= 0.1;
        if (run->measured_bytes <= 0) continue;
        x.memory_rows++;
        x.memory_mape += fabs(run->predicted_bytes / run->measured_bytes - 1);
    }
    x.step_time_mape = x.rows ? x.step_time_mape / x.rows : NAN;
    x.step_time_bias = x.rows ? x.step_time_bias / x.rows : NAN;
    x.within_10 = x.rows ? (double)within / x.rows : NAN;
    x.memory_mape = x.memory_rows ? x.memory_mape / x.memory_rows : NAN;
    *out = x;
}

static int in_group(const weft_run *r, const char *group)
{
    return !*r->skip && !strcmp(r->group, group);
}

void weft_score_group_of(const weft_runs *r, const char *group, weft_score_group *out)
{
    const weft_run *fastest = NULL;
    double best = HUGE_VAL;
    int64_t pairs = 0, agree = 0;

    *out = (weft_score_group){0, NAN, NAN};
    for (int64_t i = 0; i < r->n; i++) {
        const weft_run *a = &r->run[i];
        if (!in_group(a, group)) continue;
        out->layouts++;
        if (a->measured_s < best) best = a->measured_s;
        if (!fastest || a->predicted_s < fastest->predicted_s) fastest = a;
        for (int64_t j = 0; j < i; j++) {
            const weft_run *b = &r->run[j];
            if (!in_group(b, group) || a->measured_s == b->measured_s) continue;
            pairs++;
            agree +=
                (a->measured_s < b->measured_s) == (a->predicted_s < b->predicted_s);
        }
    }
    if (!fastest) return;
    if (pairs) out->pair_agreement = (double)agree / (double)pairs;
    out->regret = fastest->measured_s / best - 1;
}

/* The first row with this source (or group) before row i? */
int wf_run_seen_source(const weft_runs *r, int64_t i)
{
    for (int64_t j = 0; j < i; j++)
        if (!strcmp(r->run[j].source, r->run[i].source)) return 1;
    return 0;
}

int wf_run_seen_group(const weft_runs *r, int64_t i)
{
    for (int64_t j = 0; j < i; j++)
        if (!*r->run[j].skip && !strcmp(r->run[j].group, r->run[i].group)) return 1;
    return 0;
}
