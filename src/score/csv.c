/* SPDX-License-Identifier: Apache-2.0 */
#include "score/csv.h"

#include "base/alloc.h"
#include "base/error.h"

void wf_csv_begin(wf_csv *c, const char *text, int64_t n)
{
    *c = (wf_csv){.at = text, .end = text + n, .next_line = 1};
}

void wf_csv_clear(wf_csv *c)
{
    wf_free(c->buf);
    wf_free(c->field);
}

const char *wf_csv_field(const wf_csv *c, int i)
{
    return c->buf + c->field[i];
}

static weft_status put(wf_csv *c, char x)
{
    WF_TRY(wf_grow(&c->buf, &c->cap, c->used + 1, 1));
    c->buf[c->used++] = x;
    return WEFT_OK;
}

static weft_status start_field(wf_csv *c)
{
    WF_TRY(wf_grow(&c->field, &c->cap_field, c->n + 1, sizeof *c->field));
    c->field[c->n++] = c->used;
    return WEFT_OK;
}

/* Inside quotes: up to the closing one; "" is a quote. */
static weft_status quoted(wf_csv *c)
{
    for (c->at++; c->at < c->end; c->at++) {
        if (*c->at == '"' && (c->at + 1 == c->end || c->at[1] != '"')) {
            c->at++;
            return WEFT_OK;
        }
        if (*c->at == '"') c->at++;
        if (*c->at == '\n') c->next_line++;
        if (!*c->at) break;
        WF_TRY(put(c, *c->at));
    }
    return WF_FAIL(WEFT_E_INVALID, "line %d, field %d: a quote is not closed", c->line,
                   c->n);
}

static weft_status one_field(wf_csv *c)
{
    WF_TRY(start_field(c));
    if (c->at < c->end && *c->at == '"') WF_TRY(quoted(c));
    for (; c->at < c->end && *c->at != ',' && *c->at != '\n'; c->at++) {
        if (*c->at == '\r' && (c->at + 1 == c->end || c->at[1] == '\n')) continue;
        if (!*c->at)
            return WF_FAIL(WEFT_E_INVALID, "line %d, field %d: a zero byte", c->line,
                           c->n);
        WF_TRY(put(c, *c->at));
    }
    return put(c, 0);
}

weft_status wf_csv_next(wf_csv *c, int *more)
{
    while (c->at < c->end && (*c->at == '\n' || *c->at == '\r')) {
        c->next_line += *c->at == '\n';
        c->at++;
    }
    *more = c->at < c->end;
    c->n = 0;
    c->used = 0;
    c->line = c->next_line;
    if (!*more) return WEFT_OK;
    for (;;) {
        WF_TRY(one_field(c));
        if (c->at == c->end || *c->at != ',') break;
        c->at++;
    }
    if (c->at < c->end) {
        c->at++;
        c->next_line++;
    }
    return WEFT_OK;
}
