/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as SVG. Each rank is a row: a bar of boxes, a thin strip for what runs
 * in the other lanes beneath it, and under that the curve of the activations it holds,
 * all ranks on one scale.
 */
#include "draw/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    LEFT = 64,
    RIGHT = 62,
    TOP = 58,
    AXIS = 24,
    LEGEND = 26,
    BOTTOM = 12,
    STRIP = 4,
    MAX_BOXES = 100000 /* beyond: columns of a pixel instead of boxes */
};

typedef struct sheet {
    const wf_picture *p;
    weft_writer *out;
    double width, per_unit;         /* px of the page, px per unit of time */
    double bar, strip, memory, gap; /* heights */
    int dense;
    int waits, messages; /* boxes of waiting, of send and receive lanes */
    int peak;            /* of all ranks; 0: no curve */
    double letters[WEFT_SPENT_R +
                   1]; /* font size when all boxes of a kind fit their names */
    wf_level *level;
} sheet;

static double row_height(const sheet *s)
{
    return s->bar + s->strip + s->memory + s->gap;
}

/* ---- measures ------------------------------------------------------------------- */

/* Wide enough for a number in the short boxes, within what a page holds. */
static double default_width(const wf_picture *p)
{
    double width = LEFT + RIGHT + 12 * p->length / p->short_op;
    return width < 960 ? 960 : width > 1600 ? 1600 : floor(width);
}

static double font_size(const sheet *s)
{
    return s->bar * 0.55 < 11 ? s->bar * 0.55 : 11;
}

static double text_width(int characters, double font)
{
    return characters * font * 0.62 + 2;
}

/* Letters are shown for a kind when every box of it has room for its whole name. */
static void choose_letters(sheet *s)
{
    double font = font_size(s);
    for (int w = 0; w <= WEFT_SPENT_R; w++)
        s->letters[w] = font;
    for (int64_t i = 0; i < s->p->n; i++) {
        const wf_box *b = &s->p->box[i];
        char name[48];
        if (b->spent > WEFT_SPENT_R) continue;
        int n = (int)strlen(weft_trace_entry_name(b->e, s->p->n_chunks > 1, name));
        if (text_width(n, font) > (b->t1 - b->t0) * s->per_unit)
            s->letters[b->spent] = 0;
    }
}

static int is_message(const wf_box *b)
{
    return b->lane == WEFT_LANE_SEND || b->lane == WEFT_LANE_RECV;
}

static void measure_rows(sheet *s)
{
    int n = s->p->n_ranks, strip = 0;
    for (int64_t i = 0; i < s->p->n; i++) {
        const wf_box *b = &s->p->box[i];
        strip |= b->lane != WEFT_LANE_COMPUTE;
        s->messages |= is_message(b);
        s->waits |= b->spent == WEFT_SPENT_WAIT && !is_message(b);
    }
    s->bar = n <= 8 ? 26 : n <= 16 ? 20 : n <= 32 ? 14 : 10;
    s->strip = strip ? STRIP : 0;
    s->memory = !s->peak ? 0 : n <= 8 ? 22 : n <= 16 ? 14 : n <= 32 ? 9 : 8;
    s->gap = n <= 8 ? 8 : n <= 32 ? 5 : 3;
}

static weft_status open_sheet(sheet *s, const weft_draw_options *o)
{
    const wf_picture *p = s->p;
    int64_t most = 0;
    for (int r = 0; r < p->n_ranks; r++) {
        int64_t n = p->first[r + 1] - p->first[r];
        most = n > most ? n : most;
    }
    WF_TRY(WF_ALLOC(2 * most, &s->level));
    for (int r = 0; r < p->n_ranks; r++) {
        int peak;
        if (wf_picture_memory(p, r, s->level, &peak) && peak > s->peak) s->peak = peak;
    }
    s->width = o && o->width > 0 ? (o->width < 240 ? 240 : o->width) : default_width(p);
    s->per_unit = (s->width - LEFT - RIGHT) / p->length;
    s->dense = p->n > MAX_BOXES;
    measure_rows(s);
    choose_letters(s);
    return WEFT_OK;
}

static double x_of(const sheet *s, double t)
{
    return LEFT + t * s->per_unit;
}

/* ---- boxes ---------------------------------------------------------------------- */

