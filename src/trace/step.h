/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_TRACE_STEP_H
#define WF_TRACE_STEP_H
#include <weft/trace.h>

/* Extent of one step over all ranks. */
typedef struct wf_step {
    int32_t step;
    int64_t n; /* entries */
    double start, end;
} wf_step;

/* The steps of a trace, ascending; free *out with wf_free(). */
WEFT_API WEFT_MUST_CHECK weft_status wf_trace_steps(const weft_trace *t, int *n,
                                                    wf_step **out);
/* Index of the step of median length; n >= 1. */
WEFT_API int wf_median_step(int n, const wf_step *step);

/* Share out one step of every rank: rank[r][what] sums to step->end - step->start. */
WEFT_API WEFT_MUST_CHECK weft_status wf_trace_share(const weft_trace *t,
                                                    const wf_step *step,
                                                    double (*rank)[WEFT_N_SPENT]);

/* Median of x [n], n >= 1; sorts x. */
WEFT_API double wf_median(int64_t n, double *x);
#endif
