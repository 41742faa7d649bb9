/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/trace.h
 * A timeline: entries of (rank, lane, op, start, end, bytes). sim and exec fill the
 * same type; draw paints it; weft_trace_compare() subtracts two op by op.
 */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include <weft/schedule.h>

WEFT_BEGIN

typedef enum weft_lane { WEFT_LANE_COMPUTE, WEFT_LANE_SEND, WEFT_LANE_RECV, WEFT_LANE_COLLECTIVE } weft_lane;

typedef struct weft_trace_entry {
    double start, end; /**< trace's unit, from the start of its step 0 */
    int64_t bytes;     /**< sent, received or reduced; 0 for compute   */
    weft_op op;        /**< meaningful when label is NULL              */
    const char *label; /**< NULL: an op; else a fixed string such as "optimizer", "dp bucket", "wait" */
    int32_t rank;      /**< pipeline rank (predicted) or world rank (measured) */
    int32_t step;
    uint8_t lane;      /**< weft_lane */
} weft_trace_entry;

typedef struct weft_trace {
    int n_ranks;
    int measured;      /**< 0 predicted, 1 measured */
    char unit[8];      /**< "s" or "" (cost units)  */
    char title[96];    /**< e.g. "1f1b p=4 m=12"    */
    int64_t n, cap;
    weft_trace_entry *entry;
} weft_trace;

WEFT_API void weft_trace_init(weft_trace *t, int n_ranks, const char *unit, const char *title);
WEFT_API void weft_trace_clear(weft_trace *t);
/** Append; WEFT_E_NOMEM only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_add(weft_trace *t, const weft_trace_entry *e);

WEFT_END
#endif
