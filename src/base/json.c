/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

enum { MAX_DEPTH = 60 };

wf_json wf_json_begin(weft_writer *out)
{
    return (wf_json){.out = out};
}

/* What has to stand before the next value or key: a comma, unless it is the first. */
static void lead(wf_json *j)
{
    uint64_t bit = (uint64_t)1 << j->depth;
    if (j->after_key) {
        j->after_key = 0;
        return;
    }
    if (j->depth && (j->filled & bit)) weft_print(j->out, ",");
    j->filled |= bit;
}

static void open_container(wf_json *j, const char *bracket)
{
    lead(j);
    weft_print(j->out, "%s", bracket);
    if (j->depth == MAX_DEPTH) {
        j->out->failed = 1;
        return;
    }
    j->depth++;
    j->filled &= ~((uint64_t)1 << j->depth);
}

static void close_container(wf_json *j, const char *bracket)
{
    weft_print(j->out, "%s", bracket);
    if (j->depth) j->depth--;
}

void wf_json_object(wf_json *j)
{
    open_container(j, "{");
}

void wf_json_end_object(wf_json *j)
{
    close_container(j, "}");
}

void wf_json_array(wf_json *j)
{
    open_container(j, "[");
}

void wf_json_end_array(wf_json *j)
{
    close_container(j, "]");
}

/* Length of the valid UTF-8 sequence at s (Unicode 15, table 3-7), 0 if there is none. */
static int utf8_length(const unsigned char *s)
{
    unsigned lo = 0x80, hi = 0xBF;
    int n;

    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        n = 2;
    else if (s[0] >= 0xE0 && s[0] <= 0xEF)
        n = 3;
    else if (s[0] >= 0xF0 && s[0] <= 0xF4)
        n = 4;
    else
        return 0;
    if (s[0] == 0xE0) lo = 0xA0;
    if (s[0] == 0xED) hi = 0x9F;
    if (s[0] == 0xF0) lo = 0x90;
    if (s[0] == 0xF4) hi = 0x8F;
    if (s[1] < lo || s[1] > hi) return 0;
    for (int i = 2; i < n; i++)
        if (s[i] < 0x80 || s[i] > 0xBF) return 0;
    return n;
}

static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
    }
}

static void quote(weft_writer *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text, *run = s;

    weft_print(out, "\"");
    while (*s) {
        int n = utf8_length(s);
        const char *esc = escape_of(*s);
        if (n && !esc && *s >= 0x20) {
            s += n;
            continue;
        }
        weft_print(out, "%.*s", (int)(s - run), (const char *)run);
        if (esc)
            weft_print(out, "%s", esc);
        else
            weft_print(out, "\\u%04x", n ? *s : 0xFFFDu);
        run = ++s;
    }
    weft_print(out, "%s\"", (const char *)run);
}

void wf_json_key(wf_json *j, const char *key)
{
    lead(j);
    quote(j->out, key);
    weft_print(j->out, ":");
    j->after_key = 1;
}

void wf_json_i64(wf_json *j, int64_t x)
{
    lead(j);
    weft_print(j->out, "%lld", (long long)x);
}

void wf_json_f64(wf_json *j, double x)
{
    char buf[32];
    lead(j);
    weft_print(j->out, "%s", isfinite(x) ? wf_num_text(x, buf) : "null");
}

void wf_json_bool(wf_json *j, int x)
{
    lead(j);
    weft_print(j->out, "%s", x ? "true" : "false");
}

void wf_json_null(wf_json *j)
{
    lead(j);
    weft_print(j->out, "null");
}

void wf_json_string(wf_json *j, const char *s)
{
    if (!s) {
        wf_json_null(j);
        return;
    }
    lead(j);
    quote(j->out, s);
}

void wf_json_put_i64(wf_json *j, const char *key, int64_t x)
{
    wf_json_key(j, key);
    wf_json_i64(j, x);
}

void wf_json_put_f64(wf_json *j, const char *key, double x)
{
    wf_json_key(j, key);
    wf_json_f64(j, x);
}

void wf_json_put_bool(wf_json *j, const char *key, int x)
{
    wf_json_key(j, key);
    wf_json_bool(j, x);
}

void wf_json_put_string(wf_json *j, const char *key, const char *s)
{
    wf_json_key(j, key);
    wf_json_string(j, s);
}
