/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of one rank as character cells. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "draw/text.h"

/* Digits by kind: a forward stands on the line, a backward below it, a weight gradient
 * above. ASCII has letters instead: a is 0, b is 1, ... */
static const char *digit_glyph(int spent, int digit, int ascii)
{
    static const char *const low[] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
    static const char *const high[] = {"⁰", "¹", "²", "³", "⁴",
                                       "⁵", "⁶", "⁷", "⁸", "⁹"};
    static const char *const line[] = {"0", "1", "2", "3", "4",
                                       "5", "6", "7", "8", "9"};
    static const char *const small[] = {"a", "b", "c", "d", "e",
                                        "f", "g", "h", "i", "j"};
    static const char *const large[] = {"A", "B", "C", "D", "E",
                                        "F", "G", "H", "I", "J"};

    if (spent == WEFT_SPENT_B || spent == WEFT_SPENT_I)
        return (ascii ? small : low)[digit];
    if (spent == WEFT_SPENT_W) return (ascii ? large : high)[digit];
    if (spent == WEFT_SPENT_R) return "r";
    return line[digit];
}

/* What fills a box beyond its text. */
static const char *fill_glyph(int spent, int ascii)
{
    switch (spent) {
    case WEFT_SPENT_OPTIMIZER: return "o";
    case WEFT_SPENT_OTHER: return "+";
    case WEFT_SPENT_COLLECTIVE: return "~";
    case WEFT_SPENT_WAIT: return ascii ? "." : "·";
    default: return ascii ? "-" : "─";
    }
}

static void put(wf_cell *c, const char *glyph, const wf_box *b)
{
    snprintf(c->glyph, sizeof c->glyph, "%s", glyph);
    c->style = (uint8_t)(1 + b->spent);
    c->chunk = b->e->label ? 0 : b->e->op.chunk;
}

static void idle(wf_cell *c, int n, int ascii)
{
    for (int i = 0; i < n; i++) {
        c[i] = (wf_cell){0};
        snprintf(c[i].glyph, sizeof c->glyph, "%s", fill_glyph(WEFT_SPENT_WAIT, ascii));
    }
}

static void put_name(wf_cell *c, int width, const wf_box *b, const char *name,
                     int ascii)
{
    int n = (int)strlen(name);
    for (int i = 0; i < width; i++) {
        char one[2] = {i < n ? name[i] : ' ', 0};
        int edge = i >= n &&
                   i == width - 1; /* a gap, so that neighbours do not run together */
        put(&c[i], i < n || edge ? one : fill_glyph(b->spent, ascii), b);
    }
}

/* The whole number where it fits, else its last digit. */
static void put_number(wf_cell *c, int width, const wf_box *b, int ascii)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%u", (unsigned)b->e->op.micro);
    const char *at = n <= width ? text : text + n - 1;

    for (int i = 0; i < width; i++) {
        put(&c[i],
            *at ? digit_glyph(b->spent, *at - '0', ascii) : fill_glyph(b->spent, ascii),
            b);
        if (*at) at++;
    }
}

static void put_box(wf_cell *c, int width, const wf_box *b, const wf_text_scale *s,
                    int ascii)
{
    char name[48];
    weft_trace_entry_name(b->e, s->with_chunk, name);
    const char *text = s->plain && !b->e->label ? name + 1 : name;

    /* what ops lie upon keeps no name: they would leave half of it */
    int below = b->spent == WEFT_SPENT_COLLECTIVE;
    if (s->mode == WF_TEXT_FULL && !below && (int)strlen(text) < width)
        put_name(c, width, b, text, ascii);
    else if (b->spent <= WEFT_SPENT_R)
        put_number(c, width, b, ascii);
    else
        for (int i = 0; i < width; i++)
            put(&c[i], fill_glyph(b->spent, ascii), b);
}

static int column(const wf_text_scale *s, double t)
{
    int c = (int)floor(t * s->per_unit + 0.5);
    return c < 0 ? 0 : c > s->columns ? s->columns : c;
}

/* Ops last, so that they lie above what overlaps them. */
static int layer(const wf_box *b)
{
    if (b->spent == WEFT_SPENT_WAIT) return -1;
    if (b->spent == WEFT_SPENT_COLLECTIVE) return 0;
    return b->spent > WEFT_SPENT_R ? 1 : 2;
}

static void dense(const wf_picture *p, const wf_text_scale *s, int rank, wf_cell *cells)
{
    static const char *const letter[] = {"F", "B", "I", "W", "R", "o", "+", "~"};
    double(*cols)[WEFT_N_SPENT];
    if (WF_ALLOC(s->columns, &cols) != WEFT_OK) return; /* the row stays idle */
    wf_picture_columns(p, rank, s->per_unit, s->columns, cols);
    for (int c = 0; c < s->columns; c++) {
        int what = wf_column_shows(cols[c]);
        if (what == WEFT_SPENT_WAIT) continue;
        snprintf(cells[c].glyph, sizeof cells->glyph, "%s",
                 what == WEFT_N_SPENT ? "#" : letter[what]);
        cells[c].style = (uint8_t)(1 + what);
    }
    wf_free(cols);
}

void wf_text_rank(const wf_picture *p, const wf_text_scale *s, int rank, int ascii,
                  wf_cell *cells)
{
    idle(cells, s->columns, ascii);
    if (s->mode == WF_TEXT_DENSE) {
        dense(p, s, rank, cells);
        return;
    }
    for (int pass = 0; pass < 3; pass++) {
        for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++) {
            const wf_box *b = &p->box[i];
            int c0 = column(s, b->t0), c1 = column(s, b->t1);
            if (layer(b) == pass && c1 > c0) put_box(cells + c0, c1 - c0, b, s, ascii);
        }
    }
}

void wf_text_chunks(const wf_picture *p, const wf_text_scale *s, int rank,
                    wf_cell *cells)
{
    static const char base36[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (int c = 0; c < s->columns; c++)
        cells[c] = (wf_cell){.glyph = " "};
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++) {
        const wf_box *b = &p->box[i];
        int c0 = column(s, b->t0), c1 = column(s, b->t1);
        char one[2] = {base36[b->e->op.chunk % 36], 0};
        if (b->spent > WEFT_SPENT_R) continue;
        for (int c = c0; c < c1; c++)
            put(&cells[c], c == c0 ? one : " ", b);
    }
}
