/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys of a Hugging Face config.json say what, for each model_type. Names, and
 * values where a file has none, are those of transformers' configuration classes; the four
 * dimensions that make a model must be in the file. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "cmd/config_reader.h"

#define END                                                                            \
    {                                                                                  \
        NULL, NULL, NULL                                                               \
    }

/* ---- keys ------------------------------------------------------------------------ */

static const wf_config_key gpt2_keys[] = {
    {"n_layer|num_hidden_layers", "layers", NULL},
    {"n_embd|hidden_size", "hidden", NULL},
    {"n_head|num_attention_heads", "heads", NULL},
    {"n_positions|n_ctx|max_position_embeddings", "positions", NULL},
    {"vocab_size", "vocab", NULL},
    {"n_inner", "ffn", "0"},
    {"tie_word_embeddings", "tied", ""},
    {"layer_norm_epsilon", "norm_eps", ""},
    {"initializer_range", "init_std", ""},
    END};

/* Of all whose blocks are Llama's or nearly so. */
#define SHAPE_KEYS                                                                     \
    {"num_hidden_layers", "layers", NULL}, {"hidden_size", "hidden", NULL},            \
        {"num_attention_heads", "heads", NULL},                                        \
        {"num_key_value_heads", "kv_heads", "0"}, {"head_dim", "head_dim", "0"},       \
        {"intermediate_size", "ffn", NULL}, {"vocab_size", "vocab", NULL},             \
        {"max_position_embeddings|max_sequence_length", "positions", "2048"},          \
        {"tie_word_embeddings", "tied", ""}, {"rms_norm_eps", "norm_eps", ""},         \
        {"initializer_range", "init_std", ""},                                         \
    {                                                                                  \
        "rope_theta", "rope_theta", ""                                                 \
    }

static const wf_config_key llama_keys[] = {SHAPE_KEYS, END};

/* transformers leaves out of text_config what its class has by default: the 4B's. */
static const wf_config_key gemma3_keys[] = {
    {"num_hidden_layers", "layers", NULL},
    {"hidden_size", "hidden", NULL},
    {"num_attention_heads", "heads", "8"},
    {"num_key_value_heads", "kv_heads", "4"},
    {"head_dim", "head_dim", "256"},
    {"intermediate_size", "ffn", NULL},
    {"vocab_size", "vocab", "262208"},
    {"max_position_embeddings", "positions", "131072"},
    {"tie_word_embeddings", "tied", ""},
    {"rms_norm_eps", "norm_eps", ""},
    {"initializer_range", "init_std", ""},
    {"rope_theta", "rope_theta", ""},
    END};

static const wf_config_key mixtral_keys[] = {
    SHAPE_KEYS,
    {"num_local_experts", "experts", NULL},
    {"num_experts_per_tok|experts_per_token", "experts_per_token", NULL},
    END};

static const wf_config_key qwen3_moe_keys[] = {
    SHAPE_KEYS,
    {"num_experts|num_local_experts", "experts", NULL},
    {"num_experts_per_tok", "experts_per_token", NULL},
    {"moe_intermediate_size", "expert_ffn", NULL},
    {"decoder_sparse_step", "moe_every", ""},
    END};

static const wf_config_key olmoe_keys[] = {
    SHAPE_KEYS,
    {"num_experts", "experts", NULL},
    {"num_experts_per_tok", "experts_per_token", NULL},
    END};

/* head_dim is qk_nope + qk_rope whatever the file says: newer ones have the rotated part
 * there. */
