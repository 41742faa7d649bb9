/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/nn.h
 * A chunk: the consecutive layers of a GPT-2 that one pipeline rank runs as one op, with
 * the embedding before them or the output layer and the loss after them where it holds
 * these. Pre-norm blocks, tanh GELU, learned positions (Radford et al. 2019).
 *
 * forward(micro) keeps what backward needs until backward(micro). backward_input gives
 * the gradient of the input and keeps the output gradients that backward_weight needs;
 * backward does both and lets f's all-reduce run under the weight gradients. Weight
 * gradients accumulate over micro-batches in one buffer of the accumulation type, in the
 * order in which a backward finishes them, so that the gradient reduction can start on
 * its front while the rest is computed.
 */
#ifndef WEFT_RUN_NN_H
#define WEFT_RUN_NN_H

#include <weft/arch.h>
#include <weft/run/shard.h>

WEFT_BEGIN

/** One tensor as this rank holds it. */
typedef struct weft_param {
    weft_tensor_info info;
    int64_t size[2]; /**< local shape, padded vocabulary rows included         */
    int64_t count;   /**< elements                                             */
    int64_t at;      /**< first element in the chunk's buffers                 */
    void *w;         /**< [count] tensor type                                  */
    void *g;         /**< [count] accumulation type                            */
    int first_copy;  /**< 0: the tied copy of a tensor that the first stage counts */
} weft_param;

typedef struct weft_chunk_config {
    const weft_arch *arch;
    int64_t first_layer, n_layers;
    int has_embed, has_head;
    int64_t padded_vocab;
    int64_t batch, seq; /**< micro-batch: batch sequences of seq tokens    */
    int64_t n_micro;    /**< micro-batches that may be in flight: 0..n-1   */
    uint64_t seed;
    /** Bit-exact mode (f64 only): integer weights; clamps of +-exact in place of norm,
     *  GELU and softmax; an integer-weighted loss. 0 = off. */
    double exact;
    int random_all; /**< tests: biases and norms random too, nothing at 0 or 1 */
} weft_chunk_config;

typedef struct weft_saved weft_saved;

typedef struct weft_chunk {
    weft_chunk_config cfg;
    weft_shard sh;
    weft_vocab_shard vocab;
    int n_params;
    weft_param *param; /**< in the order in which backward finishes them */
    int64_t n_elems;
    void *w_all, *g_all;
    int *index;         /**< [n_layers + 2][WEFT_N_ROLES] -> param, -1: not here */
    weft_saved **saved; /**< [n_micro] */
    int32_t *position;  /**< [T] */
    int64_t clamped, clampable; /**< bit-exact mode: elements outside, in all */
    double largest;             /**< bit-exact mode: bound on every sum formed      */
} weft_chunk;

/** Parameters are taken from the arena (PARAM, GRAD) and initialised from (seed, tensor
 *  name, logical index), so every layout starts from the same model. Gradients are zero. */
WEFT_API WEFT_MUST_CHECK weft_status weft_chunk_create(const weft_chunk_config *cfg,
                                                       const weft_shard *sh,
                                                       weft_chunk *out);
WEFT_API void weft_chunk_clear(weft_chunk *c);

/** Run with other weights, in the same order as w_all, until told otherwise. Borrowed. */
WEFT_API void weft_chunk_use_weights(weft_chunk *c, void *w_all);
WEFT_API void weft_chunk_zero_grads(weft_chunk *c);

/** Tensor of a role, layer as in weft_tensor_info; NULL when this chunk has none. */
WEFT_API weft_param *weft_chunk_param(const weft_chunk *c, weft_role role,
                                      int64_t layer);

/**
 * Forward of one micro-batch.
 *
 * @param[in]  tokens   [T], read when has_embed (copied)
 * @param[in]  targets  [T], read when has_head (copied); < 0 = ignored
 * @param[in]  x_in     [T, h] same, a block of the arena that the chunk takes over; NULL
 *                      when has_embed
 * @param[out] x_out    [T, h] same, a block that the caller owns; untouched when has_head
 * @param[out] loss_sum added to when has_head: sum over valid targets, in nats
 * Collectives over TP: 2 a layer, 1 for the embedding, 2 small ones for the loss.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_chunk_forward(weft_chunk *c, int64_t micro,
                                                        const int32_t *tokens,
                                                        const int32_t *targets,
                                                        void *x_in, void **x_out,
                                                        double *loss_sum);
/** Forward that keeps nothing; with has_head and logits != NULL the logits [T, V/tp] of the
 *  micro-batch are left in *logits, a block that the caller owns. */
WEFT_API WEFT_MUST_CHECK weft_status weft_chunk_infer(weft_chunk *c,
                                                      const int32_t *tokens,
                                                      const int32_t *targets,
                                                      void *x_in, void **x_out,
                                                      double *loss_sum, void **logits);

/** Called when parameters 0 .. n_done-1 of this backward are finished. */
typedef weft_status weft_grads_ready(void *ctx, int n_done);

/**
 * Full backward (input and weight gradients).
 *
 * @param[in]  scale   of the loss: 1 / valid tokens of the global batch
 * @param[in]  dy      [T, h] same, taken over; NULL when has_head
 * @param[out] dx      [T, h] same, caller owns; untouched when has_embed
 * @param[in]  ready   may be NULL
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_chunk_backward(weft_chunk *c, int64_t micro,
                                                         double scale, void *dy,
                                                         void **dx,
                                                         weft_grads_ready *ready,
                                                         void *ctx);
/** Input gradient only; what the weight gradient needs stays until ... */
WEFT_API WEFT_MUST_CHECK weft_status weft_chunk_backward_input(weft_chunk *c,
                                                               int64_t micro,
                                                               double scale, void *dy,
                                                               void **dx);
/** ... this. */
WEFT_API WEFT_MUST_CHECK weft_status weft_chunk_backward_weight(weft_chunk *c,
                                                                int64_t micro,
                                                                weft_grads_ready *ready,
                                                                void *ctx);

/** Local element `local` + i <-> logical element `logical` + i, for i < n. */
typedef weft_status weft_shard_run_fn(void *ctx, int64_t local, int64_t logical,
                                      int64_t n);
/** All runs of a tensor on one TP rank, ascending in local; padding is left out. */
WEFT_API WEFT_MUST_CHECK weft_status weft_shard_runs(const weft_tensor_info *info,
                                                     int tp_size, int tp_rank,
                                                     int64_t padded_vocab,
                                                     weft_shard_run_fn *fn, void *ctx);

WEFT_END
#endif
