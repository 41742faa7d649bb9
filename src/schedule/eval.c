/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/walk.h"

typedef struct timing {
    const weft_schedule *s;
    const weft_costs *costs;
    weft_eval_visit *visit;
    void *ctx;
    double
        *end; /* [cells] when the cell's last value was ready. One slot holds first the
                      activation, then the gradient: B(s) comes after B(s+1), that after
                      F(s+1), the only other op that takes F(s). */
    double *free;  /* [p] end of the rank's last op */
    double *first; /* [p] start of its first, -1 before */
    double *busy;  /* [p] */
    int64_t messages;
} timing;

static int is_duration(double d)
{
    return d >= 0 && d <= DBL_MAX; /* false for NaN */
}

static double duration(const timing *t, int rank, const weft_op *op)
{
    const weft_costs *c = t->costs;
    if (c->dur_at) return c->dur_at(c->dur_ctx, rank, op->chunk, op->kind, op->micro);
    return c->dur[((int64_t)rank * t->s->v + op->chunk) * WEFT_OP_N_COMPUTE + op->kind];
}

static weft_status refuse_duration(const wf_step *step, double d)
{
    char text[WF_OP_TEXT];
    wf_op_text(step->op, text);
    return WF_FAIL(WEFT_E_INVALID, "duration of %s on rank %d is %g, not 0 or more",
                   text, step->rank, d);
}

/* When the op can start, as far as its rank and its input go. */
static double start_of(timing *t, const wf_step *step)
{
    double start = t->free[step->rank];
    if (step->input >= 0) {
        double ready = t->end[step->input];
        if (step->remote) {
            ready += t->costs->latency;
            t->messages++;
        }
        if (ready > start) start = ready;
    }
    return start;
}

/* The rank works from start to end. */
static void occupy(timing *t, int r, double start, double end)
{
    if (t->first[r] < 0) t->first[r] = start;
    t->free[r] = end;
    t->busy[r] += end - start;
}

static void hand_on(timing *t, const wf_step *step, double end)
{
    if (step->op->kind == WEFT_OP_F || wf_is_backward(step->op->kind))
        t->end[step->cell] = end;
}

static weft_status time_pair(timing *t, const wf_step *step)
{
    double start = start_of(t, step), second = start_of(t, step->mate);
    double one = duration(t, step->rank, step->op);
    double other = duration(t, step->rank, step->mate->op);
    if (!is_duration(one)) return refuse_duration(step, one);
    if (!is_duration(other)) return refuse_duration(step->mate, other);
    if (second > start) start = second;
    double whole = t->costs->overlap_cost > 0 ? t->costs->overlap_cost : one + other;
    double end = start + whole, middle = start;
    if (one > 0) middle += whole * (one / (one + other));
    occupy(t, step->rank, start, end);
    hand_on(t, step, end);
    hand_on(t, step->mate, end);
    if (t->visit) {
        t->visit(t->ctx, step->rank, step->op, start, middle);
        t->visit(t->ctx, step->rank, step->mate->op, middle, end);
    }
    return WEFT_OK;
}

static weft_status time_op(void *ctx, const wf_step *step)
{
    timing *t = ctx;
    if (step->mate) return time_pair(t, step);
    double start = start_of(t, step), d = duration(t, step->rank, step->op);
    if (!is_duration(d)) return refuse_duration(step, d);
    occupy(t, step->rank, start, start + d);
    hand_on(t, step, start + d);
    if (t->visit) t->visit(t->ctx, step->rank, step->op, start, start + d);
    return WEFT_OK;
}

static weft_status check_costs(const weft_costs *c)
{
    if (!c->dur && !c->dur_at) return WF_FAIL(WEFT_E_INVALID, "no durations are given");
    if (!is_duration(c->latency))
        return WF_FAIL(WEFT_E_INVALID, "latency %g is not 0 or more", c->latency);
    if (c->overlap != WEFT_OVERLAP_SERIAL && c->overlap != WEFT_OVERLAP_ATOMIC)
        return WF_FAIL(WEFT_E_INVALID, "overlap number %d is unknown", (int)c->overlap);
    if (!is_duration(c->overlap_cost))
        return WF_FAIL(WEFT_E_INVALID, "overlap cost %g is not 0 or more",
                       c->overlap_cost);
    return WEFT_OK;
}

static weft_status run(timing *t)
{
    int64_t cells;
    wf_link *link;
    WF_TRY(wf_cells(t->s, &cells));
    WF_TRY(WF_ALLOC(cells, &t->end));
    WF_TRY(WF_ALLOC(t->s->p, &t->free));
    WF_TRY(WF_ALLOC(t->s->p, &t->first));
    WF_TRY(WF_ALLOC(t->s->p, &t->busy));
    for (int r = 0; r < t->s->p; r++)
        t->first[r] = -1;
    WF_TRY(wf_links(t->s, &link));
    weft_status st =
        wf_walk(t->s, link, t->costs->overlap == WEFT_OVERLAP_ATOMIC, time_op, t);
    wf_free(link);
    return st;
}

static weft_status summarise(const timing *t, weft_eval *out)
{
    weft_eval e = {.busy = t->busy, .p2p_messages = t->messages};
    WF_TRY(WF_ALLOC(t->s->p, &e.idle));
    for (int r = 0; r < t->s->p; r++) {
        double span = t->first[r] < 0 ? 0 : t->free[r] - t->first[r];
        if (t->free[r] > e.makespan) e.makespan = t->free[r];
        if (t->busy[r] > e.ideal) e.ideal = t->busy[r];
        if (span > e.span) e.span = span;
    }
    for (int r = 0; r < t->s->p; r++)
        e.idle[r] = e.makespan - t->busy[r];
    if (e.makespan > 0) e.bubble_of_total = (e.makespan - e.ideal) / e.makespan;
    if (e.ideal > 0) e.bubble_of_ideal = e.makespan / e.ideal - 1;
    *out = e;
    return WEFT_OK;
}

weft_status weft_schedule_eval(const weft_schedule *s, const weft_costs *costs,
                               weft_eval_visit *visit, void *ctx, weft_eval *out)
{
    timing t = {.s = s, .costs = costs, .visit = visit, .ctx = ctx};
    WF_TRY(wf_shape_check(s));
    WF_TRY(check_costs(costs));
    weft_status st = run(&t);
    if (st == WEFT_OK) st = summarise(&t, out);
    wf_free(t.end);
    wf_free(t.free);
    wf_free(t.first);
    if (st != WEFT_OK) wf_free(t.busy);
    return st;
}

void weft_eval_clear(weft_eval *e)
{
    wf_free(e->busy);
    wf_free(e->idle);
    *e = (weft_eval){.makespan = 0};
}
