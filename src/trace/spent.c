/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a trace, and what the time of a step went into. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/step.h"

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double wf_median(int64_t n, double *x)
{
    qsort(x, (size_t)n, sizeof *x, by_number);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* ---- steps ---------------------------------------------------------------------- */

static int by_step(const void *a, const void *b)
{
    int32_t x = ((const wf_step *)a)->step, y = ((const wf_step *)b)->step;
    return (x > y) - (x < y);
}

/* Entries of one step usually stand together, so look at the last one found first. */
static wf_step *find_step(wf_step *all, int n, int32_t step)
{
    for (int i = n - 1; i >= 0; i--)
        if (all[i].step == step) return &all[i];
    return NULL;
}

static void widen(wf_step *s, const weft_trace_entry *e)
{
    s->start = e->start < s->start ? e->start : s->start;
    s->end = e->end > s->end ? e->end : s->end;
    s->n++;
}

weft_status wf_trace_steps(const weft_trace *t, int *n, wf_step **out)
{
    void *block = NULL;
    int64_t cap = 0;
    int count = 0;

    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *e = &t->entry[i];
        wf_step *s = find_step(block, count, e->step);
        if (!s) {
            weft_status st = wf_grow(&block, &cap, count + 1, sizeof(wf_step));
            if (st != WEFT_OK) {
                wf_free(block);
                return st;
            }
            s = (wf_step *)block + count++;
            *s = (wf_step){e->step, 0, e->start, e->end};
        }
        widen(s, e);
    }
    if (count) qsort(block, (size_t)count, sizeof(wf_step), by_step);
    *n = count;
    *out = block;
    return WEFT_OK;
}

/* The step with exactly (n-1)/2 steps before it in the order (length, number). */
int wf_median_step(int n, const wf_step *step)
{
    for (int i = 0; i < n; i++) {
        double length = step[i].end - step[i].start;
        int before = 0;
        for (int j = 0; j < n; j++) {
            double other = step[j].end - step[j].start;
            before += other < length || (other == length && j < i);
        }
        if (before == (n - 1) / 2) return i;
    }
    return 0;
}

weft_status weft_trace_median_step(const weft_trace *t, int *step)
{
    int n;
    wf_step *all;
    WF_TRY(wf_trace_steps(t, &n, &all));
    *step = n ? all[wf_median_step(n, all)].step : 0;
    wf_free(all);
    return WEFT_OK;
}

/* ---- sharing a step out --------------------------------------------------------- */

/* A moment at which entries of one kind of a rank begin (+1) or end (-1). */
typedef struct edge {
    double at;
    int32_t rank;
    int8_t what, change;
} edge;

static int by_rank_and_time(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Walk one rank's edges; between two of them the first kind that is open has the
 * time. */
static void share_rank(const wf_step *step, int64_t n, const edge *e, double *spent)
{
    int open[WEFT_N_SPENT] = {0};
    double now = step->start;

    for (int64_t i = 0; i <= n; i++) {
        double next = i < n ? e[i].at : step->end;
        int what = 0;
        while (what < WEFT_SPENT_WAIT && !open[what])
            what++;
        spent[what] += next - now;
        now = next;
        if (i < n) open[e[i].what] += e[i].change;
    }
}

static int64_t collect(const weft_trace *t, const wf_step *step, edge *e)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *x = &t->entry[i];
        if (x->step != step->step) continue;
        int8_t what = (int8_t)weft_trace_spent(x);
        e[n++] = (edge){x->start, x->rank, what, 1};
        e[n++] = (edge){x->end, x->rank, what, -1};
    }
    return n;
}

weft_status wf_trace_share(const weft_trace *t, const wf_step *step,
                           double (*rank)[WEFT_N_SPENT])
{
    edge *e;
    WF_TRY(WF_ALLOC(2 * step->n, &e));
    int64_t n = collect(t, step, e), i = 0;
    qsort(e, (size_t)n, sizeof *e, by_rank_and_time);
    for (int r = 0; r < t->n_ranks; r++) {
        int64_t first = i;
        while (i < n && e[i].rank == r)
            i++;
        memset(rank[r], 0, sizeof rank[r]);
        share_rank(step, i - first, e + first, rank[r]);
    }
    wf_free(e);
    return WEFT_OK;
}

/* ---- units ---------------------------------------------------------------------- */

/* All F B I W R time of the median step. */
static weft_status compute_time(const weft_trace *t, double *out)
{
    int step;
    double sum = 0;
    WF_TRY(weft_trace_median_step(t, &step));
    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *e = &t->entry[i];
        if (e->step == step && weft_trace_spent(e) <= WEFT_SPENT_R)
            sum += e->end - e->start;
    }
    *out = sum;
    return WEFT_OK;
}

weft_status weft_trace_scale(const weft_trace *a, const weft_trace *b, double *factor)
{
    double time_a, time_b;
    if (!strcmp(a->unit, b->unit)) {
        *factor = 1;
        return WEFT_OK;
    }
    WF_TRY(compute_time(a, &time_a));
    WF_TRY(compute_time(b, &time_b));
    if (!(time_a > 0) || !(time_b > 0))
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the traces have different units ('%s' and '%s') and one has no "
                       "F B I W time to bring them together",
                       a->unit, b->unit);
    *factor = time_b / time_a;
    return WEFT_OK;
}
