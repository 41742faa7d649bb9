/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up and end of the MPI back end, and its table. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

/* How long a wait polls and yields before it sleeps between polls, and that sleep: a pass
 * of the pipeline takes longer, and on fewer cores than ranks the others need them. */
static const double poll_s = 1e-3, nap_s = 50e-6;
enum { NOTICE_EVERY = 16 };              /* polls */
static const double look_every_s = 0.25; /* whether all processes are there */

static mpi_comm *mpi(weft_comm *c)
{
    return (mpi_comm *)c;
}

/* ---- progress ---------------------------------------------------------------------- */

static weft_status start(weft_comm *comm, wf_op *base)
{
    mpi_comm *c = mpi(comm);
    mpi_op *op = (mpi_op *)base;
    wf_mpi_clear_requests(op);
    switch (base->kind) {
    case WF_SEND: return wf_mpi_send(c, op);
    case WF_RECV: return wf_mpi_recv(c, op);
    default: return wf_mpi_coll_start(c, op);
    }
}

static weft_status progress_op(mpi_comm *c, mpi_op *op)
{
    if (op->base.lost || op->waits_envelope) return WEFT_OK;
    if (op->early) return wf_mpi_progress_early(c, op);
    return wf_mpi_test_requests(op);
}

static weft_status progress(weft_comm *comm, wf_op *base)
{
    mpi_comm *c = mpi(comm);
    if (c->hearing != MPI_REQUEST_NULL) WF_TRY(wf_mpi_hear(c));
    if (base && !atomic_load(&base->done)) WF_TRY(progress_op(c, (mpi_op *)base));
    if (base && atomic_load(&base->done)) return WEFT_OK;
    if (!base || c->polls++ % NOTICE_EVERY == 0) return wf_mpi_notices(c);
    return WEFT_OK;
}

static weft_status block(weft_comm *comm, wf_op *op, double until_s)
{
    double from = wf_now_s(), look_s = from + look_every_s;
    for (;;) {
        WF_TRY(progress(comm, op));
        if (atomic_load(&op->done)) return WEFT_OK;
        double now = wf_now_s();
        if (now >= until_s) return WEFT_OK;
        if (now >= look_s) {
            WF_TRY(wf_check_lost(comm));
            look_s = now + look_every_s;
        }
        if (now - from < poll_s)
            sched_yield();
        else
            wf_sleep_s(nap_s);
    }
}

static weft_status finish(weft_comm *comm, wf_op *op)
{
    if (op->kind == WF_RECV) return wf_mpi_received(mpi(comm), (mpi_op *)op);
    if (op->kind == WF_SEND && op->arena) weft_arena_give(op->arena, op->block);
    return WEFT_OK;
}

static int missing(weft_comm *comm, wf_op *op, int *ranks, int max)
{
    (void)comm;
    (void)op;
    (void)ranks;
    (void)max;
    return -1; /* MPI does not tell */
}

static weft_status poll(weft_comm *comm)
{
    return wf_mpi_notices(mpi(comm));
}

/* Receives can be taken back; what is being sent cannot. */
static void withdraw(weft_comm *comm)
{
    for (int64_t i = 0; i < comm->n_slots; i++) {
        mpi_op *op = (mpi_op *)comm->slots[i];
        if (op->base.kind != WF_RECV) continue;
        for (int64_t k = op->at_req; k < op->n_req; k++)
            if (op->req[k] != MPI_REQUEST_NULL) MPI_Cancel(&op->req[k]);
    }
    mpi(comm)->waiting = NULL;
    mpi(comm)->waiting_end = &mpi(comm)->waiting;
}

/* ---- making a comm ----------------------------------------------------------------- */

static int asks_sync(void)
{
    const char *s = getenv("WEFT_MPI_SYNC");
    return s && *s && strcmp(s, "0") != 0;
}

static void divide_tags(mpi_comm *c)
{
    int *ub = NULL, found = 0, max = 32767; /* what MPI guarantees */
    MPI_Comm_get_attr(c->comm, MPI_TAG_UB, &ub, &found);
    if (found) max = *ub;
    if (wf_mpi_limit.tag_ub && wf_mpi_limit.tag_ub < max) max = wf_mpi_limit.tag_ub;
    c->n_direct = max / 2;
    c->n_payload = max - c->n_direct; /* one tag is the envelopes' */
}

