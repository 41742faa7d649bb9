/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that several threads make at their own time: the k-th one with the same members
 * and axes that a rank makes is the k-th one the others make. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/loop/loop.h"

static void free_colls(loop_coll *k)
{
    for (loop_coll *next; k; k = next) {
        next = k->next;
        wf_free(k);
    }
}

static void free_group(loop_group *g)
{
    if (!g) return;
    free_colls(g->first);
    free_colls(g->spare);
    wf_free(g->started);
    wf_free(g->joined);
    wf_free(g);
}

static weft_status make_group(int ctx, int n, const int *ranks, const char *axes,
                              loop_group **out)
{
    loop_group *g;
    int64_t bytes = (int64_t)(sizeof *g + (size_t)n * sizeof *ranks);
    weft_status st = wf_alloc(1, bytes, (void **)&g);
    if (st != WEFT_OK) return st;
    st = WF_ALLOC(n, &g->started);
    if (st == WEFT_OK) st = WF_ALLOC(n, &g->joined);
    if (st != WEFT_OK) {
        free_group(g);
        return st;
    }
    g->ctx = ctx;
    g->n = n;
    snprintf(g->axes, sizeof g->axes, "%s", axes);
    memcpy(g->ranks, ranks, (size_t)n * sizeof *ranks);
    *out = g;
    return WEFT_OK;
}

static int is_same(const loop_group *g, int ctx, int n, const int *ranks,
                   const char *axes)
{
    return g->ctx == ctx && g->n == n && !strcmp(g->axes, axes) &&
           !memcmp(g->ranks, ranks, (size_t)n * sizeof *ranks);
}

weft_status wf_loop_join(loop_world *w, int ctx, int me, int n, const int *ranks,
                         const char *axes, loop_group **out)
{
    loop_group **at, *g;
    weft_status st = WEFT_OK;

    pthread_mutex_lock(&w->lock);
    for (at = &w->groups; (g = *at); at = &g->next)
        if (is_same(g, ctx, n, ranks, axes) && !g->joined[me]) break;
    if (!g) {
        st = make_group(ctx, n, ranks, axes, &g);
        if (st == WEFT_OK) {
            g->id = ++w->next_group_id;
            *at = g;
        }
    }
    if (st == WEFT_OK) {
        g->joined[me] = 1;
        *out = g;
    }
    pthread_mutex_unlock(&w->lock);
    return st;
}

void wf_loop_leave(loop_world *w, loop_group *g)
{
    pthread_mutex_lock(&w->lock);
    if (++g->n_left == g->n) {
        loop_group **at = &w->groups;
        while (*at != g)
            at = &(*at)->next;
        *at = g->next;
        free_group(g);
    }
    pthread_mutex_unlock(&w->lock);
}

void wf_loop_free_groups(loop_world *w)
{
    for (loop_group *g = w->groups, *next; g; g = next) {
        next = g->next;
        free_group(g);
    }
    w->groups = NULL;
}
