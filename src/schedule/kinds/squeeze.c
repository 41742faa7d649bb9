/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/squeeze.h"

#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "schedule/ir.h"

enum { STREAMS = 4 }; /* F and backward of two chunks: index 2*chunk + (1: backward) */

typedef struct rank_state {
    int next[STREAMS]; /* next micro-batch of each            */
    int next_w[2];
    int64_t held, held_back; /* halves; activations freed at I or B */
    double free;
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

/* ---- who is next ---------------------------------------------------------------- */

static void set_wake(run *x, int rank, double t)
{
    int i = x->leaves + rank;
    x->wake[i] = t;
    for (i /= 2; i > 0; i /= 2)
        x->wake[i] = fmin(x->wake[2 * i], x->wake[2 * i + 1]);
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

static int64_t key(const run *x, int r, int chunk, int part, int64_t micro)
{
    return x->how->block[r].slot[chunk][part] + x->how->period * micro;
}

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
static int pending_w(const run *x, int r, int64_t *its_key)
{
    const rank_state *k = &x->rank[r];
    int best = -1;
    for (int c = 0; c < x->s->v && x->x->split; c++) {
        if (k->next_w[c] >= k->next[2 * c + WF_BACK]) continue;
        int64_t own = key(x, r, c, WF_WEIGHT, k->next_w[c]);
        if (best >= 0 && own >= *its_key) continue;
        best = c;
        *its_key = own;
    }
    return best;
}

/* A walk along what is left of a rank's slot order, as if each I took its W along. */
typedef struct ahead {
    int at[STREAMS];
    int blocked[STREAMS];
    int64_t held, held_back, most, most_back;
} ahead;

static ahead look_ahead(const run *x, int r)
{
    const rank_state *k = &x->rank[r];
    ahead a = {.held = k->held, .held_back = k->held_back};
    for (int i = 0; i < 2 * x->s->v; i++)
        a.at[i] = k->next[i];
    for (int c = 0; c < x->s->v && x->x->split; c++)
        a.held -= x->how->keep * (int64_t)(k->next[2 * c + WF_BACK] - k->next_w[c]);
    a.most = a.held;
    a.most_back = a.held_back;
    return a;
}

/* Stream of the next op on the walk, -1 at its end. */
static int next_stream(const run *x, int r, const ahead *a, int64_t *its_key)
{
    int best = -1;
    for (int i = 0; i < 2 * x->s->v; i++) {
        if (a->at[i] >= x->s->m) continue;
        int64_t own = key(x, r, i / 2, i % 2, a->at[i]);
        if (best >= 0 && own >= *its_key) continue;
        best = i;
        *its_key = own;
    }
    return best;
}

static void pass(ahead *a, int stream)
{
    int sign = stream % 2 ? -1 : 1;
    a->at[stream]++;
    a->blocked[stream] = 1;
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

static int forwards_left(const run *x, int r)
{
    for (int c = 0; c < x->s->v; c++)
        if (x->rank[r].next[2 * c] < x->s->m) return 1;
    return 0;
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
    ahead a = look_ahead(x, r);
    int64_t first_key = 0;
    int stream = next_stream(x, r, &a, &first_key), left = forwards_left(x, r),
        more = 1;
    int64_t w_key = 0;

    *wait = INFINITY;
    if (stream < 0) return none;
    if (w >= 0 && x->how->due && left && x->rank[r].next_w[w] >= x->how->start) {
        pending_w(x, r, &w_key);
        if (w_key < first_key) return (choice){WF_WEIGHT, w};
    }
    if (!left || a.at[stream] < x->how->start) more += x->how->ahead;
    for (int n = 0; n < more && stream >= 0; n++) {
        double ready = input_at(x, r, stream, a.at[stream]);
        if (!a.blocked[stream] && ready <= t + x->late) {
            choice c = {stream % 2, stream / 2};
            if (c.part == WF_BACK || (fits_now(x, r) && (n == 0 || fits(x, r, &a))))
                return c;
            if (n == 0 && w >= 0 && x->rank[r].held_back + 1 <= limit_back(x, r))
                return (choice){WF_WEIGHT, w}; /* makes room */
        } else if (n == 0 && !ends_at(x, r, stream)) {
            *wait = ready;
        }
        pass(&a, stream);
        stream = next_stream(x, r, &a, &first_key);
    }
    return none;
}

static choice pick(const run *x, int r, double t)
{
    double wait, share = x->how->fill == WF_FILL_FIT    ? 1
                         : x->how->fill == WF_FILL_HALF ? 0.5
                                                        : 0;
    int64_t w_key = 0;
    int w = pending_w(x, r, &w_key);
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
        if (ready > t + x->late) soon = fmin(soon, ready);
    }
    return soon;
}

/* The input of the next op of a cell comes at `t`; its rank may wait for that. */
static void deliver(run *x, int r, int chunk, int64_t micro, double t)
{
    *ready_at(x, r, chunk, micro) = t;
    double look = fmax(t, x->rank[r].free);
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
    int *next =
        c.part == WF_WEIGHT ? &k->next_w[c.chunk] : &k->next[2 * c.chunk + c.part];
    weft_op *op = k->o;
    k->o = wf_put(op, x->kinds[c.part], (*next)++, c.chunk);
    k->free = t + x->x->dur[c.part];
    count_held(x, k, c.part);
    set_wake(x, r, k->free);
    if (c.part != WF_WEIGHT) hand_on(x, r, op, k->free);
}

static weft_status go(run *x)
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
        left--;
    }
    return WEFT_OK;
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
        x->rank[r].o = &s->op[s->first[r]];
        set_wake(x, r, 0);
    }
    x->kinds[WF_FORWARD] = WEFT_OP_F;
    x->kinds[WF_BACK] = x->x->split ? WEFT_OP_I : WEFT_OP_B;
    x->kinds[WF_WEIGHT] = WEFT_OP_W;
    x->late = wf_rounding(x->x);
    return WEFT_OK;
}

weft_status wf_squeeze(const wf_search *search, const wf_try *how,
                       const weft_schedule *s)
{
    run x = {.x = search, .how = how, .s = s};
    weft_status st = start(&x);
    if (st == WEFT_OK) st = go(&x);
    wf_free(x.link);
    wf_free(x.ready);
    wf_free(x.rank);
    wf_free(x.wake);
    return st;
}
