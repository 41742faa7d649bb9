/* SPDX-License-Identifier: Apache-2.0 */
/* The layout pass: a trace as boxes in time, sorted by rank. Painters add only
 * glyphs. */
#ifndef WF_DRAW_PICTURE_H
#define WF_DRAW_PICTURE_H
#include <weft/draw.h>

typedef struct wf_box {
    double t0, t1; /* from the beginning of the picture, scaled */
    const weft_trace_entry *e;
    int32_t rank;
    int16_t track; /* 0, or above where it overlaps another box of its lane */
    uint8_t lane;
    uint8_t spent; /* weft_spent */
} wf_box;

typedef struct wf_picture {
    const weft_trace *t;
    const char *unit; /* of picture time */
    double begin;     /* of the picture in the trace's time */
    double scale;     /* picture time = trace time * scale  */
    double length;    /* > 0                                */
    double short_op;  /* a tenth of the F B I W R boxes are shorter; length if none */
    int n_ranks;
    int n_chunks;   /* largest chunk number + 1 */
    unsigned spent; /* bit w: something went into weft_spent w */
    uint32_t max_micro;
    int64_t n;
    wf_box *box;    /* [n] by rank, lane, start */
    int64_t *first; /* [n_ranks + 1] */
} wf_picture;

/* step -1: all of the trace. Fails on traces that weft_trace_check() refuses and
 * when there is nothing to draw. The trace must outlive the picture. */
WEFT_MUST_CHECK weft_status wf_picture_make(const weft_trace *t, int step, double scale,
                                            wf_picture *out);
void wf_picture_clear(wf_picture *p);

/* A moment at which what a rank holds changes to `held`. */
typedef struct wf_level {
    double at, held;
} wf_level;

/* Bytes of a rank where the trace has levels. Else its activations: one more from the start
 * of F, one less at the end of B or I; 0 levels when nothing is ever freed. */
int64_t wf_picture_memory(const wf_picture *p, int rank, wf_level *out, double *peak);
/* Room that `out` needs. */
int64_t wf_picture_level_room(const wf_picture *p, int rank);

/* Time of each rank in F B I W R. */
double wf_picture_busy(const wf_picture *p, int rank);

/* Share of each of n_cols equal columns of a rank by what it went into: cols is
 * [n_cols][WEFT_N_SPENT] and each row sums to 1, waiting being the rest. */
void wf_picture_columns(const wf_picture *p, int rank, double per_unit, int n_cols,
                        double (*cols)[WEFT_N_SPENT]);
/* What a column shows: the kind with three quarters of its busy time, WEFT_N_SPENT when
 * several share it, WEFT_SPENT_WAIT when it is idle for half of the time or more. */
int wf_column_shows(const double *col);

/* How times of the trace are written: seconds as s, ms or us. */
typedef struct wf_unit_shown {
    double factor;
    const char *name;
} wf_unit_shown;
wf_unit_shown wf_picture_unit(const wf_picture *p);
/* 1, 2 or 5 times a power of ten: the smallest that makes at most n steps of length. */
double wf_nice_step(double length, int n);
#endif
