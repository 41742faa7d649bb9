/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config_reader.h"

#include <stdio.h>
#include <string.h>

#include "arch/fields.h"
#include "base/error.h"
#include "cmd/bom.h"

enum { TEXT = 96 };

/* ---- what was found, what is needed ---------------------------------------------- */

static const char *found_text(const json_t *v, char buf[TEXT])
{
    char number[32];
    switch (json_typeof(v)) {
    case JSON_INTEGER:
        snprintf(buf, TEXT, "%lld", (long long)json_integer_value(v));
        return buf;
    case JSON_REAL:
        snprintf(buf, TEXT, "%s", wf_num_text(json_real_value(v), number));
        return buf;
    case JSON_STRING:
        snprintf(buf, TEXT, "the text \"%.40s\"", json_string_value(v));
        return buf;
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
    case JSON_ARRAY: return "a list";
    default: return "an object";
    }
}

weft_status wf_config_wrong(const wf_config *c, const char *key, const json_t *found,
                            const char *needed)
{
    char buf[TEXT];
    return WF_FAIL(WEFT_E_INVALID, "%s: %s%s: found %s, needed %s", c->file, c->scope,
                   key, found_text(found, buf), needed);
}

static const char *needed_text(const wf_field *f, char buf[TEXT])
{
    char a[32], b[32];
    wf_num_text(f->min, a);
    wf_num_text(f->max, b);
    if (f->type == WF_BOOL) return "true or false";
    snprintf(buf, TEXT, "%s in %s .. %s",
             f->type == WF_F64 ? "a number" : "a whole number", a, b);
    return buf;
}

static const wf_field *field_of(const char *name)
{
    const wf_table *t = wf_arch_table();
    return &t->field[wf_field_find(t, name)];
}

/* ---- keys ------------------------------------------------------------------------ */

const json_t *wf_config_get(const wf_config *c, const char *key)
{
    const json_t *v = json_object_get(c->object, key);
    return json_is_null(v) ? NULL : v;
}

/* The first of "a|b" that is there; `name` gets it, or "a or b". */
static const json_t *get_any(const wf_config *c, const char *keys, char name[TEXT])
{
    const json_t *v = NULL;
    for (const char *s = keys; !v; s++) {
        size_t n = strcspn(s, "|");
        snprintf(name, TEXT, "%.*s", (int)n, s);
        v = wf_config_get(c, name);
        s += n;
        if (!*s) break;
    }
    if (v) return v;
    *name = 0;
    for (const char *s = keys; *s; s += strcspn(s, "|"), s += *s == '|') {
        size_t n = strlen(name);
        snprintf(name + n, TEXT - n, "%s%.*s", n ? " or " : "", (int)strcspn(s, "|"),
                 s);
    }
    return NULL;
}

static int in_range(const wf_field *f, double x)
{
    return x >= f->min && x <= f->max;
}

/* A JSON value as text for the field's parser; 0 where type or range is wrong. */
static int value_text(const wf_field *f, const json_t *v, char buf[TEXT])
{
    char number[32];
    switch (f->type) {
    case WF_BOOL:
        snprintf(buf, TEXT, "%s", json_is_true(v) ? "true" : "false");
        return json_is_boolean(v);
    case WF_F64:
        snprintf(buf, TEXT, "%s", wf_num_text(json_number_value(v), number));
        return json_is_number(v) && in_range(f, json_number_value(v));
    default:
        snprintf(buf, TEXT, "%lld", (long long)json_integer_value(v));
        return json_is_integer(v) && in_range(f, (double)json_integer_value(v));
    }
}

