/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of the interface to a started operation: trivial calls end here. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm_impl.h"

static void fill_event(weft_event *ev, const wf_op *op)
{
    *ev = (weft_event){
        .kind = op->kind, .purpose = op->why, .id = op->id, .started_s = op->started_s};
}

static void finished(weft_event *ev, weft_purpose why)
{
    double now = wf_now_s();
    *ev = (weft_event){.purpose = why, .started_s = now, .done_s = now};
}

static int is_collective(const wf_op *op)
{
    return op->kind != WF_SEND && op->kind != WF_RECV;
}

static weft_status hand_over(weft_comm *c, wf_op *op)
{
    op->started_s = wf_now_s();
    op->not_before_s = op->started_s + c->tamper.delay_s[op->why];
    if (op->kind != WF_RECV)
        wf_count_add(&c->count, op->group ? op->group->count_set : 0, op->why,
                     wf_payload(op));
    if (c->fault.struck && c->fault.kind == WF_FAULT_CUT) {
        op->lost = 1;
        if (op->kind == WF_SEND) { /* it left; nobody sees it arrive */
            weft_arena_give(op->arena, op->block);
            wf_op_done(op);
        }
        return WEFT_OK;
    }
    return c->back->start(c, op);
}

/* The first of two runs ends here, so that its result is the input of the second. */
static weft_status run_once(weft_comm *c, const wf_op *call)
{
    wf_op *op;
    WF_TRY(wf_op_take(c, &op));
    int64_t id = op->id;
    *op = *call;
    op->id = id;
    weft_status st = hand_over(c, op);
    if (st == WEFT_OK) st = wf_wait_op(c, op);
    wf_op_give(c, op);
    return st;
}

static weft_status start(weft_comm *c, wf_op *call, weft_event *ev)
{
    wf_op *op;
    wf_tamper_mode mode = c->tamper.mode[call->why];

    WF_TRY(wf_comm_usable(c));
    wf_tamper_wait(&c->tamper);
    if (mode == WF_DROP && call->kind != WF_RECV) {
        weft_group *g = call->group;
        wf_tamper_dropped(call, g ? g->n : 1, g ? g->me : 0);
        finished(ev, call->why);
        return WEFT_OK;
    }
    if (mode == WF_DOUBLE && is_collective(call)) {
        weft_status first = run_once(c, call);
        if (first != WEFT_OK) return wf_comm_break(c, first);
    }
    WF_TRY(wf_op_take(c, &op));
    int64_t id = op->id;
    *op = *call;
    op->id = id;
    weft_status st = hand_over(c, op);
    if (st != WEFT_OK) {
        wf_op_give(c, op);
        return wf_comm_break(c, st);
    }
    fill_event(ev, op);
    return WEFT_OK;
}

static weft_status check_size(const char *what, int64_t n)
{
    return n < 0 ? WF_FAIL(WEFT_E_INVALID, "%s of %lld: at least 0 is needed", what,
                           (long long)n)
                 : WEFT_OK;
}

static weft_status check_reduction(const char *what, int64_t count, weft_dtype t)
{
    WF_TRY(check_size(what, count));
    if (t == WEFT_F64 || t == WEFT_F32) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID, "%s of %s: sums are made in f32 or f64, convert before", what,
        (unsigned)t < WEFT_N_DTYPES ? weft_dtype_name(t) : "an unknown type");
}

/* A group of one is done at once: its part is the whole. */
static weft_status start_collective(weft_group *g, wf_op *call, weft_event *ev)
{
    if (weft_group_size(g) > 1) {
        call->group = g;
        return start(g->comm, call, ev);
    }
    if (call->bytes && call->out != call->in)
        memmove(call->out, call->in, (size_t)call->bytes);
    finished(ev, call->why);
    return WEFT_OK;
}

weft_status weft_all_reduce(weft_group *g, weft_purpose why, void *buf, int64_t count,
                            weft_dtype t, weft_reduce op, weft_event *ev)
{
    WF_TRY(check_reduction("all-reduce", count, t));
    wf_op call = {.kind = WF_ALL_REDUCE,
                  .why = why,
                  .in = buf,
                  .out = buf,
                  .count = count,
                  .bytes = count * weft_dtype_bytes(t),
                  .dtype = t,
                  .reduce = op};
    return start_collective(g, &call, ev);
}

