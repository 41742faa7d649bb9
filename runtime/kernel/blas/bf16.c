/* SPDX-License-Identifier: Apache-2.0 */
/* bf16 products where nothing on the machine multiplies bf16: widened copies in the TEMP
 * arena, an f32 product, one rounding at the end. */
#include "tensor/bf16.h"
#include "base/error.h"
#include "kernel/blas/blas.h"

static void widen(const uint16_t *x, int64_t rows, int64_t cols, int64_t ld, float *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            y[i * cols + j] = wf_bf16_widen(x[i * ld + j]);
}

static void narrow(const float *x, int64_t rows, int64_t cols, int64_t ld, uint16_t *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            y[i * ld + j] = wf_bf16_round(x[i * cols + j]);
}

/* Matrix q of the batch. room: A, B and, for a bf16 result, C in f32, dense. */
static weft_status one(weft_kctx *k, const weft_gemm *g, int64_t q, float *room)
{
    float *a = room, *b = a + g->m * g->k, *c = b + g->k * g->n;
    const int64_t a_rows = g->ta ? g->k : g->m, a_cols = g->ta ? g->m : g->k;
    const int64_t b_rows = g->tb ? g->n : g->k, b_cols = g->tb ? g->k : g->n;
    uint16_t *rounded = (uint16_t *)g->c + q * g->sc;
    weft_gemm p = *g;

    widen((const uint16_t *)g->a + q * g->sa, a_rows, a_cols, g->lda, a);
    widen((const uint16_t *)g->b + q * g->sb, b_rows, b_cols, g->ldb, b);
    p.in = p.out = WEFT_F32;
    p.batch = 1;
    p.a = a;
    p.b = b;
    p.lda = a_cols;
    p.ldb = b_cols;
    if (g->out == WEFT_F32) {
        p.c = (float *)g->c + q * g->sc;
        return wf_blas_gemm(k, &p);
    }
    if (g->beta != 0) widen(rounded, g->m, g->n, g->ldc, c);
    p.c = c;
    p.ldc = g->n;
    WF_TRY(wf_blas_gemm(k, &p));
    narrow(c, g->m, g->n, g->ldc, rounded);
    return WEFT_OK;
}

weft_status wf_blas_gemm_bf16(weft_kctx *k, const weft_gemm *g)
{
    const int64_t c_count = g->out == WEFT_BF16 ? g->m * g->n : 0;
    const int64_t count = g->m * g->k + g->k * g->n + c_count;
    void *room;
    WF_TRY(weft_arena_take(k->arena, WEFT_TEMP, count * (int64_t)sizeof(float), &room));
    weft_status st = WEFT_OK;
    for (int64_t q = 0; q < g->batch && st == WEFT_OK; q++)
        st = one(k, g, q, room);
    weft_arena_give(k->arena, room);
    return st;
}
