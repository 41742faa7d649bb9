/* SPDX-License-Identifier: Apache-2.0 */
/* The non-linear places: norm, activation, softmax; and the clamps that stand in for
 * them in bit-exact mode, where every value stays an integer. */
#include <math.h>

#include "nn/nn.h"

/* The role after a norm's gain is its bias. */
static weft_role bias_of(weft_role gain)
{
    return (weft_role)(gain + 1);
}

static int64_t count_clamped(weft_chunk *c, int64_t n, int64_t outside)
{
    c->clampable += n;
    c->clamped += outside;
    return outside;
}

weft_status wf_norm(weft_chunk *c, weft_role gain, int64_t layer, const void *x,
                    void *y, void *mean, void *rstd)
{
    wf_dims g = wf_chunk_dims(c);

    if (c->cfg.exact > 0)
        count_clamped(c, g.T * g.h,
                      weft_k_clamp(c->sh.k, c->sh.t, g.T * g.h, c->cfg.exact, x, y));
    else
        weft_k_layernorm(c->sh.k, c->sh.t, g.T, g.h, c->cfg.arch->norm_eps, x,
                         wf_weight(c, gain, layer), wf_weight(c, bias_of(gain), layer),
                         y, mean, rstd);
    return WEFT_OK;
}

void wf_norm_dx(weft_chunk *c, weft_role gain, int64_t layer, const void *x,
                const void *mean, const void *rstd, const void *dy, void *dx)
{
    wf_dims g = wf_chunk_dims(c);

    if (c->cfg.exact > 0)
        weft_k_clamp_dx(c->sh.k, c->sh.t, g.T * g.h, c->cfg.exact, x, dy, 1, dx);
    else
        weft_k_layernorm_dx(c->sh.k, c->sh.t, g.T, g.h, x, wf_weight(c, gain, layer),
                            mean, rstd, dy, 1, dx);
}

void wf_norm_dw(weft_chunk *c, weft_role gain, int64_t layer, const void *x,
                const void *mean, const void *rstd, const void *dy)
{
    wf_dims g = wf_chunk_dims(c);

    if (c->cfg.exact > 0)
        return; /* a clamp has no weights: gain and bias get gradient 0 */
    weft_k_layernorm_dw(c->sh.k, c->sh.t, g.T, g.h, x, mean, rstd, dy,
                        wf_grad(c, gain, layer), wf_grad(c, bias_of(gain), layer));
}

void wf_activation(weft_chunk *c, int64_t layer, void *u, void *y)
{
    wf_dims g = wf_chunk_dims(c);
    const void *bias = wf_weight(c, WEFT_FC_B, layer);

    if (c->cfg.exact <= 0) {
        weft_k_bias_gelu(c->sh.k, c->sh.t, g.T, g.f, bias, u, y);
        return;
    }
    double *x = u;
    for (int64_t i = 0; i < g.T * g.f; i++)
        x[i] += ((const double *)bias)[i % g.f];
    count_clamped(c, g.T * g.f,
                  weft_k_clamp(c->sh.k, c->sh.t, g.T * g.f, c->cfg.exact, u, y));
}

void wf_activation_dx(weft_chunk *c, const void *u, void *dy)
{
    wf_dims g = wf_chunk_dims(c);

    if (c->cfg.exact > 0)
        weft_k_clamp_dx(c->sh.k, c->sh.t, g.T * g.f, c->cfg.exact, u, dy, 0, dy);
    else
        weft_k_gelu_dx(c->sh.k, c->sh.t, g.T * g.f, u, dy, dy);
}

static double score_scale(const weft_chunk *c)
{
    return 1 / sqrt((double)wf_chunk_dims(c).d);
}

void wf_probabilities(weft_chunk *c, void *scores, void *raw)
{
    wf_dims g = wf_chunk_dims(c);
    int64_t n = g.B * g.H;

    if (c->cfg.exact <= 0) {
        weft_k_softmax_causal(c->sh.k, c->sh.t, n, g.S, score_scale(c), scores);
        return;
    }
    weft_k_cast(c->sh.k, c->sh.t, c->sh.t, n * g.S * g.S, scores, raw);
    count_clamped(
        c, n * g.S * (g.S + 1) / 2,
        weft_k_clamp_causal(c->sh.k, c->sh.t, n, g.S, c->cfg.exact, raw, scores));
}

void wf_probabilities_dx(weft_chunk *c, const void *p, const void *raw, void *dp)
{
    wf_dims g = wf_chunk_dims(c);
    int64_t n = g.B * g.H;

    if (c->cfg.exact > 0)
        weft_k_clamp_causal_dx(c->sh.k, c->sh.t, n, g.S, c->cfg.exact, raw, dp);
    else
        weft_k_softmax_causal_dx(c->sh.k, c->sh.t, n, g.S, score_scale(c), p, dp);
}
