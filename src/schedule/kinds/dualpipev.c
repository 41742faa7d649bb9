/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DualPipeV: DualPipe cut in the middle and folded: the two halves of a V take the
 * place of the two directions, and one copy of the weights is enough.
 *
 *     p = 2, m = 5, v = 2, tf = ti = tw = 1
 *     (chunk 0: 01234, I abcde, W ABCDE, B aA; chunk 1: 56789, f, F, fF)
 *
 *     0 1 2 5 f F 6 3 g G 7 a A 4 h H 8 b B i I 9 . c C j J d D e E
 *     . 0 5 1 6 2 f F 7 a A 3 g G 8 b B 4 h H 9 c C i I d D j e J E
 *
 * The order of a rank is in dual.c, for the chunks of a V. With pairs run one after the
 * other, tf = ti >= tw: makespan m(tf + ti + tw) + (p-1)(tf + ti - tw)/2; with a pair
 * as one block of length F&B = tf + ti + tw the idle is (p-1)(F&B + ti - 2tw)/2, all in
 * times of a full stage. Peak 2p+1 chunk activations on every rank; 4m(p-1) messages.
 */
#include <math.h>

#include "schedule/kinds/dual.h"

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    WF_TRY(wf_on_v(q, opt));
    if (q->m >= 2 * (int64_t)q->p) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "-m %d with -p %d: dualpipev needs 2p micro-batches, -m %lld is the "
                   "least",
                   q->m, q->p, 2 * (long long)q->p);
}

static wf_dual rank_of(const weft_schedule *q, int rank)
{
    return (wf_dual){.from_end = rank, .half = q->p, .n = q->m};
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
    return 2 * (int64_t)q->p + 1;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (t->f != t->i || t->w > t->i || t->b != t->i + t->w) return NAN;
    return q->m * (t->f + t->b) + (q->p - 1) * (t->f + t->i - t->w) / 2;
}

const weft_schedule_kind wf_kind_dualpipev = {
    .name = "dualpipev",
    .summary =
        "dualpipe folded to a V: forward beside backward, one copy of the weights",
    .source = "Qi et al. 2025, DualPipe could be better without the Dual; DeepSeek-AI, "
              "DualPipe",
    .splits = 1,
    .chunks = 2,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
