/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "cmd/options.h"
#include "cmd/stdio_writer.h"

static int exit_code(weft_status st)
{
    switch (st) {
    case WEFT_OK: return WF_EXIT_OK;
    case WEFT_E_INFEASIBLE: return WF_EXIT_NO;
    case WEFT_E_INVALID:
    case WEFT_E_MISMATCH:
    case WEFT_E_IO: return WF_EXIT_USAGE;
    default: return WF_EXIT_FAULT;
    }
}

int wf_cmd_fail(const char *command, weft_status st)
{
    char words[1024]; /* may quote a file */

    snprintf(words, sizeof words, "%s", weft_status_message());
    wf_plain(words);
    fprintf(stderr, "weft %s: %s\n", command, *words ? words : weft_status_name(st));
    return st == WEFT_E_IO && wf_out_lost() ? WF_EXIT_FAULT : exit_code(st);
}

static void say(const char *command, const char *kind, const char *fmt, va_list ap)
{
    fprintf(stderr, "weft %s: %s", command, kind);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

int wf_cmd_usage(const char *command, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(command, "", fmt, ap);
    va_end(ap);
    return WF_EXIT_USAGE;
}

void wf_cmd_note(const char *command, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(command, "note: ", fmt, ap);
    va_end(ap);
}
