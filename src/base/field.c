/* SPDX-License-Identifier: Apache-2.0 */
#include "base/field.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"

enum { LABEL = 64 };

static char plain(char c)
{
    return c == '_' ? '-' : c;
}

/* Does the word [s, s+n) equal `name`, '-' and '_' alike? */
static int same(const char *s, size_t n, const char *name)
{
    if (strlen(name) != n) return 0;
    for (size_t i = 0; i < n; i++)
        if (plain(s[i]) != plain(name[i])) return 0;
    return 1;
}

static int has_alias(const char *alias, const char *name)
{
    while (alias && *alias) {
        size_t n = strcspn(alias, " ");
        if (same(alias, n, name)) return 1;
        alias += n + strspn(alias + n, " ");
    }
    return 0;
}

int wf_field_find(const wf_table *t, const char *name)
{
    if (!strncmp(name, "--", 2)) name += 2;
    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        if (same(f->name, strlen(f->name), name) || has_alias(f->alias, name)) return i;
    }
    return -1;
}

static const char *name_at(const void *ctx, int i)
{
    return ((const wf_table *)ctx)->field[i].name;
}

weft_status wf_field_require(const wf_table *t, const char *name, int *index)
{
    const char *word = strncmp(name, "--", 2) ? name : name + 2;
    char typed[LABEL], label[LABEL];
    int i = wf_field_find(t, name);

    if (i >= 0) return *index = i, WEFT_OK;
    size_t n =
        0; /* names in the table have underscores, so must the word to be near one */
    for (; word[n] && n + 1 < sizeof typed; n++)
        typed[n] = word[n] == '-' ? '_' : word[n];
    typed[n] = 0;
    const char *near = wf_nearest(typed, t->n, name_at, t);
    if (!near)
        return WF_FAIL(WEFT_E_INVALID, "%s%.60s is no %s", t->prefix, word, t->what);
    return WF_FAIL(WEFT_E_INVALID, "%s%.60s is no %s; did you mean %s?", t->prefix,
                   word, t->what, wf_field_label(t, wf_field_find(t, near), label));
}

const char *wf_field_label(const wf_table *t, int i, char *buf)
{
    size_t n = 0;
    for (const char *s = t->prefix; *s; s++)
        buf[n++] = *s;
    for (const char *s = t->field[i].name; *s && n + 1 < LABEL; s++)
        buf[n++] = *t->prefix ? (*s == '_' ? '-' : *s) : *s;
    buf[n] = 0;
    return buf;
}

/* ---- values ---------------------------------------------------------------------- */

typedef union value {
    int32_t i32;
    int64_t i64;
    double f64;
} value;

/* min..max, or one side of it where the other is open */
static weft_status out_of_range(const char *label, const wf_field *f, double x)
{
    char a[32], b[32], v[32];
    wf_num_text(f->min, a);
    wf_num_text(f->max, b);
    wf_num_text(x, v);
    if (x < f->min && !(f->max < 1e15))
        return WF_FAIL(WEFT_E_INVALID, "%s %s is below %s, the least that is possible",
                       label, v, a);
    return WF_FAIL(WEFT_E_INVALID, "%s %s is outside %s .. %s", label, v, a, b);
}

static weft_status check_number(const char *label, const wf_field *f, double x)
{
    if (isnan(x)) return WF_FAIL(WEFT_E_INVALID, "%s is not a number", label);
    if (x < f->min || x > f->max) return out_of_range(label, f, x);
    return WEFT_OK;
}

/* ---- words of a choice ----------------------------------------------------------- */

/* Copies word i of "none|head|full"; 0 where there are fewer. */
static int word_at(const wf_field *f, int i, char *buf)
{
    const char *s = f->text;
    for (; i > 0; i--) {
        s = strchr(s, '|');
        if (!s) return 0;
        s++;
    }
    size_t n = strcspn(s, "|");
    assert(n < LABEL);
    memcpy(buf, s, n);
    buf[n] = 0;
    return 1;
}

static int n_words(const wf_field *f)
{
    int n = 1;
    for (const char *s = f->text; *s; s++)
        n += *s == '|';
    return n;
}

