/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the common layer of comm/ shares with its back ends.
 *
 * The common layer checks arguments, finishes trivial calls, tampers, counts, keeps the
 * events, the status board and the time limit. A back end starts an operation, moves it
 * on, and sleeps until it is done: a back end that only polls needs no `block`.
 */
#ifndef WF_COMM_IMPL_H
#define WF_COMM_IMPL_H

#include <stdatomic.h>
#include <weft/run/comm.h>

#include "comm/board.h"
#include "comm/count/count.h"
#include "comm/fault.h"
#include "comm/tamper/tamper.h"

typedef enum wf_kind {
    WF_NONE,
    WF_ALL_REDUCE,
    WF_BROADCAST,
    WF_ALL_GATHER,
    WF_REDUCE_SCATTER,
    WF_ALL_TO_ALL,
    WF_BARRIER,
    WF_SEND,
    WF_RECV
} wf_kind;

const char *wf_kind_name(wf_kind k); /* "all-reduce" ... */

/* One started operation. A back end's own operation struct begins with it. */
typedef struct wf_op {
    wf_kind kind;
    weft_purpose why;
    weft_group *group; /* of a collective                                      */
    int peer;          /* send, recv: comm rank; broadcast: group rank of root  */
    int64_t tag;
    const void *in; /* send and the collectives that do not work in place       */
    void *out;
    int64_t bytes;       /* one member's part: see wf_payload() for the whole     */
    int64_t count;       /* elements of a reduction (of one part: reduce-scatter) */
    weft_dtype dtype;    /* of a reduction                                        */
    weft_reduce reduce;  /* of a reduction                                        */
    weft_arena *arena;   /* block hand-over when not NULL                         */
    weft_tag charge;     /* what a received block is for                          */
    void *block;         /* the block handed over                                 */
    int64_t id;          /* weft_event.id; 0 while the slot is free               */
    double started_s;    /* monotonic                                             */
    double not_before_s; /* earliest completion (injected delay)                  */
    double done_s;       /* when the data was complete; set before `done`         */
    int lost;            /* an injected cut swallowed it: never completes         */
    _Atomic int done;
    struct wf_op *next_free;
} wf_op;

typedef struct wf_backend {
    const char *name;
    int is_process;   /* a rank is a process of its own (faults stop or end it) */
    int posts_memory; /* a posted receive of a block has memory of its own      */
    int64_t op_bytes; /* of the back end's operation struct                     */

    /* The operation is described and has an id. */
    weft_status (*start)(weft_comm *c, wf_op *op);
    /* Move on without waiting; op may be NULL. Sets op->done. Fails when a rank failed. */
    weft_status (*progress)(weft_comm *c, wf_op *op);
    /* Progress, and sleep until op->done (op->lost: never) or the time `until_s`. */
    weft_status (*block)(weft_comm *c, wf_op *op, double until_s);
    /* op->done was seen: take over blocks, check sizes. */
    weft_status (*finish)(weft_comm *c, wf_op *op);

    /* g->n > 1. Sets g->impl. */
    weft_status (*group_open)(weft_comm *c, weft_group *g);
    void (*group_close)(weft_group *g);
    /* Called on every rank: those from n on get NULL and take no part. */
    weft_status (*first)(weft_comm *world, int n, weft_comm **out);

    /* Members of op's group that have not started it, as comm ranks, at most `max`;
     * -1 when the back end cannot know. */
    int (*missing)(weft_comm *c, wf_op *op, int *ranks, int max);
    /* The failure another rank announced, or WEFT_OK. */
    weft_status (*poll)(weft_comm *c);
    void (*abort)(weft_comm *c, weft_status st, const char *message, int kill);
    /* This rank's pending operations end here: after return nobody touches its buffers. */
    void (*withdraw)(weft_comm *c);
    void (*destroy)(weft_comm *c);
} wf_backend;

enum { WF_WORDS = 768 };

struct weft_comm {
    const wf_backend *back;
    int rank, size;
    double timeout_s;
    void (*on_stuck)(const char *message);
    const char *program; /* before words that the comm prints itself; "" */

    wf_op **slots; /* every operation ever made; free ones are linked too */
    int64_t n_slots, cap_slots, serial;
    wf_op *free_ops;

    weft_status failed; /* the first failure of a wait; the comm is of no use then */
    char words[WF_WORDS];

    wf_board board;
    wf_count count;
    wf_tamper tamper;
    wf_fault fault;
};

struct weft_group {
    weft_comm *comm;
    int n, me;
    char axes[WF_AXES_TEXT];
    int count_set; /* index in comm->count */
    void *impl;    /* back end's */
    int ranks[];   /* [n] comm ranks */
};

/* ---- comm.c ---- */
double wf_now_s(void);
void wf_sleep_s(double seconds);
/* Fill the common part, but the board. */
weft_status wf_comm_init(weft_comm *c, const wf_backend *back, int rank, int size,
                         const weft_comm_options *o);
/* A comm over some ranks of `world`: shares its board, limit, fault and tampering. */
weft_status wf_comm_init_sub(weft_comm *c, const weft_comm *world, int rank, int size);
void wf_comm_clear(weft_comm *c);
double wf_timeout_of(const weft_comm_options *o);
/* Keep the failure st (whose words are the thread's message), withdraw, return st. */
weft_status wf_comm_break(weft_comm *c, weft_status st);
/* WEFT_OK, or the failure kept by wf_comm_break(). */
weft_status wf_comm_usable(weft_comm *c);

/* ---- group.c ---- */
/* The numbers 0 .. n-1, to free. */
weft_status wf_first_ranks(int n, int **out);

/* ---- op.c ---- */
weft_status wf_op_take(weft_comm *c, wf_op **out);
weft_status wf_op_find(weft_comm *c, const weft_event *ev, wf_op **out);
void wf_op_give(weft_comm *c, wf_op *op);
/* All bytes this rank passes in. */
int64_t wf_payload(const wf_op *op);
/* Mark complete now. */
void wf_op_done(wf_op *op);

/* ---- wait.c ---- */
/* Until op is complete (injected delays included) or the time limit. */
weft_status wf_wait_op(weft_comm *c, wf_op *op);

/* ---- explain.c ---- */
/* "act, tag 7" or "g_mlp over tp": what the operation is for. */
const char *wf_what(const wf_op *op, char *text, int cap);
/* The failure of a wait that began at since_s. */
weft_status wf_fail_timeout(weft_comm *c, wf_op *op, double since_s);
/* WEFT_OK, or the failure of a job one of whose processes is gone, where the status files
 * of this host tell. */
weft_status wf_check_lost(weft_comm *c);

#endif
