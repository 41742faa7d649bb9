/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward only, for evaluation and inference.
 *
 *     p = 3, m = 4                 p = 2, m = 4, v = 2 (chunk 1 underlined by ')
 *
 *     0 1 2 3 . .                  0  1  0' 1' 2  3  2' 3' .
 *     . 0 1 2 3 .                  .  0  1  0' 1' 2  3  2' 3'
 *     . . 0 1 2 3
 *
 * With v chunks the micro-batches go in groups of p, each through all chunks; the last
 * group takes the remainder too, so that no group is shorter than p (unless m is).
 * makespan (v*max(m,p) + min(m,p) - 1) tf/v. Nothing is kept for a backward: peak 1.
 */
#include "schedule/kind.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = q->v == 1 ? WEFT_PLACE_SINGLE : WEFT_PLACE_LOOP;
    return WEFT_OK;
}

static int64_t count(const weft_schedule *q, int rank)
{
    return (int64_t)q->m * q->v;
}

static weft_op *put_group(weft_op *o, int v, int64_t from, int64_t to)
{
    for (int c = 0; c < v; c++)
        for (int64_t i = from; i < to; i++)
            o = wf_put(o, WEFT_OP_F, i, c);
    return o;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    int64_t m = s->m, p = s->p, groups = m < p ? 1 : m / p;
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        for (int64_t g = 0; g < groups; g++)
            o = put_group(o, s->v, g * p, g == groups - 1 ? m : (g + 1) * p);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return 1;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    double longer = (double)wf_most(q->m, q->p), shorter = (double)wf_least(q->m, q->p);
    return (q->v * longer + shorter - 1) * t->f / q->v;
}

const weft_schedule_kind wf_kind_forward = {
    .name = "forward",
    .summary = "forwards only, for evaluation and inference",
    .source = "the fill and drain of Huang et al. 2019 without its backward",
    .forward_only = 1,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
