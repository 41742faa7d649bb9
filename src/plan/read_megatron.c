/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's argument line. Defaults and rules are those of its arguments.py. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/megatron_modules.h"
#include "plan/read_megatron.h"

const wf_flag_row wf_megatron_rows[] = {
    /* torchrun */
    {"--nproc-per-node", WF_ONE},
    {"--nproc_per_node", WF_ONE},
    {"--nnodes", WF_ONE},
    /* the model */
    {"--num-layers", WF_ONE},
    {"--hidden-size", WF_ONE},
    {"--ffn-hidden-size", WF_ONE},
    {"--num-attention-heads", WF_ONE},
    {"--group-query-attention", WF_ON},
    {"--num-query-groups", WF_ONE},
    {"--kv-channels", WF_ONE},
    {"--swiglu", WF_ON},
    {"--normalization", WF_ONE},
    {"--disable-bias-linear", WF_ON},
    {"--add-qkv-bias", WF_ON},
    {"--qk-layernorm", WF_ON},
    {"--norm-epsilon", WF_ONE},
    {"--init-method-std", WF_ONE},
    {"--window-size", WF_ONE},
    {"--window-attn-skip-freq", WF_ONE},
    {"--softmax-type", WF_ONE},
    {"--rotary-base", WF_ONE},
    {"--position-embedding-type", WF_ONE},
    {"--use-rotary-position-embeddings", WF_ON},
    {"--untie-embeddings-and-output-weights", WF_ON},
    {"--max-position-embeddings", WF_ONE},
    {"--vocab-size", WF_ONE},
    {"--make-vocab-size-divisible-by", WF_ONE},
    {"--num-experts", WF_ONE},
    {"--moe-router-topk", WF_ONE},
    {"--moe-ffn-hidden-size", WF_ONE},
    {"--moe-shared-expert-intermediate-size", WF_ONE},
    {"--moe-layer-freq", WF_ONE},
    {"--moe-router-enable-expert-bias", WF_ON},
    {"--multi-latent-attention", WF_ON},
    {"--q-lora-rank", WF_ONE},
    {"--kv-lora-rank", WF_ONE},
    {"--qk-head-dim", WF_ONE},
    {"--qk-pos-emb-head-dim", WF_ONE},
    {"--v-head-dim", WF_ONE},
    {"--mtp-num-layers", WF_ONE},
    /* the layout */
    {"--tensor-model-parallel-size", WF_ONE},
    {"--context-parallel-size", WF_ONE},
    {"--cp-comm-type", WF_MANY},
    {"--pipeline-model-parallel-size", WF_ONE},
    {"--expert-model-parallel-size", WF_ONE},
    {"--sequence-parallel", WF_ON},
    {"--num-layers-per-virtual-pipeline-stage", WF_ONE},
    {"--num-virtual-stages-per-pipeline-rank", WF_ONE},
    {"--pipeline-model-parallel-layout", WF_ONE},
    {"--microbatch-group-size-per-virtual-pipeline-stage", WF_ONE},
    {"--decoder-first-pipeline-num-layers", WF_ONE},
    {"--decoder-last-pipeline-num-layers", WF_ONE},
    {"--account-for-embedding-in-pipeline-split", WF_ON},
    {"--account-for-loss-in-pipeline-split", WF_ON},
    {"--use-tp-pp-dp-mapping", WF_ON},
    {"--micro-batch-size", WF_ONE},
    {"--global-batch-size", WF_ONE},
    {"--seq-length", WF_ONE},
    {"--use-distributed-optimizer", WF_ON},
    {"--num-distributed-optimizer-instances", WF_ONE},
    {"--use-megatron-fsdp", WF_ON},
    {"--use-torch-fsdp2", WF_ON},
    {"--torch-fsdp2-no-reshard-after-forward", WF_ON},
    {"--data-parallel-sharding-strategy", WF_ONE},
    {"--recompute-activations", WF_ON},
    {"--recompute-granularity", WF_ONE},
    {"--recompute-method", WF_ONE},
    {"--recompute-num-layers", WF_ONE},
    {"--recompute-modules", WF_MANY},
    /* how it is computed */
    {"--hidden-dropout", WF_ONE},
    {"--attention-dropout", WF_ONE},
    {"--attention-backend", WF_ONE},
    {"--cross-entropy-loss-fusion", WF_ON},
    {"--overlap-grad-reduce", WF_ON},
    {"--grad-reduce-in-bf16", WF_ON},
    {"--expert-tensor-parallel-size", WF_ONE},
    {"--bf16", WF_ON},
    {"--fp16", WF_ON},
    /* no longer taken: named with what took their place */
    {"--model-parallel-size", WF_ONE},
    {"--batch-size", WF_ONE},
    {"--checkpoint-activations", WF_ON},
    /* change time or memory, beyond the model */
    {"--fp8-format", WF_COST},
    {"--fp4-format", WF_COST},
    {"--cpu-offloading-num-layers", WF_COST},
    {"--optimizer-cpu-offload", WF_COST},
    {"--distribute-saved-activations", WF_COST},
    {"--rampup-batch-size", WF_COST},
    {"--hierarchical-context-parallel-sizes", WF_COST},
    {"--use-precision-aware-optimizer", WF_COST},
    {"--tensor-parallel-num-weight-shards", WF_COST},
    {"--tp-comm-overlap", WF_COST},
    {"--delay-wgrad-compute", WF_COST},
    {"--moe-expert-capacity-factor", WF_COST},
    {"--moe-pad-expert-input-to-capacity", WF_COST},
    {"--moe-shared-expert-overlap", WF_COST},
    {"--overlap-moe-expert-parallel-comm", WF_COST},
    {"--fp8-param-gather", WF_COST},
    {"--fp32-residual-connection", WF_COST},
    {"--cuda-graph-impl", WF_COST},
    {NULL, WF_ON},
};

