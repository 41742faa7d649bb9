/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: --section.option flags (torchtitan/config/configs.py), mesh order of
 * torchtitan/distributed/parallel_dims.py. */
#include <string.h>

#include "base/error.h"
#include "plan/torchtitan.h"

static const char *const kinds[][2] = {{"1f1b", "1F1B"},
                                       {"gpipe", "GPipe"},
                                       {"interleaved", "Interleaved1F1B"},
                                       {"looped-bfs", "LoopedBFS"},
                                       {"interleaved-zb", "InterleavedZeroBubble"},
                                       {"zb-v", "ZBVZeroBubble"},
                                       {"dualpipev", "DualPipeV"},
                                       {NULL, NULL}};

const char *wf_torchtitan_kind(const char *schedule)
{
    for (int i = 0; kinds[i][0]; i++)
        if (!strcmp(kinds[i][0], schedule)) return kinds[i][1];
    return NULL;
}

const char *wf_torchtitan_schedule(const char *kind)
{
    for (int i = 0; kinds[i][0]; i++)
        if (!strcmp(kinds[i][1], kind)) return kinds[i][0];
    return NULL;
}

/* ---- stages: generate_llm_fqn_per_model_part() --------------------------------------- */

int wf_torchtitan_split(int64_t layers, int stages, int64_t in, int64_t out,
                        int64_t *count)
{
    int64_t slots = layers + in + out, each = slots / stages, more = slots % stages;

    if (stages == 1) {
        count[0] = layers;
        return 1;
    }
    if (each < 1 || in > each || out > each) return 0;
    for (int s = 0; s < stages; s++)
        count[s] = each + (s < more);
    count[0] -= in;
    count[stages - 1] -= out;
    return 1;
}

/* The weights of embedding and output layer that split the layers as the layout does. */
static int find_weights(const weft_layout *l, const weft_arch *a, int64_t *in,
                        int64_t *out)
{
    int64_t want[WF_MOST_STAGES], got[WF_MOST_STAGES];
    int n = l->pp * l->vpp;
    int64_t most = a->layers / n + 1;

    wf_stage_counts(l, a, want);
    for (*in = 0; *in <= most; ++*in)
        for (*out = 0; *out <= most; ++*out)
            if (wf_torchtitan_split(a->layers, n, *in, *out, got) &&
                !memcmp(want, got, (size_t)n * sizeof *want))
                return 1;
    return 0;
}

/* Layers of a stage that give this many of them: slots / each, rounded up, is it. */
static int64_t layers_per_stage(const weft_layout *l, const weft_arch *a, int64_t in,
                                int64_t out)
{
    int64_t n = (int64_t)l->pp * l->vpp, slots = a->layers + in + out;
    int64_t each = (slots + n - 1) / n;
    return (slots + each - 1) / each == n ? each : 0;
}

static weft_status check_stages(const weft_layout *l, const weft_arch *a)
{
    int64_t in, out;

    if (l->pp == 1) return WEFT_OK;
    if ((int64_t)l->pp * l->vpp > WF_MOST_STAGES)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--pp %d * --vpp %d are more than %d stages",
                       l->pp, l->vpp, WF_MOST_STAGES);
    if (!find_weights(l, a, &in, &out))
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--stage-layers %s: torchtitan's flags give the first and the last "
            "stage fewer layers, and of the rest the first ones more",
            l->stage_layers);
    if (l->vpp > 2 && !layers_per_stage(l, a, in, out))
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--vpp %d: no pipeline_parallel_layers_per_stage gives torchtitan "
            "%d stages of %lld layers",
            l->vpp, l->pp * l->vpp, (long long)a->layers);
    return WEFT_OK;
}

/* ---- what it can -------------------------------------------------------------------- */

static weft_status check_sharding(const weft_layout *l)
{
    if (l->zero == 1)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--zero 1: torchtitan has DDP (0) and FSDP (2 keeps the weights "
                       "after the forward pass, 3 does not)");
    if (l->zero == 0 && l->replicate > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--replicate %d shards nothing with --zero 0",
                       l->replicate);
    return WEFT_OK;
}

static weft_status check_kind(const weft_layout *l)
{
    WF_TRY(wf_need_kind(l, "torchtitan",
                        "1f1b gpipe interleaved looped-bfs interleaved-zb zb-v "
                        "dualpipev"));
    if (l->pp == 1 && l->vpp > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--vpp %d: torchtitan splits stages only with "
                       "--pp 2 or more",
                       l->vpp);
    if (l->pp > 1 && l->vpp == 1 && strcmp(l->schedule, "1f1b") &&
        strcmp(l->schedule, "gpipe"))
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--schedule %s --vpp 1: torchtitan's has two stages a rank or more",
            l->schedule);
    if (l->group && l->group != l->pp)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--group %d: torchtitan's groups are of --pp micro-batches, %d",
                       l->group, l->pp);
    return WEFT_OK;
}