static const wf_config_key deepseek_keys[] = {
    {"num_hidden_layers", "layers", NULL},
    {"hidden_size", "hidden", NULL},
    {"num_attention_heads", "heads", NULL},
    {"intermediate_size", "ffn", NULL},
    {"vocab_size", "vocab", NULL},
    {"max_position_embeddings", "positions", "2048"},
    {"tie_word_embeddings", "tied", ""},
    {"rms_norm_eps", "norm_eps", ""},
    {"initializer_range", "init_std", ""},
    {"rope_theta", "rope_theta", ""},
    {"kv_lora_rank", "kv_lora", NULL},
    {"q_lora_rank", "q_lora", "0"},
    {"qk_nope_head_dim", "qk_nope", NULL},
    {"qk_rope_head_dim", "qk_rope", NULL},
    {"v_head_dim", "v_head_dim", NULL},
    {"n_routed_experts", "experts", NULL},
    {"num_experts_per_tok", "experts_per_token", NULL},
    {"moe_intermediate_size", "expert_ffn", NULL},
    {"n_shared_experts", "shared_experts", "0"},
    {"first_k_dense_replace", "dense_layers", "0"},
    {"num_nextn_predict_layers", "mtp", "0"},
    END};

static const wf_config_key phi_keys[] = {
    {"num_hidden_layers", "layers", NULL},
    {"hidden_size", "hidden", NULL},
    {"num_attention_heads", "heads", NULL},
    {"num_key_value_heads", "kv_heads", "0"},
    {"intermediate_size", "ffn", NULL},
    {"vocab_size", "vocab", NULL},
    {"max_position_embeddings", "positions", "2048"},
    {"tie_word_embeddings", "tied", ""},
    {"layer_norm_eps", "norm_eps", ""},
    {"initializer_range", "init_std", ""},
    {"rope_theta", "rope_theta", ""},
    END};

static const wf_config_key opt_keys[] = {
    {"num_hidden_layers", "layers", NULL},  {"hidden_size", "hidden", NULL},
    {"num_attention_heads", "heads", NULL}, {"ffn_dim", "ffn", NULL},
    {"vocab_size", "vocab", NULL},          {"tie_word_embeddings", "tied", ""},
    {"init_std", "init_std", ""},           END};

static const wf_config_key bloom_keys[] = {
    {"n_layer|num_hidden_layers", "layers", NULL},
    {"hidden_size|n_embed", "hidden", NULL},
    {"n_head|num_attention_heads", "heads", NULL},
    {"vocab_size", "vocab", NULL},
    {"seq_length", "positions", "2048"},
    {"tie_word_embeddings", "tied", ""},
    {"layer_norm_epsilon", "norm_eps", ""},
    {"initializer_range", "init_std", ""},
    END};

static const wf_config_key mpt_keys[] = {{"n_layers", "layers", NULL},
                                         {"d_model", "hidden", NULL},
                                         {"n_heads", "heads", NULL},
                                         {"vocab_size", "vocab", NULL},
                                         {"max_seq_len", "positions", "2048"},
                                         {"tie_word_embeddings", "tied", ""},
                                         {"layer_norm_epsilon", "norm_eps", ""},
                                         {"initializer_range", "init_std", ""},
                                         END};

static const wf_config_key vit_keys[] = {
    {"num_hidden_layers", "layers", NULL},  {"hidden_size", "hidden", NULL},
    {"num_attention_heads", "heads", NULL}, {"intermediate_size", "ffn", NULL},
    {"patch_size", "patch", NULL},          {"image_size", "image_height", NULL},
    {"image_size", "image_width", NULL},    {"num_channels", "channels", "3"},
    {"qkv_bias", "qkv_bias", ""},           {"layer_norm_eps", "norm_eps", ""},
    {"initializer_range", "init_std", ""},  END};

/* ---- what takes more than a key -------------------------------------------------- */

