/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/fields.h"

#include <weft/layout.h>

#define AT(member) WF_AT(weft_layout, member)
#define MAX_DEGREE 1048576.0
#define MAX_I32    2147483647.0

/* Aliases are Megatron-LM's flags where they mean the same. Options of later versions are
 * listed so that they are refused by name, not as unknown, and so that plans may use them:
 * LATER is WF_LATER in the one table and WF_NOW in the other. */
/* clang-format off */
#define FIELDS(LATER) \
    {"tp", "tensor_model_parallel_size", WF_I32, WF_PLAIN, AT(tp), 1, MAX_DEGREE, NULL, \
     WF_NOW, "tensor-parallel degree: ranks that share each layer"}, \
    {"cp", "context_parallel_size", WF_I32, WF_PLAIN, AT(cp), 1, MAX_DEGREE, "1", \
     LATER, "context-parallel degree: ranks that share each sequence"}, \
    {"cp_comm", "cp_comm_type", WF_STRING, WF_PLAIN, AT(cp_comm), 0, 0, "ring", \
     LATER, "how they share it: ring, allgather, ulysses"}, \
    {"pp", "pipeline_model_parallel_size", WF_I32, WF_PLAIN, AT(pp), 1, MAX_DEGREE, \
     NULL, WF_NOW, "pipeline-parallel degree: ranks that share the layers"}, \
    {"dp", "data_parallel_size", WF_I32, WF_PLAIN, AT(dp), 1, MAX_DEGREE, NULL, WF_NOW, \
     "data-parallel degree: replicas that share the batch"}, \
    {"ep", "expert_model_parallel_size", WF_I32, WF_PLAIN, AT(ep), 1, MAX_DEGREE, "1", \
     LATER, "expert-parallel degree: dp ranks that share the experts"}, \
    {"vpp", "num_virtual_stages_per_pipeline_rank", WF_I32, WF_PLAIN, AT(vpp), 1, 255, \
     "1", WF_NOW, "model chunks per pipeline rank"}, \
    {"stage_layers", "pipeline_model_parallel_layout", WF_STRING, WF_PLAIN, \
     AT(stage_layers), 0, 0, "even", WF_NOW, \
     "layers per stage: even, balanced, 7,8,8,7 or Et*7|(t*8|)*2t*7L"}, \
    {"schedule", "pipeline_schedule", WF_STRING, WF_PLAIN, AT(schedule), 0, 0, "1f1b", \
     WF_NOW, "pipeline schedule; `weft schedule list` describes them"}, \
    {"placement", NULL, WF_STRING, WF_PLAIN, AT(placement), 0, 0, "auto", WF_NOW, \
     "which rank and chunk holds which stage: single, loop or v for schedules that " \
     "take one; auto: the schedule's own"}, \
    {"group", "microbatch_group_size_per_virtual_pipeline_stage", WF_I32, WF_COUNT, \
     AT(group), 0, MAX_I32, "0", WF_NOW, \
     "interleaved: micro-batches per group; 0: chosen"}, \
    {"micro_batch", "micro_batch_size", WF_I64, WF_COUNT, AT(micro_batch), 1, MAX_I32, \
     "1", WF_NOW, "sequences per micro-batch"}, \
    {"global_batch", "global_batch_size", WF_I64, WF_COUNT, AT(global_batch), 1, 1e15, \
     NULL, WF_NOW, "sequences per step, over all replicas"}, \
    {"seq", "seq_length", WF_I64, WF_COUNT, AT(seq), 1, MAX_I32, NULL, WF_NOW, \
     "tokens per sequence"}, \
    {"zero", "zero_stage", WF_I32, WF_PLAIN, AT(zero), 0, 3, "0", LATER, \
     "ZeRO stage: what data parallelism shards"}, \
    {"replicate", "data_parallel_replicate_degree", WF_I32, WF_PLAIN, AT(replicate), 1, \
     MAX_DEGREE, "1", LATER, "copies of what ZeRO shards (HSDP)"}, \
    {"sp", "sequence_parallel", WF_BOOL, WF_PLAIN, AT(sp), 0, 1, "false", LATER, \
     "sequence parallelism in the tensor-parallel group"}, \
    {"recompute", "recompute_granularity", WF_STRING, WF_PLAIN, AT(recompute), 0, 0, \
     "none", LATER, \
     "what is computed again: none, selective (stored scores; with fused attention " \
     "norms and activations), full, or a list by stage"}, \
    {"vocab_multiple", "make_vocab_size_divisible_by", WF_I64, WF_COUNT, \
     AT(vocab_multiple), 1, MAX_I32, "128", WF_NOW, \
     "the vocabulary is padded to a multiple of this times tp"}, \
    {"order", NULL, WF_STRING, WF_PLAIN, AT(order), 0, 0, "tp,cp,pp,dp", WF_NOW, \
     "order of the axes over the ranks, fastest first"}
/* clang-format on */

static const wf_field fields[] = {FIELDS(WF_LATER)};
static const wf_field plan_fields[] = {FIELDS(WF_NOW)};
enum { N_FIELDS = sizeof fields / sizeof *fields };
static const wf_table table = {"layout option", "--", N_FIELDS, fields};
static const wf_table plan_table = {"layout option", "--", N_FIELDS, plan_fields};

const wf_table *wf_layout_table(void)
{
    return &table;
}

const wf_table *wf_layout_plan_table(void)
{
    return &plan_table;
}
