/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of the model: embedding; last norm, output layer and loss. */
#include <string.h>

#include "nn/nn.h"

weft_status wf_embed_forward(weft_chunk *c, const int32_t *tokens, void **x)
{
    wf_dims g = wf_chunk_dims(c);
    weft_view sum = weft_view_of(NULL, weft_partial_type(&c->sh), g.T, g.h);
    void *out;

    WF_TRY(wf_take(c, WEFT_TEMP, g.T * g.h, sum.dtype, &sum.data));
    WF_TRY(
        weft_vocab_embed(&c->sh, c->vocab, tokens, wf_weight(c, WEFT_WTE, -1), &sum));
    WF_TRY(wf_take(c, WEFT_ACT, g.T * g.h, c->sh.t, &out));
    weft_k_add_position(c->sh.k, c->sh.t, sum.dtype, g.T, g.h, c->position, sum.data,
                        wf_weight(c, WEFT_WPE, -1), out);
    wf_give(c, sum.data);
    *x = out;
    return WEFT_OK;
}

/* The sum forward is the identity backward: each rank adds to the rows it holds. */
weft_status wf_embed_backward(weft_chunk *c, const int32_t *tokens, const void *dx)
{
    wf_dims g = wf_chunk_dims(c);

    weft_k_position_dw(c->sh.k, c->sh.t, g.T, g.h, c->position, dx,
                       wf_grad(c, WEFT_WPE, -1));
    weft_k_embed_dw(c->sh.k, c->sh.t, g.T, g.h, c->vocab.first, c->vocab.count, tokens,
                    dx, wf_grad(c, WEFT_WTE, -1));
    return WEFT_OK;
}

static weft_role head_role(const weft_chunk *c)
{
    return c->cfg.arch->tied ? WEFT_WTE : WEFT_HEAD_W;
}

static weft_view logits_of(const weft_chunk *c, weft_saved *s)
{
    return weft_view_split(s->logits, c->sh.t, wf_chunk_dims(c).T, c->vocab.rows, 1);
}

static weft_status take_head(weft_chunk *c, weft_saved *s)
{
    wf_dims g = wf_chunk_dims(c);
    weft_dtype acc = weft_dtype_acc(c->sh.t);

    WF_TRY(wf_take(c, WEFT_ACT, g.T * g.h, c->sh.t, &s->xf));
    WF_TRY(wf_take(c, WEFT_ACT, g.T, acc, &s->mean));
    WF_TRY(wf_take(c, WEFT_ACT, g.T, acc, &s->rstd));
    return wf_take(c, WEFT_LOGITS, g.T * c->vocab.rows, c->sh.t, &s->logits);
}

/* x becomes the head's */
weft_status wf_head_forward(weft_chunk *c, weft_saved *s, void *x, double *loss_sum)
{
    wf_dims g = wf_chunk_dims(c);
    int64_t end = c->cfg.n_layers;
    double loss = 0;

    s->x = x;
    WF_TRY(take_head(c, s));
    WF_TRY(wf_norm(c, WEFT_LNF_G, end, x, s->xf, s->mean, s->rstd));
    weft_view xf = weft_view_of(s->xf, c->sh.t, g.T, g.h);
    weft_view logits = logits_of(c, s);
    WF_TRY(weft_column_forward(&c->sh, &xf, wf_weight(c, head_role(c), end), &logits));
    if (c->cfg.exact > 0)
        WF_TRY(wf_exact_loss(c, &logits, s->targets, &loss));
    else
        WF_TRY(weft_ce_forward(&c->sh, c->vocab, &logits, s->targets, &s->ce, &loss));
    *loss_sum += loss;
    return WEFT_OK;
}

static weft_status loss_dx(weft_chunk *c, weft_saved *s, double scale)
{
    weft_view logits = logits_of(c, s);

    if (c->cfg.exact <= 0)
        return weft_ce_backward(&c->sh, c->vocab, s->targets, scale, &s->ce, &logits);
    wf_exact_loss_dx(c, &logits, s->targets);
    return WEFT_OK;
}

static weft_status head_weight(weft_chunk *c, weft_saved *s)
{
    weft_view xf = weft_view_of(s->xf, c->sh.t, wf_chunk_dims(c).T, wf_chunk_dims(c).h);
    weft_view dlogits = logits_of(c, s);

    return weft_column_backward_weight(&c->sh, &xf, &dlogits,
                                       wf_grad(c, head_role(c), c->cfg.n_layers), NULL);
}

void wf_head_free(weft_chunk *c, weft_saved *s)
{
    void *blocks[] = {s->x,      s->xf,  s->mean,   s->rstd,
                      s->logits, s->dxf, s->ce.max, s->ce.sum};

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        wf_give(c, blocks[i]);
    s->x = s->xf = s->mean = s->rstd = s->logits = s->dxf = NULL;
    s->ce = (weft_ce){0};
}

weft_status wf_head_backward_weight(weft_chunk *c, weft_saved *s)
{
    int64_t end = c->cfg.n_layers;

    WF_TRY(head_weight(c, s));
    wf_norm_dw(c, WEFT_LNF_G, end, s->x, s->mean, s->rstd, s->dxf);
    wf_head_free(c, s);
    return WEFT_OK;
}

weft_status wf_head_backward(weft_chunk *c, weft_saved *s, double scale, int both,
                             void **dx)
{
    wf_dims g = wf_chunk_dims(c);
    int64_t end = c->cfg.n_layers;
    weft_tag tag = both ? WEFT_TEMP : WEFT_ACT;
    weft_view dxf = weft_view_partial(NULL, weft_partial_type(&c->sh), g.T, g.h);
    weft_event ev = {0};
    void *out;

    WF_TRY(loss_dx(c, s, scale));
    weft_view dlogits = logits_of(c, s);
    WF_TRY(wf_take(c, tag, g.T * g.h, dxf.dtype, &dxf.data));
    WF_TRY(weft_column_backward_input(&c->sh, &dlogits, wf_weight(c, head_role(c), end),
                                      &dxf));
    WF_TRY(weft_reduce_start(&c->sh, WEFT_FOR_HEAD, &dxf, &ev));
    if (both) WF_TRY(head_weight(c, s));
    WF_TRY(wf_reduced(c, tag, &dxf, &ev, &s->dxf));
    WF_TRY(weft_arena_zero(c->sh.arena, WEFT_ACT, g.T * g.h * weft_dtype_bytes(c->sh.t),
                           &out));
    wf_norm_dx(c, WEFT_LNF_G, end, s->x, s->mean, s->rstd, s->dxf, out);
    if (both) {
        wf_norm_dw(c, WEFT_LNF_G, end, s->x, s->mean, s->rstd, s->dxf);
        wf_head_free(c, s);
    }
    *dx = out;
    return WEFT_OK;
}
