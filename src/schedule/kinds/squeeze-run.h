/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run of squeeze.c. */
#ifndef WF_SCHEDULE_KINDS_SQUEEZE_RUN_H
#define WF_SCHEDULE_KINDS_SQUEEZE_RUN_H
#include "schedule/kinds/squeeze.h"

/* Ops of a rank that follow each other by micro-batch: F and backward of chunk c are
 * 2*c and 2*c + 1, its W is 4 + c. */
enum { WF_STREAMS = 4, WF_W_STREAM = WF_STREAMS, WF_ALL_STREAMS = 6 };
#define WF_NO_KEY INT64_MAX

/* Where the result of a stream's ops goes: the room for when it comes, by micro-batch.
 * A result that nobody takes goes to the rank itself, which never looks. */
typedef struct wf_outlet {
    double *ready;
    int rank;
    double delay;
} wf_outlet;

/* Whose results are the inputs of a stream's ops. */
typedef struct wf_inlet {
    int rank, stream;
} wf_inlet;

typedef struct wf_rank_run {
    /* of each stream: */
    int64_t key[WF_ALL_STREAMS]; /* place of its next op in slot order; NO_KEY: none */
    int next[WF_ALL_STREAMS];    /* micro-batch of that                              */
    double *ready[WF_STREAMS];   /* [m+1] when its input comes; INFINITY: not known  */
    wf_inlet in[WF_STREAMS];
    wf_outlet out[WF_ALL_STREAMS];
    double begun[WF_ALL_STREAMS]; /* start of the last op                            */
    /* the least that follows the end of an op, -INFINITY for a W: */
    double way[WF_ALL_STREAMS];  /* to the end of its micro-batch                    */
    double tail[WF_ALL_STREAMS]; /* to that of the run, from the last backward on    */

    int64_t held, held_back; /* halves; activations freed at I or B                  */
    int64_t limit_back;
    double free, first;       /* end of its last op, start of its first              */
    double left, left_passed; /* work, and that of it which is no W                  */
    int idle;                 /* stream whose results nobody waits for, the backward
                                 of stage 0; or -1                                   */
    weft_op *o;
} wf_rank_run;

/* One rank in the state that later ones are compared to. */
typedef struct wf_mark {
    int next[WF_ALL_STREAMS];
    double free, wake;
    weft_op *o;
} wf_mark;

/* What a run knows of its own repetition (squeeze-steady.h). */
typedef struct wf_steady {
    int off, repeated;   /* no longer looked for; found                       */
    int seen;            /* forwards that stage 0 had begun when last looked  */
    wf_mark *mark;       /* [p]                                               */
    int marked;          /* such forwards at the mark; 0: none is set         */
    double then;         /* time of the mark                                  */
    int64_t close_calls; /* those of the run before it                      */
} wf_steady;

typedef struct wf_run {
    const wf_search *x;
    const wf_try *how;
    const weft_schedule *s;
    int m;
    double *ready;     /* [2*p*v + 1][m+1], the last for results that nobody takes */
    wf_rank_run *rank; /* [p] */
    double *wake;      /* [p] when a rank looks what it can do */
    double window; /* nothing done at t is of use to another rank before t + window */
    double late;   /* rounding */
    int exact;     /* there is none: times are sums of multiples of a power of two */
    int64_t close_calls; /* decisions that rounding may have made */
    wf_steady steady;
    weft_op op[WF_ALL_STREAMS];
    double dur[WF_ALL_STREAMS], passed[WF_ALL_STREAMS]; /* of an op; ... that is no W */
    int64_t holds[WF_ALL_STREAMS], holds_back[WF_ALL_STREAMS]; /* what an op adds */
} wf_run;

/* Everything at its start; x, how, s, m and steady.off are given. To be cleared, whatever
 * the status. */
weft_status wf_run_start(wf_run *x);
void wf_run_clear(wf_run *x);
#endif