static weft_status fill_one(const wf_config *c, const wf_config_key *k)
{
    wf_field f = *field_of(k->field);
    char name[TEXT], text[TEXT], needed[TEXT];
    const json_t *v = get_any(c, k->key, name);

    if (!k->otherwise && f.min < 1)
        f.min = 1; /* 0 stands for the usual value elsewhere */
    if (v) {
        if (!value_text(&f, v, text))
            return wf_config_wrong(c, name, v, needed_text(&f, needed));
        return weft_arch_set(c->arch, k->field, text);
    }
    if (!k->otherwise)
        return WF_FAIL(WEFT_E_INVALID, "%s: %s%s is missing, needed %s (%s)", c->file,
                       c->scope, name, needed_text(&f, needed), f.help);
    return *k->otherwise ? weft_arch_set(c->arch, k->field, k->otherwise) : WEFT_OK;
}

weft_status wf_config_fill(const wf_config *c, const wf_config_key *keys)
{
    for (; keys->key; keys++)
        WF_TRY(fill_one(c, keys));
    return WEFT_OK;
}

weft_status wf_config_set(const wf_config *c, const char *key, const char *field,
                          int64_t value)
{
    const wf_field *f = field_of(field);
    char text[TEXT], needed[TEXT];

    if (!in_range(f, (double)value))
        return WF_FAIL(WEFT_E_INVALID, "%s: %s%s makes %s %lld, needed %s", c->file,
                       c->scope, key, field, (long long)value, needed_text(f, needed));
    snprintf(text, sizeof text, "%lld", (long long)value);
    return weft_arch_set(c->arch, field, text);
}

weft_status wf_config_int(const wf_config *c, const char *key, int64_t min, int64_t max,
                          int64_t otherwise, int64_t *out)
{
    const json_t *v = wf_config_get(c, key);
    char needed[TEXT];

    if (!v) return *out = otherwise, WEFT_OK;
    snprintf(needed, sizeof needed, "a whole number in %lld .. %lld", (long long)min,
             (long long)max);
    if (!json_is_integer(v) || json_integer_value(v) < min ||
        json_integer_value(v) > max)
        return wf_config_wrong(c, key, v, needed);
    *out = json_integer_value(v);
    return WEFT_OK;
}

weft_status wf_config_bool(const wf_config *c, const char *key, int otherwise, int *out)
{
    const json_t *v = wf_config_get(c, key);

    if (!v) return *out = otherwise, WEFT_OK;
    if (!json_is_boolean(v)) return wf_config_wrong(c, key, v, "true or false");
    *out = json_is_true(v);
    return WEFT_OK;
}

weft_status wf_config_text(const wf_config *c, const char *key, const char *otherwise,
                           const char **out)
{
    const json_t *v = wf_config_get(c, key);

    if (!v) return *out = otherwise, WEFT_OK;
    if (!json_is_string(v)) return wf_config_wrong(c, key, v, "a text");
    *out = json_string_value(v);
    return WEFT_OK;
}

weft_status wf_config_only_bool(const wf_config *c, const char *key, int value)
{
    int found = value;

    WF_TRY(wf_config_bool(c, key, value, &found));
    if (found == value) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s: %s%s %s is not in this version; %s is", c->file,
                   c->scope, key, found ? "true" : "false", value ? "true" : "false");
}

/* ---- the file -------------------------------------------------------------------- */

/* The key before a place in the text: what a number that jansson cannot hold belongs to. */
static void key_before(const char *text, size_t at, char key[TEXT])
{
    size_t end, start;
    *key = 0;
    while (at > 0 && text[at - 1] != ':')
        at--;
    while (at > 0 && text[at - 1] != '"')
        at--;
    if (at < 2) return;
    end = start = at - 1;
    while (start > 0 && text[start - 1] != '"')
        start--;
    snprintf(key, TEXT, " in the value of \"%.*s\"",
             (int)(end - start > 40 ? 40 : end - start), text + start);
}

