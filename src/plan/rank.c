/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/near.h"

/* What a user would rather not have, the worst first, each with room for its values. Splits
 * of the model weigh most, then ZeRO, then recompute: the order in which the lessons add
 * them. */
int64_t weft_plan_complexity(const weft_layout *l)
{
    static const char *const usual[] = {"1f1b", "interleaved", "gpipe", "zb-h1"};
    int splits = (l->tp > 1) + (l->cp > 1) + (l->pp > 1) + (l->ep > 1);
    int recompute = !strcmp(l->recompute, "none")        ? 0
                    : !strcmp(l->recompute, "selective") ? 1
                    : !strcmp(l->recompute, "full")      ? 2
                                                         : 3;
    int kind = 0;
    while (kind < 4 && strcmp(l->schedule, usual[kind]))
        kind++;
    int64_t n = splits;
    n = n * 4 + l->zero;
    n = n * 4 + recompute;
    n = n * 2 + (l->replicate > 1);
    n = n * 256 + (l->vpp < 256 ? l->vpp : 255);
    n = n * 8 + kind;
    n = n * 2 + (strcmp(l->stage_layers, "even") != 0);
    n = n * 2 + (strcmp(l->order, "tp,cp,pp,dp") != 0);
    n = n * 2 + (l->sp != 0);
    n = n * 4096 + (l->pp < 4096 ? l->pp : 4095);
    n = n * 4096 + (l->tp < 4096 ? l->tp : 4095);
    return n * 4096 + (l->cp < 4096 ? l->cp : 4095);
}

/* Any fixed order of layouts that differ nowhere above. */
static int compare_rest(const weft_layout *a, const weft_layout *b)
{
    int c = strcmp(a->schedule, b->schedule);
    if (!c) c = (a->micro_batch > b->micro_batch) - (a->micro_batch < b->micro_batch);
    if (!c) c = strcmp(a->order, b->order);
    if (!c) c = strcmp(a->cp_comm, b->cp_comm);
    if (!c) c = strcmp(a->stage_layers, b->stage_layers);
    return c;
}

int wf_is_simpler(const weft_plan_row *a, const weft_plan_row *b)
{
    int64_t x = weft_plan_complexity(&a->layout), y = weft_plan_complexity(&b->layout);
    if (x != y) return x < y;
    if (a->cost.step_time_s != b->cost.step_time_s)
        return a->cost.step_time_s < b->cost.step_time_s;
    return compare_rest(&a->layout, &b->layout) < 0;
}

int wf_winner(const weft_plan_row *row, int n, double tie)
{
    int best = -1;
    double fastest = 0;

    for (int i = 0; i < n; i++)
        if (i == 0 || row[i].cost.step_time_s < fastest)
            fastest = row[i].cost.step_time_s;
    for (int i = 0; i < n; i++) {
        if (row[i].cost.step_time_s > fastest * (1 + tie)) continue;
        if (best < 0 || wf_is_simpler(&row[i], &row[best])) best = i;
    }
    return best;
}

static int by_time(const void *a, const void *b)
{
    const weft_plan_row *x = a, *y = b;
    if (x->cost.step_time_s != y->cost.step_time_s)
        return x->cost.step_time_s < y->cost.step_time_s ? -1 : 1;
    return wf_is_simpler(x, y) ? -1 : wf_is_simpler(y, x);
}

void wf_rank_rows(weft_plan_row *row, int n, double tie)
{
    if (n < 1) return;
    int k = wf_winner(row, n, tie);
    weft_plan_row first = row[k];
    row[k] = row[0];
    row[0] = first;
    qsort(row + 1, (size_t)n - 1, sizeof *row, by_time);
}
