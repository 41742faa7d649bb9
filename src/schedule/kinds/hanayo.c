/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hanayo: waves. A micro-batch goes down and up the ranks w = v/2 times, over v chunks
 * on a zigzag, and its backward the same way back: Chimera's picture with one copy of
 * the weights.
 *
 *     p = 2, m = 4, v = 2, tf = tb = 1
 *     (chunk 0: 0123, backward abcd; chunk 1: 4567, efgh)
 *
 *     0 1 . 4 e 5 f a 2 b 3 6 g 7 h c . d
 *     . 0 4 1 5 e a f b 2 6 3 7 g c h d .
 *
 * The order is in slots.c, in units of p micro-batches, of which the last may be a
 * part. For p | m: makespan m(tf + tb) + 2(p-1)(max(tf, tb) + (m/p - 1)|tb - tf|)/v; at
 * m = p and tb = 2tf the bubble is (2p-2)/(3pw + 2p-2). Peak p(v-1) + 1 + rank chunk
 * activations; 2mv(p-1) messages.
 */
#include <math.h>

#include "schedule/kinds/slots.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_V;
    if (q->v % 2 == 0) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "-v %d: a wave of hanayo goes down and up the ranks, so -v is twice "
                   "the number of waves; nearest are %d and %d",
                   q->v, q->v > 1 ? q->v - 1 : 2, q->v > 1 ? q->v + 1 : 4);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m * q->v;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    return wf_slots_generate(s);
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return q->m < q->p ? -1 : (int64_t)q->p * (q->v - 1) + 1 + rank;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (q->m % q->p) return NAN;
    double units = (double)(q->m / q->p);
    double idle = fmax(t->f, t->b) + (units - 1) * fabs(t->b - t->f);
    return q->m * (t->f + t->b) + 2 * (q->p - 1) * idle / q->v;
}

const weft_schedule_kind wf_kind_hanayo = {
    .name = "hanayo",
    .summary = "waves over v/2 zigzags: the pipeline of chimera with one copy of the "
               "weights",
    .source = "Liu et al. 2023, Hanayo: Harnessing Wave-like Pipeline Parallelism",
    .chunks = 2,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
