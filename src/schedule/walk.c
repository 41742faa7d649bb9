/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/walk.h"

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/ring.h"

typedef struct walk {
    const weft_schedule *s;
    const wf_link *link;
    wf_step_fn *fn;
    void *ctx;
    int atomic;
    uint8_t *done; /* [cells] bit 1 << kind                                 */
    int64_t *at;   /* [p] next op                                           */
    int64_t *want; /* [p] value that a blocked rank needs (2*cell + grad); -1 */
    wf_ring ready;
} walk;

enum {
    DID_F = 1 << WEFT_OP_F,
    DID_I = 1 << WEFT_OP_I,
    DID_BACKWARD = 1 << WEFT_OP_B | 1 << WEFT_OP_I,
};

/* The value that has to come before the op, -1 when all are there. Sets step->input. */
static int64_t missing(const walk *w, wf_step *step)
{
    const weft_op *op = step->op;
    const wf_link *l = &w->link[step->rank * w->s->v + op->chunk];
    int chunk, source = wf_source(op, l, &chunk);
    int grad = wf_is_backward(op->kind);

    step->input = -1;
    if (op->kind != WEFT_OP_F) {
        int need = op->kind == WEFT_OP_W ? DID_I : DID_F;
        if (!(w->done[step->cell] & need)) return 2 * step->cell + (need == DID_I);
    }
    if (source < 0) return -1;
    step->input = wf_cell(w->s, source, chunk, op->micro);
    step->remote = source != step->rank;
    if (w->done[step->input] & (grad ? DID_BACKWARD : DID_F)) return -1;
    return 2 * step->input + grad;
}

/* The rank that takes the op's value may stand waiting for it. */
static void wake(walk *w, const wf_step *step)
{
    const weft_op *op = step->op;
    int chunk,
        target = wf_target(op, &w->link[step->rank * w->s->v + op->chunk], &chunk);
    if (target < 0 || w->want[target] != 2 * step->cell + wf_is_backward(op->kind))
        return;
    w->want[target] = -1;
    wf_ring_push(&w->ready, target);
}

static void finish(walk *w, const wf_step *step)
{
    w->done[step->cell] |= (uint8_t)(1 << step->op->kind);
    wake(w, step);
}

/* The next compute op from i on, or end. */
static int64_t skip_comm(const weft_schedule *s, int64_t i, int64_t end)
{
    while (i < end && s->op[i].kind >= WEFT_OP_N_COMPUTE)
        i++;
    return i;
}

/* The op that is paired with the one at i, which it has to be free of. Sets *want to
 * the value that it lacks, -1 when all are there. */
static weft_status find_mate(const walk *w, const wf_step *first, int64_t i,
                             wf_step *mate, int64_t *want)
{
    const weft_schedule *s = w->s;
    int rank = first->rank;
    int64_t next = skip_comm(s, i + 1, s->first[rank + 1]);
    if (next == s->first[rank + 1]) return wf_op_fail(s, rank, i);
    if (!wf_op_in_range(s, &s->op[next])) return wf_op_fail(s, rank, next);
    *mate = (wf_step){.op = &s->op[next], .rank = rank};
    mate->cell = wf_cell(s, rank, mate->op->chunk, mate->op->micro);
    *want = missing(w, mate);
    int kind = first->op->kind, makes = kind == WEFT_OP_F || wf_is_backward(kind);
    if (!makes || *want != 2 * first->cell + wf_is_backward(kind)) return WEFT_OK;
    char text[2][WF_OP_TEXT];
    wf_op_text(first->op, text[0]);
    wf_op_text(mate->op, text[1]);
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "overlap: rank %d runs %s and %s as one block, but the second takes "
                   "what the first makes",
                   rank, text[0], text[1]);
}

