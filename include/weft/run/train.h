/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/train.h
 * One rank of a training run: chunks, gradients, optimizer and data under one layout.
 *
 * Loss = sum over valid tokens / number of valid tokens of the global batch, whatever m
 * and dp are. Each replica's gradient carries that scale, so the data-parallel reduction
 * is a plain sum. It runs in buckets, in the order in which the last backward of a chunk
 * finishes its parameters, and overlaps that backward. Tied embeddings on the first and
 * the last stage are summed once a step. The gradient norm counts every logical element
 * once. Where two pipelines run in opposite directions (dualpipe, chimera, bitpipe), a
 * stage's two ranks and their replicas sum its gradient as one group.
 *
 * An asynchronous schedule (pipedream) takes each micro-batch of all replicas as a mini-
 * batch: its loss is scaled by its own valid tokens, and each stage updates its weights
 * right after its backward, with the learning rate of the step. A step is m such updates
 * and ends drained, so that evaluations see one set of weights.
 */
#ifndef WEFT_RUN_TRAIN_H
#define WEFT_RUN_TRAIN_H

#include <weft/layout.h>
#include <weft/run/data.h>
#include <weft/run/exec.h>
#include <weft/run/optim.h>

WEFT_BEGIN

typedef enum weft_optimizer { WEFT_ADAMW, WEFT_SGD } weft_optimizer;

typedef struct weft_train_config {
    weft_arch arch;
    weft_layout layout; /**< resolved and checked                              */
    weft_dtype dtype;
    weft_backend backend;
    int threads; /**< OpenMP threads of a rank                          */
    uint64_t seed;
    weft_optimizer optimizer;
    weft_lr lr;
    double weight_decay, beta1, beta2, eps;
    double clip_grad;     /**< global norm; 0 = no clipping                      */
    int64_t bucket_bytes; /**< gradient bucket; 0 = 25 MB                        */
    int64_t memory_limit_bytes; /**< of one rank; 0 = none                           */
    double exact; /**< bit-exact mode, see weft_chunk_config             */
    int random_all;
    const double *op_s; /**< injected op times [pp][vpp][WEFT_OP_N_COMPUTE]    */
    int trace;          /**< record steps ...                                  */
    int64_t trace_from; /**< ... from this one on                              */
    int64_t trace_last; /**< of them only the last ones that ran; 0: all       */
} weft_train_config;

/** What a layout alone does not tell: an asynchronous schedule (pipedream) has no norm to
 *  clip by and no tied embeddings. Before weft_engine_create(), which refuses it too. */
WEFT_API WEFT_MUST_CHECK weft_status weft_train_check(const weft_train_config *c);

/** Defaults as cli.md: adamw 0.9 0.95 1e-8, decay 0.1, clip 1, lr 3e-4 cosine. */
WEFT_API void weft_train_defaults(weft_train_config *c);

typedef struct weft_engine weft_engine;

typedef struct weft_step_result {
    int64_t step;     /**< from 0                                            */
    double loss;      /**< nats per valid token, the same on every rank      */
    double grad_norm; /**< before clipping; asynchronous: of the last micro-batch */
    double lr;
    double step_time_s;
    double tokens_per_s;
    double bubble_measured; /**< mean over pipeline ranks: 1 - compute / (last op end -
                                 step start)                                  */
    int64_t consumed;       /**< samples after this step                           */
} weft_step_result;

/** Collective over comm, whose size is the world of the layout. data: shared, borrowed. */
WEFT_API WEFT_MUST_CHECK weft_status weft_engine_create(weft_comm *comm,
                                                        const weft_train_config *cfg,
                                                        const weft_data *data,
                                                        weft_engine **out);
WEFT_API void weft_engine_destroy(weft_engine *e);

/** One optimizer step over the next global batch. WEFT_E_NUMERIC names tensor, rank and
 *  step when the loss or a gradient is not finite; nothing is updated then. */
WEFT_API WEFT_MUST_CHECK weft_status weft_engine_step(weft_engine *e,
                                                      weft_step_result *r);
/** Loss of `iters` global batches of the held-out part; changes nothing else. */
WEFT_API WEFT_MUST_CHECK weft_status weft_engine_evaluate(weft_engine *e, int64_t iters,
                                                          double *loss);
/** Sample n_new tokens after the prompt (the last seq-1 tokens of what is there condition
 *  the next), vocab-parallel: logits are never gathered (Gumbel-max over the shards).
 *  temperature 0 = most likely. tokens: [n_prompt + n_new], filled on every rank. */
WEFT_API WEFT_MUST_CHECK weft_status
weft_engine_generate(weft_engine *e, int32_t *tokens, int64_t n_prompt, int64_t n_new,
                     double temperature, uint64_t seed);

WEFT_API int weft_engine_n_chunks(const weft_engine *e);
WEFT_API weft_chunk *weft_engine_chunk(const weft_engine *e, int chunk);
WEFT_API weft_arena *weft_engine_arena(const weft_engine *e);
WEFT_API const weft_schedule *weft_engine_schedule(const weft_engine *e);
WEFT_API const weft_mesh *weft_engine_mesh(const weft_engine *e);
WEFT_API weft_kctx *weft_engine_kctx(const weft_engine *e);
/** Measured trace of this rank, in weft_now_s(); NULL unless cfg.trace. */
WEFT_API const weft_trace *weft_engine_trace(const weft_engine *e);
/** Every rank's trace in one, on rank 0 (others get an empty one), from the start of the
 *  first recorded step. Ranks of one machine share a clock; those of others are aligned by
 *  the start of that step. Collective. */
WEFT_API WEFT_MUST_CHECK weft_status weft_engine_gather_trace(weft_engine *e,
                                                              weft_trace *out);

/** Bytes of parameters, gradients, optimizer state that a rank of this layout holds, as
 *  the engine would take them: --dry-run, and the check before anything starts. Where the
 *  schedule keeps versions of the weights (pipedream), of as many as it may need. */
typedef struct weft_rank_bytes {
    int64_t params, grads, optimizer;
    int64_t n_params; /**< elements */
} weft_rank_bytes;
WEFT_API void weft_train_rank_bytes(const weft_train_config *c, int rank,
                                    weft_rank_bytes *out);

WEFT_END
#endif
