/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <weft/sim.h>

#include "base/error.h"

typedef struct recorder {
    const weft_schedule *s;
    weft_trace *trace;
    const weft_costs *costs;
    const weft_op
        *held;      /* first op of an atomic pair, whose result waits for the end */
    weft_status st; /* a visit cannot fail by itself */
} recorder;

static void record(recorder *rec, const weft_trace_entry *e)
{
    if (rec->st == WEFT_OK) rec->st = weft_trace_add(rec->trace, e);
}

/* Rank that takes the result of op, or the rank itself. */
static int target(const weft_schedule *s, int rank, const weft_op *op)
{
    int to = rank, chunk, step = op->kind == WEFT_OP_F ? 1 : -1;
    int stage = weft_schedule_stage(s, rank, op->chunk) + step;
    if (op->kind == WEFT_OP_W || op->kind == WEFT_OP_R) return rank;
    if (stage >= 0 && stage < weft_schedule_stages(s))
        weft_schedule_holder(s, stage, op->micro, &to, &chunk);
    return to;
}

static void record_send(recorder *rec, int rank, const weft_op *op, double end)
{
    double latency = rec->costs->latency;
    if (!(latency > 0) || target(rec->s, rank, op) == rank) return;
    weft_trace_entry e = {.start = end,
                          .end = end + latency,
                          .op = *op,
                          .rank = rank,
                          .lane = WEFT_LANE_SEND};
    e.op.kind = WEFT_OP_SEND;
    e.op.flags = op->kind == WEFT_OP_F ? 0 : WEFT_OPF_GRAD;
    record(rec, &e);
}

/* The two ops of a pair are visited one right after the other. */
static void visit(void *ctx, int rank, const weft_op *op, double start, double end)
{
    recorder *rec = ctx;
    weft_trace_entry e = {
        .start = start, .end = end, .op = *op, .rank = rank, .lane = WEFT_LANE_COMPUTE};
    record(rec, &e);
    if (rec->held) record_send(rec, rank, rec->held, end);
    int first = !rec->held && op->flags & WEFT_OPF_PAIR &&
                rec->costs->overlap == WEFT_OVERLAP_ATOMIC;
    rec->held = first ? op : NULL;
    if (!first) record_send(rec, rank, op, end);
}

weft_status weft_simulate(const weft_schedule *s, const weft_costs *costs,
                          weft_trace *trace, weft_eval *out)
{
    if (!trace) return weft_schedule_eval(s, costs, NULL, NULL, out);

    char title[sizeof trace->title];
    if (s->v > 1)
        snprintf(title, sizeof title, "%s p=%d m=%d v=%d", s->kind, s->p, s->m, s->v);
    else
        snprintf(title, sizeof title, "%s p=%d m=%d", s->kind, s->p, s->m);
    weft_eval e;
    recorder rec = {.s = s, .trace = trace, .costs = costs};
    weft_trace_init(trace, s->p, "", title);
    weft_status st = weft_schedule_eval(s, costs, visit, &rec, &e);
    if (st == WEFT_OK && rec.st != WEFT_OK) {
        weft_eval_clear(&e);
        st = rec.st;
    }
    if (st == WEFT_OK)
        *out = e;
    else
        weft_trace_clear(trace);
    return st;
}
