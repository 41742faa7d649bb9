/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "nn/nn.h"
#include "nn/param.h"

wf_dims wf_chunk_dims(const weft_chunk *c)
{
    const weft_arch *a = c->cfg.arch;
    int tp = weft_group_size(c->sh.tp);
    wf_dims g = {.B = c->cfg.batch, .S = c->cfg.seq, .h = a->hidden, .d = a->head_dim};

    g.T = g.B * g.S;
    g.H = a->heads / tp;
    g.n = g.H * g.d;
    g.f = a->ffn / tp;
    return g;
}

weft_status wf_take(weft_chunk *c, weft_tag tag, int64_t n, weft_dtype t, void **out)
{
    return weft_arena_take(c->sh.arena, tag, n * weft_dtype_bytes(t), out);
}

void wf_give(weft_chunk *c, void *block)
{
    weft_arena_give(c->sh.arena, block);
}

weft_status weft_chunk_create(const weft_chunk_config *cfg, const weft_shard *sh,
                              weft_chunk *out)
{
    weft_chunk c = {.cfg = *cfg, .sh = *sh};
    WF_TRY(weft_arch_require_family(cfg->arch, "gpt2")); /* what the layers here are */
    wf_dims g = wf_chunk_dims(&c);

    if (cfg->exact > 0 && sh->t != WEFT_F64)
        return WF_FAIL(WEFT_E_INVALID, "bit-exact mode needs --dtype f64, found %s",
                       weft_dtype_name(sh->t));
    c.vocab = weft_vocab_shard_of(sh, cfg->arch->vocab, cfg->padded_vocab);
    weft_status st = wf_params_create(&c);
    if (st == WEFT_OK) st = WF_ALLOC(cfg->n_micro, &c.saved);
    if (st == WEFT_OK) st = WF_ALLOC(g.T, &c.position);
    if (st != WEFT_OK) {
        weft_chunk_clear(&c);
        return st;
    }
    for (int64_t i = 0; i < g.T; i++)
        c.position[i] = (int32_t)(i % g.S);
    *out = c;
    if (cfg->exact > 0) out->sh.largest = &out->largest;
    return WEFT_OK;
}

static void free_saved(weft_chunk *c, weft_saved *s)
{
    if (!s) return;
    for (int64_t l = 0; s->block && l < c->cfg.n_layers; l++)
        wf_block_free(c, &s->block[l]);
    wf_head_free(c, s);
    wf_give(c, s->tokens);
    wf_give(c, s->targets);
    wf_free(s->block);
    wf_free(s);
}

void weft_chunk_clear(weft_chunk *c)
{
    for (int64_t i = 0; c->saved && i < c->cfg.n_micro; i++)
        free_saved(c, c->saved[i]);
    weft_arena_give(c->sh.arena, c->w_all);
    weft_arena_give(c->sh.arena, c->g_all);
    wf_free(c->param);
    wf_free(c->index);
    wf_free(c->saved);
    wf_free(c->position);
    *c = (weft_chunk){0};
}

static weft_status keep_ids(weft_chunk *c, const int32_t *ids, int32_t **out)
{
    int64_t bytes = wf_chunk_dims(c).T * (int64_t)sizeof *ids;
    void *copy;

    WF_TRY(weft_arena_take(c->sh.arena, WEFT_ACT, bytes, &copy));
    memcpy(copy, ids, (size_t)bytes);
    *out = copy;
    return WEFT_OK;
}

static weft_status forward(weft_chunk *c, weft_saved *s, const int32_t *tokens,
                           const int32_t *targets, void *x, void **x_out,
                           double *loss_sum)
{
    if (c->cfg.has_embed) {
        WF_TRY(keep_ids(c, tokens, &s->tokens));
        WF_TRY(wf_embed_forward(c, s->tokens, &x));
    }
    for (int64_t l = 0; l < c->cfg.n_layers; l++) {
        s->block[l].x = x;
        WF_TRY(wf_block_forward(c, l, &s->block[l], &x));
    }
    if (!c->cfg.has_head) {
        *x_out = x;
        return WEFT_OK;
    }
    WF_TRY(keep_ids(c, targets, &s->targets));
    return wf_head_forward(c, s, x, loss_sum);
}

static weft_status new_saved(weft_chunk *c, weft_saved **out)
{
    WF_TRY(WF_ALLOC(1, out));
    return WF_ALLOC(c->cfg.n_layers, &(*out)->block);
}

