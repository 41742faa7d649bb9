/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/rows.h"

/* Initialisation: weights N(0, init_std), those that end a residual branch divided by
 * sqrt(2 * layers), biases 0, norm gains 1 (Radford et al. 2019); weight decay on what has
 * two dimensions, embeddings included, and on nothing else.
 *
 * TP (Shoeybi et al. 2019): what comes first in attention and in an MLP by columns of
 * y = x W^T (rows of W, and their biases), what comes last by columns of W with a
 * replicated bias, the vocabulary by rows. Of MLA (DeepSeek-V2) the narrow compressing
 * matrices are replicated, as in Megatron-LM and torchtitan; so is the router. */

enum {
    TEXT = 1 << 0, /* of the model */
    DECODER = 1 << 1,
    MAP = 1 << 2, /* an image of channels comes out: each is embedded apart */
    CLASSES = 1 << 3,
    TABLE = 1 << 4, /* learned positions */
    EMBED_NORM = 1 << 5,
    NORM_BIAS = 1 << 6,
    OUTPUT = 1 << 7, /* an output layer with weights of its own */
    HEAD_BIAS = 1 << 8,
    HEADS = 1 << 9, /* attention: q, k and v by heads */
    MLA = 1 << 10,
    Q_DIRECT = 1 << 11,
    Q_LORA = 1 << 12,
    QKV_BIAS = 1 << 13,
    OUT_BIAS = 1 << 14,
    QK_NORM = 1 << 15,
    SINKS = 1 << 16,
    NORM_2 = 1 << 17, /* the MLP has a norm of its own */
    SANDWICH = 1 << 18,
    MLP_BIAS = 1 << 19,
    ROUTER_BIAS = 1 << 20,
    SHARED = 1 << 21,
    DENSE = 1 << 22, /* of a layer */
    MOE = 1 << 23
};

