/* SPDX-License-Identifier: Apache-2.0 */
/* What DualPipe and DualPipeV share: one rank's order of two chunks that meet in it. */
#ifndef WF_SCHEDULE_KINDS_DUAL_H
#define WF_SCHEDULE_KINDS_DUAL_H
#include "schedule/kind.h"

/* A rank at distance `from_end` from where chunk `near` enters, `half` ranks from there
 * to where the chunks meet; n micro-batches through each chunk, the first of them
 * base[]. */
typedef struct wf_dual {
    int from_end, half, near;
    int64_t n, base[2];
} wf_dual;

int64_t wf_dual_count(const wf_dual *d);
void wf_dual_put(const wf_dual *d, weft_op *o);
#endif
