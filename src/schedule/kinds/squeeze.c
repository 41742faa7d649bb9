/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/squeeze.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/ir.h"
#include "schedule/kinds/wake.h"

enum { STREAMS = 4 }; /* F and backward of two chunks: index 2*chunk + (1: backward) */
#define NO_KEY INT64_MAX

/* Where the result of a stream's ops goes: the room for when it comes, by
 * micro-batch. */
typedef struct outlet {
    double *ready; /* NULL: nowhere */
    int rank;
    double delay;
} outlet;

typedef struct rank_state {
    int64_t key[STREAMS]; /* place of the next op of each in slot order; NO_KEY:
                           no more */
    int64_t key_w[2];
    int next[STREAMS]; /* its micro-batch */
    int next_w[2];
    int64_t held, held_back; /* halves; activations freed at I or B */
    int64_t limit_back;
    double free, first;       /* end of its last op, start of its first */
    double left, left_passed; /* work, and that of it which is no W */
    double tail;              /* least from its last backward to the end of the run */
    double *ready[2];         /* of a chunk, [m]: when the input of a micro-batch's next
                       op comes; INFINITY: not known */
    double way[STREAMS]; /* least from the end of an op to that of its micro-batch */
    outlet out[STREAMS];
    weft_op *o;
} rank_state;

typedef struct run {
    const wf_search *x;
    const wf_try *how;
    const weft_schedule *s;
    int m;
    double *ready; /* [cells] */
    rank_state *rank;
    wf_wake wake;
    int kinds[WF_N_PARTS];
    double late; /* rounding */
} run;

/* In place of fmin(), which is a call where NaN has to be right. */
static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

/* ---- what a rank does
 * ----------------------------------------------------------- */

enum { NOTHING = -1 };

typedef struct choice {
    int part, chunk;
} choice;

/* When the input of an op comes: INFINITY where that is not known. */
static double input_at(const rank_state *k, int stream, int micro)
{
    if (stream % 2 && micro >= k->next[stream - 1]) return INFINITY;
    return k->ready[stream / 2][micro];
}

/* Chunk whose W is next in slot order, -1 when none is pending. */
static int pending_w(const rank_state *k)
{
    int first = k->next_w[0] < k->next[WF_BACK];
    int second = k->next_w[1] < k->next[2 + WF_BACK];
    return second && (!first || k->key_w[1] < k->key_w[0]) ? 1 : first - 1;
}

/* Stream of the least key, -1 where there is none. */
static int next_stream(const int64_t key[STREAMS])
{
    int low = key[1] < key[0], high = 2 + (key[3] < key[2]);
    int best = key[high] < key[low] ? high : low;
    return key[best] == NO_KEY ? -1 : best;
}

static int64_t key_after(const run *x, int64_t key, int next)
{
    return next < x->m ? key + x->how->period : NO_KEY;
}

/* A walk along what is left of a rank's slot order, as if each I took its W
 * along. */
typedef struct ahead {
    int64_t key[STREAMS];
    int at[STREAMS];
    unsigned blocked; /* bit of a stream */
    int64_t held, held_back, most, most_back;
} ahead;

