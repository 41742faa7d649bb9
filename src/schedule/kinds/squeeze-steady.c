/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/squeeze-steady.h"

#include <limits.h>
#include <math.h>

/* Micro-batches after which the state to compare to is a later one: at least the first,
 * and a part of those before it. */
enum { LEAST_APART = 4, PART = 4 };

/* What lies between a state and its like. */
typedef struct period {
    int micros;
    double now, then, time;
} period;

/* Has the rank such ops? */
static int in_use(const wf_run *x, int stream)
{
    int chunk = stream < WF_W_STREAM ? stream / 2 : stream - WF_W_STREAM;
    return chunk < x->s->v && (stream < WF_W_STREAM || x->x->split);
}

static void set_mark(wf_run *x, double now)
{
    wf_steady *g = &x->steady;
    for (int r = 0; r < x->s->p; r++) {
        const wf_rank_run *k = &x->rank[r];
        wf_mark *mark = &g->mark[r];
        for (int i = 0; i < WF_ALL_STREAMS; i++)
            mark->next[i] = k->next[i];
        mark->free = k->free;
        mark->wake = x->wake[r];
        mark->o = k->o;
    }
    g->then = now;
    g->marked = g->seen;
    g->close_calls = x->close_calls;
}

/* What has passed is passed, whenever it was. Rounding is far below what a run takes for
 * equal, so that it cannot add up to that. */
static int same_time(const wf_run *x, const period *d, double now, double then)
{
    if (now <= d->now && then <= d->then) return 1;
    return now == then || fabs(now - then - d->time) <= 1e-3 * x->late;
}

/* The inputs that are known and not yet used. */
static int same_inputs(const wf_run *x, const wf_rank_run *k, int stream,
                       const period *d)
{
    const double *ready = k->ready[stream];
    for (int i = k->next[stream]; isfinite(ready[i]); i++)
        if (!same_time(x, d, ready[i], ready[i - d->micros])) return 0;
    return 1;
}

static int same_rank(const wf_run *x, int r, const period *d)
{
    const wf_rank_run *k = &x->rank[r];
    const wf_mark *mark = &x->steady.mark[r];
    for (int i = 0; i < WF_ALL_STREAMS; i++)
        if (in_use(x, i) && k->next[i] - mark->next[i] != d->micros) return 0;
    if (!same_time(x, d, k->free, mark->free)) return 0;
    if (!same_time(x, d, x->wake[r], mark->wake)) return 0;
    for (int i = 0; i < 2 * x->s->v; i++)
        if ((r || i) && !same_inputs(x, k, i, d))
            return 0; /* all of stage 0's are there */
    return 1;
}

static int is_same(const wf_run *x, const period *d)
{
    if (x->close_calls != x->steady.close_calls) return 0;
    for (int r = 0; r < x->s->p; r++)
        if (!same_rank(x, r, d)) return 0;
    return 1;
}

/* How often the period can follow without a look at the end. */
static int repeats(const wf_run *x, const period *d)
{
    int most = 0;
    for (int r = 0; r < x->s->p; r++)
        for (int i = 0; i < WF_ALL_STREAMS; i++)
            if (in_use(x, i)) most = (int)wf_most(most, x->rank[r].next[i]);
    int64_t room = (int64_t)x->m - 1 - x->how->ahead - most;
    return room > 0 ? (int)(room / d->micros) : 0;
}

static void write_ops(wf_rank_run *k, const wf_mark *mark, int micros, int times)
{
    const weft_op *from = mark->o;
    int64_t n = k->o - from;
    for (int i = 1; i <= times; i++) {
        uint32_t on = (uint32_t)i * (uint32_t)micros;
        for (int64_t j = 0; j < n; j++) {
            k->o[j] = from[j];
            k->o[j].micro += on;
        }
        k->o += n;
    }
}

static void move_inputs(wf_rank_run *k, int stream, int micros, double time)
{
    double *ready = k->ready[stream];
    int first = k->next[stream], end = first;
    while (isfinite(ready[end]))
        end++;
    for (int i = end - 1; i >= first; i--)
        ready[i + micros] = ready[i] + time;
}

static void move_rank(const wf_run *x, int r, int micros, double time)
{
    wf_rank_run *k = &x->rank[r];
    for (int i = 0; i < 2 * x->s->v; i++)
        if (r || i) move_inputs(k, i, micros, time);
    for (int i = 0; i < WF_ALL_STREAMS; i++) {
        if (!in_use(x, i)) continue;
        k->next[i] += micros;
        k->key[i] += (int64_t)micros * x->how->period;
        k->begun[i] += time;
        k->left -= micros * x->dur[i];
        k->left_passed -= micros * x->passed[i];
    }
    k->free += time;
    x->wake[r] += time;
}

/* Are all ranks past their first ops and the micro-batches of other rules? */
static int has_begun(const wf_run *x)
{
    int start = x->how->start == INT_MAX ? 0 : x->how->start;
    for (int r = 0; r < x->s->p; r++)
        for (int i = 0; i < WF_ALL_STREAMS; i++)
            if (in_use(x, i) && x->rank[r].next[i] <= start) return 0;
    return 1;
}

static int64_t repeat(const wf_run *x, const period *d, int times)
{
    int64_t written = 0;
    for (int r = 0; r < x->s->p; r++) {
        wf_rank_run *k = &x->rank[r];
        const wf_mark *mark = &x->steady.mark[r];
        written += (k->o - mark->o) * times;
        write_ops(k, mark, d->micros, times);
        move_rank(x, r, d->micros * times, d->time * times);
    }
    return written;
}

int64_t wf_steady_go_on(wf_run *x, double now)
{
    wf_steady *g = &x->steady;
    g->seen = x->rank[0].next[WF_FORWARD];
    if (!g->marked) {
        if (has_begun(x)) set_mark(x, now);
        return 0;
    }
    period d = {g->seen - g->marked, now, g->then, now - g->then};
    if (!is_same(x, &d)) {
        if (d.micros >= LEAST_APART && d.micros >= g->marked / PART) set_mark(x, now);
        return 0;
    }
    int times = repeats(x, &d);
    g->off = 1;
    g->repeated = times > 0;
    return repeat(x, &d, times);
}
