/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-V: two chunks on a V (rank r holds stages r and 2p-1-r), backward split. The turn
 * at the last rank and both ends at the first one make every rank hold the same.
 *
 *     p = 2, m = 4, v = 2, tf = ti = tw = 1
 *     (chunk 0: 0123, I abcd, W ABCD; chunk 1: 4567, efgh, EFGH)
 *
 *     0 1 2 4 e E 5 f F 3 a A 6 g G b B 7 h H c C d D .
 *     . 0 4 1 5 e E 2 a A 6 f F 3 b B 7 g G c h d C H D
 *
 * Rank r, for n = max(m, 2p-1) micro-batches: 2(p-r)-1 times F of chunk 0; r times F of
 * chunk 1, F of chunk 0; p-r times F, I, W of chunk 1; while forwards of chunk 1 are
 * left: F of chunk 0 (if any), I, W of chunk 0, F, I, W of chunk 1; r times I of chunk
 * 0, I of chunk 1; p-r times I, W of chunk 0; the W's left. Micro-batches from m on are
 * left out.
 *
 * For tf = ti = tw and m >= 2p-1: span = work, makespan (3m + (p-1)/2)tf in times of a
 * full stage; peak 2p chunk activations on every rank; 4m(p-1) messages. With unequal
 * times it can be slower than ZB-H1: zb-auto with a V looks at them.
 */
#include <math.h>

#include "schedule/kind.h"

static int64_t count(const weft_schedule *q, int rank)
{
    return 6 * (int64_t)q->m;
}

/* The next op to write, and the next micro-batch of each kind and chunk. */
typedef struct writer {
    weft_op *o;
    int64_t m, next[WEFT_OP_N_COMPUTE][2];
} writer;

static void put(writer *w, int kind, int chunk)
{
    int64_t i = w->next[kind][chunk]++;
    if (i < w->m) w->o = wf_put(w->o, kind, i, chunk);
}

static void put_fiw(writer *w, int chunk)
{
    put(w, WEFT_OP_F, chunk);
    put(w, WEFT_OP_I, chunk);
    put(w, WEFT_OP_W, chunk);
}

static void put_rank(writer *w, int p, int r)
{
    int64_t n = wf_most(w->m, 2 * (int64_t)p - 1);
    for (int64_t i = 0; i < 2 * (int64_t)(p - r) - 1; i++)
        put(w, WEFT_OP_F, 0);
    for (int i = 0; i < r; i++) {
        put(w, WEFT_OP_F, 1);
        put(w, WEFT_OP_F, 0);
    }
    for (int i = 0; i < p - r; i++)
        put_fiw(w, 1);
    while (w->next[WEFT_OP_F][1] < n) {
        if (w->next[WEFT_OP_F][0] < n) put(w, WEFT_OP_F, 0);
        put(w, WEFT_OP_I, 0);
        put(w, WEFT_OP_W, 0);
        put_fiw(w, 1);
    }
    for (int i = 0; i < r; i++) {
        put(w, WEFT_OP_I, 0);
        put(w, WEFT_OP_I, 1);
    }
    for (int i = 0; i < p - r; i++) {
        put(w, WEFT_OP_I, 0);
        put(w, WEFT_OP_W, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--)
        while (w->next[WEFT_OP_W][chunk] < n)
            put(w, WEFT_OP_W, chunk);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    for (int r = 0; r < s->p; r++) {
        writer w = {.o = &s->op[s->first[r]], .m = s->m};
        put_rank(&w, s->p, r);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return q->m < 2 * (int64_t)q->p - 1 ? -1 : 2 * (int64_t)q->p;
}

static double makespan(const weft_schedule *q, const wf_times *t)
{
    if (q->m < 2 * (int64_t)q->p - 1 || t->f != t->i || t->f != t->w) return NAN;
    return (3.0 * q->m + (q->p - 1) / 2.0) * t->f;
}

const weft_schedule_kind wf_kind_zb_v = {
    .name = "zb-v",
    .summary =
        "two chunks on a V, no wait between a rank's first and last op, the memory "
        "of 1f1b",
    .source = "Qi et al. 2024, Zero Bubble Pipeline Parallelism",
    .splits = 1,
    .chunks = 2,
    .applicable = wf_on_v,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
