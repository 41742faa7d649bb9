/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_CHANNEL_H
#define WF_SCHEDULE_CHANNEL_H
#include "schedule/ir.h"

/* One ordered stream of messages. Channels 2k and 2k+1 are the activations and the
 * gradients of one (source, destination) pair. */
typedef struct wf_channel {
    int from, to;
    int64_t sent, posted, matched; /* counts so far */
    int64_t send_at, post_at;      /* cursors into the ops of from and to */
} wf_channel;

typedef struct wf_channels {
    int n;
    wf_channel *ch;
    int32_t *out, *in; /* [2*p*v], index 2*(rank*v + chunk) + grad; -1: no message */
} wf_channels;

weft_status wf_channels_make(const weft_schedule *s, const wf_link *link,
                             wf_channels *out);
void wf_channels_clear(wf_channels *c);

/* Channel that takes the result of a compute op to another rank, or brings its input. */
static inline int wf_channel_out(const wf_channels *c, const weft_schedule *s, int rank,
                                 const weft_op *op)
{
    int grad = wf_is_backward(op->kind);
    if (op->kind != WEFT_OP_F && !grad) return -1;
    return c->out[2 * (rank * s->v + op->chunk) + grad];
}

static inline int wf_channel_in(const wf_channels *c, const weft_schedule *s, int rank,
                                const weft_op *op)
{
    int grad = wf_is_backward(op->kind);
    if (op->kind != WEFT_OP_F && !grad) return -1;
    return c->in[2 * (rank * s->v + op->chunk) + grad];
}
#endif
