/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_TOKENS_H
#define WF_SCHEDULE_TOKENS_H
#include <stdint.h>
#include <weft/schedule.h>

/* A cursor in a text of either form. */
typedef struct wf_reader {
    const char *text;
    int64_t n, at, line, line_start;
    int csv, in_pair;
} wf_reader;

/* An op as written: `part` is a chunk (ops form) or a stage (CSV). */
typedef struct wf_token {
    int kind, part, micro, flags;
    int64_t line, column;
} wf_token;

typedef enum wf_found { WF_OP, WF_ROW_END, WF_TEXT_END } wf_found;

/* Begins a text, whose form shows in its first cell; fails when it is blank. */
weft_status wf_reader_open(const char *text, int64_t n, wf_reader *out);

/* The next op (*t set) or end; fails with line and column. */
weft_status wf_reader_next(wf_reader *in, wf_token *t, wf_found *what);
#endif