static void put_id(const sheet *s, const wf_box *b)
{
    const weft_trace_entry *e = b->e;
    char name[48];
    weft_trace_entry_name(e, 1, name);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '"' || *c == '&' || *c == '<' || *c == '>') *c = '-';
    weft_print(s->out, "r%d-", b->rank);
    wf_svg_text(s->out, name);
    if (e->op.slice && !e->label) weft_print(s->out, "-q%d", e->op.slice);
    if (e->op.flags & WEFT_OPF_GRAD && !e->label) weft_print(s->out, "-g");
    if (e->step) weft_print(s->out, "-s%d", e->step);
    if (e->label) weft_print(s->out, "-%lld", (long long)(b - s->p->box));
}

static void put_tooltip(const sheet *s, const wf_box *b)
{
    wf_unit_shown u = wf_picture_unit(s->p);
    char name[48];
    weft_trace_entry_name(b->e, s->p->n_chunks > 1, name);
    weft_print(s->out, "<title>rank %d ", b->rank);
    wf_svg_text(s->out, name);
    weft_print(s->out, ": %.6g to %.6g, %.6g%s%s", b->t0 * u.factor, b->t1 * u.factor,
               (b->t1 - b->t0) * u.factor, u.name[0] ? " " : "", u.name);
    if (b->e->bytes) weft_print(s->out, ", %lld bytes", (long long)b->e->bytes);
    weft_print(s->out, "</title>");
}

static void put_rect(const sheet *s, const wf_box *b, double y, double height)
{
    char x[32], yy[32], w[32], h[32];
    double left = x_of(s, b->t0), wide = (b->t1 - b->t0) * s->per_unit;
    double inset = wide > 4 ? 0.5 : 0;

    weft_print(s->out, "<rect id=\"");
    put_id(s, b);
    weft_print(s->out, "\" class=\"%s", is_message(b) ? "msg" : wf_svg_class(b->spent));
    if (!b->e->label && b->e->op.chunk) weft_print(s->out, " c%d", b->e->op.chunk);
    weft_print(s->out, "\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"",
               wf_svg_number(left + inset, x), wf_svg_number(y, yy),
               wf_svg_number(wide - 2 * inset, w), wf_svg_number(height, h));
    if (wide > 7 && height > 7) weft_print(s->out, " rx=\"2\"");
    weft_print(s->out, ">");
    put_tooltip(s, b);
    weft_print(s->out, "</rect>\n");
}

static void put_label(const sheet *s, const wf_box *b, double y)
{
    char name[48], number[16], x[32], yy[32], size[32];
    double font = font_size(s), wide = (b->t1 - b->t0) * s->per_unit;
    const char *text = weft_trace_entry_name(b->e, s->p->n_chunks > 1, name);

    if (b->spent == WEFT_SPENT_WAIT || font < 6) return;
    if (b->spent <= WEFT_SPENT_R && s->letters[b->spent] == 0) {
        snprintf(number, sizeof number, "%u", (unsigned)b->e->op.micro);
        text = number;
    }
    if (text_width((int)strlen(text), font) > wide) return;
    int dark = wf_svg_dark_text(b->spent, b->e->label ? 0 : b->e->op.chunk,
                                b->spent <= WEFT_SPENT_R ? s->p->n_chunks : 1);
    weft_print(s->out, "<text class=\"label%s\" x=\"%s\" y=\"%s\" font-size=\"%s\">",
               dark ? " d" : "", wf_svg_number(x_of(s, (b->t0 + b->t1) / 2), x),
               wf_svg_number(y + s->bar / 2 + font * 0.36, yy),
               wf_svg_number(font, size));
    wf_svg_text(s->out, text);
    weft_print(s->out, "</text>\n");
}

static void put_boxes(const sheet *s, int rank, double y)
{
    const wf_picture *p = s->p;
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++) {
        const wf_box *b = &p->box[i];
        if (b->lane == WEFT_LANE_COMPUTE) {
            put_rect(s, b, y, s->bar);
            put_label(s, b, y);
        } else {
            put_rect(s, b, y + s->bar + 1, s->strip - 1);
        }
    }
}

