/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/words.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* A variable may hold others twice over: what a text expands to is bounded, so that any text
 * is safe. */
enum { MOST_BYTES = 1 << 24 };

/* The word being read. */
typedef struct reader {
    const char *at;
    int line;
    char *s; /* NUL-terminated while open */
    int64_t n, cap;
    int open, unexpanded;
    int64_t bytes; /* of all words */
    wf_words *out;
} reader;

static weft_status put(reader *r, char c)
{
    r->open = 1;
    if (++r->bytes > MOST_BYTES)
        return WF_FAIL(WEFT_E_INVALID, "line %d: the text is longer than %d bytes",
                       r->line, MOST_BYTES);
    WF_TRY(wf_grow(&r->s, &r->cap, r->n + 2, 1));
    r->s[r->n++] = c;
    r->s[r->n] = 0;
    return WEFT_OK;
}

static weft_status close_word(reader *r)
{
    wf_words *w = r->out;
    if (!r->open) return WEFT_OK;
    WF_TRY(wf_grow(&r->s, &r->cap, 1, 1)); /* "" is a word */
    WF_TRY(wf_grow(&w->word, &w->cap, w->n + 1, sizeof *w->word));
    r->s[r->n] = 0;
    w->word[w->n++] = (wf_word){r->s, r->line, r->unexpanded};
    r->s = NULL;
    r->n = r->cap = 0;
    r->open = r->unexpanded = 0;
    return WEFT_OK;
}

/* ---- variables ------------------------------------------------------------------- */

static int is_name(int c)
{
    return isalnum(c) || c == '_';
}

/* The value of the last NAME=value word, or NULL. */
static const char *value_of(const wf_words *w, const char *name, size_t n)
{
    for (int64_t i = w->n - 1; i >= 0; i--) {
        const char *s = w->word[i].text;
        if (!strncmp(s, name, n) && s[n] == '=') return s + n + 1;
    }
    return NULL;
}

/* At a $: put the value of a plain variable, else the $ as it stands. */
static weft_status expand(reader *r)
{
    const char *name = r->at + 1;
    int brace = *name == '{';
    size_t n = 0;

    name += brace;
    while (is_name((unsigned char)name[n]))
        n++;
    const char *value = n ? value_of(r->out, name, n) : NULL;
    if (!value || (brace && name[n] != '}')) {
        r->unexpanded = 1;
        r->at++;
        return put(r, '$');
    }
    r->at = name + n + brace;
    r->open = 1;
    for (; *value; value++)
        WF_TRY(put(r, *value));
    return WEFT_OK;
}

/* ---- the grammar ----------------------------------------------------------------- */

/* One step inside quotes: a backslash in "" escapes these and joins lines. */
static weft_status inside(reader *r, char quote)
{
    int escape =
        quote == '"' && *r->at == '\\' && r->at[1] && strchr("$`\"\\\n", r->at[1]);
    if (quote == '"' && *r->at == '$') return expand(r);
    r->at += escape;
    char c = *r->at++;
    r->line += c == '\n';
    return escape && c == '\n' ? WEFT_OK : put(r, c);
}

static weft_status quoted(reader *r)
{
    char quote = *r->at++;
    int line = r->line;

    r->open = 1;
    while (*r->at && *r->at != quote)
        WF_TRY(inside(r, quote));
    if (!*r->at)
        return WF_FAIL(WEFT_E_INVALID, "line %d: the quote %c never ends", line, quote);
    r->at++;
    return WEFT_OK;
}

static weft_status escaped(reader *r)
{
    if (!strncmp(r->at + 1, "\r\n", 2)) r->at++; /* files from elsewhere */
    if (r->at[1] == '\n') {
        r->line++;
        r->at += 2;
        return WEFT_OK;
    }
    if (!*++r->at) return WEFT_OK;
    return put(r, *r->at++);
}

static weft_status step(reader *r)
{
    char c = *r->at;

    if (c == '\'' || c == '"') return quoted(r);
    if (c == '\\') return escaped(r);
    if (c == '$') return expand(r);
    if (c == '#' && !r->open) {
        r->at += strcspn(r->at, "\n");
        return WEFT_OK;
    }
    if (!strchr(" \t\r\n();&|", c)) return put(r, *r->at++);
    WF_TRY(close_word(r));
    r->line += c == '\n';
    r->at++;
    return WEFT_OK;
}

weft_status wf_words_split(const char *text, wf_words *out)
{
    wf_words w = {0};
    reader r = {.at = text, .line = 1, .out = &w};
    weft_status st = WEFT_OK;

    while (*r.at && st == WEFT_OK)
        st = step(&r);
    if (st == WEFT_OK) st = close_word(&r);
    if (st != WEFT_OK) {
        wf_free(r.s);
        wf_words_clear(&w);
        return st;
    }
    *out = w;
    return WEFT_OK;
}

void wf_words_clear(wf_words *w)
{
    for (int64_t i = 0; i < w->n; i++)
        wf_free(w->word[i].text);
    wf_free(w->word);
    *w = (wf_words){0};
}
