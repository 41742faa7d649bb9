/* SPDX-License-Identifier: Apache-2.0 */
/* nanotron: the YAML of run_train.py (src/nanotron/config/). It holds all that the file must
 * hold; what the layout does not say is as in examples/config_tiny_llama.yaml. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "plan/tool.h"

/* The first piece that its Llama and Qwen2 have not; NULL: none. */
static const char *strange_piece(const weft_arch *a)
{
    if (a->qk_norm) return "a norm of q and k";
    if (a->window) return "a window";
    if (a->parallel || a->sandwich || a->embed_norm) return "norms in other places";
    if (a->out_bias || a->mlp_bias || a->head_bias) return "biases beside those of qkv";
    if (a->sinks) return "attention sinks";
    if (a->heads * a->head_dim != a->hidden) return "heads that are not hidden wide";
    return NULL;
}

static weft_status check_model(const weft_layout *l, const weft_arch *a)
{
    const char *piece = strange_piece(a);
    if (a->mlp != WEFT_MLP_SWIGLU || a->norm != WEFT_RMSNORM || a->experts ||
        a->kv_lora || a->position != WEFT_POS_ROPE)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "%s: nanotron is written for dense models of the Llama shape",
                       a->name);
    if (piece)
        return WF_FAIL(WEFT_E_INFEASIBLE, "%s: nanotron's Llama and Qwen2 have not %s",
                       a->name, piece);
    if (a->kv_heads < l->tp)
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "--tp %d is more than %lld kv_heads, which nanotron does not copy", l->tp,
            (long long)a->kv_heads);
    return WEFT_OK;
}

static weft_status check(const weft_layout *l, const weft_arch *a)
{
    WF_TRY(check_model(l, a));
    WF_TRY(wf_need_order(l, "nanotron", "tp,cp,dp,pp"));
    WF_TRY(wf_need_kind(l, "nanotron", "1f1b gpipe"));
    WF_TRY(wf_need_one_recompute(l, "nanotron"));
    if (l->vpp > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--vpp %d: nanotron has one stage a rank",
                       l->vpp);
    if (l->cp > 1 && !strcmp(l->cp_comm, "ulysses"))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--cp-comm ulysses: nanotron has ring and allgather");
    if (l->zero > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--zero %d: nanotron has 0 and 1", l->zero);
    if (!strcmp(wf_one_recompute(l), "selective"))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--recompute selective: nanotron has none and full");
    if (l->ep > 1 || l->replicate > 1)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--%s %d: nanotron's layout has none",
                       l->ep > 1 ? "ep" : "replicate",
                       l->ep > 1 ? l->ep : l->replicate);
    if (l->pp > 1 && strcmp(l->stage_layers, "even") &&
        strcmp(l->stage_layers, "balanced"))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--stage-layers %s: nanotron splits the layers by their cost "
                       "itself",
                       l->stage_layers);
    return WEFT_OK;
}

static const char *yes(int on)
{
    return on ? "true" : "false";
}

/* YAML 1.1 takes 1e-05 for a word: a number has a point. */
static const char *real(double x, char buf[40])
{
    char plain[32];
    wf_num_text(x, plain);
    size_t n = strcspn(plain, ".e");
    snprintf(buf, 40, "%.*s%s%s", (int)n, plain, plain[n] == '.' ? "" : ".0",
             plain + n);
    return buf;
}

/* Its Llama has neither a bias nor context parallelism. */
static void put_attention(const weft_layout *l, const weft_arch *a, weft_writer *out)
{
    int gathered = l->cp > 1 && !strcmp(l->cp_comm, "allgather");

    if (a->qkv_bias) weft_print(out, "    attention_bias: true\n");
    weft_print(out, "    _attn_implementation: %s\n",
               gathered    ? "llama3_ring_attention"
               : l->cp > 1 ? "ring"
                           : "flash_attention_2");
    if (gathered) weft_print(out, "    ring_attn_heads_k_stride: 1\n");
}

