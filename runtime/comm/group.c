/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm_impl.h"

static weft_status check_ranks(const weft_comm *c, int n, const int *ranks, int *me)
{
    *me = -1;
    if (n < 1)
        return WF_FAIL(WEFT_E_INVALID, "a group needs at least 1 rank, not %d", n);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= c->size)
            return WF_FAIL(WEFT_E_INVALID, "a group names rank %d, ranks are 0 to %d",
                           ranks[i], c->size - 1);
        for (int j = 0; j < i; j++)
            if (ranks[j] == ranks[i])
                return WF_FAIL(WEFT_E_INVALID, "a group names rank %d twice", ranks[i]);
        if (ranks[i] == c->rank) *me = i;
    }
    if (*me < 0)
        return WF_FAIL(WEFT_E_INVALID, "rank %d makes a group that it is not in",
                       c->rank);
    return WEFT_OK;
}

static weft_status open_group(weft_comm *c, weft_group *g)
{
    WF_TRY(wf_count_set_of(&c->count, g->axes, &g->count_set));
    return g->n > 1 ? c->back->group_open(c, g) : WEFT_OK;
}

weft_status weft_group_create(weft_comm *c, int n, const int *ranks, const char *axes,
                              weft_group **out)
{
    int me;
    WF_TRY(wf_comm_usable(c));
    WF_TRY(check_ranks(c, n, ranks, &me));
    if (!axes || !*axes || strlen(axes) >= WF_AXES_TEXT)
        return WF_FAIL(WEFT_E_INVALID, "the axis text \"%s\" needs 1 to %d characters",
                       axes ? axes : "", WF_AXES_TEXT - 1);

    weft_group *g;
    WF_TRY(wf_alloc(1, (int64_t)(sizeof *g + (size_t)n * sizeof *ranks), (void **)&g));
    g->comm = c;
    g->n = n;
    g->me = me;
    strcpy(g->axes, axes);
    memcpy(g->ranks, ranks, (size_t)n * sizeof *ranks);
    weft_status st = open_group(c, g);
    if (st != WEFT_OK) {
        wf_free(g);
        return st;
    }
    *out = g;
    return WEFT_OK;
}

weft_status wf_first_ranks(int n, int **out)
{
    int *ranks;
    WF_TRY(WF_ALLOC(n, &ranks));
    for (int r = 0; r < n; r++)
        ranks[r] = r;
    *out = ranks;
    return WEFT_OK;
}

weft_status weft_group_world(weft_comm *c, weft_group **out)
{
    int *ranks;
    if (c->size == 1) {
        *out = NULL;
        return WEFT_OK;
    }
    WF_TRY(wf_first_ranks(c->size, &ranks));
    weft_status st = weft_group_create(c, c->size, ranks, "world", out);
    wf_free(ranks);
    return st;
}

void weft_group_destroy(weft_group *g)
{
    if (!g) return;
    if (g->n > 1) g->comm->back->group_close(g);
    wf_free(g);
}

int weft_group_size(const weft_group *g)
{
    return g ? g->n : 1;
}

int weft_group_rank(const weft_group *g)
{
    return g ? g->me : 0;
}

const char *weft_group_axes(const weft_group *g)
{
    return g ? g->axes : "";
}
