/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status board: where each rank is, for the message of a wait that took too long.
 *
 * A record is written by its rank only and read by anybody at any time, also by another
 * process through the mapped file, also after the writer was killed. All words are atomic
 * and a sequence number tells a torn read.
 */
#ifndef WF_COMM_BOARD_H
#define WF_COMM_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <weft/run/comm.h>

enum { WF_OP_TEXT = 24, WF_AXES_TEXT = 24 };

typedef enum wf_state { WF_STARTING, WF_COMPUTING, WF_WAITING, WF_ENDED } wf_state;

/* The mapped file: fixed layout, native byte order, read on the host that wrote it. */
typedef struct wf_record {
    char magic[8];
    int64_t rank, pid;
    char host[64];
    _Atomic uint64_t seq; /* odd while being written */
    _Atomic int64_t step;
    _Atomic uint64_t op[WF_OP_TEXT / 8];
    _Atomic int64_t state;
    _Atomic int64_t peer, purpose, tag;      /* of WF_WAITING; peer -1: a group */
    _Atomic uint64_t axes[WF_AXES_TEXT / 8]; /* of that group                   */
    _Atomic int64_t since_ns, since_wall_ns; /* when `state` began              */
} wf_record;

/* A consistent copy. */
typedef struct wf_place {
    int rank, same_host;
    int64_t pid, step, tag;
    char host[64], op[WF_OP_TEXT], axes[WF_AXES_TEXT];
    wf_state state;
    int peer;
    weft_purpose purpose;
    double since_s;      /* seconds ago */
    const char *process; /* "", or what is wrong with its process */
    int gone;            /* that process is no more               */
} wf_place;

typedef struct wf_board {
    wf_record *own;
    wf_record **peers; /* ranks of this process: [size], borrowed; else NULL      */
    char *dir;         /* else their files are here; NULL: no status of others    */
    int temporary;     /* dir was made for this job: the last rank takes it away  */
    int rank, borrowed;
} wf_board;

/* The record of one rank: in `dir`/rank-N.status, or in memory when dir is NULL. */
weft_status wf_record_open(const char *dir, int rank, wf_record **out);
void wf_record_close(wf_record *r, const char *dir, int keep);

weft_status wf_board_open(wf_board *b, const char *dir, int rank);
/* Records of ranks that are threads of this process; nothing is owned. */
void wf_board_share(wf_board *b, wf_record **records, int rank);
/* keep: leave the file for whoever looks into a failure. */
void wf_board_close(wf_board *b, int keep);

void wf_board_note(wf_board *b, int64_t step, const char *op);
void wf_board_waiting(wf_board *b, int peer, weft_purpose why, int64_t tag,
                      const char *axes);
void wf_board_computing(wf_board *b);
void wf_board_ended(wf_board *b);

/* 1 and *out, or 0 when nothing is known of that rank. */
int wf_board_look(const wf_board *b, int rank, wf_place *out);
/* The lowest of ranks 0 .. n-1 whose process ended in the middle of the job, or -1. */
int wf_board_lost(const wf_board *b, int n, wf_place *out);
/* "is at step 3, op F2.0, computing for 5.1 s" -> text. */
void wf_place_text(const wf_place *p, char *text, int cap);

#endif
