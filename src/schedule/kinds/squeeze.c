/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/squeeze.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/ir.h"
#include "schedule/kinds/squeeze-run.h"
#include "schedule/kinds/squeeze-steady.h"

/* In place of fmin(), which is a call where NaN has to be right. */
static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

/* ---- what a rank does ----------------------------------------------------------- */

enum { NOTHING = -1, LATER = -2 };

static int is_back(int stream)
{
    return stream % 2 == WF_BACK;
}

static double input_at(const wf_rank_run *k, int stream)
{
    return k->ready[stream][k->next[stream]];
}

/* Stream of the W that is next in slot order, -1 when none is pending. */
static int pending_w(const wf_rank_run *k)
{
    const int64_t *key = &k->key[WF_W_STREAM];
    const int *next = &k->next[WF_W_STREAM];
    int first = next[0] < k->next[WF_BACK];
    int second = next[1] < k->next[2 + WF_BACK];
    int stream = WF_W_STREAM + (second & (!first | (key[1] < key[0])));
    return first | second ? stream : NOTHING;
}

/* Stream of the least key, -1 where there is none. */
static int next_stream(const int64_t key[WF_STREAMS])
{
    int low = key[1] < key[0], high = 2 + (key[3] < key[2]);
    int best = key[high] < key[low] ? high : low;
    return key[best] == WF_NO_KEY ? NOTHING : best;
}

static int64_t key_after(const wf_run *x, int64_t key, int next)
{
    return next < x->m ? key + x->how->period : WF_NO_KEY;
}

/* A walk along what is left of a rank's slot order, as if each I took its W along. */
typedef struct ahead {
    int64_t key[WF_STREAMS];
    int at[WF_STREAMS];
    unsigned blocked; /* bit of a stream */
    int64_t held, held_back, most, most_back;
} ahead;

static void look_ahead(const wf_run *x, const wf_rank_run *k, ahead *a)
{
    memcpy(a->key, k->key, sizeof a->key);
    memcpy(a->at, k->next, sizeof a->at);
    a->blocked = 0;
    a->held = k->held;
    a->held_back = k->held_back;
    for (int c = 0; c < 2 && x->x->split; c++)
        a->held -= x->how->keep *
                   (int64_t)(k->next[2 * c + WF_BACK] - k->next[WF_W_STREAM + c]);
    a->most = a->held;
    a->most_back = a->held_back;
}

static void pass(const wf_run *x, ahead *a, int stream)
{
    int sign = is_back(stream) ? -1 : 1;
    a->key[stream] = key_after(x, a->key[stream], ++a->at[stream]);
    a->blocked |= 1u << stream;
    a->held += 2 * sign;
    a->held_back += sign;
    a->most = wf_most(a->most, a->held);
    a->most_back = wf_most(a->most_back, a->held_back);
}

/* May an F come now? */
static int fits_now(const wf_run *x, const wf_rank_run *k)
{
    return k->held + 2 <= x->x->limit && k->held_back + 1 <= k->limit_back;
}

/* ... with the passed ops after it? */
static int fits(const wf_run *x, const wf_rank_run *k, const ahead *a)
{
    return a->most + 2 <= x->x->limit && a->most_back + 1 <= k->limit_back;
}

static int forwards_left(const wf_rank_run *k)
{
    return k->key[0] != WF_NO_KEY || k->key[2] != WF_NO_KEY;
}

/* Is there a stream but the head's of which an op can begin at `now`? Where there is none
 * the walk is in vain, and mostly there is none. */
static int has_other(const wf_run *x, const wf_rank_run *k, int head, double now)
{
    int can = 0;
    for (int i = 0; i < WF_STREAMS; i++)
        can |= (input_at(k, i) <= now) << i;
    if (!fits_now(x, k)) can &= 1 << WF_BACK | 1 << (2 + WF_BACK);
    return can & ~(1 << head);
}

/* An op that can begin at `now`, up to how->ahead ones after the head of the slot
 * order. */