weft_status weft_chunk_forward(weft_chunk *c, int64_t micro, const int32_t *tokens,
                               const int32_t *targets, void *x_in, void **x_out,
                               double *loss_sum)
{
    if (c->saved[micro])
        return WF_FAIL(WEFT_E_INVALID,
                       "forward of micro-batch %lld twice without its backward",
                       (long long)micro);
    WF_TRY(new_saved(c, &c->saved[micro]));
    return forward(c, c->saved[micro], tokens, targets, x_in, x_out, loss_sum);
}

weft_status weft_chunk_infer(weft_chunk *c, const int32_t *tokens,
                             const int32_t *targets, void *x_in, void **x_out,
                             double *loss_sum, void **logits)
{
    weft_saved *s = NULL;

    WF_TRY(new_saved(c, &s));
    weft_status st = forward(c, s, tokens, targets, x_in, x_out, loss_sum);
    if (st == WEFT_OK && logits && c->cfg.has_head) {
        *logits = s->logits;
        s->logits = NULL;
    }
    free_saved(c, s);
    return st;
}

static weft_status saved_of(weft_chunk *c, int64_t micro, weft_saved **out)
{
    if (!c->saved[micro])
        return WF_FAIL(WEFT_E_INVALID,
                       "backward of micro-batch %lld before its forward",
                       (long long)micro);
    *out = c->saved[micro];
    return WEFT_OK;
}

static int head_params(const weft_chunk *c)
{
    int n = c->n_params - (c->cfg.has_embed ? 2 : 0);
    return n - (int)c->cfg.n_layers * wf_params_of_block();
}

static weft_status tell(const weft_chunk *c, weft_grads_ready *ready, void *ctx,
                        int64_t blocks)
{
    if (!ready) return WEFT_OK;
    return ready(ctx, head_params(c) + (int)blocks * wf_params_of_block());
}

static weft_status backward(weft_chunk *c, weft_saved *s, double scale, void *dy,
                            int both, void **dx, weft_grads_ready *ready, void *ctx)
{
    int64_t n = c->cfg.n_layers;

    if (c->cfg.has_head) WF_TRY(wf_head_backward(c, s, scale, both, &dy));
    if (both) WF_TRY(tell(c, ready, ctx, 0));
    for (int64_t l = n - 1; l >= 0; l--) {
        WF_TRY(wf_block_backward(c, l, &s->block[l], dy, both, &dy));
        if (both) WF_TRY(tell(c, ready, ctx, n - l));
    }
    *dx = dy;
    return WEFT_OK;
}

/* The embedding has no input gradient: what reaches it becomes weight gradient. */
static weft_status finish(weft_chunk *c, weft_saved *s, const void *dx,
                          weft_grads_ready *ready, void *ctx)
{
    if (c->cfg.has_embed) WF_TRY(wf_embed_backward(c, s->tokens, dx));
    return ready && c->cfg.has_embed ? ready(ctx, c->n_params) : WEFT_OK;
}

weft_status weft_chunk_backward(weft_chunk *c, int64_t micro, double scale, void *dy,
                                void **dx, weft_grads_ready *ready, void *ctx)
{
    weft_saved *s;
    void *out;

    WF_TRY(saved_of(c, micro, &s));
    WF_TRY(backward(c, s, scale, dy, 1, &out, ready, ctx));
    WF_TRY(finish(c, s, out, ready, ctx));
    if (c->cfg.has_embed)
        wf_give(c, out);
    else
        *dx = out;
    free_saved(c, s);
    c->saved[micro] = NULL;
    return WEFT_OK;
}

weft_status weft_chunk_backward_input(weft_chunk *c, int64_t micro, double scale,
                                      void *dy, void **dx)
{
    weft_saved *s;
    void *out;

    WF_TRY(saved_of(c, micro, &s));
    WF_TRY(backward(c, s, scale, dy, 0, &out, NULL, NULL));
    if (c->cfg.has_embed)
        s->dx0 = out; /* the embedding's weight gradient waits for W */
    else
        *dx = out;
    return WEFT_OK;
}

weft_status weft_chunk_backward_weight(weft_chunk *c, int64_t micro,
                                       weft_grads_ready *ready, void *ctx)
{
    weft_saved *s;
    int64_t n = c->cfg.n_layers;

    WF_TRY(saved_of(c, micro, &s));
    if (c->cfg.has_head) WF_TRY(wf_head_backward_weight(c, s));
    WF_TRY(tell(c, ready, ctx, 0));
    for (int64_t l = n - 1; l >= 0; l--) {
        WF_TRY(wf_block_backward_weight(c, l, &s->block[l]));
        WF_TRY(tell(c, ready, ctx, n - l));
    }
    WF_TRY(finish(c, s, s->dx0, ready, ctx));
    wf_give(c, s->dx0);
    free_saved(c, s);
    c->saved[micro] = NULL;
    return WEFT_OK;
}
