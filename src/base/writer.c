/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/writer.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

weft_status weft_writer_status(const weft_writer *out)
{
    if (out->failed) return WF_FAIL(WEFT_E_IO, "the output could not be written");
    return WEFT_OK;
}

static void put(weft_writer *out, const char *s, int n)
{
    if (!out->failed && n > 0 && out->write(out->ctx, s, (unsigned)n)) out->failed = 1;
}

void weft_print(weft_writer *out, const char *fmt, ...)
{
    char small[512];
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        out->failed = 1;
    } else if (n < (int)sizeof small) {
        put(out, small, n);
    } else {
        void *big = NULL;
        if (wf_alloc(n + 1, 1, &big) != WEFT_OK) {
            out->failed = 1;
        } else {
            vsnprintf(big, (size_t)n + 1, fmt, again);
            put(out, big, n);
            wf_free(big);
        }
    }
    va_end(again);
}

static int append(void *ctx, const char *bytes, unsigned n)
{
    weft_text *t = ctx;
    int64_t cap = t->cap;
    void *s = t->s;

    if (wf_grow(&s, &cap, (int64_t)t->n + n + 1, 1) != WEFT_OK) return 1;
    t->s = s;
    t->cap = (unsigned)cap;
    memcpy(t->s + t->n, bytes, n);
    t->n += n;
    t->s[t->n] = 0;
    return 0;
}

weft_writer weft_text_writer(weft_text *text)
{
    weft_writer out = {append, text, 0};
    if (!text->s && append(text, "", 0)) out.failed = 1;
    return out;
}

void weft_text_clear(weft_text *text)
{
    wf_free(text->s);
    *text = (weft_text){NULL, 0, 0};
}
