/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose timeline is measured, beside the simulation of the same schedule. */
#ifndef WEFT_TESTS_TRAIN_TIMELINE_H
#define WEFT_TESTS_TRAIN_TIMELINE_H
#include <weft/run/measure.h>
#include <weft/sim.h>

#include "train/lab.h"

enum { TIMELINE_DUR = 8 * 4 * WEFT_OP_N_COMPUTE };

/* c and steps are the caller's. The first step is not recorded: it warms up. */
typedef struct timeline {
    weft_train_config c;
    int steps;
    weft_schedule schedule;
    weft_trace trace; /* of all ranks, steps 1 .. steps-1 */
} timeline;

/* Run and keep. Fails the test when the run does. */
void timeline_record(timeline *t);
void timeline_clear(timeline *t);
/* Steps first .. last of it. */
weft_pipeline_slice timeline_slice(const timeline *t, int first, int last);
/* Simulated time with durations dur [p][v][WEFT_OP_N_COMPUTE]; trace may be NULL. */
double timeline_simulated(const weft_schedule *s, const double *dur, weft_trace *trace);
/* Every op of step 2 is in both, in the order of the schedule. How far it is from the
 * simulated time in the mean, as a part of it. */
double timeline_ops_error(const timeline *t, const weft_trace *simulated);
#endif
