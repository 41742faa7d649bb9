/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/arch.h>

#include <string.h>

#include "arch/family.h"
#include "arch/fields.h"
#include "base/error.h"

/* 0 in a width stands for the usual value. Dimensions are below 2^31. */
static void derive(weft_arch *a)
{
    if (!a->kv_heads) a->kv_heads = a->heads;
    if (!a->head_dim && a->kv_lora) a->head_dim = a->qk_nope + a->qk_rope;
    if (!a->head_dim && !a->kv_lora && a->heads > 0 && a->hidden % a->heads == 0)
        a->head_dim = a->hidden / a->heads;
    if (!a->v_head_dim) a->v_head_dim = a->head_dim;
    if (!a->ffn) a->ffn = 4 * a->hidden;
    if (a->experts && !a->expert_ffn) a->expert_ffn = a->ffn;
    if (a->patch && !a->positions) a->positions = weft_arch_image_tokens(a);
}

/* The reverse: dimensions that have the usual value follow the others again. */
static void underive(weft_arch *a)
{
    if (a->patch && a->positions == weft_arch_image_tokens(a)) a->positions = 0;
    if (a->expert_ffn == a->ffn || !a->experts) a->expert_ffn = 0;
    if (a->v_head_dim == a->head_dim) a->v_head_dim = 0;
    if (a->head_dim == (a->kv_lora ? a->qk_nope + a->qk_rope : a->hidden / a->heads))
        a->head_dim = 0;
    if (a->kv_heads == a->heads) a->kv_heads = 0;
    if (a->ffn == 4 * a->hidden) a->ffn = 0;
}

void weft_arch_defaults(weft_arch *a)
{
    wf_field_defaults(wf_arch_table(), a);
    derive(a);
}

/* Tokens have a vocabulary and images have none: whoever changes sides starts anew. */
static weft_status change_family(weft_arch *a)
{
    int64_t had_patch = a->patch;

    WF_TRY(wf_family_apply(a));
    if (!had_patch == !a->patch) return WEFT_OK;
    a->vocab = a->patch ? 0 : 50257;
    a->positions = a->patch ? 0 : 1024;
    return WEFT_OK;
}

weft_status weft_arch_set(weft_arch *a, const char *field, const char *value)
{
    const wf_table *t = wf_arch_table();
    weft_arch next = *a;
    int i = 0;

    WF_TRY(wf_field_check(t, a)); /* so that underive() cannot overflow */
    WF_TRY(wf_field_require(t, field, &i));
    underive(&next);
    WF_TRY(wf_field_set(t, &next, field, value));
    if (!strcmp(t->field[i].name, "family")) WF_TRY(change_family(&next));
    derive(&next);
    *a = next;
    return WEFT_OK;
}

void weft_arch_write_json(const weft_arch *a, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_field_put_json(wf_arch_table(), a, &j);
    wf_json_put_i64(&j, "params", weft_arch_params(a));
    wf_json_put_i64(&j, "active_params", weft_arch_active_params(a));
    wf_json_end_object(&j);
}
