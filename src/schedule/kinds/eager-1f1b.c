/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eager 1F1B: 1F1B with twice the warm-up, so that a message has a whole op's time to
 * travel before its receiver needs it.
 *
 *     p = 3, m = 4, tf = tb = 1   (F as digits, B as letters a b c ...)
 *
 *     0 1 2 3 . a . b . c . d
 *     . 0 1 2 a 3 b . c . d .
 *     . . 0 a 1 b 2 c 3 d . .
 *
 * makespan (m + p - 1)(tf + tb), any m; peak min(m, 2(p - rank) - 1); 2m(p-1)
 * messages. A latency c per
 * message, small beside tf, adds 2(p-1)c to the step; to that of 1F1B it adds 2c for
 * nearly every micro-batch.
 */
#include "schedule/kind.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    return wf_least(q->m, 2 * (int64_t)(q->p - rank) - 1);
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

const weft_schedule_kind wf_kind_eager_1f1b = {
    .name = "eager-1f1b",
    .summary =
        "1f1b with twice the warm-up: hides messages, 2(p - rank) - 1 activations",
    .source =
        "Zhuang et al. 2022, On Optimizing the Communication of Model Parallelism",
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = warm_up,
    .makespan = makespan,
};
