/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DualPipe: two pipelines over the same ranks in opposite directions, half the
 * micro-batches each, so that a forward of one meets a backward of the other on every
 * rank and their communication hides in each other's work. Each rank holds the weights
 * of two stages.
 *
 *     p = 4, m = 8, tf = ti = tw = 1   (F as digits, I as a b c,
 *     W as A B C, B as aA; 0-3 go down, 4-7 up)
 *
 *     0 1 2 4 e E 5 3 f F 6 a A g G 7 . b B h H c C d D
 *     . 0 4 1 5 2 e E 6 a A 3 f F 7 b B g G c C h d H D
 *     . 4 0 5 1 6 a A 2 e E 7 b B 3 f F c C g G d h D H
 *     4 5 6 0 a A 1 7 b B 2 e E c C 3 . f F d D g G h H
 *
 * The order of a rank is in dual.c. With pairs run one after the other, tf = ti >= tw:
 * makespan m(tf + ti + tw) + (p/2-1)(tf + ti - tw). With a pair as one block of length
 * F&B = tf + ti + tw, its results at the end, the idle is the paper's
 * (p/2-1)(F&B + ti - 2tw), also for tf = ti >= tw only. Peak p+1 on every rank;
 * 2m(p-1) messages.
 */
#include <math.h>

#include "schedule/kinds/dual.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_BIDIR;
    WF_TRY(wf_need_chunks(q, 2, "two stages per rank, one for each direction"));
    if (q->p % 2)
        return WF_FAIL(WEFT_E_INVALID,
                       "-p %d: the two directions of dualpipe meet in the middle, so "
                       "-p must be even; nearest are %d and %d (dualpipev takes any)",
                       q->p, q->p > 1 ? q->p - 1 : 2, q->p > 1 ? q->p + 1 : 4);
    int64_t least = 2 * (int64_t)q->p;
    if (q->m % 2)
        return WF_FAIL(WEFT_E_INVALID,
                       "-m %d: dualpipe sends half of the micro-batches each way, so "
                       "-m must be even; nearest are %lld and %lld",
                       q->m, (long long)wf_most(q->m - 1, least),
                       (long long)wf_most(q->m + (int64_t)1, least + 2));
    if (q->m < least)
        return WF_FAIL(WEFT_E_INVALID,
                       "-m %d with -p %d: dualpipe needs 2p micro-batches, -m %lld is "
                       "the least",
                       q->m, q->p, (long long)least);
    return WEFT_OK;
}

static wf_dual rank_of(const weft_schedule *q, int rank)
{
    return (wf_dual){.from_end = wf_to_end(q, rank),
                     .half = q->p / 2,
                     .near = rank >= q->p / 2,
                     .n = q->m / 2,
                     .base = {0, q->m / 2}};
}

static int64_t count(const weft_schedule *q, int rank)
{
    wf_dual d = rank_of(q, rank);
    return wf_dual_count(&d);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    for (int r = 0; r < s->p; r++) {
        wf_dual d = rank_of(s, r);
        wf_dual_put(&d, &s->op[s->first[r]]);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return q->p + 1;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (t->f != t->i || t->w > t->i || t->b != t->i + t->w) return NAN;
    return q->m * (t->f + t->b) + (q->p / 2 - 1) * (t->f + t->i - t->w);
}

const weft_schedule_kind wf_kind_dualpipe = {
    .name = "dualpipe",
    .summary =
        "two pipelines in opposite directions, forward beside backward; two copies "
        "of the weights",
    .source = "DeepSeek-AI 2024, DeepSeek-V3 Technical Report, section 3.2.1",
    .splits = 1,
    .chunks = 2,
    .two_ways = 1,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
