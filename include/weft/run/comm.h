/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/comm.h
 * One interface over `self` (one rank), `loop` (ranks as threads of one process), `mpi`,
 * and wrappers (`count`: exact calls and bytes; `tamper`: drop, double or delay calls in
 * tests). Every operation starts and returns an event; weft_wait() finishes it. Every wait
 * is bounded by the timeout and ends early when another rank fails.
 *
 * A weft_comm belongs to one rank and is used by that rank's thread only, except
 * weft_comm_abort(), which any thread may call.
 */
#ifndef WEFT_RUN_COMM_H
#define WEFT_RUN_COMM_H

#include <weft/run/tensor.h>

WEFT_BEGIN

typedef struct weft_comm weft_comm;
typedef struct weft_group weft_group; /**< an ordered set of ranks of one comm */

/** What a message is for; counted, traced and tampered with by this name. */
typedef enum weft_purpose {
    WEFT_FOR_F_ATTN, /**< backward all-reduce of f before attention      */
    WEFT_FOR_G_ATTN, /**< forward all-reduce of g after attention        */
    WEFT_FOR_F_MLP,
    WEFT_FOR_G_MLP,
    WEFT_FOR_EMBED, /**< forward sum of the vocab-parallel embedding    */
    WEFT_FOR_HEAD,  /**< backward sum at the input of the output layer  */
    WEFT_FOR_CE_MAX,
    WEFT_FOR_CE_SUM,  /**< cross-entropy: max; sum and target */
    WEFT_FOR_TIED,    /**< gradient sum of tied embeddings across stages  */
    WEFT_FOR_DP_GRAD, /**< gradient sum over data-parallel replicas       */
    WEFT_FOR_NORM,    /**< gradient norm                                  */
    WEFT_FOR_LOSS,    /**< loss value to every rank                       */
    WEFT_FOR_ACT,
    WEFT_FOR_ACT_GRAD, /**< pipeline p2p                   */
    WEFT_FOR_CONTROL,  /**< set-up, barriers, sampling                     */
    WEFT_N_PURPOSES
} weft_purpose;
WEFT_API const char *weft_purpose_name(
    weft_purpose p); /**< "f_attn" "g_attn" ... "dp_grad" */

typedef enum weft_reduce { WEFT_SUM, WEFT_MAX } weft_reduce;

/** Started operation. By value; zero it to mean "none" (waiting on none is a no-op). */
typedef struct weft_event {
    int kind; /**< 0 = none or finished                    */
    int purpose;
    int64_t id;       /**< back end's handle                       */
    void *block;      /**< weft_recv_block(): the block, after wait */
    double started_s; /**< monotonic                               */
    double done_s;    /**< monotonic, when known complete          */
} weft_event;

/* ---- creation ---------------------------------------------------------------- */

typedef struct weft_comm_options {
    double timeout_s; /**< longest any wait may take; 0 = 300            */
    /** mpi: mapped per-rank status files. NULL: where all ranks share a host, a new folder in
     *  $TMPDIR (or /tmp), which the ranks take away when they end in order; else none. */
    const char *status_dir;
    int yield;           /**< loop: 1 = more ranks than cores, sleep at once       */
    const char *program; /**< "weft train": stands before words that the comm prints or
                              hands to on_stuck; kept. NULL: nothing           */
    /** Called from another thread when a call that cannot be polled (MPI_Init, making a
     *  group, MPI_Finalize) passes timeout_s; it should print and end the process with a
     *  status other than 0. Ranks that share a status_dir: one gets the words, the others ""
     *  (they should let it speak first). NULL: such calls are not watched. */
    void (*on_stuck)(const char *message);
} weft_comm_options;

/** One rank alone. */
WEFT_API WEFT_MUST_CHECK weft_status weft_comm_self(const weft_comm_options *o,
                                                    weft_comm **out);

/** n ranks as threads: run fn(comm, ctx) on each; returns the first failure (its message is
 *  this thread's message), after every thread has ended. A failing rank aborts the others.
 *  A rank that does not come back within 10 s (or timeout_s, if less) of the failure is
 *  named and left behind: end the process soon, fn and ctx must stay valid until then. */
WEFT_API WEFT_MUST_CHECK weft_status weft_loop_run(int n, const weft_comm_options *o,
                                                   weft_status (*fn)(weft_comm *comm,
                                                                     void *ctx),
                                                   void *ctx);

/** Is this process started by an MPI launcher (Open MPI, MPICH hydra, srun)?  From the
 *  environment only. *size: what the launcher says, 0 when unknown. */
WEFT_API int weft_mpi_launched(int *size);
/** MPI_Init_thread and the world communicator; once per process. Fails with one clear message
 *  when the launcher announced another number of ranks than MPI_COMM_WORLD has (mismatched
 *  launcher), or when the build has no MPI: the launcher's rank 0 gets the message, the
 *  others the same status with an empty one. Destroy finalises, unless the run has failed. */
