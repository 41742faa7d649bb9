/* SPDX-License-Identifier: Apache-2.0 */
/* Text out and in: the standard output, files that appear whole or not at all, and
 * files read whole. */
#ifndef WF_CMD_STDIO_WRITER_H
#define WF_CMD_STDIO_WRITER_H
#include <stdint.h>
#include <stdio.h>
#include <weft/writer.h>

weft_writer wf_stdout_writer(void);
weft_writer wf_stderr_writer(void);
/* Flush the standard output; returns `exit_code`, or says that the output could not be
 * written, unless that was said before, and returns 3 (a full disk, a closed pipe). */
int wf_stdout_finish(const char *command, int exit_code);

/* A file under its final name only after wf_out_file_commit(). "-" is the standard
 * output; what is no regular file (/dev/null, a pipe) is written to directly. */
typedef struct wf_out_file {
    weft_writer out;
    FILE *f;
    char *temp; /* NULL: written directly */
    const char *path;
} wf_out_file;

/* 0, or the errno with which wf_out_file_open() would fail: to be asked before the work
 * whose result the file is to hold. Makes nothing. */
int wf_out_refused(const char *path);
/* The same of a folder that is there or is to be made. */
int wf_out_folder_refused(const char *path);
/* Has a file that could be opened not taken all of its text? A fault, no bad input. */
int wf_out_lost(void);
WEFT_MUST_CHECK weft_status wf_out_file_open(const char *path, wf_out_file *file);
/* Close and rename. On failure the temporary file is removed; either way the file is
 * done. */
WEFT_MUST_CHECK weft_status wf_out_file_commit(wf_out_file *file);
/* Give it up: nothing appears. Safe on a zeroed or committed file. */
void wf_out_file_drop(wf_out_file *file);

/* Text of a file for a terminal: what would command it (control characters but the tab, also
 * those of two bytes in UTF-8, U+0080 to U+009F) becomes '?'. */
void wf_plain(char *text);

/* A whole file, NUL-terminated (the NUL is not counted), at most max bytes; "-"
 * reads the standard input. Free *text with wf_free(). WEFT_E_IO names the file and
 * the reason. */
WEFT_MUST_CHECK weft_status wf_read_file(const char *path, int64_t max, char **text,
                                         int64_t *n);
#endif
