/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks as MPI processes. After set-up only operations that do not block are called and
 * polled, so that every wait has an end; what must block (MPI_Init, making a group,
 * MPI_Finalize) is watched from another thread when the program asks for it.
 */
#ifndef WF_COMM_MPI_IMPL_H
#define WF_COMM_MPI_IMPL_H

#include <mpi.h>
#include <pthread.h>

#include "comm/comm_impl.h"
#include "comm/mpi/launch.h"

/* Tests lower these before weft_comm_mpi(): MPI's own limits are far away. */
typedef struct wf_mpi_limits {
    int64_t chunk_bytes; /* largest single MPI operation                    */
    int tag_ub;          /* largest MPI tag, when below what MPI says; or 0 */
} wf_mpi_limits;
extern wf_mpi_limits wf_mpi_limit;

/* Announces a message whose tag is too large for MPI's. */
typedef struct mpi_envelope {
    int64_t tag, bytes, seq; /* seq: of the sender's announced messages to this rank */
} mpi_envelope;

typedef struct mpi_op {
    wf_op base;
    MPI_Request *req;               /* [n_req], kept from use to use */
    int64_t n_req, cap_req, at_req; /* those before at_req are complete */
    mpi_envelope env;               /* send: in use until sent                  */
    int64_t came_bytes;             /* receive: announced or counted; -1: more  */
    int waits_envelope;             /* receive: nothing announced yet           */
    struct mpi_op *early;           /* receive: the payload is being received here */
    struct mpi_op *next;            /* in mpi_comm.waiting                      */
} mpi_op;

/* An announced message nobody asked for yet. */
typedef struct mpi_arrived {
    int src;
    mpi_envelope env;
    mpi_op *early; /* its payload had to be received early; else NULL */
    struct mpi_arrived *next;
} mpi_arrived;

enum { NOTICE_TAG = 0, MEET_TAG = 1 };

typedef struct mpi_notice {
    int status, rank;
    char words[WF_WORDS];
} mpi_notice;

/* What the comms of one process share. */
typedef struct mpi_world {
    MPI_Comm control; /* failure notices, meeting before a blocking call */
    int rank, size;
    MPI_Request incoming, *outgoing; /* outgoing: [n_outgoing] */
    int n_outgoing;
    mpi_notice in, out;
    _Atomic int failed; /* 1: `first` is there */
    _Atomic int told;   /* the others know */
    mpi_notice first;   /* the first failure this rank knows of */
    char *status_dir;
    int temporary; /* it was made for this job */
} mpi_world;

typedef struct mpi_comm {
    weft_comm base;
    mpi_world *world;
    int is_sub, sync;
    pthread_t owner;
    MPI_Comm comm; /* point to point of this communicator only */
    unsigned polls;
    int outside; /* the first ranks work without this one: it waits without a limit, until
                    they come or one of them announces a failure */

    int n_direct;        /* tags below are MPI tags                        */
    int n_payload;       /* MPI tags for announced payloads                */
    int64_t *next_seq;   /* [size] of announced messages sent to each rank */
    mpi_envelope heard;  /* the next announcement lands here               */
    MPI_Request hearing; /* MPI_REQUEST_NULL until the first is expected  */
    mpi_arrived *arrived, **arrived_end;
    mpi_op *waiting, **waiting_end;
} mpi_comm;

/* ---- error.c ---- */
/* A failed MPI call as a status and words. */
weft_status wf_mpi_fail(int rc, const char *call);
#define WF_MPI(call)                                                                   \
    do {                                                                               \
        int rc_ = (call);                                                              \
        if (rc_ != MPI_SUCCESS) return wf_mpi_fail(rc_, #call);                        \
    } while (0)

/* ---- request.c ---- */
weft_status wf_mpi_new_request(mpi_op *op, MPI_Request **out);
void wf_mpi_clear_requests(mpi_op *op);
/* Marks op done when all its requests are; counts what a receive got. */
weft_status wf_mpi_test_requests(mpi_op *op);
weft_status wf_mpi_post_send(mpi_op *op, MPI_Comm comm, int tag, int sync);
weft_status wf_mpi_post_recv(mpi_op *op, MPI_Comm comm, int tag);

/* ---- p2p.c ---- */
weft_status wf_mpi_send(mpi_comm *c, mpi_op *op);
weft_status wf_mpi_recv(mpi_comm *c, mpi_op *op);
weft_status wf_mpi_received(mpi_comm *c, mpi_op *op);

/* ---- envelope.c: tags beyond MPI's ---- */
weft_status wf_mpi_send_announced(mpi_comm *c, mpi_op *op);
weft_status wf_mpi_recv_announced(mpi_comm *c, mpi_op *op);
/* Take in announcements; start the payloads that were waited for. */
weft_status wf_mpi_hear(mpi_comm *c);
weft_status wf_mpi_progress_early(mpi_comm *c, mpi_op *op);
void wf_mpi_free_arrived(mpi_comm *c);

/* ---- coll.c ---- */
weft_status wf_mpi_coll_start(mpi_comm *c, mpi_op *op);

/* ---- meet.c ---- */
/* Until all listed ranks are here, each wait bounded: before a call of MPI that blocks. */
weft_status wf_mpi_meet(mpi_comm *c, int n, const int *ranks, int me);
weft_status wf_mpi_group_open(weft_comm *comm, weft_group *g);
void wf_mpi_group_close(weft_group *g);
weft_status wf_mpi_make_comm(mpi_comm *c, int n, const int *ranks, const char *what,
                             MPI_Comm *out);

/* ---- notice.c ---- */
weft_status wf_mpi_listen(mpi_world *w);
/* WEFT_OK, or the first failure that this rank was told of. */
weft_status wf_mpi_notices(mpi_comm *c);
void wf_mpi_abort(weft_comm *comm, weft_status st, const char *message, int kill);
void wf_mpi_stop_listening(mpi_world *w);

/* ---- first.c; dir may be NULL ---- */
/* Of an earlier run. */
void wf_mpi_forget_failure(const char *dir);
/* 1 when no other rank that shares `dir` has spoken. */
int wf_mpi_speaks_first(const char *dir, const char *words);

/* ---- place.c ---- */
/* Collective: w->status_dir for ranks that share a host and were given none. */
weft_status wf_mpi_make_place(mpi_world *w);

/* ---- guard.c ---- */
/* End the launcher, this process's parent, if it is still there in some seconds. */
void wf_mpi_guard_launcher(void);

/* ---- leave.c ---- */
/* 1 when the job was left in order without MPI_Finalize; 0: call it. All ranks have met. */
int wf_mpi_leave(mpi_world *w);

/* ---- watch.c ---- */
typedef struct wf_watch wf_watch;
typedef struct wf_watch_rule {
    void (*on_stuck)(const char *message); /* NULL: nothing is watched */
    double limit_s;
    int rank;
    const char *status_dir; /* ranks that share it: one gets words, the others "" */
    const char *program;    /* before the words */
} wf_watch_rule;
/* The rule of a comm. */
wf_watch_rule wf_watch_rule_of(const mpi_comm *c);
/* Calls on_stuck after the limit, unless stopped before. */
wf_watch *wf_watch_start(const wf_watch_rule *rule, const char *what);
void wf_watch_stop(wf_watch *w);

/* ---- world.c ---- */
extern const wf_backend wf_mpi_backend;
weft_status wf_mpi_fill_comm(mpi_comm *c, mpi_world *w, MPI_Comm comm);
weft_status wf_mpi_first(weft_comm *world, int n, weft_comm **out);
void wf_mpi_destroy(weft_comm *comm);

#endif
