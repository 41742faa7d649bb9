/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/squeeze.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/ir.h"

enum { STREAMS = 4 }; /* F and backward of two chunks: index 2*chunk + (1: backward) */
#define NO_KEY INT64_MAX

typedef struct rank_state {
    int64_t
        key[STREAMS]; /* place of the next op of each in slot order; NO_KEY: no more */
    int64_t key_w[2];
    int next[STREAMS]; /* its micro-batch */
    int next_w[2];
    int64_t held, held_back; /* halves; activations freed at I or B */
    double free, first;      /* end of its last op, start of its first */
    double left;             /* work */
    weft_op *o;
} rank_state;

typedef struct run {
    const wf_search *x;
    const wf_try *how;
    const weft_schedule *s;
    wf_link *link;
    double
        *ready; /* [cells] when the input of its next op comes; INFINITY: not known */
    rank_state *rank;
    double *wake; /* [2*leaves] tournament: the leaves are ranks, a node the lesser */
    int leaves, kinds[WF_N_PARTS];
    double late; /* rounding */
} run;

/* In place of fmin(), which is a call where NaN has to be right. */
static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* ---- who is next ---------------------------------------------------------------- */

static void set_wake(run *x, int rank, double t)
{
    int i = x->leaves + rank;
    x->wake[i] = t;
    for (i /= 2; i > 0; i /= 2)
        x->wake[i] = lesser(x->wake[2 * i], x->wake[2 * i + 1]);
}

static int first_awake(const run *x)
{
    int i = 1;
    while (i < x->leaves)
        i = 2 * i + (x->wake[2 * i] > x->wake[i]);
    return i - x->leaves;
}

/* ---- what a rank does ----------------------------------------------------------- */

typedef struct choice {
    int part, chunk; /* part -1: nothing */
} choice;

/* Room for the time at which the next op of a cell has its input. */
static double *ready_at(const run *x, int r, int chunk, int64_t micro)
{
    return &x->ready[wf_cell(x->s, r, chunk, micro)];
}

/* When the input of an op comes: INFINITY where that is not known. */
static double input_at(const run *x, int r, int stream, int64_t micro)
{
    if (stream % 2 && micro >= x->rank[r].next[stream - 1]) return INFINITY;
    return *ready_at(x, r, stream / 2, micro);
}

/* Chunk whose W is next in slot order, -1 when none is pending. */
static int pending_w(const run *x, int r)
{
    const rank_state *k = &x->rank[r];
    int64_t least = NO_KEY;
    int best = -1;
    for (int c = 0; c < x->s->v && x->x->split; c++) {
        if (k->next_w[c] >= k->next[2 * c + WF_BACK] || k->key_w[c] >= least) continue;
        best = c;
        least = k->key_w[c];
    }
    return best;
}

/* A walk along what is left of a rank's slot order, as if each I took its W along. */
typedef struct ahead {
    int64_t key[STREAMS];
    int at[STREAMS];
    unsigned blocked; /* bit of a stream */
    int64_t held, held_back, most, most_back;
} ahead;

static void look_ahead(const run *x, int r, ahead *a)
{
    const rank_state *k = &x->rank[r];
    memcpy(a->key, k->key, sizeof a->key);
    memcpy(a->at, k->next, sizeof a->at);
    a->blocked = 0;
    a->held = k->held;
    a->held_back = k->held_back;
    for (int c = 0; c < x->s->v && x->x->split; c++)
        a->held -= x->how->keep * (int64_t)(k->next[2 * c + WF_BACK] - k->next_w[c]);
    a->most = a->held;
    a->most_back = a->held_back;
}

/* Stream of the next op on the walk, -1 at its end. */
static int next_stream(const ahead *a)
{
    int low = a->key[1] < a->key[0], high = 2 + (a->key[3] < a->key[2]);
    int best = a->key[high] < a->key[low] ? high : low;
    return a->key[best] == NO_KEY ? -1 : best;
}

static int64_t key_after(const run *x, int64_t key, int next)
{
    return next < x->s->m ? key + x->how->period : NO_KEY;
}

static void pass(const run *x, ahead *a, int stream)
{
    int sign = stream % 2 ? -1 : 1;
    a->key[stream] = key_after(x, a->key[stream], ++a->at[stream]);
    a->blocked |= 1u << stream;
    a->held += 2 * sign;
    a->held_back += sign;
    a->most = wf_most(a->most, a->held);
    a->most_back = wf_most(a->most_back, a->held_back);
}