/* Activations of MLPs: "silu" of gated ones is SwiGLU, the GELUs differ by approximation. */
static weft_status activation(const wf_config *c, const char *key, int gated)
{
    static const char *const gelus[] = {"gelu", "gelu_new", "gelu_fast",
                                        "gelu_pytorch_tanh", "gelu_python"};
    const char *name, *mlp = NULL;

    WF_TRY(wf_config_text(c, key, NULL, &name));
    if (!name) return WEFT_OK; /* the family's */
    for (size_t i = 0; i < sizeof gelus / sizeof *gelus; i++)
        if (!strcmp(name, gelus[i])) mlp = gated ? "geglu" : "gelu";
    if (gated && (!strcmp(name, "silu") || !strcmp(name, "swish"))) mlp = "swiglu";
    if (!gated && !strcmp(name, "relu")) mlp = "relu";
    if (!mlp)
        return wf_config_wrong(c, key, wf_config_get(c, key),
                               gated ? "silu or a gelu, such as gelu_pytorch_tanh"
                                     : "relu or a gelu, such as gelu_new");
    return weft_arch_set(c->arch, "mlp", mlp);
}

/* transformers 5 has rope_theta in rope_parameters. Per kind of layer ("full_attention":
 * {...}) the full layers' counts. */
static weft_status rope(const wf_config *c)
{
    static const wf_config_key keys[] = {{"rope_theta", "rope_theta", ""}, END};
    const json_t *p = wf_config_get(c, "rope_parameters"), *full;
    wf_config inner = *c;

    if (!p) return WEFT_OK;
    if (!json_is_object(p))
        return wf_config_wrong(c, "rope_parameters", p, "an object");
    full = json_object_get(p, "full_attention");
    inner.scope = "rope_parameters.";
    inner.object = json_is_object(full) ? full : p;
    return wf_config_fill(&inner, keys);
}

/* One value of a file may decide several fields. */
static weft_status biases(const wf_config *c, const char *key, int otherwise,
                          const char *const *fields, int n)
{
    int on;
    WF_TRY(wf_config_bool(c, key, otherwise, &on));
    for (int i = 0; i < n; i++)
        WF_TRY(wf_config_set(c, key, fields[i], on));
    return WEFT_OK;
}

static weft_status attention_bias(const wf_config *c)
{
    static const char *const both[] = {"qkv_bias", "out_bias"};
    return biases(c, "attention_bias", c->arch->qkv_bias && c->arch->out_bias, both, 2);
}

static weft_status no_such_pattern(const wf_config *c, const json_t *list, size_t i)
{
    return WF_FAIL(WEFT_E_INVALID,
                   "%s: %slayer_types: layer %d of %d breaks the pattern; this version "
                   "has windows in all layers, or in all but each n-th",
                   c->file, c->scope, (int)i, (int)json_array_size(list));
}

/* "sliding_attention", "full_attention", ...: each n-th is full, or none, or all. */
static weft_status layer_types(const wf_config *c, const json_t *list)
{
    size_t n = json_array_size(list), period = 0;

    if (!json_is_array(list)) return wf_config_wrong(c, "layer_types", list, "a list");
    if ((int64_t)n != c->arch->layers)
        return WF_FAIL(
            WEFT_E_INVALID,
            "%s: %slayer_types has %d items, needed %lld (num_hidden_layers)", c->file,
            c->scope, (int)n, (long long)c->arch->layers);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        const char *kind = json_is_string(item) ? json_string_value(item) : "";
        int full = !strcmp(kind, "full_attention");
        if (!full && strcmp(kind, "sliding_attention"))
            return wf_config_wrong(c, "layer_types", item,
                                   "full_attention or sliding_attention");
        if (full && !period) period = i + 1;
        if (period && full != ((i + 1) % period == 0))
            return no_such_pattern(c, list, i);
    }
    if (period == 1) return wf_config_set(c, "layer_types", "window", 0);
    return wf_config_set(c, "layer_types", "full_every", (int64_t)period);
}

