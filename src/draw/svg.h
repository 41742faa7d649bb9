/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_DRAW_SVG_H
#define WF_DRAW_SVG_H
#include "draw/picture.h"

/* Text with & < > " as entities; control characters, which XML lacks, become '?'. */
void wf_svg_text(weft_writer *out, const char *s);
/* A coordinate: two decimals, none where they are 0. */
const char *wf_svg_number(double x, char buf[32]);

/* CSS of all boxes of what was spent (bits of weft_spent): a fill per kind and chunk. */
void wf_svg_style(unsigned spent, int n_chunks, weft_writer *out);
/* Class of a kind: "F" ... "wait"; "mixed" for WEFT_N_SPENT. */
const char *wf_svg_class(int spent);
/* Is dark text readable on the fill of this kind and chunk? Else light text is. */
int wf_svg_dark_text(int spent, int chunk, int n_chunks);
#endif
