/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/sim.h>

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/ir.h"

typedef struct follower {
    const weft_schedule *s;
    const weft_trace *trace;
    int step;
    double slack;
    wf_link *link;
    double *end[2]; /* [cells] end of F, and of B or I */
    double *free;   /* [p] end of the rank's last op   */
    int64_t *at;    /* [p] next op of its list         */
} follower;

static int is_op(const follower *f, const weft_trace_entry *e)
{
    return !e->label && e->step == f->step && e->lane == WEFT_LANE_COMPUTE &&
           e->op.kind < WEFT_OP_N_COMPUTE;
}

static int64_t skip_comm(const weft_schedule *s, int rank, int64_t i)
{
    while (i < s->first[rank + 1] && s->op[i].kind >= WEFT_OP_N_COMPUTE)
        i++;
    return i;
}

static int64_t cell_of(const follower *f, const weft_trace_entry *e)
{
    return wf_cell(f->s, e->rank, e->op.chunk, e->op.micro);
}

/* The entry is the next op of its rank and begins after the last. */
static weft_status follow_list(follower *f, const weft_trace_entry *e)
{
    const weft_schedule *s = f->s;
    char found[WF_OP_TEXT], listed[WF_OP_TEXT];
    int r = e->rank;
    int64_t i = skip_comm(s, r, f->at[r]);

    wf_op_text(&e->op, found);
    if (i == s->first[r + 1])
        return WF_FAIL(WEFT_E_INFEASIBLE, "rank %d runs %s after the end of its list",
                       r, found);
    const weft_op *op = &s->op[i];
    if (!wf_op_in_range(s, op)) return wf_op_fail(s, r, i);
    wf_op_text(op, listed);
    if (op->kind != e->op.kind || op->chunk != e->op.chunk || op->micro != e->op.micro)
        return WF_FAIL(WEFT_E_INFEASIBLE, "rank %d runs %s where its list has %s", r,
                       found, listed);
    if (!(e->start >= f->free[r] - f->slack && e->end >= e->start))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "rank %d runs %s from %g to %g, but is busy until %g", r, found,
                       e->start, e->end, f->free[r]);
    f->at[r] = i + 1;
    f->free[r] = e->end;
    if (op->kind == WEFT_OP_F || wf_is_backward(op->kind))
        f->end[op->kind != WEFT_OP_F][cell_of(f, e)] = e->end;
    return WEFT_OK;
}

static weft_status follow_input(const follower *f, const weft_trace_entry *e)
{
    int chunk,
        source = wf_source(&e->op, &f->link[e->rank * f->s->v + e->op.chunk], &chunk);
    if (source < 0) return WEFT_OK;
    double ready =
        f->end[e->op.kind != WEFT_OP_F][wf_cell(f->s, source, chunk, e->op.micro)];
    if (e->start >= ready - f->slack) return WEFT_OK;
    char text[WF_OP_TEXT];
    wf_op_text(&e->op, text);
    return WF_FAIL(
        WEFT_E_INFEASIBLE,
        "rank %d starts %s at %g, before its input from rank %d is ready at %g",
        e->rank, text, e->start, source, ready);
}

static weft_status follow(follower *f)
{
    const weft_trace *t = f->trace;
    for (int64_t i = 0; i < t->n; i++) {
        if (!is_op(f, &t->entry[i])) continue;
        if (t->entry[i].rank < 0 || t->entry[i].rank >= f->s->p)
            return WF_FAIL(WEFT_E_INFEASIBLE, "entry %lld is of rank %d, there are %d",
                           (long long)i, (int)t->entry[i].rank, f->s->p);
        WF_TRY(follow_list(f, &t->entry[i]));
    }
    for (int r = 0; r < f->s->p; r++) {
        char text[WF_OP_TEXT];
        int64_t next = skip_comm(f->s, r, f->at[r]);
        if (next == f->s->first[r + 1]) continue;
        wf_op_text(&f->s->op[next], text);
        return WF_FAIL(WEFT_E_INFEASIBLE, "rank %d never runs %s", r, text);
    }
    for (int64_t i = 0; i < t->n; i++)
        if (is_op(f, &t->entry[i])) WF_TRY(follow_input(f, &t->entry[i]));
    return WEFT_OK;
}

static weft_status run(follower *f)
{
    int64_t cells;
    WF_TRY(wf_cells(f->s, &cells));
    WF_TRY(wf_links(f->s, &f->link));
    WF_TRY(WF_ALLOC(cells, &f->end[0]));
    WF_TRY(WF_ALLOC(cells, &f->end[1]));
    WF_TRY(WF_ALLOC(f->s->p, &f->free));
    WF_TRY(WF_ALLOC(f->s->p, &f->at));
    for (int r = 0; r < f->s->p; r++)
        f->at[r] = f->s->first[r];
    return follow(f);
}

weft_status weft_simulate_check(const weft_schedule *s, const weft_trace *trace,
                                int step, double slack)
{
    follower f = {.s = s, .trace = trace, .step = step, .slack = slack};
    WF_TRY(wf_shape_check(s));
    if (trace->n_ranks != s->p)
        return WF_FAIL(WEFT_E_MISMATCH, "the timeline has %d ranks, the schedule %d",
                       trace->n_ranks, s->p);
    weft_status st = run(&f);
    wf_free(f.link);
    wf_free(f.end[0]);
    wf_free(f.end[1]);
    wf_free(f.free);
    wf_free(f.at);
    return st;
}
