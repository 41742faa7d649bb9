/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/family.h"

#include <string.h>

#include "arch/fields.h"
#include "base/error.h"
#include "base/near.h"

static const weft_arch families[] = {
    {WF_GPT2, WF_EPS_THETA(1e-5, 1e4)},
    {WF_OPT, WF_EPS_THETA(1e-5, 1e4)},
    {WF_BLOOM, WF_EPS_THETA(1e-5, 1e4)},
    {WF_MPT, WF_EPS_THETA(1e-5, 1e4)},
    {WF_LLAMA, WF_EPS_THETA(1e-5, 1e4)},
    {WF_MISTRAL, WF_EPS_THETA(1e-5, 1e4)},
    {WF_MIXTRAL, WF_EPS_THETA(1e-5, 1e6)},
    {WF_QWEN2, WF_EPS_THETA(1e-6, 1e6)},
    {WF_QWEN3, WF_EPS_THETA(1e-6, 1e6)},
    {WF_QWEN3_MOE, WF_EPS_THETA(1e-6, 1e6)},
    {WF_GEMMA, WF_EPS_THETA(1e-6, 1e4)},
    {WF_GEMMA2, WF_EPS_THETA(1e-6, 1e4)},
    {WF_GEMMA3(1024), WF_EPS_THETA(1e-6, 1e6)},
    {WF_PHI, WF_EPS_THETA(1e-5, 1e4)},
    {WF_PHI3, WF_EPS_THETA(1e-5, 1e4)},
    {WF_OLMOE, WF_EPS_THETA(1e-5, 1e4)},
    {WF_GPT_OSS, WF_EPS_THETA(1e-5, 150000)},
    {WF_DEEPSEEK_V2, WF_EPS_THETA(1e-6, 1e4)},
    {WF_DEEPSEEK_V3, WF_EPS_THETA(1e-6, 1e4)},
    {WF_VIT, WF_EPS_THETA(1e-6, 1e4), WF_IMAGE(16, 224, 224, 3), .classes = 1000},
    {WF_ORBIT, WF_EPS_THETA(1e-5, 1e4), WF_IMAGE(4, 128, 256, 48)},
};

/* Fields that a family decides. Dimensions, and init_std, are the model's. */
static const char *const pieces[] = {
    "tied",      "norm_eps",     "position",    "rope_theta",  "norm",
    "mlp",       "qk_norm",      "qkv_bias",    "out_bias",    "mlp_bias",
    "norm_bias", "head_bias",    "embed_norm",  "parallel",    "sandwich",
    "sinks",     "window",       "full_every",  "router_bias", "patch",
    "channels",  "image_height", "image_width", "classes",     "decoder_layers",
};

int weft_arch_family_count(void)
{
    return sizeof families / sizeof *families;
}

const char *weft_arch_family_at(int i)
{
    return families[i].family;
}

const weft_arch *wf_family_find(const char *name)
{
    for (int i = 0; i < weft_arch_family_count(); i++)
        if (!strcmp(families[i].family, name)) return &families[i];
    return NULL;
}

static const char *name_at(const void *ctx, int i)
{
    return weft_arch_family_at(i);
}

weft_status wf_family_unknown(const char *name)
{
    const char *near = wf_nearest(name, weft_arch_family_count(), name_at, NULL);
    if (near)
        return WF_FAIL(WEFT_E_INVALID, "family '%.40s' is not known; did you mean %s?",
                       name, near);
    return WF_FAIL(WEFT_E_INVALID,
                   "family '%.40s' is not known; `weft model list` names those that "
                   "are, such as gpt2, llama, mixtral",
                   name);
}

static const wf_field *piece_field(int i)
{
    const wf_table *t = wf_arch_table();
    return &t->field[wf_field_find(t, pieces[i])];
}

weft_status wf_family_apply(weft_arch *a)
{
    const weft_arch *f = wf_family_find(a->family);

    if (!f) return wf_family_unknown(a->family);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const wf_field *p = piece_field((int)i);
        memcpy((char *)a + p->offset, (const char *)f + p->offset, p->size);
    }
    return WEFT_OK;
}

/* "mlp swiglu is not in this version; gelu is" */
static weft_status differs(const weft_arch *a, const weft_arch *f, const wf_field *p)
{
    const wf_table *t = wf_arch_table();
    weft_text found = {0}, needed = {0};
    weft_writer out = weft_text_writer(&found), want = weft_text_writer(&needed);

    wf_field_print(t, (int)(p - t->field), a, &out);
    wf_field_print(t, (int)(p - t->field), f, &want);
    weft_status st =
        WF_FAIL(WEFT_E_INVALID, "%s %.40s is not in this version; %.40s is", p->name,
                found.s, needed.s);
    weft_text_clear(&found);
    weft_text_clear(&needed);
    return st;
}

/* Values that any model of a family may have. */
static int is_free(const wf_field *p)
{
    return !strcmp(p->name, "tied") || !strcmp(p->name, "norm_eps") ||
           !strcmp(p->name, "rope_theta");
}

/* What is no piece of a family, but no part of GPT-2 either. */
static weft_status plain_heads(const weft_arch *a)
{
    if (a->kv_heads != a->heads)
        return WF_FAIL(
            WEFT_E_INVALID,
            "kv_heads %lld differs from heads %lld: grouped-query attention is not "
            "in this version; kv_heads %lld is",
            (long long)a->kv_heads, (long long)a->heads, (long long)a->heads);
    if (a->head_dim * a->heads != a->hidden)
        return WF_FAIL(WEFT_E_INVALID,
                       "head_dim %lld times heads %lld is not hidden %lld, and nothing "
                       "else is in this version",
                       (long long)a->head_dim, (long long)a->heads,
                       (long long)a->hidden);
    if (a->v_head_dim != a->head_dim)
        return WF_FAIL(WEFT_E_INVALID,
                       "v_head_dim %lld is not in this version; head_dim %lld is",
                       (long long)a->v_head_dim, (long long)a->head_dim);
    if (a->experts)
        return WF_FAIL(WEFT_E_INVALID, "experts %lld are not in this version; 0 is",
                       (long long)a->experts);
    if (a->kv_lora || a->mtp)
        return WF_FAIL(WEFT_E_INVALID, "%s is not in this version",
                       a->kv_lora ? "latent attention (kv_lora)" : "mtp");
    return WEFT_OK;
}

weft_status weft_arch_require_family(const weft_arch *a, const char *family)
{
    const weft_arch *f = wf_family_find(family);

    if (!f) return wf_family_unknown(family);
    if (strcmp(a->family, family))
        return WF_FAIL(WEFT_E_INVALID, "family '%s' is not in this version; %s is",
                       a->family, family);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const wf_field *p = piece_field((int)i);
        if (!is_free(p) &&
            memcmp((const char *)a + p->offset, (const char *)f + p->offset, p->size))
            return differs(a, f, p);
    }
    return strcmp(family, "gpt2") ? WEFT_OK : plain_heads(a);
}
