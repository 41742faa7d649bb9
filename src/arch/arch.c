/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/arch.h>

#include <stdio.h>
#include <string.h>

#include "arch/count.h"
#include "arch/fields.h"
#include "base/error.h"
#include "base/near.h"

/* 0 in kv_heads, head_dim and ffn stands for the usual value. */
static void derive(weft_arch *a)
{
    if (!a->kv_heads) a->kv_heads = a->heads;
    if (!a->head_dim && a->heads > 0 && a->hidden % a->heads == 0)
        a->head_dim = a->hidden / a->heads;
    if (!a->ffn) a->ffn = 4 * a->hidden; /* hidden < 2^31 */
}

/* The reverse: dimensions that have the usual value follow hidden and heads again. */
static void underive(weft_arch *a)
{
    if (a->kv_heads == a->heads) a->kv_heads = 0;
    if (a->head_dim * a->heads == a->hidden) a->head_dim = 0;
    if (a->ffn == 4 * a->hidden) a->ffn = 0;
}

void weft_arch_defaults(weft_arch *a)
{
    wf_field_defaults(wf_arch_table(), a);
    derive(a);
}

weft_status weft_arch_set(weft_arch *a, const char *field, const char *value)
{
    weft_arch next = *a;

    WF_TRY(wf_field_check(wf_arch_table(), a)); /* so that underive() cannot overflow */
    underive(&next);
    WF_TRY(wf_field_set(wf_arch_table(), &next, field, value));
    derive(&next);
    *a = next;
    return WEFT_OK;
}

/* Nearest divisors of `hidden` on both sides of `heads`. */
static weft_status bad_heads(const weft_arch *a)
{
    int64_t below = a->heads, above = a->heads;
    if (a->heads > a->hidden)
        return WF_FAIL(WEFT_E_INVALID, "heads %lld are more than hidden %lld",
                       (long long)a->heads, (long long)a->hidden);
    while (a->hidden % below)
        below--;
    while (a->hidden % above)
        above++;
    return WF_FAIL(
        WEFT_E_INVALID,
        "heads %lld does not divide hidden %lld; the nearest that do are %lld and "
        "%lld",
        (long long)a->heads, (long long)a->hidden, (long long)below, (long long)above);
}

static weft_status check_gpt2(const weft_arch *a)
{
    if (a->hidden % a->heads) return bad_heads(a);
    if (a->head_dim != a->hidden / a->heads)
        return WF_FAIL(
            WEFT_E_INVALID,
            "head_dim %lld times heads %lld is not hidden %lld; head_dim %lld is "
            "needed",
            (long long)a->head_dim, (long long)a->heads, (long long)a->hidden,
            (long long)(a->hidden / a->heads));
    if (a->kv_heads != a->heads)
        return WF_FAIL(
            WEFT_E_INVALID,
            "kv_heads %lld differs from heads %lld: grouped-query attention is not "
            "in this version; kv_heads %lld is",
            (long long)a->kv_heads, (long long)a->heads, (long long)a->heads);
    if (a->ffn < 1)
        return WF_FAIL(WEFT_E_INVALID, "ffn 0 is below 1; %lld (4 * hidden) is usual",
                       (long long)(4 * a->hidden));
    return WEFT_OK;
}

weft_status weft_arch_check(const weft_arch *a)
{
    int64_t params;

    WF_TRY(wf_field_check(wf_arch_table(), a));
    if (strcmp(a->family, "gpt2"))
        return WF_FAIL(WEFT_E_INVALID, "family '%s' is not in this version; gpt2 is",
                       a->family);
    WF_TRY(check_gpt2(a));
    if (!(a->norm_eps > 0))
        return WF_FAIL(WEFT_E_INVALID, "norm_eps 0 is not above 0; 1e-05 is usual");
    return wf_arch_count(a, &params);
}

/* ---- text ------------------------------------------------------------------------ */

enum { KEY = 64, VALUE = 64, MAX_FIELDS = 32 };

static const char *preset_name(const void *ctx, int i)
{
    return weft_arch_preset_at(i)->name;
}

static weft_status find_preset(const char *name, weft_arch *out)
{
    char all[256];
    int n = 0;

    for (int i = 0; i < weft_arch_preset_count(); i++) {
        const weft_arch *p = weft_arch_preset_at(i);
        if (!strcmp(name, p->name)) return *out = *p, WEFT_OK;
        n += snprintf(all + n, sizeof all - (size_t)n, "%s%s", n ? ", " : "", p->name);
    }
    const char *near = wf_nearest(name, weft_arch_preset_count(), preset_name, NULL);
    if (near)
        return WF_FAIL(WEFT_E_INVALID, "'%.60s' is no model; did you mean %s? (%s)",
                       name, near, all);
    return WF_FAIL(WEFT_E_INVALID,
                   "'%.60s' is no model; known are %s, or dimensions such as "
                   "layers=12,hidden=768,heads=12,vocab=50257,positions=1024",
                   name, all);
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

static weft_status set_item(weft_arch *a, char *item, unsigned char *seen)
{
    char *equal = strchr(item, '=');
    int i = 0;

    if (!equal)
        return WF_FAIL(WEFT_E_INVALID, "'%s': key=value is needed, such as layers=12",
                       item);
    *equal = 0;
    WF_TRY(wf_field_require(wf_arch_table(), item, &i));
    if (seen[i])
        return WF_FAIL(WEFT_E_INVALID, "%s is given twice",
                       wf_arch_table()->field[i].name);
    seen[i] = 1;
    return weft_arch_set(a, item, equal + 1);
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

weft_status weft_arch_parse(const char *text, weft_arch *out)
{
    char item[KEY + VALUE];
    unsigned char seen[MAX_FIELDS] = {0};
    weft_arch a;
    const char *rest = text;
    int preset = !memchr(text, '=', strcspn(text, ","));

    if (!*text) return WF_FAIL(WEFT_E_INVALID, "the model is empty; 'gpt2' is one");
    weft_arch_defaults(&a);
    if (preset) {
        WF_TRY(next_item(&rest, item, sizeof item));
        WF_TRY(find_preset(item, &a));
        if (*rest) memcpy(a.name, "custom", sizeof "custom");
    }
    while (*rest) {
        WF_TRY(next_item(&rest, item, sizeof item));
        WF_TRY(set_item(&a, item, seen));
    }
    if (!preset) WF_TRY(require_shape(seen));
    WF_TRY(weft_arch_check(&a));
    *out = a;
    return WEFT_OK;
}

void weft_arch_write_json(const weft_arch *a, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_field_put_json(wf_arch_table(), a, &j);
    wf_json_put_i64(&j, "params", weft_arch_params(a));
    wf_json_end_object(&j);
}
