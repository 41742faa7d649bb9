/* SPDX-License-Identifier: Apache-2.0 */
/* One rank alone: a loop of one. What it sends to itself goes through the same mailbox, and
 * no thread is started. */
#include "base/error.h"
#include "comm/loop/loop.h"

weft_status weft_comm_self(const weft_comm_options *o, weft_comm **out)
{
    loop_world *w;
    loop_comm *c;
    WF_TRY(wf_loop_world_create(1, o, &w));
    weft_status st = wf_loop_comm_create(w, 0, o, &wf_self_backend, &c);
    if (st != WEFT_OK) {
        wf_loop_world_destroy(w);
        return st;
    }
    *out = &c->base;
    return WEFT_OK;
}
