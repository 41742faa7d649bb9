/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List scheduling along a repeated block, for kinds without a written-out order.
 *
 * A block gives each kind of op of a rank a slot; that of micro-batch i comes i periods
 * later. In slot order the schedule is right and holds what its author meant, but the
 * first and last micro-batches leave gaps. A run goes through the ops in the order of
 * time, and where a rank would wait it takes an op that is ready from a little ahead in
 * its slot order, if the rest of that order then still fits into the memory limits; or
 * a W.
 */
#ifndef WF_SCHEDULE_KINDS_SQUEEZE_H
#define WF_SCHEDULE_KINDS_SQUEEZE_H
#include "schedule/kind.h"

enum { WF_FORWARD, WF_BACK, WF_WEIGHT, WF_N_PARTS }; /* BACK: I, or B where unsplit */

/* Of one rank, whose v is 1 or 2. */
typedef struct wf_block {
    int64_t slot[2][WF_N_PARTS]; /* [chunk] */
} wf_block;

typedef enum wf_fill {
    WF_FILL_ALWAYS, /* a rank that would wait does a W                              */
    WF_FILL_HALF,   /* ... if the op it waits for is at least half of one away       */
    WF_FILL_FIT     /* ... if it ends before that op can begin                       */
} wf_fill;

/* How a run deviates from the slots. */
typedef struct wf_try {
    const wf_block *block; /* [p] */
    int period;
    int ahead; /* how many ops ahead of its slot order a rank looks ...               */
    int start; /* ... while its next op is of a micro-batch before this one, or
                  no forward is left; in between it keeps to its slots               */
    int due;   /* W's keep to their slots too, from micro-batch `start` on            */
    int keep;  /* halves of an activation that count until W: 1, or 2 to be strict    */
    wf_fill fill;
} wf_try;

typedef struct wf_search {
    int split;
    double
        dur[WF_N_PARTS]; /* of one op                                               */
    double latency,
        judged_latency;        /* in a run, and when its result is judged         */
    const double *hop;         /* [p-1] of a message between rank r and r+1, in place of
                                  latency; NULL: all the same                      */
    const weft_costs *links;   /* then: what a result is judged by                 */
    int64_t limit;             /* halves of a chunk activation on any rank        */
    const int64_t *limit_back; /* [p] activations freed at I or B; NULL: none     */
    int64_t
        sample; /* micro-batches that show which try is best                       */
    const wf_try *tries;
    int n_tries;
} wf_search;

/* Times that differ by less are equal. */
static inline double wf_rounding(const wf_search *x)
{
    return 1e-9 * (x->dur[WF_FORWARD] + x->dur[WF_BACK]);
}

/* When a run came to its end. */
typedef struct wf_squeezed {
    double makespan, span;
} wf_squeezed;

/* One run. WEFT_E_INFEASIBLE when the ranks wait for each other's memory, or as soon as it
 * is sure to end after `latest`. */
weft_status wf_squeeze(const wf_search *x, const wf_try *how, const weft_schedule *s,
                       double latest, wf_squeezed *out);

/* What an order is judged by. */
typedef struct wf_score {
    double makespan, span;
    int64_t memory; /* of all ranks, freed at I and freed at W */
} wf_score;

/* Fills s with the best of the tries: by makespan, then span, then memory. They are
 * judged with `sample` micro-batches, enough for both ends of the schedule to show; of
 * very large ones the first tries only. `out` may be NULL. WEFT_E_INFEASIBLE if no try fits
 * the limits. */
weft_status wf_search_run(const wf_search *x, const weft_schedule *s, wf_score *out);

/* Takes the order of another split schedule of the same shape into s, where it keeps
 * the limit (an activation counting half from I to W) and is better than `own`, the
 * score of s, which it then replaces. */
weft_status wf_search_take(const wf_search *x, const weft_schedule *other,
                           const weft_schedule *s, wf_score *own);
#endif
