/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_NN_H
#define WF_NN_H
#include <weft/run/nn.h>

#include "base/error.h"

/* What the forward of one block keeps, in one slab. T tokens, h hidden, n = h/tp heads'
 * width, f = ffn/tp, H = local heads. */
enum {
    KEEP_A,  /* [T, h]      norm 1 output                        */
    KEEP_M1, /* [T]         its mean                             */
    KEEP_R1, /* [T]         its 1/std                            */
    KEEP_Q,  /* [B*H, S, d]                                      */
    KEEP_K,
    KEEP_V,
    KEEP_P,   /* [B*H, S, S] attention probabilities              */
    KEEP_RAW, /* [B*H, S, S] scores; bit-exact mode only          */
    KEEP_Y,   /* [T, n]      heads merged                         */
    KEEP_X1,  /* [T, h]      residual stream after attention      */
    KEEP_C,   /* [T, h]      norm 2 output                        */
    KEEP_M2,
    KEEP_R2,
    KEEP_U, /* [T, f]      before the activation                */
    KEEP_G, /* [T, f]      after it                             */
    KEEP_N
};

/* What backward_input leaves for backward_weight: the gradients of the outputs. */
enum {
    OUT_DZ,   /* [T, h] of the block's output (and of the MLP's)      */
    OUT_DU,   /* [T, f]                                               */
    OUT_DC,   /* [T, h] of norm 2's output                            */
    OUT_DX1,  /* [T, h] of the residual stream after attention        */
    OUT_DQKV, /* [T, 3n]                                              */
    OUT_DA,   /* [T, h] of norm 1's output                            */
    OUT_N
};

typedef struct wf_block {
    void *x;            /* [T, h] input; owned */
    void *keep[KEEP_N]; /* inside slab */
    void *slab;
    void *out[OUT_N]; /* owned, NULL when freed */
} wf_block;

struct weft_saved {
    wf_block *block; /* [n_layers] */
    int32_t *tokens, *targets;
    /* head */
    void *x, *xf, *mean, *rstd; /* input and output of the last norm */
    void *logits;
    void *dxf;
    void *dx0; /* gradient of the embedding, between I and W */
    weft_ce ce;
};

/* Geometry of a chunk. */
typedef struct wf_dims {
    int64_t T, B, S, h, n, f, H, d;
} wf_dims;
wf_dims wf_chunk_dims(const weft_chunk *c);

/* norm.c, the places that the bit-exact mode replaces */
weft_status wf_norm(weft_chunk *c, weft_role gain, int64_t layer, const void *x,
                    void *y, void *mean, void *rstd);
void wf_norm_dx(weft_chunk *c, weft_role gain, int64_t layer, const void *x,
                const void *mean, const void *rstd, const void *dy, void *dx);
void wf_norm_dw(weft_chunk *c, weft_role gain, int64_t layer, const void *x,
                const void *mean, const void *rstd, const void *dy);
void wf_activation(weft_chunk *c, int64_t layer, void *u, void *y);
void wf_activation_dx(weft_chunk *c, const void *u, void *dy);
void wf_probabilities(weft_chunk *c, void *scores, void *raw);
void wf_probabilities_dx(weft_chunk *c, const void *p, const void *raw, void *dp);

/* memory */
weft_status wf_take(weft_chunk *c, weft_tag tag, int64_t n, weft_dtype t, void **out);
void wf_give(weft_chunk *c, void *block);
const void *wf_weight(const weft_chunk *c, weft_role role, int64_t layer);
void *wf_grad(const weft_chunk *c, weft_role role, int64_t layer);

/* block.c and block_backward.c; layer is local, 0 .. n_layers-1 */
weft_status wf_block_forward(weft_chunk *c, int64_t layer, wf_block *b, void **x_out);
void wf_block_free(weft_chunk *c, wf_block *b);
/* dz becomes the block's; both != 0: weight gradients as well */
weft_status wf_block_backward(weft_chunk *c, int64_t layer, wf_block *b, void *dz,
                              int both, void **dx);
weft_status wf_block_backward_weight(weft_chunk *c, int64_t layer, wf_block *b);
/* partial sum [T, h] -> same, in the tensor type; the block `partial` is freed */
weft_status wf_reduced(weft_chunk *c, weft_tag tag, weft_view *partial, weft_event *ev,
                       void **out);

/* ends.c: embedding, output layer, loss */
weft_status wf_embed_forward(weft_chunk *c, const int32_t *tokens, void **x);
weft_status wf_embed_backward(weft_chunk *c, const int32_t *tokens, const void *dx);
weft_status wf_head_forward(weft_chunk *c, weft_saved *s, void *x, double *loss_sum);
weft_status wf_head_backward(weft_chunk *c, weft_saved *s, double scale, int both,
                             void **dx);
weft_status wf_head_backward_weight(weft_chunk *c, weft_saved *s);
void wf_head_free(weft_chunk *c, weft_saved *s);

/* exact.c */
void wf_exact_init(const weft_chunk *c, weft_param *p);
weft_status wf_exact_loss(const weft_chunk *c, const weft_view *logits,
                          const int32_t *targets, double *loss);
void wf_exact_loss_dx(const weft_chunk *c, weft_view *logits, const int32_t *targets);
#endif
