/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the SVG timeline: boxes, names, and the curve of what a rank holds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "draw/svg_sheet.h"

enum {
    STRIP = 4,
    LEAST_FONT = 6,     /* smaller is no text */
    MAX_BOXES = 100000, /* on a page; beyond: columns of a pixel instead of boxes */
    MOST_STEPS = 4 /* of a memory curve in a pixel; beyond: the most of each quarter */
};

double wf_sheet_row_height(const wf_sheet *s)
{
    return s->bar + s->strip + s->memory + s->gap;
}

/* ---- measures ------------------------------------------------------------------- */

/* Wide enough for a number in the short boxes, within what a page holds. */
static double default_width(const wf_picture *p)
{
    double width = WF_SVG_LEFT + WF_SVG_RIGHT + 12 * p->length / p->short_op;
    return width < 960 ? 960 : width > 1600 ? 1600 : floor(width);
}

static double font_size(const wf_sheet *s)
{
    return s->bar * 0.55 < 11 ? s->bar * 0.55 : 11;
}

static double text_width(int characters, double font)
{
    return characters * font * 0.62 + 2;
}

/* The font in which they are so wide. */
static double text_size(int characters, double wide)
{
    return (wide - 2) / (characters * 0.62);
}

static int digits_of(const wf_box *b)
{
    return snprintf(NULL, 0, "%u", (unsigned)b->e->op.micro);
}

static int has_number(const wf_box *b)
{
    return b->spent <= WEFT_SPENT_R && b->lane == WEFT_LANE_COMPUTE;
}

/* Letters are shown for a kind when every box of it has room for its whole name; else the
 * numbers of the micro-batches, in a size in which the longest fits the narrowest box. Where
 * that is no size to read, boxes with room for the longest have theirs: of boxes of one width
 * all or none. */
static void choose_labels(wf_sheet *s)
{
    double font = font_size(s), narrow[WEFT_SPENT_R + 1];
    for (int w = 0; w <= WEFT_SPENT_R; w++) {
        s->letters[w] = font;
        narrow[w] = HUGE_VAL;
    }
    for (int64_t i = 0; i < s->p->n; i++) {
        const wf_box *b = &s->p->box[i];
        char name[48];
        if (!has_number(b)) continue;
        double wide = (b->t1 - b->t0) * s->per_unit;
        int n = (int)strlen(weft_trace_entry_name(b->e, s->p->n_chunks > 1, name));
        if (text_width(n, font) > wide) s->letters[b->spent] = 0;
        narrow[b->spent] = fmin(narrow[b->spent], wide);
        if (digits_of(b) > s->digits) s->digits = digits_of(b);
    }
    for (int w = 0; w <= WEFT_SPENT_R; w++) {
        s->numbers[w] = fmin(font, text_size(s->digits ? s->digits : 1, narrow[w]));
        if (s->numbers[w] < LEAST_FONT) s->numbers[w] = font;
    }
}

static int is_message(const wf_box *b)
{
    return b->lane == WEFT_LANE_SEND || b->lane == WEFT_LANE_RECV;
}

static void measure_rows(wf_sheet *s)
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

static weft_status open_sheet(wf_sheet *s, int64_t most_boxes)
{
    const wf_picture *p = s->p;
    int64_t most = 0;
    for (int r = 0; r < p->n_ranks; r++) {
        int64_t n = wf_picture_level_room(p, r);
        most = n > most ? n : most;
    }
    WF_TRY(WF_ALLOC(most, &s->level));
    for (int r = 0; r < p->n_ranks; r++) {
        double peak;
        if (wf_picture_memory(p, r, s->level, &peak) && peak > s->peak) s->peak = peak;
    }
    s->dense = p->n > most_boxes;
    measure_rows(s);
    choose_labels(s);
    return WEFT_OK;
}

