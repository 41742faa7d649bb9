/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/shard.h
 * Operators split over the tensor-parallel group (Shoeybi et al. 2019, section 3).
 *
 * f and g are conjugate: f is the identity forward and an all-reduce backward, g the
 * reverse. Placements on the TP axis are written [T, n/tp] split, [T, h] same,
 * [T, h]+tp partial sum; every operator checks the placement of its inputs and fails
 * with WEFT_E_MISMATCH, so a forgotten or doubled reduction cannot pass silently.
 *
 * T = tokens of a micro-batch (batch * seq), h = hidden, P = type of a partial sum:
 * the tensor type when tp = 1, else its accumulation type (bf16 is never reduced).
 */
#ifndef WEFT_RUN_SHARD_H
#define WEFT_RUN_SHARD_H

#include <weft/run/comm.h>
#include <weft/run/kernel.h>

WEFT_BEGIN

/** What a rank knows of the split it takes part in. Borrowed pointers. */
typedef struct weft_shard {
    weft_kctx *k;
    weft_comm *comm;
    weft_arena *arena;
    weft_group *tp; /**< NULL or the TP group of this rank */
    weft_dtype t;   /**< tensor type                       */
    double
        *largest; /**< bit-exact mode: raised to a bound on every sum a product forms;
                          NULL otherwise */
} weft_shard;

/** weft_k_gemm(), and the bound above. Every product of the layers goes through here. */
WEFT_API WEFT_MUST_CHECK weft_status weft_product(const weft_shard *s,
                                                  const weft_gemm *g);

WEFT_API weft_dtype weft_partial_type(const weft_shard *s);

/** A view without placement on any axis (same everywhere). */
WEFT_API weft_view weft_view_of(void *data, weft_dtype t, int64_t rows, int64_t cols);
/** Same, split over TP along dim, or partial over TP. */
WEFT_API weft_view weft_view_split(void *data, weft_dtype t, int64_t rows, int64_t cols,
                                   int dim);
WEFT_API weft_view weft_view_partial(void *data, weft_dtype t, int64_t rows,
                                     int64_t cols);

/** Start partial -> same: the all-reduce of g (forward) and of f (backward), in place.
 *  Sends rows*cols values; the view is `same` only after weft_reduce_finish(). */
WEFT_API WEFT_MUST_CHECK weft_status weft_reduce_start(const weft_shard *s,
                                                       weft_purpose why,
                                                       weft_view *partial,
                                                       weft_event *ev);
WEFT_API WEFT_MUST_CHECK weft_status weft_reduce_finish(const weft_shard *s,
                                                        weft_view *partial,
                                                        weft_event *ev);

/** Column-parallel linear: y = x W^T.  x [T, h] same; w [n/tp, h]; y [T, n/tp] split. */
WEFT_API WEFT_MUST_CHECK weft_status weft_column_forward(const weft_shard *s,
                                                         const weft_view *x,
                                                         const void *w, weft_view *y);
/** dx [T, h]+tp of type P = dy W: f's backward reduction is the caller's (it overlaps). */
WEFT_API WEFT_MUST_CHECK weft_status weft_column_backward_input(const weft_shard *s,
                                                                const weft_view *dy,
                                                                const void *w,
                                                                weft_view *dx);
/** dw [n/tp, h] += dy^T x, db [n/tp] += column sums of dy (db may be NULL). Local. */
WEFT_API WEFT_MUST_CHECK weft_status weft_column_backward_weight(const weft_shard *s,
                                                                 const weft_view *x,
                                                                 const weft_view *dy,
                                                                 void *dw, void *db);

/** Row-parallel linear: z = y W^T.  y [T, k/tp] split; w [h, k/tp]; z [T, h]+tp of type P. */
WEFT_API WEFT_MUST_CHECK weft_status weft_row_forward(const weft_shard *s,
                                                      const weft_view *y, const void *w,
                                                      weft_view *z);
/** dy [T, k/tp] split = dz W.  dz [T, h] same. Local. */
WEFT_API WEFT_MUST_CHECK weft_status weft_row_backward_input(const weft_shard *s,
                                                             const weft_view *dz,
                                                             const void *w,
                                                             weft_view *dy);
/** dw [h, k/tp] += dz^T y; db [h] += column sums of dz, the same on every TP rank: the
 *  bias belongs to the sum, so it is added once, after g. Local. */
WEFT_API WEFT_MUST_CHECK weft_status weft_row_backward_weight(const weft_shard *s,
                                                              const weft_view *y,
                                                              const weft_view *dz,
                                                              void *dw, void *db);

/** The rows of a padded vocabulary that this TP rank holds. */
typedef struct weft_vocab_shard {
    int64_t first; /**< first vocabulary row                                  */
    int64_t rows;  /**< rows held, padding included (padded vocabulary / tp)  */
    int64_t count; /**< of these, rows that are real words                    */
} weft_vocab_shard;
WEFT_API weft_vocab_shard weft_vocab_shard_of(const weft_shard *s, int64_t vocab,
                                              int64_t padded);

/** Vocab-parallel embedding. out [T, h] of type P, same after the reduction inside. */
WEFT_API WEFT_MUST_CHECK weft_status weft_vocab_embed(const weft_shard *s,
                                                      weft_vocab_shard v,
                                                      const int32_t *tokens,
                                                      const void *w, weft_view *out);

/** What the loss of a micro-batch keeps until its backward. Arrays [T] of the accumulation
 *  type, taken from the arena's LOGITS. */
typedef struct weft_ce {
    void *max, *sum;
} weft_ce;

/**
 * Vocab-parallel cross-entropy (lesson 1, section 3; Megatron-LM, section 3). logits
 * [T, V/tp] split. Only max, sum and target cross the TP group: 3 numbers a token, in two
 * all-reduces; logits are never gathered. *loss_sum = sum over valid targets (>= 0), in
 * nats, the same on every TP rank.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_ce_forward(const weft_shard *s,
                                                     weft_vocab_shard v,
                                                     const weft_view *logits,
                                                     const int32_t *targets,
                                                     weft_ce *saved, double *loss_sum);
/** logits := d(scale * loss_sum)/d logits. Local. Frees `saved`. */
WEFT_API WEFT_MUST_CHECK weft_status weft_ce_backward(const weft_shard *s,
                                                      weft_vocab_shard v,
                                                      const int32_t *targets,
                                                      double scale, weft_ce *saved,
                                                      weft_view *logits);

WEFT_END
#endif
