/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON run file: the same options as the command line, under the same names. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/bom.h"
#include "cmd/option_layout.h"
#include "cmd/option_rows.h"
#include "cmd/stdio_writer.h"

enum { MOST_BYTES = 1 << 20 };

static weft_status not_a_value(const char *path, const char *key)
{
    return WF_FAIL(
        WEFT_E_INVALID,
        "%s: \"%s\" is null, an object or nested; a text, a number, true, false or a "
        "list of those is needed",
        path, key);
}

/* A list: its items one by one, or for options of one value joined by commas. */
static weft_status assign_array(wf_arg_store *s, int item, const char *path,
                                const char *key, const json_t *v)
{
    const wf_option *row = s->item[item].row;
    int keep_apart = row && row->type == WF_OPT_LIST;
    weft_text all = {0};
    weft_writer w = weft_text_writer(&all);
    weft_status st = WEFT_OK;

    for (size_t i = 0; i < json_array_size(v) && st == WEFT_OK; i++) {
        char buf[64];
        const char *text;
        if (!wf_scalar_text(json_array_get(v, i), buf, sizeof buf, &text))
            st = not_a_value(path, key);
        else if (keep_apart)
            st = wf_assign(s, item, text, path);
        else
            weft_print(&w, "%s%s", i ? "," : "", text);
    }
    if (st == WEFT_OK && !keep_apart) st = weft_writer_status(&w);
    if (st == WEFT_OK && !keep_apart) st = wf_assign(s, item, all.s, path);
    weft_text_clear(&all);
    return st;
}

static weft_status assign_member(wf_arg_store *s, const char *path, const char *key,
                                 const json_t *v)
{
    char buf[64];
    const char *text;
    int item = wf_items_find(s, key);

    if (item < 0) {
        const char *near = wf_items_nearest(s, key);
        return WF_FAIL(WEFT_E_INVALID, "%s: there is no option \"%.60s\"%s%s%s", path,
                       key, near ? "; did you mean \"" : "", near ? near : "",
                       near ? "\"?" : "");
    }
    if (json_is_array(v)) return assign_array(s, item, path, key, v);
    if (!wf_scalar_text(v, buf, sizeof buf, &text)) return not_a_value(path, key);
    return wf_assign(s, item, text, path);
}

/* A layout holds more than some of the commands that take one ask for, and what follows from
 * its fields. */
static int is_left_out(const wf_arg_store *s, const char *key)
{
    if (wf_items_find(s, key) >= 0) return 0;
    return wf_is_derived_key(key) || wf_is_layout_key(key);
}

static weft_status assign_all(wf_arg_store *s, const char *path, int is_layout,
                              json_t *root)
{
    const char *key;
    json_t *v;

    json_object_foreach(root, key, v)
    {
        if (is_layout && is_left_out(s, key)) continue;
        WF_TRY(assign_member(s, path, key, v));
    }
    return is_layout ? wf_layout_keys_agree(path, root) : WEFT_OK;
}

weft_status wf_config_read(const char *path, int layout, wf_arg_store *s)
{
    char *text;
    int64_t n;
    json_error_t error;
    weft_status st = WEFT_OK;

    WF_TRY(wf_read_file(path, MOST_BYTES, &text, &n));
    st = wf_refuse_bom(path, text, (size_t)n);
    json_t *root = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &error);
    wf_free(text);
    if (st != WEFT_OK) return st; /* no JSON: root is NULL */
    if (!root)
        return WF_FAIL(WEFT_E_INVALID, "%s:%d: %s", path, error.line, error.text);
    if (!json_is_object(root))
        st = WF_FAIL(WEFT_E_INVALID, "%s: a run file is one JSON object of options",
                     path);
    else
        st = assign_all(s, path, layout && wf_is_layout(root), root);
    json_decref(root);
    return st;
}

void wf_config_print(const wf_arg_store *s, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    for (int i = 0; i < s->n_items; i++)
        wf_item_put_json(&s->item[i], &j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}
