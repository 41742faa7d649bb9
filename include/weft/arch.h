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

/** Where a token's place enters. Rotary and ALiBi have no parameters. */
typedef enum weft_positions {
    WEFT_POS_LEARNED, /**< a table added to the embedding       */
    WEFT_POS_ROPE,    /**< Su et al. 2021: q and k are rotated  */
    WEFT_POS_ALIBI,   /**< Press et al. 2021: added to scores   */
    WEFT_POS_NONE
} weft_positions;

typedef enum weft_norm_kind { WEFT_LAYERNORM, WEFT_RMSNORM } weft_norm_kind;

/** SwiGLU and GeGLU (Shazeer 2020) have two matrices in: act(gate) * up. */
typedef enum weft_mlp_kind {
    WEFT_MLP_GELU,
    WEFT_MLP_RELU,
    WEFT_MLP_SWIGLU,
    WEFT_MLP_GEGLU
} weft_mlp_kind;

/** Norm of q and k before the scores. */
typedef enum weft_qk_norm {
    WEFT_QK_NORM_NONE,
    WEFT_QK_NORM_HEAD, /**< over each head: head_dim gains, as Qwen3 and Gemma 3 */
    WEFT_QK_NORM_FULL  /**< over all heads: heads * head_dim gains, as OLMo 2    */
} weft_qk_norm;

/** Dimensions and pieces by value. weft_arch_set() and the readers fill it; family gives
 *  the pieces their usual values, each can be changed. */
typedef struct weft_arch {
    char name[32];   /**< preset or "custom"                              */
    char family[16]; /**< "gpt2", "llama", ...: weft_arch_family_at()     */
    int64_t layers;
    int64_t hidden;
    int64_t heads;
    int64_t kv_heads;  /**< = heads unless grouped-query                    */
    int64_t head_dim;  /**< of q and k; hidden / heads unless given         */
    int64_t ffn;       /**< MLP width; 4 * hidden unless given              */
    int64_t vocab;     /**< logical rows, unpadded; 0 for images            */
    int64_t positions; /**< rows of the learned table, or longest sequence  */
    int32_t tied;      /**< output layer shares the embedding               */
    double norm_eps;
    double init_std;

    int64_t v_head_dim; /**< of v; = head_dim unless given                   */
    int64_t window;     /**< a token sees this many; 0: all before it        */
    int64_t full_every; /**< 1 layer of this many has no window; 0: none     */
    double rope_theta;
    int32_t position; /**< weft_positions                                  */
    int32_t norm;     /**< weft_norm_kind                                  */
    int32_t mlp;      /**< weft_mlp_kind                                   */
    int32_t qk_norm;  /**< weft_qk_norm                                    */
    int32_t qkv_bias, out_bias, mlp_bias, norm_bias, head_bias;
    int32_t embed_norm; /**< a norm after the embedding (BLOOM)              */
    int32_t parallel;   /**< attention and MLP side by side after one norm   */
    int32_t sandwich;   /**< norms after attention and MLP too (Gemma 2, 3)  */
    int32_t sinks;      /**< one learned score a head beside the keys' (gpt-oss) */

    int64_t experts;           /**< routed experts of an MoE layer; 0: dense */
    int64_t experts_per_token; /**< of them                                  */
    int64_t expert_ffn;        /**< width of one; = ffn unless given         */
    int64_t shared_experts;    /**< each of expert_ffn, seen by every token  */
    int64_t dense_layers;      /**< first layers that stay dense             */
    int64_t moe_every;         /**< of the rest, each n-th is an MoE layer   */
    int32_t router_bias;       /**< one value an expert steers the load      */

    int64_t q_lora;  /**< MLA (DeepSeek-V2, section 2.1): width of the    */
    int64_t kv_lora; /**< compressed q (0: q is not) and k, v (0: no MLA) */
    int64_t qk_nope; /**< of head_dim, what is not rotated                */
    int64_t qk_rope; /**< and what is, one k for all heads                */
    int64_t mtp;     /**< multi-token prediction modules after the model  */

    int64_t patch; /**< side of an image patch; 0: the input is tokens  */
    int64_t image_height, image_width, channels;
    int64_t classes;        /**< outputs of an image model; 0: a map of channels */
    int64_t decoder_layers; /**< linear layers before ORBIT's output             */
} weft_arch;

