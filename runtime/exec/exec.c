/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/run/exec.h>

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/clock.h"
#include "exec/outbox.h"

/* A value on its way into an op of this rank. */
typedef struct inbox {
    weft_event ev; /* posted receive */
    void *block;   /* arrived, or left by a neighbour chunk on the same rank */
} inbox;

struct weft_exec {
    weft_exec_config cfg;
    weft_schedule low;     /* lowered */
    weft_schedule forward; /* the F ops alone, lowered */
    int stages;
    inbox *in;                 /* [v][m][2]: activation, gradient */
    wf_outbox out;             /* sends under way */
    int64_t *backwards;        /* [v] done in this step */
    int32_t *tokens, *targets; /* [T] of the op at hand */
};

/* What one walk over the ops shares. */
typedef struct walk {
    weft_exec *e;
    const weft_exec_step *s;
    weft_exec_result *r;
    void **logits;
    int train;
} walk;

typedef struct ready_ctx {
    const weft_exec_step *s;
    int chunk;
} ready_ctx;

weft_status weft_exec_check(const weft_schedule *s)
{
    if (s->placement == WEFT_PLACE_BIDIR || s->placement == WEFT_PLACE_BIDIRV)
        return WF_FAIL(
            WEFT_E_INVALID,
            "schedule %s holds two copies of the weights (placement %s); this "
            "version runs the placements single, loop and v",
            s->kind, weft_placement_name(s->placement));
    if (weft_schedule_weight_copies(s, 0) > 1)
        return WF_FAIL(
            WEFT_E_INVALID,
            "schedule %s keeps several versions of the weights; this version "
            "runs schedules that flush",
            s->kind);
    for (int64_t i = 0; s->first && i < s->first[s->p]; i++)
        if (s->op[i].kind > WEFT_OP_W)
            return WF_FAIL(WEFT_E_INVALID,
                           "schedule %s has an op %c; this version runs F, B, I and W",
                           s->kind, "FBIWR"[s->op[i].kind]);
    return WEFT_OK;
}

/* The F ops of a schedule alone: what an evaluation runs, in the same order. */
static weft_status forward_only(const weft_schedule *s, weft_schedule *out)
{
    weft_schedule f = *s;
    int64_t n = 0;

    f.first = NULL;
    f.op = NULL;
    WF_TRY(WF_ALLOC(s->p + 1, &f.first));
    weft_status st = WF_ALLOC(s->first[s->p], &f.op);
    if (st != WEFT_OK) {
        weft_schedule_clear(&f);
        return st;
    }
    for (int r = 0; r < s->p; r++) {
        f.first[r] = n;
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
            if (s->op[i].kind == WEFT_OP_F) {
                f.op[n] = s->op[i];
                f.op[n++].flags &= (uint8_t)~WEFT_OPF_PAIR; /* its partner is gone */
            }
    }
    f.first[s->p] = n;
    st = weft_schedule_lower(&f, out);
    weft_schedule_clear(&f);
    return st;
}

static weft_status build(weft_exec *e)
{
    const weft_schedule *s = e->cfg.schedule;
    int64_t tokens = e->cfg.chunk->cfg.batch * e->cfg.chunk->cfg.seq;

    WF_TRY(weft_exec_check(s));
    e->stages = weft_schedule_stages(s);
    WF_TRY(weft_schedule_lower(s, &e->low));
    WF_TRY(forward_only(s, &e->forward));
    WF_TRY(WF_ALLOC((int64_t)s->v * s->m * 2, &e->in));
    WF_TRY(WF_ALLOC(s->v, &e->backwards));
    WF_TRY(wf_outbox_init(&e->out, e->cfg.comm, s->p));
    WF_TRY(WF_ALLOC(tokens, &e->tokens));
    return WF_ALLOC(tokens, &e->targets);
}

weft_status weft_exec_create(const weft_exec_config *cfg, weft_exec **out)
{
    weft_exec *e = NULL;

    WF_TRY(WF_ALLOC(1, &e));
    e->cfg = *cfg;
    weft_status st = build(e);
    if (st != WEFT_OK) {
        weft_exec_destroy(e);
        return st;
    }
    *out = e;
    return WEFT_OK;
}

