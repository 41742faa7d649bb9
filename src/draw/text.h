/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_DRAW_TEXT_H
#define WF_DRAW_TEXT_H
#include "draw/picture.h"

typedef enum wf_text_mode {
    WF_TEXT_FULL,    /* a box holds its name: "F0", "B11.2"                   */
    WF_TEXT_COMPACT, /* a box holds its micro-batch number, or its last digit */
    WF_TEXT_DENSE    /* a column stands for several ops: the kind it went into */
} wf_text_mode;

typedef struct wf_text_scale {
    wf_text_mode mode;
    double per_unit; /* columns per unit of time         */
    int columns;     /* of the whole picture             */
    int plain;       /* only forwards: numbers need no F */
    int with_chunk;
} wf_text_scale;

/* The scale for n pictures under one another in `room` columns. */
wf_text_scale wf_text_choose_scale(int n, const wf_picture *const *p, int room);

/* One character cell; style is 0 (idle) or 1 + weft_spent, chunk shades it. */
typedef struct wf_cell {
    char glyph[5];
    uint8_t style, chunk;
} wf_cell;

/* Fill cells [scale->columns] with one rank. */
void wf_text_rank(const wf_picture *p, const wf_text_scale *scale, int rank, int ascii,
                  wf_cell *cells);
/* The line beneath it with the chunk of each box (compact mode, several chunks). */
void wf_text_chunks(const wf_picture *p, const wf_text_scale *scale, int rank,
                    wf_cell *cells);
#endif
