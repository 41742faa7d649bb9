/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in files: trace-event JSON as weft_draw_trace_event() writes it. */
#include "cmd/trace_file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/draw.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/stdio_writer.h"

enum { MOST_BYTES = 1 << 30, MOST_RANKS = 1 << 20 };

/* A whole number of args (or of the event) in 0..max. */
static weft_status take_int(const json_t *object, const char *key, int64_t max,
                            int64_t *out)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v))
        return WF_FAIL(WEFT_E_INVALID, "\"%s\" is missing or no whole number", key);
    int64_t x = json_integer_value(v);
    if (x < 0 || x > max)
        return WF_FAIL(WEFT_E_INVALID, "\"%s\" %lld is outside 0 .. %lld", key,
                       (long long)x, (long long)max);
    *out = x;
    return WEFT_OK;
}

static weft_status take_number(const json_t *object, const char *key, double *out)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v))
        return WF_FAIL(WEFT_E_INVALID, "\"%s\" is missing or no number", key);
    *out = json_number_value(v);
    return WEFT_OK;
}

static weft_status take_kind(const json_t *args, uint8_t *out)
{
    const char *kind = json_string_value(json_object_get(args, "kind"));
    if (!kind)
        return WF_FAIL(WEFT_E_INVALID,
                       "args have neither \"kind\" nor \"label\": weft did not "
                       "write it");
    for (int k = 0; k <= WEFT_OP_STEP; k++) {
        if (strcmp(weft_op_kind_name(k), kind)) continue;
        *out = (uint8_t)k;
        return WEFT_OK;
    }
    return WF_FAIL(WEFT_E_INVALID, "there is no op kind \"%.20s\"", kind);
}

static weft_status take_op(const json_t *args, weft_op *op)
{
    int64_t micro, chunk, slice, flags;
    WF_TRY(take_int(args, "micro", UINT32_MAX, &micro));
    WF_TRY(take_int(args, "chunk", UINT8_MAX, &chunk));
    WF_TRY(take_int(args, "slice", UINT8_MAX, &slice));
    WF_TRY(take_int(args, "flags", UINT8_MAX, &flags));
    op->micro = (uint32_t)micro;
    op->chunk = (uint8_t)chunk;
    op->slice = (uint8_t)slice;
    op->flags = (uint8_t)flags;
    return WEFT_OK;
}

static weft_status take_label(const char *text, weft_trace *t, const char **out)
{
    char plain[256];

    snprintf(plain, sizeof plain, "%s", text);
    wf_plain(plain);
    return weft_trace_label(t, plain, out);
}

static weft_status take_event(const json_t *event, weft_trace *t)
{
    const json_t *args = json_object_get(event, "args");
    const char *label = json_string_value(json_object_get(args, "label"));
    weft_trace_entry e = {0};
    int64_t rank, thread, step;

    WF_TRY(take_int(event, "pid", t->n_ranks - 1, &rank));
    WF_TRY(take_int(event, "tid", INT32_MAX, &thread));
    WF_TRY(take_int(args, "step", INT32_MAX, &step));
    WF_TRY(take_int(args, "bytes", INT64_MAX, &e.bytes));
    WF_TRY(take_number(args, "start", &e.start));
    WF_TRY(take_number(args, "end", &e.end));
    WF_TRY(take_op(args, &e.op));
    if (label)
        WF_TRY(take_label(label, t, &e.label));
    else
        WF_TRY(take_kind(args, &e.op.kind));
    e.rank = (int32_t)rank;
    e.step = (int32_t)step;
    e.lane = (uint8_t)(thread % WEFT_N_LANES);
    return weft_trace_add(t, &e);
}

static int is_slice(const json_t *event)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));
    return phase && !strcmp(phase, "X");
}

/* A timeline takes time, and no more of it than any unit can say. */
static weft_status check_span(const weft_trace *t)
{
    double begin = t->entry[0].start, end = t->entry[0].end;

    for (int64_t i = 1; i < t->n; i++) {
        begin = fmin(begin, t->entry[i].start);
        end = fmax(end, t->entry[i].end);
    }
    if (end - begin > 0 && end - begin < 1e300) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "its slices begin at %g and end at %g: no timeline",
                   begin, end);
}

static weft_status take_events(const json_t *events, weft_trace *t)
{
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_slice(event)) continue;
        weft_status st = take_event(event, t);
        if (st != WEFT_OK)
            return WF_FAIL(st, "event %zu: %s", i, weft_status_message());
    }
    if (!t->n) return WF_FAIL(WEFT_E_INVALID, "there is no slice (\"ph\":\"X\") in it");
    WF_TRY(weft_trace_check(t));
    return check_span(t);
}

static weft_status take_trace(const json_t *root, weft_trace *t)
{
    const json_t *about = json_object_get(root, "otherData");
    const json_t *events = json_object_get(root, "traceEvents");
    const char *unit = json_string_value(json_object_get(about, "unit"));
    const char *title = json_string_value(json_object_get(about, "title"));
    int64_t n_ranks;

    if (!json_is_array(events) || !unit || !title)
        return WF_FAIL(WEFT_E_INVALID,
                       "no trace that weft wrote: \"traceEvents\" or \"otherData\" "
                       "with \"unit\" and \"title\" is missing");
    WF_TRY(take_int(about, "n_ranks", MOST_RANKS, &n_ranks));
    weft_trace_init(t, (int)n_ranks, unit, title);
    wf_plain(t->unit);
    wf_plain(t->title);
    t->measured = json_is_true(json_object_get(about, "measured"));
    weft_status st = take_events(events, t);
    if (st != WEFT_OK) weft_trace_clear(t);
    return st;
}

weft_status wf_trace_read(const char *path, weft_trace *out)
{
    char *text;
    int64_t n;
    json_error_t error;

    WF_TRY(wf_read_file(path, MOST_BYTES, &text, &n));
    json_t *root = json_loadb(text, (size_t)n, 0, &error);
    wf_free(text);
    if (!root)
        return WF_FAIL(WEFT_E_INVALID, "%s:%d: %s", path, error.line, error.text);
    weft_status st = take_trace(root, out);
    json_decref(root);
    if (st == WEFT_OK) return st;
    return WF_FAIL(st, "%s: %s", path, weft_status_message());
}

weft_status wf_trace_write(const char *path, const weft_trace *t)
{
    wf_out_file file;
    WF_TRY(wf_out_file_open(path, &file));
    weft_status st = weft_draw_trace_event(t, &file.out);
    if (st == WEFT_OK || file.out.failed)
        return wf_out_file_commit(&file); /* names the file */
    wf_out_file_drop(&file);
    return st;
}
