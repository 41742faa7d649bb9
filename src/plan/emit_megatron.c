/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM: arguments of pretrain_gpt.py (megatron/training/arguments.py). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "plan/megatron_modules.h"
#include "plan/tool.h"

/* ---- what it can ------------------------------------------------------------------ */

/* Its own order has dp inside pp; --use-tp-pp-dp-mapping is ours. */
static weft_status check_order(const weft_layout *l)
{
    if (wf_order_is(l, "tp,cp,pp,dp") || wf_order_is(l, "tp,cp,dp,pp")) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "--order %s: megatron places its ranks tp,cp,dp,pp or, with "
                   "--use-tp-pp-dp-mapping, tp,cp,pp,dp",
                   l->order);
}

static weft_status check_kind(const weft_layout *l)
{
    WF_TRY(wf_need_kind(l, "megatron", "1f1b interleaved"));
    if (l->pp == 1 && l->vpp > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--vpp %d: megatron interleaves stages only with --pp 2 or more",
                       l->vpp);
    return WEFT_OK;
}

/* The first piece of the model that pretrain_gpt.py has no flag for; NULL: none. */
static const char *strange_piece(const weft_arch *a)
{
    if (a->patch) return "images";
    if (a->position == WEFT_POS_ALIBI) return "ALiBi";
    if (a->mlp == WEFT_MLP_GEGLU) return "GeGLU";
    if (a->mlp == WEFT_MLP_RELU) return "a ReLU that is not squared";
    if (a->qk_norm == WEFT_QK_NORM_FULL) return "a norm of q and k over all heads";
    if (a->embed_norm) return "a norm after the embedding";
    if (a->parallel) return "attention and MLP side by side";
    if (a->sandwich) return "norms after attention and MLP";
    if (a->head_bias) return "a bias of the output layer";
    return NULL;
}

static weft_status check_model(const weft_arch *a)
{
    const char *piece = strange_piece(a);
    if (!piece) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "%s: megatron's pretrain_gpt.py has no flag for %s", a->name, piece);
}

/* transformer_config.py and moe_layer.py. */
static weft_status check_experts(const weft_layout *l, const weft_arch *a)
{
    if (!a->experts || l->tp == 1) return WEFT_OK;
    if (a->mlp_bias)
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--tp %d: megatron does not split experts with biases, as %s has "
            "them; --tp 1",
            l->tp, a->name);
    if (!l->sp)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--tp %d: megatron trains MoE layers with it only with --sp",
                       l->tp);
    return WEFT_OK;
}

static weft_status check(const weft_layout *l, const weft_arch *a)
{
    WF_TRY(check_model(a));
    WF_TRY(check_order(l));
    WF_TRY(check_kind(l));
    WF_TRY(wf_need_one_recompute(l, "megatron"));
    WF_TRY(check_experts(l, a));
    if (l->zero == 0 && l->replicate > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--replicate %d shards nothing with --zero 0",
                       l->replicate);
    if ((int64_t)l->pp * l->vpp > WF_MOST_STAGES)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--pp %d * --vpp %d are more than %d stages",
                       l->pp, l->vpp, WF_MOST_STAGES);
    return WEFT_OK;
}

/* ---- the model -------------------------------------------------------------------- */

static void put_attention(const weft_arch *a, wf_line *line)
{
    wf_arg(line, "--num-attention-heads %lld", (long long)a->heads);
    if (a->kv_heads != a->heads) {
        wf_arg(line, "--group-query-attention");
        wf_arg(line, "--num-query-groups %lld", (long long)a->kv_heads);
    }
    if (a->heads * a->head_dim != a->hidden && !a->kv_lora)
        wf_arg(line, "--kv-channels %lld", (long long)a->head_dim);
    if (a->qkv_bias && !a->mlp_bias) wf_arg(line, "--add-qkv-bias");
    if (a->qk_norm || a->kv_lora) wf_arg(line, "--qk-layernorm");
    if (a->window) wf_arg(line, "--window-size %lld,0", (long long)a->window);
    if (a->window && a->full_every)
        wf_arg(line, "--window-attn-skip-freq %lld", (long long)a->full_every);
    if (a->sinks) wf_arg(line, "--softmax-type learnable");
    if (!a->kv_lora) return;
    wf_arg(line, "--multi-latent-attention");
    if (a->q_lora) wf_arg(line, "--q-lora-rank %lld", (long long)a->q_lora);
    wf_arg(line, "--kv-lora-rank %lld", (long long)a->kv_lora);
    wf_arg(line, "--qk-head-dim %lld", (long long)a->qk_nope);
    wf_arg(line, "--qk-pos-emb-head-dim %lld", (long long)a->qk_rope);
    wf_arg(line, "--v-head-dim %lld", (long long)a->v_head_dim);
}