/* sliding_window: absent is the family's, null is none. */
static weft_status window(const wf_config *c)
{
    static const wf_config_key keys[] = {{"sliding_window", "window", ""}, END};
    const json_t *types = wf_config_get(c, "layer_types");
    int use;

    WF_TRY(wf_config_bool(c, "use_sliding_window", 1, &use));
    if (!use || json_is_null(json_object_get(c->object, "sliding_window"))) {
        WF_TRY(wf_config_set(c, "sliding_window", "full_every", 0));
        return wf_config_set(c, "sliding_window", "window", 0);
    }
    WF_TRY(wf_config_fill(c, keys));
    if (c->arch->window && types) WF_TRY(layer_types(c, types));
    if (!c->arch->window) WF_TRY(wf_config_set(c, "sliding_window", "full_every", 0));
    return WEFT_OK;
}

static weft_status finish_llama(const wf_config *c)
{
    WF_TRY(activation(c, "hidden_act", 1));
    WF_TRY(rope(c));
    WF_TRY(attention_bias(c));
    static const char *const mlp[] = {"mlp_bias"};
    return biases(c, "mlp_bias", c->arch->mlp_bias, mlp, 1);
}

static weft_status finish_windowed(const wf_config *c)
{
    WF_TRY(activation(c, "hidden_act", 1));
    WF_TRY(rope(c));
    return window(c);
}

/* Layers from max_window_layers on have the window: all or none of them here. */
static weft_status finish_qwen2(const wf_config *c)
{
    int use;
    int64_t from;

    WF_TRY(wf_config_bool(c, "use_sliding_window", 0, &use));
    WF_TRY(wf_config_int(c, "max_window_layers", 0, INT32_MAX, 28, &from));
    WF_TRY(activation(c, "hidden_act", 1));
    WF_TRY(rope(c));
    if (!use || from >= c->arch->layers) return WEFT_OK;
    if (from > 0)
        return WF_FAIL(
            WEFT_E_INVALID,
            "%s: max_window_layers %lld of %lld layers is not in this version; "
            "0 and %lld are",
            c->file, (long long)from, (long long)c->arch->layers,
            (long long)c->arch->layers);
    return window(c);
}

static weft_status finish_qwen3(const wf_config *c)
{
    WF_TRY(attention_bias(c));
    return finish_qwen2(c);
}

/* mlp_only_layers: those without experts; here the first ones. */
static weft_status finish_qwen3_moe(const wf_config *c)
{
    const json_t *dense = wf_config_get(c, "mlp_only_layers");

    if (dense && !json_is_array(dense))
        return wf_config_wrong(c, "mlp_only_layers", dense, "a list");
    for (size_t i = 0; i < json_array_size(dense); i++) {
        const json_t *item = json_array_get(dense, i);
        if (!json_is_integer(item) || json_integer_value(item) != (json_int_t)i)
            return wf_config_wrong(c, "mlp_only_layers", item,
                                   "the first layers: 0, 1, 2, ...");
    }
    WF_TRY(wf_config_set(c, "mlp_only_layers", "dense_layers",
                         (int64_t)json_array_size(dense)));
    return finish_qwen3(c);
}

static weft_status finish_gemma(const wf_config *c)
{
    WF_TRY(rope(c));
    WF_TRY(attention_bias(c));
    return activation(
        c, wf_config_get(c, "hidden_activation") ? "hidden_activation" : "hidden_act",
        1);
}

static weft_status finish_gemma23(const wf_config *c)
{
    WF_TRY(finish_gemma(c));
    int64_t every;
    WF_TRY(wf_config_int(c, "sliding_window_pattern", 1, 1000000, c->arch->full_every,
                         &every));
    WF_TRY(wf_config_set(c, "sliding_window_pattern", "full_every", every));
    return window(c);
}

