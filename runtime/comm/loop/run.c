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

typedef struct rank_thread {
    struct job *job;
    loop_comm *comm;
    pthread_t thread;
    int started, ended;
} rank_thread;

typedef struct job {
    loop_world *world;
    rank_fn *fn;
    void *ctx;
    rank_thread *t; /* [world->n] */
    int n_started;
    int left; /* the caller has gone: the last thread to end frees all this */
} job;

static void free_job(job *j)
{
    if (j->world)
        for (int r = 0; j->t && r < j->world->n; r++)
            if (j->t[r].comm) wf_loop_comm_destroy(j->t[r].comm);
    wf_free(j->t);
    if (j->world) wf_loop_world_destroy(j->world);
    wf_free(j);
}

static weft_status make_job(int n, const weft_comm_options *o, job *j)
{
    WF_TRY(wf_loop_world_create(n, o, &j->world));
    WF_TRY(WF_ALLOC(n, &j->t));
    for (int r = 0; r < n; r++) {
        j->t[r].job = j;
        WF_TRY(wf_loop_comm_create(j->world, r, o, &wf_loop_backend, &j->t[r].comm));
    }
    return WEFT_OK;
}

/* ---- a rank ------------------------------------------------------------------------ */

static void *run_rank(void *arg)
{
    rank_thread *t = arg;
    job *j = t->job;
    loop_world *w = j->world;

    t->comm->owner = pthread_self();
    weft_status st = j->fn(&t->comm->base, j->ctx);
    if (st == WEFT_OK) st = wf_fault_check(&t->comm->base.fault);
    if (st != WEFT_OK) {
        const char *words = weft_status_message();
        wf_loop_abort(&t->comm->base, st, *words ? words : weft_status_name(st), 0);
    }
    wf_board_ended(&t->comm->base.board);
    pthread_mutex_lock(&w->lock);
    t->ended = 1;
    w->n_ended++;
    int last = j->left && w->n_ended == j->n_started;
    pthread_cond_signal(&w->ended_bell);
    pthread_mutex_unlock(&w->lock);
    if (last) free_job(j);
    return NULL;
}

/* Those that cannot be started count as failed. */
static void start_threads(job *j)
{
    loop_world *w = j->world;
    for (int r = 0; r < w->n; r++) {
        rank_thread *t = &j->t[r];
        int err = pthread_create(&t->thread, NULL, run_rank, t);
        if (err) {
            char words[128];
            snprintf(words, sizeof words,
                     "no thread for rank %d of %d: %s (ulimit -v, ulimit -u)", r, w->n,
                     strerror(err));
            wf_loop_abort(&t->comm->base, WEFT_E_NOMEM, words, 0);
            return;
        }
        t->started = 1;
        j->n_started++;
    }
}

/* ---- the end: lock held ------------------------------------------------------------ */

/* Until all threads have ended, or the grace after a failure is over. */
static void wait_for_all(job *j, double grace_s)
{
    loop_world *w = j->world;
    while (w->n_ended < j->n_started) {
        if (!atomic_load(&w->failed)) {
            pthread_cond_wait(&w->ended_bell, &w->lock);
            continue;
        }
        double end = w->failed_at_s + grace_s;
        if (wf_now_s() >= end) return;
        struct timespec at = {.tv_sec = (time_t)end};
        at.tv_nsec = (long)((end - (double)at.tv_sec) * 1e9);
        pthread_cond_timedwait(&w->ended_bell, &w->lock, &at);
    }
}

/* Some thread goes on: what it can reach stays until it ends. */
static void leave_behind(job *j, char *more, size_t cap)
{
    j->left = 1;
    for (int r = 0; r < j->n_started; r++) {
        pthread_detach(j->t[r].thread);
        if (!j->t[r].ended && !*more)
            snprintf(more, cap, "; rank %d has not come back from computing", r);
    }
}

static weft_status run_job(job *j, double grace_s)
{
    loop_world *w = j->world;
    char more[64] = "";
    weft_status st = WEFT_OK;

    start_threads(j);
    pthread_mutex_lock(&w->lock);
    wait_for_all(j, grace_s);
    if (w->n_ended < j->n_started) leave_behind(j, more, sizeof more);
    if (atomic_load(&w->failed)) st = WF_FAIL(w->failed_status, "%s%s", w->words, more);
    int left = j->left;
    pthread_mutex_unlock(&w->lock);
    if (left) return st;
    for (int r = 0; r < j->n_started; r++)
        pthread_join(j->t[r].thread, NULL);
    free_job(j);
    return st;
}

weft_status weft_loop_run(int n, const weft_comm_options *o, rank_fn *fn, void *ctx)
{
    job *j;
    double timeout = wf_timeout_of(o);
    WF_TRY(WF_ALLOC(1, &j));
    j->fn = fn;
    j->ctx = ctx;
    weft_status st = make_job(n, o, j);
    if (st != WEFT_OK) {
        free_job(j);
        return st;
    }
    return run_job(j, timeout < grace_max_s ? timeout : grace_max_s);
}
