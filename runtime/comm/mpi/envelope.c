/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages whose tag does not fit into MPI's.
 *
 * The sender numbers them per receiver and sends, before the payload, an envelope with the
 * whole tag and the number s. The payload's MPI tag is s modulo the tags kept for payloads
 * (n_payload). The receiver reads envelopes in order, pairs whole tags, and only then
 * posts the payload's receive, so a folded tag never decides what belongs together.
 *
 * Two payloads from one rank whose numbers are equal modulo n_payload share an MPI tag, and
 * MPI pairs those in the order sent. So before the later one's receive is posted, the
 * earlier one's must be: if nobody asked for it yet it is received early, into memory of
 * our own. That needs n_payload unreceived messages of one sender, so it is rare.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

static int payload_tag(const mpi_comm *c, int64_t seq)
{
    return c->n_direct + 1 + (int)(seq % c->n_payload);
}

weft_status wf_mpi_send_announced(mpi_comm *c, mpi_op *op)
{
    MPI_Request *r;
    int64_t seq = c->next_seq[op->base.peer]++;
    op->env = (mpi_envelope){.tag = op->base.tag, .bytes = op->base.bytes, .seq = seq};
    WF_TRY(wf_mpi_new_request(op, &r));
    WF_MPI(MPI_Isend(&op->env, sizeof op->env, MPI_BYTE, op->base.peer, c->n_direct,
                     c->comm, r));
    return wf_mpi_post_send(op, c->comm, payload_tag(c, seq), c->sync);
}

/* ---- payloads ---------------------------------------------------------------------- */

static weft_status receive_early(mpi_comm *c, mpi_arrived *a)
{
    wf_op *base;
    WF_TRY(wf_op_take(&c->base, &base));
    int64_t id = base->id;
    mpi_op *op = (mpi_op *)base;
    *base = (wf_op){.kind = WF_RECV, .id = id, .peer = a->src, .bytes = a->env.bytes};
    wf_mpi_clear_requests(op);
    WF_TRY(wf_alloc(a->env.bytes, 1, &base->out));
    a->early = op;
    return wf_mpi_post_recv(op, c->comm, payload_tag(c, a->env.seq));
}

static weft_status clear_the_way(mpi_comm *c, int src, int64_t seq)
{
    for (mpi_arrived *a = c->arrived; a; a = a->next)
        if (a->src == src && !a->early && a->env.seq < seq &&
            (seq - a->env.seq) % c->n_payload == 0)
            WF_TRY(receive_early(c, a));
    return WEFT_OK;
}

static weft_status receive_payload(mpi_comm *c, mpi_op *op, const mpi_envelope *env)
{
    op->waits_envelope = 0;
    if (env->bytes != op->base.bytes) { /* told by wf_mpi_received() */
        op->came_bytes = env->bytes;
        wf_op_done(&op->base);
        return WEFT_OK;
    }
    WF_TRY(clear_the_way(c, op->base.peer, env->seq));
    return wf_mpi_post_recv(op, c->comm, payload_tag(c, env->seq));
}

weft_status wf_mpi_progress_early(mpi_comm *c, mpi_op *op)
{
    mpi_op *e = op->early;
    WF_TRY(wf_mpi_test_requests(e));
    if (!atomic_load(&e->base.done)) return WEFT_OK;
    op->came_bytes = e->came_bytes;
    if (e->came_bytes == op->base.bytes && op->base.bytes)
        memcpy(op->base.out, e->base.out, (size_t)op->base.bytes);
    wf_free(e->base.out);
    wf_op_give(&c->base, &e->base);
    op->early = NULL;
    wf_op_done(&op->base);
    return WEFT_OK;
}

/* ---- envelopes --------------------------------------------------------------------- */

static weft_status listen(mpi_comm *c)
{
    WF_MPI(MPI_Irecv(&c->heard, sizeof c->heard, MPI_BYTE, MPI_ANY_SOURCE, c->n_direct,
                     c->comm, &c->hearing));
    return WEFT_OK;
}

static mpi_op *take_waiting(mpi_comm *c, int src, int64_t tag)
{
    for (mpi_op **at = &c->waiting, *op; (op = *at); at = &op->next) {
        if (op->base.peer != src || op->base.tag != tag) continue;
        *at = op->next;
        if (c->waiting_end == &op->next) c->waiting_end = at;
        return op;
    }
    return NULL;
}

static mpi_arrived *take_arrived(mpi_comm *c, int src, int64_t tag)
{
    for (mpi_arrived **at = &c->arrived, *a; (a = *at); at = &a->next) {
        if (a->src != src || a->env.tag != tag) continue;
        *at = a->next;
        if (c->arrived_end == &a->next) c->arrived_end = at;
        return a;
    }
    return NULL;
}

static weft_status keep(mpi_comm *c, int src, const mpi_envelope *env)
{
    mpi_arrived *a;
    WF_TRY(WF_ALLOC(1, &a));
    a->src = src;
    a->env = *env;
    *c->arrived_end = a;
    c->arrived_end = &a->next;
    return WEFT_OK;
}

weft_status wf_mpi_hear(mpi_comm *c)
{
    while (c->hearing != MPI_REQUEST_NULL) {
        MPI_Status s;
        int flag;
        WF_MPI(MPI_Test(&c->hearing, &flag, &s));
        if (!flag) return WEFT_OK;
        mpi_envelope env = c->heard;
        WF_TRY(listen(c));
        mpi_op *op = take_waiting(c, s.MPI_SOURCE, env.tag);
        if (op)
            WF_TRY(receive_payload(c, op, &env));
        else
            WF_TRY(keep(c, s.MPI_SOURCE, &env));
    }
    return WEFT_OK;
}

static weft_status receive_arrived(mpi_comm *c, mpi_op *op, mpi_arrived *a)
{
    if (!a->early) return receive_payload(c, op, &a->env);
    op->early = a->early;
    return WEFT_OK;
}

weft_status wf_mpi_recv_announced(mpi_comm *c, mpi_op *op)
{
    if (c->hearing == MPI_REQUEST_NULL) WF_TRY(listen(c));
    mpi_arrived *a = take_arrived(c, op->base.peer, op->base.tag);
    if (a) {
        weft_status st = receive_arrived(c, op, a);
        wf_free(a);
        return st;
    }
    op->waits_envelope = 1;
    op->next = NULL;
    *c->waiting_end = op;
    c->waiting_end = &op->next;
    return WEFT_OK;
}

void wf_mpi_free_arrived(mpi_comm *c)
{
    for (mpi_arrived *a = c->arrived, *next; a; a = next) {
        next = a->next;
        wf_free(a);
    }
    c->arrived = NULL;
    c->arrived_end = &c->arrived;
}
