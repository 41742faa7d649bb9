/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/fields.h"

#include <weft/layout.h>

#define AT(member) WF_AT(weft_layout, member)
#define NOWHERE    0, 0
#define MAX_DEGREE 1048576.0
#define MAX_I32    2147483647.0

/* Aliases are Megatron-LM's flags where they mean the same. Options of later versions are
 * listed so that they are refused by name, not as unknown. */
static const wf_field fields[] = {
    {"tp", "tensor_model_parallel_size", WF_I32, WF_PLAIN, AT(tp), 1, MAX_DEGREE, NULL,
     WF_NOW, "tensor-parallel degree: ranks that share each layer"},
    {"cp", "context_parallel_size", WF_I32, WF_PLAIN, AT(cp), 1, MAX_DEGREE, "1",
     WF_LATER, "context-parallel degree: ranks that share each sequence"},
    {"pp", "pipeline_model_parallel_size", WF_I32, WF_PLAIN, AT(pp), 1, MAX_DEGREE,
     NULL, WF_NOW, "pipeline-parallel degree: ranks that share the layers"},
    {"dp", "data_parallel_size", WF_I32, WF_PLAIN, AT(dp), 1, MAX_DEGREE, NULL, WF_NOW,
     "data-parallel degree: replicas that share the batch"},
    {"ep", "expert_model_parallel_size", WF_I32, WF_PLAIN, NOWHERE, 1, MAX_DEGREE, "1",
     WF_LATER, "expert-parallel degree"},
    {"vpp", "num_virtual_stages_per_pipeline_rank", WF_I32, WF_PLAIN, AT(vpp), 1, 255,
     "1", WF_NOW, "model chunks per pipeline rank"},
    {"stage_layers", "pipeline_model_parallel_layout", WF_STRING, WF_PLAIN,
     AT(stage_layers), 0, 0, "even", WF_NOW,
     "layers per stage: even, balanced, 7,8,8,7 or Et*7|(t*8|)*2t*7L"},
    {"schedule", "pipeline_schedule", WF_STRING, WF_PLAIN, AT(schedule), 0, 0, "1f1b",
     WF_NOW, "pipeline schedule; `weft schedule list` describes them"},
    {"group", "microbatch_group_size_per_virtual_pipeline_stage", WF_I32, WF_COUNT,
     AT(group), 0, MAX_I32, "0", WF_NOW,
     "interleaved: micro-batches per group; 0: chosen"},
    {"micro_batch", "micro_batch_size", WF_I64, WF_COUNT, AT(micro_batch), 1, MAX_I32,
     "1", WF_NOW, "sequences per micro-batch"},
    {"global_batch", "global_batch_size", WF_I64, WF_COUNT, AT(global_batch), 1, 1e15,
     NULL, WF_NOW, "sequences per step, over all replicas"},
    {"seq", "seq_length", WF_I64, WF_COUNT, AT(seq), 1, MAX_I32, NULL, WF_NOW,
     "tokens per sequence"},
    {"zero", "zero_stage", WF_I32, WF_PLAIN, AT(zero), 0, 3, "0", WF_LATER,
     "ZeRO stage: what data parallelism shards"},
    {"sp", "sequence_parallel", WF_BOOL, WF_PLAIN, AT(sp), 0, 1, "false", WF_LATER,
     "sequence parallelism in the tensor-parallel group"},
    {"recompute", "recompute_granularity", WF_STRING, WF_PLAIN, NOWHERE, 0, 0, "none",
     WF_LATER, "which activations are computed again in the backward pass"},
    {"vocab_multiple", "make_vocab_size_divisible_by", WF_I64, WF_COUNT,
     AT(vocab_multiple), 1, MAX_I32, "128", WF_NOW,
     "the vocabulary is padded to a multiple of this times tp"},
    {"order", NULL, WF_STRING, WF_PLAIN, AT(order), 0, 0, "tp,cp,pp,dp", WF_NOW,
     "order of the axes over the ranks, fastest first"},
};

static const wf_table table = {"layout option", "--", sizeof fields / sizeof *fields,
                               fields};

const wf_table *wf_layout_table(void)
{
    return &table;
}