static weft_status finish_deepseek(const wf_config *c)
{
    int64_t every, kv;
    const char *method;

    WF_TRY(finish_llama(c));
    WF_TRY(wf_config_int(c, "moe_layer_freq", 1, 1000000, 1, &every));
    if (every != 1)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: moe_layer_freq %lld is not in this version; 1 is", c->file,
                       (long long)every);
    WF_TRY(wf_config_int(c, "num_key_value_heads", 1, INT32_MAX, c->arch->heads, &kv));
    if (kv != c->arch->heads)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: num_key_value_heads: found %lld, needed %lld: latent "
                       "attention has one a head",
                       c->file, (long long)kv, (long long)c->arch->heads);
    WF_TRY(wf_config_text(c, "topk_method", NULL, &method));
    if (!method) return WEFT_OK;
    return wf_config_set(c, "topk_method", "router_bias", !strcmp(method, "noaux_tc"));
}

static weft_status finish_gpt2(const wf_config *c)
{
    WF_TRY(wf_config_only_bool(c, "scale_attn_weights", 1));
    WF_TRY(wf_config_only_bool(c, "scale_attn_by_inverse_layer_idx", 0));
    WF_TRY(wf_config_only_bool(c, "add_cross_attention", 0));
    return activation(c, "activation_function", 0);
}

static weft_status finish_opt(const wf_config *c)
{
    int64_t positions, embed;

    WF_TRY(wf_config_only_bool(c, "do_layer_norm_before", 1));
    WF_TRY(wf_config_only_bool(c, "enable_bias", 1));
    WF_TRY(
        wf_config_int(c, "word_embed_proj_dim", 1, INT32_MAX, c->arch->hidden, &embed));
    if (embed != c->arch->hidden)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: word_embed_proj_dim %lld is not in this version; %lld "
                       "(hidden_size) is",
                       c->file, (long long)embed, (long long)c->arch->hidden);
    WF_TRY(wf_config_int(c, "max_position_embeddings", 1, INT32_MAX - 2, 2048,
                         &positions));
    /* the table has two rows more: OPT counts from 2 */
    WF_TRY(wf_config_set(c, "max_position_embeddings", "positions", positions + 2));
    return activation(c, "activation_function", 0);
}

static weft_status finish_mpt(const wf_config *c)
{
    static const char *const all[] = {"qkv_bias", "out_bias", "mlp_bias", "norm_bias"};
    const json_t *attn = wf_config_get(c, "attn_config");
    wf_config inner = *c;
    int no_bias, alibi;
    int64_t ratio;

    WF_TRY(wf_config_bool(c, "no_bias", 1, &no_bias));
    for (int i = 0; i < 4; i++)
        WF_TRY(wf_config_set(c, "no_bias", all[i], !no_bias));
    WF_TRY(wf_config_int(c, "expansion_ratio", 1, 64, 4, &ratio));
    WF_TRY(wf_config_set(c, "expansion_ratio", "ffn", ratio * c->arch->hidden));
    if (!attn) return WEFT_OK;
    if (!json_is_object(attn))
        return wf_config_wrong(c, "attn_config", attn, "an object");
    inner.scope = "attn_config.";
    inner.object = attn;
    WF_TRY(wf_config_bool(&inner, "alibi", 1, &alibi));
    return weft_arch_set(c->arch, "position", alibi ? "alibi" : "learned");
}

static weft_status finish_phi(const wf_config *c)
{
    int norm;

    WF_TRY(activation(c, "hidden_act", 0));
    WF_TRY(rope(c));
    WF_TRY(wf_config_bool(c, "qk_layernorm", 0, &norm));
    return weft_arch_set(c->arch, "qk_norm", norm ? "head" : "none");
}

/* The number of classes is that of their names, or num_labels. */
static weft_status finish_vit(const wf_config *c)
{
    const json_t *names = wf_config_get(c, "id2label");
    int64_t n = json_is_object(names) ? (int64_t)json_object_size(names) : 0;

    if (!n) WF_TRY(wf_config_int(c, "num_labels", 1, INT32_MAX, 0, &n));
    if (!n)
        return WF_FAIL(
            WEFT_E_INVALID,
            "%s: id2label and num_labels are missing: the number of classes is "
            "needed",
            c->file);
    WF_TRY(wf_config_set(c, "id2label", "classes", n));
    WF_TRY(wf_config_set(c, "id2label", "positions", weft_arch_image_tokens(c->arch)));
    return activation(c, "hidden_act", 0);
}

