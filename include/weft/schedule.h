/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/schedule.h
 * A pipeline schedule as data: for each rank of the pipeline an ordered list of
 * 8-byte ops. Planner, simulator, picture and executor read this one object.
 *
 * p pipeline ranks, m micro-batches, v chunks (model parts) held by a rank.
 * Stages are numbered from 0 along the forward direction; a placement says which
 * (rank, chunk) holds which stage:
 *
 *   single   stage = rank                          (v = 1)
 *   loop     stage = chunk*p + rank
 *   v        even chunk: chunk*p + rank; odd chunk: chunk*p + p-1-rank
 *   bidir    two copies of p stages: chunk 0 stage rank, chunk 1 stage p-1-rank
 *   bidirv   two V copies of 2p stages: chunks 0,2 down; 1,3 up
 */
#ifndef WEFT_SCHEDULE_H
#define WEFT_SCHEDULE_H

#include <stdint.h>
#include <weft/writer.h>

WEFT_BEGIN

typedef enum weft_op_kind {
    WEFT_OP_F, /**< forward                                   */
    WEFT_OP_B, /**< full backward (input and weight gradient) */
    WEFT_OP_I, /**< input gradient only                       */
    WEFT_OP_W, /**< weight gradient only                      */
    WEFT_OP_R, /**< recompute                                 */
    WEFT_OP_N_COMPUTE,
    /* after lowering */
    WEFT_OP_POST_RECV =
        8,          /**< post the receive of the input of the op (chunk, micro) */
    WEFT_OP_SEND,   /**< start sending the result of op (chunk, micro)          */
    WEFT_OP_WAIT,   /**< wait for the posted receive of (chunk, micro)          */
    WEFT_OP_REDUCE, /**< start the gradient reduction of a chunk                */
    WEFT_OP_UNSHARD,
    WEFT_OP_RESHARD,
    WEFT_OP_STEP /**< optimizer step                                         */
} weft_op_kind;

enum {
    WEFT_OPF_PAIR = 1, /**< overlapped with the next op of the rank ('&')            */
    WEFT_OPF_BATCH =
        2,            /**< comm op belongs to the same batch as the next one         */
    WEFT_OPF_GRAD = 4 /**< comm op of the gradient channel (else activation channel) */
};

/** One op. 8 bytes, no padding. */
typedef struct weft_op {
    uint8_t kind;  /**< weft_op_kind */
    uint8_t flags; /**< WEFT_OPF_*   */
    uint8_t slice; /**< sequence slice; 0 when unsplit */
    uint8_t chunk;
    uint32_t micro;
} weft_op;

typedef enum weft_placement_kind {
    WEFT_PLACE_SINGLE,
    WEFT_PLACE_LOOP,
    WEFT_PLACE_V,
    WEFT_PLACE_BIDIR,
    WEFT_PLACE_BIDIRV
} weft_placement_kind;

/** Links of one speed: between ranks of one domain, such as a node, of `ranks` consecutive
 *  pipeline ranks, as far as no tier before has them. */
typedef struct weft_link_tier {
    int ranks; /**< above the tier before; 0 in the last tier, which has the rest */
    double
        latency; /**< of a message                                                  */
    double
        bandwidth; /**< bytes per unit of time; 0 = no limit                          */
} weft_link_tier;

/** Options of a generator; zero means the kind's default. */
typedef struct weft_schedule_options {
    int64_t group; /**< kinds that take micro-batches in groups: how many */
    /** zb-auto: what a rank may hold, in forwards of a full stage (1/p of the model). An
     *  activation counts whole until its I, half from there to its W. */
    double mem_limit;
    /** zb-auto: times of a full stage and of a message, to schedule for. All three of tf,
     *  ti, tw zero: 1, 1, 1. */
    double tf, ti, tw, latency;
    /** zb-auto, optimal: links of several kinds in place of latency, as in weft_costs; a message
     *  takes latency + message_bytes / bandwidth of its link, beside others. */
    int n_tiers;
    const weft_link_tier *tier;
    double message_bytes;
    /** zb-auto: single or v; optimal: loop too. Other kinds have one of their own, which
     *  may be said; single is as nothing said. */
    weft_placement_kind placement;

    /** optimal: by stage, n_stages = weft_schedule_stages() items each. Times of one op; a
     *  NULL list is as above. What a forward keeps until its I, and beside that until its
     *  W, in a unit of your own (bytes) that mem_limit has then too: NULL beside the other
     *  is 0, both NULL are as above. */
    int n_stages;
    const double *stage_f, *stage_i, *stage_w, *stage_free_i, *stage_free_w;
    /** optimal: [p] in place of mem_limit. In both 0 is no limit. */
    const double *rank_limit;
} weft_schedule_options;

