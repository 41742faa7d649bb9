/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan's --section.option flags; its defaults are those of configs.py. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/torchtitan.h"

#define P "--parallelism."
#define T "--training."

const wf_flag_row wf_torchtitan_rows[] = {
    {"--nproc_per_node", WF_ONE},
    {"--nnodes", WF_ONE},
    {P "tensor_parallel_degree", WF_ONE},
    {P "enable_sequence_parallel", WF_ONOFF},
    {P "context_parallel_degree", WF_ONE},
    {P "data_parallel_replicate_degree", WF_ONE},
    {P "data_parallel_shard_degree", WF_ONE},
    {P "fsdp_reshard_after_forward", WF_ONE},
    {P "pipeline_parallel_degree", WF_ONE},
    {P "pipeline_parallel_schedule", WF_ONE},
    {P "pipeline_parallel_first_stage_less_layers", WF_ONE},
    {P "pipeline_parallel_last_stage_less_layers", WF_ONE},
    {P "pipeline_parallel_layers_per_stage", WF_ONE},
    {P "num_pp_microbatches", WF_ONE},
    {P "expert_parallel_degree", WF_ONE},
    {T "max_context_length", WF_ONE},
    {T "num_tokens_per_microbatch_per_dp_rank", WF_ONE},
    {T "num_tokens_per_train_step", WF_ONE},
    /* of versions before: named with what took their place */
    {T "local_batch_size", WF_ONE},
    {T "global_batch_size", WF_ONE},
    {T "seq_len", WF_ONE},
    {P "pipeline_parallel_microbatch_size", WF_ONE},
    {"--job.config_file", WF_ONE},
    /* change time or memory, beyond the model */
    {P "pipeline_parallel_schedule_csv", WF_COST},
    {P "module_fqns_per_model_part", WF_COST},
    {T "enable_cpu_offload", WF_COST},
    {T "dtype", WF_COST},
    {"--compile.enable_async_tensor_parallel", WF_COST},
    {NULL, WF_ON},
};

static weft_status check_old(const wf_flags *f)
{
    static const char *const old[][2] = {
        {T "local_batch_size", T "num_tokens_per_microbatch_per_dp_rank"},
        {T "global_batch_size", T "num_tokens_per_train_step"},
        {T "seq_len", T "max_context_length"},
        {P "pipeline_parallel_microbatch_size", P "num_pp_microbatches"},
        {"--job.config_file", "--module with --config"},
    };
    for (int i = 0; i < 5; i++)
        if (wf_flags_given(f, old[i][0]))
            return WF_FAIL(WEFT_E_INVALID,
                           "%s is no longer taken by torchtitan (2026); %s is",
                           old[i][0], old[i][1]);
    return WEFT_OK;
}

/* ---- stages ------------------------------------------------------------------------- */

static weft_status virtual_stages(const wf_flags *f, weft_layout *l, int64_t slots)
{
    int64_t each = 0;
    int single = !strcmp(l->schedule, "1f1b") || !strcmp(l->schedule, "gpipe");

    WF_TRY(wf_flags_i64(f, P "pipeline_parallel_layers_per_stage", &each));
    l->vpp = single ? 1 : 2;
    if (!wf_flags_given(f, P "pipeline_parallel_layers_per_stage")) return WEFT_OK;
    int64_t stages = each > 0 ? (slots + each - 1) / each : 0;
    if (stages < 1 || stages % l->pp || stages > WF_MOST_STAGES)
        return WF_FAIL(
            WEFT_E_INVALID,
            P "pipeline_parallel_layers_per_stage %lld makes %lld stages of %lld "
              "layers, no multiple of " P "pipeline_parallel_degree %d",
            (long long)each, (long long)stages, (long long)slots, l->pp);
    l->vpp = (int32_t)(stages / l->pp);
    if (single == (l->vpp > 1))
        return WF_FAIL(
            WEFT_E_INVALID,
            P "pipeline_parallel_layers_per_stage %lld makes %d stages a rank, "
              "not for %s",
            (long long)each, l->vpp, l->schedule);
    return WEFT_OK;
}

