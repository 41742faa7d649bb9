/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the kind `optimal`: a problem, an order of its ops, its time.
 *
 * Micro-batches are alike, so it is enough to look at orders where every stage takes
 * them first-in first-out, in F, in I and in W: exchange the names of two micro-batches
 * at a stage that takes them the other way round, and the k-th end of each (stage,
 * kind) is no later than before. So an order is a list of lanes for each rank, a lane
 * being a (stage, kind), and the k-th entry of a lane is its micro-batch k.
 */
#ifndef WF_SCHEDULE_KINDS_OPTIMAL_H
#define WF_SCHEDULE_KINDS_OPTIMAL_H
#include "schedule/kind.h"

enum { WF_LANE_F, WF_LANE_I, WF_LANE_W, WF_LANES };

static inline int wf_lane(int stage, int part)
{
    return stage * WF_LANES + part;
}

typedef struct wf_problem {
    int p, m, v, n;   /* n = p*v stages                                       */
    int64_t len;      /* ops of a rank: 3mv                                   */
    weft_costs links; /* of values that cross ranks                         */
    int *rank;        /* [n] of a stage                                       */
    int *stage;       /* [p*v] of a (rank, chunk)                             */
    int *input;       /* [3n] lane whose k-th result the k-th op takes, or -1 */
    double *dur;      /* [3n]                                                 */
    double *delay;    /* [3n] of a message where the input crosses ranks      */
    double *hold;     /* [3n] what an op of the lane adds to a rank's memory  */
    double *limit;    /* [p]; INFINITY: none                                  */
} wf_problem;

/* limit with the rounding of a sum forgiven: less than a byte of a terabyte. */
static inline double wf_most_held(const wf_problem *x, int rank)
{
    return x->limit[rank] * (1 + 1e-12);
}

/* From a shape that applicable() has completed. */
weft_status wf_problem_init(const weft_schedule *q, const weft_schedule_options *opt,
                            wf_problem *out);
void wf_problem_clear(wf_problem *x);

/* Deterministic; *seed is not 0. */
static inline uint32_t wf_random_below(uint64_t *seed, uint32_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)((*seed >> 16) % n);
}

/* ---- the time of an order ------------------------------------------------------- */

typedef struct wf_clock {
    double *end;    /* [3n][m]                                              */
    double *start;  /* [p][len]                                             */
    double *free;   /* [p]                                                  */
    int *count;     /* [3n]                                                 */
    int *wait;      /* [3n] 1 + rank that waits for the lane's next, 0 none */
    int *todo;      /* [p] stack of ranks                                   */
    int64_t *at;    /* [p]                                                  */
    int *next;      /* [p] lane that the list scheduler would take ...      */
    double *when;   /* [p] ... at this time                                 */
    int64_t *place; /* [3n][m] index in the list of the rank                */
} wf_clock;

weft_status wf_clock_init(const wf_problem *x, wf_clock *out);
void wf_clock_clear(wf_clock *c);

/* Makespan of order [p][len] of lanes, as early as possible; INFINITY if it deadlocks. */
double wf_clock_run(const wf_problem *x, const int *order, wf_clock *c);
/* Does the rank's list keep its limit? */
int wf_order_fits(const wf_problem *x, int rank, const int *list);

/* ---- its three sources ---------------------------------------------------------- */

/* How the list scheduler decides. */
typedef struct wf_rule {
    double depth;    /* forwards ahead of the backward, in round trips of a stage;
                        0: as many as memory allows                               */
    double patience; /* a free rank waits for an I this part of a forward         */
    double fill;     /* a W is put into a wait of at least this part of it        */
    int forward;     /* of two ops that are ready, F goes before I                */
    int wide;        /* of two chunks, the one that is behind goes first          */
    uint64_t chance; /* not 0: seed of now and then doing otherwise               */
} wf_rule;

/* Makespan of the order that it fills in; INFINITY if the rule gets stuck. */
double wf_list_run(const wf_problem *x, const wf_rule *rule, wf_clock *c, int *order);

/* Moves ops of the critical path for so many evaluations, or until the time is that of
 * the bound. Never worse. */
weft_status wf_order_improve(const wf_problem *x, int64_t tries, double bound,
                             int *order, double *makespan);

/* ---- the bound ------------------------------------------------------------------ */

/* What holds of an op in every order (optimal-window.c). */
typedef struct wf_window {
    double *head;  /* [3n][m] it starts no sooner                                 */
    double *tail;  /* [3n][m] from its end to the end of the step                 */
    int64_t *room; /* [n][v][2] so many micro-batches before the k-th forward of a
                      stage, I (0) and W (1) of that chunk of its rank are done   */
} wf_window;

weft_status wf_window_init(const wf_problem *x, wf_window *out);
void wf_window_clear(wf_window *w);

weft_status wf_problem_bound(const wf_problem *x, const wf_window *w,
                             weft_schedule_lower_bound *out);

/* ---- the complete search -------------------------------------------------------- */

typedef struct wf_effort {
    int width; /* partial schedules of a layer */
    int steps; /* of all layers                */
} wf_effort;

enum { WF_FOUND = 1, WF_COMPLETE = 2 };

/* The shortest order below the target that it comes across, if any; with WF_COMPLETE
 * there is none that is shorter. `least` is a bound; at most WF_MOST_COUNTED
 * micro-batches. */
weft_status wf_order_search(const wf_problem *x, const wf_window *w, double least,
                            wf_effort effort, double target, int *order, int *found);

/* The same depth first: the last order that it comes across, each one shorter than the one
 * before, until it has seen `most` partial schedules. */
weft_status wf_order_dive(const wf_problem *x, const wf_window *w, double least,
                          int most, double target, int *order, int *found);
#endif