typedef struct weft_schedule {
    char kind[16];
    int p, m, v;
    int group; /**< 0 where the kind has none */
    weft_placement_kind placement;
    int lowered;    /**< 1 after weft_schedule_lower() */
    int64_t *first; /**< [p+1]: ops of rank r are op[first[r]] .. op[first[r+1]-1] */
    weft_op *op;
} weft_schedule;

/** Names of placements as above: "single", "loop", ...; NULL outside the enum. */
WEFT_API const char *weft_placement_name(weft_placement_kind placement);
/** WEFT_E_INVALID with the nearest name when unknown. */
WEFT_API WEFT_MUST_CHECK weft_status weft_placement_find(const char *name,
                                                         weft_placement_kind *out);

/** What `weft schedule list` prints of a kind. */
typedef struct weft_schedule_kind weft_schedule_kind;
WEFT_API int weft_schedule_kind_count(void);
WEFT_API const weft_schedule_kind *weft_schedule_kind_at(int i);
/** NULL when unknown; weft_schedule_kind_require() fails with the nearest name. */
WEFT_API const weft_schedule_kind *weft_schedule_kind_find(const char *name);
WEFT_API WEFT_MUST_CHECK weft_status
weft_schedule_kind_require(const char *name, const weft_schedule_kind **out);
WEFT_API const char *weft_schedule_kind_name(const weft_schedule_kind *k);
WEFT_API const char *weft_schedule_kind_summary(
    const weft_schedule_kind *k); /**< one line */
WEFT_API const char *weft_schedule_kind_source(
    const weft_schedule_kind *k); /**< paper    */

/** 1: it has backward passes. 0 for NULL, here and below. */
WEFT_API int weft_schedule_kind_trains(const weft_schedule_kind *k);
/** 1: a stage updates its weights after each of its backwards, and a backward takes the
 *  weights that its forward saw (pipedream); else the weights change between steps. */
WEFT_API int weft_schedule_kind_asynchronous(const weft_schedule_kind *k);
/** 1: all or some of its backwards come in two pieces, I (input gradient) and W (weight
 *  gradient). */
WEFT_API int weft_schedule_kind_splits(const weft_schedule_kind *k);

/** Placements that a kind can be given, bits 1 << weft_placement_kind: zb-auto and optimal.
 *  0: it has its own. */
WEFT_API unsigned weft_schedule_kind_placements(const weft_schedule_kind *k);
/** What such a kind has with v chunks per rank where nobody says: single with one, a V with
 *  more, a loop where their number is odd and the kind knows it. single for the others. */
WEFT_API weft_placement_kind weft_schedule_kind_placement(const weft_schedule_kind *k,
                                                          int v);

/** Can this kind run (p, m, v)? WEFT_OK, or WEFT_E_INVALID whose message names the
 *  broken rule, the flag (-p, -m, -v, --group, --mem-limit, --placement), what was found
 *  and the nearest legal value. weft_schedule_make() says more of a group that does not fit:
 *  the time that it costs, or the cycle of its deadlock. */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_applicable(
    const char *kind, int p, int m, int v, const weft_schedule_options *opt);

/** Make a schedule. opt may be NULL; v = 0: as many chunks as the kind has by itself.
 *  Clear with weft_schedule_clear().
 *  Limits: 1 <= p <= 4096, 1 <= v <= 255, 1 <= m, at most 2^31 ops in all. */
