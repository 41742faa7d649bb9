/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/run/measure.h  From a measured trace to op times and pipeline timelines. */
#ifndef WEFT_RUN_MEASURE_H
#define WEFT_RUN_MEASURE_H

#include <weft/run/kernel.h>
#include <weft/trace.h>

WEFT_BEGIN

/** Steps first .. last of one pipeline: ranks[r] is the trace's rank of pipeline rank r. */
typedef struct weft_pipeline_slice {
    const weft_trace *trace;
    const weft_schedule *schedule;
    const int *ranks; /**< [p] */
    int first_step, last_step;
} weft_pipeline_slice;

/** Median seconds of each op kind, [p][v][WEFT_OP_N_COMPUTE]; 0 where there is none. */
WEFT_API WEFT_MUST_CHECK weft_status weft_op_medians(const weft_pipeline_slice *s,
                                                     double *dur);
/** One step's compute and wait entries as a trace of p ranks that starts at its first op. */
WEFT_API WEFT_MUST_CHECK weft_status weft_pipeline_step(const weft_pipeline_slice *s,
                                                        int step, weft_trace *out);
/** Pipeline time of a step: last op end - first op start over the pipeline's ranks. */
WEFT_API double weft_pipeline_time(const weft_pipeline_slice *s, int step);
/** Median of weft_pipeline_time() over the steps of the slice. */
WEFT_API WEFT_MUST_CHECK weft_status weft_pipeline_median(const weft_pipeline_slice *s,
                                                          double *out);

/** FLOP/s that this rank's kernels reach on a square GEMM of size n, in about `seconds`. */
WEFT_API WEFT_MUST_CHECK weft_status weft_gemm_rate(weft_kctx *k, weft_arena *arena,
                                                    weft_dtype t, int64_t n,
                                                    double seconds,
                                                    double *flops_per_s);

WEFT_END
#endif
