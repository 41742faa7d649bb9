/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer computes: its matmuls, its attention, and the widths of the rest. */
#include <weft/arch.h>

#include <assert.h>

#include "arch/rows.h"

static weft_gemm_split split_of(int tp_dim)
{
    return tp_dim < 0    ? WEFT_GEMM_WHOLE
           : tp_dim == 0 ? WEFT_GEMM_COLUMN
                         : WEFT_GEMM_ROW;
}

/* Appends the rows of a part that are weights of matmuls. */
static int add_gemms(const weft_arch *a, wf_part part, uint32_t features,
                     weft_layer_gemm *out, int n)
{
    int all;
    const wf_row *r = wf_rows(part, &all);
    for (int i = 0; i < all; i++) {
        if ((r[i].need & ~features) || r[i].size[1] == WF_ONE) continue;
        assert(n < WEFT_MAX_LAYER_GEMMS);
        int64_t experts = wf_row_experts(a, &r[i]);
        int routed = r[i].role == WEFT_EXPERT_FC_W || r[i].role == WEFT_EXPERT_PROJ_W;
        out[n++] = (weft_layer_gemm){
            .role = r[i].role,
            .n = wf_dim_size(a, r[i].size[0]),
            .k = wf_dim_size(a, r[i].size[1]),
            .split = split_of(r[i].tp_dim),
            .experts = experts,
            .rows = routed ? (double)a->experts_per_token : 1,
        };
    }
    return n;
}

int weft_arch_layer_gemms(const weft_arch *a, int64_t layer,
                          weft_layer_gemm out[WEFT_MAX_LAYER_GEMMS])
{
    int n = layer > a->layers ? add_gemms(a, WF_MTP_IN, wf_features(a, -1), out, 0) : 0;
    return add_gemms(a, WF_BLOCK, wf_features(a, layer), out, n);
}

void weft_arch_attention(const weft_arch *a, int64_t layer, weft_attention *out)
{
    int full = a->full_every && (layer + 1) % a->full_every == 0;
    *out = (weft_attention){.heads = a->heads,
                            .kv_heads = a->kv_heads,
                            .qk_dim = a->head_dim,
                            .v_dim = a->v_head_dim,
                            .window = full || layer > a->layers ? 0 : a->window};
}

double weft_arch_attention_keys(const weft_arch *a, int64_t layer, int64_t seq,
                                int causal)
{
    weft_attention t;
    double s = (double)seq;

    if (!causal || a->patch) return s;
    weft_arch_attention(a, layer, &t);
    if (!t.window || t.window >= seq) return s / 2;
    double w = (double)t.window;
    return w - w * w / (2 * s);
}

/* Values that pass the norms inside attention. */
static int64_t inner_norms(const weft_arch *a)
{
    if (a->kv_lora) return a->q_lora + a->kv_lora;
    return a->qk_norm ? (a->heads + a->kv_heads) * a->head_dim : 0;
}

static int64_t rotated(const weft_arch *a)
{
    if (a->position != WEFT_POS_ROPE) return 0;
    return a->kv_lora ? (a->heads + 1) * a->qk_rope
                      : (a->heads + a->kv_heads) * a->head_dim;
}

static int64_t stream_norms(const weft_arch *a)
{
    return (a->parallel ? 1 : 2) + (a->sandwich ? 2 : 0);
}

void weft_arch_layer_width(const weft_arch *a, int64_t layer, weft_layer_width *out)
{
    int gated = a->mlp == WEFT_MLP_SWIGLU || a->mlp == WEFT_MLP_GEGLU;
    int64_t width = weft_arch_layer_is_moe(a, layer)
                        ? (a->experts_per_token + a->shared_experts) * a->expert_ffn
                        : a->ffn;

    *out = (weft_layer_width){
        .norm = (stream_norms(a) + (layer > a->layers ? 3 : 0)) * a->hidden,
        .inner_norm = inner_norms(a),
        .rotary = rotated(a),
        .qkv = wf_dim_size(a, WF_QKV),
        .attn_out = wf_dim_size(a, WF_V),
        .act_in = (gated ? 2 : 1) * width,
        .act_out = width,
        .residual = 2 * a->hidden,
    };
}

int64_t weft_arch_image_tokens(const weft_arch *a)
{
    if (!a->patch) return 0;
    return (a->image_height / a->patch) * (a->image_width / a->patch) +
           (a->classes ? 1 : 0);
}
