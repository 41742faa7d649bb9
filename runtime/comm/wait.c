/* SPDX-License-Identifier: Apache-2.0 */
/* Finishing operations: every wait ends by completion, by another rank's failure or by the
 * time limit. */
#include "base/error.h"
#include "comm/comm_impl.h"

static const double nap_s = 200e-6; /* while an injected delay runs */

static int is_done(wf_op *op)
{
    return atomic_load_explicit(&op->done, memory_order_acquire);
}

static int is_complete(wf_op *op)
{
    return is_done(op) &&
           (op->not_before_s <= op->started_s || wf_now_s() >= op->not_before_s);
}

/* The data is here and only the injected delay runs: keep the others' operations moving. */
static weft_status sit_out_delay(weft_comm *c, wf_op *op)
{
    for (;;) {
        double left = op->not_before_s - wf_now_s();
        if (left <= 0) return WEFT_OK;
        wf_sleep_s(left < nap_s ? left : nap_s);
        WF_TRY(c->back->progress(c, NULL));
    }
}

static weft_status wait_done(weft_comm *c, wf_op *op)
{
    double since = wf_now_s(), end = since + c->timeout_s;

    while (!is_done(op)) {
        if (wf_now_s() >= end) return wf_fail_timeout(c, op, since);
        WF_TRY(c->back->block(c, op, end));
    }
    return op->not_before_s > op->started_s ? sit_out_delay(c, op) : WEFT_OK;
}

weft_status wf_wait_op(weft_comm *c, wf_op *op)
{
    WF_TRY(c->back->progress(c, op));
    if (!is_complete(op)) {
        wf_board_waiting(&c->board, op->group ? -1 : op->peer, op->why, op->tag,
                         op->group ? op->group->axes : "");
        WF_TRY(wait_done(c, op));
        wf_board_computing(&c->board);
    }
    return op->lost ? WEFT_OK : c->back->finish(c, op);
}

static void close_event(weft_comm *c, wf_op *op, weft_event *ev)
{
    ev->kind = 0;
    ev->block = op->kind == WF_RECV ? op->block : NULL;
    ev->done_s = op->done_s > op->not_before_s ? op->done_s : op->not_before_s;
    wf_op_give(c, op);
}

weft_status weft_wait(weft_comm *c, weft_event *ev)
{
    wf_op *op;
    if (!ev->kind) return WEFT_OK;
    WF_TRY(wf_comm_usable(c));
    WF_TRY(wf_op_find(c, ev, &op));
    weft_status st = wf_wait_op(c, op);
    if (st != WEFT_OK) return wf_comm_break(c, st);
    close_event(c, op, ev);
    return WEFT_OK;
}

static weft_status try_op(weft_comm *c, wf_op *op, int *done)
{
    WF_TRY(c->back->progress(c, op));
    *done = is_complete(op);
    return *done && !op->lost ? c->back->finish(c, op) : WEFT_OK;
}

weft_status weft_test(weft_comm *c, weft_event *ev, int *done)
{
    wf_op *op;
    int complete = 1;
    if (ev->kind) {
        WF_TRY(wf_comm_usable(c));
        WF_TRY(wf_op_find(c, ev, &op));
        weft_status st = try_op(c, op, &complete);
        if (st != WEFT_OK) return wf_comm_break(c, st);
        if (complete) close_event(c, op, ev);
    }
    *done = complete;
    return WEFT_OK;
}
