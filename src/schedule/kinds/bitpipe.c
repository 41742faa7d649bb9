/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BitPipe: Chimera with a V in each direction: four half-stages on a rank, chunks 0 and
 * 2 of the pipeline that goes down first, 1 and 3 of the one that goes up first.
 *
 *     p = 2, m = 4, tf = tb = 1   (F 0123, second half-stage 4567; B abcd, efgh)
 *
 *     0 2 6 4 e g c a 1 3 7 5 f h d b
 *     2 0 4 6 g e a c 3 1 5 7 h f b d
 *
 * The order is in slots.c. makespan m(tf + tb) + (p-2)(max(tf, tb) + (m/p-1)|tb -
 * tf|)/2: half of Chimera's idle; peak 3p/2 + 1 + distance to the nearer end, in
 * half-stages; 4m(p-1) messages.
 */
#include <math.h>

#include "schedule/kinds/slots.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_BIDIRV;
    WF_TRY(wf_need_chunks(q, 4, "four half-stages per rank (a V in each direction)"));
    return wf_slots_two_ways(q);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 4 * (int64_t)q->m;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    return wf_slots_generate(s);
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return 3 * q->p / 2 + 1 + wf_to_end(q, rank);
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    double units = (double)(q->m / q->p);
    double idle = fmax(t->f, t->b) + (units - 1) * fabs(t->b - t->f);
    return q->m * (t->f + t->b) + (q->p - 2) * idle / 2;
}

const weft_schedule_kind wf_kind_bitpipe = {
    .name = "bitpipe",
    .summary = "chimera with a V in each direction: half its bubble, two copies of the "
               "weights",
    .source = "Wu et al. 2024, BitPipe: Bidirectional Interleaved Pipeline Parallelism",
    .chunks = 4,
    .two_ways = 1,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