WEFT_API WEFT_MUST_CHECK weft_status
weft_schedule_make(const char *kind, int p, int m, int v,
                   const weft_schedule_options *opt, weft_schedule *out);
/** The same without its ops: p, m, v, group and placement, all that weft_schedule_stages(),
 *  weft_schedule_stage() and weft_schedule_holder() look at. Nothing to clear. */
WEFT_API WEFT_MUST_CHECK weft_status
weft_schedule_shape(const char *kind, int p, int m, int v,
                    const weft_schedule_options *opt, weft_schedule *out);
WEFT_API void weft_schedule_clear(weft_schedule *s);

/** A time that no schedule can beat. */
typedef struct weft_schedule_lower_bound {
    double makespan;
    int rank;      /**< whose work or memory it follows from, or -1  */
    int by_memory; /**< 1: from the area under its memory limit      */
    int by_search; /**< 1: all schedules were looked at (to 1e-9 of the time) */
} weft_schedule_lower_bound;

/** Lower bound of the makespan of every schedule of one step with the placement, times,
 *  latency and memory limits of opt, read as by the kind "optimal": F, then I and W apart
 *  or as one B. A few microseconds per thousand ops. Also of the simulated time of any
 *  kind of that placement that keeps the limits and has no pairs run as one block. */
WEFT_API WEFT_MUST_CHECK weft_status
weft_schedule_bound(int p, int m, int v, const weft_schedule_options *opt,
                    weft_schedule_lower_bound *out);

/** weft_schedule_make("optimal", ...), with the greatest lower bound that is known then:
 *  that of weft_schedule_bound(), or, of a small schedule whose search was complete, the
 *  makespan itself. */
WEFT_API WEFT_MUST_CHECK weft_status
weft_schedule_optimal(int p, int m, int v, const weft_schedule_options *opt,
                      weft_schedule *out, weft_schedule_lower_bound *bound);

/** Number of stages: p, p*v or (bidir) p and (bidirv) 2p per direction. The two
 *  directions of bidir and bidirv share the micro-batches: the first half, rounded up,
 *  goes down (chunks 0 and 2), the rest up (chunks 1 and 3). */
WEFT_API int weft_schedule_stages(const weft_schedule *s);
/** Stage of (rank, chunk). */
WEFT_API int weft_schedule_stage(const weft_schedule *s, int rank, int chunk);
/** (rank, chunk) that holds a stage for micro-batch `micro`. */
WEFT_API void weft_schedule_holder(const weft_schedule *s, int stage, int64_t micro,
                                   int *rank, int *chunk);

/**
 * Add communication: for every op whose input comes from another rank a POST_RECV
 * (before the previous compute op of the rank, so that it is posted while that op
 * runs) and a WAIT right before the op; after every op whose result goes to another
 * rank a SEND. `in` stays as it is. Inputs from the same rank need no message.
 *
 * A POST_RECV stands earlier where it must: receives of one source and channel are
 * posted in the order of the sends, and where ranks that stand in their sends until
 * the receive is posted would wait for each other, one receive is posted sooner. So an
 * order whose dependencies have no cycle always gets a lowered form that passes
 * weft_schedule_check() with outstanding = 1. A WAIT belongs to the POST_RECV of the
 * same (chunk, micro, channel); WAITs may come in another order than posts.
 *
 * @return WEFT_OK; as weft_schedule_check() when the order breaks a rule.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_lower(const weft_schedule *in,
                                                         weft_schedule *out);

/** What an evaluation runs: the kind "forward" where the placement is single or loop, else
 *  the schedule's own F ops in their order. Not lowered, as `s` is not. */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_forwards(const weft_schedule *s,
                                                            weft_schedule *out);

/** Messages of a rank that need memory at once. */
typedef struct weft_buffers {
    int64_t sends;    /**< sent, and not yet taken: the receiver is not past its WAIT */
    int64_t receives; /**< posted, and not yet waited for                            */
} weft_buffers;

