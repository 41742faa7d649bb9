/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_TRACE_FILE_H
#define WF_CMD_TRACE_FILE_H
#include <weft/trace.h>

/* Read what weft_draw_trace_event() wrote; "-" is the standard input. The entries
 * come by rank, lane and start. Errors name the file and the event. Clear with
 * weft_trace_clear(). */
WEFT_MUST_CHECK weft_status wf_trace_read(const char *path, weft_trace *out);
/* Write it, whole or not at all. */
WEFT_MUST_CHECK weft_status wf_trace_write(const char *path, const weft_trace *t);
#endif
