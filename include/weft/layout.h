/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/layout.h
 * One point of the search space, and every divisibility rule in one table that names
 * the rule, the flag and the nearest legal values.
 */
#ifndef WEFT_LAYOUT_H
#define WEFT_LAYOUT_H

#include <weft/arch.h>
#include <weft/mesh.h>
#include <weft/schedule.h>

WEFT_BEGIN

typedef struct weft_layout {
    int32_t tp, cp, pp, dp; /**< degrees; 0 = not given, see weft_layout_resolve()  */
    int32_t ep;             /**< experts are shared by so many ranks next to each other
                                 on the dp axis; takes no ranks of its own          */
    int32_t vpp;            /**< chunks per pipeline rank                           */
    int32_t zero;           /**< ZeRO stage                                         */
    int32_t replicate;    /**< HSDP: copies of what ZeRO shards; dp / replicate shards,
                                 ranks next to each other on the dp axis            */
    int32_t sp;           /**< sequence parallelism                               */
    int32_t group;        /**< interleaved: micro-batches per group; 0 = default  */
    int64_t micro_batch;  /**< sequences                                          */
    int64_t global_batch; /**< sequences per step                                 */
    int64_t seq;          /**< tokens per sequence                                */
    int64_t vocab_multiple; /**< make-vocab-size-divisible-by: padded to this * tp  */
    char schedule[16];      /**< kind                                               */
    char placement[8];      /**< which rank and chunk holds which stage: "auto", or a
                                 name of weft_placement_name() that the kind takes  */
    char order[24];         /**< "tp,cp,pp,dp", fastest first                       */
    char cp_comm[16];       /**< "ring", "allgather", "ulysses"                     */
    char recompute[64];     /**< "none", "selective" (the scores where they are stored;
                                 with fused attention, which stores none, what no matmul
                                 made: outputs of norms and of the MLP's activation),
                                 "full" (each layer), or a list of these, one a virtual
                                 stage, "full*4,none*4"                             */
    char stage_layers[256]; /**< "even", "balanced", or what weft_stages_read() takes */
} weft_layout;

/** tp, pp, dp, global_batch and seq not given (0); cp and vpp 1, micro_batch 1, 1f1b placed
 *  as it is (auto), order tp,cp,pp,dp, vocab_multiple 128, stages of even size. */
WEFT_API void weft_layout_defaults(weft_layout *l);
/** Set one field by its flag name ("tp", "micro-batch", "schedule", ...) or Megatron-LM's
 *  ("micro-batch-size", ...) from text. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_set(weft_layout *l, const char *field,
                                                     const char *value);
/** Derive the one missing degree from the world size (0: world = product, missing = 1).
 *  Without dp that one is dp, and tp and pp are 1 unless given. *derived (may be NULL)
 *  names the axis that was derived, or is NULL. The layout is unchanged on failure. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_resolve(weft_layout *l, int world,
                                                         const char **derived);
/** Every rule of the table for a model that weft_arch_check() has passed: the first broken
 *  one is reported with flag, numbers and nearest legal values. A layout that passes can be
 *  trained by this version. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_check(const weft_layout *l,
                                                       const weft_arch *a);
/** The same two for layouts that are planned, not run here: every option counts, those too
 *  that this version cannot train with. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_plan_set(weft_layout *l,
                                                          const char *field,
                                                          const char *value);
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_plan_check(const weft_layout *l,
                                                            const weft_arch *a);
/** What a virtual stage recomputes, from the layout's text. */
WEFT_API weft_recompute weft_layout_recompute(const weft_layout *l, int stage);
/** The rules, for docs and tests. */
WEFT_API int weft_layout_rule_count(void);
WEFT_API const char *weft_layout_rule_name(int i);
WEFT_API const char *weft_layout_rule_text(int i);

WEFT_API int weft_layout_world(const weft_layout *l);
WEFT_API int64_t weft_layout_n_micro(const weft_layout *l); /**< global/(micro*dp) */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_mesh(const weft_layout *l,
                                                      weft_mesh *out);
/** Options of the layout's schedule: its group; its placement, or where that is "auto"
 *  weft_schedule_kind_placement(). */
