/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved zero bubble: the table of interleaved 1F1B with half the slope of its
 * warm-up and the backward split, as ZB-H1 is to 1F1B.
 *
 *     p = 2, m = 4, v = 2, tf = ti = tw = 1
 *     (chunk 0: 0123, I abcd, W ABCD; chunk 1: 4567, efgh, EFGH)
 *
 *     0 1 4 5 . e E 2 f F 3 a A 6 b B 7 g G h H c C d D
 *     . 0 1 4 e 5 f E 2 a F 3 b A 6 g B 7 h G c H d C D
 *
 * Rank r starts with (v-1)N + p-1-r forwards; then F (while any), I, and from the r-th
 * I on the oldest W; the W's left at the end.
 *
 * makespan m(tf + ti + tw) + (p-1)(tf + ti - min(tf, ti, tw))/v when m >= p and no
 * group is shorter than p. Peak freed at I min(mv, (v-1)N + p - rank), at W min(mv,
 * (v-1)N + p); 2m(pv-1) messages. Groups down to p/2 hold less and take longer; still
 * shorter ones make ranks wait for each other: F of row x on rank 0 comes after its F
 * on the last rank, N rows back, and that, by way of the backwards in between, after
 * row x + p-2 - 2N on rank 0.
 */
#include <math.h>

#include "schedule/kinds/rows.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    int64_t w = (int64_t)(q->v - 1) * q->group + q->p - 1 - rank;
    return wf_least((int64_t)q->m * q->v, w);
}

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_LOOP;
    return WEFT_OK;
}

static int64_t least_group(const weft_schedule *q)
{
    return q->p / 2;
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 3 * (int64_t)q->m * q->v;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    int64_t all = (int64_t)s->m * s->v;
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        const weft_op *w_at = o;
        wf_rows f = wf_rows_start(s, s->group), i = f;
        int64_t w = warm_up(s, r);
        for (int64_t k = 0; k < w; k++)
            o = wf_put_row_f(o, &f);
        for (int64_t k = 0; k < all; k++) {
            if (w + k < all) o = wf_put_row_f(o, &f);
            o = wf_put_row_back(o, WEFT_OP_I, &i);
            if (k >= r) o = wf_put_oldest_w(o, &w_at);
        }
        for (int64_t k = 0; k < wf_least(r, all); k++)
            o = wf_put_oldest_w(o, &w_at);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return wf_least((int64_t)q->m * q->v, warm_up(q, rank) + 1);
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (q->m < q->p || !wf_group_fits(q->p, q->m, q->group)) return NAN;
    double hidden = fmin(t->f, fmin(t->i, t->w));
    return q->m * (t->f + t->i + t->w) + (q->p - 1) * (t->f + t->i - hidden) / q->v;
}

const weft_schedule_kind wf_kind_interleaved_zb = {
    .name = "interleaved-zb",
    .summary = "zb-h1 over v chunks per rank: its bubble divided by v",
    .source =
        "PyTorch pipelining, ScheduleInterleavedZeroBubble, after Qi et al. 2024, "
        "Zero Bubble Pipeline Parallelism",
    .splits = 1,
    .chunks = 2,
    .least_group = least_group,
    .least_group_is = "half of -p,",
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
