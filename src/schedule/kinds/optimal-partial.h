/* SPDX-License-Identifier: Apache-2.0 */
/* A partial schedule: the first ops of each rank, as the complete search sees them. */
#ifndef WF_SCHEDULE_KINDS_OPTIMAL_PARTIAL_H
#define WF_SCHEDULE_KINDS_OPTIMAL_PARTIAL_H
#include "schedule/kinds/optimal.h"

enum { WF_MOST_COUNTED = 255 }; /* micro-batches that a count can hold */

typedef struct wf_choice {
    int lane;
    int is_first; /* no op that is left starts before it */
    double start;
} wf_choice;

typedef struct wf_rest { /* what is left of a lane */
    double start, work, tail;
    double chain; /* from the start of its next op to the end of the step */
    int part;
} wf_rest;

typedef struct wf_partial {
    const wf_problem *x;
    const wf_window *w;
    double least;           /* no schedule ends before that                          */
    unsigned char *count;   /* [3n] ops of a lane that are done                      */
    unsigned char *crosses; /* [3n] the input is of another rank                   */
    double *free;           /* [p] the next op of the rank starts no sooner          */
    double *held;           /* [p] read by wf_partial_choices()                      */
    double *arrival;        /* [3n][m] of the k-th input of a lane, if from another
                             rank and not taken yet                                */
    double *start;          /* [3n] the next op of the lane starts no sooner         */
    wf_choice *choice;      /* [3n]                                                  */
    wf_rest *rest;          /* [3v] of one rank                                      */
} wf_partial;

weft_status wf_partial_init(const wf_problem *x, const wf_window *w, double least,
                            wf_partial *out);
void wf_partial_clear(wf_partial *a);

/* Its times, in an order that follows from its counts, to `time`; how many. And back. */
int wf_partial_times(const wf_partial *a, double *time);
void wf_partial_read(wf_partial *a, const unsigned char *count, const double *time);

/* Fills choice[]: some shortest schedule that begins like `a` goes on with one of them.
 * Returns how many. */
int wf_partial_choices(wf_partial *a);
/* Counts and times of `a` and its i-th choice. */
void wf_partial_put(const wf_partial *a, int i, wf_partial *out);

/* No schedule that begins like `a` takes less; INFINITY when that is not below the
 * target. Raises times of `a` to what the rest of the schedule needs in any case, so that
 * two partial schedules compare well. */
double wf_partial_bound(wf_partial *a, double target);
#endif
