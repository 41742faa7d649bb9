/* SPDX-License-Identifier: Apache-2.0 */
/* Selective recompute of Megatron-LM (core/transformer/transformer_config.py, recompute_modules)
 * beside what weft prices (cost/activations.c): the scores where they are stored; with fused
 * attention, which stores none, the outputs of the norms and of the MLP's activation.
 *
 * "layernorm" finds a norm only where it is a module of its own: before MoE layers and before
 * latent attention. Elsewhere it is part of the linear layer after it
 * (TELayerNormColumnParallelLinear), so that "mlp" holds the second one and nothing the
 * first. "mlp", "moe" and "shared_experts" compute their matmuls again too. */
#include "plan/megatron_modules.h"

const char *wf_module_name(int i)
{
    static const char *const name[WF_N_MODULES] = {
        "core_attn", "mlp", "layernorm", "moe_act", "shared_experts", "moe"};
    return name[i];
}

/* Bytes of what a matmul reads: one in 8-bit arithmetic and below. */
static double input_bytes(const weft_cost_options *o)
{
    return o->math > WEFT_MATH_BF16 && o->act_bytes > 1 ? 1 : o->act_bytes;
}

static double norm_bytes(const weft_layout *l, const weft_arch *a,
                         const weft_cost_options *o)
{
    return input_bytes(o) * (double)a->hidden / (l->sp ? l->tp : 1);
}

/* Of an MLP of this width, its input included where that is its own. */
static double mlp_bytes(const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o, int64_t width)
{
    int gated = a->mlp == WEFT_MLP_SWIGLU || a->mlp == WEFT_MLP_GEGLU;
    return (double)width * (o->act_bytes * (gated ? 2 : 1) + input_bytes(o)) / l->tp;
}

double wf_modules_free(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, uint32_t modules)
{
    int64_t routed = a->experts_per_token * a->expert_ffn;
    int64_t shared = a->shared_experts * a->expert_ffn;
    double in = input_bytes(o), norm = norm_bytes(l, a, o), sum = 0;

    if (modules & WF_LAYERNORM)
        sum += (a->kv_lora ? norm : 0) + (a->experts ? norm : 0);
    if (!a->experts) {
        if (modules & WF_MLP) sum += norm + mlp_bytes(l, a, o, a->ffn);
        return sum;
    }
    if (modules & WF_MOE) {
        double tokens_sent = in * (double)(a->experts_per_token * a->hidden) / l->tp;
        return sum + tokens_sent + mlp_bytes(l, a, o, routed + shared);
    }
    if (modules & WF_MOE_ACT) sum += in * (double)routed / l->tp;
    if (modules & WF_SHARED_EXPERTS) sum += mlp_bytes(l, a, o, shared);
    return sum;
}

double wf_selective_frees(const weft_layout *l, const weft_arch *a,
                          const weft_cost_options *o)
{
    weft_layer_width w;
    weft_arch_layer_width(a, a->experts ? a->dense_layers + a->moe_every - 1 : 0, &w);
    return norm_bytes(l, a, o) * (double)w.norm / (double)a->hidden +
           input_bytes(o) * (double)w.act_out / l->tp;
}

static int has_dense_layers(const weft_arch *a)
{
    return !a->experts || a->dense_layers || a->moe_every > 1;
}

uint32_t wf_modules_for_selective(const weft_layout *l, const weft_arch *a,
                                  const weft_cost_options *o)
{
    uint32_t dense = has_dense_layers(a) ? WF_MLP : 0;
    uint32_t least =
        WF_LAYERNORM | WF_MOE_ACT | (a->shared_experts ? WF_SHARED_EXPERTS : 0);
    double wanted = wf_selective_frees(l, a, o) * (1 - 1e-12);

    if (!o->fused_attention) return WF_CORE_ATTN;
    if (a->experts)
        return dense | (wf_modules_free(l, a, o, least) >= wanted ? least : WF_MOE);
    return wf_modules_free(l, a, o, dense) < wanted && a->kv_lora ? dense | WF_LAYERNORM
                                                                  : dense;
}

int wf_modules_hold(uint32_t modules, uint32_t needed)
{
    if (modules & WF_MOE) modules |= WF_MOE_ACT | WF_SHARED_EXPERTS;
    return (modules & needed) == needed;
}
