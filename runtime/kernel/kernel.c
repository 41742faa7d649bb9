/* SPDX-License-Identifier: Apache-2.0 */
/* The public kernels: each calls the table of its dtype. */
#include "kernel/table.h"

void weft_k_layernorm(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h, double eps,
                      const void *x, const void *g, const void *b, void *y, void *mean,
                      void *rstd)
{
    k->table[t].layernorm(k, t, rows, h, eps, x, g, b, y, mean, rstd);
}

void weft_k_layernorm_dx(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                         const void *x, const void *g, const void *mean,
                         const void *rstd, const void *dy, int add, void *dx)
{
    k->table[t].layernorm_dx(k, t, rows, h, x, g, mean, rstd, dy, add, dx);
}

void weft_k_layernorm_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                         const void *x, const void *mean, const void *rstd,
                         const void *dy, void *dg, void *db)
{
    k->table[t].layernorm_dw(k, t, rows, h, x, mean, rstd, dy, dg, db);
}

void weft_k_bias_gelu(weft_kctx *k, weft_dtype t, int64_t rows, int64_t n,
                      const void *bias, void *u, void *y)
{
    k->table[t].bias_gelu(k, t, rows, n, bias, u, y);
}

void weft_k_gelu_dx(weft_kctx *k, weft_dtype t, int64_t n, const void *u,
                    const void *dy, void *du)
{
    k->table[t].gelu_dx(k, t, n, u, dy, du);
}

void weft_k_bias_residual(weft_kctx *k, weft_dtype t, weft_dtype zt, int64_t rows,
                          int64_t cols, const void *res, const void *z,
                          const void *bias, void *out)
{
    k->table[t].bias_residual(k, t, zt, rows, cols, res, z, bias, out);
}

void weft_k_bias_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t n, const void *dy,
                    void *db)
{
    k->table[t].bias_dw(k, t, rows, n, dy, db);
}

void weft_k_pack_qkv(weft_kctx *k, weft_dtype t, int64_t B, int64_t S, int64_t H,
                     int64_t d, const void *qkv, const void *bias, void *q, void *kk,
                     void *v)
{
    k->table[t].pack_qkv(k, t, B, S, H, d, qkv, bias, q, kk, v);
}

void weft_k_unpack_qkv(weft_kctx *k, weft_dtype t, int64_t B, int64_t S, int64_t H,
                       int64_t d, const void *dq, const void *dk, const void *dv,
                       void *dqkv)
{
    k->table[t].unpack_qkv(k, t, B, S, H, d, dq, dk, dv, dqkv);
}

void weft_k_merge_heads(weft_kctx *k, weft_dtype t, int64_t B, int64_t S, int64_t H,
                        int64_t d, const void *o, void *y)
{
    k->table[t].merge_heads(k, t, B, S, H, d, o, y);
}

void weft_k_split_heads(weft_kctx *k, weft_dtype t, int64_t B, int64_t S, int64_t H,
                        int64_t d, const void *y, void *o)
{
    k->table[t].split_heads(k, t, B, S, H, d, y, o);
}

void weft_k_softmax_causal(weft_kctx *k, weft_dtype t, int64_t n, int64_t S,
                           double scale, void *s)
{
    k->table[t].softmax_causal(k, t, n, S, scale, s);
}

void weft_k_softmax_causal_dx(weft_kctx *k, weft_dtype t, int64_t n, int64_t S,
                              double scale, const void *p, void *dp)
{
    k->table[t].softmax_causal_dx(k, t, n, S, scale, p, dp);
}

void weft_k_embed(weft_kctx *k, weft_dtype t, weft_dtype ot, int64_t rows, int64_t h,
                  int64_t first, int64_t count, const int32_t *tokens, const void *w,
                  void *out)
{
    k->table[t].embed(k, t, ot, rows, h, first, count, tokens, w, out);
}

void weft_k_embed_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h, int64_t first,
                     int64_t count, const int32_t *tokens, const void *dx, void *dw)
{
    k->table[t].embed_dw(k, t, rows, h, first, count, tokens, dx, dw);
}

void weft_k_add_position(weft_kctx *k, weft_dtype t, weft_dtype xt, int64_t rows,
                         int64_t h, const int32_t *pos, const void *x, const void *wpe,
                         void *out)
{
    k->table[t].add_position(k, t, xt, rows, h, pos, x, wpe, out);
}

void weft_k_position_dw(weft_kctx *k, weft_dtype t, int64_t rows, int64_t h,
                        const int32_t *pos, const void *dx, void *dw)
{
    k->table[t].position_dw(k, t, rows, h, pos, dx, dw);
}

void weft_k_ce_max(weft_kctx *k, weft_dtype t, int64_t rows, int64_t ld, int64_t count,
                   const void *logits, void *max)
{
    k->table[t].ce_max(k, t, rows, ld, count, logits, max);
}

void weft_k_ce_sum(weft_kctx *k, weft_dtype t, int64_t rows, int64_t ld, int64_t first,
                   int64_t count, const int32_t *targets, const void *logits,
                   const void *max, void *sum, void *target)
{
    k->table[t].ce_sum(k, t, rows, ld, first, count, targets, logits, max, sum, target);
}

void weft_k_ce_dx(weft_kctx *k, weft_dtype t, int64_t rows, int64_t ld, int64_t first,
                  int64_t count, const int32_t *targets, const void *max,
                  const void *sum, double scale, void *logits)
{
    k->table[t].ce_dx(k, t, rows, ld, first, count, targets, max, sum, scale, logits);
}

int64_t weft_k_clamp(weft_kctx *k, weft_dtype t, int64_t n, double c, const void *x,
                     void *y)
{
    return k->table[t].clamp(k, t, n, c, x, y);
}

void weft_k_clamp_dx(weft_kctx *k, weft_dtype t, int64_t n, double c, const void *x,
                     const void *dy, int add, void *dx)
{
    k->table[t].clamp_dx(k, t, n, c, x, dy, add, dx);
}

int64_t weft_k_clamp_causal(weft_kctx *k, weft_dtype t, int64_t n, int64_t S, double c,
                            const void *s, void *p)
{
    return k->table[t].clamp_causal(k, t, n, S, c, s, p);
}

void weft_k_clamp_causal_dx(weft_kctx *k, weft_dtype t, int64_t n, int64_t S, double c,
                            const void *s, void *dp)
{
    k->table[t].clamp_causal_dx(k, t, n, S, c, s, dp);
}

void weft_k_add(weft_kctx *k, weft_dtype t, int64_t n, const void *x, const void *y,
                void *z)
{
    k->table[t].add(k, t, n, x, y, z);
}

void weft_k_cast(weft_kctx *k, weft_dtype xt, weft_dtype yt, int64_t n, const void *x,
                 void *y)
{
    k->table[xt].cast(k, xt, yt, n, x, y);
}

double weft_k_sumsq(weft_kctx *k, weft_dtype t, int64_t n, const void *x)
{
    return k->table[t].sumsq(k, t, n, x);
}

double weft_k_absmax(weft_kctx *k, weft_dtype t, int64_t n, const void *x)
{
    return k->table[t].absmax(k, t, n, x);
}

void weft_k_adamw(weft_kctx *k, weft_dtype t, int64_t n, const weft_adamw *o,
                  const void *g, void *m, void *v, void *master, void *w)
{
    k->table[t].adamw(k, t, n, o, g, m, v, master, w);
}

void weft_k_sgd(weft_kctx *k, weft_dtype t, int64_t n, double lr, double grad_scale,
                const void *g, void *master, void *w)
{
    k->table[t].sgd(k, t, n, lr, grad_scale, g, master, w);
}