static int64_t limit_back(const run *x, int r)
{
    return x->x->limit_back ? x->x->limit_back[r] : INT64_MAX;
}

/* May an F come now, with the passed ops after it? */
static int fits(const run *x, int r, const ahead *a)
{
    return a->most + 2 <= x->x->limit && a->most_back + 1 <= limit_back(x, r);
}

static int fits_now(const run *x, int r)
{
    const rank_state *k = &x->rank[r];
    return k->held + 2 <= x->x->limit && k->held_back + 1 <= limit_back(x, r);
}

static int forwards_left(const rank_state *k)
{
    return k->key[0] != NO_KEY || k->key[2] != NO_KEY;
}

/* Backwards of stage 0, for whose result nobody waits. */
static int ends_at(const run *x, int r, int stream)
{
    return stream == WF_BACK && x->link[r * x->s->v].up_rank < 0;
}

/* An op that can begin at t. Sets *wait to when the first in slot order can, if it is
 * anyone's loss that it comes later. */
static choice pick_op(const run *x, int r, double t, int w, double *wait)
{
    const choice none = {-1, 0};
    const rank_state *k = &x->rank[r];
    ahead a;
    look_ahead(x, r, &a);
    int stream = next_stream(&a), left = forwards_left(k), more = 1;

    *wait = INFINITY;
    if (stream < 0) return none;
    if (w >= 0 && x->how->due && left && k->next_w[w] >= x->how->start &&
        k->key_w[w] < a.key[stream])
        return (choice){WF_WEIGHT, w};
    if (!left || a.at[stream] < x->how->start) more += x->how->ahead;
    for (int n = 0; n < more && stream >= 0; n++) {
        double ready = input_at(x, r, stream, a.at[stream]);
        if (!(a.blocked >> stream & 1) && ready <= t + x->late) {
            choice c = {stream % 2, stream / 2};
            if (c.part == WF_BACK || (fits_now(x, r) && (n == 0 || fits(x, r, &a))))
                return c;
            if (n == 0 && w >= 0 && k->held_back + 1 <= limit_back(x, r))
                return (choice){WF_WEIGHT, w}; /* makes room */
        } else if (n == 0 && !ends_at(x, r, stream)) {
            *wait = ready;
        }
        pass(x, &a, stream);
        stream = next_stream(&a);
    }
    return none;
}

static choice pick(const run *x, int r, double t)
{
    double wait, share = x->how->fill == WF_FILL_FIT    ? 1
                         : x->how->fill == WF_FILL_HALF ? 0.5
                                                        : 0;
    int w = pending_w(x, r);
    choice c = pick_op(x, r, t, w, &wait);
    if (c.part < 0 && w >= 0 && wait >= t + share * x->x->dur[WF_WEIGHT] - x->late)
        c = (choice){WF_WEIGHT, w};
    return c;
}

/* ---- doing it ------------------------------------------------------------------- */

/* When a rank that found nothing to do at t looks again. */
static double next_look(const run *x, int r, double t)
{
    double soon = INFINITY;
    for (int i = 0; i < 2 * x->s->v; i++) {
        if (x->rank[r].next[i] >= x->s->m) continue;
        double ready = input_at(x, r, i, x->rank[r].next[i]);
        if (ready > t + x->late) soon = lesser(soon, ready);
    }
    return soon;
}

/* The input of the next op of a cell comes at `t`; its rank may wait for that. */
static void deliver(run *x, int r, int chunk, int64_t micro, double t)
{
    *ready_at(x, r, chunk, micro) = t;
    double free = x->rank[r].free, look = t > free ? t : free;
    if (look < x->wake[x->leaves + r]) set_wake(x, r, look);
}

static void hand_on(run *x, int r, const weft_op *op, double end)
{
    int chunk, to = wf_target(op, &x->link[r * x->s->v + op->chunk], &chunk);
    *ready_at(x, r, op->chunk, op->micro) = INFINITY;
    if (to >= 0)
        deliver(x, to, chunk, op->micro, end + (to == r ? 0 : x->x->latency));
    else if (op->kind == WEFT_OP_F)
        deliver(x, r, op->chunk, op->micro, end); /* the last stage turns round */
}

static void count_held(run *x, rank_state *k, int part)
{
    if (part == WF_FORWARD)
        k->held += 2, k->held_back++;
    else if (part == WF_WEIGHT)
        k->held -= x->how->keep;
    else
        k->held -= x->x->split ? 2 - x->how->keep : 2, k->held_back--;
}