static int pick_ahead(const wf_run *x, const wf_rank_run *k, int head, double now)
{
    ahead a;
    if (!has_other(x, k, head, now)) return NOTHING;
    look_ahead(x, k, &a);
    int stream = next_stream(a.key), last = x->how->ahead;
    for (int n = 0; n < last; n++) {
        pass(x, &a, stream);
        stream = next_stream(a.key);
        if (stream < 0) break;
        if (a.blocked >> stream & 1) continue;
        if (!(k->ready[stream][a.at[stream]] <= now)) continue;
        if (is_back(stream) || (fits_now(x, k) && fits(x, k, &a))) return stream;
    }
    return NOTHING;
}

/* Has `rank`, that looks at `its`, looked when r does at t? Of those that look at the same
 * time the first one goes first; where rounding may have made them differ, a later period
 * need not be like this one. */
static int looks_before(wf_run *x, int rank, double its, int r, double t)
{
    x->close_calls += !x->exact & (fabs(its - t) <= x->late);
    return its < t || (its == t && rank < r);
}

/* When the input of the head of the slot order comes, as far as that is known when r looks
 * at t: its op has begun. */
static double known_at(wf_run *x, int head, int r, double t)
{
    const wf_rank_run *k = &x->rank[r];
    const wf_inlet *in = &k->in[head];
    const wf_rank_run *from = &x->rank[in->rank];
    double ready = input_at(k, head);
    if (in->rank == r || from->next[in->stream] != k->next[head] + 1)
        return ready; /* own, not yet begun, or long ago */
    int known = looks_before(x, in->rank, from->begun[in->stream], r, t);
    return known || x->window <= 0 ? ready : INFINITY;
}

/* A W, where the rank has the time for it until the head of its slot order can come. */
static int pick_w(wf_run *x, int w, int head, int r, double t)
{
    const wf_rank_run *k = &x->rank[r];
    double time = x->dur[WF_W_STREAM];
    if (w < 0 || x->how->fill == WF_FILL_ALWAYS || head < 0 || head == k->idle)
        return w;
    if (input_at(k, head) <= t + x->late) return w;
    double wait = known_at(x, head, r, t);
    if (wait > DBL_MAX) {
        int from = k->in[head].rank;
        if (from == r) return w;
        return looks_before(x, from, x->wake[from], r, t) ? LATER : w;
    }
    if (x->how->fill == WF_FILL_HALF) time *= 0.5;
    return wait >= t + time - x->late ? w : NOTHING;
}

/* What a rank begins at t: the head of its slot order, else an op from ahead of it, else
 * a W. */
static int pick(wf_run *x, int r, double t)
{
    const wf_rank_run *k = &x->rank[r];
    int head = next_stream(k->key), w = pending_w(k), slots = 0;

    if (head < 0) return w;
    if (forwards_left(k)) {
        if (w >= 0 && x->how->due && k->next[w] >= x->how->start &&
            k->key[w] < k->key[head])
            return w;
        slots = k->next[head] >= x->how->start;
    }
    if (input_at(k, head) <= t + x->late) {
        if (is_back(head) || fits_now(x, k)) return head;
        if (w >= 0 && k->held_back + 1 <= k->limit_back) return w; /* makes room */
    }
    if (!slots) {
        int other = pick_ahead(x, k, head, t + x->late);
        if (other != NOTHING) return other;
    }
    return pick_w(x, w, head, r, t);
}

/* ---- doing it ------------------------------------------------------------------- */

/* When a rank that found nothing to do at t looks again. */
static double next_look(const wf_run *x, const wf_rank_run *k, double t)
{
    double soon = INFINITY;
    for (int i = 0; i < 2 * x->s->v; i++) {
        double ready = input_at(k, i);
        if (ready > t + x->late) soon = lesser(soon, ready);
    }
    return soon;
}

/* The result of an op is on its way; the rank that it goes to may wait for it. */
static void hand_on(const wf_run *x, const wf_outlet *out, int micro, double end)
{
    double comes = end + out->delay;
    out->ready[micro] = comes;
    double look = greater(comes, x->rank[out->rank].free);
    x->wake[out->rank] = lesser(look, x->wake[out->rank]);
}