/* Of the DeepSeek papers: V2, section 2.1.2 and their config.json; V3, section 2.1.2. The
 * scores of V2 are not normalised again after the choice. */
typedef struct router {
    const char *family, *model; /* NULL: all others of the family */
    const char *flags[5];
} router;

static const router routers[] = {
    {"deepseek_v3",
     "deepseek-v3",
     {"--moe-router-score-function sigmoid", "--moe-router-enable-expert-bias",
      "--moe-router-num-groups 8", "--moe-router-group-topk 4",
      "--moe-router-topk-scaling-factor 2.5"}},
    {"deepseek_v3",
     NULL,
     {"--moe-router-score-function sigmoid", "--moe-router-enable-expert-bias"}},
    {"deepseek_v2",
     "deepseek-v2",
     {"--moe-router-pre-softmax", "--moe-router-num-groups 8",
      "--moe-router-group-topk 3", "--moe-router-topk-scaling-factor 16.0"}},
    {"deepseek_v2", "deepseek-v2-lite", {"--moe-router-pre-softmax"}},
    {"deepseek_v2", NULL, {"--moe-router-pre-softmax"}},
};

/* The preset of this name, with other layers or widths too as long as it routes alike. */
static int routes_as(const weft_arch *a, const char *model)
{
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        const weft_arch *p = weft_arch_preset_at(i);
        if (!strcmp(p->name, model))
            return a->experts == p->experts &&
                   a->experts_per_token == p->experts_per_token;
    }
    return 0;
}

static const router *router_of(const weft_arch *a)
{
    for (size_t i = 0; i < sizeof routers / sizeof *routers; i++)
        if (!strcmp(routers[i].family, a->family) &&
            (!routers[i].model || routes_as(a, routers[i].model)))
            return &routers[i];
    return NULL;
}

static void put_router(const weft_arch *a, wf_line *line)
{
    const router *r = router_of(a);
    for (int i = 0; r && i < 5 && r->flags[i]; i++)
        wf_arg(line, "%s", r->flags[i]);
}

static void put_experts(const weft_arch *a, wf_line *line)
{
    if (a->mtp) wf_arg(line, "--mtp-num-layers %lld", (long long)a->mtp);
    if (!a->experts) return;
    wf_arg(line, "--num-experts %lld", (long long)a->experts);
    wf_arg(line, "--moe-router-topk %lld", (long long)a->experts_per_token);
    wf_arg(line, "--moe-ffn-hidden-size %lld", (long long)a->expert_ffn);
    if (a->shared_experts)
        wf_arg(line, "--moe-shared-expert-intermediate-size %lld",
               (long long)(a->shared_experts * a->expert_ffn));
    if (a->dense_layers)
        wf_arg(line, "--moe-layer-freq '[0]*%lld+[1]*%lld'", (long long)a->dense_layers,
               (long long)(a->layers - a->dense_layers));
    else if (a->moe_every > 1)
        wf_arg(line, "--moe-layer-freq %lld", (long long)a->moe_every);
    wf_arg(line, "--moe-token-dispatcher-type alltoall");
    wf_arg(line, "--moe-grouped-gemm");
    put_router(a, line);
}

static void put_positions(const weft_layout *l, const weft_arch *a, wf_line *line)
{
    int64_t longest = a->positions > l->seq ? a->positions : l->seq;

    if (a->position == WEFT_POS_ROPE) {
        wf_arg(line, "--position-embedding-type rope");
        wf_arg(line, "--rotary-base %.0f", a->rope_theta);
        /* latent attention takes YaRN unless told otherwise */
        if (a->kv_lora) wf_arg(line, "--rope-type rope");
    }
    if (a->position == WEFT_POS_NONE) wf_arg(line, "--position-embedding-type none");
    wf_arg(line, "--max-position-embeddings %lld", (long long)longest);
}

static void put_number(wf_line *line, const char *flag, double x, double usual)
{
    char number[32];
    if (x != usual) wf_arg(line, "%s %s", flag, wf_num_text(x, number));
}

