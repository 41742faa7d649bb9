/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "exec/clock.h"

#include <errno.h>
#include <math.h>
#include <time.h>

double weft_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void wf_sleep_until(double at_s)
{
    struct timespec t = {.tv_sec = (time_t)floor(at_s)};
    t.tv_nsec = (long)((at_s - floor(at_s)) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

weft_status weft_trace_measured(weft_trace *t, int32_t rank, int64_t step,
                                weft_lane lane, const char *label, const weft_op *op,
                                double start_s, double end_s, int64_t bytes)
{
    weft_trace_entry e = {.start = start_s,
                          .end = end_s,
                          .bytes = bytes,
                          .label = label,
                          .rank = rank,
                          .step = (int32_t)step,
                          .lane = (uint8_t)lane};

    if (!t) return WEFT_OK;
    if (op) e.op = *op;
    return weft_trace_add(t, &e);
}
