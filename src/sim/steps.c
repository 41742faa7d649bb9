/* SPDX-License-Identifier: Apache-2.0 */
/* One schedule, step after step. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "sim/record.h"

typedef struct run {
    const weft_schedule *s; /* the list that is walked */
    const weft_costs *costs;
    const weft_sim_options *o;
    int steps, async;
    int step;       /* being walked; async: 0                */
    int step_micro; /* async: micro-batches of a step, else 0 */
    wf_timing t;
    wf_memory memory; /* now is NULL: no bytes asked for */
    wf_history history;
    double *step_end; /* [steps] */
    weft_trace *trace;
    weft_status st; /* a visit cannot fail by itself */
} run;

/* ---- what is visited ------------------------------------------------------------ */

static int step_of(const run *r, const weft_op *op)
{
    return r->step_micro ? (int)(op->micro / (uint32_t)r->step_micro) : r->step;
}

static void record(run *r, const weft_trace_entry *e)
{
    if (r->trace && r->st == WEFT_OK) r->st = weft_trace_add(r->trace, e);
}

static void note_end(run *r, int step, double end)
{
    if (end > r->step_end[step]) r->step_end[step] = end;
}

/* A step without a flush is known by the last p micro-batches up to its own last one. */
static void note_window(run *r, int rank, const weft_op *op, double end)
{
    int p = r->s->p;
    int64_t micro = op->micro, m = r->step_micro;
    if (!r->history.width) return;
    for (int64_t k = micro / m; k < r->steps && (k + 1) * m - p <= micro; k++) {
        int64_t at = (micro - ((k + 1) * m - p)) * p + rank;
        r->history.x[k * r->history.width + 2 * at + (op->kind != WEFT_OP_F)] = end;
    }
}

static void visit(void *ctx, int rank, const weft_op *op, double start, double end)
{
    run *r = ctx;
    record(r, &(weft_trace_entry){.start = start,
                                  .end = end,
                                  .op = *op,
                                  .rank = rank,
                                  .step = step_of(r, op),
                                  .lane = WEFT_LANE_COMPUTE});
    if (r->async) note_window(r, rank, op, end);
    note_end(r, step_of(r, op), end);
    if (r->memory.now && r->st == WEFT_OK)
        r->st = wf_memory_visit(&r->memory, rank, op, start, end);
}

static void message(void *ctx, int rank, int receives, const weft_op *op, double start,
                    double end)
{
    run *r = ctx;
    weft_trace_entry e = {.start = start,
                          .end = end,
                          .bytes = (int64_t)r->costs->message_bytes,
                          .op = *op,
                          .rank = rank,
                          .step = step_of(r, op),
                          .lane = receives ? WEFT_LANE_RECV : WEFT_LANE_SEND};
    e.op.kind = receives ? WEFT_OP_POST_RECV : WEFT_OP_SEND;
    e.op.flags = op->kind == WEFT_OP_F ? 0 : WEFT_OPF_GRAD;
    record(r, &e);
}

static void record_update(run *r, int rank, int step, double start, double end)
{
    record(r, &(weft_trace_entry){.start = start,
                                  .end = end,
                                  .label = "optimizer",
                                  .rank = rank,
                                  .step = step,
                                  .lane = WEFT_LANE_COMPUTE});
    note_end(r, step, end);
}

static void update(void *ctx, int rank, const weft_op *op, double start, double end)
{
    record_update(ctx, rank, step_of(ctx, op), start, end);
}

/* ---- the end of a step ---------------------------------------------------------- */

/* When a rank has the gradients of its weights. */
static double gradients(const run *r, int rank)
{
    double own = r->t.free[rank], other = r->t.free[r->s->p - 1 - rank];
    return wf_bidirectional(r->s) && other > own ? other : own;
}

