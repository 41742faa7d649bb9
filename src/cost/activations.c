/* SPDX-License-Identifier: Apache-2.0 */
/* Korthikanti et al. 2022, section 4: what a layer keeps for its backward is 34 sbh + 5 a s^2
 * b bytes (two-byte values, one-byte masks); TP splits 24 sbh and the scores, SP the other
 * 10 too. Summed here from the widths of the layer, so that SwiGLU, GQA, MoE and MLA count as
 * they are. */
#include "cost/cost.h"

/* Scores, their mask and what dropout made of them: 5 bytes a score. */
static double score_bytes(const wf_place *p, int kind)
{
    const weft_cost_options *o = &p->q->options;
    const weft_attention *at = &p->q->derived.kind[kind].attention;
    double heads = p->batch * p->queries * (double)at->heads / p->t;

    if (o->fused_attention) return 4 * heads; /* log-sum-exp of each query */
    double each = o->act_bytes + (o->dropout ? o->act_bytes + 1 : 0);
    return each * heads * (double)p->l->seq;
}

static void price_kind(const wf_place *p, int kind, wf_priced *out)
{
    const weft_layer_width *w = &p->q->derived.kind[kind].width;
    const weft_cost_options *o = &p->q->options;
    double e = o->act_bytes, mask = o->dropout ? 1 : 0, moe = kind ? 1 : 0;
    /* what a matmul reads is kept as it reads it: one byte in 8-bit arithmetic and below */
    double in = o->math > WEFT_MATH_BF16 && e > 1 ? 1 : e;
    double outside = p->tokens * (p->l->sp ? 1 / p->t : 1), inside = p->tokens / p->t;
    double norm = (double)w->norm, scores = score_bytes(p, kind);
    double expert_in =
        moe * (double)p->q->arch.experts_per_token * (double)p->q->arch.hidden;
    double made = outside * in * norm + inside * in * (double)w->act_out;

    /* into and out of each norm, masks; then what the tensor-parallel part keeps */
    out->act[kind] = outside * (e * norm + mask * (double)w->residual) +
                     inside * (e * (double)(w->qkv + w->act_in + w->inner_norm) +
                               in * ((double)w->attn_out + expert_in)) +
                     made + scores;
    /* without the scores; where none are stored, without what no matmul made */
    out->act_selective[kind] = out->act[kind] - (o->fused_attention ? made : scores);
    /* Qi et al. 2024, section 2.4: W needs the inputs of the matmuls and the gradients of
     * their outputs */
    out->act_w[kind] = outside * (in + e) * norm +
                       inside * (in * ((double)w->attn_out + (double)w->act_out) +
                                 e * ((double)w->qkv + (double)w->act_in + expert_in));
    if (out->act_w[kind] > out->act[kind]) out->act_w[kind] = out->act[kind];
    /* gradients that are alive at once in a backward: of the MLP's two widths, or of the
     * scores and the weights that softmax made of them */
    double mlp = inside * e * (double)(w->act_in + w->act_out) + outside * e * norm;
    double attention = inside * e * (double)(w->qkv + w->attn_out) +
                       (o->fused_attention ? 0 : 2 * e / 5 * scores);
    out->transient[kind] = mlp > attention ? mlp : attention;
}

void wf_activations_price(const wf_place *p, wf_priced *out)
{
    double hidden = p->tokens * (double)p->q->arch.hidden * p->q->options.act_bytes;

    out->act_full = hidden * (p->l->sp ? 1 / p->t : 1);
    for (int kind = 0; kind < p->q->derived.n_kinds; kind++)
        price_kind(p, kind, out);
}

/* The 2-byte logits, an fp32 copy, and one more fp32 tensor: their exponentials forward,
 * their gradient backward. Fused, the gradient takes the place of the logits. */
double wf_logits_bytes(const wf_place *p)
{
    const weft_cost_options *o = &p->q->options;
    double v = (double)weft_layout_padded_vocab(p->l, &p->q->arch) / p->t;
    return p->tokens * v * (o->act_bytes + (o->fused_loss ? o->act_bytes : 8));
}
