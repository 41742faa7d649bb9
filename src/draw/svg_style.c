/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours. Blue, orange and green stay apart for the common kinds of colour blindness
 * and in print without colour (dark, light, between); wide boxes carry letters as well.
 * The chunks of a kind are shades of it, chunk 0 the strongest.
 */
#include <math.h>

#include "base/num.h"
#include "draw/svg.h"

typedef struct rgb {
    int r, g, b;
} rgb;

static const rgb fills[WEFT_N_SPENT + 1] = {
    [WEFT_SPENT_F] = {38, 99, 173},       [WEFT_SPENT_B] = {240, 156, 48},
    [WEFT_SPENT_I] = {240, 156, 48},      [WEFT_SPENT_W] = {62, 158, 130},
    [WEFT_SPENT_R] = {136, 106, 190},     [WEFT_SPENT_OPTIMIZER] = {92, 102, 116},
    [WEFT_SPENT_OTHER] = {150, 158, 170}, [WEFT_SPENT_COLLECTIVE] = {200, 72, 146},
    [WEFT_SPENT_WAIT] = {214, 219, 226},  [WEFT_N_SPENT] = {140, 128, 110}};

static const char *const classes[WEFT_N_SPENT + 1] = {
    "F", "B", "I", "W", "R", "opt", "other", "coll", "wait", "mixed"};

const char *wf_svg_class(int spent)
{
    return classes[spent];
}

static rgb shade(int spent, int chunk, int n_chunks)
{
    rgb c = fills[spent];
    double t = n_chunks > 1 ? 0.5 * chunk / (n_chunks - 1) : 0;
    return (rgb){(int)lround(c.r + (255 - c.r) * t), (int)lround(c.g + (255 - c.g) * t),
                 (int)lround(c.b + (255 - c.b) * t)};
}

int wf_svg_dark_text(int spent, int chunk, int n_chunks)
{
    rgb c = shade(spent, chunk, n_chunks);
    return 0.299 * c.r + 0.587 * c.g + 0.114 * c.b > 128;
}

static const char sheet[] =
    "text{font-family:system-ui,'Segoe UI','Helvetica Neue','DejaVu Sans',sans-serif;"
    "fill:#24292f}\n"
    ".page{fill:#ffffff}.row{fill:#eef0f3}.grid{stroke:#d4d9df;stroke-width:1}\n"
    ".end{stroke:#57606a;stroke-width:1.5;stroke-dasharray:4 3}"
    ".heading{font-size:13px;font-weight:600}\n"
    ".title{font-size:15px;font-weight:600}.sub,.legend{font-size:12px}\n"
    ".name{font-size:12px;text-anchor:end}.tick{font-size:11px;text-anchor:middle;"
    "fill:#57606a}\n"
    ".msg{fill:#2f8fb8}.side{font-size:11px;fill:#57606a}\n"
    ".mem{fill:#9aa7b5;fill-opacity:.35;stroke:#6b7885;stroke-width:1}\n"
    ".mem.thin{stroke:none;fill-opacity:.7}\n"
    ".label{text-anchor:middle;pointer-events:none;fill:#ffffff}.label.d{fill:#1c1f23}"
    "\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.page{fill:#0d1117}.row{fill:#1b222b}.grid{stroke:#2d3640}\n"
    ".tick,.side{fill:#9aa4af}.mem{fill:#8b98a6;stroke:#9aa7b5}.wait{fill:#39434e}\n"
    ".label{fill:#ffffff}.label.d{fill:#1c1f23}.end{stroke:#9aa4af}\n"
    "}\n";

void wf_svg_style(unsigned spent, int n_chunks, weft_writer *out)
{
    weft_print(out, "<style>\n");
    for (int w = 0; w <= WEFT_N_SPENT; w++) {
        int shades = w <= WEFT_SPENT_R ? n_chunks : 1;
        if (w < WEFT_N_SPENT && !(spent >> w & 1)) continue;
        for (int c = 0; c < shades; c++) {
            rgb k = shade(w, c, shades);
            weft_print(out, ".%s", classes[w]);
            if (c) weft_print(out, ".c%d", c);
            weft_print(out, "{fill:#%02x%02x%02x}", (unsigned)k.r, (unsigned)k.g,
                       (unsigned)k.b);
        }
    }
    weft_print(out, "\n%s</style>\n", sheet);
}

void wf_svg_text(weft_writer *out, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&': weft_print(out, "&amp;"); break;
        case '<': weft_print(out, "&lt;"); break;
        case '>': weft_print(out, "&gt;"); break;
        case '"': weft_print(out, "&quot;"); break;
        default: weft_print(out, "%c", (unsigned char)*s < 32 || *s == 127 ? '?' : *s);
        }
    }
}

const char *wf_svg_number(double x, char buf[32])
{
    double r = round(x * 100) / 100;
    return wf_num_text(r == 0 ? 0 : r, buf); /* no "-0" */
}
