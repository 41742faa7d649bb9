/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/machine_file.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/num.h"
#include "cmd/bom.h"
#include "cmd/stdio_writer.h"

enum { MOST_BYTES = 1 << 22, MOST_PATH = 4096, VALUE = 512 };

/* ---- values ---------------------------------------------------------------------- */

/* A JSON value as the text that weft_machine_set() takes. */
static weft_status value_text(const char *file, const char *key, const json_t *v,
                              char buf[VALUE])
{
    char number[32];

    if (json_is_string(v) && strlen(json_string_value(v)) < VALUE)
        snprintf(buf, VALUE, "%s", json_string_value(v));
    else if (json_is_integer(v))
        snprintf(buf, VALUE, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        snprintf(buf, VALUE, "%s", wf_num_text(json_real_value(v), number));
    else if (json_is_boolean(v))
        snprintf(buf, VALUE, "%s", json_is_true(v) ? "true" : "false");
    else
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: %s: a number, a word or true and false are needed", file,
                       key);
    return WEFT_OK;
}

static weft_status in_file(const char *file, const char *where, weft_status st)
{
    if (st == WEFT_OK) return st;
    return WF_FAIL(st, "%s: %s%s", file, where, weft_status_message());
}

/* ---- parts ----------------------------------------------------------------------- */

static weft_status read_tier(const char *file, int i, json_t *object, weft_machine *m)
{
    const char *key;
    json_t *v;
    char where[32], buf[VALUE];

    snprintf(where, sizeof where, "tiers[%d]: ", i);
    if (!json_is_object(object))
        return WF_FAIL(WEFT_E_INVALID, "%s: %san object is needed", file, where);
    json_object_foreach(object, key, v)
    {
        WF_TRY(value_text(file, key, v, buf));
        WF_TRY(in_file(file, where, weft_machine_set_tier(m, i, key, buf)));
    }
    return WEFT_OK;
}

static weft_status read_tiers(const char *file, json_t *list, weft_machine *m)
{
    if (!json_is_array(list) || json_array_size(list) < 1 ||
        json_array_size(list) > WEFT_MAX_TIERS)
        return WF_FAIL(WEFT_E_INVALID, "%s: tiers: a list of 1 .. %d links is needed",
                       file, WEFT_MAX_TIERS);
    m->n_tiers = (int32_t)json_array_size(list);
    for (int i = 0; i < m->n_tiers; i++)
        WF_TRY(read_tier(file, i, json_array_get(list, (size_t)i), m));
    return WEFT_OK;
}

static weft_status read_point(const char *file, int i, json_t *object,
                              weft_gemm_point *out)
{
    const char *math = NULL;
    json_int_t m = 0, n = 0, k = 0;
    double rate = 0;
    json_error_t e;
    weft_math which;

    if (json_unpack_ex(object, &e, JSON_STRICT, "{s:s, s:I, s:I, s:I, s:F}", "math",
                       &math, "m", &m, "n", &n, "k", &k, "flops_per_s", &rate))
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: gemms[%d]: %s; math, m, n, k and flops_per_s "
                       "are needed",
                       file, i, e.text);
    WF_TRY(in_file(file, "gemms: ", weft_math_parse(math, &which)));
    *out = (weft_gemm_point){which, m, n, k, rate};
    return WEFT_OK;
}

static weft_status read_points(const char *file, json_t *list, weft_machine *m)
{
    if (!json_is_array(list) || json_array_size(list) > WEFT_MAX_GEMM_POINTS)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: gemms: a list of at most %d matmuls is needed", file,
                       WEFT_MAX_GEMM_POINTS);
    m->n_gemms = (int32_t)json_array_size(list);
    for (int i = 0; i < m->n_gemms; i++)
        WF_TRY(read_point(file, i, json_array_get(list, (size_t)i), &m->gemm[i]));
    return WEFT_OK;
}

/* ---- the file -------------------------------------------------------------------- */

static weft_status read_object(const char *file, json_t *root, weft_machine *m)
{
    const char *key;
    json_t *v;
    char buf[VALUE];

    if (!json_is_object(root))
        return WF_FAIL(WEFT_E_INVALID, "%s: a machine file is one JSON object", file);
    json_object_foreach(root, key, v)
    {
        if (!strcmp(key, "tiers")) {
            WF_TRY(read_tiers(file, v, m));
        } else if (!strcmp(key, "gemms")) {
            WF_TRY(read_points(file, v, m));
        } else {
            WF_TRY(value_text(file, key, v, buf));
            WF_TRY(in_file(file, "", weft_machine_set(m, key, buf)));
        }
    }
    return in_file(file, "", weft_machine_check(m));
}

weft_status wf_machine_parse_file(const char *file, const char *text, size_t n,
                                  weft_machine *out)
{
    json_error_t e;
    weft_machine m;

    WF_TRY(wf_refuse_bom(file, text, n));
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return WF_FAIL(WEFT_E_INVALID, "%s, line %d, column %d: %s", file, e.line,
                       e.column, e.text);
    weft_machine_defaults(&m);
    weft_status st = read_object(file, root, &m);
    json_decref(root);
    if (st == WEFT_OK) *out = m;
    return st;
}

/* "field=value,field=value" after a file's name. */
static weft_status change(const char *changes, weft_machine *m)
{
    char pair[VALUE];

    while (*changes) {
        size_t n = strcspn(changes, ",");
        if (n >= sizeof pair || !memchr(changes, '=', n))
            return WF_FAIL(WEFT_E_INVALID,
                           "machine change '%.40s': field=value is needed", changes);
        snprintf(pair, sizeof pair, "%.*s", (int)n, changes);
        char *value = strchr(pair, '=');
        *value++ = 0;
        WF_TRY(weft_machine_set(m, pair, value));
        changes += n + (changes[n] == ',');
    }
    return weft_machine_check(m);
}

weft_status wf_machine_read(const char *text, weft_machine *out)
{
    char path[MOST_PATH], *json = NULL;
    size_t n = strcspn(text, ",");
    int64_t size = 0;
    weft_machine m;

    if (!memchr(text, '/', n) && (n < 5 || strncmp(text + n - 5, ".json", 5)))
        return weft_machine_parse(text, out);
    if (n >= sizeof path)
        return WF_FAIL(WEFT_E_INVALID, "'%.40s...' is too long for the name of a file",
                       text);
    snprintf(path, sizeof path, "%.*s", (int)n, text);
    WF_TRY(wf_read_file(path, MOST_BYTES, &json, &size));
    weft_status st = wf_machine_parse_file(path, json, (size_t)size, &m);
    wf_free(json);
    if (st == WEFT_OK && text[n]) st = change(text + n + 1, &m);
    if (st == WEFT_OK) *out = m;
    return st;
}
