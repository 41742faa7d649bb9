/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subtract two traces op by op. Each trace becomes a sorted list of keys (rank, kind,
 * slice, chunk, micro-batch) with the median duration over its steps; then one merge of
 * the two lists gives the pairs and the ops that one side lacks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/step.h"

enum { WORST = 10, NAMED = 8 };

/* One op of one rank: all its durations, then their median in the first. */
typedef struct item {
    int32_t rank;
    weft_op op;
    double length;
} item;

typedef struct side {
    const weft_trace *t;
    double scale;
    int n_steps;
    wf_step *step;
    int median;
    double (*share)[WEFT_N_SPENT];
    int64_t n;
    item *item;
} side;

static int by_key(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->op.kind != b->op.kind) return a->op.kind < b->op.kind ? -1 : 1;
    if (a->op.slice != b->op.slice) return a->op.slice < b->op.slice ? -1 : 1;
    if (a->op.chunk != b->op.chunk) return a->op.chunk < b->op.chunk ? -1 : 1;
    return (a->op.micro > b->op.micro) - (a->op.micro < b->op.micro);
}

static int by_key_and_length(const void *pa, const void *pb)
{
    int order = by_key(pa, pb);
    double a = ((const item *)pa)->length, b = ((const item *)pb)->length;
    return order ? order : (a > b) - (a < b);
}

static int is_compute_op(const weft_trace_entry *e)
{
    return !e->label && e->op.kind < WEFT_OP_N_COMPUTE;
}

/* Runs of equal keys become one item of the median length. */
static int64_t merge_steps(int64_t n, item *x)
{
    int64_t kept = 0;
    for (int64_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && !by_key(&x[i], &x[next]);)
            next++;
        int64_t lo = i + (next - i - 1) / 2, hi = i + (next - i) / 2;
        double length = (x[lo].length + x[hi].length) / 2;
        x[kept] = x[i];
        x[kept++].length = length;
    }
    return kept;
}

static weft_status list_items(side *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->t->n; i++)
        n += is_compute_op(&s->t->entry[i]);
    WF_TRY(WF_ALLOC(n, &s->item));
    n = 0;
    for (int64_t i = 0; i < s->t->n; i++) {
        const weft_trace_entry *e = &s->t->entry[i];
        if (!is_compute_op(e)) continue;
        s->item[n] = (item){e->rank, e->op, (e->end - e->start) * s->scale};
        s->item[n].op.flags = 0; /* a pairing mark is no part of the key */
        n++;
    }
    qsort(s->item, (size_t)n, sizeof *s->item, by_key_and_length);
    s->n = merge_steps(n, s->item);
    return WEFT_OK;
}

static weft_status open_side(const weft_trace *t, double scale, const char *which,
                             side *s)
{
    *s = (side){.t = t, .scale = scale};
    WF_TRY(weft_trace_check(t));
    WF_TRY(wf_trace_steps(t, &s->n_steps, &s->step));
    WF_TRY(list_items(s));
    if (!s->n)
        return WF_FAIL(WEFT_E_INVALID, "the %s trace (%s) holds no F B I W op", which,
                       t->title);
    s->median = wf_median_step(s->n_steps, s->step);
    WF_TRY(WF_ALLOC(t->n_ranks, &s->share));
    return wf_trace_share(t, &s->step[s->median], s->share);
}

static void close_side(side *s)
{
    wf_free(s->step);
    wf_free(s->share);
    wf_free(s->item);
}

/* ---- pairs ---------------------------------------------------------------------- */

static void name_op(const item *x, double a, double b, weft_compare_op *out)
{
    weft_trace_entry e = {.op = x->op};
    *out = (weft_compare_op){.rank = x->rank, .a = a, .b = b};
    weft_trace_entry_name(&e, 1, out->name);
}

/* Keep the largest differences, in order. */
static void note_worst(weft_compare *c, const item *x, double a, double b)
{
    int at = c->n_worst;
    double d = fabs(b - a) * (1 - 1e-9); /* equal ones stay in order despite rounding */
    while (at > 0 && fabs(c->worst[at - 1].b - c->worst[at - 1].a) < d)
        at--;
    if (at >= WORST || a == b) return;
    int move = (c->n_worst < WORST ? c->n_worst : WORST - 1) - at;
    memmove(&c->worst[at + 1], &c->worst[at], (size_t)move * sizeof *c->worst);
    name_op(x, a, b, &c->worst[at]);
    if (c->n_worst < WORST) c->n_worst++;
}

static void note_missing(weft_compare *c, const item *x, double a, double b)
{
    if (c->n_named < NAMED) name_op(x, a, b, &c->named[c->n_named++]);
    c->n_missing++;
}

static void pair_up(const side *a, const side *b, weft_compare *c)
{
    double error = 0;
    int64_t i = 0, j = 0;

    while (i < a->n || j < b->n) {
        int order = i >= a->n ? 1 : j >= b->n ? -1 : by_key(&a->item[i], &b->item[j]);
        if (order < 0) {
            note_missing(c, &a->item[i], a->item[i].length, NAN);
            i++;
        } else if (order > 0) {
            note_missing(c, &b->item[j], NAN, b->item[j].length);
            j++;
        } else {
            double la = a->item[i++].length, lb = b->item[j++].length;
            note_worst(c, &b->item[j - 1], la, lb);
            if (lb > 0) error += fabs(lb - la) / lb;
            c->n_matched++;
        }
    }
    c->mean_abs_error = c->n_matched ? error / (double)c->n_matched : 0;
}

