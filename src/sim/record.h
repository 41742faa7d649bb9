/* SPDX-License-Identifier: Apache-2.0 */
/* Inside sim: what an evaluation visits, written into a trace and added up. */
#ifndef WF_SIM_RECORD_H
#define WF_SIM_RECORD_H
#include <weft/sim.h>

#include "schedule/eval.h"

/* Bytes of each rank as its ops begin and end. */
typedef struct wf_memory {
    const weft_schedule *s;
    const weft_sim_bytes *bytes;
    weft_trace *trace; /* gets the levels; may be NULL */
    int forward_only, atomic;
    double *now;                      /* [p] */
    weft_sim_held *peak, *first_over; /* [p] */
    const weft_op *first;             /* of the atomic pair that is being visited */
    double since;
} wf_memory;

weft_status wf_memory_open(const weft_schedule *s, const weft_costs *costs,
                           const weft_sim_bytes *bytes, weft_trace *trace,
                           wf_memory *out);
/* An op of `rank` runs; the two of an atomic pair are visited one right after the other. */
weft_status wf_memory_visit(wf_memory *m, int rank, const weft_op *op, double start,
                            double end);
void wf_memory_clear(wf_memory *m);

/* Times of a rank by which two steps are compared. */
typedef struct wf_history {
    int steps;
    int64_t width; /* of a step */
    double *x;     /* [steps][width] */
} wf_history;

/* The least period after which the last step repeats an earlier one, all times later by
 * the same, and since when; 0 where none does. */
int wf_history_period(const wf_history *h, double *shift, int *from);

int wf_is_forward_only(const weft_schedule *s);
#endif
