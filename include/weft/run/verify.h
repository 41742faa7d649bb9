/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/verify.h
 * Proves a split run equal to the unsplit one: the same steps from the same seed and data
 * on one rank and under a layout; loss, every gradient and every weight compared.
 *
 * Every rank compares the elements that it holds with the unsplit run, which each process
 * computes for itself, so nothing is gathered and nothing is compared through the code
 * under test but the final maximum.
 */
#ifndef WEFT_RUN_VERIFY_H
#define WEFT_RUN_VERIFY_H

#include <weft/run/train.h>

WEFT_BEGIN

/** A tensor, or one of its segments (q, k, v apart). */
typedef struct weft_verify_row {
    char tensor[40];
    char segment[4];
    double grad_diff, grad_ref;     /**< max|a-b| over all steps, max|ref|     */
    double weight_diff, weight_ref; /**< after the last step                   */
    int ok;
} weft_verify_row;

typedef struct weft_verify_report {
    int n_rows;
    weft_verify_row *row;
    double loss_diff, loss_ref; /**< largest over the steps              */
    double norm_diff, norm_ref;
    double worst;      /**< largest diff / allowed; <= 1 is equal */
    char worst_at[64]; /**< "loss", "h.0.attn.qkv.weight k", ... */
    int equal;
} weft_verify_report;

/** The unsplit run. */
typedef struct weft_reference weft_reference;

/**
 * cfg's layout gives micro_batch, seq and global_batch; its degrees are not looked at.
 * The run uses one rank and micro-batches of the same size.
 *
 * For an asynchronous schedule (pipedream) it is a serial program that applies the same
 * late updates: mini-batch i of a step, those micro-batches that the replicas run at the
 * same time, uses each stage's weights after update max(0, i - d) of the step in forward
 * and backward, d = weft_schedule_weight_copies() - 1 of the stage, and its gradient goes
 * to the newest. So schedule, pp, dp and stage_layers count too.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_reference_create(const weft_train_config *cfg,
                                                           const weft_data *data,
                                                           int steps,
                                                           weft_reference **out);
WEFT_API void weft_reference_destroy(weft_reference *ref);
/** Bit-exact mode: which share of the clamped values was outside the clamp, and a bound on
 *  every sum that was formed (exact while it is below 2^53). */
WEFT_API void weft_reference_exactness(const weft_reference *ref, double *saturated,
                                       double *largest);
/** Does it serve the layout? Any with the same global batch; for an asynchronous schedule
 *  those with the same stages, replicas and micro-batch. WEFT_E_MISMATCH says what differs. */
WEFT_API WEFT_MUST_CHECK weft_status weft_reference_check(const weft_reference *ref,
                                                          const weft_layout *l);

/**
 * Collective over comm. tolerance 0: 1e-11 in f64, 2e-3 in f32, 2e-1 in bf16; an element
 * may differ by tolerance * max(max|ref| of its tensor, 1e-3 * max|ref| over all).
 * Bit-exact mode: a gradient norm whose square is past 2^53 rounds, and may differ by 1e-11 of
 * it.
 * The report is the same on every rank; clear it. A difference is not a failure: look at
 * report->equal.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_verify_layout(
    weft_comm *comm, const weft_train_config *cfg, const weft_data *data,
    const weft_reference *ref, double tolerance, weft_verify_report *report);
WEFT_API void weft_verify_report_clear(weft_verify_report *r);

/** One layout of the walk over all of them. */
typedef struct weft_verify_case {
    weft_layout layout;
    int world;
} weft_verify_case;

/**
 * Every legal (tp, pp, dp, vpp, schedule, placement, m) with tp*pp*dp <= max_world and
 * 1 <= m <= max_micro for this model. covering: only a subset in which every pair of
 * values that occurs together in a legal case occurs together in a chosen one.
 * *cases is allocated; free with weft_verify_cases_free().
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_verify_cases(const weft_arch *arch,
                                                       int64_t seq, int max_world,
                                                       int max_micro, int covering,
                                                       weft_verify_case **cases,
                                                       int *n);
/** The same for other kinds: names apart by ','; "all" is every kind that the executor
 *  runs. NULL: the kinds above, 1f1b, gpipe and interleaved. */
WEFT_API WEFT_MUST_CHECK weft_status weft_verify_cases_of(
    const char *kinds, const weft_arch *arch, int64_t seq, int max_world, int max_micro,
    int covering, weft_verify_case **cases, int *n);
WEFT_API void weft_verify_cases_free(weft_verify_case *cases);

WEFT_END
#endif