/* ---- what no longer is, and what excludes another ---------------------------------- */

static weft_status check_old(const wf_flags *f)
{
    static const char *const old[][2] = {
        {"--model-parallel-size", "--tensor-model-parallel-size"},
        {"--batch-size", "--micro-batch-size"},
        {"--checkpoint-activations", "--recompute-activations"},
    };
    for (int i = 0; i < 3; i++)
        if (wf_flags_given(f, old[i][0]))
            return WF_FAIL(WEFT_E_INVALID,
                           "%s is no longer taken by Megatron-LM; %s is", old[i][0],
                           old[i][1]);
    return WEFT_OK;
}

static weft_status check_pairs(const wf_flags *f)
{
    WF_TRY(wf_flags_at_most_one(f, "--num-layers-per-virtual-pipeline-stage "
                                   "--num-virtual-stages-per-pipeline-rank "
                                   "--pipeline-model-parallel-layout"));
    WF_TRY(wf_flags_at_most_one(f, "--use-megatron-fsdp --use-torch-fsdp2"));
    WF_TRY(wf_flags_at_most_one(f, "--use-distributed-optimizer --use-torch-fsdp2"));
    WF_TRY(wf_flags_at_most_one(f, "--bf16 --fp16"));
    WF_TRY(wf_flags_at_most_one(f, "--recompute-activations --recompute-method"));
    static const char *const uneven[] = {"--decoder-first-pipeline-num-layers",
                                         "--decoder-last-pipeline-num-layers"};
    for (int i = 0; i < 2; i++) {
        char pair[192];
        snprintf(pair, sizeof pair, "%s --account-for-embedding-in-pipeline-split",
                 uneven[i]);
        WF_TRY(wf_flags_at_most_one(f, pair));
        snprintf(pair, sizeof pair, "%s --account-for-loss-in-pipeline-split",
                 uneven[i]);
        WF_TRY(wf_flags_at_most_one(f, pair));
        snprintf(pair, sizeof pair, "%s --pipeline-model-parallel-layout", uneven[i]);
        WF_TRY(wf_flags_at_most_one(f, pair));
        snprintf(pair, sizeof pair, "%s --num-layers-per-virtual-pipeline-stage",
                 uneven[i]);
        WF_TRY(wf_flags_at_most_one(f, pair));
    }
    return WEFT_OK;
}

static weft_status need(const wf_flags *f, const char *name)
{
    if (wf_flags_given(f, name)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s is missing", name);
}

/* ---- the rest of the layout --------------------------------------------------------- */

static weft_status read_sharding(const wf_flags *f, weft_layout *l)
{
    static const char *const strategy[] = {"no_shard", "optim", "optim_grads",
                                           "optim_grads_params"};
    const char *said = wf_flags_text(f, "--data-parallel-sharding-strategy");

    l->zero = wf_flags_given(f, "--use-distributed-optimizer");
    if (wf_flags_given(f, "--use-torch-fsdp2")) {
        if (l->pp > 1)
            return WF_FAIL(WEFT_E_INVALID,
                           "--use-torch-fsdp2 is not for pipelines, and "
                           "--pipeline-model-parallel-size is %d",
                           l->pp);
        l->zero = wf_flags_given(f, "--torch-fsdp2-no-reshard-after-forward") ? 2 : 3;
    }
    WF_TRY(wf_flags_i32(f, "--num-distributed-optimizer-instances", &l->replicate));
    if (!wf_flags_given(f, "--use-megatron-fsdp")) return WEFT_OK;
    l->zero = 3; /* the strategy's default */
    for (int i = 0; said && i < 4; i++)
        if (!strcmp(said, strategy[i])) {
            l->zero = i;
            return WEFT_OK;
        }
    if (!said) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "--data-parallel-sharding-strategy %.40s is none of no_shard optim "
                   "optim_grads optim_grads_params",
                   said);
}

