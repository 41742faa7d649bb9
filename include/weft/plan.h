/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/plan.h
 * The best layout of a model on a machine: every legal one is looked at, none is sampled.
 *
 * The space is tp, cp, pp, dp, ep, chunks, micro-batch, schedule kind, ZeRO stage, copies of
 * what ZeRO shards (on several nodes), sequence parallelism, recompute, split of the layers
 * over the stages, order of the ranks. A layout
 * leaves it only for a reason that is exact: it breaks a rule, it does not fit, its lower
 * bound (weft_cost.bound_s) is above what was already simulated, or another one is simpler
 * and never slower. What is left is simulated with its real schedule, best bound first.
 *
 * Beside the space, what is found is tried with recompute on the first stages alone, with
 * larger groups of micro-batches, and with the kinds that search for their order; such a
 * layout takes the place of the row that it betters.
 */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include <weft/emit.h>
#include <weft/predict.h>

WEFT_BEGIN

/** Dimensions of the space, for weft_plan_options.fixed: 1u << WEFT_DIM_TP | ... */
typedef enum weft_dim {
    WEFT_DIM_TP,
    WEFT_DIM_CP,
    WEFT_DIM_PP,
    WEFT_DIM_DP,
    WEFT_DIM_EP,
    WEFT_DIM_VPP,
    WEFT_DIM_MICRO_BATCH,
    WEFT_DIM_SCHEDULE,
    WEFT_DIM_ZERO,
    WEFT_DIM_SP,
    WEFT_DIM_RECOMPUTE,
    WEFT_DIM_STAGE_LAYERS,
    WEFT_DIM_ORDER,
    WEFT_DIM_CP_COMM,
    WEFT_DIM_REPLICATE,
    WEFT_DIM_GROUP,
    WEFT_N_DIMS
} weft_dim;

/** Name as in a layout's fields: "tp", "micro_batch", ... */
WEFT_API const char *weft_dim_name(weft_dim dim);

/** How far a search is. */
typedef struct weft_plan_counts {
    int64_t enumerated; /**< legal layouts of the space                             */
    int64_t bounded;    /**< of them decided without simulation, and fitting        */
    int64_t simulated;  /**< of them simulated                                      */
    int64_t feasible;   /**< of them that fit: bounded + simulated                  */
    int64_t evaluated;  /**< closed forms worked out                                */
    int64_t refined; /**< layouts beside the space that were simulated              */
} weft_plan_counts;

/** Return non-zero to stop: WEFT_E_CANCELLED. Called about a thousand times a second. */
typedef int weft_plan_progress(void *ctx, const weft_plan_counts *so_far);

typedef struct weft_plan_options {
    weft_layout given; /**< global_batch, seq and vocab_multiple; and the dimensions of
                            `fixed`                                                     */
    uint32_t fixed;
    int32_t top;   /**< rows wanted; each is the best of its degrees (tp cp pp dp ep) */
    double tie;    /**< layouts within this share of the fastest count as equal, and
                            the simplest of them wins; default 0.01                      */
    int32_t tool;  /**< weft_tool whose runs are wanted; -1: any                     */
    int32_t front; /**< 1: the front of step time and memory too                     */
    int32_t every; /**< 1: no pruning, simulate every layout that fits (for tests)   */
    int32_t space_only; /**< 1: nothing beside the space is tried                     */
    weft_plan_progress *progress; /**< NULL: none */
    void *ctx;
} weft_plan_options;
/** given at weft_layout_defaults(), top 10, tie 0.01, tool -1. */
WEFT_API void weft_plan_defaults(weft_plan_options *o);

/** One layout with its simulated cost. */
typedef struct weft_plan_row {
    weft_layout layout;
    weft_cost cost;
    char why_not
        [240]; /**< a reference layout that cannot be: the reason; else ""      */
} weft_plan_row;

enum { WEFT_PLAN_MAX_RULES = 48 };