WEFT_API WEFT_MUST_CHECK weft_status weft_comm_mpi(const weft_comm_options *o,
                                                   weft_comm **out);
WEFT_API const char *weft_mpi_version(void); /**< "" without MPI */

/** A comm over the first n ranks of `world` (others get *out = NULL); collective over the n.
 *  Called on every rank. `world` outlives it. One of the others, in its next call that needs
 *  all ranks, waits for the n without a limit (until they come, or one of them aborts). */
WEFT_API WEFT_MUST_CHECK weft_status weft_comm_first(weft_comm *world, int n,
                                                     weft_comm **out);

WEFT_API void weft_comm_destroy(weft_comm *c);
WEFT_API int weft_comm_rank(const weft_comm *c);
WEFT_API int weft_comm_size(const weft_comm *c);
WEFT_API const char *weft_comm_name(const weft_comm *c); /**< "self" "loop" "mpi" */
/** Where the status files of the ranks are; "" when there are none. */
WEFT_API const char *weft_comm_status_dir(const weft_comm *c);
WEFT_API void weft_comm_set_timeout(weft_comm *c, double seconds);

/** Tell every rank that this one failed; their waits return WEFT_E_PEER with `message`.
 *  loop: sets the shared word. mpi: sends it; if `kill` is set (cmd's right alone) prints the
 *  first failure that this rank knows of, once for the ranks that share a status folder,
 *  with the place of that folder, which stays; and ends the job by MPI_Abort, and by force
 *  if the launcher still runs 5 s later; does not return then. "rank N: " is put before a message
 *  that names no rank. After return (from the rank's own thread) nobody touches buffers of
 *  operations this rank has started, except what MPI has already begun to send. */
WEFT_API void weft_comm_abort(weft_comm *c, weft_status st, const char *message,
                              int kill);
/** WEFT_OK, or the failure another rank announced, or WEFT_E_CANCELLED after
 *  weft_comm_ask_stop(). Waits do not end by the latter: ranks must agree on where to stop. */
WEFT_API WEFT_MUST_CHECK weft_status weft_comm_poll(weft_comm *c);
/** For a signal handler (async-signal-safe): weft_comm_poll() of every comm of this process
 *  returns WEFT_E_CANCELLED from now on. */
WEFT_API void weft_comm_ask_stop(void);

/* ---- status board: where each rank is, for fault messages ------------------------ */

/** What this rank does now: step, op text ("F3.0"). Cheap; kept in a mapped file. */
WEFT_API void weft_comm_note(weft_comm *c, int64_t step, const char *op);
/** What the file of one rank in a status_dir says, as a line, also after that rank was
 *  killed: "rank 2 (pid 99 on n1) is at step 3, op F2.0, computing for 5.1 s, ...". */
WEFT_API WEFT_MUST_CHECK weft_status weft_board_read(const char *status_dir, int rank,
                                                     char *text, int cap);

/* ---- groups ------------------------------------------------------------------------ */

/** Collective over the listed ranks only, in the same order on each; this rank must be in
 *  the list. axes: text of the axis set, e.g. "tp" or "tp,pp" (for counts and messages). */
WEFT_API WEFT_MUST_CHECK weft_status weft_group_create(weft_comm *c, int n,
                                                       const int *ranks,
                                                       const char *axes,
                                                       weft_group **out);
/** All ranks of c in their order, as "world". *out = NULL where c has one rank. */
WEFT_API WEFT_MUST_CHECK weft_status weft_group_world(weft_comm *c, weft_group **out);
WEFT_API void weft_group_destroy(weft_group *g);
WEFT_API int weft_group_size(const weft_group *g); /**< NULL g: 1 */
WEFT_API int weft_group_rank(const weft_group *g); /**< NULL g: 0 */
WEFT_API const char *weft_group_axes(const weft_group *g);

/* ---- operations ------------------------------------------------------------------ */
/* A NULL group or a group of one is a finished no-op that is not counted (out = in where
 * they differ). Buffers stay in use until the event is waited for, or until a wait of this
 * comm has failed, or until this rank has called weft_comm_abort(): a rank that fails for a
 * reason of its own calls that before it frees them. A comm is of no use after a failed
 * wait: every further call returns that failure. Collectives on one group are started in
 * the same order on every member. dtype f64 or f32 for reductions; bf16 is refused. */

/** In place: buf[i] = sum|max over the group, in group rank order (loop: bit-reproducible). */
WEFT_API WEFT_MUST_CHECK weft_status weft_all_reduce(weft_group *g, weft_purpose why,
                                                     void *buf, int64_t count,
                                                     weft_dtype t, weft_reduce op,
                                                     weft_event *ev);
/** buf of `root` to all. */
WEFT_API WEFT_MUST_CHECK weft_status weft_broadcast(weft_group *g, weft_purpose why,
                                                    void *buf, int64_t bytes, int root,
                                                    weft_event *ev);
/** in: this rank's bytes; out: [size][bytes]. */
WEFT_API WEFT_MUST_CHECK weft_status weft_all_gather(weft_group *g, weft_purpose why,
                                                     const void *in, int64_t bytes,
                                                     void *out, weft_event *ev);
