/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_MEGATRON_MODULES_H
#define WF_PLAN_MEGATRON_MODULES_H
#include <weft/cost.h>

/* What --recompute-granularity selective of Megatron-LM computes again: a bit a word of its
 * --recompute-modules. */
enum {
    WF_CORE_ATTN = 1,
    WF_MLP = 2,
    WF_LAYERNORM = 4,
    WF_MOE_ACT = 8,
    WF_SHARED_EXPERTS = 16,
    WF_MOE = 32,
    WF_N_MODULES = 6
};
const char *wf_module_name(int i);

/* Bytes that a token keeps less in a layer (a dense one, or an MoE layer where the model has
 * any) of one rank: with these modules, and as `selective` is priced with fused attention. */
double wf_modules_free(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, uint32_t modules);
double wf_selective_frees(const weft_layout *l, const weft_arch *a,
                          const weft_cost_options *o);

/* The modules that free at least what is priced where any do; of those the ones that
 * compute the least again. */
uint32_t wf_modules_for_selective(const weft_layout *l, const weft_arch *a,
                                  const weft_cost_options *o);
/* Do they free all that the second ones do? */
int wf_modules_hold(uint32_t modules, uint32_t needed);
#endif
