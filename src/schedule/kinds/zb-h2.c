/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-H2: nearly twice the warm-up of ZB-H1, so that no rank waits between its first op
 * and its last. Ranks start one forward apart and end as far apart; only a step whose
 * optimizer needs no barrier over the ranks is without a bubble.
 *
 *     p = 3, m = 6, tf = ti = tw = 1   (F as digits, I as a b c, W as A B C)
 *
 *     0 1 2 3 4 a A 5 b B c C d D e E f F . .
 *     . 0 1 2 a 3 b 4 c A 5 d B e C f D E F .
 *     . . 0 a 1 b 2 c 3 d 4 e A 5 f B C D E F
 *
 * Rank r: min(m, 2(p-r) - 1) forwards, then I, from the 2r-th on also the oldest W,
 * then the next F; the W's left at the end. For m >= 2p-1 and x = tf + ti - 2min(tf,
 * tw): span m(tf + ti + tw) + (p-1)max(0, x), makespan m(tf + ti + tw) + (p-1)max(tf,
 * x). Peak min(m, 2(p - rank) - 1) freed at I, min(m, 2p - 1) at W; 2m(p-1) messages.
 */
#include <math.h>

#include "schedule/kind.h"

static int64_t warm_up(const weft_schedule *q, int rank)
{
    return wf_least(q->m, 2 * (int64_t)(q->p - rank) - 1);
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
        int64_t w = warm_up(s, r), late = 2 * (int64_t)r;
        for (int64_t i = 0; i < w; i++)
            o = wf_put(o, WEFT_OP_F, i, 0);
        for (int64_t i = 0; i < s->m; i++) {
            o = wf_put(o, WEFT_OP_I, i, 0);
            if (i >= late) o = wf_put_oldest_w(o, &w_at);
            if (w + i < s->m) o = wf_put(o, WEFT_OP_F, w + i, 0);
        }
        for (int64_t i = 0; i < wf_least(late, s->m); i++)
            o = wf_put_oldest_w(o, &w_at);
    }
    return WEFT_OK;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (q->m < 2 * (int64_t)q->p - 1) return NAN;
    double gap = t->f + t->i - 2 * fmin(t->f, t->w);
    return q->m * (t->f + t->i + t->w) + (q->p - 1) * fmax(t->f, gap);
}

const weft_schedule_kind wf_kind_zb_h2 = {
    .name = "zb-h2",
    .summary =
        "no wait between a rank's first and last op; twice the activations of 1f1b",
    .source = "Qi et al. 2024, Zero Bubble Pipeline Parallelism",
    .splits = 1,
    .applicable = wf_on_single,
    .count = count,
    .generate = generate,
    .peak = warm_up,
    .makespan = makespan,
};
