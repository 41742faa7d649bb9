/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives. Each is one non-blocking MPI operation as long as all its bytes fit into
 * one chunk, and else several of a kind that can be cut: a part from a root at a time.
 */
#include <string.h>

#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

static MPI_Comm comm_of(const mpi_op *op)
{
    return *(MPI_Comm *)op->base.group->impl;
}

static MPI_Datatype type_of(const mpi_op *op)
{
    return op->base.dtype == WEFT_F64 ? MPI_DOUBLE : MPI_FLOAT;
}

static int fits(const mpi_op *op)
{
    return wf_payload(&op->base) <= wf_mpi_limit.chunk_bytes &&
           op->base.bytes <= wf_mpi_limit.chunk_bytes / op->base.group->n;
}

/* ---- one part at a time: called for successive pieces ------------------------------- */

typedef struct piece {
    int root;
    int64_t at, n; /* of the root's part: elements of a reduction, else bytes */
} piece;

typedef weft_status each_piece(mpi_op *op, const piece *p, MPI_Request *r);

/* The part of every root in turn, `total` long, cut so that a piece of units of `unit`
 * bytes fits. */
static weft_status cut(mpi_op *op, int first, int end, int64_t total, int64_t unit,
                       each_piece *post)
{
    int64_t most = wf_mpi_limit.chunk_bytes / unit;
    for (int root = first; root < end; root++)
        for (int64_t at = 0; at < total; at += most) {
            piece p = {root, at, total - at < most ? total - at : most};
            MPI_Request *r;
            WF_TRY(wf_mpi_new_request(op, &r));
            WF_TRY(post(op, &p, r));
        }
    return WEFT_OK;
}

static weft_status post_all_reduce(mpi_op *op, const piece *p, MPI_Request *r)
{
    char *buf = (char *)op->base.out + p->at * weft_dtype_bytes(op->base.dtype);
    WF_MPI(MPI_Iallreduce(MPI_IN_PLACE, buf, (int)p->n, type_of(op),
                          op->base.reduce == WEFT_SUM ? MPI_SUM : MPI_MAX, comm_of(op),
                          r));
    return WEFT_OK;
}

static weft_status post_broadcast(mpi_op *op, const piece *p, MPI_Request *r)
{
    WF_MPI(MPI_Ibcast((char *)op->base.out + p->at, (int)p->n, MPI_BYTE, p->root,
                      comm_of(op), r));
    return WEFT_OK;
}

/* out holds a part of each root. */
static weft_status post_part(mpi_op *op, const piece *p, MPI_Request *r)
{
    char *part = (char *)op->base.out + p->root * op->base.bytes;
    WF_MPI(MPI_Ibcast(part + p->at, (int)p->n, MPI_BYTE, p->root, comm_of(op), r));
    return WEFT_OK;
}

static weft_status post_reduce(mpi_op *op, const piece *p, MPI_Request *r)
{
    int64_t es = weft_dtype_bytes(op->base.dtype);
    const char *in = (const char *)op->base.in + p->root * op->base.bytes + p->at * es;
    char *out =
        op->base.group->me == p->root ? (char *)op->base.out + p->at * es : NULL;
    WF_MPI(
        MPI_Ireduce(in, out, (int)p->n, type_of(op), MPI_SUM, p->root, comm_of(op), r));
    return WEFT_OK;
}

static weft_status post_to(mpi_op *op, const piece *p, MPI_Request *r)
{
    const char *in = (const char *)op->base.in + p->root * op->base.bytes;
    WF_MPI(MPI_Isend(in + p->at, (int)p->n, MPI_BYTE, p->root, 0, comm_of(op), r));
    return WEFT_OK;
}

static weft_status post_from(mpi_op *op, const piece *p, MPI_Request *r)
{
    char *out = (char *)op->base.out + p->root * op->base.bytes;
    WF_MPI(MPI_Irecv(out + p->at, (int)p->n, MPI_BYTE, p->root, 0, comm_of(op), r));
    return WEFT_OK;
}

/* ---- the operations ---------------------------------------------------------------- */

static weft_status all_gather(mpi_op *op)
{
    const wf_op *b = &op->base;
    char *own = (char *)b->out + b->group->me * b->bytes;
    MPI_Request *r;

    if (!fits(op)) {
        if (own != b->in) memmove(own, b->in, (size_t)b->bytes);
        return cut(op, 0, b->group->n, b->bytes, 1, post_part);
    }
    WF_TRY(wf_mpi_new_request(op, &r));
    WF_MPI(MPI_Iallgather(own == b->in ? MPI_IN_PLACE : b->in, (int)b->bytes, MPI_BYTE,
                          b->out, (int)b->bytes, MPI_BYTE, comm_of(op), r));
    return WEFT_OK;
}

static weft_status reduce_scatter(mpi_op *op)
{
    const wf_op *b = &op->base;
    MPI_Request *r;
    if (!fits(op))
        return cut(op, 0, b->group->n, b->count, weft_dtype_bytes(b->dtype),
                   post_reduce);
    WF_TRY(wf_mpi_new_request(op, &r));
    WF_MPI(MPI_Ireduce_scatter_block(b->in, b->out, (int)b->count, type_of(op), MPI_SUM,
                                     comm_of(op), r));
    return WEFT_OK;
}

static weft_status all_to_all(mpi_op *op)
{
    const wf_op *b = &op->base;
    MPI_Request *r;
    if (!fits(op)) {
        WF_TRY(cut(op, 0, b->group->n, b->bytes, 1, post_from));
        return cut(op, 0, b->group->n, b->bytes, 1, post_to);
    }
    WF_TRY(wf_mpi_new_request(op, &r));
    WF_MPI(MPI_Ialltoall(b->in, (int)b->bytes, MPI_BYTE, b->out, (int)b->bytes,
                         MPI_BYTE, comm_of(op), r));
    return WEFT_OK;
}

static weft_status barrier(mpi_op *op)
{
    MPI_Request *r;
    WF_TRY(wf_mpi_new_request(op, &r));
    WF_MPI(MPI_Ibarrier(comm_of(op), r));
    return WEFT_OK;
}

weft_status wf_mpi_coll_start(mpi_comm *c, mpi_op *op)
{
    const wf_op *b = &op->base;
    (void)c;
    switch (b->kind) {
    case WF_ALL_REDUCE:
        return cut(op, 0, 1, b->count, weft_dtype_bytes(b->dtype), post_all_reduce);
    case WF_BROADCAST:
        return cut(op, b->peer, b->peer + 1, b->bytes, 1, post_broadcast);
    case WF_ALL_GATHER: return all_gather(op);
    case WF_REDUCE_SCATTER: return reduce_scatter(op);
    case WF_ALL_TO_ALL: return all_to_all(op);
    default: return barrier(op);
    }
}
