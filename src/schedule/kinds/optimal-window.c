/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each op a head, a time before which it cannot start, and a tail, a time that must
 * pass after its end, in any order of the problem. Every stage takes its micro-batches in
 * order (optimal.h says why that is no loss), and B is I and W in one (which is no better
 * than I, then W).
 *
 *   head  of F(s, k): after F(s-1, k) and a message; after F(s, k-1); after the I's and
 *         W's that make room for it (below).
 *   head  of I(s, k): after I(s+1, k), or F(s, k) on the last stage; after I(s, k-1).
 *         When I(s, k) starts, its rank has done F of the micro-batches 0..k on all its
 *         stages (they reached the last stage in order), I of 0..k on its later stages
 *         and I of 0..k-1 on s. It began no sooner than the head of its first forward.
 *   head  of W(s, k): after I(s, k); after W(s, k-1).
 *   tail  the same seen from the end: after F(s, k) come F(s+1, k), F(s, k+1), I(s, k),
 *         and on its rank F of k..m-1 on later stages, of k+1..m-1 on s itself, I and W
 *         of k..m-1 on all of its stages; after I(s, k) come I(s-1, k), I(s, k+1) and
 *         W(s, k), and on its rank I of k+1..m-1 on s, I of k..m-1 on earlier stages,
 *         W of k..m-1 on s and on earlier stages; after an I or a W the forward that it
 *         makes room for.
 *
 * Room. When F(s, k) starts, its rank holds a micro-batch k on each of its stages up to s
 * (none of them can have had its I). Let e be one of these stages.
 * If I(e, j) has not been done, neither have I(e', j) on earlier stages e' of the rank:
 * held are k+1-j micro-batches on e and on each e', and one on every stage between e and s.
 * If W(e, j) has not been done, k+1-j micro-batches of e are held for their W at least.
 * Where that is more than the limit, I(e, j) or W(e, j) comes before F(s, k).
 */
#include <math.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal.h"

typedef struct windower {
    const wf_problem *x;
    wf_window *w;
} windower;

static double *head(const windower *b, int stage, int part, int64_t k)
{
    return &b->w->head[wf_lane(stage, part) * (int64_t)b->x->m + k];
}

static double *tail(const windower *b, int stage, int part, int64_t k)
{
    return &b->w->tail[wf_lane(stage, part) * (int64_t)b->x->m + k];
}

static double dur(const windower *b, int stage, int part)
{
    return b->x->dur[wf_lane(stage, part)];
}

/* End of an op that starts at its head; what passes from the start of one to the end. */
static double after(const windower *b, int stage, int part, int64_t k)
{
    return *head(b, stage, part, k) + dur(b, stage, part);
}

static double until(const windower *b, int stage, int part, int64_t k)
{
    return dur(b, stage, part) + *tail(b, stage, part, k);
}

/* Work of one micro-batch on the stages of a rank that come before (-1) or after (1)
 * `stage`, or on all (0). */
static double rank_work(const windower *b, int stage, int side, int part)
{
    const wf_problem *x = b->x;
    int r = x->rank[stage];
    double work = 0;
    for (int c = 0; c < x->v; c++) {
        int s = x->stage[(int64_t)r * x->v + c];
        if (!side || (side > 0 ? s > stage : s < stage)) work += dur(b, s, part);
    }
    return work;
}

/* ---- room ----------------------------------------------------------------------- */

static int64_t whole(const wf_problem *x, double room, double each)
{
    return each > 0 && room / each < x->m ? (int64_t)(room / each) : x->m;
}

/* Of the forwards of chunk c of a rank. */
static void set_room(const windower *b, int rank, int c)
{
    const wf_problem *x = b->x;
    const int *stage = x->stage + (int64_t)rank * x->v;
    int64_t *room = b->w->room + (int64_t)stage[c] * x->v * 2;
    double most = wf_most_held(x, rank), all = 0, upto = 0;
    for (int e = 0; e <= c; e++)
        all += x->hold[wf_lane(stage[e], WF_LANE_F)];
    for (int e = 0; e < x->v; e++, room += 2) {
        room[0] = room[1] = x->m;
        if (e > c || !(most < INFINITY)) continue;
        upto += x->hold[wf_lane(stage[e], WF_LANE_F)];
        double for_w = -x->hold[wf_lane(stage[e], WF_LANE_W)];
        room[0] = whole(x, most - (all - upto), upto);
        room[1] = whole(x, most - (all - for_w), for_w);
    }
}

/* ---- heads ---------------------------------------------------------------------- */

static double room_head(const windower *b, int s, int64_t k)
{
    const wf_problem *x = b->x;
    double t = 0;
    for (int i = 0; i < 2 * x->v; i++) {
        int64_t n = b->w->room[(int64_t)s * x->v * 2 + i];
        int e = x->stage[(int64_t)x->rank[s] * x->v + i / 2];
        if (k >= n) t = fmax(t, after(b, e, WF_LANE_I + i % 2, k - n));
    }
    return t;
}

static void forward_heads(const windower *b, int64_t k)
{
    const wf_problem *x = b->x;
    for (int s = 0; s < x->n; s++) {
        double t = room_head(b, s, k);
        if (s)
            t = fmax(t,
                     after(b, s - 1, WF_LANE_F, k) + x->delay[wf_lane(s, WF_LANE_F)]);
        if (k) t = fmax(t, after(b, s, WF_LANE_F, k - 1));
        *head(b, s, WF_LANE_F, k) = t;
    }
}

static void backward_heads(const windower *b, int64_t k)
{
    const wf_problem *x = b->x;
    for (int s = x->n - 1; s >= 0; s--) {
        double t = after(b, s, WF_LANE_F, k);
        double begun = *head(b, x->stage[(int64_t)x->rank[s] * x->v], WF_LANE_F, 0);
        if (s < x->n - 1)
            t = after(b, s + 1, WF_LANE_I, k) + x->delay[wf_lane(s, WF_LANE_I)];
        if (k) t = fmax(t, after(b, s, WF_LANE_I, k - 1));
        double work = (double)(k + 1) * (rank_work(b, s, 0, WF_LANE_F) +
                                         rank_work(b, s, 1, WF_LANE_I)) +
                      (double)k * dur(b, s, WF_LANE_I);
        *head(b, s, WF_LANE_I, k) = fmax(t, begun + work);
        t = after(b, s, WF_LANE_I, k);
        if (k) t = fmax(t, after(b, s, WF_LANE_W, k - 1));
        *head(b, s, WF_LANE_W, k) = t;
    }
}

/* ---- tails ---------------------------------------------------------------------- */

/* Of an I or a W: the forwards that wait for its room, all of later micro-batches. */
static double room_tail(const windower *b, int s, int part, int64_t k)
{
    const wf_problem *x = b->x;
    const int *stage = x->stage + (int64_t)x->rank[s] * x->v;
    double t = 0;
    int own = 0;
    while (stage[own] != s)
        own++;
    for (int c = own; c < x->v; c++) {
        int64_t n =
            b->w->room[((int64_t)stage[c] * x->v + own) * 2 + (part == WF_LANE_W)];
        if (k + n < x->m) t = fmax(t, until(b, stage[c], WF_LANE_F, k + n));
    }
    return t;
}

static void backward_tails(const windower *b, int64_t k)
{
    const wf_problem *x = b->x;
    int64_t rest = x->m - k; /* micro-batches k .. m-1 */
    for (int s = 0; s < x->n; s++) {
        double t = room_tail(b, s, WF_LANE_W, k);
        if (rest > 1) t = fmax(t, until(b, s, WF_LANE_W, k + 1));
        *tail(b, s, WF_LANE_W, k) = t;
        t = fmax(until(b, s, WF_LANE_W, k), room_tail(b, s, WF_LANE_I, k));
        if (s)
            t = fmax(t, until(b, s - 1, WF_LANE_I, k) +
                            x->delay[wf_lane(s - 1, WF_LANE_I)]);
        if (rest > 1) t = fmax(t, until(b, s, WF_LANE_I, k + 1));
        double own = (double)(rest - 1) * dur(b, s, WF_LANE_I) +
                     (double)rest * dur(b, s, WF_LANE_W);
        double earlier =
            rank_work(b, s, -1, WF_LANE_I) + rank_work(b, s, -1, WF_LANE_W);
        *tail(b, s, WF_LANE_I, k) = fmax(t, own + (double)rest * earlier);
    }
}

static void forward_tails(const windower *b, int64_t k)
{
    const wf_problem *x = b->x;
    int64_t rest = x->m - k;
    for (int s = x->n - 1; s >= 0; s--) {
        double t = until(b, s, WF_LANE_I, k);
        if (s < x->n - 1)
            t = fmax(t, until(b, s + 1, WF_LANE_F, k) +
                            x->delay[wf_lane(s + 1, WF_LANE_F)]);
        if (rest > 1) t = fmax(t, until(b, s, WF_LANE_F, k + 1));
        double work = (double)rest * (rank_work(b, s, 0, WF_LANE_I) +
                                      rank_work(b, s, 0, WF_LANE_W) +
                                      rank_work(b, s, 1, WF_LANE_F)) +
                      (double)(rest - 1) * dur(b, s, WF_LANE_F);
        *tail(b, s, WF_LANE_F, k) = fmax(t, work);
    }
}

/* ---- all ------------------------------------------------------------------------ */

static void fill(const windower *b)
{
    const wf_problem *x = b->x;
    for (int i = 0; i < x->n; i++)
        set_room(b, i / x->v, i % x->v);
    for (int64_t k = 0; k < x->m; k++) {
        forward_heads(b, k);
        backward_heads(b, k);
    }
    for (int64_t k = x->m - 1; k >= 0; k--) {
        backward_tails(b, k);
        forward_tails(b, k);
    }
}

weft_status wf_window_init(const wf_problem *x, wf_window *out)
{
    wf_window w = {0};
    weft_status st = WF_ALLOC(x->p * x->len, &w.head);
    if (st == WEFT_OK) st = WF_ALLOC(x->p * x->len, &w.tail);
    if (st == WEFT_OK) st = WF_ALLOC((int64_t)x->n * x->v * 2, &w.room);
    if (st != WEFT_OK) {
        wf_window_clear(&w);
        return st;
    }
    fill(&(windower){x, &w});
    *out = w;
    return WEFT_OK;
}

void wf_window_clear(wf_window *w)
{
    wf_free(w->head);
    wf_free(w->tail);
    wf_free(w->room);
    *w = (wf_window){0};
}