/** What a tensor is for; one value per kind of tensor. */
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
    WEFT_FC_W, /**< gate, up where the MLP has two */
    WEFT_FC_B,
    WEFT_PROJ_W,
    WEFT_PROJ_B,
    WEFT_LNF_G,
    WEFT_LNF_B,
    WEFT_HEAD_W,
    WEFT_HEAD_B,
    WEFT_LNE_G, /**< after the embedding */
    WEFT_LNE_B,
    WEFT_Q_NORM_G,
    WEFT_Q_NORM_B,
    WEFT_K_NORM_G,
    WEFT_K_NORM_B,
    WEFT_SINKS,
    WEFT_LN1_POST_G, /**< sandwich norms */
    WEFT_LN1_POST_B,
    WEFT_LN2_POST_G,
    WEFT_LN2_POST_B,
    WEFT_Q_W,       /**< MLA without compression of q */
    WEFT_Q_DOWN_W,  /**< MLA: hidden -> q_lora */
    WEFT_Q_DOWN_G,  /**< its norm */
    WEFT_Q_UP_W,    /**< q_lora -> heads * head_dim */
    WEFT_KV_DOWN_W, /**< hidden -> kv_lora + qk_rope */
    WEFT_KV_DOWN_G, /**< norm of kv_lora */
    WEFT_KV_UP_W,   /**< kv_lora -> heads * (qk_nope + v_head_dim) */
    WEFT_ROUTER_W,  /**< [experts, hidden] */
    WEFT_ROUTER_B,
    WEFT_EXPERT_FC_W, /**< one of each expert: `experts` of the row */
    WEFT_EXPERT_FC_B,
    WEFT_EXPERT_PROJ_W,
    WEFT_EXPERT_PROJ_B,
    WEFT_SHARED_FC_W, /**< the shared experts as one MLP */
    WEFT_SHARED_FC_B,
    WEFT_SHARED_PROJ_W,
    WEFT_SHARED_PROJ_B,
    WEFT_MTP_EMBED_G, /**< norms of the two inputs of an MTP module */
    WEFT_MTP_HIDDEN_G,
    WEFT_MTP_IN_W, /**< [hidden, 2 hidden]: joins them */
    WEFT_MTP_OUT_G,
    WEFT_PATCH_W, /**< [hidden, channels * patch^2]; ORBIT: [channels * hidden, patch^2] */
    WEFT_PATCH_B,
    WEFT_CLS,
    WEFT_CHANNEL_EMBED, /**< ORBIT: [channels, hidden] */
    WEFT_CHANNEL_QUERY, /**< ORBIT: what gathers the channels of a place */
    WEFT_CHANNEL_QKV_W,
    WEFT_CHANNEL_QKV_B,
    WEFT_CHANNEL_OUT_W,
    WEFT_CHANNEL_OUT_B,
    WEFT_LEAD_W, /**< ORBIT: lead time -> hidden */
    WEFT_LEAD_B,
    WEFT_DECODER_W, /**< ORBIT: decoder_layers of [hidden, hidden], one above the other */
    WEFT_DECODER_B,
    WEFT_N_ROLES
} weft_role;

typedef enum weft_init { WEFT_INIT_ZERO, WEFT_INIT_ONE, WEFT_INIT_NORMAL } weft_init;

/** One row of the tensor table: a logical (unsplit, unpadded) tensor, or `experts` alike
 *  ones. Its parameters are size[0] * size[1] * experts. */
typedef struct weft_tensor_info {
    char name[40]; /**< "h.3.attn.qkv.weight"; layer numbers are global      */
    weft_role role;
    int layer;  /**< 0..layers-1; -1 embedding; layers = after the blocks;
                     layers + 1 + i: MTP module i                          */
    int n_dims; /**< 1 or 2                                               */
    int64_t size[2];
    int tp_dim;         /**< dimension that TP splits; -1: replicated over TP     */
    int n_segments;     /**< 1; 3 for q, k, v; 2 for gate, up                     */
    int64_t segment[3]; /**< lengths along tp_dim; their sum is size[tp_dim]      */
    char segment_name[3][8]; /**< "q" "k" "v" or "gate" "up"; "" for 1 segment    */
    int is_vocab; /**< tp_dim is the vocabulary and is padded               */
    weft_init init;
    double std;      /**< of WEFT_INIT_NORMAL                                  */
    int decay;       /**< weight decay applies (2-D tensors)                   */
    int tied_to;     /**< row of the tensor it shares values with; -1: none, as a
                             tied output layer has no row                         */
    int64_t experts; /**< 1; more: one such tensor for each, EP splits these      */
} weft_tensor_info;