weft_status wf_mpi_fill_comm(mpi_comm *c, mpi_world *w, MPI_Comm comm)
{
    c->world = w;
    c->comm = comm;
    c->owner = pthread_self();
    c->sync = asks_sync();
    c->hearing = MPI_REQUEST_NULL;
    c->arrived_end = &c->arrived;
    c->waiting_end = &c->waiting;
    divide_tags(c);
    return WF_ALLOC(c->base.size, &c->next_seq);
}

static weft_status first_comm(mpi_comm *c, mpi_comm *world, int n)
{
    int *ranks;
    MPI_Comm made;
    c->is_sub = 1;
    WF_TRY(wf_first_ranks(n, &ranks));
    weft_status st = wf_mpi_make_comm(world, n, ranks, "making a communicator", &made);
    wf_free(ranks);
    WF_TRY(st);
    WF_TRY(wf_comm_init_sub(&c->base, &world->base, world->base.rank, n));
    return wf_mpi_fill_comm(c, world->world, made);
}

static void free_comm(mpi_comm *c)
{
    for (int64_t i = 0; i < c->base.n_slots; i++)
        wf_free(((mpi_op *)c->base.slots[i])->req);
    wf_mpi_free_arrived(c);
    wf_free(c->next_seq);
    wf_comm_clear(&c->base);
    wf_free(c);
}

weft_status wf_mpi_first(weft_comm *world, int n, weft_comm **out)
{
    mpi_comm *c;
    if (world->rank >= n) {
        mpi(world)->outside = 1;
        *out = NULL;
        return WEFT_OK;
    }
    WF_TRY(WF_ALLOC(1, &c));
    weft_status st = first_comm(c, mpi(world), n);
    if (st != WEFT_OK) {
        free_comm(c);
        return st;
    }
    *out = &c->base;
    return WEFT_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

static void stop_hearing(mpi_comm *c)
{
    if (c->hearing == MPI_REQUEST_NULL) return;
    MPI_Cancel(&c->hearing);
    MPI_Wait(&c->hearing, MPI_STATUS_IGNORE); /* cancelling a receive is local */
}

static weft_status meet_all(mpi_comm *c)
{
    int *ranks;
    WF_TRY(wf_first_ranks(c->base.size, &ranks));
    weft_status st = wf_mpi_meet(c, c->base.size, ranks, c->base.rank);
    wf_free(ranks);
    return st;
}

/* Finalizing blocks: all ranks are there first, or it is not tried. A process that ends
 * without it tells the launcher that something went wrong. */
static void finalize(mpi_comm *c)
{
    mpi_world *w = c->world;
    if (meet_all(c) != WEFT_OK) return;
    if (wf_mpi_leave(w)) return;
    stop_hearing(c);
    wf_mpi_stop_listening(w);
    wf_watch_rule rule = wf_watch_rule_of(c);
    wf_watch *watch = wf_watch_start(&rule, "MPI_Finalize");
    MPI_Comm_free(&w->control);
    MPI_Comm_free(&c->comm);
    MPI_Finalize();
    wf_watch_stop(watch);
}

void wf_mpi_destroy(weft_comm *comm)
{
    mpi_comm *c = mpi(comm);
    mpi_world *w = c->world;
    int ok = !comm->failed && !atomic_load(&w->failed);

    if (ok && c->is_sub) {
        stop_hearing(c);
        MPI_Comm_free(&c->comm);
    } else if (ok) {
        finalize(c);
    }
    if (!c->is_sub) {
        wf_free(w->outgoing);
        wf_free(w->status_dir);
        wf_free(w);
    }
    free_comm(c);
}

const wf_backend wf_mpi_backend = {
    .name = "mpi",
    .is_process = 1,
    .posts_memory = 1,
    .op_bytes = sizeof(mpi_op),
    .start = start,
    .progress = progress,
    .block = block,
    .finish = finish,
    .group_open = wf_mpi_group_open,
    .group_close = wf_mpi_group_close,
    .first = wf_mpi_first,
    .missing = missing,
    .poll = poll,
    .abort = wf_mpi_abort,
    .withdraw = withdraw,
    .destroy = wf_mpi_destroy,
};
