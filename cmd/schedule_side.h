/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `weft schedule compare`: kinds in the same costs. */
#ifndef WF_CMD_SCHEDULE_SIDE_H
#define WF_CMD_SCHEDULE_SIDE_H
#include "cmd/schedule.h"

/* One of those compared: the flags of all, changed by its own word. It points into itself:
 * zeroed, it stays where it is opened, and is closed in any case. */
typedef struct wf_schedule_side {
    const char *word; /* as typed */
    wf_schedule_args a;
    char kind[64], placement[16];
    int read; /* the word is a kind with values of its own: it may be that it cannot */
    char why[512]; /* it cannot, in these flags; else "" */
    weft_schedule s;
    wf_schedule_result r;
} wf_schedule_side;

WEFT_MUST_CHECK weft_status wf_schedule_side_open(const wf_schedule_args *a,
                                                  const wf_args *args, const char *word,
                                                  int picture, wf_schedule_side *x);
/* Kinds that are made on one placement here and could be on that of another one here: a
 * note tells. */
void wf_schedule_note_placements(int n, const wf_schedule_side *x);
void wf_schedule_side_close(wf_schedule_side *x);

/* Most of an in-flight count of its ranks, in full stages: a chunk is a part of one, and so
 * kinds of different chunks compare. */
double wf_schedule_side_held(const wf_schedule_side *x, const int64_t *peak);
double wf_schedule_side_bytes(const wf_schedule_side *x);

/* Any number of kinds, a row each. */
WEFT_MUST_CHECK weft_status wf_schedule_table(const wf_schedule_args *a,
                                              const wf_args *args);
#endif