weft_status wf_sheets_open(int n, const wf_picture *const *p,
                           const weft_draw_options *o, weft_writer *out,
                           wf_sheet *sheet)
{
    double width = 0, length = 0;
    int shades = 1;
    for (int i = 0; i < n; i++) {
        width = fmax(width, default_width(p[i]));
        length = fmax(length, p[i]->length);
        shades = p[i]->n_chunks > shades ? p[i]->n_chunks : shades;
    }
    if (o && o->width > 0) width = o->width < 240 ? 240 : o->width;
    for (int i = 0; i < n; i++) {
        wf_sheet *s = &sheet[i];
        *s = (wf_sheet){.p = p[i], .out = out, .prefix = "", .width = width};
        s->length = length;
        s->shades = shades;
        s->per_unit = (width - WF_SVG_LEFT - WF_SVG_RIGHT) / length;
    }
    for (int i = 0; i < n; i++)
        WF_TRY(open_sheet(&sheet[i], MAX_BOXES / n));
    for (int i = 0; i < n; i++) /* curves of one scale */
        for (int k = 0; k < n; k++)
            if (sheet[i].peak > 0) sheet[i].peak = fmax(sheet[i].peak, sheet[k].peak);
    return WEFT_OK;
}

void wf_sheet_clear(wf_sheet *s)
{
    wf_free(s->level);
    s->level = NULL;
}

double wf_sheet_x(const wf_sheet *s, double t)
{
    return WF_SVG_LEFT + t * s->per_unit;
}

/* ---- boxes ---------------------------------------------------------------------- */

static void put_id(const wf_sheet *s, const wf_box *b)
{
    const weft_trace_entry *e = b->e;
    char name[48];
    weft_trace_entry_name(e, 1, name);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '"' || *c == '&' || *c == '<' || *c == '>') *c = '-';
    weft_print(s->out, "%sr%d-", s->prefix, b->rank);
    wf_svg_text(s->out, name);
    if (e->op.slice && !e->label) weft_print(s->out, "-q%d", e->op.slice);
    if (e->op.flags & WEFT_OPF_GRAD && !e->label) weft_print(s->out, "-g");
    if (e->step) weft_print(s->out, "-s%d", e->step);
    if (e->label) weft_print(s->out, "-%lld", (long long)(b - s->p->box));
}

static void put_tooltip(const wf_sheet *s, const wf_box *b)
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

static void put_rect(const wf_sheet *s, const wf_box *b, double y, double height)
{
    char x[32], yy[32], w[32], h[32];
    double left = wf_sheet_x(s, b->t0), wide = (b->t1 - b->t0) * s->per_unit;
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

static void put_label(const wf_sheet *s, const wf_box *b, double y)
{
    char name[48], number[16], x[32], yy[32], size[32];
    double font = font_size(s), wide = (b->t1 - b->t0) * s->per_unit;
    const char *text = weft_trace_entry_name(b->e, s->p->n_chunks > 1, name);
    int least; /* characters that there must be room for */

    if (b->spent == WEFT_SPENT_WAIT) return;
    if (b->spent <= WEFT_SPENT_R && s->letters[b->spent] == 0) {
        font = s->numbers[b->spent];
        least = s->digits;
        snprintf(number, sizeof number, "%u", (unsigned)b->e->op.micro);
        text = number;
    } else {
        least = (int)strlen(text);
    }
    if (font < LEAST_FONT || text_width(least, font) > wide + 1e-9) return;
    int dark = wf_svg_dark_text(b->spent, b->e->label ? 0 : b->e->op.chunk,
                                b->spent <= WEFT_SPENT_R ? s->shades : 1);
    weft_print(s->out, "<text class=\"label%s\" x=\"%s\" y=\"%s\" font-size=\"%s\">",
               dark ? " d" : "", wf_svg_number(wf_sheet_x(s, (b->t0 + b->t1) / 2), x),
               wf_svg_number(y + s->bar / 2 + font * 0.36, yy),
               wf_svg_number(font, size));
    wf_svg_text(s->out, text);
    weft_print(s->out, "</text>\n");
}

static void put_boxes(const wf_sheet *s, int rank, double y)
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
static void put_runs(const wf_sheet *s, int rank, double y)
{
    int n = (int)ceil(s->p->length * s->per_unit - 1e-6);
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
                   "<rect id=\"%sr%d-x%d\" class=\"%s\" x=\"%d\" y=\"%g\" width=\"%d\" "
                   "height=\"%g\"/>\n",
                   s->prefix, rank, c, wf_svg_class(what), WF_SVG_LEFT + c, y, next - c,
                   s->bar);
    }
    wf_free(cols);
}

