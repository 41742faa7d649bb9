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
#include "schedule/kind.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    return q->m < q->p - rank ? q->m : q->p - rank;
}

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_SINGLE;
    return wf_need_one_chunk(q);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        int64_t w = warm_up(s, r);
        for (int64_t i = 0; i < w; i++)
            o = wf_put(o, WEFT_OP_F, i, 0);
        for (int64_t i = 0; i < s->m; i++) {
            o = wf_put(o, WEFT_OP_B, i, 0);
            if (w + i < s->m) o = wf_put(o, WEFT_OP_F, w + i, 0);
        }
    }
    return WEFT_OK;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    return ((double)q->m + q->p - 1) * (t->f + t->b);
}

const weft_schedule_kind wf_kind_1f1b = {
    .name = "1f1b",
    .summary =
        "one forward, one backward in turn; same bubble as gpipe, p - rank activations",
    .source = "Narayanan et al. 2021, Efficient Large-Scale LM Training, section 2.2.1 "
              "(PipeDream-Flush)",
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = warm_up,
    .makespan = makespan,
};
