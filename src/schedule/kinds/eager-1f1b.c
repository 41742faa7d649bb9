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
#include "schedule/kinds/turns.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    return wf_least(q->m, 2 * (int64_t)(q->p - rank) - 1);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    wf_turns_generate(s, warm_up);
    return WEFT_OK;
}

const weft_schedule_kind wf_kind_eager_1f1b = {
    .name = "eager-1f1b",
    .summary =
        "1f1b with twice the warm-up: hides messages, 2(p - rank) - 1 activations",
    .source =
        "Zhuang et al. 2022, On Optimizing the Communication of Model Parallelism",
    .applicable = wf_on_single,
    .count = wf_turns_count,
    .generate = generate,
    .peak = warm_up,
    .makespan = wf_turns_makespan,
};