static weft_status parse_choice(const char *label, const wf_field *f, const char *text,
                                int32_t *out)
{
    char word[LABEL], near[LABEL] = "";
    int best = 3; /* edits: further off is another word */

    for (int i = 0; word_at(f, i, word); i++) {
        if (!strcmp(word, text)) return *out = i, WEFT_OK;
        int d = wf_distance(word, text);
        if (d < best) best = d, memcpy(near, word, sizeof near);
    }
    if (*near)
        return WF_FAIL(WEFT_E_INVALID, "%s: '%.40s' is none of %s; did you mean %s?",
                       label, text, f->text, near);
    return WF_FAIL(WEFT_E_INVALID, "%s: '%.40s' is none of %s", label, text, f->text);
}

/* ---- parsing --------------------------------------------------------------------- */

static weft_status parse(const char *label, const wf_field *f, const char *text,
                         value *v)
{
    switch (f->type) {
    case WF_F64:
        WF_TRY(wf_num_f64(label, text, f->unit, &v->f64));
        return check_number(label, f, v->f64);
    case WF_I32:
    case WF_I64:
        WF_TRY(wf_num_i64(label, text, f->unit, &v->i64));
        WF_TRY(check_number(label, f, (double)v->i64));
        if (f->type == WF_I32) v->i32 = (int32_t)v->i64;
        return WEFT_OK;
    case WF_BOOL: return wf_num_bool(label, text, &v->i32);
    case WF_CHOICE: return parse_choice(label, f, text, &v->i32);
    case WF_STRING: break;
    }
    if (f->size && strlen(text) >= f->size)
        return WF_FAIL(WEFT_E_INVALID, "%s: '%.40s' is longer than %d characters",
                       label, text, (int)f->size - 1);
    return WEFT_OK;
}

/* Is `text` the default, whatever way it is written ("1", "+1", "false", "off")? */
static int is_default(const char *label, const wf_field *f, const char *text)
{
    value a = {.i64 = 0}, b = {.i64 = 0};
    if (f->type == WF_STRING) return !strcmp(text, f->text);
    if (f->type == WF_CHOICE) return !parse_choice(label, f, text, &a.i32) && !a.i32;
    if (parse(label, f, text, &a) || parse(label, f, f->text, &b)) return 0;
    return f->type == WF_F64   ? a.f64 == b.f64
           : f->type == WF_I64 ? a.i64 == b.i64
                               : a.i32 == b.i32;
}

static weft_status not_yet(const char *label, const wf_field *f, const char *found)
{
    int n = f->type == WF_CHOICE ? (int)strcspn(f->text, "|") : (int)strlen(f->text);
    return WF_FAIL(WEFT_E_INVALID, "%s %.40s is not in this version; %.*s is", label,
                   found, n, f->text);
}

weft_status wf_field_set(const wf_table *t, void *obj, const char *name,
                         const char *text)
{
    char label[LABEL];
    int i = 0;
    value v = {.i64 = 0};

    WF_TRY(wf_field_require(t, name, &i));
    const wf_field *f = &t->field[i];
    wf_field_label(t, i, label);
    WF_TRY(parse(label, f, text, &v));
    if (f->when == WF_LATER && !is_default(label, f, text))
        return not_yet(label, f, text);
    char *at = (char *)obj + f->offset;
    if (!f->size) return WEFT_OK;
    if (f->type != WF_STRING)
        memcpy(at, &v, f->size);
    else
        memmove(at, text, strlen(text) + 1); /* text may be the field itself */
    return WEFT_OK;
}

void wf_field_defaults(const wf_table *t, void *obj)
{
    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        memset((char *)obj + f->offset, 0, f->size);
        if (!f->text || f->type == WF_CHOICE) continue; /* zero: the first word */
        weft_status st = wf_field_set(t, obj, f->name, f->text);
        assert(st == WEFT_OK);
        (void)st;
    }
}

static value load(const wf_field *f, const void *obj)
{
    value v = {.i64 = 0};
    memcpy(&v, (const char *)obj + f->offset, f->size);
    return v;
}

