/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looped, breadth first: all micro-batches through a chunk before the next chunk, then
 * the backwards in exactly the reverse order. A stage's weights are gathered once for
 * all its forwards and once for all its backwards, which is what it is for (sharded
 * data parallelism).
 *
 *     p = 2, m = 3, v = 2, tf = tb = 1
 *     (chunk 0: 012, backward abc; chunk 1: 345, def)
 *
 *     0 1 2 3 4 5 . . f e d c b a
 *     . 0 1 2 3 4 5 f e d c b a .
 *
 * makespan (v*max(m,p) + min(m,p) - 1)(tf + tb)/v; peak mv chunk activations;
 * 2m(pv-1) messages.
 */
#include "schedule/kind.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = q->v == 1 ? WEFT_PLACE_SINGLE : WEFT_PLACE_LOOP;
    return WEFT_OK;
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m * q->v;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        for (int c = 0; c < s->v; c++)
            for (int64_t i = 0; i < s->m; i++)
                o = wf_put(o, WEFT_OP_F, i, c);
        for (int c = s->v - 1; c >= 0; c--)
            for (int64_t i = s->m - 1; i >= 0; i--)
                o = wf_put(o, WEFT_OP_B, i, c);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return (int64_t)q->m * q->v;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    double longer = (double)wf_most(q->m, q->p), shorter = (double)wf_least(q->m, q->p);
    return (q->v * longer + shorter - 1) * (t->f + t->b) / q->v;
}

const weft_schedule_kind wf_kind_looped_bfs = {
    .name = "looped-bfs",
    .summary =
        "all micro-batches through a chunk before the next; holds mv activations",
    .source = "Lamy-Poirier 2022, Breadth-First Pipeline Parallelism",
    .chunks = 2,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