static void look_ahead(const run *x, const rank_state *k, ahead *a)
{
    memcpy(a->key, k->key, sizeof a->key);
    memcpy(a->at, k->next, sizeof a->at);
    a->blocked = 0;
    a->held = k->held;
    a->held_back = k->held_back;
    for (int c = 0; c < 2 && x->x->split; c++)
        a->held -= x->how->keep * (int64_t)(k->next[2 * c + WF_BACK] - k->next_w[c]);
    a->most = a->held;
    a->most_back = a->held_back;
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

/* May an F come now? */
static int fits_now(const run *x, const rank_state *k)
{
    return k->held + 2 <= x->x->limit && k->held_back + 1 <= k->limit_back;
}

/* ... with the passed ops after it? */
static int fits(const run *x, const rank_state *k, const ahead *a)
{
    return a->most + 2 <= x->x->limit && a->most_back + 1 <= k->limit_back;
}

static int forwards_left(const rank_state *k)
{
    return k->key[0] != NO_KEY || k->key[2] != NO_KEY;
}

/* An op that can begin at t, up to how->ahead ones after the head of the slot
 * order. */
static choice pick_ahead(const run *x, const rank_state *k, double t)
{
    ahead a;
    look_ahead(x, k, &a);
    int stream = next_stream(a.key), last = x->how->ahead;
    for (int n = 0; n < last; n++) {
        pass(x, &a, stream);
        stream = next_stream(a.key);
        if (stream < 0) break;
        if (a.blocked >> stream & 1) continue;
        if (!(input_at(k, stream, a.at[stream]) <= t + x->late)) continue;
        if (stream % 2 == WF_BACK || (fits_now(x, k) && fits(x, k, &a)))
            return (choice){stream % 2, stream / 2};
    }
    return (choice){NOTHING, 0};
}

/* A W, if a rank that waits until `wait` has the time for it. */
static choice pick_w(const run *x, int w, double t, double wait)
{
    static const double share[] = {
        [WF_FILL_ALWAYS] = 0, [WF_FILL_HALF] = 0.5, [WF_FILL_FIT] = 1};
    if (w >= 0 && wait >= t + share[x->how->fill] * x->x->dur[WF_WEIGHT] - x->late)
        return (choice){WF_WEIGHT, w};
    return (choice){NOTHING, 0};
}

/* What a rank begins at t: the head of its slot order, else an op from ahead of
 * it, else a W. */
static choice pick(const run *x, const rank_state *k, double t)
{
    int head = next_stream(k->key), w = pending_w(k), slots = 0;
    double wait =
        INFINITY; /* when the head can come, if it is anyone's loss to be later */

    if (head < 0) return pick_w(x, w, t, wait);
    if (forwards_left(k)) {
        if (w >= 0 && x->how->due && k->next_w[w] >= x->how->start &&
            k->key_w[w] < k->key[head])
            return (choice){WF_WEIGHT, w};
        slots = k->next[head] >= x->how->start;
    }
    double ready = input_at(k, head, k->next[head]);
    if (ready <= t + x->late) {
        if (head % 2 == WF_BACK || fits_now(x, k)) return (choice){head % 2, head / 2};
        if (w >= 0 && k->held_back + 1 <= k->limit_back)
            return (choice){WF_WEIGHT, w}; /* makes room */
    } else if (head % 2 == WF_FORWARD || k->out[head].ready) {
        wait = ready; /* but for a backward of stage 0, whose result nobody needs */
    }
    if (!slots) {
        choice c = pick_ahead(x, k, t);
        if (c.part != NOTHING) return c;
    }
    return pick_w(x, w, t, wait);
}

/* ---- doing it
 * ------------------------------------------------------------------- */

/* When a rank that found nothing to do at t looks again. */
static double next_look(const run *x, const rank_state *k, double t)
{
    double soon = INFINITY;
    for (int i = 0; i < 2 * x->s->v; i++) {
        if (k->next[i] >= x->m) continue;
        double ready = input_at(k, i, k->next[i]);
        if (ready > t + x->late) soon = lesser(soon, ready);
    }
    return soon;
}

/* The result of an op is on its way; the rank that it goes to may wait for it.
 */
static void hand_on(run *x, rank_state *k, int stream, int micro)
{
    const outlet *out = &k->out[stream];
    k->ready[stream / 2][micro] = INFINITY;
    if (!out->ready) return;
    double comes = k->free + out->delay, free = x->rank[out->rank].free;
    double look = comes > free ? comes : free;
    out->ready[micro] = comes;
    if (look < wf_wake_time(&x->wake, out->rank))
        wf_wake_set(&x->wake, out->rank, look);
}

static void count_held(const run *x, rank_state *k, int part)
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
    int micro = (*next)++;
    k->o = wf_put(k->o, x->kinds[c.part], micro, c.chunk);
    *its_key = key_after(x, *its_key, *next);
    if (!(k->first >= 0)) k->first = t;
    k->free = t + x->x->dur[c.part];
    k->left -= x->x->dur[c.part];
    count_held(x, k, c.part);
    wf_wake_set(&x->wake, r, k->free);
    if (is_w) return;
    k->left_passed -= x->x->dur[c.part];
    hand_on(x, k, stream, micro);
}

/* No end of the run is before this: the rank does what it has left; after its
 * last backward, that of its first stage, the stages before have theirs; and
 * the micro-batch of its op goes the rest of its way, at whose end those after
 * it come one by one. */
static double earliest_end(const run *x, const rank_state *k, choice c)
{
    double alone = k->free + k->left;
    if (c.part == WF_WEIGHT) return alone;
    int stream = 2 * c.chunk + c.part;
    double passed = k->free + k->left_passed + k->tail;
    double way =
        k->free + k->way[stream] + (x->m - k->next[stream]) * x->x->dur[WF_BACK];
    return greater(alone, greater(passed, way));
}

