/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an evaluation, for a simulation that goes on after a step. */
#ifndef WF_SCHEDULE_EVAL_H
#define WF_SCHEDULE_EVAL_H
#include <float.h>

#include "schedule/walk.h"

/* A message of `op`, visited after its op. Blocking: twice, once for each end, and `rank`
 * stands still; else once, for the sender. */
typedef void wf_message_visit(void *ctx, int rank, int receives, const weft_op *op,
                              double start, double end);
/* The weights of `rank` change from start to end, right after a backward. */
typedef void wf_update_visit(void *ctx, int rank, const weft_op *op, double start,
                             double end);

/* What a message takes on its way. */
typedef struct wf_wire {
    double latency, gap; /* gap: until the next one may leave */
} wf_wire;

typedef struct wf_timing {
    /* set before wf_timing_open(); all but s and costs may be NULL */
    const weft_schedule *s;
    const weft_costs *costs;
    weft_eval_visit *visit;
    wf_message_visit *message; /* only messages that take time */
    wf_update_visit *update;
    const double *update_time; /* [p] after each backward of an asynchronous schedule */
    void *ctx;

    wf_link *link;
    double
        *end; /* [cells] when the cell's last value was ready. One slot holds first the
                      activation, then the gradient: B(s) comes after B(s+1), that after
                      F(s+1), the only other op that takes F(s). */
    double *free;  /* [p] end of the rank's last op */
    double *first; /* [p] start of its first, -1 before */
    double *busy;  /* [p] */
    int64_t messages;

    /* Only where links differ or anything of wf_timing_is_plain() is not so. `end` then
     * holds when a value is there, and blocking: when its message began. */
    wf_wire (*wire)[2]; /* [p] to the next rank around the ring, to the one before */
    double (*port)[2];  /* [p] when the next message may leave                     */
    double *mate;       /* [p] length of the second op of a pair begun; -1: none   */
} wf_timing;

weft_status wf_timing_open(wf_timing *t);
/* All ops of all lists once more, each rank going on from t->free. */
weft_status wf_timing_step(wf_timing *t);
/* The summary so far; t->busy goes over to it. */
weft_status wf_timing_summary(wf_timing *t, weft_eval *out);
void wf_timing_clear(wf_timing *t);

/* eval_links.c: the step function where links, pairs or updates are not plain. */
int wf_timing_is_plain(const wf_timing *t);
weft_status wf_timing_open_links(wf_timing *t);
weft_status wf_time_linked(void *ctx, const wf_step *step);
weft_status wf_check_links(const weft_schedule *s, const weft_costs *c);
wf_wire wf_wire_between(const weft_costs *c, int from, int to);

/* ---- shared by both ------------------------------------------------------------- */

static inline int wf_is_duration(double d)
{
    return d >= 0 && d <= DBL_MAX; /* false for NaN */
}

static inline double wf_duration(const wf_timing *t, int rank, const weft_op *op)
{
    const weft_costs *c = t->costs;
    if (c->dur_at) return c->dur_at(c->dur_ctx, rank, op->chunk, op->kind, op->micro);
    return c->dur[((int64_t)rank * t->s->v + op->chunk) * WEFT_OP_N_COMPUTE + op->kind];
}

weft_status wf_refuse_duration(int rank, const weft_op *op, double d);

/* The rank works from start to end. */
static inline void wf_occupy(wf_timing *t, int r, double start, double end)
{
    if (t->first[r] < 0) t->first[r] = start;
    t->free[r] = end;
    t->busy[r] += end - start;
}

static inline double wf_pair_cost(const weft_costs *c, int rank)
{
    return c->overlap_by_rank ? c->overlap_by_rank[rank] : c->overlap_cost;
}
#endif
