/* SPDX-License-Identifier: Apache-2.0 */
/* Column- and row-parallel linear layers. "Column" and "row" follow the papers, where
 * y = x A: a column split of A is a split of the rows of our [out, in] weight. */
#include "base/error.h"
#include "shard/place.h"

/* No partial sum exceeds max|a| * max|b| * k, nor does the total what was there before
 * plus that. */
static void raise_bound(const weft_shard *s, const weft_gemm *g)
{
    int64_t batch = g->batch > 0 ? g->batch : 1;
    double a = weft_k_absmax(s->k, g->in, batch * g->m * g->k, g->a);
    double b = weft_k_absmax(s->k, g->in, batch * g->k * g->n, g->b);
    double c =
        g->beta == 0 ? 0 : weft_k_absmax(s->k, g->out, batch * g->m * g->n, g->c);
    double bound = a * b * (double)g->k + c;

    if (!(bound <= *s->largest)) *s->largest = bound;
}

weft_status weft_product(const weft_shard *s, const weft_gemm *g)
{
    if (s->largest) raise_bound(s, g);
    return weft_k_gemm(s->k, g);
}

/* c[m,n] (+)= op(a) op(b) */
static weft_status product(const weft_shard *s, int ta, int tb, int64_t m, int64_t n,
                           int64_t k, const void *a, const void *b, double beta,
                           weft_dtype out, void *c)
{
    weft_gemm g = {.ta = ta,
                   .tb = tb,
                   .m = m,
                   .n = n,
                   .k = k,
                   .alpha = 1,
                   .beta = beta,
                   .in = s->t,
                   .out = out,
                   .a = a,
                   .b = b,
                   .c = c};
    return weft_product(s, &g);
}

/* dw [n, k] += dy^T x; db [n] += column sums of dy */
static weft_status weight_grad(const weft_shard *s, const weft_view *x,
                               const weft_view *dy, void *dw, void *db)
{
    if (db) weft_k_bias_dw(s->k, s->t, dy->rows, dy->cols, dy->data, db);
    return product(s, 1, 0, dy->cols, x->cols, x->rows, dy->data, x->data, 1,
                   weft_dtype_acc(s->t), dw);
}

weft_status weft_column_forward(const weft_shard *s, const weft_view *x, const void *w,
                                weft_view *y)
{
    WF_TRY(wf_expect(s, "column-parallel input", x, WEFT_SAME, 0));
    y->at[WEFT_TP] = (weft_placement){WEFT_SPLIT, 1};
    return product(s, 0, 1, x->rows, y->cols, x->cols, x->data, w, 0, s->t, y->data);
}

weft_status weft_column_backward_input(const weft_shard *s, const weft_view *dy,
                                       const void *w, weft_view *dx)
{
    WF_TRY(wf_expect(s, "column-parallel output gradient", dy, WEFT_SPLIT, 1));
    dx->at[WEFT_TP] = (weft_placement){WEFT_PARTIAL_SUM, 0};
    return product(s, 0, 0, dy->rows, dx->cols, dy->cols, dy->data, w, 0, dx->dtype,
                   dx->data);
}

weft_status weft_column_backward_weight(const weft_shard *s, const weft_view *x,
                                        const weft_view *dy, void *dw, void *db)
{
    WF_TRY(wf_expect(s, "column-parallel input", x, WEFT_SAME, 0));
    WF_TRY(wf_expect(s, "column-parallel output gradient", dy, WEFT_SPLIT, 1));
    return weight_grad(s, x, dy, dw, db);
}

weft_status weft_row_forward(const weft_shard *s, const weft_view *y, const void *w,
                             weft_view *z)
{
    WF_TRY(wf_expect(s, "row-parallel input", y, WEFT_SPLIT, 1));
    z->at[WEFT_TP] = (weft_placement){WEFT_PARTIAL_SUM, 0};
    return product(s, 0, 1, y->rows, z->cols, y->cols, y->data, w, 0, z->dtype,
                   z->data);
}

weft_status weft_row_backward_input(const weft_shard *s, const weft_view *dz,
                                    const void *w, weft_view *dy)
{
    WF_TRY(wf_expect(s, "row-parallel output gradient", dz, WEFT_SAME, 0));
    dy->at[WEFT_TP] = (weft_placement){WEFT_SPLIT, 1};
    return product(s, 0, 0, dz->rows, dy->cols, dz->cols, dz->data, w, 0, s->t,
                   dy->data);
}

weft_status weft_row_backward_weight(const weft_shard *s, const weft_view *y,
                                     const weft_view *dz, void *dw, void *db)
{
    WF_TRY(wf_expect(s, "row-parallel input", y, WEFT_SPLIT, 1));
    WF_TRY(wf_expect(s, "row-parallel output gradient", dz, WEFT_SAME, 0));
    return weight_grad(s, y, dz, dw, db);
}
