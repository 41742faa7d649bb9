/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* _SC_NPROCESSORS_ONLN */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/loop/loop.h"

static weft_status copy_text(const char *text, char **out)
{
    int64_t n = (int64_t)strlen(text) + 1;
    WF_TRY(WF_ALLOC(n, out));
    memcpy(*out, text, (size_t)n);
    return WEFT_OK;
}

static void init_bell(pthread_cond_t *bell)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(bell, &attr);
    pthread_condattr_destroy(&attr);
}

static weft_status fill_world(loop_world *w, const weft_comm_options *o)
{
    if (o && o->status_dir) WF_TRY(copy_text(o->status_dir, &w->dir));
    WF_TRY(WF_ALLOC(w->n, &w->records));
    WF_TRY(WF_ALLOC(w->n, &w->rank));
    for (int r = 0; r < w->n; r++)
        init_bell(&w->rank[r].bell);
    for (int r = 0; r < w->n; r++)
        WF_TRY(wf_record_open(w->dir, r, &w->records[r]));
    return WEFT_OK;
}

weft_status wf_loop_world_create(int n, const weft_comm_options *o, loop_world **out)
{
    loop_world *w;
    if (n < 1) return WF_FAIL(WEFT_E_INVALID, "%d ranks: at least 1 is needed", n);
    WF_TRY(WF_ALLOC(1, &w));
    w->n = n;
    /* Looking again for a moment before sleeping pays only with a core to spare. */
    w->spin = !(o && o->yield) && n <= sysconf(_SC_NPROCESSORS_ONLN);
    pthread_mutex_init(&w->lock, NULL);
    init_bell(&w->ended_bell);
    weft_status st = fill_world(w, o);
    if (st != WEFT_OK) {
        wf_loop_world_destroy(w);
        return st;
    }
    *out = w;
    return WEFT_OK;
}

void wf_loop_world_destroy(loop_world *w)
{
    int failed = atomic_load(&w->failed);
    for (int r = 0; w->records && r < w->n; r++)
        wf_record_close(w->records[r], w->dir, failed);
    if (w->rank) {
        wf_loop_free_mail(w);
        for (int r = 0; r < w->n; r++)
            pthread_cond_destroy(&w->rank[r].bell);
    }
    wf_loop_free_groups(w);
    pthread_cond_destroy(&w->ended_bell);
    pthread_mutex_destroy(&w->lock);
    wf_free(w->records);
    wf_free(w->rank);
    wf_free(w->dir);
    wf_free(w);
}

weft_status wf_loop_comm_create(loop_world *w, int rank, const weft_comm_options *o,
                                const wf_backend *back, loop_comm **out)
{
    loop_comm *c;
    WF_TRY(WF_ALLOC(1, &c));
    weft_status st = wf_comm_init(&c->base, back, rank, w->n, o);
    if (st != WEFT_OK) {
        wf_loop_comm_destroy(c);
        return st;
    }
    c->world = w;
    c->owner = pthread_self();
    wf_board_share(&c->base.board, w->records, rank);
    *out = c;
    return WEFT_OK;
}

void wf_loop_comm_destroy(loop_comm *c)
{
    if (c->sub) wf_loop_leave(c->world, c->sub);
    wf_comm_clear(&c->base);
    wf_free(c);
}

void wf_loop_ring(loop_world *w, int rank)
{
    atomic_fetch_add_explicit(&w->rank[rank].rings, 1, memory_order_release);
    pthread_cond_signal(&w->rank[rank].bell);
}

void wf_loop_unpin(loop_world *w, int rank)
{
    if (--w->rank[rank].pins == 0 && w->rank[rank].leaving) wf_loop_ring(w, rank);
}

weft_status wf_loop_failure(loop_world *w)
{
    if (!atomic_load_explicit(&w->failed, memory_order_acquire)) return WEFT_OK;
    return WF_FAIL(WEFT_E_PEER, "%s", w->words); /* written once, before `failed` */
}
