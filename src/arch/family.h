/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_ARCH_FAMILY_H
#define WF_ARCH_FAMILY_H
#include <weft/arch.h>

/* Pieces of each family: initialisers of weft_arch, for the families and their presets.
 * What an initialiser does not name is 0: no bias, no window, no experts, no image. */
#define WF_PIECES(FAMILY, POSITION, NORM, MLP)                                         \
    .family = FAMILY, .position = WEFT_POS_##POSITION, .norm = WEFT_##NORM,            \
    .mlp = WEFT_MLP_##MLP, .moe_every = 1, .init_std = 0.02
#define WF_BIASES      .qkv_bias = 1, .out_bias = 1, .mlp_bias = 1, .norm_bias = 1
#define WF_RMS(FAMILY) WF_PIECES(FAMILY, ROPE, RMSNORM, SWIGLU)
/* Numbers in which models of one family differ. */
#define WF_EPS_THETA(EPS, THETA) .norm_eps = EPS, .rope_theta = THETA
#define WF_IMAGE(PATCH, HEIGHT, WIDTH, CHANNELS)                                       \
    .patch = PATCH, .image_height = HEIGHT, .image_width = WIDTH, .channels = CHANNELS

#define WF_GPT2 WF_PIECES("gpt2", LEARNED, LAYERNORM, GELU), WF_BIASES, .tied = 1
#define WF_OPT  WF_PIECES("opt", LEARNED, LAYERNORM, RELU), WF_BIASES, .tied = 1
#define WF_BLOOM                                                                       \
    WF_PIECES("bloom", ALIBI, LAYERNORM, GELU), WF_BIASES, .tied = 1, .embed_norm = 1
#define WF_MPT         WF_PIECES("mpt", ALIBI, LAYERNORM, GELU), .tied = 1
#define WF_LLAMA       WF_RMS("llama")
#define WF_MISTRAL     WF_RMS("mistral")
#define WF_MIXTRAL     WF_RMS("mixtral")
#define WF_PHI3        WF_RMS("phi3")
#define WF_OLMOE       WF_RMS("olmoe"), .qk_norm = WEFT_QK_NORM_FULL
#define WF_QWEN2       WF_RMS("qwen2"), .qkv_bias = 1
#define WF_QWEN3       WF_RMS("qwen3"), .qk_norm = WEFT_QK_NORM_HEAD
#define WF_QWEN3_MOE   WF_RMS("qwen3_moe"), .qk_norm = WEFT_QK_NORM_HEAD
#define WF_DEEPSEEK_V2 WF_RMS("deepseek_v2")
#define WF_DEEPSEEK_V3 WF_RMS("deepseek_v3"), .router_bias = 1
#define WF_GPT_OSS                                                                     \
    WF_RMS("gpt_oss"), .qkv_bias = 1, .out_bias = 1, .mlp_bias = 1, .router_bias = 1,  \
                       .sinks = 1, .window = 128, .full_every = 2
#define WF_GEMMA WF_PIECES("gemma", ROPE, RMSNORM, GEGLU), .tied = 1
#define WF_GEMMA2                                                                      \
    WF_PIECES("gemma2", ROPE, RMSNORM, GEGLU), .tied = 1, .sandwich = 1,               \
                                               .window = 4096, .full_every = 2
#define WF_GEMMA3(WINDOW)                                                              \
    WF_PIECES("gemma3", ROPE, RMSNORM, GEGLU),                                         \
        .tied = 1, .sandwich = 1, .qk_norm = WEFT_QK_NORM_HEAD, .window = WINDOW,      \
        .full_every = 6
#define WF_PHI                                                                         \
    WF_PIECES("phi", ROPE, LAYERNORM, GELU), WF_BIASES, .head_bias = 1, .parallel = 1
#define WF_VIT WF_PIECES("vit", LEARNED, LAYERNORM, GELU), WF_BIASES, .head_bias = 1
#define WF_ORBIT                                                                       \
    WF_PIECES("orbit", LEARNED, LAYERNORM, GELU), WF_BIASES,                           \
        .head_bias = 1, .qk_norm = WEFT_QK_NORM_HEAD, .decoder_layers = 2

/* The family of this name, or NULL. */
const weft_arch *wf_family_find(const char *name);
/* Fails: there is none; names the nearest. */
WEFT_MUST_CHECK weft_status wf_family_unknown(const char *name);
/* Gives the pieces of a->family their usual values; fails with the nearest known name. */
WEFT_MUST_CHECK weft_status wf_family_apply(weft_arch *a);
#endif
