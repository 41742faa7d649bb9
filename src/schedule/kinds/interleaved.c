/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved 1F1B: a rank holds v chunks, stages rank, p + rank, 2p + rank, ...
 *
 *     p = 2, m = 4, v = 2, tf = tb = 1
 *     (chunk 0: 0123, backward abcd; chunk 1: 4567, efgh)
 *
 *     0 1 4 5 . e 2 f 3 a 6 b 7 g . h c d
 *     . 0 1 4 e 5 f 2 a 3 b 6 g 7 h c d .
 *
 * Micro-batches go in groups of N: for each group, for each chunk, for each micro-batch
 * of the group; backwards the same with the chunks in reverse. Rank r starts with
 * (v-1)N + 2(p-1-r) forwards, then one forward, one backward in turn, then the rest.
 *
 * makespan (v*max(m,p) + min(m,p) - 1)(tf + tb)/v when no group is shorter than p (or
 * there is one); peak min(mv, (v-1)N + 2(p-1-r) + 1) chunk activations; 2m(pv-1)
 * messages.
 * A shorter group makes rank 0 wait for its own first chunk's way round the ring, and
 * often for a value that it would make only after that wait: a deadlock.
 */
#include "schedule/kinds/rows.h"

static double makespan(const weft_schedule *q, const wf_times *t)
{
    double longer = (double)wf_most(q->m, q->p), shorter = (double)wf_least(q->m, q->p);
    return (q->v * longer + shorter - 1) * (t->f + t->b) / q->v;
}

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_LOOP;
    if (q->v < 2)
        return WF_FAIL(
            WEFT_E_INVALID,
            "-v %d: interleaving needs at least 2 chunks per rank; 1f1b is the "
            "case of 1",
            q->v);
    return WEFT_OK;
}

static int64_t least_group(const weft_schedule *q)
{
    return q->p;
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m * q->v;
}

static int64_t warm_up(const weft_schedule *q, int rank)
{
    int64_t w = (int64_t)(q->v - 1) * q->group + 2 * (int64_t)(q->p - 1 - rank);
    return wf_least((int64_t)q->m * q->v, w);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    int64_t all = (int64_t)s->m * s->v;
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        wf_rows f = wf_rows_start(s, s->group), b = f;
        int64_t w = warm_up(s, r);
        for (int64_t k = 0; k < w; k++)
            o = wf_put_row_f(o, &f);
        for (int64_t k = w; k < all; k++)
            o = wf_put_row_back(wf_put_row_f(o, &f), WEFT_OP_B, &b);
        for (int64_t k = 0; k < w; k++)
            o = wf_put_row_back(o, WEFT_OP_B, &b);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return wf_least((int64_t)q->m * q->v, warm_up(q, rank) + 1);
}

const weft_schedule_kind wf_kind_interleaved = {
    .name = "interleaved",
    .summary =
        "1f1b over v chunks per rank: bubble time divided by v, v times the messages",
    .source = "Narayanan et al. 2021, Efficient Large-Scale LM Training, section 2.2.2",
    .chunks = 2,
    .least_group = least_group,
    .least_group_is = "-p",
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