WEFT_API weft_schedule_options weft_layout_schedule_options(const weft_layout *l);
/** The layout's schedule without its ops: which (pipeline rank, chunk) holds which stage. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_shape(const weft_layout *l,
                                                       weft_schedule *out);
/** Layers of a stage (virtual stages: pp*vpp of them, half of that where two pipelines in
 *  opposite directions hold each twice; in their order): contiguous; as many
 *  on each, balanced by the forward FLOPs of layers, embedding and output layer, or as
 *  stage_layers states them. A stage may hold none if it says so. */
WEFT_API void weft_layout_stage_layers(const weft_layout *l, const weft_arch *a,
                                       int stage, int64_t *first, int64_t *count);
/** Of a checked layout: "balanced" becomes the counts that it means for this model, so that
 *  text and JSON show them. */
WEFT_API void weft_layout_settle_stages(weft_layout *l, const weft_arch *a);
/** Padded vocabulary: smallest multiple of vocab_multiple*tp that holds a->vocab. */
WEFT_API int64_t weft_layout_padded_vocab(const weft_layout *l, const weft_arch *a);
/** Local shape of a tensor on one TP rank (padded vocabulary rows included). Every TP rank
 *  has the same; segments are split apart, so a rank holds 1/tp of each. */
WEFT_API void weft_layout_shard_size(const weft_layout *l, const weft_arch *a,
                                     const weft_tensor_info *t, int64_t size[2]);
WEFT_API void weft_layout_write_json(const weft_layout *l, weft_writer *out);
/** "tp=2 pp=2 dp=2 vpp=1 1f1b m=4", and " stage-layers=7,8,8,7" unless they are even; a
 *  placement only where the kind would have another by itself. */
WEFT_API void weft_layout_write_text(const weft_layout *l, weft_writer *out);

/** Layers to be put on stages in their order. Costs are whole numbers of any unit (FLOPs,
 *  nanoseconds), none below 0. */
typedef struct weft_stage_problem {
    int64_t n_layers;           /**< 1 .. WEFT_BALANCE_MAX_LAYERS            */
    int32_t n_stages;           /**< 1 .. WEFT_BALANCE_MAX_STAGES            */
    int32_t empty_ends;         /**< embedding or output layer may be alone  */
    const int64_t *layer_cost;  /**< [n_layers]                              */
    int64_t embed_cost;         /**< added to the first stage                */
    int64_t head_cost;          /**< added to the last                       */
    int64_t limit_bytes;        /**< of each stage; 0: none, no bytes count  */
    const int64_t *layer_bytes; /**< [n_layers], held all the time; NULL: 0  */
    const int64_t *live_bytes;  /**< [n_layers], per micro-batch; NULL: 0    */
    const int32_t *in_flight;   /**< [n_stages], micro-batches; NULL: 1      */
    int64_t embed_bytes;
    int64_t head_bytes;
} weft_stage_problem;
enum { WEFT_BALANCE_MAX_LAYERS = 16384, WEFT_BALANCE_MAX_STAGES = 1024 };

/** The best contiguous split: the smallest possible largest cost of a stage; of those, the
 *  least sum of squares (costs differ least); of those, the one whose early stages hold
 *  more. Every stage has a layer but for empty_ends. WEFT_E_INFEASIBLE names the least
 *  limit_bytes that has a split. count: [n_stages], changed on success only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_stages_balance(const weft_stage_problem *q,
                                                         int64_t *count);
/** Layers per stage from text: counts "7,8,8,7" or "7,8*2,7", or a layout of Megatron-LM
 *  "Et*7|(t*8|)*2t*7L" (E embedding, t layer, L loss, | next stage; *n repeats the sign or
 *  bracket before it; commas mean nothing there). Stages may be empty. What a text
 *  expands to is bounded, so any text is safe. */
WEFT_API WEFT_MUST_CHECK weft_status weft_stages_read(const char *text, int max_stages,
                                                      int *n_stages, int64_t *count);
/** The same forms written; longer runs with a *. */
WEFT_API void weft_stages_write_counts(int n_stages, const int64_t *count,
                                       weft_writer *out);
WEFT_API void weft_stages_write_megatron(int n_stages, const int64_t *count,
                                         weft_writer *out);

WEFT_END
#endif
