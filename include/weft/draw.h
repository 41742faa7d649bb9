/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/draw.h  One layout pass over a trace, small painters. */
#ifndef WEFT_DRAW_H
#define WEFT_DRAW_H

#include <weft/trace.h>

WEFT_BEGIN

typedef struct weft_draw_options {
    int width; /**< text: columns, 0 = 80; svg: px, 0 = 960 to 1600 by what it holds */
    int ascii; /**< text: no Unicode                                                */
    int color; /**< text: ANSI colours                                              */
    int step;  /**< which step of the trace; -1 = all                               */
} weft_draw_options;

/** Timeline as text, a row a rank ("rank 0 | F0 F1 ...", '.' or middle dot = idle),
 *  fitted to width: one column per time unit where that fits, scaled otherwise. */
WEFT_API WEFT_MUST_CHECK weft_status weft_draw_text(const weft_trace *t,
                                                    const weft_draw_options *o,
                                                    weft_writer *out);
/** SVG: ids and classes on each box, legend, axis; beneath each rank the curve of what it
 *  holds: bytes where the trace has levels, else activations. */
WEFT_API WEFT_MUST_CHECK weft_status weft_draw_svg(const weft_trace *t,
                                                   const weft_draw_options *o,
                                                   weft_writer *out);
/** Two traces of one unit of time under one another on one time axis, SVG: both titles,
 *  lengths and bubbles (the part of the length in which the rank with most work has none)
 *  and the difference; ids of the first begin with "a-", of the second with "b-". */
WEFT_API WEFT_MUST_CHECK weft_status weft_draw_svg_pair(const weft_trace *a,
                                                        const weft_trace *b,
                                                        const weft_draw_options *o,
                                                        weft_writer *out);
/** Trace-event JSON of Chrome and Perfetto: complete "X" events, pid = rank, tid = lane
 *  (+ WEFT_N_LANES a track where a lane overlaps), us; args hold every field exactly. */
WEFT_API WEFT_MUST_CHECK weft_status weft_draw_trace_event(const weft_trace *t,
                                                           weft_writer *out);
/** Two traces under one another on one time axis, text. */
WEFT_API WEFT_MUST_CHECK weft_status weft_draw_text_pair(const weft_trace *a,
                                                         const weft_trace *b,
                                                         const weft_draw_options *o,
                                                         weft_writer *out);

WEFT_END
#endif
