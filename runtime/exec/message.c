/* SPDX-License-Identifier: Apache-2.0 */
/* Values between stages: in which inbox, from and to which rank, under which tag. A
 * micro-batch goes one way, so (micro-batch, stage) names a message also where two
 * pipelines cross. */
#include "exec/clock.h"
#include "exec/impl.h"

static wf_inbox *inbox_of(weft_exec *e, int chunk, int64_t micro, int grad)
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

int64_t wf_message_bytes(const weft_exec *e)
{
    const weft_chunk *c = e->cfg.chunk;
    return c->cfg.batch * c->cfg.seq * c->cfg.arch->hidden * weft_dtype_bytes(c->sh.t);
}

weft_status wf_post_recv(wf_walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    int grad = !!(op->flags & WEFT_OPF_GRAD);
    peer from = peer_of(e, op, grad ? 1 : -1);
    int stage = weft_schedule_stage(e->cfg.schedule, e->cfg.pp_rank, op->chunk);

    WF_TRY(wf_outbox_post(&e->out));
    return weft_recv_block(e->cfg.comm, grad ? WEFT_FOR_ACT_GRAD : WEFT_FOR_ACT,
                           e->cfg.comm_rank[from.rank],
                           message_tag(e, stage, op->micro, grad), e->cfg.arena,
                           WEFT_ACT, wf_message_bytes(e),
                           &inbox_of(e, op->chunk, op->micro, grad)->ev);
}

weft_status wf_wait_recv(wf_walk *w, const weft_op *op)
{
    weft_exec *e = w->e;
    wf_inbox *in = inbox_of(e, op->chunk, op->micro, !!(op->flags & WEFT_OPF_GRAD));
    double t0 = weft_now_s();

    WF_TRY(weft_wait(e->cfg.comm, &in->ev));
    in->block = in->ev.block;
    in->ev.block = NULL;
    WF_TRY(wf_outbox_came(&e->out));
    return weft_trace_measured(e->cfg.trace, e->cfg.trace_rank, w->s->step,
                               WEFT_LANE_RECV, "wait", op, t0, weft_now_s(),
                               wf_message_bytes(e));
}

void wf_leave(wf_walk *w, const weft_op *op, void *block, int grad)
{
    weft_exec *e = w->e;
    peer to = peer_of(e, op, grad ? -1 : 1);

    if (to.rank == e->cfg.pp_rank)
        inbox_of(e, to.chunk, op->micro, grad)->block = block;
    else
        inbox_of(e, op->chunk, op->micro, !grad)->block =
            block; /* until SEND takes it */
}

weft_status wf_send_result(wf_walk *w, const weft_op *op, int64_t buffer)
{
    weft_exec *e = w->e;
    int grad = !!(op->flags & WEFT_OPF_GRAD);
    peer to = peer_of(e, op, grad ? -1 : 1);
    wf_inbox *hold = inbox_of(e, op->chunk, op->micro, !grad);
    weft_event *ev;

    WF_TRY(wf_outbox_put(&e->out, buffer, hold->block, &ev));
    WF_TRY(weft_send_block(e->cfg.comm, grad ? WEFT_FOR_ACT_GRAD : WEFT_FOR_ACT,
                           e->cfg.comm_rank[to.rank],
                           message_tag(e, to.stage, op->micro, grad), e->cfg.arena,
                           hold->block, wf_message_bytes(e), ev));
    hold->block = NULL;
    return WEFT_OK;
}

void *wf_take_input(wf_walk *w, const weft_op *op, int grad)
{
    wf_inbox *in = inbox_of(w->e, op->chunk, op->micro, grad);
    void *block = in->block;

    in->block = NULL;
    return block;
}