/* ---- memory curve --------------------------------------------------------------- */

/* "12" activations, or "1.5 GiB". */
static const char *held_text(const wf_sheet *s, double held, char buf[32])
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int k = 0;
    while (s->p->t->n_levels && held >= 1024 && k < 4) {
        held /= 1024;
        k++;
    }
    snprintf(buf, 32, s->p->t->n_levels ? "%.3g %s" : "%.0f", held, unit[k]);
    return buf;
}

/* Steps that nobody could tell apart become one, the highest. */
static int64_t thin_out(const wf_sheet *s, int64_t n)
{
    wf_level *l = s->level;
    int64_t kept = 0;
    if (n <= MOST_STEPS * (int64_t)s->width) return n;
    for (int64_t i = 0; i < n; i++) {
        double px = kept ? (l[i].at - l[kept - 1].at) * s->per_unit : 1;
        if (px * MOST_STEPS >= 1)
            l[kept++] = l[i];
        else
            l[kept - 1].held = fmax(l[kept - 1].held, l[i].held);
    }
    return kept;
}

static void put_curve(const wf_sheet *s, int rank, int64_t n, double floor_y)
{
    char a[32], b[32];
    double unit = (s->memory - 3) / s->peak;
    weft_print(s->out, "<path id=\"%sr%d-memory\" class=\"mem%s\" d=\"M%s %s",
               s->prefix, rank, s->memory < 9 ? " thin" : "",
               wf_svg_number(wf_sheet_x(s, s->level[0].at), a),
               wf_svg_number(floor_y, b));
    for (int64_t i = 0; i < n; i++) {
        if (i)
            weft_print(s->out, "H%s", wf_svg_number(wf_sheet_x(s, s->level[i].at), a));
        weft_print(s->out, "V%s", wf_svg_number(floor_y - s->level[i].held * unit, b));
    }
}

static void put_memory(const wf_sheet *s, int rank, double y)
{
    char a[32], b[32], held[32];
    double peak, floor_y = y + s->memory;
    int64_t n = wf_picture_memory(s->p, rank, s->level, &peak);

    if (!n) return;
    put_curve(s, rank, thin_out(s, n), floor_y);
    held_text(s, peak, held);
    weft_print(s->out, "Z\"><title>rank %d holds at most %s%s</title></path>\n", rank,
               held, s->p->t->n_levels ? "" : " activations");
    if (s->memory < 9) return;
    weft_print(s->out, "<text class=\"side\" x=\"%s\" y=\"%s\">%s%s</text>\n",
               wf_svg_number(s->width - WF_SVG_RIGHT + 6, a),
               wf_svg_number(floor_y - 2, b), s->p->t->n_levels ? "" : "peak ", held);
}

/* ---- rows ----------------------------------------------------------------------- */

static void put_row(const wf_sheet *s, int rank, double y)
{
    char a[32], b[32], c[32];
    double w = s->p->length * s->per_unit;
    double share = 100 * wf_picture_busy(s->p, rank) / s->p->length;

    weft_print(s->out, "<g id=\"%srank-%d\" class=\"rank\">\n", s->prefix, rank);
    weft_print(s->out,
               "<rect class=\"row\" x=\"%d\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n",
               WF_SVG_LEFT, wf_svg_number(y, a), wf_svg_number(w, b),
               wf_svg_number(s->bar, c));
    if (s->bar >= 10)
        weft_print(s->out,
                   "<text class=\"name\" x=\"%d\" y=\"%s\">rank %d</text>"
                   "<text class=\"side\" x=\"%s\" y=\"%s\">%.0f %%</text>\n",
                   WF_SVG_LEFT - 8, wf_svg_number(y + s->bar / 2 + 4, a), rank,
                   wf_svg_number(s->width - WF_SVG_RIGHT + 6, b), a, share);
    if (s->dense)
        put_runs(s, rank, y);
    else
        put_boxes(s, rank, y);
    put_memory(s, rank, y + s->bar + s->strip);
    weft_print(s->out, "</g>\n");
}

void wf_sheet_put_rows(const wf_sheet *s, double y)
{
    for (int r = 0; r < s->p->n_ranks; r++, y += wf_sheet_row_height(s))
        put_row(s, r, y);
}