static weft_status run(walk *w, int rank)
{
    const weft_schedule *s = w->s;
    int64_t end = s->first[rank + 1];
    wf_step step = {.rank = rank}, mate;

    for (int64_t i = w->at[rank]; i < end; i++) {
        step.op = &s->op[i];
        if (s->lowered && step.op->kind >= WEFT_OP_N_COMPUTE) continue;
        if (!wf_op_in_range(s, step.op)) return wf_op_fail(s, rank, i);
        step.cell = wf_cell(s, rank, step.op->chunk, step.op->micro);
        step.mate = NULL;
        int64_t want = missing(w, &step);
        if (want < 0 && w->atomic && step.op->flags & WEFT_OPF_PAIR) {
            step.mate = &mate;
            WF_TRY(find_mate(w, &step, i, &mate, &want));
        }
        if (want >= 0) {
            w->at[rank] = i;
            w->want[rank] = want;
            return WEFT_OK;
        }
        if (w->fn) WF_TRY(w->fn(w->ctx, &step));
        finish(w, &step);
        if (!step.mate) continue;
        finish(w, &mate);
        i = mate.op - s->op;
    }
    w->at[rank] = end;
    return WEFT_OK;
}

/* The op that makes a value: I where the rank's list has one, else B. */
static weft_op maker(const weft_schedule *s, int64_t value)
{
    int64_t cell = value / 2, part = cell / s->m;
    int rank = (int)(part / s->v);
    weft_op op = {.kind = value & 1 ? WEFT_OP_B : WEFT_OP_F,
                  .chunk = (uint8_t)(part % s->v),
                  .micro = (uint32_t)(cell % s->m)};
    for (int64_t i = s->first[rank]; (value & 1) && i < s->first[rank + 1]; i++) {
        const weft_op *o = &s->op[i];
        if (o->kind == WEFT_OP_I && o->chunk == op.chunk && o->micro == op.micro)
            op.kind = WEFT_OP_I;
    }
    return op;
}

/* Which of the pair that a rank stands at has to wait. */
static const weft_op *lacking(const walk *w, int rank)
{
    wf_step first = {.op = &w->s->op[w->at[rank]], .rank = rank};
    first.cell = wf_cell(w->s, rank, first.op->chunk, first.op->micro);
    if (missing(w, &first) >= 0) return first.op;
    int64_t end = w->s->first[rank + 1];
    return &w->s->op[skip_comm(w->s, w->at[rank] + 1, end)];
}

static weft_status report(const walk *w)
{
    const weft_schedule *s = w->s;
    wf_blocked *b = NULL;
    WF_TRY(WF_ALLOC(s->p, &b));
    for (int r = 0; r < s->p; r++) {
        b[r].on = -1;
        if (w->want[r] < 0) continue;
        b[r].on = (int)(w->want[r] / 2 / s->m / s->v);
        b[r].at = s->op[w->at[r]];
        if (w->atomic && b[r].at.flags & WEFT_OPF_PAIR) b[r].at = *lacking(w, r);
        b[r].want = maker(s, w->want[r]);
    }
    weft_status st = wf_stall(b, s->p);
    wf_free(b);
    return st;
}

static weft_status start(walk *w)
{
    int64_t cells;
    int p = w->s->p;
    WF_TRY(wf_cells(w->s, &cells));
    WF_TRY(WF_ALLOC(cells, &w->done));
    WF_TRY(WF_ALLOC(p, &w->at));
    WF_TRY(WF_ALLOC(p, &w->want));
    WF_TRY(wf_ring_fill(&w->ready, p));
    for (int r = 0; r < p; r++) {
        w->at[r] = w->s->first[r];
        w->want[r] = -1;
    }
    return WEFT_OK;
}

static weft_status go(walk *w)
{
    WF_TRY(start(w));
    for (int r; (r = wf_ring_pop(&w->ready)) >= 0;)
        WF_TRY(run(w, r));
    for (int r = 0; r < w->s->p; r++)
        if (w->want[r] >= 0) return report(w);
    return WEFT_OK;
}

weft_status wf_walk(const weft_schedule *s, const wf_link *link, int atomic,
                    wf_step_fn *fn, void *ctx)
{
    walk w = {.s = s, .link = link, .fn = fn, .ctx = ctx, .atomic = atomic};
    weft_status st = go(&w);
    wf_free(w.done);
    wf_free(w.at);
    wf_free(w.want);
    wf_ring_clear(&w.ready);
    return st;
}