/* Which modules, as bits; core_attn alone by default. */
static uint32_t read_modules(const wf_flags *f)
{
    const char *word;
    uint32_t modules = wf_flags_given(f, "--recompute-modules") ? 0 : WF_CORE_ATTN;

    for (int i = 0; (word = wf_flags_value_at(f, "--recompute-modules", i)); i++) {
        int k = 0;
        while (k < WF_N_MODULES && strcmp(word, wf_module_name(k)))
            k++;
        /* others ("mla_up_proj", "gdn_norm_out") free what is not priced as freed */
        if (k < WF_N_MODULES) modules |= 1u << k;
    }
    return modules;
}

/* `selective` is credited where the modules free what it is priced to free; else nothing is.
 * What is computed again beyond that has no model. */
static void credit_selective(wf_flags *f, weft_launch *out)
{
    const weft_arch *a = &out->arch;
    weft_cost_options o;

    weft_cost_defaults(&o);
    o.fused_attention = out->fused_attention;
    uint32_t needed = wf_modules_for_selective(&out->layout, a, &o);
    uint32_t modules = read_modules(f);
    int enough = wf_modules_hold(modules, needed);
    snprintf(out->layout.recompute, sizeof out->layout.recompute, "%s",
             enough ? "selective" : "none");
    if (enough && modules == needed) return;
    wf_flags_unmodelled(
        f, wf_flags_given(f, "--recompute-modules")       ? "--recompute-modules"
           : wf_flags_given(f, "--recompute-activations") ? "--recompute-activations"
                                                          : "--recompute-granularity");
}

static weft_status read_recompute(wf_flags *f, weft_launch *out)
{
    weft_layout *l = &out->layout;
    const char *how = wf_flags_text(f, "--recompute-granularity");
    const char *method = wf_flags_text(f, "--recompute-method");
    int64_t layers = 1;

    WF_TRY(wf_flags_i64(f, "--recompute-num-layers", &layers));
    if (wf_flags_given(f, "--recompute-activations")) {
        if (how && strcmp(how, "selective"))
            return WF_FAIL(WEFT_E_INVALID,
                           "--recompute-activations and "
                           "--recompute-granularity %s contradict each "
                           "other; keep one",
                           how);
        how = "selective";
    }
    if (!how) return WEFT_OK;
    if (strcmp(how, "full") && strcmp(how, "selective"))
        return WF_FAIL(WEFT_E_INVALID,
                       "--recompute-granularity %.40s is neither full nor selective",
                       how);
    if (!strcmp(how, "full") && (!method || strcmp(method, "uniform") || layers != 1))
        return WF_FAIL(WEFT_E_INVALID,
                       "--recompute-granularity full: weft has a model of "
                       "--recompute-method uniform with --recompute-num-layers 1 only");
    if (!strcmp(how, "selective") && method)
        return WF_FAIL(WEFT_E_INVALID, "--recompute-method is not for "
                                       "--recompute-granularity selective");
    if (!strcmp(how, "selective")) return credit_selective(f, out), WEFT_OK;
    snprintf(l->recompute, sizeof l->recompute, "%s", how);
    return WEFT_OK;
}

/* Dropout is 0.1 unless the line says otherwise; attention is fused unless it says so. */
static weft_status read_options(const wf_flags *f, weft_launch *out)
{
    const char *backend = wf_flags_text(f, "--attention-backend");
    double hidden = 0.1, attention = 0.1;

    WF_TRY(wf_flags_f64(f, "--hidden-dropout", &hidden));
    WF_TRY(wf_flags_f64(f, "--attention-dropout", &attention));
    if (!(hidden >= 0 && hidden < 1 && attention >= 0 && attention < 1))
        return WF_FAIL(WEFT_E_INVALID,
                       "--hidden-dropout %g, --attention-dropout %g: 0 or more and "
                       "below 1",
                       hidden, attention);
    out->dropout = hidden > 0 || attention > 0;
    out->dropout_assumed = (hidden > 0 && !wf_flags_given(f, "--hidden-dropout")) ||
                           (attention > 0 && !wf_flags_given(f, "--attention-dropout"));
    out->fused_loss = wf_flags_given(f, "--cross-entropy-loss-fusion");
    out->overlap_dp = wf_flags_given(f, "--overlap-grad-reduce") ||
                      wf_flags_given(f, "--use-torch-fsdp2");
    out->grad_bytes = wf_flags_given(f, "--grad-reduce-in-bf16") ? 2 : 4;
    out->fused_attention = 1;
    if (!backend) return WEFT_OK;
    if (!strcmp(backend, "unfused") || !strcmp(backend, "local"))
        out->fused_attention = 0;
    else if (strcmp(backend, "flash") && strcmp(backend, "fused") &&
             strcmp(backend, "auto"))
        return WF_FAIL(WEFT_E_INVALID,
                       "--attention-backend %.40s is none of flash fused unfused local "
                       "auto",
                       backend);
    return WEFT_OK;
}

