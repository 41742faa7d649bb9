/* SPDX-License-Identifier: Apache-2.0 */
/* Which combinations of dimensions are a model. */
#include <weft/arch.h>

#include "arch/count.h"
#include "arch/family.h"
#include "arch/fields.h"
#include "base/error.h"

#define LL(X) ((long long)(X))

/* Nearest divisors of `whole` on both sides of `part`, which is none and is smaller. */
static weft_status no_divisor(const char *name, int64_t part, const char *of,
                              int64_t whole, const char *advice)
{
    int64_t below = part, above = part;
    if (part > whole)
        return WF_FAIL(WEFT_E_INVALID, "%s %lld are more than %s %lld", name, LL(part),
                       of, LL(whole));
    while (whole % below)
        below--;
    while (whole % above)
        above++;
    return WF_FAIL(
        WEFT_E_INVALID,
        "%s %lld does not divide %s %lld; the nearest that do are %lld and %lld%s",
        name, LL(part), of, LL(whole), LL(below), LL(above), advice);
}

static weft_status check_heads(const weft_arch *a)
{
    if (!a->head_dim)
        return no_divisor("heads", a->heads, "hidden", a->hidden,
                          ", or head_dim can be given");
    if (a->heads % a->kv_heads)
        return no_divisor("kv_heads", a->kv_heads, "heads", a->heads, "");
    return WEFT_OK;
}

static weft_status without(int64_t value, const char *name, const char *of)
{
    if (!value) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s %lld needs %s, which is 0", name, LL(value), of);
}

static weft_status refuse(int64_t value, const char *name, const char *with)
{
    if (!value) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s %lld does not go with %s; 0 does", name,
                   LL(value), with);
}

static weft_status check_latent(const weft_arch *a)
{
    if (!a->kv_lora) {
        WF_TRY(without(a->q_lora, "q_lora", "kv_lora"));
        WF_TRY(without(a->qk_nope, "qk_nope", "kv_lora"));
        return without(a->qk_rope, "qk_rope", "kv_lora");
    }
    if (!a->qk_nope)
        return WF_FAIL(WEFT_E_INVALID,
                       "kv_lora %lld needs qk_nope, which is 0; 128 is usual",
                       LL(a->kv_lora));
    if (a->head_dim != a->qk_nope + a->qk_rope)
        return WF_FAIL(WEFT_E_INVALID,
                       "head_dim %lld is not qk_nope %lld + qk_rope %lld, as kv_lora "
                       "needs",
                       LL(a->head_dim), LL(a->qk_nope), LL(a->qk_rope));
    if (a->kv_heads != a->heads)
        return WF_FAIL(WEFT_E_INVALID,
                       "kv_heads %lld is not heads %lld, as kv_lora needs",
                       LL(a->kv_heads), LL(a->heads));
    WF_TRY(refuse(a->qkv_bias, "qkv_bias", "kv_lora"));
    WF_TRY(refuse(a->qk_norm, "qk_norm", "kv_lora"));
    return WEFT_OK;
}

static weft_status check_experts(const weft_arch *a)
{
    if (!a->experts) {
        WF_TRY(without(a->experts_per_token, "experts_per_token", "experts"));
        WF_TRY(without(a->expert_ffn, "expert_ffn", "experts"));
        WF_TRY(without(a->shared_experts, "shared_experts", "experts"));
        return without(a->dense_layers, "dense_layers", "experts");
    }
    if (a->experts_per_token < 1 || a->experts_per_token > a->experts)
        return WF_FAIL(WEFT_E_INVALID,
                       "experts_per_token %lld is outside 1 .. %lld, the experts",
                       LL(a->experts_per_token), LL(a->experts));
    if (!weft_arch_moe_layers_before(a, a->layers))
        return WF_FAIL(WEFT_E_INVALID,
                       "experts %lld, but dense_layers %lld and moe_every %lld leave "
                       "none of the %lld layers to them",
                       LL(a->experts), LL(a->dense_layers), LL(a->moe_every),
                       LL(a->layers));
    return WEFT_OK;
}

static weft_status check_tokens(const weft_arch *a)
{
    WF_TRY(without(a->image_height, "image_height", "patch"));
    WF_TRY(without(a->image_width, "image_width", "patch"));
    WF_TRY(without(a->channels, "channels", "patch"));
    WF_TRY(without(a->classes, "classes", "patch"));
    WF_TRY(without(a->decoder_layers, "decoder_layers", "patch"));
    if (a->vocab < 1)
        return WF_FAIL(WEFT_E_INVALID, "vocab 0 is below 1, the least of a model of "
                                       "tokens; patch makes it one of images");
    if (a->positions < 1) return WF_FAIL(WEFT_E_INVALID, "positions 0 is below 1");
    return WEFT_OK;
}

static weft_status divides(const weft_arch *a, const char *name, int64_t side)
{
    int64_t below = side / a->patch * a->patch;
    if (side && side % a->patch == 0) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID,
        "patch %lld does not divide %s %lld; the nearest it does are %lld and "
        "%lld",
        LL(a->patch), name, LL(side), LL(below ? below : a->patch),
        LL(below ? below + a->patch : 2 * a->patch));
}

static weft_status check_image(const weft_arch *a)
{
    WF_TRY(divides(a, "image_height", a->image_height));
    WF_TRY(divides(a, "image_width", a->image_width));
    if (a->channels < 1) return WF_FAIL(WEFT_E_INVALID, "channels 0 is below 1");
    WF_TRY(refuse(a->vocab, "vocab", "patch"));
    WF_TRY(refuse(a->tied, "tied", "patch"));
    WF_TRY(refuse(a->mtp, "mtp", "patch"));
    WF_TRY(refuse(a->window, "window", "patch"));
    if (a->classes) WF_TRY(refuse(a->decoder_layers, "decoder_layers", "classes"));
    if (a->positions != weft_arch_image_tokens(a))
        return WF_FAIL(WEFT_E_INVALID,
                       "positions %lld are not the %lld tokens of an image of %lld x "
                       "%lld in patches of %lld",
                       LL(a->positions), LL(weft_arch_image_tokens(a)),
                       LL(a->image_height), LL(a->image_width), LL(a->patch));
    return WEFT_OK;
}

static weft_status check_pieces(const weft_arch *a)
{
    if (a->ffn < 1)
        return WF_FAIL(WEFT_E_INVALID, "ffn 0 is below 1; %lld (4 * hidden) is usual",
                       LL(4 * a->hidden));
    if (!(a->norm_eps > 0))
        return WF_FAIL(WEFT_E_INVALID, "norm_eps 0 is not above 0; 1e-05 is usual");
    if (!(a->rope_theta > 0))
        return WF_FAIL(WEFT_E_INVALID, "rope_theta 0 is not above 0; 10000 is usual");
    if (a->norm == WEFT_RMSNORM)
        WF_TRY(refuse(a->norm_bias, "norm_bias", "norm=rmsnorm"));
    if (a->parallel) WF_TRY(refuse(a->sandwich, "sandwich", "parallel"));
    return without(a->full_every && !a->window ? a->full_every : 0, "full_every",
                   "window");
}

weft_status weft_arch_check(const weft_arch *a)
{
    int64_t params;

    WF_TRY(wf_field_check(wf_arch_table(), a));
    if (!wf_family_find(a->family)) return wf_family_unknown(a->family);
    WF_TRY(check_latent(a));
    WF_TRY(check_heads(a));
    WF_TRY(check_experts(a));
    WF_TRY(a->patch ? check_image(a) : check_tokens(a));
    WF_TRY(check_pieces(a));
    return wf_arch_count(a, &params);
}