weft_status weft_broadcast(weft_group *g, weft_purpose why, void *buf, int64_t bytes,
                           int root, weft_event *ev)
{
    WF_TRY(check_size("broadcast", bytes));
    if (root < 0 || root >= weft_group_size(g))
        return WF_FAIL(WEFT_E_INVALID, "broadcast from member %d of a group of %d",
                       root, weft_group_size(g));
    wf_op call = {.kind = WF_BROADCAST,
                  .why = why,
                  .peer = root,
                  .in = buf,
                  .out = buf,
                  .bytes = bytes};
    return start_collective(g, &call, ev);
}

weft_status weft_all_gather(weft_group *g, weft_purpose why, const void *in,
                            int64_t bytes, void *out, weft_event *ev)
{
    WF_TRY(check_size("all-gather", bytes));
    wf_op call = {
        .kind = WF_ALL_GATHER, .why = why, .in = in, .out = out, .bytes = bytes};
    return start_collective(g, &call, ev);
}

weft_status weft_reduce_scatter(weft_group *g, weft_purpose why, const void *in,
                                int64_t count, weft_dtype t, void *out, weft_event *ev)
{
    WF_TRY(check_reduction("reduce-scatter", count, t));
    wf_op call = {.kind = WF_REDUCE_SCATTER,
                  .why = why,
                  .in = in,
                  .out = out,
                  .count = count,
                  .bytes = count * weft_dtype_bytes(t),
                  .dtype = t,
                  .reduce = WEFT_SUM};
    return start_collective(g, &call, ev);
}

weft_status weft_all_to_all(weft_group *g, weft_purpose why, const void *in,
                            int64_t bytes, void *out, weft_event *ev)
{
    WF_TRY(check_size("all-to-all", bytes));
    wf_op call = {
        .kind = WF_ALL_TO_ALL, .why = why, .in = in, .out = out, .bytes = bytes};
    return start_collective(g, &call, ev);
}

weft_status weft_barrier(weft_group *g)
{
    weft_event ev;
    wf_op call = {.kind = WF_BARRIER, .why = WEFT_FOR_CONTROL};
    WF_TRY(start_collective(g, &call, &ev));
    return g ? weft_wait(g->comm, &ev) : WEFT_OK;
}

static weft_status check_p2p(const weft_comm *c, const wf_op *call)
{
    WF_TRY(check_size(wf_kind_name(call->kind), call->bytes));
    if (call->peer < 0 || call->peer >= c->size)
        return WF_FAIL(WEFT_E_INVALID, "%s: rank %d, ranks are 0 to %d",
                       wf_kind_name(call->kind), call->peer, c->size - 1);
    if (call->tag < 0)
        return WF_FAIL(WEFT_E_INVALID, "%s: tag %lld, at least 0 is needed",
                       wf_kind_name(call->kind), (long long)call->tag);
    return WEFT_OK;
}

static weft_status start_p2p(weft_comm *c, wf_op *call, weft_event *ev)
{
    WF_TRY(check_p2p(c, call));
    return start(c, call, ev);
}

weft_status weft_send_block(weft_comm *c, weft_purpose why, int dst, int64_t tag,
                            weft_arena *arena, void *block, int64_t bytes,
                            weft_event *ev)
{
    wf_op call = {.kind = WF_SEND,
                  .why = why,
                  .peer = dst,
                  .tag = tag,
                  .in = block,
                  .block = block,
                  .arena = arena,
                  .bytes = bytes};
    return start_p2p(c, &call, ev);
}

weft_status weft_recv_block(weft_comm *c, weft_purpose why, int src, int64_t tag,
                            weft_arena *arena, weft_tag charge, int64_t bytes,
                            weft_event *ev)
{
    wf_op call = {.kind = WF_RECV,
                  .why = why,
                  .peer = src,
                  .tag = tag,
                  .arena = arena,
                  .charge = charge,
                  .bytes = bytes};
    return start_p2p(c, &call, ev);
}

weft_status weft_send(weft_comm *c, weft_purpose why, int dst, int64_t tag,
                      const void *buf, int64_t bytes, weft_event *ev)
{
    wf_op call = {.kind = WF_SEND,
                  .why = why,
                  .peer = dst,
                  .tag = tag,
                  .in = buf,
                  .bytes = bytes};
    return start_p2p(c, &call, ev);
}

weft_status weft_recv(weft_comm *c, weft_purpose why, int src, int64_t tag, void *buf,
                      int64_t bytes, weft_event *ev)
{
    wf_op call = {.kind = WF_RECV,
                  .why = why,
                  .peer = src,
                  .tag = tag,
                  .out = buf,
                  .bytes = bytes};
    return start_p2p(c, &call, ev);
}