static double as_f64(const wf_field *f, value v)
{
    return f->type == WF_F64   ? v.f64
           : f->type == WF_I64 ? (double)v.i64
                               : (double)v.i32;
}

/* Is the value fine?  Quick: searches over layouts ask this millions of times. */
static int is_fine(const wf_field *f, const void *obj)
{
    const char *at = (const char *)obj + f->offset;
    value v = {.i64 = 0};

    if (f->type == WF_STRING)
        return memchr(at, 0, f->size) && (f->when == WF_NOW || !strcmp(at, f->text));
    double x = as_f64(f, load(f, obj));
    if (f->type == WF_CHOICE)
        return x >= 0 && x < n_words(f) && (f->when == WF_NOW || x == 0);
    if (!(x >= f->min && x <= f->max) && f->type != WF_BOOL) return 0;
    return f->when == WF_NOW || (!parse("", f, f->text, &v) && x == as_f64(f, v));
}

static weft_status explain(const wf_field *f, const char *label, const void *obj)
{
    const char *at = (const char *)obj + f->offset;
    char found[32];

    if (f->type == WF_STRING) {
        if (memchr(at, 0, f->size)) return not_yet(label, f, at);
        return WF_FAIL(WEFT_E_INVALID, "%s does not end within %d bytes", label,
                       (int)f->size);
    }
    double x = as_f64(f, load(f, obj));
    if (f->type == WF_CHOICE) {
        char word[LABEL];
        if (x >= 0 && word_at(f, (int)x, word)) return not_yet(label, f, word);
        return WF_FAIL(WEFT_E_INVALID, "%s has the number %d; %s are 0 to %d", label,
                       (int)x, f->text, n_words(f) - 1);
    }
    if (!f->text && x == 0) return WF_FAIL(WEFT_E_INVALID, "%s is not given", label);
    if (f->type == WF_BOOL) return not_yet(label, f, x != 0 ? "true" : "false");
    WF_TRY(check_number(label, f, x));
    return not_yet(label, f, wf_num_text(x, found));
}

weft_status wf_field_check(const wf_table *t, const void *obj)
{
    char label[LABEL];
    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        if (f->size && !is_fine(f, obj))
            return explain(f, wf_field_label(t, i, label), obj);
    }
    return WEFT_OK;
}

void wf_field_print(const wf_table *t, int i, const void *obj, weft_writer *out)
{
    const wf_field *f = &t->field[i];
    char buf[LABEL];

    if (!f->size) {
        weft_print(out, "%s",
                   f->type == WF_CHOICE && word_at(f, 0, buf) ? buf : f->text);
        return;
    }
    if (f->type == WF_STRING) {
        weft_print(out, "%s", (const char *)obj + f->offset);
        return;
    }
    value v = load(f, obj);
    switch (f->type) {
    case WF_BOOL: weft_print(out, "%s", v.i32 ? "true" : "false"); break;
    case WF_CHOICE: weft_print(out, "%s", word_at(f, v.i32, buf) ? buf : "?"); break;
    case WF_I32: weft_print(out, "%d", (int)v.i32); break;
    case WF_I64: weft_print(out, "%lld", (long long)v.i64); break;
    default: weft_print(out, "%s", wf_num_text(v.f64, buf)); break;
    }
}

void wf_field_put_json(const wf_table *t, const void *obj, wf_json *j)
{
    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        if (!f->size) continue;
        wf_json_key(j, f->name);
        if (f->type == WF_STRING) {
            wf_json_string(j, (const char *)obj + f->offset);
            continue;
        }
        value v = load(f, obj);
        char word[LABEL];
        switch (f->type) {
        case WF_BOOL: wf_json_bool(j, v.i32); break;
        case WF_CHOICE: wf_json_string(j, word_at(f, v.i32, word) ? word : NULL); break;
        case WF_I32: wf_json_i64(j, v.i32); break;
        case WF_I64: wf_json_i64(j, v.i64); break;
        default: wf_json_f64(j, v.f64); break;
        }
    }
}
