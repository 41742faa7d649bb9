/* SPDX-License-Identifier: Apache-2.0 */
/* A model from one line of text: a preset, a preset with changes, or dimensions. */
#include <weft/arch.h>

#include <stdio.h>
#include <string.h>

#include "arch/fields.h"
#include "base/error.h"
#include "base/near.h"

enum { KEY = 64, VALUE = 64, MAX_FIELDS = 64 };

static const char *preset_name(const void *ctx, int i)
{
    return weft_arch_preset_at(i)->name;
}

static weft_status find_preset(const char *name, weft_arch *out)
{
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        const weft_arch *p = weft_arch_preset_at(i);
        if (!strcmp(name, p->name)) return *out = *p, WEFT_OK;
    }
    const char *near = wf_nearest(name, weft_arch_preset_count(), preset_name, NULL);
    if (near)
        return WF_FAIL(WEFT_E_INVALID,
                       "'%.60s' is no model; did you mean %s? `weft model list` names "
                       "all",
                       name, near);
    return WF_FAIL(WEFT_E_INVALID,
                   "'%.60s' is no model; `weft model list` names those that are, such "
                   "as gpt2 and llama3-8b; dimensions are one too, such as "
                   "layers=12,hidden=768,heads=12,vocab=50257,positions=1024",
                   name);
}

/* Copies the next item of "a,b,c" and moves on. */
static weft_status next_item(const char **text, char *item, int size)
{
    size_t n = strcspn(*text, ",");
    if (n >= (size_t)size)
        return WF_FAIL(WEFT_E_INVALID, "'%.40s...' is longer than %d characters", *text,
                       size - 1);
    memcpy(item, *text, n);
    item[n] = 0;
    *text += n;
    if (**text == ',' && !*++*text)
        return WF_FAIL(WEFT_E_INVALID, "nothing follows the last comma, after '%s'",
                       item);
    return WEFT_OK;
}

/* Sets the item if it is, or is not, the family: that is set before all others. */
static weft_status set_item(weft_arch *a, char *item, int family, unsigned char *seen)
{
    char *equal = strchr(item, '=');
    int i = 0;

    if (!equal)
        return WF_FAIL(WEFT_E_INVALID, "'%s': key=value is needed, such as layers=12",
                       item);
    *equal = 0;
    WF_TRY(wf_field_require(wf_arch_table(), item, &i));
    if (family != (i == wf_field_find(wf_arch_table(), "family"))) return WEFT_OK;
    if (seen[i])
        return WF_FAIL(WEFT_E_INVALID, "%s is given twice",
                       wf_arch_table()->field[i].name);
    seen[i] = 1;
    return weft_arch_set(a, item, equal + 1);
}

static weft_status set_items(weft_arch *a, const char *rest, int family,
                             unsigned char *seen)
{
    char item[KEY + VALUE];
    while (*rest) {
        WF_TRY(next_item(&rest, item, sizeof item));
        WF_TRY(set_item(a, item, family, seen));
    }
    return WEFT_OK;
}

/* A model from dimensions alone has to state its shape; the rest has GPT-2's values. */
static weft_status require_shape(const unsigned char *seen)
{
    static const char *const needed[] = {"layers", "hidden", "heads"};
    for (int i = 0; i < 3; i++)
        if (!seen[wf_field_find(wf_arch_table(), needed[i])])
            return WF_FAIL(
                WEFT_E_INVALID,
                "the model does not say %s; layers=, hidden= and heads= are needed",
                needed[i]);
    return WEFT_OK;
}

weft_status weft_arch_change(weft_arch *a, const char *changes)
{
    unsigned char seen[MAX_FIELDS] = {0};
    weft_arch next = *a;

    memcpy(next.name, "custom", sizeof "custom");
    WF_TRY(set_items(&next, changes, 1, seen));
    WF_TRY(set_items(&next, changes, 0, seen));
    WF_TRY(weft_arch_check(&next));
    *a = next;
    return WEFT_OK;
}

static weft_status parse_dimensions(const char *text, weft_arch *out)
{
    unsigned char seen[MAX_FIELDS] = {0};
    weft_arch a;

    weft_arch_defaults(&a);
    WF_TRY(set_items(&a, text, 1, seen));
    WF_TRY(set_items(&a, text, 0, seen));
    WF_TRY(require_shape(seen));
    WF_TRY(weft_arch_check(&a));
    *out = a;
    return WEFT_OK;
}

weft_status weft_arch_parse(const char *text, weft_arch *out)
{
    char name[KEY + VALUE];
    weft_arch a;

    if (!*text) return WF_FAIL(WEFT_E_INVALID, "the model is empty; 'gpt2' is one");
    if (memchr(text, '=', strcspn(text, ","))) return parse_dimensions(text, out);
    WF_TRY(next_item(&text, name, sizeof name));
    WF_TRY(find_preset(name, &a));
    if (*text) WF_TRY(weft_arch_change(&a, text));
    *out = a;
    return WEFT_OK;
}