/* Too many boxes: what each pixel column went into, equal neighbours as one run. */
static void put_runs(const sheet *s, int rank, double y)
{
    int n = (int)(s->width - LEFT - RIGHT);
    double(*cols)[WEFT_N_SPENT];
    if (WF_ALLOC(n, &cols) != WEFT_OK) {
        s->out->failed = 1;
        return;
    }
    wf_picture_columns(s->p, rank, s->per_unit, n, cols);
    for (int c = 0, next; c < n; c = next) {
        int what = wf_column_shows(cols[c]);
        for (next = c + 1; next < n && wf_column_shows(cols[next]) == what;)
            next++;
        if (what == WEFT_SPENT_WAIT) continue;
        weft_print(s->out,
                   "<rect id=\"r%d-x%d\" class=\"%s\" x=\"%d\" y=\"%g\" width=\"%d\" "
                   "height=\"%g\"/>\n",
                   rank, c, wf_svg_class(what), LEFT + c, y, next - c, s->bar);
    }
    wf_free(cols);
}

/* ---- memory curve --------------------------------------------------------------- */

static void put_memory(const sheet *s, int rank, double y)
{
    char a[32], b[32];
    int peak;
    int64_t n = wf_picture_memory(s->p, rank, s->level, &peak);
    double floor_y = y + s->memory, unit = (s->memory - 3) / s->peak;

    if (!n) return;
    weft_print(s->out, "<path id=\"r%d-memory\" class=\"mem%s\" d=\"M%s %s", rank,
               s->memory < 9 ? " thin" : "", wf_svg_number(x_of(s, s->level[0].at), a),
               wf_svg_number(floor_y, b));
    for (int64_t i = 0; i < n; i++) {
        if (i) weft_print(s->out, "H%s", wf_svg_number(x_of(s, s->level[i].at), a));
        weft_print(s->out, "V%s", wf_svg_number(floor_y - s->level[i].held * unit, b));
    }
    weft_print(s->out,
               "Z\"><title>rank %d holds at most %d activations</title></path>\n", rank,
               peak);
    if (s->memory < 9) return;
    weft_print(s->out, "<text class=\"side\" x=\"%s\" y=\"%s\">peak %d</text>\n",
               wf_svg_number(s->width - RIGHT + 6, a), wf_svg_number(floor_y - 2, b),
               peak);
}

/* ---- page ----------------------------------------------------------------------- */

static void put_row(const sheet *s, int rank, double y)
{
    char a[32], b[32], c[32];
    double w = s->width - LEFT - RIGHT;
    double share = 100 * wf_picture_busy(s->p, rank) / s->p->length;

    weft_print(s->out, "<g id=\"rank-%d\" class=\"rank\">\n", rank);
    weft_print(
        s->out, "<rect class=\"row\" x=\"%d\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n",
        LEFT, wf_svg_number(y, a), wf_svg_number(w, b), wf_svg_number(s->bar, c));
    if (s->bar >= 10)
        weft_print(s->out,
                   "<text class=\"name\" x=\"%d\" y=\"%s\">rank %d</text>"
                   "<text class=\"side\" x=\"%s\" y=\"%s\">%.0f %%</text>\n",
                   LEFT - 8, wf_svg_number(y + s->bar / 2 + 4, a), rank,
                   wf_svg_number(s->width - RIGHT + 6, b), a, share);
    if (s->dense)
        put_runs(s, rank, y);
    else
        put_boxes(s, rank, y);
    put_memory(s, rank, y + s->bar + s->strip);
    weft_print(s->out, "</g>\n");
}

static void put_head(const sheet *s, double height)
{
    const wf_picture *p = s->p;
    wf_unit_shown u = wf_picture_unit(p);
    char w[32], h[32];
    double busy = 0;

    for (int r = 0; r < p->n_ranks; r++)
        busy += 100 * wf_picture_busy(p, r) / p->length / p->n_ranks;
    wf_svg_number(s->width, w);
    wf_svg_number(height, h);
    weft_print(s->out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
               "viewBox=\"0 0 %s %s\" role=\"img\">\n<title>",
               w, h, w, h);
    wf_svg_text(s->out, p->t->title);
    weft_print(s->out, "</title>\n");
    wf_svg_style(p, s->out);
    weft_print(s->out, "<rect class=\"page\" width=\"%s\" height=\"%s\" rx=\"6\"/>\n",
               w, h);
    weft_print(s->out, "<text class=\"title\" x=\"%d\" y=\"24\">", LEFT);
    wf_svg_text(s->out, p->t->title);
    weft_print(s->out,
               "</text>\n<text class=\"sub\" x=\"%d\" y=\"43\">%s: %.6g%s%s, ranks "
               "compute %.1f %% of it, idle %.1f %%</text>\n",
               LEFT, p->t->measured ? "measured" : "predicted", p->length * u.factor,
               u.name[0] ? " " : "", u.name, busy, 100 - busy);
}

