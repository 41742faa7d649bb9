/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/exec.h
 * Runs a schedule: the same object that is drawn and simulated, lowered, op by op. An op
 * becomes a chunk's forward or backward plus the receives and sends that lowering put
 * around it; there is no second order anywhere. What happened goes into a trace.
 */
#ifndef WEFT_RUN_EXEC_H
#define WEFT_RUN_EXEC_H

#include <weft/run/nn.h>
#include <weft/trace.h>

WEFT_BEGIN

typedef struct weft_exec weft_exec;

typedef struct weft_exec_config {
    const weft_schedule
        *schedule; /**< as generated; lowered inside                     */
    weft_comm *comm;
    weft_arena *arena;
    weft_chunk *chunk;    /**< [v] of this rank                                       */
    int pp_rank;          /**< rank of the schedule that this rank plays              */
    const int *comm_rank; /**< [p] comm rank of each rank of the schedule             */
    /** tests: [v][WEFT_OP_N_COMPUTE] seconds an op shall take (it sleeps to an absolute
     *  deadline after computing), or NULL */
    const double *op_s;
    weft_trace *trace;  /**< measured entries of this rank, or NULL                 */
    int32_t trace_rank; /**< rank written into them                                 */
} weft_exec_config;

/** Tokens and targets [T] of a micro-batch of this rank. */
typedef void weft_batch_fn(void *ctx, int64_t micro, int32_t *tokens, int32_t *targets);

typedef struct weft_exec_step {
    int64_t step;
    weft_batch_fn *batch;
    void *batch_ctx;
    double scale;              /**< of the loss, in the backward */
    const double *micro_scale; /**< [m] in place of it, or NULL  */
    /** The last backward of a chunk in this step finished parameters 0..n_done-1 of it. */
    weft_status (*ready)(void *ctx, int chunk, int n_done);
    /** Asynchronous schedules: after each backward, before the next op. The chunk's gradient
     *  is that of this micro-batch alone (ready() has told of it), its weights are the
     *  newest and may be written: w_all keeps its place until the next forward. */
    weft_status (*update)(void *ctx, int chunk, int64_t micro);
    void *ready_ctx; /**< of both */
} weft_exec_step;

typedef struct weft_exec_result {
    double loss_sum; /**< over this rank's last stage, 0 elsewhere              */
    double start_s, end_s, busy_s; /**< monotonic: first op, last op, compute   */
} weft_exec_result;

/** Refuses by name what cannot run: recomputation, and a split backward of a schedule that
 *  updates after each. A shape without ops (weft_schedule_shape()) passes. */
WEFT_API WEFT_MUST_CHECK weft_status weft_exec_check(const weft_schedule *s);
/** Refuses what weft_exec_check() does. An overlapped pair runs one op after the other.
 *  Under an asynchronous kind (pipedream) a backward takes the weights that its forward saw:
 *  up to weft_schedule_weight_copies() versions of them, taken from the arena (PARAM) when
 *  an update has to leave one as it is, given back after the last backward that needs it.
 *  Buffers for messages, as many as weft_schedule_buffers() finds, are set aside in the arena
 *  (COMM) until the end: COMM holds them between and in steps, whenever neighbours come. */
WEFT_API WEFT_MUST_CHECK weft_status weft_exec_create(const weft_exec_config *cfg,
                                                      weft_exec **out);
WEFT_API void weft_exec_destroy(weft_exec *e);
/** Record into another trace from now on; NULL = stop. */
WEFT_API void weft_exec_set_trace(weft_exec *e, weft_trace *trace);

/** One training step: every op of the schedule. */
WEFT_API WEFT_MUST_CHECK weft_status weft_exec_train(weft_exec *e,
                                                     const weft_exec_step *s,
                                                     weft_exec_result *r);
/** Forward only, micro-batches 0 .. n_micro-1: the kind "forward" where the placement is
 *  single or loop, else the schedule's own F ops in their order. With
 *  logits != NULL (n_micro 1) the last stage's logits [T, V/tp] are left there, a block. */
WEFT_API WEFT_MUST_CHECK weft_status weft_exec_forward(weft_exec *e,
                                                       const weft_exec_step *s,
                                                       int64_t n_micro, void **logits,
                                                       weft_exec_result *r);

/** Monotonic seconds. */
WEFT_API double weft_now_s(void);
/** Add a measured entry to a trace; label NULL = op. No-op when trace is NULL. */
WEFT_API WEFT_MUST_CHECK weft_status weft_trace_measured(
    weft_trace *t, int32_t rank, int64_t step, weft_lane lane, const char *label,
    const weft_op *op, double start_s, double end_s, int64_t bytes);

WEFT_END
#endif