/**
 * Buffers for messages on their way, by the order of the ops and their dependencies alone:
 * a run that has so many never lacks one, whatever its ops and messages take.
 *
 * Of a training step: the most that can be sent and not taken at once in any run of it, and
 * some run gets there. No SEND of it ever waits for a buffer. Of the forwards of an
 * evaluation, where a rank could run ahead of the next by all its micro-batches, as many as
 * the step has: its SENDs take them in turn and wait until the message before was taken.
 * One is added where ranks would wait for each other so (Parks, "Bounded Scheduling of
 * Process Networks", 1995).
 *
 * @param step     lowered; NULL: evaluations only
 * @param forward  of the same shape, lowered; NULL: none are run
 * @param[out] out      [p]
 * @param[out] of_send  [ops of step] at each SEND which of the rank's buffers it takes,
 *                      from 0; its message before was surely taken. Or NULL.
 * O(1) for each op of the step, O(p) where stages are placed in a loop.
 * @return as weft_schedule_check(), and WEFT_E_INVALID for one that is not lowered.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_buffers(const weft_schedule *step,
                                                           const weft_schedule *forward,
                                                           weft_buffers *out,
                                                           int32_t *of_send);

/** What a check counts on its way. */
typedef struct weft_schedule_report {
    int64_t n_ops, n_compute, p2p_messages;
    int64_t *peak_in_flight;   /**< [p] chunk activations, freed at B or I */
    int64_t *peak_in_flight_w; /**< [p] freed at B or W                    */
} weft_schedule_report;

/**
 * Recompute everything from the ops and report the first rule that is broken:
 *
 *   shape      p, m, v in range, v fits the placement, lists in order
 *   range      kind, flags, slice, chunk, micro-batch; direction of a bidir op; an op is
 *              in one pair ('&') at most
 *   once       each op once; every (chunk, micro) has F and either B, or I and W
 *              (or F alone everywhere: forward-only)
 *   order      F before B or I, I before W, R between, inputs made on the rank itself
 *   messages   (lowered) one POST_RECV, WAIT and SEND for each value that crosses ranks,
 *              in that order around their op
 *   pairing    (lowered) tagless: per source, destination and channel (activation or
 *              gradient) receives are posted in the order of the sends
 *   deadlock   dependencies between ranks without a cycle. Lowered: under rendezvous,
 *              where a send is complete when its receive is posted and a rank goes on
 *              past a SEND while fewer than `outstanding` of its sends to that peer are
 *              incomplete: 1 = it stands in every send, 0 = the default, 2.
 *
 * The check of an unlowered schedule is that of its lowered form (weft_schedule_lower()
 * shows why), without the room for it. `report` may be NULL; else clear it with
 * weft_schedule_report_clear(). A forward-only schedule holds one activation at a time.
 *
 * @return WEFT_OK; WEFT_E_INFEASIBLE whose message names the rule, the ranks and ops
 *         involved (for a deadlock: the cycle); WEFT_E_INVALID for a broken shape.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_check(const weft_schedule *s,
                                                         int outstanding,
                                                         weft_schedule_report *report);
WEFT_API void weft_schedule_report_clear(weft_schedule_report *r);

/** How two ops marked '&' run on their rank. */
typedef enum weft_overlap {
    WEFT_OVERLAP_SERIAL, /**< one after the other */
    WEFT_OVERLAP_ATOMIC  /**< as one block: it starts when the inputs of both are there,
                              and both results are there at its end */
} weft_overlap;

/** Do messages run beside the ops of their ranks? */
typedef enum weft_messages {
    /** Yes. From one rank to another goes one message at a time: it leaves when its op has
     *  ended and the one before it is out, is out bytes/bandwidth later, and there latency
     *  after that. */
    WEFT_MESSAGES_OVERLAPPED,
    /** No: each of the two ranks stands still for latency + bytes/bandwidth, the sender
     *  right after its op, the receiver right before its own and no sooner than the sender.
     *  What nobody waits for yet is buffered: a sender does not wait for its receiver. */
    WEFT_MESSAGES_BLOCKING
} weft_messages;

