/* SPDX-License-Identifier: Apache-2.0 */
/* How one benchmark is timed. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "base/error.h"
#include "probe/probe_impl.h"

enum { LEAST_CALLS = 3, MOST_CALLS = 512, ALIGN = 64 };

double wf_probe_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *wf_probe_operand(wf_probe *p, int64_t bytes)
{
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (p->at + bytes > p->pool_bytes) p->at = p->floor;
    void *out = p->pool + p->at;
    p->at += bytes;
    return out;
}

void *wf_probe_keep(wf_probe *p, int64_t bytes)
{
    p->floor = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    p->at = p->floor;
    return p->pool;
}

void wf_probe_fill(wf_probe *p, weft_dtype t)
{
    int64_t n = p->pool_bytes / weft_dtype_bytes(t);
    for (int64_t i = 0; i < n; i++) {
        double x = (double)((uint64_t)i * 2654435761u % 1024) / 1024 - 0.5;
        if (t == WEFT_F64) ((double *)p->pool)[i] = x;
        if (t == WEFT_F32) ((float *)p->pool)[i] = (float)x;
        if (t == WEFT_BF16) ((uint16_t *)p->pool)[i] = weft_bf16_from_f32((float)x);
    }
}

weft_status wf_probe_agree(wf_probe *p, weft_reduce op, double *x)
{
    weft_event ev = {0};
    WF_TRY(weft_all_reduce(p->world, WEFT_FOR_CONTROL, x, 1, WEFT_F64, op, &ev));
    return weft_wait(p->comm, &ev);
}

static weft_status mean_over_ranks(wf_probe *p, double *x)
{
    WF_TRY(wf_probe_agree(p, WEFT_SUM, x));
    *x /= weft_group_size(p->world);
    return WEFT_OK;
}

weft_status wf_probe_time(wf_probe *p, wf_probe_call *call, void *ctx, double *seconds)
{
    double took[MOST_CALLS], begin, now;
    int n = 0;

    WF_TRY(weft_barrier(p->world));
    WF_TRY(call(p, ctx)); /* makes primitives, touches pages */
    begin = now = wf_probe_now_s();
    while (n < MOST_CALLS && (n < LEAST_CALLS || now - begin < p->each_s)) {
        double t0 = now;
        WF_TRY(call(p, ctx));
        now = wf_probe_now_s();
        took[n++] = now - t0;
    }
    double s = weft_median(n, took);
    WF_TRY(mean_over_ranks(p, &s));
    *seconds = s;
    return WEFT_OK;
}

/* Calls that fit, by the slowest rank's first ones; the same number on all. */
static weft_status count_calls(wf_probe *p, wf_probe_call *call, void *ctx, int *n)
{
    double t0, one;

    WF_TRY(call(p, ctx));
    WF_TRY(weft_barrier(p->world));
    t0 = wf_probe_now_s();
    WF_TRY(call(p, ctx));
    one = wf_probe_now_s() - t0;
    WF_TRY(wf_probe_agree(p, WEFT_MAX, &one));
    double fit = p->each_s / one;
    *n = fit > MOST_CALLS ? MOST_CALLS : fit < LEAST_CALLS ? LEAST_CALLS : (int)fit;
    return WEFT_OK;
}

weft_status wf_probe_time_together(wf_probe *p, wf_probe_call *call, void *ctx,
                                   double *seconds)
{
    double took[MOST_CALLS];
    int n;

    WF_TRY(count_calls(p, call, ctx, &n));
    WF_TRY(weft_barrier(p->world));
    for (int i = 0; i < n; i++) {
        double t0 = wf_probe_now_s();
        WF_TRY(call(p, ctx));
        took[i] = wf_probe_now_s() - t0;
    }
    double s = weft_median(n, took);
    WF_TRY(mean_over_ranks(p, &s));
    *seconds = s;
    return WEFT_OK;
}
