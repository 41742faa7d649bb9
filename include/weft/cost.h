/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/cost.h
 * What splitting costs, in closed form: time, bytes on the wire, memory. First the terms
 * of the lessons, each one function; then weft_cost_evaluate(), which prices one layout of
 * a model on a machine with all of them, in about a microsecond, without memory of its own.
 *
 * Notation of the formulas: t TP degree, p pipeline stages, T tokens of a micro-batch,
 * h hidden, L layers, e bytes of a value, F achieved FLOP/s of a rank, W bytes/s of its
 * link in one direction.
 */
#ifndef WEFT_COST_H
#define WEFT_COST_H

#include <weft/layout.h>
#include <weft/machine.h>

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

/* ---- a layout, priced ------------------------------------------------------------ */

/** How the training program does it, where programs differ. weft_cost_defaults() fills it;
 *  flags of `weft report` and `weft plan` set it. */
typedef struct weft_cost_options {
    int32_t math; /**< weft_math of the matmuls                             */
    int32_t fused_attention; /**< 1: scores are never stored, nor computed where masked
                                  (Dao et al. 2022); 0: stored, whole squares. Apart from
                                  recompute, which is the layout's                     */
    int32_t dropout;        /**< 1: masks are kept, one byte a value                  */
    int32_t fused_loss;     /**< 1: logits stay in 16 bits and their gradient is written
                                  over them; 0: an fp32 copy beside, as Megatron-LM's    */
    int32_t overlap_tp;     /**< 1: the backward reductions run beside the weight
                                  gradients; 0: all are waited for                     */
    int32_t overlap_dp;     /**< 1: gradient buckets (and ZeRO-3's gathers) run beside
                                  the passes; 0: after them                            */
    int32_t overlap_pp;     /**< 1: a stage computes while its result is sent; 0: it
                                  stands in the send                                    */
    int32_t scatter_gather; /**< 1: tp ranks send a share of a stage's result each, the
                                 receivers gather it; 0: each sends all of it         */
    int32_t dense_embedding; /**< 1: the embedding's gradient is made whole in each
                                  micro-batch; 0: rows of its tokens only             */
    int32_t exact_memory; /**< 1: memory to the byte as `weft train` takes it: GPT-2's
                               layers, cp 1, no SP, ZeRO or recompute               */
    int32_t receive_buffers; /**< 1: a posted receive has memory of its own, with exact
                                  memory (over MPI; threads hand their own over)      */
    double param_bytes;     /**< of a weight as the matmuls read it: 2                */
    double grad_bytes;      /**< of an accumulated gradient: 4, or 2                  */
    double optimizer_bytes; /**< of a parameter: 12 (fp32 master and two moments)     */
    double act_bytes;       /**< of an activation: 2                                  */
    double scratch_bytes;   /**< that the products over the heads take while they run */
    double kernel_bytes; /**< that a value counts for in the time of kernels that are no
                              matmul; 0: act_bytes. More where they compute in a wider type
                              and that is what takes their time                    */
    double reduce_bytes; /**< of a value in TP's reductions; 0: act_bytes           */
    double
        achieved_flops_per_s; /**< back of the envelope: every matmul FLOP at this rate,
                                      nothing else takes time in a pass; 0: off        */
    double params; /**< back of the envelope: overrides the count; 0: off    */
} weft_cost_options;
WEFT_API void weft_cost_defaults(weft_cost_options *o);
/** What `weft train` does itself, with the matmuls in f64, f32 or bf16: AdamW on at least
 *  f32, scores stored, loss in place, reductions in at least f32 and, since they are done
 *  by the cores that compute, beside nothing. */
WEFT_API void weft_cost_of_weft(weft_cost_options *o, weft_math math);
/** Set one by its flag name ("fused-attention", "grad-bytes", "math", ...) from text. */
WEFT_API WEFT_MUST_CHECK weft_status weft_cost_set(weft_cost_options *o,
                                                   const char *field,
                                                   const char *value);

/** All that depends on model, machine and options alone, worked out once. By value; treat
 *  `derived` as opaque. */
typedef struct weft_cost_model {
    weft_arch arch;
    weft_machine machine;
    weft_cost_options options;
    struct weft_cost_derived {
        int32_t n_kinds; /* of layers: dense, MoE */
        struct weft_cost_layer {
            int32_t n_gemms;
            weft_layer_gemm gemm[WEFT_MAX_LAYER_GEMMS];
            weft_attention attention;
            weft_layer_width width;
            int64_t layer;               /* one of the kind                      */
            double split, whole, expert; /* parameters: shared by tp, by none of
                                              its ranks, by tp and ep              */
        } kind[2];
        double embed_split, embed_whole, embed_rows; /* rows: of the vocabulary       */
        double head_split, head_whole, head_rows, mtp;
        double windowed; /* share of layers that look back no further than a window   */
    } derived;
} weft_cost_model;
/** Checks all three (weft_arch_check(), weft_machine_check(), ranges of the options). */
WEFT_API WEFT_MUST_CHECK weft_status weft_cost_prepare(const weft_arch *a,
                                                       const weft_machine *m,
                                                       const weft_cost_options *o,
                                                       weft_cost_model *out);