static weft_status set_split(weft_layout *l, int64_t layers, int64_t in, int64_t out)
{
    int64_t count[WF_MOST_STAGES];
    weft_text text = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&text);
    int n = l->pp * l->vpp, even = 1;

    if (!wf_torchtitan_split(layers, n, in, out, count))
        return WF_FAIL(
            WEFT_E_INVALID,
            "%lld layers on %d stages leave the first or last, which weigh %lld "
            "and %lld layers more, without a layer",
            (long long)layers, n, (long long)in, (long long)out);
    for (int s = 1; s < n; s++)
        even &= count[s] == count[0];
    if (!even) weft_stages_write_counts(n, count, &w);
    weft_status st = weft_writer_status(&w);
    if (st == WEFT_OK && text.n >= sizeof l->stage_layers)
        st =
            WF_FAIL(WEFT_E_INVALID, "the layers of %d stages take more than %d letters",
                    n, (int)sizeof l->stage_layers - 1);
    if (st == WEFT_OK && !even)
        snprintf(l->stage_layers, sizeof l->stage_layers, "%s", text.s);
    weft_text_clear(&text);
    return st;
}

static weft_status read_stages(const wf_flags *f, weft_layout *l, int64_t layers)
{
    const char *kind = wf_flags_text(f, P "pipeline_parallel_schedule");
    int64_t in = 1, out = 1;

    WF_TRY(wf_flags_i32(f, P "pipeline_parallel_degree", &l->pp));
    if (l->pp < 1 || l->pp > WF_MOST_STAGES / 2)
        return WF_FAIL(WEFT_E_INVALID,
                       P "pipeline_parallel_degree %d is outside 1 .. %d", l->pp,
                       WF_MOST_STAGES / 2);
    if (l->pp == 1) return WEFT_OK;
    const char *schedule = wf_torchtitan_schedule(kind ? kind : "1F1B");
    if (!schedule)
        return WF_FAIL(WEFT_E_INVALID,
                       P
                       "pipeline_parallel_schedule %.40s is none of 1F1B GPipe "
                       "Interleaved1F1B LoopedBFS InterleavedZeroBubble ZBVZeroBubble "
                       "DualPipeV",
                       kind);
    snprintf(l->schedule, sizeof l->schedule, "%s", schedule);
    WF_TRY(wf_flags_i64(f, P "pipeline_parallel_first_stage_less_layers", &in));
    WF_TRY(wf_flags_i64(f, P "pipeline_parallel_last_stage_less_layers", &out));
    if (in < 0 || out < 0 || in > layers || out > layers)
        return WF_FAIL(WEFT_E_INVALID,
                       "first and last stage hold %lld and %lld layers less, of %lld",
                       (long long)in, (long long)out, (long long)layers);
    WF_TRY(virtual_stages(f, l, layers + in + out));
    return set_split(l, layers, in, out);
}

/* ---- the rest ------------------------------------------------------------------------ */

/* "default" reshards but for pipelines (get_fsdp_reshard_after_forward_policy()). */
static weft_status read_dp(const wf_flags *f, weft_layout *l)
{
    const char *when = wf_flags_text(f, P "fsdp_reshard_after_forward");
    int32_t copies = 1, shards = -1;

    WF_TRY(wf_flags_i32(f, P "data_parallel_replicate_degree", &copies));
    WF_TRY(wf_flags_i32(f, P "data_parallel_shard_degree", &shards));
    if (copies < 1 || (shards < 1 && shards != -1))
        return WF_FAIL(
            WEFT_E_INVALID,
            "data_parallel_replicate_degree %d, data_parallel_shard_degree %d: at "
            "least 1, the latter also -1",
            copies, shards);
    if (when && strcmp(when, "default") && strcmp(when, "always") &&
        strcmp(when, "never"))
        return WF_FAIL(
            WEFT_E_INVALID,
            P "fsdp_reshard_after_forward %.40s is none of default always never", when);
    int keep = when && strcmp(when, "default") ? !strcmp(when, "never") : l->pp > 1;
    if (shards != 1) l->zero = keep ? 2 : 3;
    l->replicate = shards == 1 ? 1 : copies;
    l->dp = shards > 0 ? copies * shards : 0;
    return WEFT_OK;
}

static weft_status whole(const char *flag, int64_t tokens, int64_t seq, int64_t *out)
{
    if (tokens < 1 || tokens % seq)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s %lld is no multiple of " T "max_context_length %lld", flag,
                       (long long)tokens, (long long)seq);
    *out = tokens / seq;
    return WEFT_OK;
}

/* A pipeline drains after num_pp_microbatches; a step of several passes is no schedule of
 * weft's. The default is one pass. */
