/* SPDX-License-Identifier: Apache-2.0 */
/* The model that a line of Megatron-LM describes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/read_megatron.h"

/* Fields that flags give as they stand. */
static const char *const model_fields[][2] = {
    {"--num-layers", "layers"},
    {"--hidden-size", "hidden"},
    {"--num-attention-heads", "heads"},
    {"--ffn-hidden-size", "ffn"},
    {"--kv-channels", "head_dim"},
    {"--vocab-size", "vocab"},
    {"--max-position-embeddings", "positions"},
    {"--num-experts", "experts"},
    {"--moe-router-topk", "experts_per_token"},
    {"--moe-ffn-hidden-size", "expert_ffn"},
    {"--q-lora-rank", "q_lora"},
    {"--kv-lora-rank", "kv_lora"},
    {"--qk-head-dim", "qk_nope"},
    {"--qk-pos-emb-head-dim", "qk_rope"},
    {"--v-head-dim", "v_head_dim"},
    {"--mtp-num-layers", "mtp"},
    {"--rotary-base", "rope_theta"},
    {"--norm-epsilon", "norm_eps"},
    {"--init-method-std", "init_std"},
};
enum { N_MODEL_FIELDS = sizeof model_fields / sizeof *model_fields };

static int is_rotary(const wf_flags *f)
{
    const char *kind = wf_flags_text(f, "--position-embedding-type");
    return wf_flags_given(f, "--use-rotary-position-embeddings") ||
           (kind && (!strcmp(kind, "rope") || !strcmp(kind, "yarn")));
}

static weft_status read_pieces(const wf_flags *f, weft_arch *a)
{
    const char *norm = wf_flags_text(f, "--normalization");
    const char *place = wf_flags_text(f, "--position-embedding-type");
    int bias = !wf_flags_given(f, "--disable-bias-linear");

    a->norm = norm && !strcmp(norm, "RMSNorm") ? WEFT_RMSNORM : WEFT_LAYERNORM;
    a->norm_bias = a->norm == WEFT_LAYERNORM;
    a->mlp = wf_flags_given(f, "--swiglu") ? WEFT_MLP_SWIGLU : WEFT_MLP_GELU;
    a->position = is_rotary(f)                      ? WEFT_POS_ROPE
                  : place && !strcmp(place, "none") ? WEFT_POS_NONE
                                                    : WEFT_POS_LEARNED;
    a->qk_norm =
        wf_flags_given(f, "--qk-layernorm") ? WEFT_QK_NORM_HEAD : WEFT_QK_NORM_NONE;
    if (wf_flags_given(f, "--multi-latent-attention")) a->qk_norm = WEFT_QK_NORM_NONE;
    const char *softmax = wf_flags_text(f, "--softmax-type");
    a->sinks = softmax && !strcmp(softmax, "learnable");
    a->router_bias = wf_flags_given(f, "--moe-router-enable-expert-bias");
    a->mlp_bias = a->out_bias = bias;
    a->qkv_bias = bias || wf_flags_given(f, "--add-qkv-bias");
    a->tied = !wf_flags_given(f, "--untie-embeddings-and-output-weights");
    return WEFT_OK;
}

/* "N", or "([0]*3+[1]*58)": dense layers first. */
static weft_status read_moe_layers(const wf_flags *f, weft_arch *a)
{
    const char *text = wf_flags_text(f, "--moe-layer-freq");
    int dense = 0, moe = 0;

    if (!text) return WEFT_OK;
    text += *text == '(';
    if (sscanf(text, "[0]*%d+[1]*%d", &dense, &moe) == 2 && dense >= 0) {
        a->dense_layers = dense;
        return WEFT_OK;
    }
    if (*text == '[')
        return WF_FAIL(WEFT_E_INVALID,
                       "--moe-layer-freq %.60s: weft knows N and [0]*D+[1]*M", text);
    return wf_flags_i64(f, "--moe-layer-freq", &a->moe_every);
}

static weft_status read_shared(const wf_flags *f, weft_arch *a)
{
    int64_t width = 0;
    WF_TRY(wf_flags_i64(f, "--moe-shared-expert-intermediate-size", &width));
    if (!width) return WEFT_OK;
    if (a->expert_ffn < 1 || width % a->expert_ffn)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--moe-shared-expert-intermediate-size %lld is no multiple of the "
            "width of an expert, %lld",
            (long long)width, (long long)a->expert_ffn);
    a->shared_experts = width / a->expert_ffn;
    return WEFT_OK;
}