/** out[count]: this rank's part of the sum of in[size*count]. */
WEFT_API WEFT_MUST_CHECK weft_status weft_reduce_scatter(weft_group *g,
                                                         weft_purpose why,
                                                         const void *in, int64_t count,
                                                         weft_dtype t, void *out,
                                                         weft_event *ev);
WEFT_API WEFT_MUST_CHECK weft_status weft_all_to_all(weft_group *g, weft_purpose why,
                                                     const void *in, int64_t bytes,
                                                     void *out, weft_event *ev);
/** Returns when all members are here (waits inside). */
WEFT_API WEFT_MUST_CHECK weft_status weft_barrier(weft_group *g);

/** Point to point between ranks of the comm (dst/src: comm ranks). `tag`: any int64 >= 0; folded into the
 *  implementation's limit. weft_send_block: `block` (from `arena`) is given away. loop hands
 *  it to the receiver without a copy: it is the sender's, and the send is not complete, until
 *  the receiver has waited for it; so wait for what you receive before what you send. mpi
 *  gives it back to the arena when sent.
 *  weft_recv_block: ev->block after the wait is a block of `arena` charged to `charge`; where
 *  weft_comm_posts_memory() it is taken at the call, and charged to WEFT_COMM until then.
 *  The sender's arena must live until the receiver has waited (a barrier ends a run). Both
 *  ends use the same pair of calls. Equal (source, tag) pair in order. WEFT_MPI_SYNC=1 (any
 *  back end): a send completes only when its receive was started. */
WEFT_API WEFT_MUST_CHECK weft_status weft_send_block(weft_comm *c, weft_purpose why,
                                                     int dst, int64_t tag,
                                                     weft_arena *arena, void *block,
                                                     int64_t bytes, weft_event *ev);
WEFT_API WEFT_MUST_CHECK weft_status weft_recv_block(weft_comm *c, weft_purpose why,
                                                     int src, int64_t tag,
                                                     weft_arena *arena, weft_tag charge,
                                                     int64_t bytes, weft_event *ev);
/** 1: a posted receive of a block has memory of its own (mpi); 0: the sender's comes. */
WEFT_API int weft_comm_posts_memory(const weft_comm *c);
/** Plain copies of caller-owned buffers; a send may wait for its receive. */
WEFT_API WEFT_MUST_CHECK weft_status weft_send(weft_comm *c, weft_purpose why, int dst,
                                               int64_t tag, const void *buf,
                                               int64_t bytes, weft_event *ev);
WEFT_API WEFT_MUST_CHECK weft_status weft_recv(weft_comm *c, weft_purpose why, int src,
                                               int64_t tag, void *buf, int64_t bytes,
                                               weft_event *ev);

/** Finish. WEFT_E_TIMEOUT: the message names this rank, step, op, what it waited for and
 *  from whom, and (from the status board) where that rank is. WEFT_E_PEER: its words. */
WEFT_API WEFT_MUST_CHECK weft_status weft_wait(weft_comm *c, weft_event *ev);
/** *done = 1 when finished (event cleared); progresses the back end. */
WEFT_API WEFT_MUST_CHECK weft_status weft_test(weft_comm *c, weft_event *ev, int *done);

/* ---- wrappers ---------------------------------------------------------------------- */

/** Exact calls and bytes per (axis set, purpose) of this rank; bytes = payload passed in
 *  (all-reduce: count * element size; p2p: sent bytes). */
typedef struct weft_count_row {
    char axes[24]; /**< "tp", "dp", "pp", ... ("p2p" for point to point) */
    weft_purpose purpose;
    int64_t calls, bytes;
} weft_count_row;
/** Counting is off until asked for. */
WEFT_API void weft_count_start(weft_comm *c); /**< zero and start */
WEFT_API int weft_count_rows(const weft_comm *c, weft_count_row *rows, int max);

/** Test aids, per comm. mode: 0 none, 1 drop (collective: the local value stays; finished at
 *  once; a sent message is lost), 2 double (the collective runs twice, so a sum in place is
 *  scaled; messages and what does not work in place are as before). `delay_s`: the event of
 *  that purpose completes no earlier than its start plus this. jitter_s: a random delay
 *  0..jitter_s before every operation starts, from `seed`. */
WEFT_API void weft_tamper(weft_comm *c, weft_purpose why, int mode);
WEFT_API void weft_tamper_delay(weft_comm *c, weft_purpose why, double delay_s);
WEFT_API void weft_tamper_jitter(weft_comm *c, double jitter_s, uint64_t seed);
/** WEFT_FAULT=rank:2,step:3,kind:stop|exit|alloc|cut in the environment strikes that rank
 *  when it notes that step. WEFT_E_INVALID when a job of so many ranks and steps would never
 *  see it. */
WEFT_API WEFT_MUST_CHECK weft_status weft_fault_check(int n_ranks, int64_t n_steps);

WEFT_END
#endif