static weft_status read_batch(const wf_flags *f, weft_layout *l)
{
    int64_t micro = 16384, step = -1, passes = 1;

    l->seq = 2048;
    WF_TRY(wf_flags_i64(f, T "max_context_length", &l->seq));
    WF_TRY(wf_flags_i64(f, T "num_tokens_per_microbatch_per_dp_rank", &micro));
    WF_TRY(wf_flags_i64(f, T "num_tokens_per_train_step", &step));
    WF_TRY(wf_flags_i64(f, P "num_pp_microbatches", &passes));
    if (l->seq < 1)
        return WF_FAIL(WEFT_E_INVALID, T "max_context_length %lld", (long long)l->seq);
    WF_TRY(whole(T "num_tokens_per_microbatch_per_dp_rank", micro, l->seq,
                 &l->micro_batch));
    if (step != -1)
        WF_TRY(whole(T "num_tokens_per_train_step", step, l->seq, &l->global_batch));
    if (l->pp == 1) passes = 1;
    if (l->dp && step == -1) l->global_batch = l->micro_batch * l->dp * passes;
    if (l->dp && l->pp > 1 && l->global_batch != l->micro_batch * l->dp * passes)
        return WF_FAIL(
            WEFT_E_INVALID,
            P "num_pp_microbatches %lld: the pipeline would drain several times "
              "a step; %lld makes it one pass",
            (long long)passes, (long long)(l->global_batch / (l->micro_batch * l->dp)));
    return WEFT_OK;
}

/* The subcommand of tyro that the checkpointing classes have. Without one it is the chosen
 * configuration's, which the line does not tell: none. */
static weft_status read_recompute(const wf_flags *f, weft_layout *l)
{
    static const char name[] = "activation-checkpoint:";

    for (int64_t i = 0; i < f->words->n; i++) {
        const char *word = f->words->word[i].text;
        if (strncmp(word, name, sizeof name - 1)) continue;
        const char *what = word + sizeof name - 1;
        if (strcmp(what, "none") && strcmp(what, "selective") && strcmp(what, "full"))
            return WF_FAIL(WEFT_E_INVALID,
                           "line %d: %.60s is none of %snone, selective and full",
                           f->words->word[i].line, word, name);
        snprintf(l->recompute, sizeof l->recompute, "%s", what);
    }
    return WEFT_OK;
}

static weft_status check_toml(const wf_flags *f)
{
    for (int64_t i = 0; i < f->words->n; i++) {
        const char *word = f->words->word[i].text;
        if (!strcmp(word, "[parallelism]") || !strcmp(word, "[training]"))
            return WF_FAIL(
                WEFT_E_INVALID,
                "line %d: %s is TOML, which torchtitan no longer reads (2026); "
                "give its --section.option flags",
                f->words->word[i].line, word);
    }
    return WEFT_OK;
}

static weft_status read_world(const wf_flags *f, weft_launch *out)
{
    int32_t nodes = 1, per_node = 0;
    WF_TRY(wf_flags_i32(f, "--nproc_per_node", &per_node));
    WF_TRY(wf_flags_i32(f, "--nnodes", &nodes));
    if (per_node < 0 || nodes < 1 || (int64_t)per_node * nodes > INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID, "--nnodes %d of --nproc_per_node %d ranks",
                       nodes, per_node);
    out->world = per_node * nodes;
    return WEFT_OK;
}

weft_status wf_torchtitan_read(wf_flags *f, const weft_arch *given, weft_launch *out)
{
    weft_layout *l = &out->layout;

    WF_TRY(check_toml(f));
    WF_TRY(check_old(f));
    if (!given)
        return WF_FAIL(WEFT_E_INVALID,
                       "torchtitan's flags name a configuration, not the "
                       "model's dimensions; give MODEL");
    out->arch = *given;
    l->tp = l->cp = l->pp = l->ep = 1;
    WF_TRY(read_world(f, out));
    WF_TRY(wf_flags_i32(f, P "tensor_parallel_degree", &l->tp));
    WF_TRY(wf_flags_i32(f, P "context_parallel_degree", &l->cp));
    WF_TRY(wf_flags_i32(f, P "expert_parallel_degree", &l->ep));
    l->sp = l->tp > 1 && wf_flags_on(f, P "enable_sequence_parallel", 1);
    snprintf(l->order, sizeof l->order, "%s", "tp,cp,dp,pp");
    WF_TRY(read_stages(f, l, given->layers));
    WF_TRY(read_dp(f, l));
    WF_TRY(read_recompute(f, l));
    return read_batch(f, l);
}