static void put_model(const weft_layout *l, const weft_arch *a, wf_line *line)
{
    wf_arg(line, "--num-layers %lld", (long long)a->layers);
    wf_arg(line, "--hidden-size %lld", (long long)a->hidden);
    wf_arg(line, "--ffn-hidden-size %lld", (long long)a->ffn);
    put_attention(a, line);
    if (a->mlp == WEFT_MLP_SWIGLU) wf_arg(line, "--swiglu");
    if (a->norm == WEFT_RMSNORM) wf_arg(line, "--normalization RMSNorm");
    put_number(line, "--norm-epsilon", a->norm_eps, 1e-5);
    put_number(line, "--init-method-std", a->init_std, 0.02);
    if (!a->mlp_bias) wf_arg(line, "--disable-bias-linear");
    put_positions(l, a, line);
    if (!a->tied) wf_arg(line, "--untie-embeddings-and-output-weights");
    put_experts(a, line);
    wf_arg(line, "--vocab-size %lld", (long long)a->vocab);
    wf_arg(line, "--make-vocab-size-divisible-by %lld", (long long)l->vocab_multiple);
}

/* ---- the layout ------------------------------------------------------------------- */

static void put_layout_string(const weft_layout *l, const weft_arch *a, wf_line *line)
{
    static const weft_text none;
    int64_t count[WF_MOST_STAGES];
    weft_text text = none;
    weft_writer out = weft_text_writer(&text);

    wf_stage_counts(l, a, count);
    weft_stages_write_megatron(l->pp * l->vpp, count, &out);
    wf_arg(line, "--pipeline-model-parallel-layout '%s'", text.s ? text.s : "");
    if (out.failed) line->out->failed = 1;
    weft_text_clear(&text);
}

static void put_stages(const weft_layout *l, const weft_arch *a, wf_line *line)
{
    int even = !strcmp(l->stage_layers, "even");

    wf_arg(line, "--pipeline-model-parallel-size %d", l->pp);
    if (l->pp > 1 && !even) put_layout_string(l, a, line);
    if (l->vpp == 1) return;
    if (even) wf_arg(line, "--num-virtual-stages-per-pipeline-rank %d", l->vpp);
    if (l->group && l->group != l->pp)
        wf_arg(line, "--microbatch-group-size-per-virtual-pipeline-stage %d", l->group);
}

static void put_sharding(const weft_layout *l, const weft_cost_options *o,
                         wf_line *line)
{
    static const char *const what[] = {"", "", "optim_grads", "optim_grads_params"};

    if (o->grad_bytes == 2) wf_arg(line, "--grad-reduce-in-bf16");
    if (l->dp * l->cp > 1 && o->overlap_dp) wf_arg(line, "--overlap-grad-reduce");
    if (l->zero == 0) return;
    wf_arg(line, "--use-distributed-optimizer");
    if (l->dp * l->cp > 1 && o->overlap_dp) wf_arg(line, "--overlap-param-gather");
    if (l->replicate > 1)
        wf_arg(line, "--num-distributed-optimizer-instances %d", l->replicate);
    if (l->zero < 2) return;
    wf_arg(line, "--use-megatron-fsdp");
    wf_arg(line, "--data-parallel-sharding-strategy %s", what[l->zero]);
    wf_arg(line, "--ckpt-format fsdp_dtensor");
}

static void put_modules(uint32_t modules, weft_writer *out)
{
    weft_print(out, "--recompute-modules");
    for (int i = 0; i < WF_N_MODULES; i++)
        if (modules >> i & 1) weft_print(out, " %s", wf_module_name(i));
}

static void put_recompute(const weft_layout *l, const weft_arch *a,
                          const weft_cost_options *o, wf_line *line)
{
    const char *what = wf_one_recompute(l);

    if (!strcmp(what, "none")) return;
    wf_arg(line, "--recompute-granularity %s", what);
    if (strcmp(what, "full")) {
        wf_arg(line, "%s", "");
        put_modules(wf_modules_for_selective(l, a, o), line->out);
        return;
    }
    wf_arg(line, "--recompute-method uniform");
    wf_arg(line, "--recompute-num-layers 1");
}

static void put_cp(const weft_layout *l, wf_line *line)
{
    const char *how = "p2p"; /* a ring */

    if (l->cp == 1) return;
    if (!strcmp(l->cp_comm, "ulysses")) how = "a2a";
    if (!strcmp(l->cp_comm, "allgather")) how = "allgather";
    wf_arg(line, "--context-parallel-size %d", l->cp);
    wf_arg(line, "--cp-comm-type %s", how);
}

/* ---- how it was priced ---------------------------------------------------------------- */

/* FlashAttention has no learned sinks; cuDNN's fused attention has. Dropout is on unless it
 * is switched off, and 0.1 is what Megatron-LM takes by itself. */
