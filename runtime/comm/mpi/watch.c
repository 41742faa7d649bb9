/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "comm/mpi/mpi_impl.h"

struct wf_watch {
    void (*on_stuck)(const char *message);
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t bell;
    int stopped;
    double end_s;
    char words[160];
};

static void *watch(void *arg)
{
    wf_watch *w = arg;
    struct timespec t = {.tv_sec = (time_t)w->end_s};
    t.tv_nsec = (long)((w->end_s - (double)t.tv_sec) * 1e9);

    pthread_mutex_lock(&w->lock);
    while (!w->stopped && wf_now_s() < w->end_s)
        pthread_cond_timedwait(&w->bell, &w->lock, &t);
    int stuck = !w->stopped;
    pthread_mutex_unlock(&w->lock);
    if (stuck) w->on_stuck(w->words);
    return NULL;
}

static void init_bell(pthread_cond_t *bell)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(bell, &attr);
    pthread_condattr_destroy(&attr);
}

wf_watch *wf_watch_start(void (*on_stuck)(const char *), double limit_s, int rank,
                         const char *what)
{
    wf_watch *w;
    if (!on_stuck || WF_ALLOC(1, &w) != WEFT_OK) return NULL;
    w->on_stuck = on_stuck;
    w->end_s = wf_now_s() + limit_s;
    snprintf(w->words, sizeof w->words,
             "rank %d: %s has taken %.1f s: some rank does not take part", rank, what,
             limit_s);
    pthread_mutex_init(&w->lock, NULL);
    init_bell(&w->bell);
    if (pthread_create(&w->thread, NULL, watch, w)) {
        wf_free(w);
        return NULL;
    }
    return w;
}

void wf_watch_stop(wf_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->stopped = 1;
    pthread_cond_signal(&w->bell);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->bell);
    pthread_mutex_destroy(&w->lock);
    wf_free(w);
}
