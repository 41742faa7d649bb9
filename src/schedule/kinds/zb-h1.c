/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-H1: 1F1B with the backward split. The input gradient I goes at once, since the
 * stage before waits for it; weight gradients W fill waits. Rank r is r W's behind, so
 * that its activations, held until W, stay at p.
 *
 *     p = 3, m = 5, tf = ti = tw = 1   (F as digits, I as a b c, W as A B C)
 *
 *     0 1 2 . . a A 3 b B 4 c C d D e E
 *     . 0 1 . a 2 b A 3 c B 4 d C e D E
 *     . . 0 a 1 b 2 c A 3 d B 4 e C D E
 *
 * makespan m(tf + ti + tw) + (p-1)(tf + ti - min(tf, ti, tw)) for m >= p: the paper's
 * (p-1)(tf + ti - tw) of idle where tw is the smallest.
 * Peak min(m, p - rank) freed at I, min(m, p) at W; 2m(p-1) messages.
 * The same order as interleaved-zb has with v = 1.
 */
#include <math.h>

#include "schedule/kind.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    return wf_least(q->m, q->p - rank);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 3 * (int64_t)q->m;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        const weft_op *w_at = o;
        int64_t w = warm_up(s, r);
        for (int64_t i = 0; i < w; i++)
            o = wf_put(o, WEFT_OP_F, i, 0);
        for (int64_t i = 0; i < s->m; i++) {
            o = wf_put(o, WEFT_OP_I, i, 0);
            if (i >= r) o = wf_put_oldest_w(o, &w_at);
            if (w + i < s->m) o = wf_put(o, WEFT_OP_F, w + i, 0);
        }
        for (int64_t i = 0; i < wf_least(r, s->m); i++)
            o = wf_put_oldest_w(o, &w_at);
    }
    return WEFT_OK;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (q->m < q->p) return NAN;
    double hidden = fmin(t->f, fmin(t->i, t->w));
    return q->m * (t->f + t->i + t->w) + (q->p - 1) * (t->f + t->i - hidden);
}

const weft_schedule_kind wf_kind_zb_h1 = {
    .name = "zb-h1",
    .summary = "1f1b with the backward split: a third of its bubble, the same memory",
    .source = "Qi et al. 2024, Zero Bubble Pipeline Parallelism",
    .splits = 1,
    .applicable = wf_on_single,
    .count = count,
    .generate = generate,
    .peak = warm_up,
    .makespan = makespan,
};
