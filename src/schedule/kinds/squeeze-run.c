/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/squeeze-run.h"

#include <math.h>

#include "base/alloc.h"
#include "schedule/ir.h"

/* Latency is left out: not every hop has it. */
static double way_from(const wf_run *x, int stage, int back)
{
    const double *d = x->x->dur;
    int stages = x->s->p * x->s->v;
    double w = x->x->split ? d[WF_WEIGHT] : 0;
    if (back) return stage * d[WF_BACK] + w;
    return (stages - 1 - stage) * d[WF_FORWARD] + stages * d[WF_BACK] + w;
}

static double *ready_of(const wf_run *x, int r, int chunk, int back)
{
    int64_t stream = 2 * ((int64_t)r * x->s->v + chunk) + back;
    return &x->ready[stream * (x->m + 1)];
}

/* Of a message between two ranks, which are neighbours. */
static double hop_between(const wf_run *x, int a, int b)
{
    if (a == b) return 0;
    return x->x->hop ? x->x->hop[a < b ? a : b] : x->x->latency;
}

/* Of the messages from a rank to rank 0, one after the other. */
static double way_down(const wf_run *x, int r)
{
    double sum = 0;
    if (!x->x->hop) return r * x->x->latency;
    for (int i = 0; i < r; i++)
        sum += x->x->hop[i];
    return sum;
}

static wf_outlet nowhere(const wf_run *x, int r)
{
    return (wf_outlet){ready_of(x, x->s->p, 0, 0), r, 0}; /* after all others */
}

static wf_outlet outlet_of(const wf_run *x, int r, int chunk, int back,
                           const wf_link *l)
{
    int to = back ? l->up_rank : l->down_rank;
    int its = back ? l->up_chunk : l->down_chunk;
    if (to < 0 && back) return nowhere(x, r);
    if (to < 0) return (wf_outlet){ready_of(x, r, chunk, 1), r, 0}; /* turns round */
    return (wf_outlet){ready_of(x, to, its, back), to, hop_between(x, r, to)};
}

static wf_inlet inlet_of(int r, int chunk, int back, const wf_link *l)
{
    int from = back ? l->down_rank : l->up_rank;
    int its = back ? l->down_chunk : l->up_chunk;
    if (from < 0) return (wf_inlet){r, 2 * chunk}; /* turned round, or nothing */
    return (wf_inlet){from, 2 * its + back};
}

static void start_stream(wf_run *x, int r, int i, const wf_link *l)
{
    wf_rank_run *k = &x->rank[r];
    int weight = i >= WF_W_STREAM, chunk = weight ? i - WF_W_STREAM : i / 2;
    int part = weight ? WF_WEIGHT : i % 2;
    double w = x->x->split ? x->x->dur[WF_WEIGHT] : 0;
    k->key[i] = WF_NO_KEY;
    k->next[i] = x->m;
    if (!weight) k->ready[i] = ready_of(x, r, 0, 0); /* at [m], never */
    if (chunk >= x->s->v || (weight && !x->x->split)) return;
    k->key[i] = x->how->block[r].slot[chunk][part];
    k->next[i] = 0;
    if (weight) {
        k->out[i] = nowhere(x, r);
        k->way[i] = k->tail[i] = -INFINITY;
        return;
    }
    k->out[i] = outlet_of(x, r, chunk, part == WF_BACK, l);
    k->in[i] = inlet_of(r, chunk, part == WF_BACK, l);
    k->ready[i] = ready_of(x, r, chunk, part == WF_BACK);
    k->way[i] = way_from(x, chunk ? 2 * x->s->p - 1 - r : r, part == WF_BACK); /* a V */
    k->tail[i] = r * x->x->dur[WF_BACK] + way_down(x, r) + w;
}

