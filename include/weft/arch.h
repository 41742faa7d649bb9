/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/arch.h
 * A model as dimensions and one tensor table. Counting, initialising, sharding, the
 * gradient norm and checkpoints all read the table.
 *
 * Weights of linear layers are [out, in]: y = x W^T + b.
 */
#ifndef WEFT_ARCH_H
#define WEFT_ARCH_H

#include <stdint.h>
#include <weft/writer.h>

WEFT_BEGIN

/** Dimensions by value. */
typedef struct weft_arch {
    char name[32];   /**< preset or "custom"                              */
    char family[16]; /**< "gpt2"                                          */
    int64_t layers;
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads;  /**< = heads unless grouped-query                    */
    int64_t head_dim;  /**< hidden / heads unless given                     */
    int64_t ffn;       /**< MLP width; 4 * hidden unless given              */
    int64_t vocab;     /**< logical rows, unpadded                          */
    int64_t positions; /**< rows of the learned position table              */
    int32_t tied;      /**< output layer shares the embedding               */
    double norm_eps;
    double init_std;
} weft_arch;

/** What a tensor is for; one value per kind of tensor of the family. */
typedef enum weft_role {
    WEFT_WTE,
    WEFT_WPE,
    WEFT_LN1_G,
    WEFT_LN1_B,
    WEFT_QKV_W,
    WEFT_QKV_B,
    WEFT_OUT_W,
    WEFT_OUT_B,
    WEFT_LN2_G,
    WEFT_LN2_B,
    WEFT_FC_W,
    WEFT_FC_B,
    WEFT_PROJ_W,
    WEFT_PROJ_B,
    WEFT_LNF_G,
    WEFT_LNF_B,
    WEFT_HEAD_W,
    WEFT_N_ROLES
} weft_role;

typedef enum weft_init { WEFT_INIT_ZERO, WEFT_INIT_ONE, WEFT_INIT_NORMAL } weft_init;

/** One row of the tensor table: a logical (unsplit, unpadded) tensor. */
typedef struct weft_tensor_info {
    char name[40]; /**< "h.3.attn.qkv.weight"; layer numbers are global      */
    weft_role role;
    int layer;  /**< 0..layers-1; -1 embedding; layers = after the blocks */
    int n_dims; /**< 1 or 2                                               */
    int64_t size[2];
    int tp_dim;         /**< dimension that TP splits; -1: replicated over TP     */
    int n_segments;     /**< 1; 3 for q, k, v: each is split apart along tp_dim   */
    int64_t segment[3]; /**< lengths along tp_dim; their sum is size[tp_dim]      */
    char segment_name[3][4]; /**< "q" "k" "v"; "" when n_segments is 1            */
    int is_vocab; /**< tp_dim is the vocabulary and is padded               */
    weft_init init;
    double std;  /**< of WEFT_INIT_NORMAL                                  */
    int decay;   /**< weight decay applies (2-D tensors)                   */
    int tied_to; /**< row of the tensor it shares values with; -1 for all of the
                             GPT-2 family, where a tied output layer has no row   */
} weft_tensor_info;

/** Preset by name ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt2-tiny"), one with
 *  changes ("gpt2,layers=6,vocab=256"), or dimensions
 *  "layers=12,hidden=768,heads=12[,vocab=50257,positions=1024,ffn=,tied=]".
 *  Errors name the key, the value and what is needed; unknown names get the nearest. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_parse(const char *text, weft_arch *out);
/** The shape of "gpt2", named "custom"; where config readers start. */
WEFT_API void weft_arch_defaults(weft_arch *a);
/** Set one field by name from text (Megatron's and Hugging Face's names are known too).
 *  kv_heads, head_dim and ffn follow hidden and heads while they have their usual
 *  values; "0" gives those back. Combinations are checked by weft_arch_check() only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_set(weft_arch *a, const char *field,
                                                   const char *value);
/** Ranges and consistency (hidden = heads*head_dim, ...). Sizes are checked for overflow. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_check(const weft_arch *a);
WEFT_API int weft_arch_preset_count(void);
WEFT_API const weft_arch *weft_arch_preset_at(int i);

/** Rows of the table, in forward order; tied output layers have no row. */
WEFT_API int weft_arch_tensor_count(const weft_arch *a);
WEFT_API void weft_arch_tensor(const weft_arch *a, int i, weft_tensor_info *out);
/** Unique parameters (tied counted once) of a checked model. */
WEFT_API int64_t weft_arch_params(const weft_arch *a);
/** Model FLOPs of one training token, forward + backward: 6 * matmul parameters
 *  + attention 12*layers*hidden*seq (full square) or half of it (causal). */
WEFT_API double weft_arch_flops_per_token(const weft_arch *a, int64_t seq, int causal);

/** JSON object of the dimensions, and "params". */
WEFT_API void weft_arch_write_json(const weft_arch *a, weft_writer *out);

WEFT_END
#endif
