/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PipeDream: one forward, one backward in turn without a flush. A step never ends:
 * stage `rank` updates its weights after each backward, and a micro-batch (the paper's
 * mini-batch) takes its backward with the weights that its forward saw.
 *
 *     p = 3, m = 6, tf = tb = 1   (F as digits, B as letters a b c ...)
 *
 *     0 1 2 . . a 3 b 4 c 5 d . e . f
 *     . 0 1 . a 2 b 3 c 4 d 5 e . f .
 *     . . 0 a 1 b 2 c 3 d 4 e 5 f . .
 *
 * The lists hold m micro-batches from a cold start to a drained pipeline, in the order
 * of 1F1B: p-1-rank forwards, then F and B in turn, then the backwards left. What
 * differs is what the order means. Between start and drain nothing waits; m of them
 * take (m + p - 1)(tf + tb) and 2m(p-1) messages. Peak min(m, p - rank) activations,
 * and as many versions of the weights; a gradient at stage `rank` is p-1-rank updates
 * late. The gradient is therefore not that of a flushed schedule.
 */
#include "schedule/kinds/turns.h"

static int64_t in_flight(const weft_schedule *q, int rank)
{
    return wf_least(q->m, q->p - rank);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    wf_turns_generate(s, in_flight);
    return WEFT_OK;
}

static int weight_copies(const weft_schedule *q, int rank)
{
    return (int)in_flight(q, rank);
}

const weft_schedule_kind wf_kind_pipedream = {
    .name = "pipedream",
    .summary =
        "1f1b without a flush: no bubble after the start, p - rank weight versions",
    .source = "Narayanan et al. 2019, PipeDream, sections 3.2 and 3.3",
    .asynchronous = 1,
    .applicable = wf_on_single,
    .count = wf_turns_count,
    .generate = generate,
    .peak = in_flight,
    .makespan = wf_turns_makespan,
    .weight_copies = weight_copies,
};
