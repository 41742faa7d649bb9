/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_EXEC_OUTBOX_H
#define WF_EXEC_OUTBOX_H
#include <weft/run/comm.h>
#include <weft/schedule.h>

/* Memory of messages on their way: as many buffers as the order of the ops can need
 * (weft_schedule_buffers()), set aside in the arena under COMM from the start, so that what a
 * rank holds there never depends on when its neighbours come. Nothing is copied: a result that
 * is sent is the buffer from then on, and the memory that was set aside for it is free for
 * the next result; a buffer whose message is gone is set aside anew. */
typedef struct wf_buffer {
    weft_event ev; /* of a send under way */
    void *spare;   /* set aside; NULL: a message has it, or had */
} wf_buffer;

typedef struct wf_outbox {
    weft_comm *comm;
    weft_arena *arena;
    int64_t bytes, n_sends, n_receives;
    wf_buffer *send; /* [n_sends]                                                 */
    void **receive; /* [n_receives] spares on top: where a receive is posted into memory
                        of its own                                                */
    int64_t n_spare; /* of receive                                                */
    int64_t turn;    /* of sends that take their buffers in turn                  */
} wf_outbox;

/* n: of this rank; those of receives count where comm posts memory. */
weft_status wf_outbox_init(wf_outbox *o, weft_comm *comm, weft_arena *arena,
                           int64_t bytes, const weft_buffers *n) WEFT_MUST_CHECK;
void wf_outbox_clear(wf_outbox *o);
/* `block` is in buffer i of the sends from now on; *ev for its send. Waits until the message
 * before is gone. i < 0: the buffer whose turn it is. */
weft_status wf_outbox_put(wf_outbox *o, int64_t i, void *block,
                          weft_event **ev) WEFT_MUST_CHECK;
/* Right before a receive is posted, and right after it was waited for. */
weft_status wf_outbox_post(wf_outbox *o) WEFT_MUST_CHECK;
weft_status wf_outbox_came(wf_outbox *o) WEFT_MUST_CHECK;
/* Wait for all sends and set their buffers aside anew. */
weft_status wf_outbox_drain(wf_outbox *o) WEFT_MUST_CHECK;
#endif