#define NORM(NAME, ROLE, DIM, TP, NEED)                                                \
    {NAME ".weight", ROLE##_G, {DIM, WF_ONE}, TP, WEFT_INIT_ONE, 0, NEED},             \
    {                                                                                  \
        NAME ".bias", ROLE##_B, {DIM, WF_ONE}, TP, WEFT_INIT_ZERO, 0,                  \
            (NEED) | NORM_BIAS                                                         \
    }
#define GAIN(NAME, ROLE, DIM, NEED)                                                    \
    {                                                                                  \
        NAME ".weight", ROLE##_G, {DIM, WF_ONE}, -1, WEFT_INIT_ONE, 0, NEED            \
    }
#define WEIGHT(NAME, ROLE, OUT, IN, TP, NEED)                                          \
    {                                                                                  \
        NAME ".weight", ROLE##_W, {OUT, IN}, TP, WEFT_INIT_NORMAL, 0, NEED             \
    }
#define LAST(NAME, ROLE, OUT, IN, NEED)                                                \
    {                                                                                  \
        NAME ".weight", ROLE##_W, {OUT, IN}, 1, WEFT_INIT_NORMAL, 1, NEED              \
    }
#define BIAS(NAME, ROLE, OUT, TP, NEED)                                                \
    {                                                                                  \
        NAME ".bias", ROLE##_B, {OUT, WF_ONE}, TP, WEFT_INIT_ZERO, 0, NEED             \
    }
#define TENSOR(NAME, ROLE, A, B, TP, INIT, NEED)                                       \
    {                                                                                  \
        NAME, ROLE, {A, B}, TP, INIT, 0, NEED                                          \
    }

static const wf_row before[] = {
    TENSOR("wte", WEFT_WTE, WF_VOCAB, WF_HIDDEN, 0, WEFT_INIT_NORMAL, TEXT),
    WEIGHT("patch", WEFT_PATCH, WF_HIDDEN, WF_PATCH, -1, CLASSES),
    BIAS("patch", WEFT_PATCH, WF_HIDDEN, -1, CLASSES),
    WEIGHT("patch", WEFT_PATCH, WF_CHANNELS_HIDDEN, WF_PATCH_1, -1, MAP),
    BIAS("patch", WEFT_PATCH, WF_CHANNELS_HIDDEN, -1, MAP),
    TENSOR("channel.embed", WEFT_CHANNEL_EMBED, WF_CHANNELS, WF_HIDDEN, -1,
           WEFT_INIT_NORMAL, MAP),
    TENSOR("channel.query", WEFT_CHANNEL_QUERY, WF_HIDDEN, WF_ONE, -1, WEFT_INIT_ZERO,
           MAP),
    WEIGHT("channel.qkv", WEFT_CHANNEL_QKV, WF_HIDDEN_3, WF_HIDDEN, 0, MAP),
    BIAS("channel.qkv", WEFT_CHANNEL_QKV, WF_HIDDEN_3, 0, MAP),
    WEIGHT("channel.out", WEFT_CHANNEL_OUT, WF_HIDDEN, WF_HIDDEN, 1, MAP),
    BIAS("channel.out", WEFT_CHANNEL_OUT, WF_HIDDEN, -1, MAP),
    TENSOR("cls", WEFT_CLS, WF_HIDDEN, WF_ONE, -1, WEFT_INIT_NORMAL, CLASSES),
    TENSOR("wpe", WEFT_WPE, WF_POSITIONS, WF_HIDDEN, -1, WEFT_INIT_NORMAL, TABLE),
    TENSOR("lead.weight", WEFT_LEAD_W, WF_HIDDEN, WF_ONE, -1, WEFT_INIT_NORMAL, MAP),
    BIAS("lead", WEFT_LEAD, WF_HIDDEN, -1, MAP),
    NORM("ln_e", WEFT_LNE, WF_HIDDEN, -1, EMBED_NORM),
};

static const wf_row block[] = {
    NORM("ln_1", WEFT_LN1, WF_HIDDEN, -1, 0),
    WEIGHT("attn.qkv", WEFT_QKV, WF_QKV, WF_HIDDEN, 0, HEADS),
    BIAS("attn.qkv", WEFT_QKV, WF_QKV, 0, HEADS | QKV_BIAS),
    WEIGHT("attn.q", WEFT_Q, WF_Q, WF_HIDDEN, 0, MLA | Q_DIRECT),
    WEIGHT("attn.q_down", WEFT_Q_DOWN, WF_Q_LORA, WF_HIDDEN, -1, MLA | Q_LORA),
    GAIN("attn.q_norm", WEFT_Q_DOWN, WF_Q_LORA, MLA | Q_LORA),
    WEIGHT("attn.q_up", WEFT_Q_UP, WF_Q, WF_Q_LORA, 0, MLA | Q_LORA),
    WEIGHT("attn.kv_down", WEFT_KV_DOWN, WF_KV_DOWN, WF_HIDDEN, -1, MLA),
    GAIN("attn.kv_norm", WEFT_KV_DOWN, WF_KV_LORA, MLA),
    WEIGHT("attn.kv_up", WEFT_KV_UP, WF_KV_UP, WF_KV_LORA, 0, MLA),
    NORM("attn.q_norm", WEFT_Q_NORM, WF_Q_NORM, -1, QK_NORM),
    NORM("attn.k_norm", WEFT_K_NORM, WF_K_NORM, -1, QK_NORM),
    TENSOR("attn.sinks", WEFT_SINKS, WF_HEADS, WF_ONE, 0, WEFT_INIT_ZERO, SINKS),
    LAST("attn.out", WEFT_OUT, WF_HIDDEN, WF_V, 0),
    BIAS("attn.out", WEFT_OUT, WF_HIDDEN, -1, OUT_BIAS),
    NORM("ln_1_post", WEFT_LN1_POST, WF_HIDDEN, -1, SANDWICH),
    NORM("ln_2", WEFT_LN2, WF_HIDDEN, -1, NORM_2),
    WEIGHT("mlp.fc", WEFT_FC, WF_FFN_IN, WF_HIDDEN, 0, DENSE),
    BIAS("mlp.fc", WEFT_FC, WF_FFN_IN, 0, DENSE | MLP_BIAS),
    LAST("mlp.proj", WEFT_PROJ, WF_HIDDEN, WF_FFN, DENSE),
    BIAS("mlp.proj", WEFT_PROJ, WF_HIDDEN, -1, DENSE | MLP_BIAS),
    WEIGHT("router", WEFT_ROUTER, WF_EXPERTS, WF_HIDDEN, -1, MOE),
    BIAS("router", WEFT_ROUTER, WF_EXPERTS, -1, MOE | ROUTER_BIAS),
    WEIGHT("shared.fc", WEFT_SHARED_FC, WF_SHARED_IN, WF_HIDDEN, 0, MOE | SHARED),
    BIAS("shared.fc", WEFT_SHARED_FC, WF_SHARED_IN, 0, MOE | SHARED | MLP_BIAS),
    LAST("shared.proj", WEFT_SHARED_PROJ, WF_HIDDEN, WF_SHARED, MOE | SHARED),
    BIAS("shared.proj", WEFT_SHARED_PROJ, WF_HIDDEN, -1, MOE | SHARED | MLP_BIAS),
    WEIGHT("experts.fc", WEFT_EXPERT_FC, WF_EXPERT_IN, WF_HIDDEN, 0, MOE),
    BIAS("experts.fc", WEFT_EXPERT_FC, WF_EXPERT_IN, 0, MOE | MLP_BIAS),
    LAST("experts.proj", WEFT_EXPERT_PROJ, WF_HIDDEN, WF_EXPERT, MOE),
    BIAS("experts.proj", WEFT_EXPERT_PROJ, WF_HIDDEN, -1, MOE | MLP_BIAS),
    NORM("ln_2_post", WEFT_LN2_POST, WF_HIDDEN, -1, SANDWICH),
};

static const wf_row after[] = {
    NORM("ln_f", WEFT_LNF, WF_HIDDEN, -1, 0),
    WEIGHT("decoder", WEFT_DECODER, WF_DECODER, WF_HIDDEN, -1, DECODER),
    BIAS("decoder", WEFT_DECODER, WF_DECODER, -1, DECODER),
    WEIGHT("lm_head", WEFT_HEAD, WF_VOCAB, WF_HIDDEN, 0, TEXT | OUTPUT),
    BIAS("lm_head", WEFT_HEAD, WF_VOCAB, 0, TEXT | HEAD_BIAS),
    WEIGHT("head", WEFT_HEAD, WF_CLASSES, WF_HIDDEN, -1, CLASSES),
    BIAS("head", WEFT_HEAD, WF_CLASSES, -1, CLASSES | HEAD_BIAS),
    WEIGHT("head", WEFT_HEAD, WF_PATCH, WF_HIDDEN, -1, MAP),
    BIAS("head", WEFT_HEAD, WF_PATCH, -1, MAP | HEAD_BIAS),
};

/* DeepSeek-V3 section 2.2: norms of what the model gave and of the next token's embedding,
 * a matrix that joins them, a block, a norm; embedding and output layer are the model's. */
static const wf_row mtp_in[] = {
    GAIN("embed_norm", WEFT_MTP_EMBED, WF_HIDDEN, 0),
    GAIN("hidden_norm", WEFT_MTP_HIDDEN, WF_HIDDEN, 0),
    WEIGHT("join", WEFT_MTP_IN, WF_HIDDEN, WF_HIDDEN_2, 0, 0),
};
static const wf_row mtp_out[] = {GAIN("norm", WEFT_MTP_OUT, WF_HIDDEN, 0)};

#define PART(ROWS)                                                                     \
    {                                                                                  \
        ROWS, sizeof(ROWS) / sizeof *(ROWS)                                            \
    }
const wf_row *wf_rows(wf_part part, int *n)
{
    static const struct {
        const wf_row *row;
        int n;
    } parts[WF_N_PARTS] = {PART(before), PART(block), PART(after), PART(mtp_in),
                           PART(mtp_out)};
    *n = parts[part].n;
    return parts[part].row;
}

static uint32_t bit(int64_t on, uint32_t feature)
{
    return on ? feature : 0;
}

uint32_t wf_features(const weft_arch *a, int64_t layer)
{
    int map = a->patch && !a->classes;
    uint32_t f = bit(!a->patch, TEXT) | bit(map && a->decoder_layers, DECODER) |
                 bit(map, MAP) | bit(a->patch && a->classes, CLASSES) |
                 bit(a->position == WEFT_POS_LEARNED, TABLE) |
                 bit(a->embed_norm, EMBED_NORM) |
                 bit(a->norm_bias && a->norm == WEFT_LAYERNORM, NORM_BIAS) |
                 bit(!a->tied, OUTPUT) | bit(a->head_bias, HEAD_BIAS);

    if (layer < 0) return f;
    f |= bit(!a->kv_lora, HEADS) | bit(a->kv_lora, MLA) | bit(!a->q_lora, Q_DIRECT) |
         bit(a->q_lora, Q_LORA) | bit(a->qkv_bias, QKV_BIAS) |
         bit(a->out_bias, OUT_BIAS) | bit(a->qk_norm, QK_NORM) | bit(a->sinks, SINKS) |
         bit(!a->parallel, NORM_2) | bit(a->sandwich, SANDWICH) |
         bit(a->mlp_bias, MLP_BIAS) | bit(a->router_bias, ROUTER_BIAS) |
         bit(a->shared_experts, SHARED);
    return f | (weft_arch_layer_is_moe(a, layer) ? MOE : DENSE);
}

static int64_t gated(const weft_arch *a)
{
    return a->mlp == WEFT_MLP_SWIGLU || a->mlp == WEFT_MLP_GEGLU ? 2 : 1;
}

/* Ranges (arch/fields.c) keep each of these below 2^58. */
int64_t wf_dim_size(const weft_arch *a, wf_dim d)
{
    int full = a->qk_norm == WEFT_QK_NORM_FULL;

    switch (d) {
    case WF_ONE: return 1;
    case WF_HIDDEN: return a->hidden;
    case WF_HIDDEN_2: return 2 * a->hidden;
    case WF_HIDDEN_3: return 3 * a->hidden;
    case WF_QKV:
        return (a->heads + a->kv_heads) * a->head_dim + a->kv_heads * a->v_head_dim;
    case WF_Q: return a->heads * a->head_dim;
    case WF_V: return a->heads * a->v_head_dim;
    case WF_HEADS: return a->heads;
    case WF_Q_NORM: return full ? a->heads * a->head_dim : a->head_dim;
    case WF_K_NORM: return full ? a->kv_heads * a->head_dim : a->head_dim;
    case WF_Q_LORA: return a->q_lora;
    case WF_KV_LORA: return a->kv_lora;
    case WF_KV_DOWN: return a->kv_lora + a->qk_rope;
    case WF_KV_UP: return a->heads * (a->qk_nope + a->v_head_dim);
    case WF_FFN: return a->ffn;
    case WF_FFN_IN: return gated(a) * a->ffn;
    case WF_EXPERTS: return a->experts;
    case WF_EXPERT: return a->expert_ffn;
    case WF_EXPERT_IN: return gated(a) * a->expert_ffn;
    case WF_SHARED: return a->shared_experts * a->expert_ffn;
    case WF_SHARED_IN: return gated(a) * a->shared_experts * a->expert_ffn;
    case WF_VOCAB: return a->vocab;
    case WF_POSITIONS: return a->positions;
    case WF_PATCH: return a->channels * a->patch * a->patch;
    case WF_PATCH_1: return a->patch * a->patch;
    case WF_CHANNELS: return a->channels;
    case WF_CHANNELS_HIDDEN: return a->channels * a->hidden;
    case WF_CLASSES: return a->classes;
    case WF_DECODER: return a->decoder_layers * a->hidden;
    }
    return 0;
}

int64_t wf_row_experts(const weft_arch *a, const wf_row *r)
{
    switch (r->role) {
    case WEFT_EXPERT_FC_W:
    case WEFT_EXPERT_FC_B:
    case WEFT_EXPERT_PROJ_W:
    case WEFT_EXPERT_PROJ_B: return a->experts;
    default: return 1;
    }
}
