/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/fields.h"

#include <weft/arch.h>

#define AT(member) WF_AT(weft_arch, member)
#define MAX_DIM    2147483647.0

/* Aliases: Megatron-LM's flags, then the keys of Hugging Face config.json files. */
static const wf_field fields[] = {
    {"name", NULL, WF_STRING, WF_PLAIN, AT(name), 0, 0, "custom", WF_NOW,
     "name in reports"},
    {"family", "model_type", WF_STRING, WF_PLAIN, AT(family), 0, 0, "gpt2", WF_NOW,
     "which blocks the model is made of"},
    {"layers", "num_layers num_hidden_layers n_layer", WF_I64, WF_COUNT, AT(layers), 1,
     1e6, "12", WF_NOW, "transformer blocks"},
    {"hidden", "hidden_size n_embd", WF_I64, WF_COUNT, AT(hidden), 1, MAX_DIM, "768",
     WF_NOW, "width of the residual stream"},
    {"heads", "num_attention_heads n_head", WF_I64, WF_COUNT, AT(heads), 1, MAX_DIM,
     "12", WF_NOW, "attention heads"},
    {"kv_heads", "num_query_groups num_key_value_heads", WF_I64, WF_COUNT, AT(kv_heads),
     0, MAX_DIM, "0", WF_NOW, "key and value heads; 0: as many as heads"},
    {"head_dim", "kv_channels", WF_I64, WF_COUNT, AT(head_dim), 0, MAX_DIM, "0", WF_NOW,
     "values per head; 0: hidden / heads"},
    {"ffn", "ffn_hidden_size intermediate_size n_inner", WF_I64, WF_COUNT, AT(ffn), 0,
     MAX_DIM, "0", WF_NOW, "width of the MLP; 0: 4 * hidden"},
    {"vocab", "vocab_size", WF_I64, WF_COUNT, AT(vocab), 1, MAX_DIM, "50257", WF_NOW,
     "rows of the vocabulary, without padding"},
    {"positions", "max_position_embeddings n_positions", WF_I64, WF_COUNT,
     AT(positions), 1, MAX_DIM, "1024", WF_NOW, "rows of the position table"},
    {"tied", "tie_word_embeddings", WF_BOOL, WF_PLAIN, AT(tied), 0, 1, "true", WF_NOW,
     "the output layer shares the embedding"},
    {"norm_eps", "norm_epsilon layernorm_epsilon layer_norm_epsilon", WF_F64, WF_PLAIN,
     AT(norm_eps), 0, 1, "1e-05", WF_NOW, "added to the variance in layer norm"},
    {"init_std", "init_method_std initializer_range", WF_F64, WF_PLAIN, AT(init_std), 0,
     100, "0.02", WF_NOW, "standard deviation of initial weights"},
};

static const wf_table table = {"model dimension", "", sizeof fields / sizeof *fields,
                               fields};

const wf_table *wf_arch_table(void)
{
    return &table;
}