static weft_status bad_json(const char *file, const char *text, size_t n,
                            const json_error_t *e)
{
    char key[TEXT] = "";
    size_t at = e->position > 0 ? (size_t)e->position : 0;

    if (json_error_code(e) == json_error_numeric_overflow)
        key_before(text, at < n ? at : n, key);
    return WF_FAIL(WEFT_E_INVALID, "%s:%d:%d: %s%s", file, e->line, e->column, e->text,
                   key);
}

/* The last part of a path without ".json", or of its folder where that is "config". */
static void name_of(const char *file, char *name, size_t size)
{
    const char *end = file + strlen(file), *start;

    if (end - file > 5 && !strcmp(end - 5, ".json")) end -= 5;
    for (start = end; start > file && start[-1] != '/'; start--)
        ;
    if (end - start == 6 && !strncmp(start, "config", 6) && start - 1 > file) {
        end = start - 1;
        for (start = end; start > file && start[-1] != '/'; start--)
            ;
    }
    if (end == start || (size_t)(end - start) >= size)
        start = "custom", end = start + 6;
    snprintf(name, size, "%.*s", (int)(end - start), start);
}

/* A failure that does not name the file gets its name. */
static weft_status named(const char *file, weft_status st)
{
    const char *words = weft_status_message();
    size_t n = strlen(file);

    if (st == WEFT_OK || (!strncmp(words, file, n) && words[n] == ':')) return st;
    return WF_FAIL(st, "%s: %s", file, words);
}

/* weft's own form, as `weft model --json` and run logs write it: the fields by name. */
static weft_status own_field(const wf_config *c, const char *key, const json_t *v)
{
    const wf_table *t = wf_arch_table();
    char text[TEXT], needed[TEXT];
    int i = 0;

    if (!strcmp(key, "params") || !strcmp(key, "active_params")) return WEFT_OK;
    WF_TRY(wf_field_require(t, key, &i));
    const wf_field *f = &t->field[i];
    if (f->type == WF_STRING || f->type == WF_CHOICE) {
        if (!json_is_string(v)) return wf_config_wrong(c, key, v, "a text");
        return weft_arch_set(c->arch, key, json_string_value(v));
    }
    if (!value_text(f, v, text))
        return wf_config_wrong(c, key, v, needed_text(f, needed));
    return weft_arch_set(c->arch, key, text);
}

static weft_status read_own(const wf_config *c)
{
    static const char *const needed[] = {"layers", "hidden", "heads"};
    const char *key;
    json_t *v;

    for (int i = 0; i < 3; i++)
        if (!json_object_get(c->object, needed[i]))
            return WF_FAIL(WEFT_E_INVALID, "%s: %s is missing", c->file, needed[i]);
    WF_TRY(own_field(c, "family", json_object_get(c->object, "family")));
    json_object_foreach((json_t *)c->object, key, v)
    {
        if (strcmp(key, "family")) WF_TRY(own_field(c, key, v));
    }
    return WEFT_OK;
}

static weft_status read_object(const char *file, const json_t *root, weft_arch *out)
{
    weft_arch a;
    wf_config c = {.file = file, .scope = "", .object = root, .arch = &a};

    if (!json_is_object(root))
        return WF_FAIL(WEFT_E_INVALID, "%s: a JSON object is needed", file);
    weft_arch_defaults(&a);
    if (json_object_get(root, "family") && !json_object_get(root, "model_type")) {
        WF_TRY(named(file, read_own(&c)));
    } else {
        WF_TRY(wf_config_text(&c, "model_type", NULL, &c.model_type));
        WF_TRY(wf_config_model(&c));
        name_of(file, a.name, sizeof a.name);
    }
    WF_TRY(named(file, weft_arch_check(&a)));
    *out = a;
    return WEFT_OK;
}

weft_status wf_config_parse(const char *file, const char *text, size_t n,
                            weft_arch *out)
{
    json_error_t e;

    WF_TRY(wf_refuse_bom(file, text, n));
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!root) return bad_json(file, text, n, &e);
    weft_status st = read_object(file, root, out);
    json_decref(root);
    return st;
}
