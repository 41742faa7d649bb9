/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPipe: all forwards, then all backwards, both in ascending order.
 *
 *     p = 3, m = 4, tf = tb = 1
 *
 *     0 1 2 3 . . . . 0 1 2 3        forward left, backward right of the gap
 *     . 0 1 2 3 . . 0 1 2 3 .
 *     . . 0 1 2 3 0 1 2 3 . .
 *
 * makespan (m + p - 1)(tf + tb), any m; peak m activations on every rank; 2m(p-1)
 * messages. The backward order is that of PyTorch, alpa and the lesson; the paper's
 * picture has it descending, which takes as long.
 */
#include "schedule/kind.h"

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        for (int i = 0; i < s->m; i++)
            o = wf_put(o, WEFT_OP_F, i, 0);
        for (int i = 0; i < s->m; i++)
            o = wf_put(o, WEFT_OP_B, i, 0);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return q->m;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    return ((double)q->m + q->p - 1) * (t->f + t->b);
}

const weft_schedule_kind wf_kind_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; holds m activations",
    .source = "Huang et al. 2019, GPipe, section 2.3",
    .applicable = wf_on_single,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
