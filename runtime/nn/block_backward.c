/* SPDX-License-Identifier: Apache-2.0 */
/* Backward of one block. The input gradient of each half ends in f's all-reduce; in a
 * full backward the weight gradients of that half run while it is on its way. */
#include "nn/nn.h"

weft_status wf_reduced(weft_chunk *c, weft_tag tag, weft_view *partial, weft_event *ev,
                       void **out)
{
    WF_TRY(weft_reduce_finish(&c->sh, partial, ev));
    if (partial->dtype == c->sh.t) {
        *out = partial->data;
        return WEFT_OK;
    }
    int64_t n = partial->rows * partial->cols;
    WF_TRY(wf_take(c, tag, n, c->sh.t, out));
    weft_k_cast(c->sh.k, partial->dtype, c->sh.t, n, partial->data, *out);
    wf_give(c, partial->data);
    return WEFT_OK;
}

/* What lives until backward_weight is activation memory, not scratch. */
static weft_tag tag_of(int both)
{
    return both ? WEFT_TEMP : WEFT_ACT;
}

/* dy W, and f's reduction started */
static weft_status input_partial(weft_chunk *c, weft_tag tag, weft_purpose why,
                                 const weft_view *dy, const void *w, weft_view *dx,
                                 weft_event *ev)
{
    wf_dims g = wf_chunk_dims(c);

    *dx = weft_view_partial(NULL, weft_partial_type(&c->sh), g.T, g.h);
    WF_TRY(wf_take(c, tag, g.T * g.h, dx->dtype, &dx->data));
    WF_TRY(weft_column_backward_input(&c->sh, dy, w, dx));
    return weft_reduce_start(&c->sh, why, dx, ev);
}

static weft_status mlp_weight(weft_chunk *c, int64_t layer, wf_block *b)
{
    wf_dims g = wf_chunk_dims(c);
    weft_dtype t = c->sh.t;
    weft_view act = weft_view_split(b->keep[KEEP_G], t, g.T, g.f, 1);
    weft_view dz = weft_view_of(b->out[OUT_DZ], t, g.T, g.h);
    weft_view in = weft_view_of(b->keep[KEEP_C], t, g.T, g.h);
    weft_view du = weft_view_split(b->out[OUT_DU], t, g.T, g.f, 1);

    WF_TRY(weft_row_backward_weight(&c->sh, &act, &dz, wf_grad(c, WEFT_PROJ_W, layer),
                                    wf_grad(c, WEFT_PROJ_B, layer)));
    return weft_column_backward_weight(&c->sh, &in, &du, wf_grad(c, WEFT_FC_W, layer),
                                       wf_grad(c, WEFT_FC_B, layer));
}

static weft_status attention_weight(weft_chunk *c, int64_t layer, wf_block *b)
{
    wf_dims g = wf_chunk_dims(c);
    weft_dtype t = c->sh.t;
    weft_view y = weft_view_split(b->keep[KEEP_Y], t, g.T, g.n, 1);
    weft_view dx1 = weft_view_of(b->out[OUT_DX1], t, g.T, g.h);
    weft_view a = weft_view_of(b->keep[KEEP_A], t, g.T, g.h);
    weft_view dqkv = weft_view_split(b->out[OUT_DQKV], t, g.T, 3 * g.n, 1);

    WF_TRY(weft_row_backward_weight(&c->sh, &y, &dx1, wf_grad(c, WEFT_OUT_W, layer),
                                    wf_grad(c, WEFT_OUT_B, layer)));
    return weft_column_backward_weight(&c->sh, &a, &dqkv, wf_grad(c, WEFT_QKV_W, layer),
                                       wf_grad(c, WEFT_QKV_B, layer));
}

static void norm_weights(weft_chunk *c, int64_t layer, wf_block *b)
{
    wf_norm_dw(c, WEFT_LN2_G, layer, b->keep[KEEP_X1], b->keep[KEEP_M2],
               b->keep[KEEP_R2], b->out[OUT_DC]);
    wf_norm_dw(c, WEFT_LN1_G, layer, b->x, b->keep[KEEP_M1], b->keep[KEEP_R1],
               b->out[OUT_DA]);
}

/* dx [T,h] = res + norm backward of dy */
static weft_status through_norm(weft_chunk *c, weft_role gain, int64_t layer,
                                const void *x, const void *mean, const void *rstd,
                                const void *dy, const void *res, void **dx)
{
    wf_dims g = wf_chunk_dims(c);

    WF_TRY(wf_take(c, WEFT_ACT, g.T * g.h, c->sh.t, dx));
    weft_k_cast(c->sh.k, c->sh.t, c->sh.t, g.T * g.h, res, *dx);
    wf_norm_dx(c, gain, layer, x, mean, rstd, dy, *dx);
    return WEFT_OK;
}

static weft_status mlp_backward(weft_chunk *c, int64_t layer, wf_block *b, int both)
{
    wf_dims g = wf_chunk_dims(c);
    weft_view dz = weft_view_of(b->out[OUT_DZ], c->sh.t, g.T, g.h);
    weft_view du = weft_view_split(NULL, c->sh.t, g.T, g.f, 1);
    weft_view dc;
    weft_event ev = {0};

    WF_TRY(wf_take(c, tag_of(both), g.T * g.f, c->sh.t, &b->out[OUT_DU]));
    du.data = b->out[OUT_DU];
    WF_TRY(weft_row_backward_input(&c->sh, &dz, wf_weight(c, WEFT_PROJ_W, layer), &du));
    wf_activation_dx(c, b->keep[KEEP_U], du.data);
    WF_TRY(input_partial(c, tag_of(both), WEFT_FOR_F_MLP, &du,
                         wf_weight(c, WEFT_FC_W, layer), &dc, &ev));
    if (both) WF_TRY(mlp_weight(c, layer, b));
    WF_TRY(wf_reduced(c, tag_of(both), &dc, &ev, &b->out[OUT_DC]));
    return through_norm(c, WEFT_LN2_G, layer, b->keep[KEEP_X1], b->keep[KEEP_M2],
                        b->keep[KEEP_R2], b->out[OUT_DC], b->out[OUT_DZ],
                        &b->out[OUT_DX1]);
}