static weft_status read_cp(const wf_flags *f, weft_layout *l)
{
    static const char *const how[][2] = {
        {"p2p", "ring"}, {"allgather", "allgather"}, {"a2a", "ulysses"}};
    const char *said = wf_flags_text(f, "--cp-comm-type");

    WF_TRY(wf_flags_i32(f, "--context-parallel-size", &l->cp));
    for (int i = 0; said && i < 3; i++)
        if (!strcmp(said, how[i][0])) {
            snprintf(l->cp_comm, sizeof l->cp_comm, "%s", how[i][1]);
            return WEFT_OK;
        }
    if (!said) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "--cp-comm-type %.40s: weft has a model of p2p, allgather and a2a",
                   said);
}

/* World of torchrun, if both of its numbers stand there. */
static weft_status read_world(const wf_flags *f, weft_launch *out)
{
    int32_t nodes = 1, per_node = 0;

    WF_TRY(wf_flags_at_most_one(f, "--nproc-per-node --nproc_per_node"));
    WF_TRY(wf_flags_i32(f, "--nproc-per-node", &per_node));
    WF_TRY(wf_flags_i32(f, "--nproc_per_node", &per_node));
    WF_TRY(wf_flags_i32(f, "--nnodes", &nodes));
    if (per_node < 0 || nodes < 1 || (int64_t)per_node * nodes > INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID, "--nnodes %d of --nproc-per-node %d ranks",
                       nodes, per_node);
    out->world = per_node * nodes;
    return WEFT_OK;
}

/* TP splits the experts as it splits the rest, unless the line says otherwise. */
static weft_status read_expert_tp(wf_flags *f, const weft_layout *l, const weft_arch *a)
{
    int32_t etp = l->tp;
    WF_TRY(wf_flags_i32(f, "--expert-tensor-parallel-size", &etp));
    if (a->experts && etp != l->tp)
        wf_flags_unmodelled(f, "--expert-tensor-parallel-size");
    return WEFT_OK;
}

static weft_status read_degrees(const wf_flags *f, weft_layout *l)
{
    l->tp = l->pp = l->cp = l->ep = 1;
    WF_TRY(wf_flags_i32(f, "--tensor-model-parallel-size", &l->tp));
    WF_TRY(wf_flags_i32(f, "--expert-model-parallel-size", &l->ep));
    l->sp = wf_flags_given(f, "--sequence-parallel") && l->tp > 1;
    WF_TRY(read_cp(f, l));
    int ours = wf_flags_given(f, "--use-tp-pp-dp-mapping");
    snprintf(l->order, sizeof l->order, "%s", ours ? "tp,cp,pp,dp" : "tp,cp,dp,pp");
    return WEFT_OK;
}

weft_status wf_megatron_read(wf_flags *f, const weft_arch *given, weft_launch *out)
{
    weft_layout *l = &out->layout;

    WF_TRY(check_old(f));
    WF_TRY(check_pairs(f));
    WF_TRY(need(f, "--micro-batch-size"));
    WF_TRY(need(f, "--seq-length"));
    WF_TRY(wf_megatron_model(f, given, out));
    WF_TRY(read_world(f, out));
    WF_TRY(read_degrees(f, l));
    WF_TRY(read_expert_tp(f, l, &out->arch));
    WF_TRY(wf_megatron_stages(f, l, out->arch.layers));
    WF_TRY(read_sharding(f, l));
    WF_TRY(read_options(f, out));
    WF_TRY(read_recompute(f, out));
    WF_TRY(wf_flags_i64(f, "--micro-batch-size", &l->micro_batch));
    WF_TRY(wf_flags_i64(f, "--global-batch-size", &l->global_batch));
    WF_TRY(wf_flags_i64(f, "--seq-length", &l->seq));
    return wf_flags_i64(f, "--make-vocab-size-divisible-by", &l->vocab_multiple);
}
