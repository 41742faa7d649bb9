/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/machine.h
 * What a model is trained on: one kind of device, how many, and the links between them.
 *
 * Bandwidths are bytes a second in one direction for one rank. A machine is a value: copy
 * it freely. Ranks 0 .. n-1 fill the innermost domain first (8 ranks of a node, say), then
 * the next; weft_machine_tier() tells how far a group of ranks reaches.
 *
 * Two kinds of numbers stand in it and `weft machine show` prints them apart: facts of the
 * data sheet, and at most 8 constants of efficiency, each measured or fitted as its source
 * says. What a machine file holds beside them (times of matmuls by shape, of collectives)
 * was measured on that machine and goes first.
 */
#ifndef WEFT_MACHINE_H
#define WEFT_MACHINE_H

#include <stdint.h>
#include <weft/writer.h>

WEFT_BEGIN

/** Arithmetic of the matmuls. */
typedef enum weft_math {
    WEFT_MATH_F64,
    WEFT_MATH_F32,
    WEFT_MATH_BF16, /**< or fp16: the same rate on every device known here */
    WEFT_MATH_FP8,
    WEFT_MATH_FP4,
    WEFT_N_MATHS
} weft_math;

typedef enum weft_collective {
    WEFT_COLL_ALL_REDUCE,
    WEFT_COLL_ALL_GATHER,
    WEFT_COLL_REDUCE_SCATTER,
    WEFT_COLL_ALL_TO_ALL,
    WEFT_COLL_P2P,
    WEFT_N_COLLS
} weft_collective;

enum { WEFT_MAX_TIERS = 4, WEFT_MAX_GEMM_POINTS = 80 };

/** Time of a message: alpha + bytes / beta. 0, 0: not measured. */
typedef struct weft_alpha_beta {
    double alpha_s;
    double bytes_per_s;
} weft_alpha_beta;

/** Links among the ranks of one domain. Domains nest: the ranks of a tier are a multiple
 *  of those of the tier before it, and the last one holds all ranks (0). */
typedef struct weft_tier {
    char name[24];      /**< "NVLink4"                                             */
    int32_t ranks;      /**< of one domain; 0: all of the machine                  */
    int32_t switched;   /**< 1: every group gets bytes_per_s; 0: wires between each two
                             ranks, a group of k gets (k-1)/(ranks-1) of it        */
    double bytes_per_s; /**< of the data sheet                                     */
    double efficiency;  /**< share of it that a long collective reaches            */
    double alpha_s;     /**< of one step of a collective, or one message           */
    /** measured here; where given, in place of the three above. A collective over k ranks
     *  takes steps(k) * alpha_s + bytes that a rank sends / bytes_per_s. */
    weft_alpha_beta measured[WEFT_N_COLLS];
} weft_tier;

/** A matmul y[m,n] = x[m,k] w[k,n] that was timed. */
typedef struct weft_gemm_point {
    int32_t math; /**< weft_math */
    int64_t m, n, k;
    double flops_per_s;
} weft_gemm_point;

typedef struct weft_machine {
    char name[32];    /**< preset, or what the file says                   */
    char device[48];  /**< "H100 SXM 80GB"                                 */
    char source[192]; /**< where the facts come from                       */
    char fitted[192]; /**< where the constants come from                   */

    int32_t nodes;          /**< boxes; only a name: links are the tiers'        */
    int32_t ranks_per_node; /**< devices of a box                                */
    double flops_per_s[WEFT_N_MATHS]; /**< dense peak; 0: the device has none    */
    double memory_bytes;              /**< of a device                           */
    double memory_bytes_per_s;
    double reserve_bytes;   /**< context, libraries, communicators, allocator gaps  */
    int32_t units;          /**< what tiles of a matmul are dealt to: SMs, cores    */
    int32_t tile_m, tile_n; /**< of the output, one to a unit; 0: no quantisation */
    int32_t align; /**< sizes of 16-bit matmuls that are no multiple of it run at a
                        quarter of the rate, without tensor cores; 0: no such need     */

    /* the constants of efficiency */
    double gemm_efficiency;      /**< share of the peak that a large matmul reaches   */
    double gemm_half_k;          /**< inner size at which half of that is reached     */
    double attention_efficiency; /**< share of the peak of a fused attention kernel */
    double memory_efficiency;    /**< share of the bandwidth that other kernels reach */
    double op_overhead_s;        /**< least time between the starts of two kernels    */
    double overlap_tax; /**< of a collective's time, what it takes from the kernels that
                             it runs beside: it needs units and memory as they do      */

    int32_t n_tiers;
    weft_tier tier[WEFT_MAX_TIERS]; /**< [n_tiers], innermost first           */

    int32_t n_gemms;
    weft_gemm_point gemm[WEFT_MAX_GEMM_POINTS]; /**< [n_gemms] measured        */
} weft_machine;

