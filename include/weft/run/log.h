/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/log.h
 * The training log: JSON lines, one object a line. A line reaches the file whole, by one
 * write, before weft_log_end() returns, so that a reader or a killed run never sees half
 * of one.
 *
 *     weft_writer *w = weft_log_begin(log);
 *     weft_print(w, "{\"step\":%lld}", step);
 *     WF_TRY(weft_log_end(log));
 */
#ifndef WEFT_RUN_LOG_H
#define WEFT_RUN_LOG_H

#include <stdint.h>
#include <weft/writer.h>

WEFT_BEGIN

typedef struct weft_log weft_log;

/** Create the file, or empty it. WEFT_E_IO names it and the reason. */
WEFT_API WEFT_MUST_CHECK weft_status weft_log_open(const char *path, weft_log **out);
/** Start a line, dropping one that was not ended; borrowed until the line ends. */
WEFT_API weft_writer *weft_log_begin(weft_log *log);
/** Add the newline and write. WEFT_E_IO: the disk is full or the file cannot be written;
 *  what came through of the line is taken back. WEFT_E_INVALID: the line is empty or holds
 *  a newline. */
WEFT_API WEFT_MUST_CHECK weft_status weft_log_end(weft_log *log);
WEFT_API int64_t weft_log_lines(const weft_log *log); /**< written so far */
/** NULL is ignored. WEFT_E_IO: the system reports a late write failure. */
WEFT_API weft_status weft_log_close(weft_log *log);

WEFT_END
#endif
