/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline as text: a row a rank, an axis, a legend. */
#include "draw/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 24, BUSY_WIDTH = 6 };

typedef struct page {
    weft_writer *out;
    const weft_draw_options *o;
    wf_text_scale scale;
    int gutter; /* columns left of the bar */
    wf_cell *cells;
} page;

static const weft_draw_options defaults = {.step = -1};

/* Background and foreground of the 256 colours by what the time went into; four
 * shades for the chunks of F and B. */
static const char *colour(const wf_cell *c)
{
    static const char *const f[] = {"48;5;25;38;5;231", "48;5;32;38;5;231",
                                    "48;5;74;38;5;16", "48;5;117;38;5;16"};
    static const char *const b[] = {"48;5;208;38;5;16", "48;5;214;38;5;16",
                                    "48;5;221;38;5;16", "48;5;229;38;5;16"};
    switch (c->style - 1) {
    case WEFT_SPENT_F: return f[c->chunk % 4];
    case WEFT_SPENT_B:
    case WEFT_SPENT_I: return b[c->chunk % 4];
    case WEFT_SPENT_W: return "48;5;36;38;5;16";
    case WEFT_SPENT_R: return "48;5;97;38;5;231";
    case WEFT_SPENT_OPTIMIZER: return "48;5;240;38;5;231";
    case WEFT_SPENT_OTHER: return "48;5;245;38;5;16";
    case WEFT_SPENT_COLLECTIVE: return "38;5;169";
    case WEFT_N_SPENT: return "48;5;144;38;5;16";
    default: return "38;5;244";
    }
}

static void put_cells(const page *g)
{
    const char *now = NULL;
    for (int c = 0; c < g->scale.columns; c++) {
        const char *want = g->o->color ? colour(&g->cells[c]) : NULL;
        if (want && want != now) weft_print(g->out, "\033[0;%sm", want);
        now = want;
        weft_print(g->out, "%s", g->cells[c].glyph);
    }
    if (now) weft_print(g->out, "\033[0m");
}

static const char *bar(const page *g)
{
    return g->o->ascii ? "|" : "│";
}

static void put_rank(const page *g, const wf_picture *p, int rank, const char *name)
{
    wf_text_rank(p, &g->scale, rank, g->o->ascii, g->cells);
    weft_print(g->out, "%-*s %s", g->gutter - 2, name, bar(g));
    put_cells(g);
    weft_print(g->out, "%s%4.0f%%\n", bar(g),
               100 * wf_picture_busy(p, rank) / p->length);
    if (g->scale.mode != WF_TEXT_COMPACT || !g->scale.with_chunk) return;
    wf_text_chunks(p, &g->scale, rank, g->cells);
    weft_print(g->out, "%*s %s", g->gutter - 2, "chunk", bar(g));
    put_cells(g);
    weft_print(g->out, "%s\n", bar(g));
}

static void put_axis(const page *g, const wf_picture *p)
{
    wf_unit_shown u = wf_picture_unit(p);
    double length = g->scale.columns / g->scale.per_unit * u.factor;
    double step = wf_nice_step(length, g->scale.columns / 7 + 1);
    int at = -1; /* the first free column, after one blank */

    weft_print(g->out, "%*s", g->gutter, "");
    for (int i = 0; i * step <= length * (1 + 1e-9); i++) {
        char text[40];
        int column = (int)floor(i * step / u.factor * g->scale.per_unit + 0.5);
        int n = snprintf(text, sizeof text, "%.6g%s", i * step, i ? "" : u.name);
        if (column <= at || column + n > g->scale.columns + BUSY_WIDTH) continue;
        weft_print(g->out, "%*s%s", column - (at < 0 ? 0 : at), "", text);
        at = column + n;
    }
    weft_print(g->out, "\n");
}

/* ---- legend --------------------------------------------------------------------- */

typedef struct legend {
    const page *g;
    int at; /* columns written of the line */
} legend;

static int columns_of(const char *utf8)
{
    int n = 0;
    for (; *utf8; utf8++)
        n += ((unsigned char)*utf8 & 0xC0) != 0x80;
    return n;
}

/* "sign words" after a comma; on a new line where it would pass the width. */
static void put_item(legend *l, const char *sign, const char *words)
{
    int width = l->g->o->width > 0 ? l->g->o->width : DEFAULT_WIDTH;
    int n = columns_of(sign) + (*sign != 0) + columns_of(words);

    if (l->at && l->at + 2 + n >= width) {
        weft_print(l->g->out, ",\n");
        l->at = 0;
    } else if (l->at) {
        weft_print(l->g->out, ", ");
        l->at += 2;
    }
    weft_print(l->g->out, "%s%s%s", sign, *sign ? " " : "", words);
    l->at += n;
}

static void put_ops(legend *l, unsigned spent)
{
    static const struct {
        const char *unicode, *ascii, *letter, *words;
    } row[] = {{"0 1 2", "0 1 2", "F", "forward"},
               {"₀ ₁ ₂", "a b c", "B", "backward"},
               {"₀ ₁ ₂", "a b c", "I", "input gradient"},
               {"⁰ ¹ ²", "A B C", "W", "weight gradient"},
               {"r", "r", "R", "recompute"}};
    for (int w = 0; w <= WEFT_SPENT_R; w++) {
        if (!(spent >> w & 1)) continue;
        const char *sign = l->g->o->ascii ? row[w].ascii : row[w].unicode;
        if (l->g->scale.mode != WF_TEXT_COMPACT)
            sign = l->g->scale.plain && l->g->scale.mode == WF_TEXT_FULL
                       ? "0"
                       : row[w].letter;
        put_item(l, sign, row[w].words);
    }
}

