/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/cost.h
 * What splitting costs, in closed form: FLOPs, bytes on the wire, and the ratio of
 * communication to compute time. Each term is one function; the units are in the names.
 *
 * Notation of the formulas: t TP degree, p pipeline stages, T tokens of a micro-batch,
 * h hidden, L layers, e bytes of a value, F achieved FLOP/s of a rank, W bytes/s of its
 * link in one direction.
 */
#ifndef WEFT_COST_H
#define WEFT_COST_H

#include <weft/arch.h>

WEFT_BEGIN

typedef enum weft_pass { WEFT_FORWARD, WEFT_BACKWARD } weft_pass;

/**
 * Matmul FLOPs of one block on one rank: 2 per multiply-add of qkv, out, fc and proj
 * (24 T h^2 / t when ffn = 4h), twice that backward. The attention scores, which do not
 * grow with h^2, are left out.
 */
WEFT_API double weft_cost_block_flops(const weft_arch *a, weft_pass pass, double tokens,
                                      int tp);

/**
 * Bytes each rank sends in a ring all-reduce of n bytes over t ranks: 2(t-1)/t n, a
 * reduce-scatter and an all-gather of (t-1)/t n each. Patarasuk and Yuan 2009, Bandwidth
 * optimal all-reduce algorithms, section 4.
 */
WEFT_API double weft_cost_ring_all_reduce_bytes(double bytes, int ranks);

/** All-reduces of a TP group a block needs in one pass, each of T*h values: after attention
 *  and after the MLP forward (g), before them backward (f). Shoeybi et al. 2019, figure 4. */
WEFT_API int weft_cost_tp_all_reduces(weft_pass pass);

/** Bytes each rank sends for them: 8 T h (t-1)/t with e = 2. */
WEFT_API double weft_cost_tp_block_bytes(const weft_arch *a, weft_pass pass,
                                         double tokens, int tp, double value_bytes);

/** Time of those all-reduces over time of the block's matmuls: (t-1) F / (3 h W) forward with
 *  e = 2 and ffn = 4h, half of it backward. Tokens cancel. */
WEFT_API double weft_cost_tp_ratio(const weft_arch *a, weft_pass pass, int tp,
                                   double value_bytes, double flops_per_s,
                                   double link_bytes_per_s);

/**
 * Bytes each rank sends over one stage boundary, in one direction, for one micro-batch:
 * e T h; with `scatter_gather` each of the t ranks sends its share only and the receivers
 * gather inside their node: e T h / t. Narayanan et al. 2021, section 4.1.
 */
WEFT_API double weft_cost_pp_boundary_bytes(const weft_arch *a, double tokens, int tp,
                                            double value_bytes, int scatter_gather);

/** Time of that message over forward time of a stage of L/p blocks: p F / (12 L h W) with
 *  e = 2, ffn = 4h and scatter_gather. */
WEFT_API double weft_cost_pp_ratio(const weft_arch *a, int tp, int pp,
                                   double value_bytes, int scatter_gather,
                                   double flops_per_s, double link_bytes_per_s);

WEFT_END
#endif
