/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure notices: the first rank that fails sends its words to all others, whose waits end
 * with them. So one message names the cause, whoever waits for whom.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

enum { KILLED_STATUS = 3 };

/* A rank that is not the first to fail leaves ending the job to the one that is, so that
 * its words get out; and ends it itself if nothing comes of that. */
static const double others_turn_s = 2, abort_limit_s = 5;
/* Between printing and the end: launchers drop what they have not yet read from a rank. */
static const double forward_s = 0.2;

weft_status wf_mpi_listen(mpi_world *w)
{
    WF_MPI(MPI_Irecv(&w->in, sizeof w->in, MPI_BYTE, MPI_ANY_SOURCE, NOTICE_TAG,
                     w->control, &w->incoming));
    return WEFT_OK;
}

static void remember(mpi_world *w, const mpi_notice *n)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&w->failed, &none, 2)) return;
    w->first = *n;
    atomic_store_explicit(&w->failed, 1, memory_order_release);
}

static void tell_others(mpi_world *w)
{
    if (atomic_exchange(&w->told, 1)) return;
    w->out = w->first;
    if (WF_ALLOC(w->size, &w->outgoing) != WEFT_OK) return; /* they have their limits */
    for (int r = 0; r < w->size; r++)
        if (r != w->rank)
            MPI_Isend(&w->out, sizeof w->out, MPI_BYTE, r, NOTICE_TAG, w->control,
                      &w->outgoing[w->n_outgoing++]);
}

static int knows_failure(mpi_world *w)
{
    return atomic_load_explicit(&w->failed, memory_order_acquire) == 1;
}

weft_status wf_mpi_notices(mpi_comm *c)
{
    mpi_world *w = c->world;
    if (!knows_failure(w) && w->incoming != MPI_REQUEST_NULL) {
        int flag;
        WF_MPI(MPI_Test(&w->incoming, &flag, MPI_STATUS_IGNORE));
        if (flag) remember(w, &w->in);
    }
    if (!knows_failure(w)) return WEFT_OK;
    if (w->first.rank == w->rank) tell_others(w); /* it was set from another thread */
    return WF_FAIL(WEFT_E_PEER, "%s", w->first.words);
}

static void cannot_abort(const char *message)
{
    (void)message;
    _exit(KILLED_STATUS);
}

static void end_job(mpi_world *w, int first)
{
    wf_sleep_s(first ? forward_s : others_turn_s);
    wf_launch l;
    if (wf_launched(&l)) wf_mpi_guard_launcher();
    /* MPI_Abort itself may wait for a launcher that cannot be reached. */
    wf_watch_rule rule = {cannot_abort, abort_limit_s, w->rank, NULL, NULL};
    wf_watch *watch = wf_watch_start(&rule, "MPI_Abort");
    MPI_Abort(MPI_COMM_WORLD, KILLED_STATUS);
    wf_watch_stop(watch);
    _exit(KILLED_STATUS);
}

static void print_first(const mpi_comm *c)
{
    const mpi_world *w = c->world;
    const char *program = c->base.program;
    fprintf(stderr, "%s%s%s%s%s\n", program, *program ? ": " : "", w->first.words,
            w->status_dir ? "; status files: " : "",
            w->status_dir ? w->status_dir : "");
    fflush(stderr);
}

void wf_mpi_abort(weft_comm *comm, weft_status st, const char *message, int kill)
{
    mpi_comm *c = (mpi_comm *)comm;
    mpi_world *w = c->world;
    int owner = pthread_equal(pthread_self(), c->owner);
    int named = strstr(message, "rank ") != NULL;
    mpi_notice n = {.status = st, .rank = w->rank};

    /* Two ranks may fail by one cause at nearly the same time: the earlier one speaks. */
    if (owner && wf_mpi_notices(c) != WEFT_OK) st = WEFT_E_PEER;
    if (named)
        snprintf(n.words, sizeof n.words, "%s", message);
    else
        snprintf(n.words, sizeof n.words, "rank %d: %s", w->rank, message);
    remember(w, &n);
    int mine = w->first.rank == w->rank;
    int first = kill && mine && wf_mpi_speaks_first(w->status_dir, w->first.words);
    if (first) print_first(c);
    if (mine && owner) tell_others(w);
    if (kill) end_job(w, first);
}

void wf_mpi_stop_listening(mpi_world *w)
{
    int flag = 0;
    if (w->incoming == MPI_REQUEST_NULL) return;
    MPI_Cancel(&w->incoming);
    for (double end = wf_now_s() + 1; !flag && wf_now_s() < end;)
        MPI_Test(&w->incoming, &flag, MPI_STATUS_IGNORE);
}
