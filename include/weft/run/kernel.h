/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/kernel.h
 * The compute kernels of one rank, as one table per back end with fallback to `ref`
 * (plain loops, the oracle). No kernel communicates or allocates outside the TEMP arena.
 *
 * Types: `T` = the tensor type (f64, f32, bf16); `A` = weft_dtype_acc(T): statistics,
 * gradients of weights, optimizer state. Every array is dense row-major unless a leading
 * dimension is given. `n` arguments are element counts; shapes stand beside each argument.
 */
#ifndef WEFT_RUN_KERNEL_H
#define WEFT_RUN_KERNEL_H

#include <weft/run/tensor.h>

WEFT_BEGIN

/** Per-rank-thread state: back end, thread count, arena for scratch, primitive cache. */
typedef struct weft_kctx weft_kctx;

typedef enum weft_backend {
    WEFT_BACKEND_AUTO,
    WEFT_BACKEND_REF,
    WEFT_BACKEND_BLAS,
    WEFT_BACKEND_ONEDNN
} weft_backend;

/** Call on the thread that will use it. threads >= 1: OpenMP threads of this rank.
 *  REF: plain loops, one thread. Any other: f32 and bf16 kernels in vectors (the best set
 *  this CPU runs), f64 kernels by ref. BLAS: GEMM of f64 and f32, and of bf16 by way of f32.
 *  ONEDNN: as BLAS where this build has it, but GEMM of f32 and bf16 by oneDNN. AUTO: as
 *  ONEDNN, but f32 GEMM without a batch by BLAS, which is faster there.
 *  Asking for a back end that this build lacks fails and names those it has. */
WEFT_API WEFT_MUST_CHECK weft_status weft_kctx_create(weft_backend b, int threads,
                                                      weft_arena *arena,
                                                      weft_kctx **out);
WEFT_API void weft_kctx_destroy(weft_kctx *k);
WEFT_API const char *weft_kctx_describe(
    const weft_kctx
        *k); /**< "avx512 loops, openblas 0.3.21, onednn 2.6.3 (amx_bf16), 2 threads" */

/**
 * C = alpha * op(A) op(B) + beta * C, for each of `batch` matrices.
 * op(A) is [m, k], op(B) is [k, n], C is [m, n]. ta: A is stored [k, m]; tb: B is stored
 * [n, k]. lda, ldb, ldc: row strides (elements); 0 = dense. sa, sb, sc: batch strides.
 * in = type of A and B; out = type of C: T->T, or bf16->f32 (weight gradients and partial
 * sums). beta is 0 or 1. alpha any. Accumulates in at least A.
 */
typedef struct weft_gemm {
    int ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, sa, sb, sc; /* batch 0 means 1 */
    double alpha, beta;
    weft_dtype in, out;
    const void *a, *b;
    void *c;
} weft_gemm;

WEFT_API WEFT_MUST_CHECK weft_status weft_k_gemm(weft_kctx *k, const weft_gemm *g);

/** y = (x - mean) * rstd * g + b per row. x, y [T,h] T; g, b [h] T; mean, rstd [T] A. */
WEFT_API void weft_k_layernorm(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                               double eps, const void *x, const void *g, const void *b,
                               void *y, void *mean, void *rstd);
/** dx (+)= d loss/d x from dy [T,h]; add = 1 accumulates onto dx (residual path). */
WEFT_API void weft_k_layernorm_dx(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                                  const void *x, const void *g, const void *mean,
                                  const void *rstd, const void *dy, int add, void *dx);
/** dg += sum dy*xhat, db += sum dy, [h] A. */
WEFT_API void weft_k_layernorm_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                                  const void *x, const void *mean, const void *rstd,
                                  const void *dy, void *dg, void *db);

/** u += bias (in place, u stays pre-activation), y = gelu_tanh(u). u, y [T,n] T; bias [n] T. */
WEFT_API void weft_k_bias_gelu(weft_kctx *k, weft_dtype t, int64_t rows, int64_t n,
                               const void *bias, void *u, void *y);
/** du = dy * gelu'(u), in place allowed (du == dy). */
WEFT_API void weft_k_gelu_dx(weft_kctx *k, weft_dtype t, int64_t n, const void *u,
                             const void *dy, void *du);
/** out[i] = res[i] + bias[i % cols] + z[i].  z has type zt (T or A: a reduced partial sum). */
WEFT_API void weft_k_bias_residual(weft_kctx *k, weft_dtype t, weft_dtype zt,
                                   int64_t rows, int64_t cols, const void *res,
                                   const void *z, const void *bias, void *out);
/** db[j] += sum over rows of dy[., j]. dy [T,n] T; db [n] A. */
WEFT_API void weft_k_bias_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t n,
                             const void *dy, void *db);

/** qkv [B*S, 3*H*d] (q | k | v column blocks of H*d) + bias [3*H*d] -> q, k, v each
 *  [B*H, S, d] dense: heads packed before the attention GEMMs. */
WEFT_API void weft_k_pack_qkv(weft_kctx *k, weft_dtype t, int64_t B, int64_t S,
                              int64_t H, int64_t d, const void *qkv, const void *bias,
                              void *q, void *kk, void *v);
/** the reverse, without bias: dq, dk, dv -> dqkv. */
WEFT_API void weft_k_unpack_qkv(weft_kctx *k, weft_dtype t, int64_t B, int64_t S,
                                int64_t H, int64_t d, const void *dq, const void *dk,
                                const void *dv, void *dqkv);
/** o [B*H, S, d] <-> y [B*S, H*d] */
WEFT_API void weft_k_merge_heads(weft_kctx *k, weft_dtype t, int64_t B, int64_t S,
                                 int64_t H, int64_t d, const void *o, void *y);
