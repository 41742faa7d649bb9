/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_message[1024];
static _Thread_local const char *last_file; /* for the debug record */
static _Thread_local int last_line;

weft_status weft_fail(weft_status st, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char text[sizeof last_message]; /* an argument may be the last message itself */
    vsnprintf(text, sizeof text, fmt, ap);
    memcpy(last_message, text, sizeof text);
    va_end(ap);
    last_file = file;
    last_line = line;
    return st;
}

const char *weft_status_message(void)
{
    return last_message;
}

const char *weft_status_name(weft_status st)
{
    switch (st) {
    case WEFT_OK: return "ok";
    case WEFT_E_INVALID: return "invalid argument";
    case WEFT_E_NOMEM: return "out of memory";
    case WEFT_E_MISMATCH: return "arguments do not fit";
    case WEFT_E_INFEASIBLE: return "infeasible";
    case WEFT_E_IO: return "input or output failed";
    case WEFT_E_TIMEOUT: return "timed out";
    case WEFT_E_PEER: return "another rank failed";
    case WEFT_E_NUMERIC: return "not finite";
    case WEFT_E_CANCELLED: return "stopped";
    }
    return "unknown status";
}
