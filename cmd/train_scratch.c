/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "cmd/train_machine.h"

/* The products of heads_backward() in runtime/nn: [S, d] and [S, S] in all three orders. */
typedef struct form {
    int ta, tb, square; /* square: the result is [S, S] */
} form;
static const form forms[] = {{1, 0, 0}, {0, 1, 1}, {0, 0, 0}};

static weft_gemm product(const weft_train_config *c, const form *f)
{
    const weft_layout *l = &c->layout;
    int64_t S = l->seq, d = c->arch.head_dim;
    weft_gemm g = {.ta = f->ta,
                   .tb = f->tb,
                   .m = S,
                   .n = f->square ? S : d,
                   .k = f->square ? d : S,
                   .batch = l->micro_batch * c->arch.heads / l->tp,
                   .alpha = 1,
                   .in = c->dtype,
                   .out = c->dtype};
    g.sa = g.m * g.k;
    g.sb = g.k * g.n;
    g.sc = g.m * g.n;
    return g;
}

static weft_status run(const weft_train_config *c, weft_arena *a, weft_kctx *k)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        weft_gemm g = product(c, &forms[i]);
        int64_t size = weft_dtype_bytes(c->dtype) * g.batch;
        void *x, *y;
        WF_TRY(weft_arena_zero(a, WEFT_ACT, size * g.sa, &x));
        WF_TRY(weft_arena_zero(a, WEFT_ACT, size * g.sb, &y));
        g.a = x;
        g.b = y;
        WF_TRY(weft_arena_take(a, WEFT_ACT, size * g.sc, &g.c));
        WF_TRY(weft_k_gemm(k, &g));
        weft_arena_give(a, x);
        weft_arena_give(a, y);
        weft_arena_give(a, g.c);
    }
    return WEFT_OK;
}

weft_status wf_train_scratch(const weft_train_config *c, double *bytes)
{
    weft_arena *a;
    weft_kctx *k = NULL;

    WF_TRY(weft_arena_create(0, &a));
    weft_status st = weft_kctx_create(c->backend, c->threads, a, &k);
    if (st == WEFT_OK) st = run(c, a, k);
    if (st == WEFT_OK) *bytes = (double)weft_arena_peak(a, WEFT_TEMP);
    weft_kctx_destroy(k);
    weft_arena_destroy(a);
    return st;
}