static weft_status check(const weft_layout *l, const weft_arch *a)
{
    if (a->patch)
        return WF_FAIL(WEFT_E_INFEASIBLE, "%s: torchtitan's models read tokens",
                       a->name);
    WF_TRY(wf_need_order(l, "torchtitan", "tp,cp,dp,pp"));
    WF_TRY(check_kind(l));
    WF_TRY(check_stages(l, a));
    WF_TRY(check_sharding(l));
    WF_TRY(wf_need_one_recompute(l, "torchtitan"));
    if (l->ep > 1 && l->tp > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--tp %d --ep %d: torchtitan's experts that EP shares are not "
                       "split by TP; with --tp 1 or --ep 1 they are as priced",
                       l->tp, l->ep);
    if (l->cp > 1 && strcmp(l->cp_comm, "allgather") && strcmp(l->cp_comm, "ring"))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--cp-comm %s: torchtitan's context parallelism "
                       "has ring and allgather",
                       l->cp_comm);
    return WEFT_OK;
}

/* ---- writing ------------------------------------------------------------------------ */

static void put_dp(const weft_layout *l, wf_line *line)
{
    int sharded = l->zero >= 2;
    int copies = sharded ? l->replicate : l->dp;

    wf_arg(line, "--parallelism.data_parallel_replicate_degree %d",
           copies > 1 ? copies : 1);
    wf_arg(line, "--parallelism.data_parallel_shard_degree %d",
           sharded ? l->dp / (copies > 1 ? copies : 1) : 1);
    if (sharded)
        wf_arg(line, "--parallelism.fsdp_reshard_after_forward %s",
               l->zero == 3 ? "always" : "never");
}

static void put_pp(const weft_layout *l, const weft_arch *a, wf_line *line)
{
    int64_t in = 0, out = 0;

    wf_arg(line, "--parallelism.pipeline_parallel_degree %d", l->pp);
    if (l->pp == 1) return;
    find_weights(l, a, &in, &out);
    wf_arg(line, "--parallelism.pipeline_parallel_schedule %s",
           wf_torchtitan_kind(l->schedule));
    wf_arg(line, "--parallelism.pipeline_parallel_first_stage_less_layers %lld",
           (long long)in);
    wf_arg(line, "--parallelism.pipeline_parallel_last_stage_less_layers %lld",
           (long long)out);
    if (l->vpp > 2)
        wf_arg(line, "--parallelism.pipeline_parallel_layers_per_stage %lld",
               (long long)layers_per_stage(l, a, in, out));
    wf_arg(line, "--parallelism.num_pp_microbatches %lld",
           (long long)weft_layout_n_micro(l));
}

/* With more than one stage all micro-batches are one pass of the pipeline. */
static void put_batch(const weft_layout *l, wf_line *line)
{
    wf_arg(line, "--training.max_context_length %lld", (long long)l->seq);
    wf_arg(line, "--training.num_tokens_per_microbatch_per_dp_rank %lld",
           (long long)(l->micro_batch * l->seq));
    wf_arg(line, "--training.num_tokens_per_train_step %lld",
           (long long)(l->global_batch * l->seq));
}

/* Its model comes from a configuration, as it is there. Its selective checkpointing
 * (distributed/activation_checkpoint.py) keeps what matmuls, attention and exchanges made,
 * but of the matmuls every second one only. */
static void put_notes(const weft_layout *l, const weft_arch *a, weft_writer *out)
{
    int64_t padded = weft_layout_padded_vocab(l, a);

    weft_print(out, "# yours: --module and --config of %s", a->name);
    if (a->position == WEFT_POS_ROPE)
        weft_print(out, ", rope theta %.0f", a->rope_theta);
    weft_print(out, "\n");
    if (padded != a->vocab)
        weft_print(out,
                   "# the vocabulary has %lld rows here; %lld were priced, padded\n",
                   (long long)a->vocab, (long long)padded);
    if (!strcmp(wf_one_recompute(l), "selective"))
        weft_print(out,
                   "# selective makes every second matmul again too: it keeps less "
                   "and takes longer than predicted\n");
}

static void write_flags(const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o, int per_node, weft_writer *out)
{
    wf_line line = {out, 0};

    put_notes(l, a, out);
    wf_arg(&line, "--parallelism.tensor_parallel_degree %d", l->tp);
    if (l->tp > 1)
        wf_arg(&line, "--parallelism.%senable_sequence_parallel", l->sp ? "" : "no-");
    wf_arg(&line, "--parallelism.context_parallel_degree %d", l->cp);
    put_dp(l, &line);
    put_pp(l, a, &line);
    if (l->ep > 1) wf_arg(&line, "--parallelism.expert_parallel_degree %d", l->ep);
    put_batch(l, &line);
    if (o->math == WEFT_MATH_F32)
        wf_arg(&line, "--training.mixed_precision_param float32");
    wf_arg(&line, "activation-checkpoint:%s", wf_one_recompute(l));
    weft_print(out, "\n");
}

static weft_status check_options(const weft_cost_options *o)
{
    if (o->math != WEFT_MATH_BF16 && o->math != WEFT_MATH_F32)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--math %s: torchtitan's flags have bf16 and f32; other types "
                       "are converters of its configuration",
                       weft_math_name((weft_math)o->math));
    if (o->dropout)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--dropout: torchtitan's models have none");
    if (!o->fused_attention)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--fused-attention=false: torchtitan's attention is fused");
    return WEFT_OK;
}

const wf_tool wf_tool_torchtitan = {.name = "torchtitan",
                                    .order = "tp,cp,dp,pp",
                                    .check = check,
                                    .check_options = check_options,
                                    .write = write_flags,
                                    .read = wf_torchtitan_read,
                                    .rows = wf_torchtitan_rows,
                                    .underscores = 1};