static void do_op(const wf_run *x, int r, int stream, double t)
{
    wf_rank_run *k = &x->rank[r];
    int micro = k->next[stream]++;
    *k->o = x->op[stream];
    k->o++->micro = (uint32_t)micro;
    k->key[stream] = key_after(x, k->key[stream], micro + 1);
    if (!(k->first >= 0)) k->first = t;
    k->begun[stream] = t;
    k->free = t + x->dur[stream];
    k->left -= x->dur[stream];
    k->left_passed -= x->passed[stream];
    k->held += x->holds[stream];
    k->held_back += x->holds_back[stream];
    x->wake[r] = k->free;
    hand_on(x, &k->out[stream], micro, k->free);
}

/* No end of the run is before this: the rank does what it has left; after its last
 * backward, that of its first stage, the stages before have theirs; and the micro-batch of
 * its op goes the rest of its way, at whose end those after it come one by one. */
static double earliest_end(const wf_run *x, const wf_rank_run *k, int stream)
{
    double alone = k->left, passed = k->left_passed + k->tail[stream];
    double way = k->way[stream] + (x->m - k->next[stream]) * x->x->dur[WF_BACK];
    return k->free + greater(alone, greater(passed, way));
}

static int first_to_wake(const wf_run *x)
{
    int r = 0;
    for (int i = 1; i < x->s->p; i++)
        r = x->wake[i] < x->wake[r] ? i : r;
    return r;
}

typedef struct progress {
    double latest;
    int64_t left; /* ops */
    int too_late;
} progress;

/* Rank r does what it can do when it looks: nothing, or an op. 0: another rank has to look
 * first. */
static int look(wf_run *x, int r, progress *g)
{
    wf_rank_run *k = &x->rank[r];
    double t = x->wake[r];
    int stream = pick(x, r, t);
    if (stream == LATER) return 0;
    if (stream == NOTHING) {
        x->wake[r] = next_look(x, k, t);
        return 1;
    }
    do_op(x, r, stream, t);
    g->left--;
    if (earliest_end(x, k, stream) > g->latest) g->too_late = 1;
    return 1;
}

/* Ranks that look within a window do not see the results of what the others do in it, so
 * they go in any order; where it is empty, one goes at a time. */
static weft_status go(wf_run *x, double latest)
{
    progress g = {latest, x->s->first[x->s->p], 0};
    while (g.left > 0) {
        int first = first_to_wake(x);
        double until = x->wake[first] + x->window;
        if (x->wake[first] > DBL_MAX)
            return WF_FAIL(WEFT_E_INFEASIBLE, "the ranks wait for each other");
        if (wf_steady_is_due(x)) {
            int64_t written = wf_steady_go_on(x, x->wake[first]);
            g.left -= written;
            if (written) continue;
        }
        look(x, first, &g);
        for (int r = 0; r < x->s->p; r++)
            while (x->wake[r] < until && look(x, r, &g))
                ;
        if (g.too_late) return WF_FAIL(WEFT_E_INFEASIBLE, "the run would end too late");
    }
    return WEFT_OK;
}

/* ---- from start to end ---------------------------------------------------------- */

static wf_squeezed end_of(const wf_run *x)
{
    wf_squeezed e = {0, 0};
    for (int r = 0; r < x->s->p; r++) {
        e.makespan = fmax(e.makespan, x->rank[r].free);
        e.span = fmax(e.span, x->rank[r].free - x->rank[r].first);
    }
    return e;
}

static weft_status run_once(wf_run *x, double latest, wf_squeezed *out)
{
    WF_TRY(wf_run_start(x));
    WF_TRY(go(x, latest));
    *out = end_of(x);
    return WEFT_OK;
}

weft_status wf_squeeze(const wf_search *search, const wf_try *how,
                       const weft_schedule *s, double latest, wf_squeezed *out)
{
    weft_status st;
    wf_squeezed ends = {0, 0};
    wf_run x = {.x = search, .how = how, .s = s, .m = s->m};
    for (int again = 1; again;) {
        st = run_once(&x, latest, &ends);
        again = wf_steady_is_unsure(&x);
        wf_run_clear(&x);
        x.steady.off = 1;
    }
    if (st == WEFT_OK) *out = ends;
    return st;
}