/**
 * A preset with its shape, and changes: "h100:8x8" (nodes x ranks of a node), "h100" (one
 * node), "a100-80:64x8,network=12.5GB/s,memory=76GiB".
 * @return WEFT_OK; WEFT_E_INVALID that names the word, what was found and the nearest.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_machine_parse(const char *text,
                                                        weft_machine *out);
/** An empty machine of one rank: no preset, all constants at their neutral values (1, 0);
 *  where readers of files start. */
WEFT_API void weft_machine_defaults(weft_machine *m);
/** Set one field by name from text with units: "memory" "80GiB", "bf16" "989TFLOP/s",
 *  "nodes" "8", "gemm-efficiency" "0.8", and of the links "scaleup" and "network" (the
 *  first and the last tier), "scaleup-alpha", "scaleup-efficiency", ... */
WEFT_API WEFT_MUST_CHECK weft_status weft_machine_set(weft_machine *m,
                                                      const char *field,
                                                      const char *value);
/** Set one field of one tier by name: "name" "ranks" "switched" "bandwidth" "efficiency"
 *  "alpha", "all-reduce-alpha", "all-reduce-bandwidth", ... */
WEFT_API WEFT_MUST_CHECK weft_status weft_machine_set_tier(weft_machine *m, int tier,
                                                           const char *field,
                                                           const char *value);
/** Ranges; tiers that nest; a peak for some arithmetic; memory and its bandwidth. */
WEFT_API WEFT_MUST_CHECK weft_status weft_machine_check(const weft_machine *m);

WEFT_API int weft_machine_preset_count(void);
/** One node of the preset. */
WEFT_API const weft_machine *weft_machine_preset_at(int i);
/** Preset whose device is meant by a name from a table of runs ("A100 80GB SXM", "GB200
 *  (NVL72)"): letters and digits of the family, then the memory. WEFT_E_INVALID with the
 *  known names. */
WEFT_API WEFT_MUST_CHECK weft_status weft_machine_find(const char *device,
                                                       double memory_bytes,
                                                       weft_machine *out);

/** Ranks in all: nodes * ranks_per_node. */
WEFT_API int weft_machine_ranks(const weft_machine *m);
WEFT_API const char *weft_math_name(weft_math math); /**< "bf16" */
WEFT_API WEFT_MUST_CHECK weft_status weft_math_parse(const char *name, weft_math *out);
WEFT_API const char *weft_collective_name(weft_collective c); /**< "all-reduce" */

/** The innermost tier whose domains hold whole groups of `size` ranks that are `stride`
 *  apart, with all that lies between: stride * size consecutive ranks, which domains
 *  hold whole where that divides them. One rank: tier 0. */
WEFT_API int weft_machine_tier(const weft_machine *m, int64_t stride, int64_t size);

/**
 * Time of a collective of `bytes` (the whole tensor: what all-reduce reduces, all-gather
 * ends with, reduce-scatter starts with, all-to-all and p2p send) over `size` ranks
 * `stride` apart. Ring: (k-1) steps and (k-1)/k of the bytes, twice for all-reduce
 * (Patarasuk and Yuan 2009, section 4). A group that reaches over several tiers is done
 * tier by tier as NCCL's rings are: the ring crosses the slow link once for each domain,
 * so its bandwidth is that of the slowest tier times the ranks of the group that share a
 * domain and each have a link of their own. 0 for one rank.
 */
WEFT_API double weft_machine_collective_s(const weft_machine *m, weft_collective c,
                                          double bytes, int64_t stride, int64_t size);

/** `size` ranks, `stride` apart. */
typedef struct weft_span {
    int64_t stride, size;
} weft_span;

/** The same over a group of two axes at once: every rank of `near` with every rank of `far`,
 *  far.stride >= near.stride * near.size. What lies between the two belongs to other groups,
 *  which use the links of their own ranks meanwhile. Where the spans overlap (strides of 1,
 *  say), they count as near.size * far.size ranks next to each other: no order of the ranks
 *  is faster. */
WEFT_API double weft_machine_group_s(const weft_machine *m, weft_collective c,
                                     double bytes, weft_span near, weft_span far);

/** Time of y[m,n] = x[m,k] w[k,n], `batch` of them in one kernel: measured points where
 *  the machine has them, else peak, wave quantisation and the constants. */
WEFT_API double weft_machine_gemm_s(const weft_machine *m, weft_math math, double batch,
                                    double rows, double n, double k);
/** Time of a kernel that moves `bytes` through memory. */
WEFT_API double weft_machine_memory_s(const weft_machine *m, double bytes);

/** Key and value of every field, tiers and measured points: what a machine file is. */
WEFT_API void weft_machine_write_json(const weft_machine *m, weft_writer *out);
/** For people: facts with their source, constants with theirs, links, points. */
WEFT_API void weft_machine_write_text(const weft_machine *m, weft_writer *out);

WEFT_END
#endif