void weft_exec_destroy(weft_exec *e)
{
    if (!e) return;
    weft_schedule_clear(&e->low);
    weft_schedule_clear(&e->forward);
    wf_free(e->in);
    wf_free(e->backwards);
    wf_outbox_clear(&e->out);
    wf_free(e->tokens);
    wf_free(e->targets);
    wf_free(e);
}

void weft_exec_set_trace(weft_exec *e, weft_trace *trace)
{
    e->cfg.trace = trace;
}

static inbox *inbox_of(weft_exec *e, int chunk, int64_t micro, int grad)
{
    return &e->in[((int64_t)chunk * e->cfg.schedule->m + micro) * 2 + grad];
}

/* Where the value that goes into (act) or out of a stage lives. */
typedef struct peer {
    int stage, rank, chunk;
} peer;

static peer peer_of(const weft_exec *e, const weft_op *op, int step)
{
    peer p = {.stage = weft_schedule_stage(e->cfg.schedule, e->cfg.pp_rank, op->chunk) +
                       step};
    weft_schedule_holder(e->cfg.schedule, p.stage, op->micro, &p.rank, &p.chunk);
    return p;
}

/* One number for (kind, virtual stage that consumes, micro-batch). */
static int64_t message_tag(const weft_exec *e, int stage, int64_t micro, int grad)
{
    return (micro * e->stages + stage) * 2 + grad;
}

static int64_t message_bytes(const weft_exec *e)
{
    const weft_chunk *c = e->cfg.chunk;
    return c->cfg.batch * c->cfg.seq * c->cfg.arch->hidden * weft_dtype_bytes(c->sh.t);
}

static weft_status post_recv(walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    int grad = !!(op->flags & WEFT_OPF_GRAD);
    peer from = peer_of(e, op, grad ? 1 : -1);
    int stage = weft_schedule_stage(e->cfg.schedule, e->cfg.pp_rank, op->chunk);

    return weft_recv_block(e->cfg.comm, grad ? WEFT_FOR_ACT_GRAD : WEFT_FOR_ACT,
                           e->cfg.comm_rank[from.rank],
                           message_tag(e, stage, op->micro, grad), e->cfg.arena,
                           WEFT_ACT, message_bytes(e),
                           &inbox_of(e, op->chunk, op->micro, grad)->ev);
}

static weft_status wait_recv(walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    inbox *in = inbox_of(e, op->chunk, op->micro, !!(op->flags & WEFT_OPF_GRAD));
    double t0 = weft_now_s();

    WF_TRY(weft_wait(e->cfg.comm, &in->ev));
    in->block = in->ev.block;
    in->ev.block = NULL;
    return weft_trace_measured(e->cfg.trace, e->cfg.trace_rank, w->s->step,
                               WEFT_LANE_RECV, "wait", op, t0, weft_now_s(),
                               message_bytes(e));
}

/* Result of an op: to another rank by SEND (later in the list), or into the inbox of a
 * neighbour chunk on this rank. */
static void leave(walk *w, const weft_op *op, void *block, int grad)
{
    weft_exec *e = w->e;
    peer to = peer_of(e, op, grad ? -1 : 1);

    if (to.rank == e->cfg.pp_rank)
        inbox_of(e, to.chunk, op->micro, grad)->block = block;
    else
        inbox_of(e, op->chunk, op->micro, !grad)->block =
            block; /* until SEND takes it */
}

static weft_status send_result(walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    int grad = !!(op->flags & WEFT_OPF_GRAD);
    peer to = peer_of(e, op, grad ? -1 : 1);
    inbox *hold = inbox_of(e, op->chunk, op->micro, !grad);
    weft_event *ev;

    WF_TRY(wf_outbox_slot(&e->out, to.rank, &ev));
    /* from here on a buffer on its way, however long the receiver takes */
    WF_TRY(weft_arena_adopt(e->cfg.arena, WEFT_COMM, hold->block));
    WF_TRY(weft_send_block(e->cfg.comm, grad ? WEFT_FOR_ACT_GRAD : WEFT_FOR_ACT,
                           e->cfg.comm_rank[to.rank],
                           message_tag(e, to.stage, op->micro, grad), e->cfg.arena,
                           hold->block, message_bytes(e), ev));
    hold->block = NULL;
    return WEFT_OK;
}

