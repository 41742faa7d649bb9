/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the SVG painters: a picture with its place and scale on the page. */
#ifndef WF_DRAW_SVG_SHEET_H
#define WF_DRAW_SVG_SHEET_H
#include "draw/svg.h"

enum {
    WF_SVG_LEFT = 64,
    WF_SVG_RIGHT = 62,
    WF_SVG_TOP = 58,
    WF_SVG_AXIS = 24,
    WF_SVG_LEGEND = 26,
    WF_SVG_BOTTOM = 12
};

typedef struct wf_sheet {
    const wf_picture *p;
    weft_writer *out;
    const char *prefix;             /* of ids                                  */
    double width, per_unit;         /* px of the page, px per unit of time     */
    double length;                  /* of the axis, at least that of p         */
    double bar, strip, memory, gap; /* heights                                 */
    int dense;
    int shades;                       /* chunks that the style tells apart      */
    int waits, messages;              /* boxes of waiting, of send and receive lanes */
    double peak;                      /* of all ranks; 0: no curve */
    double letters[WEFT_SPENT_R + 1]; /* font size of names, 0: numbers are shown */
    double numbers[WEFT_SPENT_R + 1]; /* font size of those                       */
    int digits;                       /* of the longest number                    */
    wf_level *level;
} wf_sheet;

/* Sheets under one another on one axis, as wide as the options say. Clear each in any
 * case. */
WEFT_MUST_CHECK weft_status wf_sheets_open(int n, const wf_picture *const *p,
                                           const weft_draw_options *o, weft_writer *out,
                                           wf_sheet *sheet);
void wf_sheet_clear(wf_sheet *s);
double wf_sheet_row_height(const wf_sheet *s);
double wf_sheet_x(const wf_sheet *s, double t);
/* All rows from y down. */
void wf_sheet_put_rows(const wf_sheet *s, double y);
#endif
