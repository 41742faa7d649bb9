/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/flags.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

/* ---- names ----------------------------------------------------------------------- */

static int same(const wf_flags *f, char a, char b)
{
    if (f->underscores && a == '-') a = '_';
    if (f->underscores && b == '-') b = '_';
    return a == b;
}

static int is_called(const wf_flags *f, const char *row, const char *name, size_t n)
{
    size_t i = 2; /* both begin with -- */
    if (strlen(row) != n) return 0;
    while (i < n && same(f, row[i], name[i]))
        i++;
    return i == n;
}

/* --a.no_b is --a.b off; *off is set then. */
static int without_no(const char *name, size_t n, char *plain, size_t size)
{
    size_t dot = n;
    while (dot > 0 && name[dot - 1] != '.')
        dot--;
    if (n - dot < 4 || strncmp(name + dot, "no", 2) || !strchr("-_", name[dot + 2]))
        return 0;
    return snprintf(plain, size, "%.*s%.*s", (int)dot, name, (int)(n - dot - 3),
                    name + dot + 3) < (int)size;
}

static int find_row(const wf_flags *f, const char *name, size_t n, int *off)
{
    char plain[96];
    *off = 0;
    for (int i = 0; i < f->n; i++)
        if (is_called(f, f->row[i].name, name, n)) return i;
    if (!without_no(name, n, plain, sizeof plain)) return -1;
    for (int i = 0; i < f->n; i++)
        if (f->row[i].arity == WF_ONOFF &&
            is_called(f, f->row[i].name, plain, strlen(plain))) {
            *off = 1;
            return i;
        }
    return -1;
}

/* ---- reading --------------------------------------------------------------------- */

static int is_flag(const wf_word *w)
{
    return w->text[0] == '-' && w->text[1] == '-' && w->text[2];
}

static int is_truth(const char *s)
{
    int32_t on;
    return wf_num_bool("", s, &on) == WEFT_OK || !strcmp(s, "True") ||
           !strcmp(s, "False");
}

/* A name once in a list of words. */
static void note(weft_text *list, const char *name, size_t n)
{
    weft_writer out = weft_text_writer(list);
    for (const char *at = list->s; *at;) {
        size_t k = strcspn(at, " ");
        if (k == n && !strncmp(at, name, n)) return;
        at += k + strspn(at + k, " ");
    }
    weft_print(&out, "%s%.*s", list->n ? " " : "", (int)n, name);
}

static weft_status set(wf_flags *f, int i, const wf_word *flag, const char *value,
                       int off)
{
    wf_seen *s = &f->seen[i];
    if (s->flag && (strcmp(s->value, value) || s->off != off))
        return WF_FAIL(WEFT_E_INVALID,
                       "%s is given twice: \"%s\" in line %d, \"%s\" in "
                       "line %d",
                       f->row[i].name, s->off ? "off" : s->value, s->line,
                       off ? "off" : value, flag->line);
    *s = (wf_seen){flag, value, off, flag->line};
    return WEFT_OK;
}

/* The value of a row from "=value" or the next word, which *next passes. */
static weft_status take_value(const wf_flags *f, int i, const wf_words *w, int64_t at,
                              int64_t *next, const char **value)
{
    const wf_word *flag = &w->word[at], *holder = flag;
    const char *equals = strchr(flag->text, '=');

    if (equals) {
        *value = equals + 1;
    } else {
        if (at + 1 >= w->n || is_flag(&w->word[at + 1]))
            return WF_FAIL(WEFT_E_INVALID, "line %d: %s needs a value", flag->line,
                           f->row[i].name);
        holder = &w->word[at + 1];
        *value = holder->text;
        *next = at + 2;
    }
    if (holder->unexpanded)
        return WF_FAIL(WEFT_E_INVALID,
                       "line %d: %s %s: the text does not set this variable to a plain "
                       "value; write the value",
                       holder->line, f->row[i].name, *value);
    return WEFT_OK;
}

static int is_listed(const char *list, const char *name, size_t n)
{
    for (const char *at = list; *at;) {
        size_t k = strcspn(at, " ");
        if (k == n && !strncmp(at, name, n)) return 1;
        at += k + strspn(at + k, " ");
    }
    return 0;
}

static void pass_over(wf_flags *f, const char *name, size_t n)
{
    int known = !f->known;
    for (const char *const *list = f->known; list && *list && !known; list++)
        known = is_listed(*list, name, n);
    note(known ? &f->ignored : &f->unknown, name, n);
}

