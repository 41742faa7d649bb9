/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1F1B: as many forwards as there are stages from here to the end, then one backward,
 * one forward in turn, then the remaining backwards.
 *
 *     p = 3, m = 4, tf = tb = 1            (F as digits, B as letters a b c d)
 *
 *     0 1 2 . . a 3 b . c . d
 *     . 0 1 . a 2 b 3 c . d .
 *     . . 0 a 1 b 2 c 3 d . .
 *
 * makespan (m + p - 1)(tf + tb), any m, also below p; peak min(m, p - rank); 2m(p-1)
 * messages.
 * B(s, i) ends at (p-1)tf + (i+1)(tf+tb) + (p-1-s)tb.
 */
#include "schedule/kinds/turns.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    return q->m < q->p - rank ? q->m : q->p - rank;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    wf_turns_generate(s, warm_up);
    return WEFT_OK;
}

const weft_schedule_kind wf_kind_1f1b = {
    .name = "1f1b",
    .summary =
        "one forward, one backward in turn; same bubble as gpipe, p - rank activations",
    .source = "Narayanan et al. 2021, Efficient Large-Scale LM Training, section 2.2.1 "
              "(PipeDream-Flush)",
    .applicable = wf_on_single,
    .count = wf_turns_count,
    .generate = generate,
    .peak = warm_up,
    .makespan = wf_turns_makespan,
};
