/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/run/measure.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/run/exec.h>

#include "base/alloc.h"
#include "base/error.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int64_t n)
{
    if (n == 0) return 0;
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static int pipeline_rank(const weft_pipeline_slice *s, int32_t rank)
{
    for (int r = 0; r < s->schedule->p; r++)
        if (s->ranks[r] == rank) return r;
    return -1;
}

/* A compute op of the slice's ranks in steps lo .. hi: its pipeline rank, else -1. */
static int op_rank(const weft_pipeline_slice *s, const weft_trace_entry *e, int lo,
                   int hi)
{
    if (e->label || e->lane != WEFT_LANE_COMPUTE || e->step < lo || e->step > hi)
        return -1;
    return pipeline_rank(s, e->rank);
}

static double median_of(const weft_pipeline_slice *s, int rank, int chunk, int kind,
                        double *scratch)
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->trace->n; i++) {
        const weft_trace_entry *e = &s->trace->entry[i];
        if (e->op.chunk == chunk && e->op.kind == kind &&
            op_rank(s, e, s->first_step, s->last_step) == rank)
            scratch[n++] = e->end - e->start;
    }
    return median(scratch, n);
}

weft_status weft_op_medians(const weft_pipeline_slice *s, double *dur)
{
    double *scratch = NULL;

    WF_TRY(WF_ALLOC(s->trace->n, &scratch));
    for (int r = 0; r < s->schedule->p; r++)
        for (int c = 0; c < s->schedule->v; c++)
            for (int k = 0; k < WEFT_OP_N_COMPUTE; k++)
                dur[(r * s->schedule->v + c) * WEFT_OP_N_COMPUTE + k] =
                    median_of(s, r, c, k, scratch);
    wf_free(scratch);
    return WEFT_OK;
}

static double first_start(const weft_pipeline_slice *s, int step)
{
    double start = INFINITY;
    for (int64_t i = 0; i < s->trace->n; i++)
        if (op_rank(s, &s->trace->entry[i], step, step) >= 0)
            start = fmin(start, s->trace->entry[i].start);
    return start;
}

double weft_pipeline_time(const weft_pipeline_slice *s, int step)
{
    double end = -INFINITY;

    for (int64_t i = 0; i < s->trace->n; i++)
        if (op_rank(s, &s->trace->entry[i], step, step) >= 0)
            end = fmax(end, s->trace->entry[i].end);
    return end - first_start(s, step);
}

weft_status weft_pipeline_median(const weft_pipeline_slice *s, double *out)
{
    int64_t n = s->last_step - s->first_step + 1;
    double *times = NULL;

    WF_TRY(WF_ALLOC(n, &times));
    for (int64_t i = 0; i < n; i++)
        times[i] = weft_pipeline_time(s, s->first_step + (int)i);
    *out = median(times, n);
    wf_free(times);
    return WEFT_OK;
}

weft_status weft_pipeline_step(const weft_pipeline_slice *s, int step, weft_trace *out)
{
    double start = first_start(s, step);
    weft_trace t;

    char title[64];

    snprintf(title, sizeof title, "%s p=%d m=%d", s->schedule->kind, s->schedule->p,
             s->schedule->m);
    weft_trace_init(&t, s->schedule->p, "s", title);
    t.measured = 1;
    for (int64_t i = 0; i < s->trace->n; i++) {
        weft_trace_entry e = s->trace->entry[i];
        int r = op_rank(s, &e, step, step);
        if (r < 0) continue;
        e.rank = r;
        e.step = 0;
        e.start -= start;
        e.end -= start;
        weft_status st = weft_trace_add(&t, &e);
        if (st != WEFT_OK) {
            weft_trace_clear(&t);
            return st;
        }
    }
    *out = t;
    return WEFT_OK;
}

weft_status weft_gemm_rate(weft_kctx *k, weft_arena *arena, weft_dtype t, int64_t n,
                           double seconds, double *flops_per_s)
{
    int64_t bytes = n * n * weft_dtype_bytes(t), calls = 0;
    void *a, *b, *c;
    double t0 = 0, spent = 0;

    WF_TRY(weft_arena_zero(arena, WEFT_TEMP, bytes, &a));
    WF_TRY(weft_arena_zero(arena, WEFT_TEMP, bytes, &b));
    WF_TRY(weft_arena_take(arena, WEFT_TEMP, bytes, &c));
    weft_gemm g = {.tb = 1,
                   .m = n,
                   .n = n,
                   .k = n,
                   .alpha = 1,
                   .in = t,
                   .out = t,
                   .a = a,
                   .b = b,
                   .c = c};
    weft_status st = weft_k_gemm(k, &g); /* not timed: it may build a primitive */
    for (t0 = weft_now_s(); st == WEFT_OK && spent < seconds; calls++) {
        st = weft_k_gemm(k, &g);
        spent = weft_now_s() - t0;
    }
    weft_arena_give(arena, a);
    weft_arena_give(arena, b);
    weft_arena_give(arena, c);
    if (st == WEFT_OK)
        *flops_per_s = 2.0 * (double)n * (double)n * (double)n * (double)calls / spent;
    return st;
}
