/* SPDX-License-Identifier: Apache-2.0 */
/* How many columns a unit of time gets. */
#include <math.h>
#include <stdio.h>

#include "draw/text.h"

static int digits(uint32_t n)
{
    int d = 1;
    while (n >= 10) {
        n /= 10;
        d++;
    }
    return d;
}

/* Do all ops begin and end on multiples of d? Then whole columns per d show them
 * exactly. */
static int on_grid(const wf_picture *p, double d)
{
    for (int64_t i = 0; i < p->n; i++) {
        const wf_box *b = &p->box[i];
        if (b->spent > WEFT_SPENT_R) continue;
        double x = b->t0 / d, y = b->t1 / d;
        if (fabs(x - round(x)) > 1e-6 || fabs(y - round(y)) > 1e-6) return 0;
    }
    return 1;
}

/* What all pictures together need. */
typedef struct needs {
    double length, short_op;
    int number, name; /* characters of the largest micro-batch, of the longest name */
    int grid;
} needs;

static needs collect(int n, const wf_picture *const *p, wf_text_scale *s)
{
    needs k = {0};
    unsigned spent = 0;
    int chunks = 1;

    for (int i = 0; i < n; i++) {
        k.length = fmax(k.length, p[i]->length);
        k.short_op = i ? fmin(k.short_op, p[i]->short_op) : p[i]->short_op;
        int d = digits(p[i]->max_micro);
        k.number = d > k.number ? d : k.number;
        chunks = p[i]->n_chunks > chunks ? p[i]->n_chunks : chunks;
        spent |= p[i]->spent;
    }
    s->plain = (spent & 31) == 1u << WEFT_SPENT_F && chunks == 1;
    s->with_chunk = chunks > 1;
    k.name =
        k.number + !s->plain + (s->with_chunk ? 1 + digits((uint32_t)chunks - 1) : 0);
    k.grid = 1;
    for (int i = 0; i < n; i++)
        k.grid = k.grid && on_grid(p[i], k.short_op);
    return k;
}

wf_text_scale wf_text_choose_scale(int n, const wf_picture *const *p, int room)
{
    wf_text_scale s = {.mode = WF_TEXT_DENSE};
    needs k = collect(n, p, &s);
    double most = room / (k.length / k.short_op); /* columns a short op can have */
    double per_op = most;

    if (s.plain && k.number == 1 && k.grid && most >= 1) {
        s.mode = WF_TEXT_COMPACT; /* the lesson's digits */
        per_op = 1;
    } else if (most >= k.name + 1) {
        s.mode = WF_TEXT_FULL;
        per_op = k.name + 1;
    } else if (most >= 1) {
        s.mode = WF_TEXT_COMPACT;
        if (k.grid) per_op = most >= 2 && k.number > 1 ? 2 : 1;
    }
    s.per_unit = per_op / k.short_op;
    s.columns = (int)ceil(k.length * s.per_unit - 1e-6);
    if (s.columns > room) s.columns = room;
    if (s.columns < 1) s.columns = 1;
    return s;
}