static void put_model(const weft_layout *l, const weft_arch *a, weft_writer *out)
{
    char number[40];
    int qwen = a->qkv_bias || l->cp > 1;

    weft_print(out,
               "model:\n  ddp_bucket_cap_mb: 25\n  dtype: bfloat16\n  init_method:\n"
               "    std: %s\n  make_vocab_size_divisible_by: %lld\n  model_config:\n"
               "    bos_token_id: 1\n    eos_token_id: 2\n    hidden_act: silu\n",
               real(a->init_std, number), (long long)l->vocab_multiple);
    weft_print(out,
               "    hidden_size: %lld\n    intermediate_size: %lld\n    %s: true\n"
               "    max_position_embeddings: %lld\n    num_attention_heads: %lld\n",
               (long long)a->hidden, (long long)a->ffn,
               qwen ? "is_qwen2_config" : "is_llama_config",
               (long long)(a->positions > l->seq ? a->positions : l->seq),
               (long long)a->heads);
    weft_print(
        out,
        "    num_hidden_layers: %lld\n    num_key_value_heads: %lld\n"
        "    rope_theta: %s\n    tie_word_embeddings: %s\n    vocab_size: %lld\n",
        (long long)a->layers, (long long)a->kv_heads, real(a->rope_theta, number),
        yes(a->tied), (long long)a->vocab);
    weft_print(out, "    rms_norm_eps: %s\n", real(a->norm_eps, number));
    put_attention(l, a, out);
}

static void put_layout(const weft_layout *l, weft_writer *out)
{
    weft_print(out,
               "parallelism:\n  context_parallel_size: %d\n  dp: %d\n"
               "  expert_parallel_size: 1\n  pp: %d\n  pp_engine: %s\n"
               "  recompute_layer: %s\n  tp: %d\n"
               "  tp_linear_async_communication: %s\n  tp_mode: %s\n",
               l->cp, l->dp, l->pp, strcmp(l->schedule, "gpipe") ? "1f1b" : "afab",
               yes(!strcmp(wf_one_recompute(l), "full")), l->tp,
               yes(l->sp && l->tp > 1),
               l->sp && l->tp > 1 ? "REDUCE_SCATTER" : "ALL_REDUCE");
    weft_print(out,
               "tokens:\n  batch_accumulation_per_replica: %lld\n"
               "  micro_batch_size: %lld\n  sequence_length: %lld\n"
               "  train_steps: 1000 # yours\n",
               (long long)weft_layout_n_micro(l), (long long)l->micro_batch,
               (long long)l->seq);
}

static void write_yaml(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, int per_node, weft_writer *out)
{
    weft_print(out, "# add your own: data_stages, tokenizer, logging\n"
                    "checkpoints:\n  checkpoint_interval: 1000\n"
                    "  checkpoints_path: checkpoints\n"
                    "general:\n  project: weft\n  run: plan\n  seed: 42\n");
    put_model(l, a, out);
    weft_print(out,
               "optimizer:\n  accumulate_grad_in_fp32: %s\n  clip_grad: 1.0\n"
               "  learning_rate_scheduler:\n    learning_rate: 0.0003 # yours\n"
               "    lr_decay_style: cosine\n    lr_warmup_steps: 2\n"
               "    lr_warmup_style: linear\n    min_decay_lr: 1.0e-05\n"
               "  optimizer_factory:\n    adam_beta1: 0.9\n    adam_beta2: 0.95\n"
               "    adam_eps: 1.0e-08\n    name: adamW\n    torch_adam_is_fused: true\n"
               "  weight_decay: 0.01\n  zero_stage: %d\n",
               yes(o->grad_bytes >= 4), l->zero);
    put_layout(l, out);
}

static weft_status check_options(const weft_cost_options *o)
{
    if (o->math != WEFT_MATH_BF16)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--math %s: nanotron's attention has bf16",
                       weft_math_name((weft_math)o->math));
    if (o->dropout)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--dropout: nanotron's models have none");
    if (!o->fused_attention)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "--fused-attention=false: nanotron's attention is fused");
    return WEFT_OK;
}

const wf_tool wf_tool_nanotron = {.name = "nanotron",
                                  .order = "tp,cp,dp,pp",
                                  .check = check,
                                  .check_options = check_options,
                                  .write = write_yaml};
