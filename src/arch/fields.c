/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/fields.h"

#include <weft/arch.h>

#define AT(member) WF_AT(weft_arch, member)
/* No product of two or three of them passes 64 bits before arch/count.c looks. */
#define MAX_DIM   2147483647.0
#define MAX_HEADS 16777216.0
#define MAX_FEW   65536.0

#define COUNT(NAME, ALIAS, MEMBER, MIN, MAX, TEXT, HELP)                               \
    {                                                                                  \
        NAME, ALIAS, WF_I64, WF_COUNT, AT(MEMBER), MIN, MAX, TEXT, WF_NOW, HELP        \
    }
#define YES_NO(NAME, ALIAS, MEMBER, TEXT, HELP)                                        \
    {                                                                                  \
        NAME, ALIAS, WF_BOOL, WF_PLAIN, AT(MEMBER), 0, 1, TEXT, WF_NOW, HELP           \
    }
#define REAL(NAME, ALIAS, MEMBER, MAX, TEXT, HELP)                                     \
    {                                                                                  \
        NAME, ALIAS, WF_F64, WF_PLAIN, AT(MEMBER), 0, MAX, TEXT, WF_NOW, HELP          \
    }
#define WORDS(NAME, MEMBER, WORDS, HELP)                                               \
    {                                                                                  \
        NAME, NULL, WF_CHOICE, WF_PLAIN, AT(MEMBER), 0, 0, WORDS, WF_NOW, HELP         \
    }

/* Aliases: Megatron-LM's flags, then the keys of Hugging Face config.json files. Words of
 * a choice stand in the order of its enum in weft/arch.h. */
