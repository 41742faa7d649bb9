/* SPDX-License-Identifier: Apache-2.0 */
/* The MPI requests of one operation: large ones are cut, since MPI counts in int. */
#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

wf_mpi_limits wf_mpi_limit = {.chunk_bytes = 1 << 30, .tag_ub = 0};

weft_status wf_mpi_new_request(mpi_op *op, MPI_Request **out)
{
    WF_TRY(wf_grow((void **)&op->req, &op->cap_req, op->n_req + 1, sizeof *op->req));
    op->req[op->n_req] = MPI_REQUEST_NULL;
    *out = &op->req[op->n_req++];
    return WEFT_OK;
}

void wf_mpi_clear_requests(mpi_op *op)
{
    op->n_req = op->at_req = 0;
    op->came_bytes = 0;
    op->waits_envelope = 0;
    op->early = NULL;
}

static weft_status test_failed(mpi_op *op, int rc)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    if (class != MPI_ERR_TRUNCATE) return wf_mpi_fail(rc, "MPI_Test");
    op->came_bytes = -1;
    op->at_req = op->n_req;
    return WEFT_OK;
}

/* One after the other: progress is made on all by testing any. */
weft_status wf_mpi_test_requests(mpi_op *op)
{
    for (; op->at_req < op->n_req; op->at_req++) {
        MPI_Status s;
        int flag, n;
        int rc = MPI_Test(&op->req[op->at_req], &flag, &s);
        if (rc != MPI_SUCCESS) {
            WF_TRY(test_failed(op, rc));
            break;
        }
        if (!flag) return WEFT_OK;
        if (op->base.kind == WF_RECV) {
            WF_MPI(MPI_Get_count(&s, MPI_BYTE, &n));
            op->came_bytes += n;
        }
    }
    wf_op_done(&op->base);
    return WEFT_OK;
}

static int64_t chunk_at(const mpi_op *op, int64_t at)
{
    int64_t left = op->base.bytes - at;
    return left < wf_mpi_limit.chunk_bytes ? left : wf_mpi_limit.chunk_bytes;
}

/* Chunks of one message have one tag: MPI keeps their order. */
weft_status wf_mpi_post_send(mpi_op *op, MPI_Comm comm, int tag, int sync)
{
    const char *in = op->base.in;
    for (int64_t n, at = 0; at == 0 || at < op->base.bytes; at += n) {
        MPI_Request *r;
        n = chunk_at(op, at);
        WF_TRY(wf_mpi_new_request(op, &r));
        if (sync)
            WF_MPI(MPI_Issend(in + at, (int)n, MPI_BYTE, op->base.peer, tag, comm, r));
        else
            WF_MPI(MPI_Isend(in + at, (int)n, MPI_BYTE, op->base.peer, tag, comm, r));
        if (n == 0) break;
    }
    return WEFT_OK;
}

weft_status wf_mpi_post_recv(mpi_op *op, MPI_Comm comm, int tag)
{
    char *out = op->base.out;
    for (int64_t n, at = 0; at == 0 || at < op->base.bytes; at += n) {
        MPI_Request *r;
        n = chunk_at(op, at);
        WF_TRY(wf_mpi_new_request(op, &r));
        WF_MPI(MPI_Irecv(out + at, (int)n, MPI_BYTE, op->base.peer, tag, comm, r));
        if (n == 0) break;
    }
    return WEFT_OK;
}