WEFT_API void weft_k_split_heads(weft_kctx *k, weft_dtype t, int64_t B, int64_t S,
                                 int64_t H, int64_t d, const void *y, void *o);
/** Causal softmax in place of scores [n, S, S] T, scaled before: p = softmax(scale*s) over
 *  columns <= row, 0 above the diagonal. */
WEFT_API void weft_k_softmax_causal(weft_kctx *k, weft_dtype t, int64_t n, int64_t S,
                                    double scale, void *s);
/** ds = scale * p * (dp - sum(dp*p)) in place of dp; 0 above the diagonal. */
WEFT_API void weft_k_softmax_causal_dx(weft_kctx *k, weft_dtype t, int64_t n, int64_t S,
                                       double scale, const void *p, void *dp);

/** Vocab shard [first, first+count) (count: logical rows of it, padding excluded): out[i] =
 *  w[tok - first] if inside, else 0. out [T,h] type ot (T, or A for a partial sum). */
WEFT_API void weft_k_embed(weft_kctx *k, weft_dtype t, weft_dtype ot, int64_t rows,
                           int64_t h, int64_t first, int64_t count,
                           const int32_t *tokens, const void *w, void *out);
/** dw[tok - first] += dx row (A). */
WEFT_API void weft_k_embed_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                              int64_t first, int64_t count, const int32_t *tokens,
                              const void *dx, void *dw);
/** out = x (type xt) + wpe[pos[i]]; out, wpe T. */
WEFT_API void weft_k_add_position(weft_kctx *k, weft_dtype t, weft_dtype xt,
                                  int64_t rows, int64_t h, const int32_t *pos,
                                  const void *x, const void *wpe, void *out);
WEFT_API void weft_k_position_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                                 const int32_t *pos, const void *dx, void *dw);

/** Vocab-parallel cross-entropy, local parts. logits [T, ld] T, valid columns 0..count-1
 *  hold vocabulary rows first..first+count-1 (columns >= count are padding, ignored).
 *  max[i] = max over valid columns (-inf when count = 0). A. */
WEFT_API void weft_k_ce_max(weft_kctx *k, weft_dtype t, int64_t rows, int64_t ld,
                            int64_t count, const void *logits, void *max);
/** sum[i] = sum exp(logit - max[i]); target[i] = logit[target] - max[i] if it is local, else 0.
 *  targets < 0 are ignored tokens (target[i] = 0). A. */
WEFT_API void weft_k_ce_sum(weft_kctx *k, weft_dtype t, int64_t rows, int64_t ld,
                            int64_t first, int64_t count, const int32_t *targets,
                            const void *logits, const void *max, void *sum,
                            void *target);
/** logits := (exp(logit - max)/sum - onehot) * scale in place; 0 for ignored tokens and
 *  padding columns. */
WEFT_API void weft_k_ce_dx(weft_kctx *k, weft_dtype t, int64_t rows, int64_t ld,
                           int64_t first, int64_t count, const int32_t *targets,
                           const void *max, const void *sum, double scale,
                           void *logits);

/** Bit-exact mode: y = clamp(x, -c, c); returns how many elements were outside. */
WEFT_API int64_t weft_k_clamp(weft_kctx *k, weft_dtype t, int64_t n, double c,
                              const void *x, void *y);
/** dx (+)= dy where |x| <= c, else 0. */
WEFT_API void weft_k_clamp_dx(weft_kctx *k, weft_dtype t, int64_t n, double c,
                              const void *x, const void *dy, int add, void *dx);
/** Causal clamp of scores [n,S,S] in place (0 above the diagonal), and its gradient from the
 *  unclamped scores s: ds = dp inside the clamp and causal, else 0, in place of dp. */
WEFT_API int64_t weft_k_clamp_causal(weft_kctx *k, weft_dtype t, int64_t n, int64_t S,
                                     double c, const void *s, void *p);
WEFT_API void weft_k_clamp_causal_dx(weft_kctx *k, weft_dtype t, int64_t n, int64_t S,
                                     double c, const void *s, void *dp);

/** z = x + y (T), z may be x or y. */
WEFT_API void weft_k_add(weft_kctx *k, weft_dtype t, int64_t n, const void *x,
                         const void *y, void *z);
/** y = x converted between types. */
WEFT_API void weft_k_cast(weft_kctx *k, weft_dtype xt, weft_dtype yt, int64_t n,
                          const void *x, void *y);
/** sum of squares in double of x [n] (A or T), pairwise so that it does not drift. */
WEFT_API double weft_k_sumsq(weft_kctx *k, weft_dtype t, int64_t n, const void *x);
/** max |x|; NaN if any element is NaN (used for finiteness checks). */
WEFT_API double weft_k_absmax(weft_kctx *k, weft_dtype t, int64_t n, const void *x);

/** AdamW (Loshchilov & Hutter 2019, decoupled decay), all A except w (T):
 *  g' = g*grad_scale; m = b1 m + (1-b1) g'; v = b2 v + (1-b2) g'^2;
 *  master -= lr*( (m/(1-b1^step)) / (sqrt(v/(1-b2^step)) + eps) + decay*master ); w = master.
 *  master may equal w when T == A. */
typedef struct weft_adamw {
    double lr, beta1, beta2, eps, decay, grad_scale;
    int64_t step; /**< from 1 */
} weft_adamw;
WEFT_API void weft_k_adamw(weft_kctx *k, weft_dtype t, int64_t n, const weft_adamw *o,
                           const void *g, void *m, void *v, void *master, void *w);
/** w -= lr * grad_scale * g, via master as above. */
WEFT_API void weft_k_sgd(weft_kctx *k, weft_dtype t, int64_t n, double lr,
                         double grad_scale, const void *g, void *master, void *w);

WEFT_END
#endif
