/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads: start them, join them, report the first failure. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/loop/loop.h"

/* How long a rank may go on computing after another one failed. It cannot be stopped from
 * outside; longer than this and it is left behind. */
static const double grace_max_s = 10;

typedef weft_status rank_fn(weft_comm *comm, void *ctx);

typedef struct job {
    loop_world *world;
    const weft_comm_options *o;
    rank_fn *fn;
    void *ctx;
} job;

typedef struct rank_thread {
    job *job;
    loop_comm *comm;
    pthread_t thread;
    int started, ended;
} rank_thread;

static void *run_rank(void *arg)
{
    rank_thread *t = arg;
    loop_world *w = t->job->world;

    t->comm->owner = pthread_self();
    weft_status st = t->job->fn(&t->comm->base, t->job->ctx);
    if (st == WEFT_OK) st = wf_fault_check(&t->comm->base.fault);
    if (st != WEFT_OK) {
        const char *words = weft_status_message();
        wf_loop_abort(&t->comm->base, st, *words ? words : weft_status_name(st), 0);
    }
    wf_board_ended(&t->comm->base.board);
    pthread_mutex_lock(&w->lock);
    t->ended = 1;
    w->n_ended++;
    pthread_cond_signal(&w->ended_bell);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static weft_status make_comms(job *j, rank_thread *t)
{
    for (int r = 0; r < j->world->n; r++) {
        t[r].job = j;
        WF_TRY(wf_loop_comm_create(j->world, r, j->o, &wf_loop_backend, &t[r].comm));
    }
    return WEFT_OK;
}

/* How many could be started; the rest count as failed. */
static int start_threads(job *j, rank_thread *t)
{
    for (int r = 0; r < j->world->n; r++) {
        int err = pthread_create(&t[r].thread, NULL, run_rank, &t[r]);
        if (err) {
            char words[128];
            snprintf(words, sizeof words, "no thread for rank %d of %d: %s", r,
                     j->world->n, strerror(err));
            wf_loop_abort(&t[r].comm->base, WEFT_E_NOMEM, words, 0);
            return r;
        }
        t[r].started = 1;
    }
    return j->world->n;
}

/* 1 when all threads have ended, 0 when some had to be left behind. */
static int wait_for_all(loop_world *w, int n_started, double grace_s)
{
    pthread_mutex_lock(&w->lock);
    while (w->n_ended < n_started) {
        if (!atomic_load(&w->failed)) {
            pthread_cond_wait(&w->ended_bell, &w->lock);
            continue;
        }
        double end = w->failed_at_s + grace_s;
        if (wf_now_s() >= end) break;
        struct timespec at = {.tv_sec = (time_t)end};
        at.tv_nsec = (long)((end - (double)at.tv_sec) * 1e9);
        pthread_cond_timedwait(&w->ended_bell, &w->lock, &at);
    }
    int all = w->n_ended == n_started;
    pthread_mutex_unlock(&w->lock);
    return all;
}

static weft_status failure_of(const loop_world *w, const char *more)
{
    if (!atomic_load(&((loop_world *)w)->failed)) return WEFT_OK;
    return WF_FAIL(w->failed_status, "%s%s", w->words, more);
}

/* Some thread goes on: what it can reach must stay, so nothing is freed. */
static weft_status leave_behind(job *j, rank_thread *t)
{
    char more[128] = "";
    pthread_mutex_lock(&j->world->lock);
    for (int r = 0; r < j->world->n; r++) {
        if (t[r].started) pthread_detach(t[r].thread);
        if (!t[r].ended && !*more)
            snprintf(more, sizeof more, "; rank %d has not come back from computing",
                     r);
    }
    weft_status st = failure_of(j->world, more);
    pthread_mutex_unlock(&j->world->lock);
    return st;
}

static weft_status run_threads(job *j, rank_thread *t, int *left)
{
    double timeout = wf_timeout_of(j->o);
    WF_TRY(make_comms(j, t));
    int n = start_threads(j, t);
    if (!wait_for_all(j->world, n, timeout < grace_max_s ? timeout : grace_max_s)) {
        *left = 1;
        return leave_behind(j, t);
    }
    for (int r = 0; r < n; r++)
        pthread_join(t[r].thread, NULL);
    return failure_of(j->world, "");
}

static weft_status make_job(int n, const weft_comm_options *o, rank_fn *fn, void *ctx,
                            job **out)
{
    job *j;
    WF_TRY(WF_ALLOC(1, &j));
    *j = (job){.o = o, .fn = fn, .ctx = ctx};
    weft_status st = wf_loop_world_create(n, o, &j->world);
    if (st != WEFT_OK) {
        wf_free(j);
        return st;
    }
    *out = j;
    return WEFT_OK;
}

weft_status weft_loop_run(int n, const weft_comm_options *o, rank_fn *fn, void *ctx)
{
    job *j;
    rank_thread *t = NULL;
    int left = 0;

    WF_TRY(make_job(n, o, fn, ctx, &j));
    weft_status st = WF_ALLOC(n, &t);
    if (st == WEFT_OK) st = run_threads(j, t, &left);
    if (left) return st;
    for (int r = 0; t && r < n; r++)
        if (t[r].comm) wf_loop_comm_destroy(t[r].comm);
    wf_free(t);
    wf_loop_world_destroy(j->world);
    wf_free(j);
    return st;
}
