/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed: ds_config.json (deepspeed/runtime/config.py, runtime/pipe/). The number of
 * pipeline stages is read by PipelineModule(num_stages=), which the program calls. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "plan/tool.h"

static weft_status check_pipeline(const weft_layout *l)
{
    if (l->pp == 1 && l->vpp == 1) return WEFT_OK;
    WF_TRY(wf_need_kind(l, "deepspeed", "1f1b"));
    if (l->zero >= 2)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--zero %d: deepspeed's ZeRO-2 and ZeRO-3 are incompatible with "
                       "its pipeline; --zero 1 is not",
                       l->zero);
    if (l->tp > 1)
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--tp %d --pp %d: deepspeed's configuration has tensor parallelism "
            "without a pipeline only",
            l->tp, l->pp);
    if (strcmp(l->stage_layers, "even"))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--stage-layers %s: deepspeed's configuration has no split by "
                       "count; --stage-layers even",
                       l->stage_layers);
    return WEFT_OK;
}

static weft_status check(const weft_layout *l, const weft_arch *a)
{
    WF_TRY(wf_need_order(l, "deepspeed", "tp,cp,dp,pp"));
    WF_TRY(check_pipeline(l));
    WF_TRY(wf_need_one_recompute(l, "deepspeed"));
    if (l->sp && l->tp > 1)
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--sp: deepspeed's tensor parallelism has no sequence parallelism");
    if (l->cp > 1 && strcmp(l->cp_comm, "ulysses"))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--cp-comm %s: deepspeed shares sequences by ulysses",
                       l->cp_comm);
    if (l->ep > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--ep %d: deepspeed takes it from the model's MoE layers",
                       l->ep);
    if (l->replicate > 1 && l->zero != 3)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--replicate %d: deepspeed keeps copies of shards with --zero 3",
                       l->replicate);
    return WEFT_OK;
}

static void put_zero(wf_json *j, const weft_layout *l, const weft_cost_options *o)
{
    wf_json_key(j, "zero_optimization");
    wf_json_object(j);
    wf_json_put_i64(j, "stage", l->zero);
    if (l->zero) wf_json_put_bool(j, "overlap_comm", o->overlap_dp);
    if (l->replicate > 1) wf_json_put_i64(j, "mics_shard_size", l->dp / l->replicate);
    wf_json_end_object(j);
}

static void put_pipeline(wf_json *j, const weft_layout *l, int full)
{
    if (l->pp == 1) return;
    wf_json_key(j, "pipeline");
    wf_json_object(j);
    wf_json_put_i64(j, "stages", l->pp);
    wf_json_put_string(j, "partition", "uniform");
    wf_json_put_i64(j, "activation_checkpoint_interval", full);
    wf_json_end_object(j);
}

/* What the model's own deepspeed.checkpointing.checkpoint() calls read. */
static void put_checkpointing(wf_json *j)
{
    wf_json_key(j, "activation_checkpointing");
    wf_json_object(j);
    wf_json_put_bool(j, "partition_activations", 0);
    wf_json_put_bool(j, "cpu_checkpointing", 0);
    wf_json_put_bool(j, "contiguous_memory_optimization", 0);
    wf_json_put_bool(j, "synchronize_checkpoint_boundary", 0);
    wf_json_end_object(j);
}

/* Under ZeRO it adds gradients up in the type of the weights unless told otherwise. */
static void put_types(wf_json *j, const weft_cost_options *o)
{
    int narrow = o->math == WEFT_MATH_BF16;

    wf_json_key(j, "bf16");
    wf_json_object(j);
    wf_json_put_bool(j, "enabled", narrow);
    wf_json_end_object(j);
    if (!narrow) return;
    wf_json_key(j, "data_types");
    wf_json_object(j);
    wf_json_put_string(j, "grad_accum_dtype", o->grad_bytes >= 4 ? "fp32" : "bf16");
    wf_json_end_object(j);
}

static weft_status check_options(const weft_cost_options *o)
{
    if (o->math == WEFT_MATH_BF16 || o->math == WEFT_MATH_F32) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "--math %s: deepspeed's configuration has bf16 and f32",
                   weft_math_name((weft_math)o->math));
}

static void write_json(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, int per_node, weft_writer *out)
{
    wf_json j = wf_json_begin(out);

    wf_json_object(&j);
    wf_json_put_i64(&j, "train_batch_size", l->global_batch);
    wf_json_put_i64(&j, "train_micro_batch_size_per_gpu", l->micro_batch);
    wf_json_put_i64(&j, "gradient_accumulation_steps", weft_layout_n_micro(l));
    put_types(&j, o);
    put_zero(&j, l, o);
    if (l->tp > 1) {
        wf_json_key(&j, "tensor_parallel");
        wf_json_object(&j);
        wf_json_put_i64(&j, "autotp_size", l->tp);
        wf_json_end_object(&j);
    }
    if (l->cp > 1) wf_json_put_i64(&j, "sequence_parallel_size", l->cp);
    int full = !strcmp(wf_one_recompute(l), "full");
    put_pipeline(&j, l, full);
    if (full) put_checkpointing(&j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

const wf_tool wf_tool_deepspeed = {.name = "deepspeed",
                                   .order = "tp,cp,dp,pp",
                                   .check = check,
                                   .check_options = check_options,
                                   .write = write_json};