static void do_op(run *x, int r, choice c, double t)
{
    rank_state *k = &x->rank[r];
    int stream = 2 * c.chunk + c.part, is_w = c.part == WF_WEIGHT;
    int *next = is_w ? &k->next_w[c.chunk] : &k->next[stream];
    int64_t *its_key = is_w ? &k->key_w[c.chunk] : &k->key[stream];
    weft_op *op = k->o;
    k->o = wf_put(op, x->kinds[c.part], (*next)++, c.chunk);
    *its_key = key_after(x, *its_key, *next);
    if (!(k->first >= 0)) k->first = t;
    k->free = t + x->x->dur[c.part];
    k->left -= x->x->dur[c.part];
    count_held(x, k, c.part);
    set_wake(x, r, k->free);
    if (c.part != WF_WEIGHT) hand_on(x, r, op, k->free);
}

static weft_status go(run *x, double latest)
{
    int64_t left = x->s->first[x->s->p];
    while (left > 0) {
        int r = first_awake(x);
        double t = x->wake[1];
        if (t > DBL_MAX)
            return WF_FAIL(WEFT_E_INFEASIBLE, "the ranks wait for each other");
        choice c = pick(x, r, t);
        if (c.part < 0) {
            set_wake(x, r, next_look(x, r, t));
            continue;
        }
        do_op(x, r, c, t);
        if (x->rank[r].free + x->rank[r].left > latest)
            return WF_FAIL(WEFT_E_INFEASIBLE, "rank %d would end after %g", r, latest);
        left--;
    }
    return WEFT_OK;
}

static double work_of_rank(const run *x)
{
    const double *d = x->x->dur;
    double each = d[WF_FORWARD] + d[WF_BACK] + (x->x->split ? d[WF_WEIGHT] : 0);
    return each * x->s->v * x->s->m;
}

static void start_rank(const run *x, int r)
{
    rank_state *k = &x->rank[r];
    k->o = &x->s->op[x->s->first[r]];
    k->first = -1;
    k->left = work_of_rank(x);
    for (int i = 0; i < STREAMS; i++)
        k->key[i] = i / 2 < x->s->v ? x->how->block[r].slot[i / 2][i % 2] : NO_KEY;
    for (int c = 0; c < 2; c++)
        k->key_w[c] = x->how->block[r].slot[c][WF_WEIGHT];
}

static weft_status start(run *x)
{
    const weft_schedule *s = x->s;
    int64_t cells = (int64_t)s->p * s->v * s->m;
    x->leaves = 1;
    while (x->leaves < s->p)
        x->leaves *= 2;
    WF_TRY(wf_links(s, &x->link));
    WF_TRY(WF_ALLOC(cells, &x->ready));
    WF_TRY(WF_ALLOC(s->p, &x->rank));
    WF_TRY(WF_ALLOC(2 * x->leaves, &x->wake));
    for (int64_t i = 0; i < cells; i++)
        x->ready[i] = INFINITY;
    for (int64_t i = 0; i < s->m; i++)
        *ready_at(x, 0, 0, i) = 0; /* stage 0 is chunk 0 of rank 0 */
    for (int i = 0; i < 2 * x->leaves; i++)
        x->wake[i] = INFINITY;
    for (int r = 0; r < s->p; r++) {
        start_rank(x, r);
        set_wake(x, r, 0);
    }
    x->kinds[WF_FORWARD] = WEFT_OP_F;
    x->kinds[WF_BACK] = x->x->split ? WEFT_OP_I : WEFT_OP_B;
    x->kinds[WF_WEIGHT] = WEFT_OP_W;
    x->late = wf_rounding(x->x);
    return WEFT_OK;
}

static wf_squeezed end_of(const run *x)
{
    wf_squeezed e = {0, 0};
    for (int r = 0; r < x->s->p; r++) {
        e.makespan = fmax(e.makespan, x->rank[r].free);
        e.span = fmax(e.span, x->rank[r].free - x->rank[r].first);
    }
    return e;
}

weft_status wf_squeeze(const wf_search *search, const wf_try *how,
                       const weft_schedule *s, double latest, wf_squeezed *out)
{
    run x = {.x = search, .how = how, .s = s};
    weft_status st = start(&x);
    if (st == WEFT_OK) st = go(&x, latest);
    if (st == WEFT_OK) *out = end_of(&x);
    wf_free(x.link);
    wf_free(x.ready);
    wf_free(x.rank);
    wf_free(x.wake);
    return st;
}
