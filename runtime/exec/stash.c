/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/stash.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

weft_status wf_stash_init(wf_stash *s, weft_chunk *c, int n)
{
    *s = (wf_stash){.chunk = c, .n = n};
    WF_TRY(WF_ALLOC(n, &s->version));
    WF_TRY(WF_ALLOC(c->cfg.n_micro, &s->seen));
    s->version[0].w = c->w_all;
    return WEFT_OK;
}

/* What the chunk holds now stays its own. */
void wf_stash_clear(wf_stash *s)
{
    for (int i = 0; s->version && i < s->n; i++)
        if (s->version[i].w != s->chunk->w_all)
            weft_arena_give(s->chunk->sh.arena, s->version[i].w);
    wf_free(s->version);
    wf_free(s->seen);
    *s = (wf_stash){0};
}

void wf_stash_see(wf_stash *s, int64_t micro)
{
    s->seen[micro] = s->newest;
    s->version[s->newest].n_users++;
}

void wf_stash_recall(wf_stash *s, int64_t micro)
{
    weft_chunk_use_weights(s->chunk, s->version[s->seen[micro]].w);
}

static weft_status copy_newest(wf_stash *s)
{
    weft_chunk *c = s->chunk;
    int64_t bytes = c->n_elems * weft_dtype_bytes(c->sh.t);
    int to = 0;

    while (to < s->n && s->version[to].w)
        to++;
    if (to == s->n)
        return WF_FAIL(WEFT_E_INVALID,
                       "%d versions of the weights are in use, as many as the schedule "
                       "says, and one more is needed",
                       s->n);
    WF_TRY(weft_arena_take(c->sh.arena, WEFT_PARAM, bytes, &s->version[to].w));
    memcpy(s->version[to].w, s->version[s->newest].w, (size_t)bytes);
    s->newest = to;
    return WEFT_OK;
}

weft_status wf_stash_renew(wf_stash *s, int64_t micro)
{
    wf_version *old = &s->version[s->seen[micro]];

    if (--old->n_users == 0 && old != &s->version[s->newest]) {
        weft_arena_give(s->chunk->sh.arena, old->w);
        old->w = NULL;
    }
    if (s->version[s->newest].n_users) WF_TRY(copy_newest(s));
    weft_chunk_use_weights(s->chunk, s->version[s->newest].w);
    return WEFT_OK;
}