/* ---- kinds ---------------------------------------------------------------------- */

static const char *kind_of(const weft_trace_entry *e)
{
    return e->label ? e->label : weft_op_kind_name(e->op.kind);
}

static weft_status kind_at(weft_compare *c, int64_t *cap, const char *name,
                           weft_compare_kind **out)
{
    for (int i = 0; i < c->n_kinds; i++) {
        if (!strncmp(c->kind[i].name, name, sizeof c->kind[i].name - 1)) {
            *out = &c->kind[i];
            return WEFT_OK;
        }
    }
    void *block = c->kind;
    WF_TRY(wf_grow(&block, cap, c->n_kinds + 1, sizeof *c->kind));
    c->kind = block;
    *out = &c->kind[c->n_kinds++];
    **out = (weft_compare_kind){.median_a = NAN, .median_b = NAN};
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    return WEFT_OK;
}

static weft_status count_kinds(const side *s, weft_compare *c, int64_t *cap, int is_b)
{
    for (int64_t i = 0; i < s->t->n; i++) {
        const weft_trace_entry *e = &s->t->entry[i];
        weft_compare_kind *k;
        WF_TRY(kind_at(c, cap, kind_of(e), &k));
        double length = (e->end - e->start) * s->scale / s->n_steps;
        *(is_b ? &k->n_b : &k->n_a) += 1;
        *(is_b ? &k->total_b : &k->total_a) += length;
    }
    return WEFT_OK;
}

/* Median of one kind's entries; buf holds as many as the trace has. */
static double kind_median(const side *s, const char *name, double *buf)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->t->n; i++) {
        const weft_trace_entry *e = &s->t->entry[i];
        if (!strncmp(kind_of(e), name, sizeof((weft_compare_kind *)0)->name - 1))
            buf[n++] = (e->end - e->start) * s->scale;
    }
    return n ? wf_median(n, buf) : NAN;
}

static weft_status compare_kinds(const side *a, const side *b, weft_compare *c)
{
    int64_t cap = 0, most = a->t->n > b->t->n ? a->t->n : b->t->n;
    double *buf;

    WF_TRY(count_kinds(a, c, &cap, 0));
    WF_TRY(count_kinds(b, c, &cap, 1));
    WF_TRY(WF_ALLOC(most, &buf));
    for (int i = 0; i < c->n_kinds; i++) {
        c->kind[i].median_a = kind_median(a, c->kind[i].name, buf);
        c->kind[i].median_b = kind_median(b, c->kind[i].name, buf);
    }
    wf_free(buf);
    return WEFT_OK;
}

/* ---- all ------------------------------------------------------------------------ */

static void fill_header(const side *a, const side *b, weft_compare *c)
{
    const wf_step *x = &a->step[a->median], *y = &b->step[b->median];
    snprintf(c->title_a, sizeof c->title_a, "%s", a->t->title);
    snprintf(c->title_b, sizeof c->title_b, "%s", b->t->title);
    snprintf(c->unit, sizeof c->unit, "%s", b->t->unit);
    c->measured_a = a->t->measured, c->measured_b = b->t->measured;
    c->steps_a = a->n_steps, c->steps_b = b->n_steps;
    c->step_a = x->step, c->step_b = y->step;
    c->scale = a->scale;
    c->length_a = (x->end - x->start) * a->scale;
    c->length_b = y->end - y->start;
    c->n_ranks = b->t->n_ranks;
}

static weft_status compare_sides(const side *a, const side *b, weft_compare *c)
{
    fill_header(a, b, c);
    WF_TRY(WF_ALLOC(c->n_ranks, &c->rank));
    WF_TRY(WF_ALLOC(WORST, &c->worst));
    WF_TRY(WF_ALLOC(NAMED, &c->named));
    for (int r = 0; r < c->n_ranks; r++) {
        for (int w = 0; w < WEFT_N_SPENT; w++) {
            c->rank[r].a[w] = a->share[r][w] * a->scale;
            c->rank[r].b[w] = b->share[r][w];
        }
    }
    pair_up(a, b, c);
    return compare_kinds(a, b, c);
}

weft_status weft_trace_compare(const weft_trace *a, const weft_trace *b,
                               weft_compare *out)
{
    side sa = {0}, sb = {0};
    weft_compare c = {0};
    double scale;

    if (a->n_ranks != b->n_ranks)
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the first trace (%s) has %d ranks, the second (%s) has %d",
                       a->title, a->n_ranks, b->title, b->n_ranks);
    WF_TRY(weft_trace_scale(a, b, &scale));
    weft_status st = open_side(a, scale, "first", &sa);
    if (st == WEFT_OK) st = open_side(b, 1, "second", &sb);
    if (st == WEFT_OK) st = compare_sides(&sa, &sb, &c);
    close_side(&sa);
    close_side(&sb);
    if (st == WEFT_OK)
        *out = c;
    else
        weft_compare_clear(&c);
    return st;
}

void weft_compare_clear(weft_compare *c)
{
    wf_free(c->rank);
    wf_free(c->kind);
    wf_free(c->worst);
    wf_free(c->named);
    *c = (weft_compare){0};
}