static void start_rank(wf_run *x, int r, const wf_link *link)
{
    wf_rank_run *k = &x->rank[r];
    double ops = (double)x->s->v * x->m;
    k->o = &x->s->op[x->s->first[r]];
    k->first = -1;
    k->limit_back = x->x->limit_back ? x->x->limit_back[r] : INT64_MAX;
    k->idle = r ? -1 : WF_BACK;
    k->left_passed = (x->dur[WF_FORWARD] + x->dur[WF_BACK]) * ops;
    k->left = k->left_passed + x->dur[WF_W_STREAM] * ops;
    for (int i = 0; i < WF_ALL_STREAMS; i++) {
        int chunk = i < WF_W_STREAM ? i / 2 : i - WF_W_STREAM;
        start_stream(x, r, i, &link[r * x->s->v + (chunk < x->s->v ? chunk : 0)]);
    }
}

/* A time of which sums are exact, up to 2^33 of it. */
static int is_exact(double t)
{
    double fine = t * (1 << 20);
    return fine == floor(fine) && t < 1 << 20;
}

static int sums_are_exact(const wf_search *x, int p)
{
    for (int r = 0; x->hop && r + 1 < p; r++)
        if (!is_exact(x->hop[r])) return 0;
    return is_exact(x->dur[WF_FORWARD]) && is_exact(x->dur[WF_BACK]) &&
           is_exact(x->dur[WF_WEIGHT]) && is_exact(x->latency);
}

static void start_ops(wf_run *x)
{
    static const int kinds[][WF_N_PARTS] = {{WEFT_OP_F, WEFT_OP_B, WEFT_OP_W},
                                            {WEFT_OP_F, WEFT_OP_I, WEFT_OP_W}};
    int split = !!x->x->split, keep = x->how->keep;
    int holds[] = {2, split ? keep - 2 : -2, -keep};
    for (int i = 0; i < WF_ALL_STREAMS; i++) {
        int weight = i >= WF_W_STREAM, part = weight ? WF_WEIGHT : i % 2;
        x->op[i] = (weft_op){.kind = (uint8_t)kinds[split][part],
                             .chunk = (uint8_t)(weight ? i - WF_W_STREAM : i / 2)};
        x->dur[i] = weight && !split ? 0 : x->x->dur[part];
        x->passed[i] = weight ? 0 : x->dur[i];
        x->holds[i] = holds[part];
        x->holds_back[i] = part == WF_FORWARD ? 1 : part == WF_BACK ? -1 : 0;
    }
    x->close_calls = 0;
    x->late = wf_rounding(x->x);
    x->exact = sums_are_exact(x->x, x->s->p);
    x->window = fmin(x->dur[WF_FORWARD], x->dur[WF_BACK]) - 2 * x->late;
    /* One at a time, who is first at the same time is a matter of rounding too. */
    if (x->window <= 0 && !x->exact) x->steady.off = 1;
}

weft_status wf_run_start(wf_run *x)
{
    const weft_schedule *s = x->s;
    int64_t of_stream = (int64_t)s->m + 1,
            n = (2 * (int64_t)s->p * s->v + 1) * of_stream;
    wf_link *link = NULL;
    WF_TRY(WF_ALLOC(n, &x->ready));
    WF_TRY(WF_ALLOC(s->p, &x->rank));
    WF_TRY(WF_ALLOC(s->p, &x->wake));
    WF_TRY(WF_ALLOC(s->p, &x->steady.mark));
    WF_TRY(wf_links(s, &link));
    for (int64_t i = s->m; i < n;
         i++)                   /* but all inputs of stage 0 are there: that is */
        x->ready[i] = INFINITY; /* the first stream of rank 0                   */
    start_ops(x);
    for (int r = 0; r < s->p; r++)
        start_rank(x, r, link);
    wf_free(link);
    return WEFT_OK;
}

void wf_run_clear(wf_run *x)
{
    wf_free(x->ready);
    wf_free(x->rank);
    wf_free(x->wake);
    wf_free(x->steady.mark);
    x->ready = x->wake = NULL;
    x->rank = NULL;
    x->steady = (wf_steady){.off = x->steady.off};
}
