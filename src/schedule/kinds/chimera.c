/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chimera: two 1F1B-like pipelines over the same ranks in opposite directions, each
 * filling the other's start and end. Each rank holds the weights of two stages; their
 * gradients need a sum over the two ranks that hold a stage.
 *
 *     p = 4, m = 4, tf = tb = 1   (F as digits, B as letters; 0 1 down, 2 3 up)
 *
 *     0 1 . 2 c 3 d a . b
 *     . 0 2 1 3 c a d b .
 *     . 2 0 3 1 a c b d .
 *     2 3 . 0 a 1 b c . d
 *
 * The order is in slots.c (the paper's direct concatenation of units of p
 * micro-batches). makespan m(tf + tb) + (p-2)(max(tf, tb) + (m/p - 1)|tb - tf|); peak
 * p/2 + 1 + distance to the nearer end; 2m(p-1) messages.
 */
#include <math.h>

#include "schedule/kinds/slots.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_BIDIR;
    WF_TRY(wf_need_chunks(q, 2, "two stages per rank, one for each direction"));
    return wf_slots_two_ways(q);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    return wf_slots_generate(s);
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return q->p / 2 + 1 + wf_to_end(q, rank);
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    double units = (double)(q->m / q->p);
    double idle = fmax(t->f, t->b) + (units - 1) * fabs(t->b - t->f);
    return q->m * (t->f + t->b) + (q->p - 2) * idle;
}

const weft_schedule_kind wf_kind_chimera = {
    .name = "chimera",
    .summary =
        "two 1f1b pipelines in opposite directions: half the bubble, two copies of "
        "the weights",
    .source = "Li and Hoefler 2021, Chimera: Efficiently Training Large-Scale Neural "
              "Networks with Bidirectional Pipelines",
    .chunks = 2,
    .two_ways = 1,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
