/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making an MPI communicator blocks, and MPI has no other way for a part of the ranks. So
 * they first meet, each wait bounded and its failure in words; what is left is the moment
 * between the meeting and the call, and that is watched.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

static const double no_limit_s = 1e9;

static weft_status post(mpi_comm *c, wf_kind kind, int peer, int tag, wf_op **out)
{
    WF_TRY(wf_op_take(&c->base, out));
    int64_t id = (*out)->id;
    **out = (wf_op){
        .kind = kind, .id = id, .why = WEFT_FOR_CONTROL, .peer = peer, .tag = tag};
    wf_mpi_clear_requests((mpi_op *)*out);
    return kind == WF_SEND ? wf_mpi_post_send((mpi_op *)*out, c->world->control, tag, 0)
                           : wf_mpi_post_recv((mpi_op *)*out, c->world->control, tag);
}

/* Empty messages at doubling distance: Hensgen, Finkel, Manber, "Two algorithms for
 * barrier synchronization", 1988. */
static weft_status meet(mpi_comm *c, int n, const int *ranks, int me)
{
    for (int far = 1, tag = MEET_TAG; far < n; far *= 2, tag++) {
        wf_op *s, *r;
        WF_TRY(post(c, WF_RECV, ranks[(me + n - far) % n], tag, &r));
        WF_TRY(post(c, WF_SEND, ranks[(me + far) % n], tag, &s));
        WF_TRY(wf_wait_op(&c->base, r));
        WF_TRY(wf_wait_op(&c->base, s));
        wf_op_give(&c->base, r);
        wf_op_give(&c->base, s);
    }
    return WEFT_OK;
}

weft_status wf_mpi_meet(mpi_comm *c, int n, const int *ranks, int me)
{
    double limit = c->base.timeout_s;
    if (c->outside) c->base.timeout_s = no_limit_s;
    weft_status st = meet(c, n, ranks, me);
    c->base.timeout_s = limit;
    if (st == WEFT_OK) c->outside = 0;
    return st;
}

static weft_status make(mpi_comm *c, int n, const int *ranks, MPI_Comm *out)
{
    MPI_Group all, some;
    MPI_Comm made;
    WF_MPI(MPI_Comm_group(c->comm, &all));
    int rc = MPI_Group_incl(all, n, ranks, &some);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Comm_create_group(c->comm, some, 0, &made);
        MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
    if (rc != MPI_SUCCESS) return wf_mpi_fail(rc, "MPI_Comm_create_group");
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    *out = made;
    return WEFT_OK;
}

weft_status wf_mpi_make_comm(mpi_comm *c, int n, const int *ranks, const char *what,
                             MPI_Comm *out)
{
    int me = 0;
    while (ranks[me] != c->base.rank)
        me++;
    weft_status st = wf_mpi_meet(c, n, ranks, me);
    if (st != WEFT_OK) return wf_comm_break(&c->base, st);
    wf_watch_rule rule = wf_watch_rule_of(c);
    wf_watch *w = wf_watch_start(&rule, what);
    st = make(c, n, ranks, out);
    wf_watch_stop(w);
    return st;
}

weft_status wf_mpi_group_open(weft_comm *comm, weft_group *g)
{
    MPI_Comm *made;
    WF_TRY(WF_ALLOC(1, &made));
    weft_status st =
        wf_mpi_make_comm((mpi_comm *)comm, g->n, g->ranks, "making a group", made);
    if (st != WEFT_OK) {
        wf_free(made);
        return st;
    }
    g->impl = made;
    return WEFT_OK;
}

void wf_mpi_group_close(weft_group *g)
{
    /* After a failure some members are gone and freeing would wait for them. */
    const mpi_comm *c = (const mpi_comm *)g->comm;
    if (!g->comm->failed && !atomic_load(&c->world->failed))
        MPI_Comm_free((MPI_Comm *)g->impl);
    wf_free(g->impl);
}