static weft_status go(run *x, double latest)
{
    int64_t left = x->s->first[x->s->p];
    while (left > 0) {
        int r = wf_wake_first(&x->wake);
        double t = wf_wake_time(&x->wake, r);
        if (t > DBL_MAX)
            return WF_FAIL(WEFT_E_INFEASIBLE, "the ranks wait for each other");
        choice c = pick(x, &x->rank[r], t);
        if (c.part == NOTHING) {
            wf_wake_set(&x->wake, r, next_look(x, &x->rank[r], t));
            continue;
        }
        do_op(x, r, c, t);
        if (earliest_end(x, &x->rank[r], c) > latest)
            return WF_FAIL(WEFT_E_INFEASIBLE, "the run would end too late");
        left--;
    }
    return WEFT_OK;
}

/* ---- from start to end
 * ---------------------------------------------------------- */

static void start_work(const run *x, int r)
{
    rank_state *k = &x->rank[r];
    const double *d = x->x->dur;
    double w = x->x->split ? d[WF_WEIGHT] : 0, ops = (double)x->s->v * x->m;
    k->left_passed = (d[WF_FORWARD] + d[WF_BACK]) * ops;
    k->left = k->left_passed + w * ops;
    k->tail = r * (d[WF_BACK] + x->x->latency) + w;
}

/* Latency is left out: not every hop has it. */
static double way_from(const run *x, int stage, int back)
{
    const double *d = x->x->dur;
    int stages = x->s->p * x->s->v;
    double w = x->x->split ? d[WF_WEIGHT] : 0;
    if (back) return stage * d[WF_BACK] + w;
    return (stages - 1 - stage) * d[WF_FORWARD] + stages * d[WF_BACK] + w;
}

static double *ready_of(const run *x, int r, int chunk)
{
    return &x->ready[wf_cell(x->s, r, chunk, 0)];
}

static void start_out(const run *x, int r, int stream, const wf_link *l)
{
    int back = stream % 2 == WF_BACK;
    int to = back ? l->up_rank : l->down_rank;
    int chunk = back ? l->up_chunk : l->down_chunk;
    if (to < 0 && back) return;
    if (to < 0) to = r, chunk = stream / 2; /* the last stage turns round */
    x->rank[r].out[stream] =
        (outlet){ready_of(x, to, chunk), to, to == r ? 0 : x->x->latency};
}

static void start_rank(const run *x, int r, const wf_link *link)
{
    rank_state *k = &x->rank[r];
    k->o = &x->s->op[x->s->first[r]];
    k->first = -1;
    k->limit_back = x->x->limit_back ? x->x->limit_back[r] : INT64_MAX;
    start_work(x, r);
    for (int i = 0; i < STREAMS; i++) {
        int c = i / 2;
        k->key[i] = c < x->s->v ? x->how->block[r].slot[c][i % 2] : NO_KEY;
        k->way[i] = way_from(x, c ? 2 * x->s->p - 1 - r : r, i % 2); /* a V */
        if (c < x->s->v) start_out(x, r, i, &link[r * x->s->v + c]);
    }
    for (int c = 0; c < 2; c++) {
        k->ready[c] = c < x->s->v ? ready_of(x, r, c) : NULL;
        k->key_w[c] = x->how->block[r].slot[c][WF_WEIGHT];
        if (!x->x->split) k->next_w[c] = x->m; /* there is none */
    }
}

static weft_status start(run *x)
{
    const weft_schedule *s = x->s;
    int64_t cells = (int64_t)s->p * s->v * s->m;
    wf_link *link = NULL;
    WF_TRY(WF_ALLOC(cells, &x->ready));
    WF_TRY(WF_ALLOC(s->p, &x->rank));
    WF_TRY(wf_wake_open(s->p, &x->wake));
    WF_TRY(wf_links(s, &link));
    for (int64_t i = 0; i < cells; i++)
        x->ready[i] = INFINITY;
    for (int64_t i = 0; i < s->m; i++)
        ready_of(x, 0, 0)[i] = 0; /* stage 0 is chunk 0 of rank 0 */
    for (int r = 0; r < s->p; r++) {
        start_rank(x, r, link);
        wf_wake_set(&x->wake, r, 0);
    }
    wf_free(link);
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
    run x = {.x = search, .how = how, .s = s, .m = s->m};
    weft_status st = start(&x);
    if (st == WEFT_OK) st = go(&x, latest);
    if (st == WEFT_OK) *out = end_of(&x);
    wf_free(x.ready);
    wf_free(x.rank);
    wf_free(x.wake.at);
    return st;
}
