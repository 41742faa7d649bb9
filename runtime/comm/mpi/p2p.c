/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point to point. A tag that is small enough is MPI's tag: MPI then pairs what is equal, in
 * order, and nothing else. Larger tags are announced (envelope.c).
 */
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

weft_status wf_mpi_send(mpi_comm *c, mpi_op *op)
{
    if (op->base.tag >= c->n_direct) return wf_mpi_send_announced(c, op);
    return wf_mpi_post_send(op, c->comm, (int)op->base.tag, c->sync);
}

weft_status wf_mpi_recv(mpi_comm *c, mpi_op *op)
{
    if (op->base.arena) {
        WF_TRY(weft_arena_take(op->base.arena, WEFT_COMM, op->base.bytes,
                               &op->base.block));
        op->base.out = op->base.block;
    }
    if (op->base.tag >= c->n_direct) return wf_mpi_recv_announced(c, op);
    return wf_mpi_post_recv(op, c->comm, (int)op->base.tag);
}

weft_status wf_mpi_received(mpi_comm *c, mpi_op *op)
{
    const wf_op *r = &op->base;
    if (op->came_bytes == r->bytes)
        return r->arena ? weft_arena_adopt(r->arena, r->charge, r->block) : WEFT_OK;
    if (op->came_bytes < 0)
        return WF_FAIL(WEFT_E_MISMATCH,
                       "rank %d expects %lld bytes (%s, tag %lld), rank %d sent more",
                       c->base.rank, (long long)r->bytes, weft_purpose_name(r->why),
                       (long long)r->tag, r->peer);
    return WF_FAIL(WEFT_E_MISMATCH,
                   "rank %d expects %lld bytes (%s, tag %lld), rank %d sent %lld",
                   c->base.rank, (long long)r->bytes, weft_purpose_name(r->why),
                   (long long)r->tag, r->peer, (long long)op->came_bytes);
}