static void put_axis(const sheet *s, double y)
{
    wf_unit_shown u = wf_picture_unit(s->p);
    char a[32], b[32];
    double step = wf_nice_step(s->p->length * u.factor, (int)(s->width / 90));

    weft_print(s->out, "<g id=\"axis\">\n");
    for (int i = 0; i * step <= s->p->length * u.factor * (1 + 1e-9); i++) {
        wf_svg_number(x_of(s, i * step / u.factor), a);
        weft_print(s->out,
                   "<path class=\"grid\" d=\"M%s %dV%s\"/>"
                   "<text class=\"tick\" x=\"%s\" y=\"%g\">%.6g%s%s</text>\n",
                   a, TOP - 4, wf_svg_number(y + 2, b), a, y + 15, i * step,
                   !i && u.name[0] ? " " : "", i ? "" : u.name);
    }
    weft_print(s->out, "</g>\n");
}

static double put_swatch(const sheet *s, double x, double y, const char *class,
                         const char *words)
{
    char a[32], b[32], c[32], d[32];
    weft_print(
        s->out,
        "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"12\" height=\"12\" rx=\"2\"/>"
        "<text class=\"legend\" x=\"%s\" y=\"%s\">%s</text>\n",
        class, wf_svg_number(x, a), wf_svg_number(y - 10, b), wf_svg_number(x + 17, c),
        wf_svg_number(y, d), words);
    return x + 17 + 6.6 * (double)strlen(words) + 18;
}

static void put_legend(const sheet *s, double y)
{
    static const char *const words[] = {
        "F forward",   "B backward", "I input gradient", "W weight gradient",
        "R recompute", "optimizer",  "other work",       "collective"};
    const wf_picture *p = s->p;
    double x = LEFT;

    weft_print(s->out, "<g id=\"legend\">\n");
    for (int w = 0; w < WEFT_SPENT_WAIT; w++)
        if (p->spent >> w & 1) x = put_swatch(s, x, y, wf_svg_class(w), words[w]);
    if (s->waits) x = put_swatch(s, x, y, wf_svg_class(WEFT_SPENT_WAIT), "waiting");
    if (s->messages) x = put_swatch(s, x, y, "msg", "message");
    if (s->dense) x = put_swatch(s, x, y, wf_svg_class(WEFT_N_SPENT), "several");
    for (int c = 0; c < p->n_chunks && p->n_chunks > 1 && c < 8; c++) {
        char class[16], name[16];
        snprintf(class, sizeof class, c ? "F c%d" : "F", c);
        snprintf(name, sizeof name, c ? "%d" : "chunk %d", c);
        x = put_swatch(s, x, y, class, name);
    }
    if (s->peak) put_swatch(s, x, y, "mem", "activations held");
    weft_print(s->out, "</g>\n");
}

static void put_page(const sheet *s)
{
    double rows = s->p->n_ranks * row_height(s), y = TOP;
    put_head(s, TOP + rows + AXIS + LEGEND + BOTTOM);
    put_axis(s, TOP + rows);
    for (int r = 0; r < s->p->n_ranks; r++, y += row_height(s))
        put_row(s, r, y);
    put_legend(s, TOP + rows + AXIS + 18);
    weft_print(s->out, "</svg>\n");
}

weft_status weft_draw_svg(const weft_trace *t, const weft_draw_options *o,
                          weft_writer *out)
{
    wf_picture p;
    WF_TRY(wf_picture_make(t, o ? o->step : -1, 1, &p));
    sheet s = {.p = &p, .out = out};
    weft_status st = open_sheet(&s, o);
    if (st == WEFT_OK) {
        put_page(&s);
        st = weft_writer_status(out);
    }
    wf_free(s.level);
    wf_picture_clear(&p);
    return st;
}
