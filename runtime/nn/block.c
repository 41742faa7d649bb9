/* SPDX-License-Identifier: Apache-2.0 */
/* Forward of one block on one TP rank.
 *
 *   x [T,h] -> norm 1 -> a -> qkv [T,3n] split -> heads -> y [T,n] split -> z [T,h]+tp
 *   g: z same;  x1 = x + z + bias -> norm 2 -> c -> u [T,f] split -> gelu -> z [T,h]+tp
 *   g: z same;  x2 = x1 + z + bias
 */
#include "nn/nn.h"

static int64_t keep_elems(const weft_chunk *c, int what)
{
    wf_dims g = wf_chunk_dims(c);

    switch (what) {
    case KEEP_A:
    case KEEP_X1:
    case KEEP_C: return g.T * g.h;
    case KEEP_M1:
    case KEEP_R1:
    case KEEP_M2:
    case KEEP_R2: return g.T;
    case KEEP_P: return g.B * g.H * g.S * g.S;
    case KEEP_RAW: return c->cfg.exact > 0 ? g.B * g.H * g.S * g.S : 0;
    case KEEP_U:
    case KEEP_G: return g.T * g.f;
    }
    return g.T * g.n; /* q k v y */
}

static int64_t keep_bytes(const weft_chunk *c, int what)
{
    int stat = what == KEEP_M1 || what == KEEP_R1 || what == KEEP_M2 || what == KEEP_R2;
    weft_dtype t = stat ? weft_dtype_acc(c->sh.t) : c->sh.t;
    int64_t bytes = keep_elems(c, what) * weft_dtype_bytes(t);

    return (bytes + 63) / 64 * 64;
}

static weft_status take_slab(weft_chunk *c, wf_block *b)
{
    int64_t total = 0;

    for (int i = 0; i < KEEP_N; i++)
        total += keep_bytes(c, i);
    WF_TRY(weft_arena_take(c->sh.arena, WEFT_ACT, total, &b->slab));
    char *p = b->slab;
    for (int i = 0; i < KEEP_N; i++) {
        b->keep[i] = p;
        p += keep_bytes(c, i);
    }
    return WEFT_OK;
}

void wf_block_free(weft_chunk *c, wf_block *b)
{
    wf_give(c, b->slab);
    wf_give(c, b->x);
    for (int i = 0; i < OUT_N; i++)
        wf_give(c, b->out[i]);
    *b = (wf_block){0};
}

/* z [T,h]+tp = y W^T, summed over TP; out = res + z + bias */
static weft_status row_residual(weft_chunk *c, weft_purpose why, const weft_view *y,
                                const void *w, const void *res, const void *bias,
                                void *out)
{
    wf_dims g = wf_chunk_dims(c);
    weft_view z = weft_view_partial(NULL, weft_partial_type(&c->sh), g.T, g.h);
    weft_event ev = {0};

    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.h, z.dtype, &z.data));
    WF_TRY(weft_row_forward(&c->sh, y, w, &z));
    WF_TRY(weft_reduce_start(&c->sh, why, &z, &ev));
    WF_TRY(weft_reduce_finish(&c->sh, &z, &ev));
    weft_k_bias_residual(c->sh.k, c->sh.t, z.dtype, g.T, g.h, res, z.data, bias, out);
    wf_give(c, z.data);
    return WEFT_OK;
}

/* y [T,n] = attention of the local heads over a [T,h] */
static weft_status attention(weft_chunk *c, int64_t layer, wf_block *b)
{
    wf_dims g = wf_chunk_dims(c);
    weft_dtype t = c->sh.t;
    weft_view a = weft_view_of(b->keep[KEEP_A], t, g.T, g.h);
    weft_view qkv = weft_view_split(NULL, t, g.T, 3 * g.n, 1);
    void *o;

    WF_TRY(wf_take(c, WEFT_TEMP, g.T * 3 * g.n, t, &qkv.data));
    WF_TRY(weft_column_forward(&c->sh, &a, wf_weight(c, WEFT_QKV_W, layer), &qkv));
    weft_k_pack_qkv(c->sh.k, t, g.B, g.S, g.H, g.d, qkv.data,
                    wf_weight(c, WEFT_QKV_B, layer), b->keep[KEEP_Q], b->keep[KEEP_K],
                    b->keep[KEEP_V]);
    wf_give(c, qkv.data);
    weft_gemm scores = {.tb = 1,
                        .m = g.S,
                        .n = g.S,
                        .k = g.d,
                        .batch = g.B * g.H,
                        .sa = g.S * g.d,
                        .sb = g.S * g.d,
                        .sc = g.S * g.S,
                        .alpha = 1,
                        .in = t,
                        .out = t,
                        .a = b->keep[KEEP_Q],
                        .b = b->keep[KEEP_K],
                        .c = b->keep[KEEP_P]};
    WF_TRY(weft_product(&c->sh, &scores));
    wf_probabilities(c, b->keep[KEEP_P], b->keep[KEEP_RAW]);
    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.n, t, &o));
    weft_gemm mix = {.m = g.S,
                     .n = g.d,
                     .k = g.S,
                     .batch = g.B * g.H,
                     .sa = g.S * g.S,
                     .sb = g.S * g.d,
                     .sc = g.S * g.d,
                     .alpha = 1,
                     .in = t,
                     .out = t,
                     .a = b->keep[KEEP_P],
                     .b = b->keep[KEEP_V],
                     .c = o};
    WF_TRY(weft_product(&c->sh, &mix));
    weft_k_merge_heads(c->sh.k, t, g.B, g.S, g.H, g.d, o, b->keep[KEEP_Y]);
    wf_give(c, o);
    return WEFT_OK;
}

weft_status wf_block_forward(weft_chunk *c, int64_t layer, wf_block *b, void **x_out)
{
    wf_dims g = wf_chunk_dims(c);
    weft_dtype t = c->sh.t;
    void *out;

    WF_TRY(take_slab(c, b));
    WF_TRY(wf_norm(c, WEFT_LN1_G, layer, b->x, b->keep[KEEP_A], b->keep[KEEP_M1],
                   b->keep[KEEP_R1]));
    WF_TRY(attention(c, layer, b));
    weft_view y = weft_view_split(b->keep[KEEP_Y], t, g.T, g.n, 1);
    WF_TRY(row_residual(c, WEFT_FOR_G_ATTN, &y, wf_weight(c, WEFT_OUT_W, layer), b->x,
                        wf_weight(c, WEFT_OUT_B, layer), b->keep[KEEP_X1]));

    WF_TRY(wf_norm(c, WEFT_LN2_G, layer, b->keep[KEEP_X1], b->keep[KEEP_C],
                   b->keep[KEEP_M2], b->keep[KEEP_R2]));
    weft_view in = weft_view_of(b->keep[KEEP_C], t, g.T, g.h);
    weft_view u = weft_view_split(b->keep[KEEP_U], t, g.T, g.f, 1);
    WF_TRY(weft_column_forward(&c->sh, &in, wf_weight(c, WEFT_FC_W, layer), &u));
    wf_activation(c, layer, u.data, b->keep[KEEP_G]);
    weft_view act = weft_view_split(b->keep[KEEP_G], t, g.T, g.f, 1);
    WF_TRY(wf_take(c, WEFT_ACT, g.T * g.h, t, &out));
    WF_TRY(row_residual(c, WEFT_FOR_G_MLP, &act, wf_weight(c, WEFT_PROJ_W, layer),
                        b->keep[KEEP_X1], wf_weight(c, WEFT_PROJ_B, layer), out));
    *x_out = out;
    return WEFT_OK;
}
