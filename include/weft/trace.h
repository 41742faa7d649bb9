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

typedef enum weft_lane {
    WEFT_LANE_COMPUTE,
    WEFT_LANE_SEND,
    WEFT_LANE_RECV,
    WEFT_LANE_COLLECTIVE,
    WEFT_N_LANES
} weft_lane;

typedef struct weft_trace_entry {
    double start, end; /**< trace's unit, from the start of its step 0 */
    int64_t bytes;     /**< sent, received or reduced; 0 for compute   */
    weft_op op;        /**< meaningful when label is NULL              */
    const char *label; /**< NULL: an op; else a string that outlives the trace, such as
                            "optimizer", "dp bucket", "wait"; see weft_trace_label() */
    int32_t rank;      /**< pipeline rank (predicted) or world rank (measured) */
    int32_t step;
    uint8_t lane; /**< weft_lane */
} weft_trace_entry;

/** What a rank holds from `at` to its next level. */
typedef struct weft_trace_level {
    double at, bytes;
    int32_t rank;
} weft_trace_level;

typedef struct weft_trace {
    int n_ranks;
    int measured;   /**< 0 predicted, 1 measured */
    char unit[8];   /**< "s" or "" (cost units)  */
    char title[96]; /**< e.g. "1f1b p=4 m=12"    */
    int64_t n, cap;
    weft_trace_entry *entry;
    int64_t n_labels, cap_labels;
    char **labels; /**< copies made by weft_trace_label() */
    int64_t n_levels, cap_levels;
    weft_trace_level
        *level; /**< of one rank in order of time; none: memory is not known */
} weft_trace;

WEFT_API void weft_trace_init(weft_trace *t, int n_ranks, const char *unit,
                              const char *title);
WEFT_API void weft_trace_clear(weft_trace *t);
/** Append; WEFT_E_NOMEM only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_add(weft_trace *t,
                                                    const weft_trace_entry *e);
WEFT_API WEFT_MUST_CHECK weft_status
weft_trace_add_level(weft_trace *t, const weft_trace_level *level);
/** A label that lives as long as the trace: the same text gives the same pointer. For
 *  readers, whose text does not outlive the reading. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_label(weft_trace *t, const char *text,
                                                      const char **out);
/** Ranks, lanes and kinds in range, start <= end, all finite; the entry is named. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_check(const weft_trace *t);

/** "F" "B" "I" "W" "R" "recv" "send" "wait" ...; "?" outside the kinds. */
WEFT_API const char *weft_op_kind_name(int kind);
/** "F3" or, where with_chunk, "F3.1"; a label as it is. buf >= 48 bytes; returns
 *  buf. */
WEFT_API const char *weft_trace_entry_name(const weft_trace_entry *e, int with_chunk,
                                           char *buf);

/** What the time of a rank goes into; every instant of a step belongs to one of these.
 *  Where entries overlap the first of this list has it. */
typedef enum weft_spent {
    WEFT_SPENT_F,
    WEFT_SPENT_B,
    WEFT_SPENT_I,
    WEFT_SPENT_W,
    WEFT_SPENT_R,
    WEFT_SPENT_OPTIMIZER,  /**< label "optimizer", op STEP                      */
    WEFT_SPENT_OTHER,      /**< other labels of the compute lane                */
    WEFT_SPENT_COLLECTIVE, /**< collective lane where nothing above runs: exposed */
    WEFT_SPENT_WAIT,       /**< label or op "wait", sends, receives, and nothing */
    WEFT_N_SPENT
} weft_spent;
WEFT_API const char *weft_spent_name(weft_spent what);
WEFT_API weft_spent weft_trace_spent(const weft_trace_entry *e);

/** The step whose length (first start to last end over all ranks) is the median of all
 *  steps, the lower one of two; 0 for an empty trace. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_median_step(const weft_trace *t,
                                                            int *step);
/** Factor that brings a to the unit of b: 1 when the units are the same, else the
 *  ratio of all F B I W R time in the two median steps (costs without a unit have no
 *  length of their own). WEFT_E_MISMATCH when there is no such time. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_scale(const weft_trace *a,
                                                      const weft_trace *b,
                                                      double *factor);

/** Entries of one kind (or label) in both traces. */
typedef struct weft_compare_kind {
    char name[32];
    int64_t n_a, n_b;          /**< entries, all steps                             */
    double median_a, median_b; /**< of one entry; NaN where there is none          */
    double total_a, total_b;   /**< per step, all ranks                            */
} weft_compare_kind;

/** An op whose length differs: medians over the steps of each trace. */
typedef struct weft_compare_op {
    char name[48];
    int32_t rank;
    double a, b;
} weft_compare_op;

/** One rank's median step, shared out; each array sums to the length of the step. */
typedef struct weft_compare_rank {
    double a[WEFT_N_SPENT], b[WEFT_N_SPENT];
} weft_compare_rank;

/** Two traces subtracted. Times are in b's unit; a was multiplied by `scale`. */
typedef struct weft_compare {
    char title_a[96], title_b[96], unit[8];
    int measured_a, measured_b;
    int steps_a, steps_b; /**< steps in each trace       */
    int step_a, step_b;   /**< the median ones           */
    double scale;
    double length_a, length_b; /**< of the median steps    */
    int n_ranks;
    weft_compare_rank *rank; /**< [n_ranks]                */
    int n_kinds;
    weft_compare_kind *kind; /**< [n_kinds]                */
    int64_t n_matched;       /**< ops in both              */
    double mean_abs_error;   /**< mean |b - a| / b of the matched ops, b = 0 left out */
    int n_worst;
    weft_compare_op *worst; /**< [n_worst] by |b - a|, largest first */
    int64_t n_missing;      /**< ops of one trace that the other lacks */
    int n_named;
    weft_compare_op *named; /**< [n_named] the first of them; a or b is NaN: lacks it */
} weft_compare;

/**
 * Subtract two traces op by op. Ops pair by (rank, kind, slice, chunk, micro-batch);
 * with several steps a trace's value of an op is its median over them.
 *
 * @return WEFT_OK; WEFT_E_MISMATCH when the rank counts differ; WEFT_E_INVALID for a
 *         trace without ops. Ops missing on one side are no failure: see n_missing.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_compare(const weft_trace *a,
                                                        const weft_trace *b,
                                                        weft_compare *out);
WEFT_API void weft_compare_clear(weft_compare *c);
WEFT_API void weft_compare_write_text(const weft_compare *c, weft_writer *out);
WEFT_API void weft_compare_write_json(const weft_compare *c, weft_writer *out);

WEFT_END
#endif
