/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static int by_place(const void *pa, const void *pb)
{
    const wf_box *a = pa, *b = pb;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->t0 != b->t0) return a->t0 < b->t0 ? -1 : 1;
    if (a->t1 != b->t1) return a->t1 < b->t1 ? -1 : 1;
    return (a->e > b->e) - (a->e < b->e); /* as in the trace: the result is stable */
}

/* Boxes of one lane that overlap go to further tracks, each the first that is free. */
static void stack_tracks(wf_picture *p)
{
    enum { MOST = 64 };
    double until[MOST];
    int used = 0;

    for (int64_t i = 0; i < p->n; i++) {
        wf_box *b = &p->box[i];
        if (!i || b[-1].rank != b->rank || b[-1].lane != b->lane) used = 0;
        int k = 0;
        while (k < used && until[k] > b->t0 + 1e-12 * p->length)
            k++;
        if (k == MOST) k--;
        if (k == used) used++;
        until[k] = b->t1;
        b->track = (int16_t)k;
    }
}

static int is_op(const wf_box *b)
{
    return b->spent <= WEFT_SPENT_R;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static weft_status find_short_op(wf_picture *p)
{
    double *length;
    int64_t n = 0;
    WF_TRY(WF_ALLOC(p->n, &length));
    for (int64_t i = 0; i < p->n; i++)
        if (is_op(&p->box[i]) && p->box[i].t1 > p->box[i].t0)
            length[n++] = p->box[i].t1 - p->box[i].t0;
    if (n) qsort(length, (size_t)n, sizeof *length, by_number);
    p->short_op = n ? length[n / 10] : p->length;
    wf_free(length);
    return WEFT_OK;
}

static void note_kinds(wf_picture *p, const wf_box *b)
{
    p->spent |= 1u << b->spent;
    if (b->e->label) return;
    if (b->e->op.chunk >= p->n_chunks) p->n_chunks = b->e->op.chunk + 1;
    if (b->e->op.micro > p->max_micro) p->max_micro = b->e->op.micro;
}

static int chosen(const weft_trace_entry *e, int step)
{
    return step < 0 || e->step == step;
}

/* Beginning, end and number of the entries to draw. */
static weft_status measure(const weft_trace *t, int step, wf_picture *p)
{
    double end = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *e = &t->entry[i];
        if (!chosen(e, step)) continue;
        if (!p->n || e->start < p->begin) p->begin = e->start;
        if (!p->n || e->end > end) end = e->end;
        p->n++;
    }
    p->length = (end - p->begin) * p->scale;
    if (!p->n || !(p->length > 0) || !isfinite(p->length))
        return WF_FAIL(WEFT_E_INVALID,
                       "there is nothing to draw: %lld entries, length %g",
                       (long long)p->n, p->length);
    return WEFT_OK;
}

static weft_status fill(const weft_trace *t, int step, wf_picture *p)
{
    int64_t n = 0;
    WF_TRY(WF_ALLOC(p->n, &p->box));
    WF_TRY(WF_ALLOC(p->n_ranks + 1, &p->first));
    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *e = &t->entry[i];
        if (!chosen(e, step)) continue;
        wf_box *b = &p->box[n++];
        *b = (wf_box){(e->start - p->begin) * p->scale,
                      (e->end - p->begin) * p->scale,
                      e,
                      e->rank,
                      0,
                      e->lane,
                      (uint8_t)weft_trace_spent(e)};
        note_kinds(p, b);
        p->first[e->rank + 1]++;
    }
    for (int r = 0; r < p->n_ranks; r++)
        p->first[r + 1] += p->first[r];
    qsort(p->box, (size_t)n, sizeof *p->box, by_place);
    stack_tracks(p);
    return find_short_op(p);
}

weft_status wf_picture_make(const weft_trace *t, int step, double scale,
                            wf_picture *out)
{
    wf_picture p = {
        .t = t, .unit = t->unit, .scale = scale, .n_ranks = t->n_ranks, .n_chunks = 1};
    WF_TRY(weft_trace_check(t));
    WF_TRY(measure(t, step, &p));
    weft_status st = fill(t, step, &p);
    if (st == WEFT_OK)
        *out = p;
    else
        wf_picture_clear(&p);
    return st;
}

void wf_picture_clear(wf_picture *p)
{
    wf_free(p->box);
    wf_free(p->first);
    *p = (wf_picture){0};
}

/* ---- what painters ask ---------------------------------------------------------- */

static int by_time_frees_first(const void *pa, const void *pb)
{
    const wf_level *a = pa, *b = pb;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return (a->held > b->held) - (a->held < b->held);
}

