/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/sim.h  Simulate a schedule: weft_schedule_eval() writing a trace. */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <weft/trace.h>

WEFT_BEGIN

/** Compute entries and those of messages that take time into `trace` (initialised by this call; may be
 *  NULL for a summary only), the summary into `out`. */
WEFT_API WEFT_MUST_CHECK weft_status weft_simulate(const weft_schedule *s,
                                                   const weft_costs *costs,
                                                   weft_trace *trace, weft_eval *out);

/** When may a rank change its weights at the end of a step? What it waits for: */
typedef enum weft_sync {
    /** the last gradient of all ranks (a norm or a check for overflow over all of them) */
    WEFT_SYNC_GLOBAL,
    /** its own last gradient and the part of the norm that the rank before sends once it has
     *  what it waits for, latency later; the rest is validated in the next warm-up (Qi et
     *  al. 2023, Zero Bubble, section 4) */
    WEFT_SYNC_CHAIN,
    WEFT_SYNC_NONE /**< its own last gradient */
} weft_sync;
/* Where two pipelines hold a stage (bidir, bidirv) its own gradient is that of both ranks. */

/** Bytes that ops keep, a list by stage each ([weft_schedule_stages()]); NULL is 0. */
typedef struct weft_sim_bytes {
    const double *free_i; /**< kept from the start of F to the end of I (or B) */
    const double *free_w; /**< kept from the start of F to the end of W (or B) */
    const double *temp[WEFT_OP_N_COMPUTE]; /**< kept only while an op of a kind runs */
    double limit;             /**< of each rank, for weft_sim.first_over; 0: none */
    const double *rank_limit; /**< [p] in place of limit */
} weft_sim_bytes;

/** Zeroed: one step, no optimizer, no bytes. */
typedef struct weft_sim_options {
    int steps; /**< back to back; 0 is 1 */
    /** [p] time of the change of the weights at the end of a step; of an asynchronous kind
     *  after each backward. NULL: 0. */
    const double *optimizer;
    weft_sync sync; /**< asynchronous and forward-only schedules have none */
    const weft_sim_bytes *bytes;
} weft_sim_options;

/** What a rank holds while an op runs, and the op's start. */
typedef struct weft_sim_held {
    double bytes, at;
    weft_op op;
} weft_sim_held;

typedef struct weft_sim {
    weft_eval eval; /**< of all steps; busy holds the optimizer too */
    int steps;
    double *step_end; /**< [steps] last end of any rank */
    /** Time from step to step: exact from step `steady_from` on, where each `period` steps
     *  repeat those before at every op. period 0: not seen in so few steps, and step_time
     *  is a mean of the last half; for one step, its length. */
    double step_time;
    int period, steady_from;
    weft_sim_held
        *peak; /**< [p] the most, first time; NULL where no bytes were given */
    weft_sim_held
        *first_over; /**< [p] first above the limit; bytes 0: never. As peak       */
} weft_sim;

/**
 * Steps of a schedule back to back: a rank begins the next one when it has changed its
 * weights. An asynchronous schedule (pipedream) is never flushed: its n steps are one list
 * of n*m micro-batches. `trace` (may be NULL) is initialised by this call; with bytes it
 * has levels too. A forward-only schedule frees what F keeps at its end.
 *
 * @return as weft_schedule_eval(); WEFT_E_INVALID for options out of range or an optimizer
 *         without gradients.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_simulate_steps(const weft_schedule *s,
                                                         const weft_costs *costs,
                                                         const weft_sim_options *o,
                                                         weft_trace *trace,
                                                         weft_sim *out);
WEFT_API void weft_sim_clear(weft_sim *r);

/**
 * Can a timeline be one of this schedule? In entries of `step` on the compute lane each
 * rank's ops are those of its list, in order, none starts before the one before it ends,
 * nor before its input ends on the rank that makes it; `slack` (0 for a simulated trace)
 * is forgiven. For user-given timelines, and for measured ones with one pipeline.
 * @return WEFT_OK; WEFT_E_INFEASIBLE that names the op and both times; WEFT_E_MISMATCH if
 *         the numbers of ranks differ.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_simulate_check(const weft_schedule *s,
                                                         const weft_trace *trace,
                                                         int step, double slack);

/** Fill dur [p][v][WEFT_OP_N_COMPUTE] from the times of a full stage, 1/p of the model:
 *  an op takes its part of them, p/weft_schedule_stages() (1/v unless bidir; per_op = 0),
 *  or the given time itself (per_op = 1). A recompute costs a forward. */
WEFT_API void weft_costs_uniform(const weft_schedule *s, double tf, double tb,
                                 double ti, double tw, int per_op, double *dur);
/** Same from unequal times; the arrays have n items. n = weft_schedule_stages(): the time
 *  of an op on that stage. n = p where there are more stages: full-stage times of each
 *  rank, of which an op takes its part. ti and tw may be NULL (tb/2 each).
 *  @return WEFT_OK; WEFT_E_MISMATCH for another n. */
WEFT_API WEFT_MUST_CHECK weft_status weft_costs_by_stage(const weft_schedule *s, int n,
                                                         const double *tf,
                                                         const double *tb,
                                                         const double *ti,
                                                         const double *tw, double *dur);

WEFT_END
#endif
