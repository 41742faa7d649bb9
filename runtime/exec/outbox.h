/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_EXEC_OUTBOX_H
#define WF_EXEC_OUTBOX_H
#include <weft/run/comm.h>

/* Sends under way, at most WF_OUTSTANDING to a peer: the number that the check of a
 * schedule assumes, so a schedule that passes it cannot block here. */
enum { WF_OUTSTANDING = 2 };

typedef struct wf_outbox {
    weft_comm *comm;
    int n_peers;
    weft_event *ev; /* [n_peers][WF_OUTSTANDING], oldest first */
} wf_outbox;

weft_status wf_outbox_init(wf_outbox *o, weft_comm *comm, int n_peers) WEFT_MUST_CHECK;
void wf_outbox_clear(wf_outbox *o);
/* A free event for the next send to a peer; waits for the oldest when there is none. */
weft_status wf_outbox_slot(wf_outbox *o, int peer, weft_event **ev) WEFT_MUST_CHECK;
/* Wait for all. */
weft_status wf_outbox_drain(wf_outbox *o) WEFT_MUST_CHECK;
#endif