static weft_status heads_gemm(weft_chunk *c, int ta, int tb, int64_t m, int64_t n,
                              int64_t k, const void *a, const void *b, void *out)
{
    wf_dims g = wf_chunk_dims(c);
    weft_gemm x = {.ta = ta,
                   .tb = tb,
                   .m = m,
                   .n = n,
                   .k = k,
                   .batch = g.B * g.H,
                   .sa = m * k,
                   .sb = k * n,
                   .sc = m * n,
                   .alpha = 1,
                   .in = c->sh.t,
                   .out = c->sh.t,
                   .a = a,
                   .b = b,
                   .c = out};
    return weft_product(&c->sh, &x);
}

/* dqkv from do [B*H,S,d]:  dv = p^T do, dp = do v^T, ds, dq = ds k, dk = ds^T q */
static weft_status heads_backward(weft_chunk *c, wf_block *b, const void *d_o,
                                  void *dqkv)
{
    wf_dims g = wf_chunk_dims(c);
    void *const *keep = b->keep;
    void *dq, *dk, *dv, *ds;

    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.n, c->sh.t, &dq));
    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.n, c->sh.t, &dk));
    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.n, c->sh.t, &dv));
    WF_TRY(wf_take(c, WEFT_TEMP, g.B * g.H * g.S * g.S, c->sh.t, &ds));
    WF_TRY(heads_gemm(c, 1, 0, g.S, g.d, g.S, keep[KEEP_P], d_o, dv));
    WF_TRY(heads_gemm(c, 0, 1, g.S, g.S, g.d, d_o, keep[KEEP_V], ds));
    wf_probabilities_dx(c, keep[KEEP_P], keep[KEEP_RAW], ds);
    WF_TRY(heads_gemm(c, 0, 0, g.S, g.d, g.S, ds, keep[KEEP_K], dq));
    WF_TRY(heads_gemm(c, 1, 0, g.S, g.d, g.S, ds, keep[KEEP_Q], dk));
    weft_k_unpack_qkv(c->sh.k, c->sh.t, g.B, g.S, g.H, g.d, dq, dk, dv, dqkv);
    wf_give(c, dq);
    wf_give(c, dk);
    wf_give(c, dv);
    wf_give(c, ds);
    return WEFT_OK;
}

static weft_status attention_backward(weft_chunk *c, int64_t layer, wf_block *b,
                                      int both, void **dx)
{
    wf_dims g = wf_chunk_dims(c);
    weft_dtype t = c->sh.t;
    weft_view dx1 = weft_view_of(b->out[OUT_DX1], t, g.T, g.h);
    weft_view dy = weft_view_split(NULL, t, g.T, g.n, 1);
    weft_view dqkv = weft_view_split(NULL, t, g.T, 3 * g.n, 1);
    weft_view da;
    weft_event ev = {0};
    void *d_o;

    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.n, t, &dy.data));
    WF_TRY(weft_row_backward_input(&c->sh, &dx1, wf_weight(c, WEFT_OUT_W, layer), &dy));
    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.n, t, &d_o));
    weft_k_split_heads(c->sh.k, t, g.B, g.S, g.H, g.d, dy.data, d_o);
    wf_give(c, dy.data);
    WF_TRY(wf_take(c, tag_of(both), g.T * 3 * g.n, t, &b->out[OUT_DQKV]));
    dqkv.data = b->out[OUT_DQKV];
    WF_TRY(heads_backward(c, b, d_o, dqkv.data));
    wf_give(c, d_o);
    WF_TRY(input_partial(c, tag_of(both), WEFT_FOR_F_ATTN, &dqkv,
                         wf_weight(c, WEFT_QKV_W, layer), &da, &ev));
    if (both) WF_TRY(attention_weight(c, layer, b));
    WF_TRY(wf_reduced(c, tag_of(both), &da, &ev, &b->out[OUT_DA]));
    return through_norm(c, WEFT_LN1_G, layer, b->x, b->keep[KEEP_M1], b->keep[KEEP_R1],
                        b->out[OUT_DA], b->out[OUT_DX1], dx);
}

weft_status wf_block_backward(weft_chunk *c, int64_t layer, wf_block *b, void *dz,
                              int both, void **dx)
{
    b->out[OUT_DZ] = dz;
    WF_TRY(mlp_backward(c, layer, b, both));
    WF_TRY(attention_backward(c, layer, b, both, dx));
    if (!both) return WEFT_OK;
    norm_weights(c, layer, b);
    wf_block_free(c, b);
    return WEFT_OK;
}

weft_status wf_block_backward_weight(weft_chunk *c, int64_t layer, wf_block *b)
{
    WF_TRY(mlp_weight(c, layer, b));
    WF_TRY(attention_weight(c, layer, b));
    norm_weights(c, layer, b);
    wf_block_free(c, b);
    return WEFT_OK;
}