static void put_legend(const page *g, unsigned spent)
{
    legend l = {g, 0};
    put_ops(&l, spent);
    if (g->scale.mode == WF_TEXT_COMPACT)
        put_item(&l, "", "number or last digit of micro-batch");
    if (g->scale.mode == WF_TEXT_DENSE) put_item(&l, "#", "several");
    if (g->scale.mode == WF_TEXT_FULL)
        put_item(&l, "",
                 g->scale.with_chunk ? "micro-batch.chunk" : "number of micro-batch");
    if (spent >> WEFT_SPENT_OPTIMIZER & 1) put_item(&l, "o", "optimizer");
    if (spent >> WEFT_SPENT_OTHER & 1) put_item(&l, "+", "other work");
    if (spent >> WEFT_SPENT_COLLECTIVE & 1) put_item(&l, "~", "collective");
    put_item(&l, g->o->ascii ? "." : "·", "idle");
    weft_print(g->out, "\n");
}

static void put_summary(const page *g, const wf_picture *p, const char *which)
{
    wf_unit_shown u = wf_picture_unit(p);
    double busy = 0;
    for (int r = 0; r < p->n_ranks; r++)
        busy += wf_picture_busy(p, r) / p->length / p->n_ranks;
    weft_print(g->out,
               "%s%.6g%s%s in all; ranks compute %.1f %% of the time, idle %.1f %%\n",
               which, p->length * u.factor, u.name[0] ? " " : "", u.name, 100 * busy,
               100 - 100 * busy);
}

static void put_title(const page *g, const wf_picture *p, const char *which, int step)
{
    weft_print(g->out, "%s%s%s", which, p->t->title,
               p->t->measured ? ", measured" : "");
    if (step >= 0 && p->t->measured) weft_print(g->out, ", step %d", step);
    weft_print(g->out, "\n");
}

/* ---- pages ---------------------------------------------------------------------- */

static weft_status open_page(page *g, int n, const wf_picture *const *p, int extra)
{
    char last[24];
    int width = g->o->width > 0 ? g->o->width : DEFAULT_WIDTH;
    if (width < LEAST_WIDTH) width = LEAST_WIDTH;
    int name = snprintf(last, sizeof last, "rank %d", p[0]->n_ranks - 1);
    g->gutter = name + extra + 2;
    g->scale = wf_text_choose_scale(n, p, width - g->gutter - BUSY_WIDTH);
    return WF_ALLOC(g->scale.columns, &g->cells);
}

weft_status weft_draw_text(const weft_trace *t, const weft_draw_options *o,
                           weft_writer *out)
{
    page g = {.out = out, .o = o ? o : &defaults};
    wf_picture p;

    WF_TRY(wf_picture_make(t, g.o->step, 1, &p));
    weft_status st = open_page(&g, 1, (const wf_picture *const[]){&p}, 0);
    if (st == WEFT_OK) {
        put_title(&g, &p, "", g.o->step);
        for (int r = 0; r < p.n_ranks; r++) {
            char name[24];
            snprintf(name, sizeof name, "rank %d", r);
            put_rank(&g, &p, r, name);
        }
        put_axis(&g, &p);
        put_legend(&g, p.spent);
        put_summary(&g, &p, "");
        st = weft_writer_status(out);
    }
    wf_free(g.cells);
    wf_picture_clear(&p);
    return st;
}

/* The step that is shown, where the trace holds others too; -1 where it is all there is. */
static int step_of(const wf_picture *p)
{
    int step = p->box[0].e->step;
    for (int64_t i = 0; i < p->t->n; i++)
        if (p->t->entry[i].step != step) return step;
    return -1;
}

static void put_pair(const page *g, const wf_picture *a, const wf_picture *b)
{
    put_title(g, a, "a  ", step_of(a));
    put_title(g, b, "b  ", step_of(b));
    for (int r = 0; r < a->n_ranks; r++) {
        char name[24];
        snprintf(name, sizeof name, "rank %d a", r);
        put_rank(g, a, r, name);
        snprintf(name, sizeof name, "%*s b", (int)strlen(name) - 2, "");
        put_rank(g, b, r, name);
    }
    put_axis(g, a->length > b->length ? a : b);
    put_legend(g, a->spent | b->spent);
    put_summary(g, a, "a  ");
    put_summary(g, b, "b  ");
}

weft_status weft_draw_text_pair(const weft_trace *a, const weft_trace *b,
                                const weft_draw_options *o, weft_writer *out)
{
    page g = {.out = out, .o = o ? o : &defaults};
    wf_picture pa = {0}, pb = {0};
    double scale;
    int step_a, step_b;

    if (a->n_ranks != b->n_ranks)
        return WF_FAIL(WEFT_E_MISMATCH, "%d ranks above %d ranks: rows would not pair",
                       a->n_ranks, b->n_ranks);
    WF_TRY(weft_trace_check(a));
    WF_TRY(weft_trace_check(b));
    WF_TRY(weft_trace_scale(a, b, &scale));
    WF_TRY(weft_trace_median_step(a, &step_a));
    WF_TRY(weft_trace_median_step(b, &step_b));
    weft_status st = wf_picture_make(a, step_a, scale, &pa);
    if (st == WEFT_OK) st = wf_picture_make(b, step_b, 1, &pb);
    if (st == WEFT_OK) st = open_page(&g, 2, (const wf_picture *const[]){&pa, &pb}, 2);
    if (st == WEFT_OK) {
        pa.unit = b->unit; /* it was scaled */
        put_pair(&g, &pa, &pb);
        st = weft_writer_status(out);
    }
    wf_free(g.cells);
    wf_picture_clear(&pa);
    wf_picture_clear(&pb);
    return st;
}
