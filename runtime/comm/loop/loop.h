/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks as threads of one process. One lock guards who waits for what; the data moves
 * outside it. A rank that has to wait sleeps on its own bell, so that eight ranks on two
 * cores do not take the cores from each other.
 *
 * Nobody but its owner touches a rank's buffers without a pin on that rank: a rank that
 * fails withdraws what it has started and waits for its pins, and may then free.
 */
#ifndef WF_COMM_LOOP_H
#define WF_COMM_LOOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/comm_impl.h"

enum { LOOP_BUCKETS = 64 };

/* A message or a posted receive in the mailbox of its destination. */
typedef struct loop_link {
    struct loop_link *next;
    int ctx, src; /* ctx: number of the communicator */
    int64_t tag;
} loop_link;

typedef struct loop_list {
    loop_link *head, *tail;
} loop_list;

struct loop_coll;

typedef struct loop_op {
    wf_op base; /* first: the common layer allocates and frees through it */
    loop_link link;
    struct loop_msg *msg;   /* receive: the block message that came        */
    int64_t came_bytes;     /* receive: size of what came                  */
    int came_block;         /* receive: it was sent as a block             */
    struct loop_coll *coll; /* collective                                  */
    struct loop_op *next;   /* in loop_rank.flying                         */
} loop_op;

typedef struct loop_msg {
    loop_link link; /* first */
    int64_t bytes;
    const void *buf;
    void *block; /* handed over; NULL: a plain message, or withdrawn     */
    int is_block;
    loop_op *sender; /* not complete yet; NULL when it is, or was withdrawn  */
} loop_msg;

/* One collective of a group; started by each member in its own time. */
typedef struct loop_coll {
    int64_t seq;
    int n, arrived, left, ready;
    int64_t chunks; /* per part; units = parts * chunks */
    int64_t n_units, done_units;
    _Atomic int64_t next_unit;
    _Atomic int dead;
    struct loop_coll *next;
    loop_op *op[]; /* [n], NULL: not arrived */
} loop_coll;

typedef struct loop_group {
    int id, ctx, n, n_left;
    char axes[WF_AXES_TEXT];
    loop_coll *first, *last, *spare;
    struct loop_group *next;
    int64_t *started; /* [n] collectives each member has started */
    int *joined;      /* [n] */
    int ranks[];      /* [n] */
} loop_group;

typedef struct loop_rank {
    pthread_cond_t bell;
    _Atomic uint64_t rings;
    int pins;    /* threads that work on this rank's buffers */
    int leaving; /* it waits for its pins */
    loop_list posted[LOOP_BUCKETS], queued[LOOP_BUCKETS];
    loop_list delivered; /* block messages that a receive has, not yet adopted */
    loop_op *flying;     /* collectives this rank has started and not finished */
    loop_op *waits;      /* what it sleeps for, or NULL */
} loop_rank;

typedef struct loop_world {
    int n, spin;
    pthread_mutex_t lock;
    pthread_cond_t ended_bell; /* of the thread that joins */
    int n_ended;
    loop_group *groups;
    int next_group_id;
    _Atomic int failed; /* the words below are there */
    weft_status failed_status;
    int failed_rank;
    double failed_at_s;
    char words[WF_WORDS];
    char *dir;           /* of status files, NULL: none */
    wf_record **records; /* [n] */
    loop_rank *rank;     /* [n] */
} loop_world;

typedef struct loop_comm {
    weft_comm base;
    loop_world *world;
    pthread_t owner;
    int ctx;
    loop_group *sub; /* of weft_comm_first(); NULL: the world */
} loop_comm;

/* ---- world.c ---- */
weft_status wf_loop_world_create(int n, const weft_comm_options *o, loop_world **out);
void wf_loop_world_destroy(loop_world *w);
/* The comm of a rank, for the calling thread. is_self: name "self", owns its world. */
weft_status wf_loop_comm_create(loop_world *w, int rank, const weft_comm_options *o,
                                const wf_backend *back, loop_comm **out);
void wf_loop_comm_destroy(loop_comm *c);
void wf_loop_ring(loop_world *w, int rank);
void wf_loop_unpin(loop_world *w, int rank);
/* The failure that was announced, as this thread's message; WEFT_OK when there is none. */
weft_status wf_loop_failure(loop_world *w);

/* ---- backend.c ---- */
extern const wf_backend wf_loop_backend;
/* The same, but for one rank that owns its world. */
extern const wf_backend wf_self_backend;
void wf_loop_abort(weft_comm *c, weft_status st, const char *message, int kill);

/* ---- mailbox.c ---- */
weft_status wf_loop_send(loop_comm *c, loop_op *op);
weft_status wf_loop_recv(loop_comm *c, loop_op *op);
weft_status wf_loop_received(loop_comm *c, loop_op *op);
/* Lock held. */
void wf_loop_withdraw_mail(loop_world *w, int rank);
void wf_loop_free_mail(loop_world *w);

/* ---- coll.c: lock held, but for start and finished ---- */
weft_status wf_loop_coll_start(loop_comm *c, loop_op *op);
void wf_loop_coll_finished(loop_comm *c, loop_op *op);
/* Work on the collectives of this rank that are ready; the lock is let go meanwhile. */
void wf_loop_help(loop_world *w, int rank);
int wf_loop_missing(weft_comm *c, wf_op *op, int *ranks, int max);

/* ---- group.c ---- */
weft_status wf_loop_join(loop_world *w, int ctx, int me, int n, const int *ranks,
                         const char *axes, loop_group **out);
void wf_loop_leave(loop_world *w, loop_group *g);
void wf_loop_free_groups(loop_world *w);

/* ---- unit.c ---- */
/* Cut a collective into units; do one. */
void wf_loop_cut(loop_coll *k);
void wf_loop_unit(const loop_coll *k, int64_t unit);

#endif