/** Durations and links. Zeroed fields mean zero cost. */
typedef struct weft_costs {
    /** [p][v][WEFT_OP_N_COMPUTE] duration of one op; may be NULL with dur_at */
    const double *dur;
    double latency; /**< added to every value that crosses ranks (non-blocking link) */
    /** optional: overrides dur, per micro-batch */
    double (*dur_at)(void *ctx, int rank, int chunk, int kind, int64_t micro);
    void *dur_ctx;
    weft_overlap overlap;
    double
        overlap_cost; /**< length of a pair run either way; 0: the sum of its two ops */
    const double
        *overlap_by_rank;       /**< [p] in place of overlap_cost; NULL: all the same */
    int n_tiers;                /**< of links; 0: all have `latency` and no limit     */
    const weft_link_tier *tier; /**< [n_tiers] in place of latency                    */
    double message_bytes;       /**< of an activation or gradient, for the tiers      */
    weft_messages messages;
} weft_costs;

/** Called for each compute op in an order in which every op comes after its inputs. The two
 *  of an atomic pair share its block in proportion to their own durations. */
typedef void weft_eval_visit(void *ctx, int rank, const weft_op *op, double start,
                             double end);

typedef struct weft_eval {
    double makespan, span, ideal, bubble_of_total, bubble_of_ideal;
    double *busy, *idle; /**< [p]; idle = makespan - busy */
    int64_t p2p_messages;
} weft_eval;

/**
 * Order x durations x links -> end times. An op starts when its rank is free and its
 * inputs are there. Of a pair that runs serially in a length of its own each op has its
 * part. busy counts ops, not messages; ideal = max over ranks of busy; span = max over
 * ranks of (last end - first start). O(ops). Communication ops are passed over: a lowered
 * schedule takes what its unlowered form takes.
 * @return WEFT_OK; WEFT_E_INFEASIBLE with the blocked ops if the order deadlocks, or
 *         for an op out of range; WEFT_E_INVALID for a broken shape or a duration that
 *         is negative or not finite, and for link tiers out of order.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_eval(const weft_schedule *s,
                                                        const weft_costs *costs,
                                                        weft_eval_visit *visit,
                                                        void *ctx, weft_eval *out);
WEFT_API void weft_eval_clear(weft_eval *e);

/** Text form: one line a rank, "F0.0 F1.0 B0.0& ..." (kind, micro-batch, chunk).
 *  Both forms hold compute ops only. */
WEFT_API void weft_schedule_write_ops(const weft_schedule *s, weft_writer *out);
/** PyTorch pipelining's CSV: a row a rank, cells "0F0" = stage, kind, micro-batch; a
 *  pair is one cell "(0F3;7B1)OVERLAP_F_B". */
WEFT_API void weft_schedule_write_csv(const weft_schedule *s, weft_writer *out);
/** Reads either text form (recognised by its first cell). Errors name line and column.
 *  p, m, v come from the text, kind is "user"; the schedule is NOT checked yet. */
WEFT_API WEFT_MUST_CHECK weft_status weft_schedule_read(const char *text, int64_t n,
                                                        weft_placement_kind placement,
                                                        weft_schedule *out);

/** Closed form of a kind where one is known (uniform costs, zero latency, pairs one after
 *  the other), else NaN: makespan for full-stage times tf and tb, half of tb for each of
 *  I and W; or with these apart, and tb their sum. */
WEFT_API double weft_schedule_closed_makespan(const weft_schedule *s, double tf,
                                              double tb);
WEFT_API double weft_schedule_closed_makespan_split(const weft_schedule *s, double tf,
                                                    double ti, double tw);
/** Chunk activations of `rank`, freed at B or I; -1 where no closed form is known. */
WEFT_API int64_t weft_schedule_closed_peak(const weft_schedule *s, int rank);

/** Versions of its weights that a rank keeps: 2 with two pipelines in opposite directions
 *  (bidir, bidirv), one for each micro-batch in flight under pipedream, else 1. */
WEFT_API int weft_schedule_weight_copies(const weft_schedule *s, int rank);

WEFT_END
#endif