static void *take_input(walk *w, const weft_op *op, int grad)
{
    inbox *in = inbox_of(w->e, op->chunk, op->micro, grad);
    void *block = in->block;

    in->block = NULL;
    return block;
}

static weft_status run_forward(walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    weft_chunk *c = &e->cfg.chunk[op->chunk];
    void *x = c->cfg.has_embed ? NULL : take_input(w, op, 0), *y = NULL;

    if (c->cfg.has_embed || c->cfg.has_head)
        w->s->batch(w->s->batch_ctx, op->micro, e->tokens, e->targets);
    if (w->train)
        WF_TRY(weft_chunk_forward(c, op->micro, e->tokens, e->targets, x, &y,
                                  &w->r->loss_sum));
    else
        WF_TRY(weft_chunk_infer(c, e->tokens, e->targets, x, &y, &w->r->loss_sum,
                                w->logits));
    if (!c->cfg.has_head) leave(w, op, y, 0);
    return WEFT_OK;
}

static weft_status on_ready(void *ctx, int n_done)
{
    ready_ctx *r = ctx;
    return r->s->ready(r->s->ready_ctx, r->chunk, n_done);
}

/* B and W finish weight gradients: the last of a chunk's m tells what is ready. */
static weft_grads_ready *ready_of(walk *w, const weft_op *op)
{
    int last = ++w->e->backwards[op->chunk] == w->e->cfg.schedule->m;
    return last && w->s->ready ? on_ready : NULL;
}

/* B or I: from the gradient of the output to that of the input. */
static weft_status run_backward(walk *w, const weft_op *op)
{
    weft_chunk *c = &w->e->cfg.chunk[op->chunk];
    void *dy = c->cfg.has_head ? NULL : take_input(w, op, 1), *dx = NULL;
    ready_ctx r = {w->s, op->chunk};

    if (op->kind == WEFT_OP_I)
        WF_TRY(weft_chunk_backward_input(c, op->micro, w->s->scale, dy, &dx));
    else
        WF_TRY(weft_chunk_backward(c, op->micro, w->s->scale, dy, &dx, ready_of(w, op),
                                   &r));
    if (!c->cfg.has_embed) leave(w, op, dx, 1);
    return WEFT_OK;
}

static weft_status run_weight(walk *w, const weft_op *op)
{
    weft_chunk *c = &w->e->cfg.chunk[op->chunk];
    ready_ctx r = {w->s, op->chunk};

    return weft_chunk_backward_weight(c, op->micro, ready_of(w, op), &r);
}

static weft_status run_kind(walk *w, const weft_op *op)
{
    switch (op->kind) {
    case WEFT_OP_F: return run_forward(w, op);
    case WEFT_OP_W: return run_weight(w, op);
    default: return run_backward(w, op);
    }
}

static weft_status run_compute(walk *w, const weft_op *op)
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

static weft_status run_op(walk *w, const weft_op *op)
{
    switch (op->kind) {
    case WEFT_OP_POST_RECV: return post_recv(w, op);
    case WEFT_OP_WAIT: return wait_recv(w, op);
    case WEFT_OP_SEND: return send_result(w, op);
    default: return run_compute(w, op);
    }
}

static weft_status run_list(walk *w, const weft_schedule *s, int64_t n_micro)
{
    int r = w->e->cfg.pp_rank;

    for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
        if (s->op[i].micro < n_micro) WF_TRY(run_op(w, &s->op[i]));
    return wf_outbox_drain(&w->e->out);
}

weft_status weft_exec_train(weft_exec *e, const weft_exec_step *s, weft_exec_result *r)
{
    walk w = {.e = e, .s = s, .r = r, .train = 1};

    *r = (weft_exec_result){0};
    for (int c = 0; c < e->cfg.schedule->v; c++)
        e->backwards[c] = 0;
    return run_list(&w, &e->low, e->cfg.schedule->m);
}

weft_status weft_exec_forward(weft_exec *e, const weft_exec_step *s, int64_t n_micro,
                              void **logits, weft_exec_result *r)
{
    walk w = {.e = e, .s = s, .r = r, .logits = logits};

    *r = (weft_exec_result){0};
    return run_list(&w, &e->forward, n_micro);
}