static const wf_field fields[] = {
    {"name", NULL, WF_STRING, WF_PLAIN, AT(name), 0, 0, "custom", WF_NOW,
     "name in reports"},
    {"family", "model_type", WF_STRING, WF_PLAIN, AT(family), 0, 0, "gpt2", WF_NOW,
     "which blocks the model is made of: sets the pieces"},
    COUNT("layers", "num_layers num_hidden_layers n_layer n_layers", layers, 1, 1e6,
          "12", "transformer blocks"),
    COUNT("hidden", "hidden_size n_embd d_model", hidden, 1, MAX_DIM, "768",
          "width of the residual stream"),
    COUNT("heads", "num_attention_heads n_head n_heads", heads, 1, MAX_HEADS, "12",
          "attention heads"),
    COUNT("kv_heads", "num_query_groups num_key_value_heads", kv_heads, 0, MAX_HEADS,
          "0", "key and value heads; 0: as many as heads"),
    COUNT("head_dim", "kv_channels", head_dim, 0, MAX_DIM, "0",
          "values per head; 0: hidden / heads"),
    COUNT("ffn", "ffn_hidden_size intermediate_size n_inner ffn_dim", ffn, 0, MAX_DIM,
          "0", "width of the MLP; 0: 4 * hidden"),
    COUNT("vocab", "vocab_size", vocab, 0, MAX_DIM, "50257",
          "rows of the vocabulary, without padding; 0 for images"),
    COUNT("positions", "max_position_embeddings n_positions", positions, 0, MAX_DIM,
          "1024", "rows of the position table, or longest sequence"),
    YES_NO("tied", "tie_word_embeddings", tied, "true",
           "the output layer shares the embedding"),
    REAL("norm_eps", "norm_epsilon layernorm_epsilon layer_norm_epsilon rms_norm_eps",
         norm_eps, 1, "1e-05", "added to the variance in norms"),
    REAL("init_std", "init_method_std initializer_range", init_std, 100, "0.02",
         "standard deviation of initial weights"),

    WORDS("position", position, "learned|rope|alibi|none",
          "how a token's place enters"),
    REAL("rope_theta", "rotary_base", rope_theta, 1e15, "10000",
         "base of the rotary frequencies"),
    WORDS("norm", norm, "layernorm|rmsnorm", "kind of norm"),
    WORDS("mlp", mlp, "gelu|relu|swiglu|geglu", "kind of MLP; swiglu and geglu: gated"),
    WORDS("qk_norm", qk_norm, "none|head|full",
          "norm of q and k: over each head, or over all"),
    YES_NO("qkv_bias", "add_qkv_bias", qkv_bias, "true", "biases of q, k and v"),
    YES_NO("out_bias", NULL, out_bias, "true", "bias after attention"),
    YES_NO("mlp_bias", NULL, mlp_bias, "true", "biases of the MLP"),
    YES_NO("norm_bias", NULL, norm_bias, "true", "biases of layer norms"),
    YES_NO("head_bias", NULL, head_bias, "false", "bias of the output layer"),
    YES_NO("embed_norm", NULL, embed_norm, "false", "a norm after the embedding"),
    YES_NO("parallel", NULL, parallel, "false",
           "attention and MLP side by side after one norm"),
    YES_NO("sandwich", NULL, sandwich, "false", "norms after attention and MLP too"),
    YES_NO("sinks", NULL, sinks, "false", "a learned score per head beside the keys'"),
    COUNT("v_head_dim", NULL, v_head_dim, 0, MAX_DIM, "0",
          "values per head of v; 0: head_dim"),
    COUNT("window", "sliding_window", window, 0, MAX_DIM, "0",
          "tokens that a token sees; 0: all before it"),
    COUNT("full_every", NULL, full_every, 0, 1e6, "0",
          "one layer of this many has no window; 0: none"),

    COUNT("experts", "num_experts n_routed_experts num_local_experts", experts, 0,
          MAX_FEW, "0", "routed experts of an MoE layer; 0: no such layer"),
    COUNT("experts_per_token", "moe_router_topk num_experts_per_tok", experts_per_token,
          0, MAX_FEW, "0", "routed experts that a token visits"),
    COUNT("expert_ffn", "moe_ffn_hidden_size moe_intermediate_size", expert_ffn, 0,
          MAX_DIM, "0", "width of an expert; 0: ffn"),
    COUNT("shared_experts", "n_shared_experts", shared_experts, 0, MAX_FEW, "0",
          "experts that every token visits"),
    COUNT("dense_layers", "first_k_dense_replace", dense_layers, 0, 1e6, "0",
          "first layers that are no MoE layers"),
    COUNT("moe_every", "moe_layer_freq decoder_sparse_step", moe_every, 1, 1e6, "1",
          "of the layers after them, each n-th is an MoE layer"),
    YES_NO("router_bias", "moe_router_enable_expert_bias", router_bias, "false",
           "a bias per expert in the router"),

    COUNT("q_lora", "q_lora_rank", q_lora, 0, MAX_DIM, "0",
          "MLA: width of the compressed q; 0: not compressed"),
    COUNT("kv_lora", "kv_lora_rank", kv_lora, 0, MAX_DIM, "0",
          "MLA: width of the compressed k and v; 0: no MLA"),
    COUNT("qk_nope", "qk_head_dim qk_nope_head_dim", qk_nope, 0, MAX_DIM, "0",
          "MLA: values per head that are not rotated"),
    COUNT("qk_rope", "qk_pos_emb_head_dim qk_rope_head_dim", qk_rope, 0, MAX_DIM, "0",
          "MLA: values per head that are"),
    COUNT("mtp", "mtp_num_layers num_nextn_predict_layers", mtp, 0, 64, "0",
          "multi-token prediction modules"),

    COUNT("patch", "patch_size patch_dim", patch, 0, 4096, "0",
          "side of an image patch; 0: the input is tokens"),
    COUNT("image_height", "img_h", image_height, 0, MAX_FEW, "0", "rows of an image"),
    COUNT("image_width", "img_w", image_width, 0, MAX_FEW, "0", "columns of an image"),
    COUNT("channels", "num_channels", channels, 0, MAX_FEW, "0",
          "values of an image point"),
    COUNT("classes", "num_classes", classes, 0, MAX_DIM, "0",
          "outputs of an image model; 0: a map of all channels"),
    COUNT("decoder_layers", "decoder_depth", decoder_layers, 0, MAX_FEW, "0",
          "linear layers before the output of a map"),
};

static const wf_table table = {"model dimension", "", sizeof fields / sizeof *fields,
                               fields};

const wf_table *wf_arch_table(void)
{
    return &table;
}
