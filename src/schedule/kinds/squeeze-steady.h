/* SPDX-License-Identifier: Apache-2.0 */
/* Far from both ends a run along a block repeats itself. Once the state of all ranks is
 * that of some micro-batches before, moved on by as many, what was done in between is
 * written again as often as it fits, so that a run takes no longer for many
 * micro-batches than for some times p. */
#ifndef WF_SCHEDULE_KINDS_SQUEEZE_STEADY_H
#define WF_SCHEDULE_KINDS_SQUEEZE_STEADY_H
#include "schedule/kinds/squeeze-run.h"

/* Has a micro-batch begun since the last look at the state? */
static inline int wf_steady_is_due(const wf_run *x)
{
    return !x->steady.off && x->rank[0].next[WF_FORWARD] != x->steady.seen;
}

/* The look, where no rank looks before `now` any more. Returns the ops that were written, 0
 * for none. */
int64_t wf_steady_go_on(wf_run *x, double now);

/* What came after a repetition has close calls too: where sums of times are not exact, a
 * run through all micro-batches may have decided otherwise. */
static inline int wf_steady_is_unsure(const wf_run *x)
{
    return x->steady.repeated && x->close_calls > x->steady.close_calls;
}
#endif
