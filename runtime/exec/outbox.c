/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/outbox.h"

#include "base/alloc.h"
#include "base/error.h"

static weft_status set_aside(wf_outbox *o, void **spare)
{
    return weft_arena_take(o->arena, WEFT_COMM, o->bytes, spare);
}

weft_status wf_outbox_init(wf_outbox *o, weft_comm *comm, weft_arena *arena,
                           int64_t bytes, const weft_buffers *n)
{
    int64_t n_receives = weft_comm_posts_memory(comm) ? n->receives : 0;

    *o = (wf_outbox){.comm = comm, .arena = arena, .bytes = bytes};
    WF_TRY(WF_ALLOC(n->sends, &o->send));
    WF_TRY(WF_ALLOC(n_receives, &o->receive));
    for (; o->n_sends < n->sends; o->n_sends++)
        WF_TRY(set_aside(o, &o->send[o->n_sends].spare));
    for (; o->n_spare < n_receives; o->n_receives = ++o->n_spare)
        WF_TRY(set_aside(o, &o->receive[o->n_spare]));
    return WEFT_OK;
}

void wf_outbox_clear(wf_outbox *o)
{
    for (int64_t i = 0; i < o->n_sends; i++)
        weft_arena_give(o->arena, o->send[i].spare);
    for (int64_t i = 0; i < o->n_spare; i++)
        weft_arena_give(o->arena, o->receive[i]);
    wf_free(o->send);
    wf_free(o->receive);
    *o = (wf_outbox){0};
}

weft_status wf_outbox_put(wf_outbox *o, int64_t i, void *block, weft_event **ev)
{
    if (i < 0) i = o->turn++ % o->n_sends;
    wf_buffer *b = &o->send[i];

    WF_TRY(weft_wait(o->comm, &b->ev));
    weft_arena_give(o->arena, b->spare);
    b->spare = NULL;
    WF_TRY(weft_arena_adopt(o->arena, WEFT_COMM, block));
    *ev = &b->ev;
    return WEFT_OK;
}

weft_status wf_outbox_post(wf_outbox *o)
{
    if (!weft_comm_posts_memory(o->comm)) return WEFT_OK;
    if (!o->n_spare)
        return WF_FAIL(
            WEFT_E_INVALID,
            "%lld receives are posted, as many as the schedule says, and one "
            "more is needed",
            (long long)o->n_receives);
    weft_arena_give(o->arena, o->receive[--o->n_spare]);
    return WEFT_OK;
}

weft_status wf_outbox_came(wf_outbox *o)
{
    if (!weft_comm_posts_memory(o->comm)) return WEFT_OK;
    WF_TRY(set_aside(o, &o->receive[o->n_spare]));
    o->n_spare++;
    return WEFT_OK;
}

weft_status wf_outbox_drain(wf_outbox *o)
{
    for (int64_t i = 0; i < o->n_sends; i++) {
        WF_TRY(weft_wait(o->comm, &o->send[i].ev));
        if (!o->send[i].spare) WF_TRY(set_aside(o, &o->send[i].spare));
    }
    return WEFT_OK;
}
