/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline as SVG. Each rank is a row: a bar of boxes, a thin strip for what runs
 * in the other lanes beneath it, and under that the curve of what it holds, all ranks on
 * one scale. Two timelines stand under one another on one axis.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "draw/svg_sheet.h"

/* ---- head ----------------------------------------------------------------------- */

static void open_page(int n, const wf_sheet *s, double height)
{
    char w[32], h[32];
    unsigned spent = 0;
    for (int i = 0; i < n; i++)
        spent |= s[i].p->spent;
    wf_svg_number(s->width, w);
    wf_svg_number(height, h);
    weft_print(s->out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
               "viewBox=\"0 0 %s %s\" role=\"img\">\n<title>",
               w, h, w, h);
    for (int i = 0; i < n; i++) {
        weft_print(s->out, i ? " and " : "");
        wf_svg_text(s->out, s[i].p->t->title);
    }
    weft_print(s->out, "</title>\n");
    wf_svg_style(spent, s->shades, s->out);
    weft_print(s->out, "<rect class=\"page\" width=\"%s\" height=\"%s\" rx=\"6\"/>\n",
               w, h);
}

static const char *unit_text(const wf_picture *p, char buf[16])
{
    wf_unit_shown u = wf_picture_unit(p);
    snprintf(buf, 16, "%s%s", u.name[0] ? " " : "", u.name);
    return buf;
}

static void put_head(const wf_sheet *s)
{
    const wf_picture *p = s->p;
    char unit[16];
    double busy = 0;

    for (int r = 0; r < p->n_ranks; r++)
        busy += 100 * wf_picture_busy(p, r) / p->length / p->n_ranks;
    weft_print(s->out, "<text class=\"title\" x=\"%d\" y=\"24\">", WF_SVG_LEFT);
    wf_svg_text(s->out, p->t->title);
    weft_print(s->out,
               "</text>\n<text class=\"sub\" x=\"%d\" y=\"43\">%s: %.6g%s, ranks "
               "compute %.1f %% of it, idle %.1f %%</text>\n",
               WF_SVG_LEFT, p->t->measured ? "measured" : "predicted",
               p->length * wf_picture_unit(p).factor, unit_text(p, unit), busy,
               100 - busy);
}

/* ---- foot ----------------------------------------------------------------------- */

/* Of the sheet with the longest picture, down to y. */
static void put_axis(const wf_sheet *s, double y)
{
    wf_unit_shown u = wf_picture_unit(s->p);
    char a[32], b[32];
    double step = wf_nice_step(s->length * u.factor, (int)(s->width / 90));

    weft_print(s->out, "<g id=\"axis\">\n");
    for (int i = 0; i * step <= s->length * u.factor * (1 + 1e-9); i++) {
        wf_svg_number(wf_sheet_x(s, i * step / u.factor), a);
        weft_print(s->out,
                   "<path class=\"grid\" d=\"M%s %dV%s\"/>"
                   "<text class=\"tick\" x=\"%s\" y=\"%g\">%.6g%s%s</text>\n",
                   a, WF_SVG_TOP - 4, wf_svg_number(y + 2, b), a, y + 15, i * step,
                   !i && u.name[0] ? " " : "", i ? "" : u.name);
    }
    weft_print(s->out, "</g>\n");
}

