/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/random.h
 * Random values that are a function of (seed, key, index) and of nothing else: no stream,
 * no state. A rank that holds part of a tensor draws exactly the values that part has in
 * the unsplit tensor, under every layout, order and thread count.
 *
 * Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
 * as 1, 2, 3; SC 2011). The seed is its key; its counter is (index / 2, key), so one
 * block gives the two values of an index pair. A key names a place, such as a tensor, and
 * serves one kind of value there: uniform and normal values of one index are not
 * independent of each other.
 */
#ifndef WEFT_RUN_RANDOM_H
#define WEFT_RUN_RANDOM_H

#include <weft/run/tensor.h>

WEFT_BEGIN

/** Key of a name (XXH3, 64 bits), such as "h.3.attn.qkv.weight". */
WEFT_API uint64_t weft_random_key(const char *name);

/** 64 random bits. */
WEFT_API uint64_t weft_random_bits(uint64_t seed, uint64_t key, uint64_t index);
/** In (0, 1), the ends excluded: an odd multiple of 2^-53. */
WEFT_API double weft_random_uniform(uint64_t seed, uint64_t key, uint64_t index);
/** Mean 0, deviation 1 (Box-Muller on an index pair); magnitude below 8.6. */
WEFT_API double weft_random_normal(uint64_t seed, uint64_t key, uint64_t index);
/** In 0..n-1, n >= 1; off from equal chances by less than n / 2^64. */
WEFT_API uint64_t weft_random_below(uint64_t seed, uint64_t key, uint64_t index,
                                    uint64_t n);

/** Part of a logical tensor: element (r, c) has logical index first + r*stride + c. */
typedef struct weft_random_block {
    int64_t first, stride; /**< of [R, C] split by columns: first column, and C */
    int64_t rows, cols;
} weft_random_block;

/** Fill the dense [rows, cols] at `out` with normal values of mean 0 and deviation std,
 *  drawn in f64 and rounded once. */
WEFT_API void weft_random_fill_normal(uint64_t seed, uint64_t key, weft_random_block at,
                                      double std, weft_dtype dtype, void *out);
/** Same, uniform in (lo, hi) before rounding. */
WEFT_API void weft_random_fill_uniform(uint64_t seed, uint64_t key,
                                       weft_random_block at, double lo, double hi,
                                       weft_dtype dtype, void *out);

WEFT_END
#endif
