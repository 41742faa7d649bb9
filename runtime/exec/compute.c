/* SPDX-License-Identifier: Apache-2.0 */
/* F, B, I and W of a chunk, with the weights that the schedule's kind means. */
#include <stdio.h>

#include "exec/clock.h"
#include "exec/impl.h"

typedef struct ready_ctx {
    const weft_exec_step *s;
    int chunk;
} ready_ctx;

static weft_status run_forward(wf_walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    weft_chunk *c = &e->cfg.chunk[op->chunk];
    void *x = c->cfg.has_embed ? NULL : wf_take_input(w, op, 0), *y = NULL;

    if (c->cfg.has_embed || c->cfg.has_head)
        w->s->batch(w->s->batch_ctx, op->micro, e->tokens, e->targets);
    if (w->train && e->stash) wf_stash_see(&e->stash[op->chunk], op->micro);
    if (w->train)
        WF_TRY(weft_chunk_forward(c, op->micro, e->tokens, e->targets, x, &y,
                                  &w->r->loss_sum));
    else
        WF_TRY(weft_chunk_infer(c, e->tokens, e->targets, x, &y, &w->r->loss_sum,
                                w->logits));
    if (!c->cfg.has_head) wf_leave(w, op, y, 0);
    return WEFT_OK;
}

static weft_status on_ready(void *ctx, int n_done)
{
    ready_ctx *r = ctx;
    return r->s->ready(r->s->ready_ctx, r->chunk, n_done);
}

/* B and W finish weight gradients: the last of a chunk's tells what is ready. Where the
 * weights change after each, each is the last. */
static weft_grads_ready *ready_of(wf_walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    int last = ++e->backwards[op->chunk] == e->n_backwards[op->chunk];
    return (last || e->asynchronous) && w->s->ready ? on_ready : NULL;
}

static double scale_of(const wf_walk *w, const weft_op *op)
{
    return w->s->micro_scale ? w->s->micro_scale[op->micro] : w->s->scale;
}

/* B or I: from the gradient of the output to that of the input. */
static weft_status run_backward(wf_walk *w, const weft_op *op)
{
    weft_chunk *c = &w->e->cfg.chunk[op->chunk];
    void *dy = c->cfg.has_head ? NULL : wf_take_input(w, op, 1), *dx = NULL;
    double scale = scale_of(w, op);
    ready_ctx r = {w->s, op->chunk};

    if (op->kind == WEFT_OP_I)
        WF_TRY(weft_chunk_backward_input(c, op->micro, scale, dy, &dx));
    else
        WF_TRY(weft_chunk_backward(c, op->micro, scale, dy, &dx, ready_of(w, op), &r));
    if (!c->cfg.has_embed) wf_leave(w, op, dx, 1);
    return WEFT_OK;
}

static weft_status run_weight(wf_walk *w, const weft_op *op)
{
    weft_chunk *c = &w->e->cfg.chunk[op->chunk];
    ready_ctx r = {w->s, op->chunk};

    return weft_chunk_backward_weight(c, op->micro, ready_of(w, op), &r);
}

/* Asynchronous: with the weights of the micro-batch's forward, and right after it the
 * update of the newest by its gradient alone. */
static weft_status run_backward_and_update(wf_walk *w, const weft_op *op)
{
    wf_stash *stash = &w->e->stash[op->chunk];

    weft_chunk_zero_grads(&w->e->cfg.chunk[op->chunk]);
    wf_stash_recall(stash, op->micro);
    WF_TRY(run_backward(w, op));
    WF_TRY(wf_stash_renew(stash, op->micro));
    return w->s->update(w->s->ready_ctx, op->chunk, op->micro);
}

static weft_status run_kind(wf_walk *w, const weft_op *op)
{
    switch (op->kind) {
    case WEFT_OP_F: return run_forward(w, op);
    case WEFT_OP_W: return run_weight(w, op);
    default: return w->e->stash ? run_backward_and_update(w, op) : run_backward(w, op);
    }
}

weft_status wf_run_compute(wf_walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    double start = weft_now_s(), end;
    char name[24];

    snprintf(name, sizeof name, "%c%u.%u", "FBIWR"[op->kind], (unsigned)op -> micro,
             (unsigned)op -> chunk);
    weft_comm_note(e->cfg.comm, w->s->step, name);
    WF_TRY(run_kind(w, op));
    if (e->cfg.op_s)
        wf_sleep_until(start + e->cfg.op_s[op->chunk * WEFT_OP_N_COMPUTE + op->kind]);
    end = weft_now_s();
    w->r->busy_s += end - start;
    if (w->r->start_s == 0) w->r->start_s = start;
    w->r->end_s = end;
    return weft_trace_measured(e->cfg.trace, e->cfg.trace_rank, w->s->step,
                               WEFT_LANE_COMPUTE, NULL, op, start, end, 0);
}
