/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a back end is: for each dtype a table of functions, sparse. weft_kctx_create() lays
 * the tables over each other, `ref` (complete) first, so a back end's file holds only what
 * it improves. weft_k_NAME() checks and calls table[t].NAME.
 */
#ifndef WF_KERNEL_TABLE_H
#define WF_KERNEL_TABLE_H
#include <weft/run/kernel.h>

/* weft_k_NAME of kernel.h, except gemm, which has one dtype more. */
#define WF_KERNELS(X)                                                                  \
    X(layernorm)                                                                       \
    X(layernorm_dx)                                                                    \
    X(layernorm_dw)                                                                    \
    X(bias_gelu)                                                                       \
    X(gelu_dx)                                                                         \
    X(bias_residual)                                                                   \
    X(bias_dw)                                                                         \
    X(pack_qkv)                                                                        \
    X(unpack_qkv)                                                                      \
    X(merge_heads)                                                                     \
    X(split_heads)                                                                     \
    X(softmax_causal)                                                                  \
    X(softmax_causal_dx)                                                               \
    X(embed)                                                                           \
    X(embed_dw)                                                                        \
    X(add_position)                                                                    \
    X(position_dw)                                                                     \
    X(ce_max)                                                                          \
    X(ce_sum)                                                                          \
    X(ce_dx)                                                                           \
    X(clamp)                                                                           \
    X(clamp_dx)                                                                        \
    X(clamp_causal)                                                                    \
    X(clamp_causal_dx)                                                                 \
    X(add)                                                                             \
    X(cast)                                                                            \
    X(sumsq)                                                                           \
    X(absmax)                                                                          \
    X(adamw)                                                                           \
    X(sgd)

/* A pointer has the type of the public function, so the two cannot drift apart. */
#define WF_KERNEL_FIELD(name) __typeof__(weft_k_##name) *name;
typedef struct wf_kernels {
    __typeof__(weft_k_gemm) *gemm; /* table of weft_gemm.in */
    WF_KERNELS(WF_KERNEL_FIELD)
} wf_kernels;

struct weft_kctx {
    wf_kernels table[WEFT_N_DTYPES];
    weft_backend asked;
    int threads;
    weft_arena *arena;        /* TEMP only */
    struct wf_onednn *onednn; /* stream and primitives of this rank thread, or NULL */
    char text[128];           /* what weft_kctx_describe() says */
};

/* Lay a back end's tables over what is there; NULL entries keep what is there. */
void wf_kernels_overlay(weft_kctx *k, const wf_kernels *const over[WEFT_N_DTYPES]);
/* Add words to the description, after ", " if it has some. */
void wf_kctx_note(weft_kctx *k, const char *fmt, ...) WEFT_PRINTF(2, 3);

/* Each back end's only door: overlay, note, make state. */
weft_status wf_ref_install(weft_kctx *k);    /* everything, plain loops           */
weft_status wf_fast_install(weft_kctx *k);   /* f32, bf16: loops in vectors       */
weft_status wf_blas_install(weft_kctx *k);   /* gemm: f64, f32, bf16 by way of f32 */
weft_status wf_onednn_install(weft_kctx *k); /* gemm: f32, bf16                   */
void wf_onednn_remove(weft_kctx *k);

extern const wf_kernels wf_ref_f64, wf_ref_f32, wf_ref_bf16;
#endif