static weft_status set_field(const wf_flags *f, const char *flag, const char *field,
                             weft_arch *a)
{
    const char *value = wf_flags_text(f, flag);
    if (!value || weft_arch_set(a, field, value) == WEFT_OK) return WEFT_OK;
    char why[256];
    snprintf(why, sizeof why, "%s", weft_status_message());
    return WF_FAIL(WEFT_E_INVALID, "%s %.40s: %s", flag, value, why);
}

static weft_status read_groups(const wf_flags *f, weft_arch *a)
{
    if (wf_flags_given(f, "--num-query-groups") &&
        !wf_flags_given(f, "--group-query-attention"))
        return WF_FAIL(WEFT_E_INVALID, "--num-query-groups without "
                                       "--group-query-attention changes nothing in "
                                       "Megatron-LM");
    if (!wf_flags_given(f, "--group-query-attention")) return WEFT_OK;
    if (!wf_flags_given(f, "--num-query-groups"))
        return weft_arch_set(a, "kv_heads", "1");
    return set_field(f, "--num-query-groups", "kv_heads", a);
}

/* "W,0": a token and the W before it; one layer of so many has none, where that is a
 * number. */
static weft_status read_window(const wf_flags *f, weft_arch *a)
{
    const char *size = wf_flags_text(f, "--window-size");
    const char *skip = wf_flags_text(f, "--window-attn-skip-freq");
    char *end;

    if (!size) return WEFT_OK;
    size += *size == '(';
    long long w = strtoll(size, &end, 10);
    if (end == size || *end != ',' || w > INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID, "--window-size %.40s: weft knows W,0", size);
    if (w > 0) a->window = w; /* -1: none */
    if (!skip || w <= 0) return WEFT_OK;
    if (*skip == '[' || *skip == '(')
        return WF_FAIL(WEFT_E_INVALID,
                       "--window-attn-skip-freq %.60s: weft knows numbers", skip);
    return wf_flags_i64(f, "--window-attn-skip-freq", &a->full_every);
}

static weft_status read_model(const wf_flags *f, weft_arch *a)
{
    weft_arch_defaults(a);
    if (is_rotary(f)) WF_TRY(weft_arch_set(a, "family", "llama"));
    for (int i = 0; i < N_MODEL_FIELDS; i++)
        WF_TRY(set_field(f, model_fields[i][0], model_fields[i][1], a));
    WF_TRY(read_groups(f, a));
    WF_TRY(read_pieces(f, a));
    WF_TRY(read_moe_layers(f, a));
    WF_TRY(read_shared(f, a));
    WF_TRY(read_window(f, a));
    return weft_arch_check(a);
}

/* The model known from elsewhere must be the one of the line, as far as that tells. */
static weft_status compare_model(const wf_flags *f, const weft_arch *a)
{
    const int64_t known[] = {a->layers, a->hidden, a->heads, a->ffn};
    static const char *const flag[] = {"--num-layers", "--hidden-size",
                                       "--num-attention-heads", "--ffn-hidden-size"};
    for (int i = 0; i < 4; i++) {
        int64_t said = known[i];
        WF_TRY(wf_flags_i64(f, flag[i], &said));
        if (said != known[i])
            return WF_FAIL(WEFT_E_MISMATCH, "%s is %lld, but the model has %lld",
                           flag[i], (long long)said, (long long)known[i]);
    }
    return WEFT_OK;
}

weft_status wf_megatron_model(const wf_flags *f, const weft_arch *given,
                              weft_launch *out)
{
    int described = wf_flags_given(f, "--num-layers") &&
                    wf_flags_given(f, "--hidden-size") &&
                    wf_flags_given(f, "--num-attention-heads");

    if (given) {
        out->arch = *given;
        return compare_model(f, given);
    }
    if (!described)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--num-layers, --hidden-size and --num-attention-heads describe the "
            "model; they are not all there, and no MODEL is given");
    WF_TRY(read_model(f, &out->arch));
    out->has_arch = 1;
    out->vocab_assumed = !wf_flags_given(f, "--vocab-size");
    return WEFT_OK;
}
