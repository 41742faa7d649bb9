/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCORE_CSV_H
#define WF_SCORE_CSV_H
#include <stdint.h>
#include <weft/status.h>

/* CSV with quotes (RFC 4180), a record at a time. Text that is not ended by a zero. */
typedef struct wf_csv {
    const char *at, *end;
    int line;      /* of the record that was read, from 1 */
    int next_line; /* where reading goes on               */
    int n;         /* fields */
    int64_t cap, used, cap_field;
    char *buf; /* values, each ended by a zero */
    int64_t *field;
} wf_csv;

void wf_csv_begin(wf_csv *c, const char *text, int64_t n);
/* The next record that is not empty; *more = 0 at the end. */
weft_status wf_csv_next(wf_csv *c, int *more) WEFT_MUST_CHECK;
const char *wf_csv_field(const wf_csv *c, int i);
void wf_csv_clear(wf_csv *c);
#endif
