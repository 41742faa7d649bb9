/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_EXEC_IMPL_H
#define WF_EXEC_IMPL_H
#include <weft/run/exec.h>

#include "base/error.h"
#include "exec/outbox.h"
#include "exec/stash.h"

/* A value on its way into an op of this rank, or out of one until its SEND. */
typedef struct wf_inbox {
    weft_event ev; /* posted receive */
    void *block;   /* arrived, or left by a neighbour chunk on the same rank */
} wf_inbox;

struct weft_exec {
    weft_exec_config cfg;
    weft_schedule low;     /* lowered */
    weft_schedule forward; /* forwards alone, lowered */
    int stages;
    int asynchronous;          /* weights change after each backward */
    wf_inbox *in;              /* [v][m][2]: activation, gradient */
    wf_outbox out;             /* messages under way */
    int32_t *buffer;           /* [ops of low] of `out`, at each SEND */
    wf_stash *stash;           /* [v] of an asynchronous schedule, else NULL */
    int64_t *n_backwards;      /* [v] B and W ops of a chunk in a step */
    int64_t *backwards;        /* [v] of them done */
    int32_t *tokens, *targets; /* [T] of the op at hand */
};

/* What one walk over the ops shares. */
typedef struct wf_walk {
    weft_exec *e;
    const weft_exec_step *s;
    weft_exec_result *r;
    void **logits;
    int train;
} wf_walk;

/* message.c: the ops that lowering added */
weft_status wf_post_recv(wf_walk *w, const weft_op *op) WEFT_MUST_CHECK;
weft_status wf_wait_recv(wf_walk *w, const weft_op *op) WEFT_MUST_CHECK;
/* buffer: of e->out, or -1: in turn */
weft_status wf_send_result(wf_walk *w, const weft_op *op,
                           int64_t buffer) WEFT_MUST_CHECK;
int64_t wf_message_bytes(const weft_exec *e);
/* The input of an op (grad: of a backward), which becomes the caller's. */
void *wf_take_input(wf_walk *w, const weft_op *op, int grad);
/* The result of an op: to another rank by SEND (later in the list), or into the inbox of a
 * neighbour chunk on this rank. */
void wf_leave(wf_walk *w, const weft_op *op, void *block, int grad);

/* compute.c: F B I W */
weft_status wf_run_compute(wf_walk *w, const weft_op *op) WEFT_MUST_CHECK;
#endif
