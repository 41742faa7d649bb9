/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/tensor.h
 * Data types, tagged memory arenas, and views that carry their placement.
 */
#ifndef WEFT_RUN_TENSOR_H
#define WEFT_RUN_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include <weft/mesh.h>

WEFT_BEGIN

typedef enum weft_dtype { WEFT_F64, WEFT_F32, WEFT_BF16, WEFT_N_DTYPES } weft_dtype;

WEFT_API int64_t weft_dtype_bytes(weft_dtype t);
WEFT_API const char *weft_dtype_name(weft_dtype t); /**< "f64" "f32" "bf16" */
WEFT_API WEFT_MUST_CHECK weft_status weft_dtype_parse(const char *text,
                                                      weft_dtype *out);
/** Type of gradients, optimizer state, statistics and reductions: f64 for f64, else f32. */
WEFT_API weft_dtype weft_dtype_acc(weft_dtype t);

/** What memory is for; the planner's classes are the same seven. */
typedef enum weft_tag {
    WEFT_PARAM,
    WEFT_GRAD,
    WEFT_OPTIM,
    WEFT_ACT,
    WEFT_LOGITS,
    WEFT_COMM,
    WEFT_TEMP,
    WEFT_N_TAGS
} weft_tag;
WEFT_API const char *weft_tag_name(
    weft_tag tag); /**< "params" "grads" ... as in cli.md */

/**
 * One rank's memory. Blocks are 64-byte aligned, kept in free lists by size and charged
 * to a tag while taken. Used by the rank's thread only, except weft_arena_adopt().
 */
typedef struct weft_arena weft_arena;

/** limit_bytes 0: none. Fails with WEFT_E_NOMEM naming the tag, bytes asked and used. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arena_create(int64_t limit_bytes,
                                                       weft_arena **out);
WEFT_API void weft_arena_destroy(weft_arena *a); /**< frees everything, taken or not */
/** bytes >= 0 (0 gives a valid block of 0 bytes). Contents undefined. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arena_take(weft_arena *a, weft_tag tag,
                                                     int64_t bytes, void **out);
/** Same, zeroed. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arena_zero(weft_arena *a, weft_tag tag,
                                                     int64_t bytes, void **out);
/** NULL is ignored. Debug builds fill the block with a NaN pattern. */
WEFT_API void weft_arena_give(weft_arena *a, void *block);
/** Hand a block over to another arena (same process): uncharge here, charge there under
 *  `tag`. Safe while other threads use either arena. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arena_adopt(weft_arena *to, weft_tag tag,
                                                      void *block);
WEFT_API int64_t weft_arena_used(const weft_arena *a, weft_tag tag);
WEFT_API int64_t weft_arena_peak(const weft_arena *a, weft_tag tag);
WEFT_API int64_t weft_arena_peak_total(const weft_arena *a);
WEFT_API void weft_arena_reset_peak(weft_arena *a); /**< peak := used */
/** Return cached free blocks to the system. */
WEFT_API void weft_arena_trim(weft_arena *a);

/** Placement of a view on one mesh axis. */
typedef enum weft_placed {
    WEFT_SAME = 0,    /**< every rank of the axis holds the same values          */
    WEFT_SPLIT,       /**< dimension `dim` is divided over the axis              */
    WEFT_PARTIAL_SUM, /**< the value is the sum over the axis                    */
    WEFT_PARTIAL_MAX
} weft_placed;

typedef struct weft_placement {
    uint8_t how; /**< weft_placed */
    uint8_t dim; /**< of WEFT_SPLIT */
} weft_placement;

/** A dense row-major matrix [rows, cols], row stride = cols. Borrowed memory. */
typedef struct weft_view {
    void *data;
    weft_dtype dtype;
    int64_t rows, cols;
    weft_placement at[WEFT_MAX_AXES]; /**< indexed by weft_axis */
} weft_view;

/** "[T, k/tp]" "[T, h]+tp" ... for messages; buf >= 96 bytes. */
WEFT_API const char *weft_view_text(const weft_view *v, char *buf);

/** bf16 <-> f32, round to nearest even, NaN kept. */
WEFT_API uint16_t weft_bf16_from_f32(float x);
WEFT_API float weft_bf16_to_f32(uint16_t x);

WEFT_END
#endif
