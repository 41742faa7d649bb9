/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/eval.h"

#include "base/alloc.h"
#include "base/error.h"

weft_status wf_refuse_duration(int rank, const weft_op *op, double d)
{
    char text[WF_OP_TEXT];
    wf_op_text(op, text);
    return WF_FAIL(WEFT_E_INVALID, "duration of %s on rank %d is %g, not 0 or more",
                   text, rank, d);
}

/* When the op can start, as far as its rank and its input go. */
static double start_of(wf_timing *t, const wf_step *step)
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

static void hand_on(wf_timing *t, const wf_step *step, double end)
{
    if (step->op->kind == WEFT_OP_F || wf_is_backward(step->op->kind))
        t->end[step->cell] = end;
}

static weft_status time_pair(wf_timing *t, const wf_step *step)
{
    double start = start_of(t, step), second = start_of(t, step->mate);
    double one = wf_duration(t, step->rank, step->op);
    double other = wf_duration(t, step->rank, step->mate->op);
    if (!wf_is_duration(one)) return wf_refuse_duration(step->rank, step->op, one);
    if (!wf_is_duration(other))
        return wf_refuse_duration(step->rank, step->mate->op, other);
    if (second > start) start = second;
    double cost = wf_pair_cost(t->costs, step->rank);
    double whole = cost > 0 ? cost : one + other;
    double end = start + whole, middle = start;
    if (one > 0) middle += whole * (one / (one + other));
    wf_occupy(t, step->rank, start, end);
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
    wf_timing *t = ctx;
    if (step->mate) return time_pair(t, step);
    double start = start_of(t, step), d = wf_duration(t, step->rank, step->op);
    if (!wf_is_duration(d)) return wf_refuse_duration(step->rank, step->op, d);
    wf_occupy(t, step->rank, start, start + d);
    hand_on(t, step, start + d);
    if (t->visit) t->visit(t->ctx, step->rank, step->op, start, start + d);
    return WEFT_OK;
}

static weft_status check_pairs(const weft_schedule *s, const weft_costs *c)
{
    if (c->overlap != WEFT_OVERLAP_SERIAL && c->overlap != WEFT_OVERLAP_ATOMIC)
        return WF_FAIL(WEFT_E_INVALID, "overlap number %d is unknown", (int)c->overlap);
    for (int r = 0; r < (c->overlap_by_rank ? s->p : 1); r++)
        if (!wf_is_duration(wf_pair_cost(c, r)))
            return WF_FAIL(WEFT_E_INVALID, "overlap cost %g is not 0 or more",
                           wf_pair_cost(c, r));
    return WEFT_OK;
}

static weft_status check_costs(const weft_schedule *s, const weft_costs *c)
{
    if (!c->dur && !c->dur_at) return WF_FAIL(WEFT_E_INVALID, "no durations are given");
    WF_TRY(check_pairs(s, c));
    return wf_check_links(s, c);
}

weft_status wf_timing_open(wf_timing *t)
{
    int64_t cells;
    WF_TRY(wf_shape_check(t->s));
    WF_TRY(check_costs(t->s, t->costs));
    WF_TRY(wf_cells(t->s, &cells));
    WF_TRY(WF_ALLOC(cells, &t->end));
    WF_TRY(WF_ALLOC(t->s->p, &t->free));
    WF_TRY(WF_ALLOC(t->s->p, &t->first));
    WF_TRY(WF_ALLOC(t->s->p, &t->busy));
    WF_TRY(wf_links(t->s, &t->link));
    for (int r = 0; r < t->s->p; r++)
        t->first[r] = -1;
    return wf_timing_is_plain(t) ? WEFT_OK : wf_timing_open_links(t);
}

weft_status wf_timing_step(wf_timing *t)
{
    return wf_walk(t->s, t->link, t->costs->overlap == WEFT_OVERLAP_ATOMIC,
                   t->wire ? wf_time_linked : time_op, t);
}

weft_status wf_timing_summary(wf_timing *t, weft_eval *out)
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
    t->busy = NULL;
    *out = e;
    return WEFT_OK;
}

void wf_timing_clear(wf_timing *t)
{
    wf_free(t->link);
    wf_free(t->end);
    wf_free(t->free);
    wf_free(t->first);
    wf_free(t->busy);
    wf_free(t->wire);
    wf_free(t->port);
    wf_free(t->mate);
}

weft_status weft_schedule_eval(const weft_schedule *s, const weft_costs *costs,
                               weft_eval_visit *visit, void *ctx, weft_eval *out)
{
    wf_timing t = {.s = s, .costs = costs, .visit = visit, .ctx = ctx};
    weft_status st = wf_timing_open(&t);
    if (st == WEFT_OK) st = wf_timing_step(&t);
    if (st == WEFT_OK) st = wf_timing_summary(&t, out);
    wf_timing_clear(&t);
    return st;
}

void weft_eval_clear(weft_eval *e)
{
    wf_free(e->busy);
    wf_free(e->idle);
    *e = (weft_eval){.makespan = 0};
}
