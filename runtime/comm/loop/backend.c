/* SPDX-License-Identifier: Apache-2.0 */
/* The back end's table, waiting, and failing. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/loop/loop.h"

static const double spin_s = 20e-6;

static loop_comm *loop(weft_comm *c)
{
    return (loop_comm *)c;
}

static weft_status start(weft_comm *comm, wf_op *base)
{
    loop_comm *c = loop(comm);
    loop_op *op = (loop_op *)base;
    WF_TRY(wf_loop_failure(c->world));
    switch (base->kind) {
    case WF_SEND: return wf_loop_send(c, op);
    case WF_RECV: return wf_loop_recv(c, op);
    default: return wf_loop_coll_start(c, op);
    }
}

static int is_done(wf_op *op)
{
    return op && atomic_load_explicit(&op->done, memory_order_acquire);
}

static weft_status progress(weft_comm *comm, wf_op *op)
{
    loop_world *w = loop(comm)->world;
    if (is_done(op)) return WEFT_OK;
    if (w->rank[comm->rank].flying) { /* this thread's own list */
        pthread_mutex_lock(&w->lock);
        wf_loop_help(w, comm->rank);
        pthread_mutex_unlock(&w->lock);
        if (is_done(op)) return WEFT_OK;
    }
    return wf_loop_failure(w);
}

/* Lock held. Until the bell rings after `rings` was read, or the time comes. */
static void sleep_on_bell(loop_world *w, loop_rank *me, uint64_t rings, double until_s)
{
    if (w->spin) {
        double end = wf_now_s() + spin_s;
        pthread_mutex_unlock(&w->lock);
        while (atomic_load_explicit(&me->rings, memory_order_acquire) == rings &&
               wf_now_s() < end)
            ;
        pthread_mutex_lock(&w->lock);
    }
    if (atomic_load_explicit(&me->rings, memory_order_relaxed) != rings) return;
    struct timespec t = {.tv_sec = (time_t)until_s};
    t.tv_nsec = (long)((until_s - (double)t.tv_sec) * 1e9);
    pthread_cond_timedwait(&me->bell, &w->lock, &t);
}

static weft_status block(weft_comm *comm, wf_op *op, double until_s)
{
    loop_world *w = loop(comm)->world;
    loop_rank *me = &w->rank[comm->rank];

    pthread_mutex_lock(&w->lock);
    me->waits = (loop_op *)op;
    for (;;) {
        uint64_t rings = atomic_load_explicit(&me->rings, memory_order_relaxed);
        wf_loop_help(w, comm->rank);
        if (is_done(op) || atomic_load(&w->failed) || wf_now_s() >= until_s) break;
        sleep_on_bell(w, me, rings, until_s);
    }
    me->waits = NULL;
    pthread_mutex_unlock(&w->lock);
    return is_done(op) ? WEFT_OK : wf_loop_failure(w);
}

static weft_status finish(weft_comm *comm, wf_op *base)
{
    loop_op *op = (loop_op *)base;
    if (base->kind == WF_RECV) return wf_loop_received(loop(comm), op);
    if (base->kind != WF_SEND) wf_loop_coll_finished(loop(comm), op);
    return WEFT_OK;
}

static weft_status group_open(weft_comm *comm, weft_group *g)
{
    loop_group *made;
    WF_TRY(wf_loop_join(loop(comm)->world, loop(comm)->ctx, g->me, g->n, g->ranks,
                        g->axes, &made));
    g->impl = made;
    return WEFT_OK;
}

static weft_status fill_first(loop_comm *c, loop_comm *world, int n)
{
    int *ranks;
    c->world = world->world;
    c->owner = world->owner;
    WF_TRY(wf_comm_init_sub(&c->base, &world->base, world->base.rank, n));
    WF_TRY(wf_first_ranks(n, &ranks));
    weft_status st = wf_loop_join(c->world, world->ctx, world->base.rank, n, ranks,
                                  "(first)", &c->sub);
    wf_free(ranks);
    if (st == WEFT_OK) c->ctx = c->sub->id;
    return st;
}

static weft_status first(weft_comm *world, int n, weft_comm **out)
{
    loop_comm *c;
    if (world->rank >= n) {
        *out = NULL;
        return WEFT_OK;
    }
    WF_TRY(WF_ALLOC(1, &c));
    weft_status st = fill_first(c, loop(world), n);
    if (st != WEFT_OK) {
        wf_loop_comm_destroy(c);
        return st;
    }
    *out = &c->base;
    return WEFT_OK;
}

static weft_status poll(weft_comm *comm)
{
    return wf_loop_failure(loop(comm)->world);
}

static void withdraw(weft_comm *comm)
{
    loop_world *w = loop(comm)->world;
    loop_rank *me = &w->rank[comm->rank];

    pthread_mutex_lock(&w->lock);
    wf_loop_withdraw_mail(w, comm->rank);
    for (loop_op *op = me->flying; op; op = op->next)
        atomic_store(&op->coll->dead, 1);
    me->flying = NULL;
    me->leaving = 1;
    while (me->pins > 0) /* as long as one unit or one copy takes */
        pthread_cond_wait(&me->bell, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* A group that goes while a collective of this rank is in flight: the rank has failed. */
static void group_close(weft_group *g)
{
    loop_world *w = loop(g->comm)->world;
    int in_flight = 0;
    for (loop_op *op = w->rank[g->comm->rank].flying; op; op = op->next)
        in_flight |= op->base.group == g;
    if (in_flight) withdraw(g->comm);
    wf_loop_leave(w, g->impl);
}

void wf_loop_abort(weft_comm *comm, weft_status st, const char *message, int kill)
{
    loop_world *w = loop(comm)->world;
    (void)kill; /* the ranks are one process: the caller ends it */

    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed)) {
        int named = strstr(message, "rank ") != NULL;
        if (named)
            snprintf(w->words, sizeof w->words, "%s", message);
        else
            snprintf(w->words, sizeof w->words, "rank %d: %s", comm->rank, message);
        w->failed_status = st;
        w->failed_rank = comm->rank;
        w->failed_at_s = wf_now_s();
        atomic_store(&w->failed, 1);
    }
    for (int r = 0; r < w->n; r++)
        wf_loop_ring(w, r);
    pthread_cond_signal(&w->ended_bell);
    pthread_mutex_unlock(&w->lock);
    if (pthread_equal(pthread_self(), loop(comm)->owner)) withdraw(comm);
}

/* The world's comms belong to weft_loop_run(). */
static void destroy(weft_comm *comm)
{
    if (loop(comm)->sub) wf_loop_comm_destroy(loop(comm));
}

static void destroy_self(weft_comm *comm)
{
    loop_world *w = loop(comm)->world;
    int sub = loop(comm)->sub != NULL;
    wf_loop_comm_destroy(loop(comm));
    if (!sub) wf_loop_world_destroy(w);
}

#define TABLE(text, process, end)                                                      \
    {                                                                                  \
        .name = (text), .is_process = (process), .op_bytes = sizeof(loop_op),          \
        .start = start, .progress = progress, .block = block, .finish = finish,        \
        .group_open = group_open, .group_close = group_close, .first = first,          \
        .missing = wf_loop_missing, .poll = poll, .abort = wf_loop_abort,              \
        .withdraw = withdraw, .destroy = (end)                                         \
    }

const wf_backend wf_loop_backend = TABLE("loop", 0, destroy);
const wf_backend wf_self_backend = TABLE("self", 1, destroy_self);