/* When each rank may change its weights. */
static void allow(const run *r, double *start)
{
    int p = r->s->p;
    double all = 0, sent = 0;
    for (int k = 0; k < p; k++) {
        start[k] = gradients(r, k);
        if (start[k] > all) all = start[k];
    }
    for (int k = 0; k < p; k++) {
        if (r->o->sync == WEFT_SYNC_GLOBAL) start[k] = all;
        if (r->o->sync != WEFT_SYNC_CHAIN) continue;
        if (sent > start[k]) start[k] = sent;
        sent = start[k] + wf_wire_between(r->costs, k, (k + 1) % p).latency;
    }
}

static void change_weights(run *r, const double *start)
{
    int last = r->step == r->steps - 1;
    for (int k = 0; k < r->s->p; k++) {
        double time = r->o->optimizer ? r->o->optimizer[k] : 0;
        if (time > 0) {
            wf_occupy(&r->t, k, start[k], start[k] + time);
            record_update(r, k, r->step, start[k], start[k] + time);
        } else if (!last) {
            r->t.free[k] = start[k]; /* the next step waits, nobody works */
        }
    }
}

/* All that the next step can depend on; it begins where the weights may change. */
static void note_state(const run *r, const double *start)
{
    double *x = r->history.x + r->step * r->history.width;
    if (!r->history.width) return;
    for (int k = 0; k < r->s->p; k++) {
        double free = r->t.free[k] > start[k] ? r->t.free[k] : start[k];
        *x++ = free;
        for (int i = 0; i < 2 && r->t.port; i++)
            *x++ = r->t.port[k][i] > free ? r->t.port[k][i] : free;
    }
}

static weft_status run_steps(run *r)
{
    double *start;
    int forward_only = wf_is_forward_only(r->s);
    WF_TRY(WF_ALLOC(r->s->p, &start));
    weft_status st = WEFT_OK;
    for (r->step = 0; r->step < r->steps && st == WEFT_OK; r->step++) {
        st = wf_timing_step(&r->t);
        if (r->async) break;
        if (forward_only) {
            memcpy(start, r->t.free, (size_t)r->s->p * sizeof *start);
        } else {
            allow(r, start);
            change_weights(r, start);
        }
        note_state(r, start);
    }
    wf_free(start);
    return st == WEFT_OK ? r->st : st;
}

/* ---- before and after ----------------------------------------------------------- */

static weft_status check(const run *r)
{
    const weft_sim_options *o = r->o;
    if (o->steps < 0)
        return WF_FAIL(WEFT_E_INVALID, "%d steps; at least 1 is needed", o->steps);
    if ((int)o->sync < 0 || o->sync > WEFT_SYNC_NONE)
        return WF_FAIL(WEFT_E_INVALID, "sync number %d is unknown", (int)o->sync);
    for (int k = 0; o->optimizer && k < r->s->p; k++)
        if (!wf_is_duration(o->optimizer[k]))
            return WF_FAIL(WEFT_E_INVALID,
                           "the optimizer takes %g on rank %d, not 0 or more",
                           o->optimizer[k], k);
    if (o->optimizer && wf_is_forward_only(r->s))
        return WF_FAIL(WEFT_E_INVALID,
                       "%s has no gradients that an optimizer could use", r->s->kind);
    return WEFT_OK;
}

static void set_title(const run *r, int m)
{
    char *title = r->trace->title;
    size_t size = sizeof r->trace->title;
    int n = snprintf(title, size, "%s p=%d m=%d", r->s->kind, r->s->p, m);
    if (r->s->v > 1) n += snprintf(title + n, size - (size_t)n, " v=%d", r->s->v);
    if (r->steps > 1) snprintf(title + n, size - (size_t)n, ", %d steps", r->steps);
}

static weft_status open_history(run *r)
{
    wf_history *h = &r->history;
    int64_t p = r->s->p;
    h->steps = r->steps;
    h->width = r->async ? 2 * p * p : p * (r->t.port ? 3 : 1);
    WF_TRY(WF_ALLOC(h->steps * h->width, &h->x));
    /* Steps before the pipeline is full are like no other. */
    for (int64_t i = 0; r->async && i < h->steps * h->width; i++)
        h->x[i] = NAN;
    return WEFT_OK;
}

