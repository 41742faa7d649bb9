/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/options.h"

#include <string.h>

#include "base/error.h"

#define AT(member) WF_AT(weft_cost_options, member)

static const wf_field fields[] = {
    {"fused_attention", "use_flash_attn", WF_BOOL, WF_PLAIN, AT(fused_attention), 0, 1,
     "true", WF_NOW, "attention scores are never stored"},
    {"dropout", NULL, WF_BOOL, WF_PLAIN, AT(dropout), 0, 1, "false", WF_NOW,
     "dropout masks are kept, a byte a value"},
    {"fused_loss", "cross_entropy_loss_fusion", WF_BOOL, WF_PLAIN, AT(fused_loss), 0, 1,
     "false", WF_NOW, "logits without an fp32 copy"},
    {"overlap_tp", NULL, WF_BOOL, WF_PLAIN, AT(overlap_tp), 0, 1, "true", WF_NOW,
     "backward reductions of tp beside the weight gradients"},
    {"overlap_dp", "overlap_grad_reduce", WF_BOOL, WF_PLAIN, AT(overlap_dp), 0, 1,
     "true", WF_NOW, "gradient buckets beside the backward"},
    {"overlap_pp", "overlap_p2p_communication", WF_BOOL, WF_PLAIN, AT(overlap_pp), 0, 1,
     "true", WF_NOW, "a stage computes while its result is sent"},
    {"scatter_gather", "scatter_gather_tensors_in_pipeline", WF_BOOL, WF_PLAIN,
     AT(scatter_gather), 0, 1, "true", WF_NOW,
     "tp ranks send a share of a result each"},
    {"dense_embedding", NULL, WF_BOOL, WF_PLAIN, AT(dense_embedding), 0, 1, "true",
     WF_NOW, "the embedding's gradient is made whole in each micro-batch"},
    {"exact_memory", NULL, WF_BOOL, WF_PLAIN, AT(exact_memory), 0, 1, "false", WF_NOW,
     "memory to the byte as weft train takes it"},
    {"receive_buffers", NULL, WF_BOOL, WF_PLAIN, AT(receive_buffers), 0, 1, "false",
     WF_NOW, "a posted receive has memory of its own (MPI), with exact memory"},
    {"param_bytes", NULL, WF_F64, WF_PLAIN, AT(param_bytes), 0.5, 8, "2", WF_NOW,
     "bytes of a weight"},
    {"grad_bytes", NULL, WF_F64, WF_PLAIN, AT(grad_bytes), 0.5, 8, "4", WF_NOW,
     "bytes of an accumulated gradient"},
    {"optimizer_bytes", NULL, WF_F64, WF_PLAIN, AT(optimizer_bytes), 0, 32, "12",
     WF_NOW, "bytes of optimizer state of a parameter"},
    {"act_bytes", NULL, WF_F64, WF_PLAIN, AT(act_bytes), 0.5, 8, "2", WF_NOW,
     "bytes of an activation"},
    {"scratch_bytes", NULL, WF_F64, WF_BYTES, AT(scratch_bytes), 0, 1e15, "0", WF_NOW,
     "scratch of the products over the heads, with exact memory"},
    {"kernel_bytes", NULL, WF_F64, WF_PLAIN, AT(kernel_bytes), 0, 8, "0", WF_NOW,
     "bytes that a value counts for in kernels between matmuls; 0: an activation's"},
    {"reduce_bytes", NULL, WF_F64, WF_PLAIN, AT(reduce_bytes), 0, 8, "0", WF_NOW,
     "bytes of a value in the reductions of tp; 0: those of an activation"},
    {"achieved_flops", NULL, WF_F64, WF_FLOPS_S, AT(achieved_flops_per_s), 0, 1e21, "0",
     WF_NOW, "back of the envelope: matmuls at this rate, nothing else; 0: off"},
};
static const wf_table table = {"cost option", "--", sizeof fields / sizeof *fields,
                               fields};

const wf_table *wf_cost_table(void)
{
    return &table;
}

void weft_cost_defaults(weft_cost_options *o)
{
    memset(o, 0, sizeof *o);
    wf_field_defaults(&table, o);
    o->math = WEFT_MATH_BF16;
}

void weft_cost_of_weft(weft_cost_options *o, weft_math math)
{
    double e = math == WEFT_MATH_F64 ? 8 : math == WEFT_MATH_F32 ? 4 : 2;
    double accumulated = e > 4 ? e : 4;

    weft_cost_defaults(o);
    o->math = math;
    o->fused_attention = o->overlap_tp = o->overlap_dp = o->overlap_pp = 0;
    o->scatter_gather = o->dense_embedding = 0;
    o->fused_loss = o->exact_memory = 1;
    o->param_bytes = o->act_bytes = e;
    o->grad_bytes = o->reduce_bytes = o->kernel_bytes = accumulated;
    /* two moments, and a master copy of what is narrower */
    o->optimizer_bytes = accumulated * (e < accumulated ? 3 : 2);
}

weft_status weft_cost_set(weft_cost_options *o, const char *field, const char *value)
{
    weft_math math;
    if (strcmp(field, "math")) return wf_field_set(&table, o, field, value);
    WF_TRY(weft_math_parse(value, &math));
    o->math = math;
    return WEFT_OK;
}