/** Preset by name ("gpt2", "llama3-8b", ...: weft_arch_preset_at()), one with changes
 *  ("gpt2,layers=6,vocab=256"), or dimensions
 *  "layers=12,hidden=768,heads=12[,family=gpt2,vocab=50257,positions=1024,ffn=,...]";
 *  family counts first wherever it stands.
 *  Errors name the key, the value and what is needed; unknown names get the nearest. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_parse(const char *text, weft_arch *out);
/** Apply changes ("layers=6,vocab=256") to a model; unchanged on failure. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_change(weft_arch *a,
                                                      const char *changes);
/** The shape of "gpt2", named "custom"; where config readers start. */
WEFT_API void weft_arch_defaults(weft_arch *a);
/** Set one field by name from text (Megatron's and Hugging Face's names are known too).
 *  kv_heads, head_dim, v_head_dim, ffn and expert_ffn follow the others while they have
 *  their usual values; "0" gives those back. family sets the pieces (position, norm, mlp,
 *  biases, tied, ...) too. Combinations are checked by weft_arch_check() only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_set(weft_arch *a, const char *field,
                                                   const char *value);
/** Ranges and consistency. Sizes are checked for overflow. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_check(const weft_arch *a);
/** Has it the blocks of this family ("gpt2"), and nothing else? Fails naming the first
 *  piece that differs: for code that computes one family only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_arch_require_family(const weft_arch *a,
                                                              const char *family);
WEFT_API int weft_arch_preset_count(void);
WEFT_API const weft_arch *weft_arch_preset_at(int i);
WEFT_API int weft_arch_family_count(void);
WEFT_API const char *weft_arch_family_at(int i);

/** Rows of the table, in forward order; tied output layers have no row. */
WEFT_API int weft_arch_tensor_count(const weft_arch *a);
WEFT_API void weft_arch_tensor(const weft_arch *a, int i, weft_tensor_info *out);

/* ---- parameters ------------------------------------------------------------------ */

/** Unique parameters (tied counted once) of a checked model, MTP modules included. */
WEFT_API int64_t weft_arch_params(const weft_arch *a);
/** Those that one token meets: experts_per_token of the routed experts, everything else
 *  whole (embedding and output layer too), without MTP modules, which inference drops. */
WEFT_API int64_t weft_arch_active_params(const weft_arch *a);

/** Parameters by what they are for; their sum is weft_arch_params(). */
typedef struct weft_arch_parts {
    int64_t embedding; /**< tokens, positions or patches, and the norm after     */
    int64_t attention; /**< qkv, out, their biases and norms inside attention    */
    int64_t mlp;       /**< dense layers and shared experts                      */
    int64_t experts;   /**< routed experts                                       */
    int64_t router;
    int64_t norms; /**< of blocks and the last                               */
    int64_t head;  /**< untied output layer                                  */
    int64_t mtp;   /**< all of the MTP modules; their embedding and head are
                        the model's                                          */
} weft_arch_parts;
WEFT_API void weft_arch_params_by_part(const weft_arch *a, weft_arch_parts *out);

/** Parameters of one layer (0..layers-1), or of MTP module i (layers + 1 + i); `active`:
 *  those that a token meets. Layers of one kind are alike. */
WEFT_API int64_t weft_arch_layer_params(const weft_arch *a, int64_t layer, int active);
WEFT_API int weft_arch_layer_is_moe(const weft_arch *a, int64_t layer);
/** MoE layers among 0..layer-1: closed form. */
WEFT_API int64_t weft_arch_moe_layers_before(const weft_arch *a, int64_t layer);

/* ---- what a layer computes ------------------------------------------------------- */

/** How TP splits y[m,n] = x[m,k] W^T. */
typedef enum weft_gemm_split {
    WEFT_GEMM_WHOLE,  /**< every rank computes all of it                 */
    WEFT_GEMM_COLUMN, /**< n: rows of W                                  */
    WEFT_GEMM_ROW     /**< k: columns of W; the sum is a reduction       */
} weft_gemm_split;

/** One matmul of a layer, whole. A batch of T tokens has m = T * rows rows in it; with
 *  experts > 1 they are spread over that many matrices [n, k], which EP splits. */
typedef struct weft_layer_gemm {
    weft_role role;
    int64_t n, k;
    weft_gemm_split split;
    int64_t experts; /**< 1, or the number of matrices                            */
    double rows;     /**< for each token: 1, or experts_per_token                 */
} weft_layer_gemm;

enum { WEFT_MAX_LAYER_GEMMS = 12 };