static weft_status read_flag(wf_flags *f, const wf_words *w, int64_t at, int64_t *next)
{
    const wf_word *flag = &w->word[at];
    size_t n = strcspn(flag->text, "=");
    const char *value = "";
    int off, i = find_row(f, flag->text, n, &off);

    *next = at + 1;
    if (i < 0) return pass_over(f, flag->text, n), WEFT_OK;
    if (f->row[i].arity == WF_COST) return note(&f->unmodelled, flag->text, n), WEFT_OK;
    if (f->row[i].arity == WF_ONE || f->row[i].arity == WF_MANY) {
        WF_TRY(take_value(f, i, w, at, next, &value));
    } else if (f->row[i].arity == WF_ONOFF) {
        const char *said = flag->text[n] ? flag->text + n + 1 : NULL;
        if (!said && at + 1 < w->n && is_truth(w->word[at + 1].text)) {
            said = w->word[at + 1].text;
            *next = at + 2;
        }
        if (said && !is_truth(said))
            return WF_FAIL(WEFT_E_INVALID, "line %d: %s is on or off, not \"%.40s\"",
                           flag->line, f->row[i].name, said);
        if (said && strchr("Ff0n", said[0])) off = !off;
    } else if (flag->text[n]) {
        return WF_FAIL(WEFT_E_INVALID, "line %d: %s takes no value", flag->line,
                       f->row[i].name);
    }
    return set(f, i, flag, value, off);
}

weft_status wf_flags_read(wf_flags *f, const wf_words *words)
{
    weft_writer a = weft_text_writer(&f->ignored), b = weft_text_writer(&f->unmodelled);
    weft_writer c = weft_text_writer(&f->unknown);
    WF_TRY(weft_writer_status(&a));
    WF_TRY(weft_writer_status(&b));
    WF_TRY(weft_writer_status(&c));
    assert(f->n <= WF_MOST_FLAGS);
    f->words = words;
    for (int64_t i = 0; i < words->n;) {
        if (is_flag(&words->word[i]))
            WF_TRY(read_flag(f, words, i, &i));
        else
            i++;
    }
    return WEFT_OK;
}

void wf_flags_clear(wf_flags *f)
{
    weft_text_clear(&f->ignored);
    weft_text_clear(&f->unmodelled);
    weft_text_clear(&f->unknown);
}

/* ---- asking ---------------------------------------------------------------------- */

static const wf_seen *seen(const wf_flags *f, const char *name)
{
    int off, i = find_row(f, name, strlen(name), &off);
    assert(i >= 0);
    return &f->seen[i];
}

int wf_flags_given(const wf_flags *f, const char *name)
{
    return seen(f, name)->flag != NULL;
}

const char *wf_flags_text(const wf_flags *f, const char *name)
{
    return seen(f, name)->value;
}

int wf_flags_on(const wf_flags *f, const char *name, int absent)
{
    const wf_seen *s = seen(f, name);
    return s->flag ? !s->off : absent;
}

const char *wf_flags_value_at(const wf_flags *f, const char *name, int i)
{
    const wf_seen *s = seen(f, name);
    if (!s->flag || (i > 0 && strchr(s->flag->text, '='))) return NULL;
    if (i == 0) return s->value;
    const wf_word *end = f->words->word + f->words->n;
    for (const wf_word *w = s->flag + 2; w < end && !is_flag(w); w++)
        if (--i == 0) return w->text;
    return NULL;
}

int wf_flags_has(const wf_flags *f, const char *name, const char *value)
{
    const char *got;
    for (int i = 0; (got = wf_flags_value_at(f, name, i)) != NULL; i++)
        if (!strcmp(got, value)) return 1;
    return 0;
}

void wf_flags_unmodelled(wf_flags *f, const char *name)
{
    if (wf_flags_given(f, name)) note(&f->unmodelled, name, strlen(name));
}

weft_status wf_flags_f64(const wf_flags *f, const char *name, double *out)
{
    const wf_seen *s = seen(f, name);
    char label[128];
    if (!s->flag) return WEFT_OK;
    snprintf(label, sizeof label, "line %d: %s", s->line, name);
    return wf_num_f64(label, s->value, WF_PLAIN, out);
}

weft_status wf_flags_i64(const wf_flags *f, const char *name, int64_t *out)
{
    const wf_seen *s = seen(f, name);
    char label[128];
    if (!s->flag) return WEFT_OK;
    snprintf(label, sizeof label, "line %d: %s", s->line, name);
    return wf_num_i64(label, s->value, WF_PLAIN, out);
}

weft_status wf_flags_i32(const wf_flags *f, const char *name, int32_t *out)
{
    int64_t x = *out;
    WF_TRY(wf_flags_i64(f, name, &x));
    if (x < INT32_MIN || x > INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID, "line %d: %s %lld is beyond %d",
                       seen(f, name)->line, name, (long long)x, INT32_MAX);
    *out = (int32_t)x;
    return WEFT_OK;
}

weft_status wf_flags_at_most_one(const wf_flags *f, const char *names)
{
    char one[96], first[96] = "";
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        if (wf_flags_given(f, one)) {
            if (first[0])
                return WF_FAIL(WEFT_E_INVALID,
                               "%s and %s contradict each other; keep one", first, one);
            memcpy(first, one, sizeof first);
        }
        at += n + strspn(at + n, " ");
    }
    return WEFT_OK;
}