static weft_status finish_bloom(const wf_config *c)
{
    return WEFT_OK;
}

/* ---- model types ----------------------------------------------------------------- */

typedef struct known {
    const char *model_type, *family;
    const wf_config_key *keys;
    weft_status (*finish)(const wf_config *c);
} known;

static const known types[] = {
    {"gpt2", "gpt2", gpt2_keys, finish_gpt2},
    {"opt", "opt", opt_keys, finish_opt},
    {"bloom", "bloom", bloom_keys, finish_bloom},
    {"mpt", "mpt", mpt_keys, finish_mpt},
    {"llama", "llama", llama_keys, finish_llama},
    {"mistral", "mistral", llama_keys, finish_windowed},
    {"mixtral", "mixtral", mixtral_keys, finish_windowed},
    {"qwen2", "qwen2", llama_keys, finish_qwen2},
    {"qwen3", "qwen3", llama_keys, finish_qwen3},
    {"qwen3_moe", "qwen3_moe", qwen3_moe_keys, finish_qwen3_moe},
    {"gemma", "gemma", llama_keys, finish_gemma},
    {"gemma2", "gemma2", llama_keys, finish_gemma23},
    {"gemma3_text", "gemma3", gemma3_keys, finish_gemma23},
    {"phi", "phi", phi_keys, finish_phi},
    {"phi3", "phi3", llama_keys, finish_windowed},
    {"olmoe", "olmoe", olmoe_keys, finish_llama},
    {"gpt_oss", "gpt_oss", mixtral_keys, finish_windowed},
    {"deepseek_v2", "deepseek_v2", deepseek_keys, finish_deepseek},
    {"deepseek_v3", "deepseek_v3", deepseek_keys, finish_deepseek},
    {"vit", "vit", vit_keys, finish_vit},
};
enum { N_TYPES = sizeof types / sizeof *types };

static const char *type_at(const void *ctx, int i)
{
    return types[i].model_type;
}

static weft_status unknown(const wf_config *c)
{
    char all[512];
    int n = 0;
    for (int i = 0; i < N_TYPES; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s%s", i ? " " : "",
                      types[i].model_type);
    if (!c->model_type)
        return WF_FAIL(WEFT_E_INVALID, "%s: %smodel_type is missing, needed one of %s",
                       c->file, c->scope, all);
    const char *near = wf_nearest(c->model_type, N_TYPES, type_at, NULL);
    return WF_FAIL(WEFT_E_INVALID,
                   "%s: %smodel_type: found \"%.40s\"%s%s, needed one of %s", c->file,
                   c->scope, c->model_type, near ? ", the nearest known is " : "",
                   near ? near : "", all);
}

/* A model of text and images: its text part, as gemma3 and llama4 files have it. */
static weft_status text_part(wf_config *c)
{
    const json_t *text = wf_config_get(c, "text_config");

    if (!json_is_object(text))
        return WF_FAIL(WEFT_E_INVALID, "%s: text_config is missing, needed an object",
                       c->file);
    c->scope = "text_config.";
    c->object = text;
    return wf_config_text(c, "model_type", "gemma3_text", &c->model_type);
}

weft_status wf_config_model(wf_config *c)
{
    if (c->model_type && !strcmp(c->model_type, "gemma3")) WF_TRY(text_part(c));
    for (int i = 0; i < N_TYPES && c->model_type; i++) {
        if (strcmp(types[i].model_type, c->model_type)) continue;
        WF_TRY(weft_arch_set(c->arch, "family", types[i].family));
        WF_TRY(wf_config_fill(c, types[i].keys));
        return types[i].finish(c);
    }
    return unknown(c);
}
