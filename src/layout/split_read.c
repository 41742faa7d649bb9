/* SPDX-License-Identifier: Apache-2.0 */
/* Layers per stage from text: counts, or the layout strings of Megatron-LM
 * (--pipeline-model-parallel-layout): E the embedding, t a layer, L the output layer and
 * its loss, | the end of a stage, *n repeats the sign or the bracket before it. */
#include "layout/split.h"

#include <string.h>

#include "base/error.h"

enum {
    MAX_NUMBER = 1000000,
    MAX_WORK = 1 << 20, /* parts that a text may expand to */
    MAX_DEPTH = 8       /* of brackets */
};

typedef struct reader {
    const char *text, *at;
    wf_stages *s;
    int64_t own; /* layers of the stage that is being read */
    int work, has_embed, has_head;
} reader;

static weft_status count_work(reader *r)
{
    if (++r->work <= MAX_WORK && r->s->layers <= MAX_NUMBER) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "it expands to more than %d parts or %d layers",
                   MAX_WORK, MAX_NUMBER);
}

static weft_status end_stage(reader *r)
{
    wf_stages *s = r->s;

    WF_TRY(count_work(r));
    if (s->n == s->stage) {
        s->first = s->layers - r->own;
        s->count = r->own;
    }
    if (s->counts && s->n < s->room) s->counts[s->n] = r->own;
    s->n++;
    r->own = 0;
    return WEFT_OK;
}

static weft_status add_layers(reader *r, int64_t n)
{
    r->own += n;
    r->s->layers += n;
    return count_work(r);
}

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " ");
}

static weft_status number(reader *r, const char *what, int64_t *out)
{
    int64_t n = 0;
    const char *from = r->at;

    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        n = 10 * n + (*r->at - '0');
        if (n > MAX_NUMBER)
            return WF_FAIL(WEFT_E_INVALID, "%s at character %d is above %d", what,
                           (int)(from - r->text) + 1, MAX_NUMBER);
    }
    if (r->at == from)
        return WF_FAIL(WEFT_E_INVALID, "%s is missing at character %d", what,
                       (int)(from - r->text) + 1);
    *out = n;
    return WEFT_OK;
}

/* "*3" after something, or nothing, which is once. */
static weft_status times(reader *r, int64_t *n)
{
    *n = 1;
    skip_blanks(r);
    if (*r->at != '*') return WEFT_OK;
    r->at++;
    skip_blanks(r);
    WF_TRY(number(r, "the number after *", n));
    if (*n < 1) return WF_FAIL(WEFT_E_INVALID, "*0: a part is there at least once");
    return WEFT_OK;
}

/* ---- counts ---------------------------------------------------------------------- */

static weft_status counts(reader *r)
{
    for (;;) {
        int64_t layers, n;
        skip_blanks(r);
        WF_TRY(number(r, "a count", &layers));
        WF_TRY(times(r, &n));
        while (n-- > 0) {
            WF_TRY(add_layers(r, layers));
            WF_TRY(end_stage(r));
        }
        skip_blanks(r);
        if (!*r->at) return WEFT_OK;
        if (*r->at != ',')
            return WF_FAIL(WEFT_E_INVALID,
                           "'%c' at character %d: counts are apart by commas", *r->at,
                           (int)(r->at - r->text) + 1);
        r->at++;
    }
}

/* ---- Megatron's form ------------------------------------------------------------- */

static weft_status embed(reader *r, int64_t n)
{
    if (n != 1 || r->has_embed || r->s->n || r->own)
        return WF_FAIL(WEFT_E_INVALID, "E, the embedding, comes once and first");
    r->has_embed = 1;
    return WEFT_OK;
}

static weft_status head(reader *r, int64_t n)
{
    if (n != 1) return WF_FAIL(WEFT_E_INVALID, "L, the loss, comes once");
    r->has_head = 1;
    return WEFT_OK;
}

static weft_status sign(reader *r, char c, int64_t n)
{
    if (r->has_head)
        return WF_FAIL(WEFT_E_INVALID, "'%c' after L, the loss, which comes last", c);
    switch (c) {
    case 'E': return embed(r, n);
    case 'L': return head(r, n);
    case 't': return add_layers(r, n);
    case '|':
        while (n-- > 0)
            WF_TRY(end_stage(r));
        return WEFT_OK;
    case 'm':
        return WF_FAIL(WEFT_E_INVALID,
                       "m, multi-token prediction, is no part of this model family");
    }
    return WF_FAIL(WEFT_E_INVALID,
                   "'%c' is none of E t L | * ( ); even, balanced, counts as 7,8,8,7 "
                   "and layouts as Et*7|(t*8|)*2t*7L are taken",
                   c);
}

/* The bracket that closes the one at `open`, or NULL. */
static const char *closing(const char *open)
{
    int depth = 0;
    for (const char *at = open; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (!depth) return at;
    }
    return NULL;
}

static weft_status parts(reader *r, const char *end, int depth);

static weft_status bracket(reader *r, int depth)
{
    const char *body = r->at + 1, *close = closing(r->at);
    int64_t n;

    if (!close) return WF_FAIL(WEFT_E_INVALID, "a ( is not closed");
    if (depth == MAX_DEPTH)
        return WF_FAIL(WEFT_E_INVALID, "brackets are more than %d deep", MAX_DEPTH);
    r->at = close + 1;
    WF_TRY(times(r, &n));
    const char *after = r->at;
    for (; n > 0; n--) {
        WF_TRY(count_work(r)); /* an empty bracket is work as well */
        r->at = body;
        WF_TRY(parts(r, close, depth + 1));
    }
    r->at = after;
    return WEFT_OK;
}

static weft_status parts(reader *r, const char *end, int depth)
{
    while (r->at < end) {
        char c = *r->at;
        int64_t n;
        if (c == ' ' || c == ',') {
            r->at++;
        } else if (c == '(') {
            WF_TRY(bracket(r, depth));
        } else {
            r->at++;
            WF_TRY(times(r, &n));
            WF_TRY(sign(r, c, n));
        }
    }
    return WEFT_OK;
}

static weft_status megatron(reader *r)
{
    WF_TRY(parts(r, r->text + strlen(r->text), 0));
    if (!r->has_embed)
        return WF_FAIL(WEFT_E_INVALID, "E, the embedding, is missing at its beginning");
    if (!r->has_head)
        return WF_FAIL(WEFT_E_INVALID, "L, the loss, is missing at its end");
    return end_stage(r);
}

weft_status wf_stages_read(const char *text, wf_stages *s)
{
    reader r = {.text = text, .at = text, .s = s};

    skip_blanks(&r);
    if (!*r.at) return WF_FAIL(WEFT_E_INVALID, "a value is missing");
    return strchr("0123456789,-+", *r.at) ? counts(&r) : megatron(&r);
}

weft_status weft_stages_read(const char *text, int max_stages, int *n_stages,
                             int64_t *count)
{
    wf_stages s = {.stage = -1};

    WF_TRY(wf_stages_read(text, &s));
    if (s.n > max_stages)
        return WF_FAIL(WEFT_E_INVALID, "%lld stages, at most %d are taken",
                       (long long)s.n, max_stages);
    s = (wf_stages){.stage = -1, .counts = count, .room = max_stages};
    WF_TRY(wf_stages_read(text, &s));
    *n_stages = (int)s.n;
    return WEFT_OK;
}
