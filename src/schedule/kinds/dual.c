/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "near" is the chunk whose micro-batches enter at the nearer end, "far" the other; h
 * the distance to that end, P that from the end to the middle. X & Y marks two ops that
 * the rank may run as one.
 *
 *   1  2(P-h-1) times   F near
 *   2  h+1              F near, F far
 *   3  P-h-1            I far, W, F far
 *   4  n-2P+h+1         F near & B far, F far & B near (the rank where the chunks meet
 *                       begins with F near, B far apart: they are the same
 *                       micro-batch, or of the same age)
 *   5  P-h-1            B far, F far & B near
 *   6  h+1              B far, B near; half-way B gives way to I
 *   7  P-h-1            W, I near
 *   8                   the W's left, oldest first
 */
#include "schedule/kinds/dual.h"

typedef struct writer {
    const wf_dual *d;
    weft_op *o;
    const weft_op *w_at;
    int64_t next[2][2]; /* [forward, backward][near, far] */
} writer;

enum { NEAR, FAR };

static void put(writer *w, int kind, int side)
{
    int chunk = w->d->near ^ side;
    int64_t i = w->next[kind != WEFT_OP_F][side]++;
    w->o = wf_put(w->o, kind, w->d->base[chunk] + i, chunk);
}

static void put_w(writer *w)
{
    w->o = wf_put_oldest_w(w->o, &w->w_at);
}

static void put_pair(writer *w, int side)
{
    put(w, WEFT_OP_F, side);
    w->o[-1].flags = WEFT_OPF_PAIR;
    put(w, WEFT_OP_B, side ^ 1);
}

static void put_fill(writer *w, int h, int rest)
{
    for (int i = 0; i < 2 * rest; i++)
        put(w, WEFT_OP_F, NEAR);
    for (int i = 0; i <= h; i++) {
        put(w, WEFT_OP_F, NEAR);
        put(w, WEFT_OP_F, FAR);
    }
    for (int i = 0; i < rest; i++) {
        put(w, WEFT_OP_I, FAR);
        put_w(w);
        put(w, WEFT_OP_F, FAR);
    }
}

static void put_steady(writer *w, int64_t pairs, int rest)
{
    for (int64_t i = 0; i < pairs; i++) {
        if (i == 0 && rest == 0) {
            put(w, WEFT_OP_F, NEAR);
            put(w, WEFT_OP_B, FAR);
        } else {
            put_pair(w, NEAR);
        }
        put_pair(w, FAR);
    }
    for (int i = 0; i < rest; i++) {
        put(w, WEFT_OP_B, FAR);
        put_pair(w, FAR);
    }
}

static void put_drain(writer *w, int h, int rest)
{
    for (int i = 0; i < 2 * (h + 1); i++)
        put(w, i <= h ? WEFT_OP_B : WEFT_OP_I, i & 1 ? NEAR : FAR);
    for (int i = 0; i < rest; i++) {
        put_w(w);
        put(w, WEFT_OP_I, NEAR);
    }
    for (int i = 0; i <= h; i++)
        put_w(w);
}

int64_t wf_dual_count(const wf_dual *d)
{
    return 4 * d->n + 2 * (d->half - d->from_end - 1) + d->from_end + 1;
}

void wf_dual_put(const wf_dual *d, weft_op *o)
{
    writer w = {.d = d, .o = o, .w_at = o};
    int h = d->from_end, rest = d->half - h - 1;
    put_fill(&w, h, rest);
    put_steady(&w, d->n - 2 * (int64_t)d->half + h + 1, rest);
    put_drain(&w, h, rest);
}
