/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/outbox.h"

#include "base/alloc.h"
#include "base/error.h"

weft_status wf_outbox_init(wf_outbox *o, weft_comm *comm, int n_peers)
{
    *o = (wf_outbox){.comm = comm, .n_peers = n_peers};
    return WF_ALLOC((int64_t)n_peers * WF_OUTSTANDING, &o->ev);
}

void wf_outbox_clear(wf_outbox *o)
{
    wf_free(o->ev);
    *o = (wf_outbox){0};
}

weft_status wf_outbox_slot(wf_outbox *o, int peer, weft_event **ev)
{
    weft_event *mine = &o->ev[peer * WF_OUTSTANDING];

    if (mine[WF_OUTSTANDING - 1].kind) WF_TRY(weft_wait(o->comm, &mine[0]));
    if (!mine[0].kind)
        for (int i = 0; i + 1 < WF_OUTSTANDING; i++) {
            mine[i] = mine[i + 1];
            mine[i + 1] = (weft_event){0};
        }
    for (int i = 0; i < WF_OUTSTANDING; i++)
        if (!mine[i].kind) {
            *ev = &mine[i];
            return WEFT_OK;
        }
    return WF_FAIL(WEFT_E_INVALID, "no free send slot for peer %d", peer);
}

weft_status wf_outbox_drain(wf_outbox *o)
{
    for (int i = 0; i < o->n_peers * WF_OUTSTANDING; i++)
        WF_TRY(weft_wait(o->comm, &o->ev[i]));
    return WEFT_OK;
}