static double put_swatch(const wf_sheet *s, double x, double y, const char *class,
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

static void put_legend(int n, const wf_sheet *s, double y)
{
    static const char *const words[] = {
        "F forward",   "B backward", "I input gradient", "W weight gradient",
        "R recompute", "optimizer",  "other work",       "collective"};
    unsigned spent = 0;
    int waits = 0, messages = 0, dense = 0, levels = 0;
    double x = WF_SVG_LEFT, peak = 0;

    for (int i = 0; i < n; i++) {
        spent |= s[i].p->spent;
        waits |= s[i].waits;
        messages |= s[i].messages;
        dense |= s[i].dense;
        levels |= s[i].p->t->n_levels > 0;
        peak = fmax(peak, s[i].peak);
    }
    weft_print(s->out, "<g id=\"legend\">\n");
    for (int w = 0; w < WEFT_SPENT_WAIT; w++)
        if (spent >> w & 1) x = put_swatch(s, x, y, wf_svg_class(w), words[w]);
    if (waits) x = put_swatch(s, x, y, wf_svg_class(WEFT_SPENT_WAIT), "waiting");
    if (messages) x = put_swatch(s, x, y, "msg", "message");
    if (dense) x = put_swatch(s, x, y, wf_svg_class(WEFT_N_SPENT), "several");
    for (int c = 0; c < s->shades && s->shades > 1 && c < 8; c++) {
        char class[16], name[16];
        snprintf(class, sizeof class, c ? "F c%d" : "F", c);
        snprintf(name, sizeof name, c ? "%d" : "chunk %d", c);
        x = put_swatch(s, x, y, class, name);
    }
    if (peak > 0)
        put_swatch(s, x, y, "mem", levels ? "memory held" : "activations held");
    weft_print(s->out, "</g>\n");
}

/* ---- one timeline --------------------------------------------------------------- */

static void put_page(const wf_sheet *s)
{
    double rows = s->p->n_ranks * wf_sheet_row_height(s), foot = WF_SVG_TOP + rows;
    open_page(1, s, foot + WF_SVG_AXIS + WF_SVG_LEGEND + WF_SVG_BOTTOM);
    put_head(s);
    put_axis(s, foot);
    wf_sheet_put_rows(s, WF_SVG_TOP);
    put_legend(1, s, foot + WF_SVG_AXIS + 18);
    weft_print(s->out, "</svg>\n");
}

weft_status weft_draw_svg(const weft_trace *t, const weft_draw_options *o,
                          weft_writer *out)
{
    wf_picture p;
    wf_sheet s;
    WF_TRY(wf_picture_make(t, o ? o->step : -1, 1, &p));
    weft_status st = wf_sheets_open(1, (const wf_picture *const[]){&p}, o, out, &s);
    if (st == WEFT_OK) {
        put_page(&s);
        st = weft_writer_status(out);
    }
    wf_sheet_clear(&s);
    wf_picture_clear(&p);
    return st;
}

/* ---- two timelines -------------------------------------------------------------- */

enum { HEADING = 26, SECTION_GAP = 16 };

/* Share of the time in which even the rank with most work has none. */
static double bubble_of(const wf_picture *p)
{
    double busy = 0;
    for (int r = 0; r < p->n_ranks; r++)
        busy = fmax(busy, wf_picture_busy(p, r));
    return 1 - busy / p->length;
}

static void put_section(const wf_sheet *s, const char *which, double y)
{
    char unit[16], x[32], from[32], to[32];
    const wf_picture *p = s->p;
    double rows = p->n_ranks * wf_sheet_row_height(s);

    weft_print(s->out,
               "<g id=\"%stimeline\">\n<text class=\"heading\" x=\"%d\" y=\"%g\">",
               s->prefix, WF_SVG_LEFT, y + 14);
    weft_print(s->out, "%s  ", which);
    wf_svg_text(s->out, p->t->title);
    weft_print(s->out,
               "</text><text class=\"sub\" x=\"%d\" y=\"%g\" "
               "text-anchor=\"end\">%s%.6g%s, bubble %.2f %%</text>\n",
               (int)(s->width - WF_SVG_RIGHT), y + 14,
               p->t->measured ? "measured " : "", p->length * wf_picture_unit(p).factor,
               unit_text(p, unit), 100 * bubble_of(p));
    wf_sheet_put_rows(s, y + HEADING);
    wf_svg_number(wf_sheet_x(s, p->length), x);
    weft_print(s->out, "<path id=\"%send\" class=\"end\" d=\"M%s %sV%s\"/>\n</g>\n",
               s->prefix, x, wf_svg_number(y + HEADING - 4, from),
               wf_svg_number(y + HEADING + rows, to));
}

static void put_difference(const wf_sheet s[2])
{
    const wf_picture *a = s[0].p, *b = s[1].p;
    const wf_picture *longest = a->length > b->length ? a : b;
    char unit[16];
    double d = b->length - a->length;

    weft_print(s->out, "<text class=\"title\" x=\"%d\" y=\"24\">", WF_SVG_LEFT);
    wf_svg_text(s->out, a->t->title);
    weft_print(s->out, " and ");
    wf_svg_text(s->out, b->t->title);
    weft_print(s->out, "</text>\n<text class=\"sub\" x=\"%d\" y=\"43\">", WF_SVG_LEFT);
    if (fabs(d) <= 1e-9 * longest->length)
        weft_print(s->out, "both take the same time</text>\n");
    else
        weft_print(s->out,
                   "b takes %.6g%s %s (%+.1f %%), its bubble is %.2f points "
                   "%s</text>\n",
                   fabs(d) * wf_picture_unit(longest).factor, unit_text(longest, unit),
                   d < 0 ? "less" : "more", 100 * d / a->length,
                   100 * fabs(bubble_of(b) - bubble_of(a)),
                   bubble_of(b) < bubble_of(a) ? "smaller" : "larger");
}

static void put_pair(wf_sheet s[2])
{
    double y[2], foot = WF_SVG_TOP;
    for (int i = 0; i < 2; i++) {
        y[i] = foot;
        foot += HEADING + s[i].p->n_ranks * wf_sheet_row_height(&s[i]);
        foot += i ? 0 : SECTION_GAP;
    }
    s[0].prefix = "a-";
    s[1].prefix = "b-";
    open_page(2, s, foot + WF_SVG_AXIS + WF_SVG_LEGEND + WF_SVG_BOTTOM);
    put_difference(s);
    put_axis(&s[s[1].p->length > s[0].p->length], foot);
    for (int i = 0; i < 2; i++)
        put_section(&s[i], i ? "b" : "a", y[i]);
    put_legend(2, s, foot + WF_SVG_AXIS + 18);
    weft_print(s->out, "</svg>\n");
}

weft_status weft_draw_svg_pair(const weft_trace *a, const weft_trace *b,
                               const weft_draw_options *o, weft_writer *out)
{
    wf_picture p[2] = {{0}, {0}};
    wf_sheet s[2] = {{0}, {0}};
    if (strcmp(a->unit, b->unit))
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the timelines have different units of time ('%s' and '%s')",
                       a->unit, b->unit);
    weft_status st = wf_picture_make(a, o ? o->step : -1, 1, &p[0]);
    if (st == WEFT_OK) st = wf_picture_make(b, o ? o->step : -1, 1, &p[1]);
    if (st == WEFT_OK)
        st = wf_sheets_open(2, (const wf_picture *const[]){&p[0], &p[1]}, o, out, s);
    if (st == WEFT_OK) {
        put_pair(s);
        st = weft_writer_status(out);
    }
    for (int i = 0; i < 2; i++) {
        wf_sheet_clear(&s[i]);
        wf_picture_clear(&p[i]);
    }
    return st;
}
