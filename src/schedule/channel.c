/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/channel.h"

#include "base/alloc.h"
#include "base/error.h"

/* Channel pair from -> to; pairs of `from` begin at `mine`. A rank has few peers. */
static int pair(wf_channels *c, int mine, int from, int to)
{
    for (int i = mine; i < c->n; i += 2)
        if (c->ch[i].to == to) return i;
    for (int grad = 0; grad < 2; grad++)
        c->ch[c->n++] = (wf_channel){.from = from, .to = to};
    return c->n - 2;
}

static void connect(wf_channels *c, const weft_schedule *s, const wf_link *link,
                    int rank, int chunk, int mine)
{
    const wf_link *l = &link[rank * s->v + chunk];
    int to[2] = {l->down_rank, l->up_rank}, at[2] = {l->down_chunk, l->up_chunk};
    for (int grad = 0; grad < 2; grad++) {
        if (to[grad] < 0 || to[grad] == rank) continue;
        int id = pair(c, mine, rank, to[grad]) + grad;
        c->out[2 * (rank * s->v + chunk) + grad] = id;
        c->in[2 * (to[grad] * s->v + at[grad]) + grad] = id;
    }
}

weft_status wf_channels_make(const weft_schedule *s, const wf_link *link,
                             wf_channels *out)
{
    wf_channels c = {.n = 0};
    int parts = s->p * s->v;
    weft_status st = WF_ALLOC(4 * (int64_t)parts, &c.ch); /* at most 2 peers a part */
    if (st == WEFT_OK) st = WF_ALLOC(2 * (int64_t)parts, &c.out);
    if (st == WEFT_OK) st = WF_ALLOC(2 * (int64_t)parts, &c.in);
    if (st != WEFT_OK) {
        wf_channels_clear(&c);
        return st;
    }
    for (int i = 0; i < 2 * parts; i++)
        c.out[i] = c.in[i] = -1;
    for (int r = 0; r < s->p; r++)
        for (int chunk = 0, mine = c.n; chunk < s->v; chunk++)
            connect(&c, s, link, r, chunk, mine);
    for (int i = 0; i < c.n; i++) {
        c.ch[i].send_at = s->first[c.ch[i].from];
        c.ch[i].post_at = s->first[c.ch[i].to];
    }
    *out = c;
    return WEFT_OK;
}

void wf_channels_clear(wf_channels *c)
{
    wf_free(c->ch);
    wf_free(c->out);
    wf_free(c->in);
    *c = (wf_channels){.n = 0};
}
