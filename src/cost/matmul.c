/* SPDX-License-Identifier: Apache-2.0 */
/* Matmuls with weights. y[m,n] = x[m,k] W^T forward; the gradient of x is [m,k] over n, that
 * of W is [n,k] over m. */
#include "cost/cost.h"

typedef struct gemm {
    double batch, rows, n, k; /* on one rank */
} gemm;

/* Experts are shared by ep: each of a rank's sees the tokens of all ep ranks. */
static gemm local(const wf_place *p, const weft_layer_gemm *g)
{
    gemm x = {1, p->tokens * g->rows, (double)g->n, (double)g->k};
    if (g->split == WEFT_GEMM_COLUMN) x.n /= p->t;
    if (g->split == WEFT_GEMM_ROW) x.k /= p->t;
    if (g->experts > 1) {
        x.batch = (double)g->experts / p->l->ep;
        x.rows = x.rows / x.batch;
        if (x.rows < 1) x.rows = 1;
    }
    return x;
}

/* Measured matmuls were timed with the sum. */
double wf_accumulate_s(const wf_place *p, double values)
{
    const weft_machine *m = &p->q->machine;
    if (m->n_gemms) return 0;
    return weft_machine_memory_s(m, 2 * p->q->options.grad_bytes * values);
}

void wf_matmul_price(const wf_place *p, int kind, wf_matmuls *out)
{
    const struct weft_cost_layer *layer = &p->q->derived.kind[kind];
    const weft_machine *m = &p->q->machine;
    weft_math math = (weft_math)p->q->options.math;
    wf_matmuls x = {.f = {0, layer->n_gemms}};

    x.i.kernels = x.w.kernels = layer->n_gemms;
    for (int i = 0; i < layer->n_gemms; i++) {
        const weft_layer_gemm *g = &layer->gemm[i];
        gemm a = local(p, g);
        double input = weft_machine_gemm_s(m, math, a.batch, a.rows, a.k, a.n);
        double weight = weft_machine_gemm_s(m, math, a.batch, a.n, a.k, a.rows);
        x.f.s += weft_machine_gemm_s(m, math, a.batch, a.rows, a.n, a.k);
        x.i.s += input;
        x.w.s += weight;
        x.w.s += wf_accumulate_s(p, a.batch * a.n * a.k);
        if (g->split == WEFT_GEMM_COLUMN) {
            x.column_i += input;
            x.column_w += weight;
        }
    }
    *out = x;
}