/** Matmuls of layer 0..layers-1 (or of MTP module layers + 1 + i, its joining one
 *  included) with weights, in forward order; returns how many were written. */
WEFT_API int weft_arch_layer_gemms(const weft_arch *a, int64_t layer,
                                   weft_layer_gemm out[WEFT_MAX_LAYER_GEMMS]);

/** Scores and weighted values of a layer. */
typedef struct weft_attention {
    int64_t heads, kv_heads;
    int64_t qk_dim, v_dim; /**< a head                                        */
    int64_t window;        /**< 0: none in this layer                         */
} weft_attention;
WEFT_API void weft_arch_attention(const weft_arch *a, int64_t layer,
                                  weft_attention *out);
/** Keys that a query meets, on average: seq as a full square; causal: half of that, and
 *  w - w^2 / (2 seq) with a window w < seq. Images are never causal. */
WEFT_API double weft_arch_attention_keys(const weft_arch *a, int64_t layer, int64_t seq,
                                         int causal);

/** Values for each token of what is no matmul in a layer, before TP. */
typedef struct weft_layer_width {
    int64_t norm;       /**< into norms of the residual stream: hidden each       */
    int64_t inner_norm; /**< into norms of q, k or of MLA's compressed widths     */
    int64_t rotary;     /**< of q and k that are rotated                          */
    int64_t qkv;        /**< q, k and v that attention reads                      */
    int64_t attn_out;   /**< heads * v_head_dim                                   */
    int64_t act_in;     /**< into the activation, all experts of a token: twice
                             act_out for gate and up                              */
    int64_t act_out;    /**< out of it                                            */
    int64_t residual;   /**< added to the stream                                  */
} weft_layer_width;
WEFT_API void weft_arch_layer_width(const weft_arch *a, int64_t layer,
                                    weft_layer_width *out);

/* ---- FLOPs ----------------------------------------------------------------------- */

typedef enum weft_recompute {
    WEFT_RECOMPUTE_NONE,      /**< model FLOPs: what training needs               */
    WEFT_RECOMPUTE_SELECTIVE, /**< hardware FLOPs: scores and weighted values of the
                                   forward pass twice (Korthikanti et al. 2022,
                                   section 5)                                     */
    WEFT_RECOMPUTE_FULL       /**< hardware FLOPs: the layers' forward pass twice */
} weft_recompute;

/** A convention that a FLOP count needs beside the number. */
typedef struct weft_flops_rule {
    int causal;               /**< 1: only pairs that the mask leaves; 0: full square */
    weft_recompute recompute; /**< NONE: model FLOPs                                  */
} weft_flops_rule;

/** "model FLOPs, causal", "hardware FLOPs with full recompute, full square"; buf >= 64
 *  bytes; returns buf. */
WEFT_API const char *weft_flops_rule_text(weft_flops_rule rule, char *buf);

/** FLOPs of one token, forward + backward (twice the forward), by part. */
typedef struct weft_flops {
    double matmul; /**< weights of the layers, those of a token's experts         */
    double scores; /**< q k^T and the weighted sum of v                           */
    double embed;  /**< patches; 0 for a table                                    */
    double head;   /**< output layer, tied or not; never recomputed               */
    double mtp;    /**< MTP modules, each with the output layer again             */
    double total;
} weft_flops;
WEFT_API void weft_arch_flops(const weft_arch *a, int64_t seq, weft_flops_rule rule,
                              weft_flops *out);
/** Forward FLOPs of one token in one layer: matmuls, and scores if asked for. */
WEFT_API double weft_arch_layer_flops(const weft_arch *a, int64_t layer, int64_t seq,
                                      int causal);
WEFT_API double weft_arch_score_flops(const weft_arch *a, int64_t layer, int64_t seq,
                                      int causal);
/** Forward FLOPs of one token in the output layer. */
WEFT_API double weft_arch_head_flops(const weft_arch *a);
/** Model FLOPs of one training token: total of weft_arch_flops(). For a dense model
 *  6 * matmul parameters + attention 12*layers*hidden*seq (full square) or half of it. */
WEFT_API double weft_arch_flops_per_token(const weft_arch *a, int64_t seq, int causal);

/** Tokens of one sample of an image model (class token included); 0 where the input is
 *  tokens. */
WEFT_API int64_t weft_arch_image_tokens(const weft_arch *a);

/** JSON object of the dimensions, "params" and "active_params". */
WEFT_API void weft_arch_write_json(const weft_arch *a, weft_writer *out);

WEFT_END
#endif
