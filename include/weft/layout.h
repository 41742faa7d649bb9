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
    int32_t vpp;            /**< chunks per pipeline rank                           */
    int32_t zero;           /**< ZeRO stage                                         */
    int32_t sp;             /**< sequence parallelism                               */
    int32_t group;          /**< interleaved: micro-batches per group; 0 = default  */
    int64_t micro_batch;    /**< sequences                                          */
    int64_t global_batch;   /**< sequences per step                                 */
    int64_t seq;            /**< tokens per sequence                                */
    int64_t vocab_multiple; /**< make-vocab-size-divisible-by: padded to this * tp  */
    char schedule[16];      /**< kind                                               */
    char order[24];         /**< "tp,cp,pp,dp", fastest first                       */
} weft_layout;

/** tp, pp, dp, global_batch and seq not given (0); cp and vpp 1, micro_batch 1, 1f1b, order
 *  tp,cp,pp,dp, vocab_multiple 128. */
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
 *  one is reported with flag, numbers and nearest legal values. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_check(const weft_layout *l,
                                                       const weft_arch *a);
/** The rules, for docs and tests. */
WEFT_API int weft_layout_rule_count(void);
WEFT_API const char *weft_layout_rule_name(int i);
WEFT_API const char *weft_layout_rule_text(int i);

WEFT_API int weft_layout_world(const weft_layout *l);
WEFT_API int64_t weft_layout_n_micro(const weft_layout *l); /**< global/(micro*dp) */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_mesh(const weft_layout *l,
                                                      weft_mesh *out);
/** The layout's schedule without its ops: which (pipeline rank, chunk) holds which stage. */
WEFT_API WEFT_MUST_CHECK weft_status weft_layout_shape(const weft_layout *l,
                                                       weft_schedule *out);
/** Layers of a stage (virtual stages: pp*vpp of them): contiguous, even. */
WEFT_API void weft_layout_stage_layers(const weft_layout *l, const weft_arch *a,
                                       int stage, int64_t *first, int64_t *count);
/** Padded vocabulary: smallest multiple of vocab_multiple*tp that holds a->vocab. */
WEFT_API int64_t weft_layout_padded_vocab(const weft_layout *l, const weft_arch *a);
/** Local shape of a tensor on one TP rank (padded vocabulary rows included). Every TP rank
 *  has the same; segments are split apart, so a rank holds 1/tp of each. */
WEFT_API void weft_layout_shard_size(const weft_layout *l, const weft_arch *a,
                                     const weft_tensor_info *t, int64_t size[2]);
WEFT_API void weft_layout_write_json(const weft_layout *l, weft_writer *out);
/** "tp=2 pp=2 dp=2 vpp=1 1f1b m=4" */
WEFT_API void weft_layout_write_text(const weft_layout *l, weft_writer *out);

WEFT_END
#endif