typedef struct weft_plan_rejection {
    const char *rule; /**< of weft_layout_rule_name(), or "memory", "tool" or "ranks"
                        (the degrees given do not share the machine's ranks)            */
    int64_t count; /**< choices given up for it; of "memory": layouts                */
} weft_plan_rejection;

/** Clear with weft_plan_clear(). */
typedef struct weft_plan {
    weft_plan_counts counts;
    double
        seconds; /**< for whoever has a clock                                         */
    int32_t n_rows;
    weft_plan_row
        *row; /**< best first                                                  */
    weft_plan_row plain_dp,
        zero3; /**< all ranks data parallel, and the same with ZeRO-3:
                                        each the best of its kind, or why it is none     */
    int32_t n_front;
    weft_plan_row
        *front; /**< no other is both faster and smaller; fastest first        */
    int32_t n_rejected;
    weft_plan_rejection
        rejected[WEFT_PLAN_MAX_RULES]; /**< most first                    */
    weft_plan_row
        ladder;         /**< the first of these that fits: data parallel as it is, with
                               selective, with full recompute, ZeRO-1, -2, -3 (each with
                               the least recompute); why_not is empty if there is one     */
    char why_none[400]; /**< without rows: the rule, or the memory, that refused all */
} weft_plan;

/**
 * @return WEFT_OK, though there may be no rows; WEFT_E_INVALID when `given` is broken
 *         beyond the dimensions that are searched; WEFT_E_CANCELLED; WEFT_E_NOMEM.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_plan_make(const weft_cost_model *q,
                                                    const weft_plan_options *o,
                                                    weft_plan *out);
WEFT_API void weft_plan_clear(weft_plan *p);

/** The cost of one layout as the search works it out: simulated, or with
 *  options.achieved_flops_per_s on the back of an envelope.
 *  @return WEFT_OK; the message of weft_layout_plan_check() where the layout breaks a rule
 *          (tp 7 of 64 heads); WEFT_E_MISMATCH where it needs more ranks than the machine
 *          has; fewer may be priced, the others are idle; WEFT_E_NOMEM. */
WEFT_API WEFT_MUST_CHECK weft_status weft_plan_price(const weft_cost_model *q,
                                                     const weft_layout *l,
                                                     weft_cost *out);

/** Number that orders layouts by how much there is to them: degrees above 1, ZeRO,
 *  recompute, then stages, chunks and the rest. */
WEFT_API int64_t weft_plan_complexity(const weft_layout *l);

/** What the lessons and bug reports warn of. */
typedef void weft_warning_fn(void *ctx, const char *rule, const char *text);
WEFT_API void weft_plan_warnings(const weft_cost_model *q, const weft_layout *l,
                                 const weft_cost *c, weft_warning_fn *each, void *ctx);

/** One layout for people: memory by part, time by part, ratios, warnings. memory: of each
 *  pipeline rank, [pp], or NULL. */
WEFT_API void weft_report_write_text(const weft_cost_model *q, const weft_layout *l,
                                     const weft_cost *c, const weft_memory *memory,
                                     weft_writer *out);
/** The same as JSON: layout, fits, step_time_s, ..., warnings. */
WEFT_API void weft_report_write_json(const weft_cost_model *q, const weft_layout *l,
                                     const weft_cost *c, const weft_memory *memory,
                                     weft_writer *out);

WEFT_API void weft_plan_write_text(const weft_cost_model *q, const weft_plan *p,
                                   weft_writer *out);
WEFT_API void weft_plan_write_json(const weft_cost_model *q, const weft_plan *p,
                                   weft_writer *out);
/** What binds the winner, and why it beats the runner-up. */
WEFT_API void weft_plan_explain(const weft_cost_model *q, const weft_plan *p,
                                weft_writer *out);
/** Why not a layout of these dimensions? `asked` as the options that made the plan, with
 *  more fixed. Says the broken rule, the memory it lacks, or by what it is slower. */
WEFT_API WEFT_MUST_CHECK weft_status weft_plan_why_not(const weft_cost_model *q,
                                                       const weft_plan *p,
                                                       const weft_plan_options *asked,
                                                       weft_writer *out);

WEFT_END
#endif
