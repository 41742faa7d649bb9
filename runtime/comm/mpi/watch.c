/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "comm/mpi/mpi_impl.h"

/* Many ranks may be stuck in one call: they let rank 0, and then rank 1, end the job before
 * they say the same. A launcher may take a second for that. */
static const double next_rank_s = 1.5;
enum { MOST_TURNS = 2 };

struct wf_watch {
    wf_watch_rule rule;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t bell;
    int stopped;
    double end_s;
    char words[240];
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
    if (stuck)
        w->rule.on_stuck(wf_mpi_speaks_first(w->rule.status_dir, w->words) ? w->words
                                                                           : "");
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

wf_watch_rule wf_watch_rule_of(const mpi_comm *c)
{
    return (wf_watch_rule){c->base.on_stuck, c->base.timeout_s, c->world->rank,
                           c->world->status_dir, c->base.program};
}

wf_watch *wf_watch_start(const wf_watch_rule *rule, const char *what)
{
    wf_watch *w;
    if (!rule->on_stuck || WF_ALLOC(1, &w) != WEFT_OK) return NULL;
    w->rule = *rule;
    int turn = rule->rank < MOST_TURNS ? rule->rank : MOST_TURNS;
    w->end_s = wf_now_s() + rule->limit_s + turn * next_rank_s;
    const char *program = rule->program ? rule->program : "";
    snprintf(w->words, sizeof w->words,
             "%s%srank %d: %s has taken %.1f s: some rank does not take part", program,
             *program ? ": " : "", rule->rank, what, rule->limit_s);
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