/* Levels at one moment (nearly: `same`) are one, the last. */
static int64_t keep_level(wf_level *out, int64_t kept, wf_level l, double same)
{
    if (kept && l.at - out[kept - 1].at <= same) kept--;
    out[kept] = l;
    return kept + 1;
}

static int64_t bytes_of(const wf_picture *p, int rank, wf_level *out, double *peak)
{
    int64_t kept = 0;
    *peak = 0;
    for (int64_t i = 0; i < p->t->n_levels; i++) {
        const weft_trace_level *l = &p->t->level[i];
        double at = (l->at - p->begin) * p->scale, early = 1e-9 * p->length;
        if (l->rank != rank || at < -early || at > p->length + early) continue;
        at = at < 0 ? 0 : at;
        *peak = fmax(*peak, l->bytes);
        kept = keep_level(out, kept, (wf_level){at, l->bytes}, early);
    }
    return kept;
}

int64_t wf_picture_level_room(const wf_picture *p, int rank)
{
    int64_t n = 2 * (p->first[rank + 1] - p->first[rank]), levels = 0;
    for (int64_t i = 0; i < p->t->n_levels; i++)
        levels += p->t->level[i].rank == rank;
    return n > levels ? n : levels;
}

int64_t wf_picture_memory(const wf_picture *p, int rank, wf_level *out, double *peak)
{
    int64_t n = 0, kept = 0;
    int frees = 0;
    double held = 0;

    if (p->t->n_levels) return bytes_of(p, rank, out, peak);
    /* An end and the start it allows may differ by a rounding error: free a little
     * early. */
    double early = 1e-9 * p->length;
    *peak = 0;
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++) {
        const wf_box *b = &p->box[i];
        int take = b->spent == WEFT_SPENT_F;
        int give = b->spent == WEFT_SPENT_B || b->spent == WEFT_SPENT_I;
        if (take || give)
            out[n++] = (wf_level){take ? b->t0 : b->t1 - early, take ? 1 : -1};
        frees |= give;
    }
    if (!frees) return 0;
    qsort(out, (size_t)n, sizeof *out, by_time_frees_first);
    for (int64_t i = 0; i < n; i++) {
        held += out[i].held;
        *peak = fmax(*peak, held);
        kept = keep_level(out, kept, (wf_level){out[i].at, held}, 2 * early);
    }
    return kept;
}

double wf_picture_busy(const wf_picture *p, int rank)
{
    double busy = 0;
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++)
        if (is_op(&p->box[i])) busy += p->box[i].t1 - p->box[i].t0;
    return busy;
}

static void add_to_columns(const wf_box *b, double per_unit, int n_cols,
                           double (*cols)[WEFT_N_SPENT])
{
    double a = b->t0 * per_unit, z = b->t1 * per_unit;
    for (int c = (int)a; c < n_cols && c < z; c++)
        cols[c][b->spent] += fmin(z, c + 1) - fmax(a, c);
}

void wf_picture_columns(const wf_picture *p, int rank, double per_unit, int n_cols,
                        double (*cols)[WEFT_N_SPENT])
{
    memset(cols, 0, (size_t)n_cols * sizeof *cols);
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++)
        if (p->box[i].spent != WEFT_SPENT_WAIT)
            add_to_columns(&p->box[i], per_unit, n_cols, cols);
    for (int c = 0; c < n_cols; c++) {
        double busy = 0;
        for (int w = 0; w < WEFT_SPENT_WAIT; w++) {
            cols[c][w] =
                fmin(cols[c][w], 1 - busy); /* overlapped: the first kind has it */
            busy += cols[c][w];
        }
        cols[c][WEFT_SPENT_WAIT] = 1 - busy;
    }
}

int wf_column_shows(const double *col)
{
    double busy = 1 - col[WEFT_SPENT_WAIT];
    if (busy <= 0.5) return WEFT_SPENT_WAIT;
    for (int w = 0; w < WEFT_SPENT_WAIT; w++)
        if (col[w] >= 0.75 * busy) return w;
    return WEFT_N_SPENT;
}

wf_unit_shown wf_picture_unit(const wf_picture *p)
{
    if (strcmp(p->unit, "s")) return (wf_unit_shown){1, p->unit};
    if (p->length >= 1) return (wf_unit_shown){1, "s"};
    if (p->length >= 1e-3) return (wf_unit_shown){1e3, "ms"};
    return (wf_unit_shown){1e6, "us"};
}

double wf_nice_step(double length, int n)
{
    double raw = length / (n > 0 ? n : 1), base = pow(10, floor(log10(raw)));
    static const double steps[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (steps[i] * base >= raw * (1 - 1e-9)) return steps[i] * base;
    return 10 * base;
}
