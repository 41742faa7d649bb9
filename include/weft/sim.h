/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/sim.h  Simulate a schedule: weft_schedule_eval() writing a trace. */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <weft/trace.h>

WEFT_BEGIN

/** Compute and (latency > 0) SEND entries into `trace` (initialised by this call; may be
 *  NULL for a summary only), the summary into `out`. */
WEFT_API WEFT_MUST_CHECK weft_status weft_simulate(const weft_schedule *s,
                                                   const weft_costs *costs,
                                                   weft_trace *trace, weft_eval *out);

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