static weft_status open_run(run *r, int m)
{
    WF_TRY(check(r));
    r->t = (wf_timing){.s = r->s,
                       .costs = r->costs,
                       .visit = visit,
                       .message = r->trace ? message : NULL,
                       .ctx = r};
    if (r->async && r->o->optimizer) {
        r->t.update = update;
        r->t.update_time = r->o->optimizer;
    }
    if (r->trace) set_title(r, m);
    WF_TRY(wf_timing_open(&r->t));
    if (r->o->bytes)
        WF_TRY(wf_memory_open(r->s, r->costs, r->o->bytes, r->trace, &r->memory));
    WF_TRY(WF_ALLOC(r->steps, &r->step_end));
    return r->steps > 1 ? open_history(r) : WEFT_OK;
}

static void find_step_time(const run *r, weft_sim *out)
{
    int n = r->steps, half = (n - 1) / 2;
    double shift;
    out->step_time = n > 1 ? (r->step_end[n - 1] - r->step_end[half]) / (n - 1 - half)
                           : r->step_end[0];
    out->period = wf_history_period(&r->history, &shift, &out->steady_from);
    if (out->period) out->step_time = shift / out->period;
}

static weft_status close_run(run *r, weft_sim *out)
{
    weft_sim x = {.steps = r->steps};
    WF_TRY(wf_timing_summary(&r->t, &x.eval));
    find_step_time(r, &x);
    x.step_end = r->step_end;
    x.peak = r->memory.peak;
    x.first_over = r->memory.first_over;
    r->step_end = NULL;
    r->memory.peak = r->memory.first_over = NULL;
    *out = x;
    return WEFT_OK;
}

static weft_status simulate(run *r, int m, weft_sim *out)
{
    weft_status st = open_run(r, m);
    if (st == WEFT_OK) st = run_steps(r);
    if (st == WEFT_OK) st = close_run(r, out);
    wf_timing_clear(&r->t);
    wf_memory_clear(&r->memory);
    wf_free(r->history.x);
    wf_free(r->step_end);
    return st;
}

/* The steps of an asynchronous schedule in one list. */
static weft_status lengthen(const weft_schedule *s, int steps, weft_schedule *out)
{
    if (s->m > INT_MAX / steps)
        return WF_FAIL(WEFT_E_INVALID, "%d steps of %d micro-batches are too many",
                       steps, s->m);
    return weft_schedule_make(s->kind, s->p, s->m * steps, s->v, NULL, out);
}

weft_status weft_simulate_steps(const weft_schedule *s, const weft_costs *costs,
                                const weft_sim_options *o, weft_trace *trace,
                                weft_sim *out)
{
    static const weft_sim_options plain = {.steps = 1};
    weft_schedule all = {.p = 0};
    run r = {.s = s, .costs = costs, .o = o ? o : &plain, .trace = trace};

    if (trace) weft_trace_init(trace, s->p, "", "");
    WF_TRY(wf_shape_check(s));
    r.steps = r.o->steps > 1 ? r.o->steps : 1;
    r.async = weft_schedule_kind_asynchronous(weft_schedule_kind_find(s->kind));
    if (r.async) r.step_micro = s->m;
    if (r.async && r.steps > 1) {
        WF_TRY(lengthen(s, r.steps, &all));
        r.s = &all;
    }
    weft_status st = simulate(&r, s->m, out);
    if (r.s == &all) weft_schedule_clear(&all);
    if (st != WEFT_OK && trace) weft_trace_clear(trace);
    return st;
}

void weft_sim_clear(weft_sim *r)
{
    weft_eval_clear(&r->eval);
    wf_free(r->step_end);
    wf_free(r->peak);
    wf_free(r->first_over);
    *r = (weft_sim){.steps = 0};
}
