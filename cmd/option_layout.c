/* SPDX-License-Identifier: Apache-2.0 */
/* A run file that is a layout as `weft plan --json` writes it. Two of its keys follow from the
 * others: they are not options, but they must be true. */
#include "cmd/option_layout.h"

#include <stdio.h>
#include <string.h>
#include <weft/layout.h>

#include "base/error.h"
#include "layout/fields.h"

int wf_scalar_text(const json_t *v, char *buf, size_t size, const char **text)
{
    char number[32];
    *text = buf;
    switch (json_typeof(v)) {
    case JSON_STRING: *text = json_string_value(v); return 1;
    case JSON_INTEGER:
        snprintf(buf, size, "%lld", (long long)json_integer_value(v));
        return 1;
    case JSON_REAL:
        snprintf(buf, size, "%s", wf_num_text(json_real_value(v), number));
        return 1;
    case JSON_TRUE: *text = "true"; return 1;
    case JSON_FALSE: *text = "false"; return 1;
    default: return 0;
    }
}

int wf_is_layout(const json_t *root)
{
    return json_object_get(root, "world") ||
           (json_object_get(root, "n_micro") && json_object_get(root, "global_batch"));
}

int wf_is_derived_key(const char *key)
{
    return !strcmp(key, "world") || !strcmp(key, "n_micro");
}

int wf_is_layout_key(const char *key)
{
    const wf_table *t = wf_layout_plan_table();
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->field[i].name, key)) return 1;
    return 0;
}

/* The fields that the object has, the others at their defaults. Values that are none are
 * told where they are set. */
static weft_layout read_fields(const json_t *root)
{
    const wf_table *t = wf_layout_plan_table();
    weft_layout l;

    weft_layout_defaults(&l);
    for (int i = 0; i < t->n; i++) {
        char buf[64];
        const char *text;
        const json_t *v = json_object_get(root, t->field[i].name);
        weft_layout next = l;
        if (v && wf_scalar_text(v, buf, sizeof buf, &text) &&
            weft_layout_plan_set(&next, t->field[i].name, text) == WEFT_OK)
            l = next;
    }
    return l;
}

static weft_status agree(const char *path, const json_t *root, const char *key,
                         const char *needs, int known, int64_t is, const char *terms)
{
    const json_t *v = json_object_get(root, key);

    if (!v) return WEFT_OK;
    if (!json_is_integer(v))
        return WF_FAIL(WEFT_E_INVALID, "%s: \"%s\" is no whole number", path, key);
    if (!known)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: \"%s\" follows from %s, which the file does not all give; "
                       "leave it out",
                       path, key, needs);
    if (json_integer_value(v) == is) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s: \"%s\" is %lld, but %s are %lld", path, key,
                   (long long)json_integer_value(v), terms, (long long)is);
}

weft_status wf_layout_keys_agree(const char *path, const json_t *root)
{
    weft_layout l = read_fields(root);
    char terms[160];

    snprintf(terms, sizeof terms, "tp %d * cp %d * pp %d * dp %d", l.tp, l.cp, l.pp,
             l.dp);
    WF_TRY(agree(path, root, "world", "tp, pp and dp", l.tp && l.pp && l.dp,
                 weft_layout_world(&l), terms));
    snprintf(terms, sizeof terms, "global_batch %lld / (micro_batch %lld * dp %d)",
             (long long)l.global_batch, (long long)l.micro_batch, l.dp);
    return agree(path, root, "n_micro", "global_batch and dp", l.global_batch && l.dp,
                 weft_layout_n_micro(&l), terms);
}
