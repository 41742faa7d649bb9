/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_ARCH_ROWS_H
#define WF_ARCH_ROWS_H
#include <weft/arch.h>

/* The tensor table as a grammar: each row names the features that a model or a layer must
 * have for the row to be there. */

typedef enum wf_dim {
    WF_ONE,
    WF_HIDDEN,
    WF_HIDDEN_2,
    WF_HIDDEN_3,
    WF_QKV, /* q, k, v of all heads        */
    WF_Q,   /* heads * head_dim            */
    WF_V,   /* heads * v_head_dim          */
    WF_HEADS,
    WF_Q_NORM,
    WF_K_NORM,
    WF_Q_LORA,
    WF_KV_LORA,
    WF_KV_DOWN,
    WF_KV_UP,
    WF_FFN,
    WF_FFN_IN, /* twice ffn where gated     */
    WF_EXPERTS,
    WF_EXPERT,
    WF_EXPERT_IN,
    WF_SHARED,
    WF_SHARED_IN,
    WF_VOCAB,
    WF_POSITIONS,
    WF_PATCH,   /* channels * patch^2       */
    WF_PATCH_1, /* patch^2                  */
    WF_CHANNELS,
    WF_CHANNELS_HIDDEN,
    WF_CLASSES,
    WF_DECODER /* decoder_layers * hidden: matrices one above the other */
} wf_dim;

typedef struct wf_row {
    const char *name;
    weft_role role;
    wf_dim size[2]; /* [out, in]; WF_ONE second: one dimension */
    int tp_dim;
    weft_init init;
    int residual;  /* ends a residual branch: starts smaller */
    uint32_t need; /* features, all of them */
} wf_row;

/* Parts of the table, in forward order. */
typedef enum wf_part {
    WF_BEFORE,
    WF_BLOCK,
    WF_AFTER,
    WF_MTP_IN, /* before and after the block of an MTP module */
    WF_MTP_OUT,
    WF_N_PARTS
} wf_part;

/* Features of the model (layer < 0), or of that layer; layers + 1 + i: MTP module i. */
uint32_t wf_features(const weft_arch *a, int64_t layer);
/* Rows of a part, whether there or not; a row is there when its needs are features. */
const wf_row *wf_rows(wf_part part, int *n);
int64_t wf_dim_size(const weft_arch *a, wf_dim d);
/* Matrices of the row: experts, or 1. */
int64_t wf_row_experts(const weft_arch *a, const wf_row *r);
#endif
