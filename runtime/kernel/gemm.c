/* SPDX-License-Identifier: Apache-2.0 */
/* The front of weft_k_gemm(): defaults filled in, the call checked, the cases without a
 * product served here, so that a back end sees positive sizes and true strides only. */
#include "base/error.h"
#include "kernel/table.h"

static weft_status check_sizes(const weft_gemm *g)
{
    if (g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "gemm of m=%lld n=%lld k=%lld batch=%lld: none may be negative",
                       (long long)g->m, (long long)g->n, (long long)g->k,
                       (long long)g->batch);
    if (g->beta != 0 && g->beta != 1)
        return WF_FAIL(WEFT_E_INVALID, "gemm with beta %g: 0 or 1", g->beta);
    if (g->in != g->out && !(g->in == WEFT_BF16 && g->out == WEFT_F32))
        return WF_FAIL(WEFT_E_INVALID, "gemm from %s to %s: same type, or bf16 to f32",
                       weft_dtype_name(g->in), weft_dtype_name(g->out));
    return WEFT_OK;
}

static weft_status check_row(char name, int64_t ld, int64_t cols)
{
    if (ld >= cols) return WEFT_OK;
    return WF_FAIL(WEFT_E_MISMATCH, "gemm: rows of %c have %lld elements, %lld apart",
                   name, (long long)cols, (long long)ld);
}

/* C = beta * C for k = 0. */
static void scale_only(const weft_gemm *g)
{
    if (g->beta == 1) return;
    const int64_t size = weft_dtype_bytes(g->out);
    for (int64_t q = 0; q < g->batch; q++)
        for (int64_t i = 0; i < g->m; i++) {
            char *row = (char *)g->c + (q * g->sc + i * g->ldc) * size;
            for (int64_t j = 0; j < g->n * size; j++)
                row[j] = 0;
        }
}

weft_status weft_k_gemm(weft_kctx *k, const weft_gemm *in)
{
    weft_gemm g = *in;
    const int64_t a_cols = g.ta ? g.m : g.k, b_cols = g.tb ? g.k : g.n;
    WF_TRY(check_sizes(&g));
    if (g.batch == 0) g.batch = 1;
    if (g.lda == 0) g.lda = a_cols;
    if (g.ldb == 0) g.ldb = b_cols;
    if (g.ldc == 0) g.ldc = g.n;
    WF_TRY(check_row('A', g.lda, a_cols));
    WF_TRY(check_row('B', g.ldb, b_cols));
    WF_TRY(check_row('C', g.ldc, g.n));
    if (g.batch > 1 && g.sc == 0)
        return WF_FAIL(WEFT_E_MISMATCH, "gemm: %lld matrices C at one place (stride 0)",
                       (long long)g.batch);
    if (g.m == 0 || g.n == 0) return WEFT_OK;
    if (g.k == 0) {
        scale_only(&g);
        return WEFT_OK;
    }
    return k->table[g.in].gemm(k, &g);
}