/** Seconds of a step of the slowest rank; they sum to the step. What overlaps with
 *  something before it in the list is not in it. */
typedef struct weft_time_parts {
    double compute; /**< matmuls, attention, everything else a pass computes once */
    double tp_comm, cp_comm, ep_comm, pp_comm, dp_comm; /**< exposed            */
    double bubble;                                      /**< pipeline idle      */
    double recompute;                                   /**< work done again    */
    double optimizer;
} weft_time_parts;

/** Bytes of one rank at its fullest instant. */
typedef struct weft_memory {
    int32_t stage; /**< pipeline rank */
    double params, grads, optimizer, activations, logits, comm, temporaries, reserve,
        total;
} weft_memory;

/** One op of one stage: seconds for a micro-batch. In each, of what it is made. */
typedef struct weft_op_cost {
    double total;
    double compute, tp_comm, cp_comm, ep_comm;
} weft_op_cost;

/** A (virtual) stage. b = i + w but for what an unsplit backward overlaps: b <= i + w. The
 *  work done again stands in r and is in none of the others: in a schedule without R the
 *  backward (B or I) takes r longer. */
typedef struct weft_stage_cost {
    int64_t first_layer, n_layers;
    weft_op_cost f, b, i, w, r;
    double params;      /**< on one rank of the stage, before ZeRO; experts / ep    */
    double act_bytes;   /**< kept for a micro-batch from F to B (or I)              */
    double act_w_bytes; /**< of it, what is kept from I on to W                     */
    double
        transient_bytes; /**< while one of its layers runs, beside act_bytes         */
    double logits_bytes; /**< last stage                                             */
} weft_stage_cost;

/** What evaluation says. */
typedef struct weft_cost {
    int32_t fits; /**< memory.total <= machine.memory_bytes                       */
    int32_t exact_peak; /**< 1: in-flight counts from the kind's closed form; 0: it has
                             none (of what waits for W no kind has) and all m were
                             assumed, or what its kind is bound by                      */
    double
        step_time_s; /**< estimate of what simulation gives                          */
    double bound_s;  /**< never above what simulation gives: for pruning             */
    double passes_s; /**< bound_s of the passes alone, as if data parallelism and the
                          optimizer took no time                                     */
    weft_time_parts time;
    weft_memory
        memory; /**< of the fullest pipeline rank                               */
    double tokens_per_s;
    double model_flops; /**< of a step, causal, no recompute (weft_arch_flops())     */
    double
        tflops_per_rank; /**< model_flops / step / ranks / 1e12                      */
    double mfu;          /**< of the dense peak of options.math                      */
    double
        bubble_of_total; /**< of the pipeline's makespan                             */
    /** Communication over compute as the lessons define them: TP forward, PP boundary
     *  over a stage's forward, DP over the backward of its step; unexposed parts too. */
    double ratio_tp, ratio_pp, ratio_dp;
    double p2p_s; /**< of one message between stages                               */
    double dp_s;  /**< all of the DP communication of a step, exposed or not        */
    double optimizer_s;
} weft_cost;

/**
 * Price one layout that weft_layout_plan_check() has passed. Closed form, allocates
 * nothing. The tier of every group follows from the layout's order and the machine
 * (weft_machine_tier()). ZeRO-2 and ZeRO-3 with a pipeline pay their reductions and
 * gathers once for every micro-batch, but reductions of ZeRO-2 once for every group of
 * micro-batches where the schedule takes them in groups: a rank holds two chunks' gradients
 * whole then.
 * @return WEFT_OK; WEFT_E_MISMATCH when the layout needs more ranks than the machine has;
 *         WEFT_E_INVALID for more than 4096 stages.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_cost_evaluate(const weft_cost_model *q,
                                                        const weft_layout *l,
                                                        weft_cost *out);

/** One virtual stage (0 .. pp*vpp-1, or pp of a bidirectional schedule). */
WEFT_API void weft_cost_stage(const weft_cost_model *q, const weft_layout *l, int stage,
                              weft_stage_cost *out);
/** Memory of one pipeline rank that holds at most in_flight chunk activations until B or I
 *  and in_flight_w until W (equal where nothing is split); -1: the kind's closed form. */
WEFT_API void weft_cost_memory(const weft_cost_model *q, const weft_layout *l, int rank,
                               int64_t in_flight, int64_t in_flight_w,
                               weft_memory *out);
/** Durations and links for weft_schedule_eval() and weft_simulate() of the schedule that
 *  the layout names (weft_layout_shape()): fills `out`, which points to `dur`
 *  [p][v][WEFT_OP_N_COMPUTE] and `tier` afterwards. */
WEFT_API void weft_cost_durations(const weft_cost_model *q, const weft_layout *l,
                                  const weft_schedule *shape, double *dur,
                                  weft_link_tier tier[WEFT_MAX_TIERS], weft_costs *out);
/** The step from the makespan of schedule `s`: out is what weft_cost_evaluate() gave; what
 *  lies outside the pipeline (DP, optimizer) is added and the parts and rates follow. */
WEFT_API void weft_cost_with_makespan(const weft_cost_model *q, const weft_layout *l,
                                      const weft_schedule *s, double makespan,
                                      weft_cost *out);

WEFT_END
#endif