static void put_options(const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o, wf_line *line)
{
    const char *dropout = o->dropout ? "0.1" : "0";

    wf_arg(line, "--hidden-dropout %s", dropout);
    wf_arg(line, "--attention-dropout %s", dropout);
    wf_arg(line, "--attention-backend %s",
           !o->fused_attention ? "unfused"
           : a->sinks          ? "fused"
                               : "flash");
    if (o->fused_loss) wf_arg(line, "--cross-entropy-loss-fusion");
    if (!o->overlap_pp && l->vpp > 1) wf_arg(line, "--no-overlap-p2p-communication");
    if (o->math >= WEFT_MATH_BF16) wf_arg(line, "--bf16"); /* else fp32, its default */
    if (o->math == WEFT_MATH_FP8) wf_arg(line, "--fp8-format hybrid");
    if (o->math == WEFT_MATH_FP4) wf_arg(line, "--fp4-format e2m1");
}

static weft_status check_options(const weft_cost_options *o)
{
    if (o->math != WEFT_MATH_F64) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "--math f64: megatron has f32, bf16, fp8 and fp4");
}

void wf_megatron_args(const weft_layout *l, const weft_arch *a,
                      const weft_cost_options *o, weft_writer *out)
{
    wf_line line = {out, 0};

    put_model(l, a, &line);
    wf_arg(&line, "--tensor-model-parallel-size %d", l->tp);
    if (l->sp && l->tp > 1) wf_arg(&line, "--sequence-parallel");
    put_cp(l, &line);
    put_stages(l, a, &line);
    if (l->ep > 1) wf_arg(&line, "--expert-model-parallel-size %d", l->ep);
    if (a->experts) wf_arg(&line, "--expert-tensor-parallel-size %d", l->tp);
    if (!wf_order_is(l, "tp,cp,dp,pp")) wf_arg(&line, "--use-tp-pp-dp-mapping");
    wf_arg(&line, "--micro-batch-size %lld", (long long)l->micro_batch);
    wf_arg(&line, "--global-batch-size %lld", (long long)l->global_batch);
    wf_arg(&line, "--seq-length %lld", (long long)l->seq);
    put_sharding(l, o, &line);
    put_recompute(l, a, o, &line);
    put_options(l, a, o, &line);
}

/* Where the modules are not what was priced. */
static void put_recompute_note(const weft_layout *l, const weft_arch *a,
                               const weft_cost_options *o, weft_writer *out)
{
    uint32_t modules = wf_modules_for_selective(l, a, o);
    double frees = wf_modules_free(l, a, o, modules);
    double priced = wf_selective_frees(l, a, o);

    if (strcmp(wf_one_recompute(l), "selective") || !o->fused_attention) return;
    weft_print(out, "# ");
    put_modules(modules, out);
    weft_print(out, " frees %.0f bytes a token and layer; %.0f were priced\n", frees,
               priced);
    if (frees < priced)
        weft_print(out,
                   "# the rest is a norm that is part of the linear layer after it\n");
    if (modules & (WF_MLP | WF_MOE | WF_SHARED_EXPERTS))
        weft_print(out,
                   "# and makes the matmuls of %s again, which the predicted time does "
                   "not hold\n",
                   modules & WF_MOE              ? "the MoE layers"
                   : modules & WF_SHARED_EXPERTS ? "the shared experts"
                                                 : "the MLP");
}

/* What no flag of the line can say, as comments before it. */
void wf_megatron_notes(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, weft_writer *out)
{
    const router *r = router_of(a);

    put_recompute_note(l, a, o, out);
    if (r && !r->model)
        weft_print(out,
                   "# yours: --moe-router-num-groups, --moe-router-group-topk and "
                   "--moe-router-topk-scaling-factor, which %s does not tell\n",
                   a->name);
    if (a->router_bias && !r)
        weft_print(out,
                   "# pretrain_gpt.py has no flag for the bias of the router of "
                   "%s: its shape is the same without\n",
                   a->name);
    if (!strcmp(a->family, "gpt_oss"))
        weft_print(out, "# yours: the clamped SwiGLU of gpt-oss "
                        "(--activation-func-clamp-value, --glu-linear-offset)\n");
    if (a->position == WEFT_POS_ROPE && a->rope_theta != rint(a->rope_theta))
        weft_print(out, "# --rotary-base takes whole numbers; the model has %g\n",
                   a->rope_theta);
}

static void write_args(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, int per_node, weft_writer *out)
{
    wf_megatron_notes(l, a, o, out);
    wf_megatron_args(l, a, o, out);
    weft_print(out, "\n");
}

const wf_tool wf_tool_megatron = {.name = "megatron",
                                  .order = "tp,cp,pp,dp",
                                  .check = check,
                                  .check_options = check_options,
                                  .write = write_args,
                                  .read = wf_megatron_read,
                                  .rows = wf_megatron_rows,
                                  .known = wf_megatron_known};
