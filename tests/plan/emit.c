/* SPDX-License-Identifier: Apache-2.0 */
/* What other tools are told, and what is read from their lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>
#include <weft/emit.h>

#include "arch/fields.h"
#include "plan/tool.h"

#define LLAMA                                                                          \
    "family=llama,layers=24,hidden=1024,heads=16,kv_heads=8,ffn=2816,vocab=32000"
#define MOE LLAMA ",experts=16,experts_per_token=2"

static weft_arch arch_of(const char *text)
{
    weft_arch a;
    if (weft_arch_parse(text, &a)) fail_msg("%s: %s", text, weft_status_message());
    return a;
}

/* ---- random layouts ------------------------------------------------------------------ */

static uint64_t seed = 1;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

static const char *one_of(const char *const *words, int n)
{
    return words[below(n)];
}

static weft_layout any_layout(int is_moe)
{
    static const char *const kind[] = {"1f1b",       "interleaved",   "gpipe",
                                       "looped-bfs", "zb-h1",         "zb-v",
                                       "dualpipev",  "interleaved-zb"};
    static const char *const order[] = {"tp,cp,pp,dp", "tp,cp,dp,pp", "pp,tp,cp,dp"};
    static const char *const recompute[] = {"none", "selective", "full",
                                            "none*2,full*2"};
    static const char *const cp[] = {"ring", "allgather", "ulysses"};
    static const char *const split[] = {"even",    "even",    "balanced", "5,7,7,5",
                                        "5,6*2,7", "2,3*6,4", "7,6,6,5"};
    weft_layout l;

    weft_layout_defaults(&l);
    l.tp = 1 << below(4);
    l.cp = 1 << below(2);
    l.pp = 1 << below(4);
    l.dp = 1 << below(3);
    l.ep = is_moe ? 1 << below(2) : 1;
    l.vpp = 1 + below(3);
    l.zero = below(4);
    l.replicate = l.dp > 1 && !below(3) ? 2 : 1;
    l.sp = below(2);
    l.micro_batch = 1 + below(2);
    l.seq = 1024;
    l.global_batch = l.micro_batch * l.dp * l.pp * (1 + below(4));
    l.vocab_multiple = below(2) ? 128 : 64;
    snprintf(l.schedule, sizeof l.schedule, "%s", one_of(kind, 8));
    snprintf(l.order, sizeof l.order, "%s", one_of(order, 3));
    snprintf(l.recompute, sizeof l.recompute, "%s", one_of(recompute, 4));
    snprintf(l.cp_comm, sizeof l.cp_comm, "%s", one_of(cp, 3));
    snprintf(l.stage_layers, sizeof l.stage_layers, "%s", one_of(split, 7));
    return l;
}

/* ---- there and back ------------------------------------------------------------------- */

static char *emitted_as(weft_tool tool, const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o)
{
    weft_text text = {NULL, 0, 0};
    weft_writer out = weft_text_writer(&text);
    if (weft_emit(tool, l, a, o, 8, &out)) fail_msg("%s", weft_status_message());
    return text.s;
}

static char *emitted(weft_tool tool, const weft_layout *l, const weft_arch *a)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    return emitted_as(tool, l, a, &o);
}

static void assert_same_place(const weft_layout *a, const weft_layout *b)
{
    weft_mesh x, y;
    assert_int_equal(weft_layout_mesh(a, &x), WEFT_OK);
    assert_int_equal(weft_layout_mesh(b, &y), WEFT_OK);
    for (int r = 0; r < weft_mesh_world(&x); r++)
        for (int axis = 0; axis < WEFT_N_AXES; axis++)
            assert_int_equal(weft_mesh_coord_of(&x, r, (weft_axis)axis),
                             weft_mesh_coord_of(&y, r, (weft_axis)axis));
}

static void assert_same_layout(const weft_layout *a, const weft_layout *b,
                               const weft_arch *arch)
{
    assert_int_equal(a->tp, b->tp);
    assert_int_equal(a->cp, b->cp);
    assert_int_equal(a->pp, b->pp);
    assert_int_equal(a->dp, b->dp);
    assert_int_equal(a->ep, b->ep);
    assert_int_equal(a->vpp, b->vpp);
    if (a->dp > a->replicate) { /* something is sharded */
        assert_int_equal(a->zero, b->zero);
        assert_int_equal(a->replicate, b->replicate);
    }
    assert_int_equal(a->sp && a->tp > 1, b->sp);
    assert_int_equal(a->micro_batch, b->micro_batch);
    assert_int_equal(a->global_batch, b->global_batch);
    assert_int_equal(a->seq, b->seq);
    if (a->pp > 1) assert_string_equal(a->schedule, b->schedule);
    if (a->cp > 1) assert_string_equal(a->cp_comm, b->cp_comm);
    for (int s = 0; s < a->pp * a->vpp; s++) {
        int64_t first[2], count[2];
        weft_layout_stage_layers(a, arch, s, &first[0], &count[0]);
        weft_layout_stage_layers(b, arch, s, &first[1], &count[1]);
        assert_int_equal(count[0], count[1]);
        assert_int_equal(weft_layout_recompute(a, s), weft_layout_recompute(b, s));
    }
    assert_same_place(a, b);
}

/* Returns 1 if the tool can run the layout. torchtitan has no word for ring, and no word
 * for the padding of the vocabulary. */
static int there_and_back(weft_tool tool, const weft_layout *l, const weft_arch *a)
{
    weft_launch got;
    weft_layout want = *l;

    if (weft_emit_check(tool, l, a)) {
        assert_true(strlen(weft_status_message()) > 10);
        return 0;
    }
    if (tool == WEFT_TOOL_TORCHTITAN && l->cp > 1 && strcmp(l->cp_comm, "ring"))
        return 0;
    char *text = emitted(tool, l, a);
    if (weft_launch_read(tool, text, a, &got))
        fail_msg("%s\n%s", text, weft_status_message());
    if (!got.layout.dp)
        assert_int_equal(weft_layout_resolve(&got.layout, weft_layout_world(l), NULL),
                         WEFT_OK);
    assert_same_layout(&want, &got.layout, a);
    if (tool == WEFT_TOOL_MEGATRON)
        assert_int_equal(got.layout.vocab_multiple, l->vocab_multiple);
    weft_launch_clear(&got);
    free(text);
    return 1;
}

static void what_is_emitted_reads_back_as_the_same_layout(void **state)
{
    const weft_arch model[] = {arch_of(LLAMA), arch_of(MOE)};
    int done[2] = {0, 0}, legal = 0;

    for (int i = 0; i < 60000; i++) {
        weft_layout l = any_layout(i & 1);
        if (weft_layout_plan_check(&l, &model[i & 1])) continue;
        legal++;
        done[0] += there_and_back(WEFT_TOOL_MEGATRON, &l, &model[i & 1]);
        done[1] += there_and_back(WEFT_TOOL_TORCHTITAN, &l, &model[i & 1]);
    }
    print_message("%d legal layouts, %d for Megatron-LM, %d for torchtitan\n", legal,
                  done[0], done[1]);
    assert_true(done[0] > 300 && done[1] > 300);
}

static void line_describes(const weft_arch *a)
{
    weft_layout l;
    weft_launch got;

    weft_layout_defaults(&l);
    l.tp = l.pp = 1;
    l.dp = 2;
    l.seq = a->positions < 1024 ? a->positions : 1024;
    l.global_batch = 8;
    if (weft_emit_check(WEFT_TOOL_MEGATRON, &l, a)) return;
    char *text = emitted(WEFT_TOOL_MEGATRON, &l, a);
    if (weft_launch_read(WEFT_TOOL_MEGATRON, text, NULL, &got))
        fail_msg("%s\n%s", text, weft_status_message());
    assert_int_equal(got.has_arch, 1);
    if (strcmp(a->family, "gpt_oss")) /* its router's bias has no flag */
        assert_int_equal(weft_arch_params(&got.arch), weft_arch_params(a));
    assert_true(got.arch.rope_theta == a->rope_theta);
    assert_true(got.arch.norm_eps == a->norm_eps);
    assert_true(got.arch.init_std == a->init_std);
    assert_int_equal(got.arch.window, a->window);
    assert_int_equal(got.arch.full_every, a->full_every);
    assert_int_equal(got.arch.sinks, a->sinks);
    assert_int_equal(got.arch.qk_norm, a->qk_norm);
    assert_int_equal(got.dropout, 0);
    assert_int_equal(got.fused_attention, 1);
    assert_int_equal(got.overlap_dp, 1);
    assert_string_equal(got.unknown.s, "");
    assert_string_equal(got.unmodelled.s, "");
    weft_launch_clear(&got);
    free(text);
}

static void megatron_lines_describe_the_model_too(void **state)
{
    static const char *const model[] = {
        LLAMA,
        MOE,
        "gpt2",
        LLAMA ",tied=true,qkv_bias=true",
        "deepseek-v3,mtp=1",
        "layers=6,hidden=512,heads=8,vocab=1000,positions=2048"};

    for (int i = 0; i < 6; i++) {
        weft_arch a = arch_of(model[i]);
        line_describes(&a);
    }
    for (int i = 0; i < weft_arch_preset_count(); i++)
        line_describes(weft_arch_preset_at(i));
}

/* ---- as it was priced ------------------------------------------------------------------ */

static weft_layout two_by_two(int64_t seq)
{
    weft_layout l;
    weft_layout_defaults(&l);
    l.tp = l.pp = l.dp = 2;
    l.seq = seq;
    l.global_batch = 8;
    return l;
}

typedef struct priced {
    const char *model, *option, *value, *has, *lacks;
} priced;

static const priced priced_rows[] = {
    {"llama3-8b", "dropout", "0",
     "--rotary-base 500000 --hidden-dropout 0 --attention-dropout 0 "
     "--attention-backend flash --bf16",
     "--cross-entropy-loss-fusion --norm-epsilon"},
    {"llama3-8b", "dropout", "1", "--hidden-dropout 0.1 --attention-dropout 0.1", ""},
    {"llama3-8b", "fused-attention", "0", "--attention-backend unfused", "flash"},
    {"llama3-8b", "fused-loss", "1", "--cross-entropy-loss-fusion", ""},
    {"llama3-8b", "overlap-dp", "0", "--bf16", "--overlap-grad-reduce"},
    {"llama3-8b", "grad-bytes", "2", "--grad-reduce-in-bf16", ""},
    {"llama3-8b", "math", "f32", "--hidden-dropout 0", "--bf16"},
    {"llama3-8b", "math", "fp8", "--bf16 --fp8-format hybrid", ""},
    {"qwen3-8b", "dropout", "0", "--qk-layernorm --norm-epsilon 1e-06", "# yours"},
    {"gpt2", "dropout", "0", "--overlap-grad-reduce", "--rotary-base"},
    {"gpt-oss-20b", "dropout", "0",
     "--softmax-type learnable --attention-backend fused --window-size 128,0 "
     "--window-attn-skip-freq 2",
     ""},
    {"deepseek-v3", "dropout", "0",
     "--qk-layernorm --moe-router-score-function sigmoid "
     "--moe-router-enable-expert-bias --moe-router-num-groups 8 "
     "--moe-router-group-topk 4 --moe-router-topk-scaling-factor 2.5 --rope-type rope",
     "# yours"},
    {"deepseek-v2", "dropout", "0",
     "--moe-router-pre-softmax --moe-router-group-topk 3 "
     "--moe-router-topk-scaling-factor 16.0",
     "sigmoid"},
    {"deepseek-v2-lite", "dropout", "0", "--moe-router-pre-softmax",
     "--moe-router-num-groups --q-lora-rank"},
    {"deepseek-v3,experts=64", "dropout", "0", "sigmoid", "--moe-router-num-groups 8"},
};

/* Each flag with its values ("--a 1"), or any word before the first flag. */
static void check_words(const char *text, const char *words, int wanted)
{
    char one[96];
    while (*words) {
        const char *end = strstr(words + 1, " --");
        size_t n = end ? (size_t)(end - words) : strlen(words);
        snprintf(one, sizeof one, "%.*s", (int)n, words);
        if ((strstr(text, one) != NULL) != wanted)
            fail_msg("%s\n%s \"%s\"", text, wanted ? "lacks" : "has", one);
        words += n + (words[n] == ' ');
    }
}

static void megatron_is_told_what_was_priced(void **state)
{
    for (size_t i = 0; i < sizeof priced_rows / sizeof *priced_rows; i++) {
        const priced *r = &priced_rows[i];
        weft_arch a = arch_of(r->model);
        weft_layout l = two_by_two(1024);
        weft_cost_options o;
        weft_cost_defaults(&o);
        weft_math math;
        if (strcmp(r->option, "math")) {
            assert_int_equal(weft_cost_set(&o, r->option, r->value), WEFT_OK);
        } else {
            assert_int_equal(weft_math_parse(r->value, &math), WEFT_OK);
            o.math = math;
        }
        l.tp = l.pp = 1; /* gpt-oss has experts with biases */
        for (int tool = 0; tool < 2; tool++) {
            char *text =
                emitted_as(tool ? WEFT_TOOL_SLURM : WEFT_TOOL_MEGATRON, &l, &a, &o);
            check_words(text, r->has, 1);
            if (!tool) check_words(text, r->lacks, 0);
            free(text);
        }
    }
}

/* ---- what a line costs ----------------------------------------------------------------- */

static weft_cost cost_of(const weft_arch *a, const weft_layout *l,
                         const weft_cost_options *o)
{
    weft_cost_model q;
    weft_machine m;
    weft_cost cost;

    if (weft_machine_parse("h100:128x8", &m) || weft_cost_prepare(a, &m, o, &q) ||
        weft_cost_evaluate(&q, l, &cost))
        fail_msg("%s: %s", a->name, weft_status_message());
    return cost;
}

/* Model, layout and options all come from the line. */
static int costs_the_same(const weft_arch *a, const weft_layout *l,
                          const weft_cost_options *o)
{
    weft_cost_options read;
    weft_launch got;

    if (weft_layout_plan_check(l, a) || weft_emit_check(WEFT_TOOL_MEGATRON, l, a))
        return 0;
    char *text = emitted_as(WEFT_TOOL_MEGATRON, l, a, o);
    if (weft_launch_read(WEFT_TOOL_MEGATRON, text, NULL, &got))
        fail_msg("%s\n%s", text, weft_status_message());
    weft_cost_defaults(&read);
    read.dropout = got.dropout;
    read.fused_attention = got.fused_attention;
    read.fused_loss = got.fused_loss;
    read.overlap_dp = l->dp * l->cp > 1 ? got.overlap_dp : o->overlap_dp;
    read.grad_bytes = got.grad_bytes;
    if (weft_layout_resolve(&got.layout, weft_layout_world(l), NULL))
        fail_msg("%s", weft_status_message());
    weft_cost want = cost_of(a, l, o), have = cost_of(&got.arch, &got.layout, &read);
    if (want.step_time_s != have.step_time_s || want.memory.total != have.memory.total)
        fail_msg("%.9g s, %.0f bytes; read %.9g s, %.0f bytes:\n%s", want.step_time_s,
                 want.memory.total, have.step_time_s, have.memory.total, text);
    weft_launch_clear(&got);
    free(text);
    return 1;
}

static void a_line_read_back_costs_the_same(void **state)
{
    static const char *const recompute[] = {"none", "selective", "full"};
    int done = 0;

    for (int i = 0; i < 20000; i++) {
        const weft_arch *a = weft_arch_preset_at(below(weft_arch_preset_count()));
        weft_layout l = any_layout(a->experts > 0);
        weft_cost_options o;
        weft_cost_defaults(&o);
        o.dropout = below(2);
        o.fused_attention = below(2);
        o.fused_loss = below(2);
        o.overlap_dp = below(2);
        o.grad_bytes = below(2) ? 2 : 4;
        snprintf(l.recompute, sizeof l.recompute, "%s", one_of(recompute, 3));
        snprintf(l.stage_layers, sizeof l.stage_layers, "balanced");
        /* with one stage kinds differ in how they time the backward alone */
        if (l.pp == 1) snprintf(l.schedule, sizeof l.schedule, "1f1b");
        if (strcmp(a->family, "gpt_oss")) done += costs_the_same(a, &l, &o);
    }
    print_message("%d lines\n", done);
    assert_true(done > 300);
}

/* ---- the model of weft's own line ------------------------------------------------------ */

static void assert_same_arch(const weft_arch *a, const char *text)
{
    const wf_table *t = wf_arch_table();
    weft_arch got = arch_of(text);
    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        const char *x = (const char *)a + f->offset,
                   *y = (const char *)&got + f->offset;
        if (f->type == WF_STRING ? strcmp(x, y) : memcmp(x, y, f->size))
            fail_msg("%s of \"%s\" comes back changed", f->name, text);
    }
}

static void arch_there_and_back(const weft_arch *a)
{
    weft_text text = {NULL, 0, 0};
    weft_writer out = weft_text_writer(&text);
    wf_arch_text(a, &out);
    assert_int_equal(weft_writer_status(&out), WEFT_OK);
    assert_same_arch(a, text.s);
    weft_text_clear(&text);
}

/* Any model that weft train takes. */
static weft_arch any_gpt2(void)
{
    static const char *const eps[] = {"1e-5", "1e-6", "0.00123456789012345678"};
    char text[256], more[96];
    int heads = 1 << below(4);

    snprintf(text, sizeof text, "layers=%d,hidden=%d,heads=%d", 1 + below(8),
             heads * (2 + 2 * below(40)), heads);
    for (int i = 0; i < 6; i++) {
        snprintf(more, sizeof more,
                 i == 0   ? ",vocab=%d"
                 : i == 1 ? ",positions=%d"
                 : i == 2 ? ",ffn=%d"
                 : i == 3 ? ",tied=%d"
                 : i == 4 ? ",init_std=0.0%d"
                          : ",rope_theta=%d",
                 i == 3 ? below(2) : 1 + below(70000));
        if (below(2)) strcat(text, more);
    }
    if (below(2)) {
        strcat(text, ",norm_eps=");
        strcat(text, one_of(eps, 3));
    }
    return arch_of(text);
}

static void models_come_back_from_their_text(void **state)
{
    static const char *const changed[] = {
        MOE,
        "deepseek-v3,mtp=1",
        "deepseek-v3,layers=8,dense_layers=2,q_lora=0",
        "llama3-8b,ffn=12000,heads=16",
        "gemma3-1b,window=256",
        "mixtral-8x7b,expert_ffn=7000,moe_every=2",
        "gpt2,layers=6,vocab=256",
        "gpt-oss-20b,v_head_dim=32",
        "layers=4,hidden=128,heads=4,head_dim=16,kv_heads=2,family=qwen3"};
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        weft_arch a = *weft_arch_preset_at(i), same = a;
        arch_there_and_back(&a);
        /* under another name each of its fields is said */
        snprintf(same.name, sizeof same.name, "custom");
        arch_there_and_back(&same);
    }
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        weft_arch a = arch_of(changed[i]);
        arch_there_and_back(&a);
    }
    for (int i = 0; i < 5000; i++) {
        weft_arch a = any_gpt2();
        arch_there_and_back(&a);
    }
}

/* The model of the emitted command line, which must be what was planned. */
static void weft_lines_train_the_model_that_was_planned(void **state)
{
    int taken = 0;

    for (int i = 0; i < 2000; i++) {
        weft_arch a = any_gpt2();
        weft_layout l = two_by_two(a.positions);
        char model[256];
        if (weft_emit_check(WEFT_TOOL_WEFT, &l, &a)) continue;
        char *text = emitted(WEFT_TOOL_WEFT, &l, &a);
        assert_int_equal(sscanf(text, "mpirun -n 8 weft train --model %255s", model),
                         1);
        assert_same_arch(&a, model);
        assert_non_null(strstr(text, " --data \"$DATA\" --dtype bf16 --tp 2"));
        free(text);
        taken++;
    }
    assert_true(taken > 200);
}

static void arithmetic_that_weft_has_not_is_refused(void **state)
{
    weft_arch a = arch_of("gpt2-tiny");
    weft_layout l = two_by_two(128);
    weft_cost_options o;
    weft_text text = {NULL, 0, 0};
    weft_writer out = weft_text_writer(&text);

    weft_cost_defaults(&o);
    o.math = WEFT_MATH_F32;
    char *line = emitted_as(WEFT_TOOL_WEFT, &l, &a, &o);
    assert_non_null(strstr(line, " --dtype f32 "));
    free(line);
    o.math = WEFT_MATH_FP8;
    assert_int_equal(weft_emit(WEFT_TOOL_WEFT, &l, &a, &o, 8, &out), WEFT_E_INFEASIBLE);
    assert_non_null(strstr(weft_status_message(), "--math fp8: weft train has f64"));
    assert_int_equal(text.n, 0);
    weft_text_clear(&text);
}

/* ---- lines as people write them -------------------------------------------------------- */

#define DIMS  "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
#define BATCH "--micro-batch-size 2 --global-batch-size 64 --seq-length 1024 "

static weft_launch read_line(const char *text)
{
    weft_launch got;
    if (weft_launch_read(WEFT_TOOL_MEGATRON, text, NULL, &got))
        fail_msg("%s\n%s", text, weft_status_message());
    return got;
}

static void scripts_are_read_with_quotes_comments_and_variables(void **state)
{
    weft_launch got = read_line(
        "#!/bin/bash\n# a launch script\nTP=4 PP=\"2\"\nexport LAYERS=24\n"
        "GPT_ARGS=(\n  --num-layers $LAYERS # all of them\n"
        "  --hidden-size '1024' --num-attention-heads=16\n)\n"
        "torchrun --nproc_per_node 8 --nnodes=2 pretrain_gpt.py \\\n"
        "  \"${GPT_ARGS[@]}\" --tensor-model-parallel-size ${TP} \\\r\n"
        "  --pipeline-model-parallel-size \"$PP\" --micro-batch-size 2 \\\n"
        "  --global-batch-size 64 --seq-length 1024 --lr 6.0e-5 --use-mcore-models \\\n"
        "  --data-path my/data --fp8-format hybrid --lr 6.0e-5 | tee log.txt\n");
    assert_int_equal(got.layout.tp, 4);
    assert_int_equal(got.layout.pp, 2);
    assert_int_equal(got.layout.dp, 0);
    assert_int_equal(got.world, 16);
    assert_int_equal(got.arch.layers, 24);
    assert_string_equal(got.layout.order, "tp,cp,dp,pp");
    assert_string_equal(got.ignored.s, "--lr --use-mcore-models --data-path");
    assert_string_equal(got.unmodelled.s, "--fp8-format");
    weft_launch_clear(&got);
}

typedef struct meaning {
    const char *flags, *schedule, *layers, *recompute;
    int vpp, zero, sp;
} meaning;

static void flags_mean_what_megatron_makes_of_them(void **state)
{
    static const meaning rows[] = {
        {"--sequence-parallel", "1f1b", "even", "none", 1, 0, 0}, /* tp is 1 */
        {"--sequence-parallel --tensor-model-parallel-size 2", "1f1b", "even", "none",
         1, 0, 1},
        {"--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3",
         "interleaved", "even", "none", 2, 0, 0},
        {"--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 3",
         "interleaved", "even", "none", 3, 0, 0},
        {"--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "
         "'Et*5|(t*7|)*2t*5L'",
         "1f1b", "5,7,7,5", "none", 1, 0, 0},
        {"--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 10",
         "1f1b", "10,14", "none", 1, 0, 0},
        {"--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3 "
         "--decoder-last-pipeline-num-layers 5",
         "1f1b", "3,8,8,5", "none", 1, 0, 0},
        {"--pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
         "--account-for-loss-in-pipeline-split",
         "1f1b", "12,12", "none", 1, 0, 0},
        {"--use-distributed-optimizer --recompute-activations --attention-backend "
         "unfused",
         "1f1b", "even", "selective", 1, 1, 0},
        {"--use-megatron-fsdp --use-distributed-optimizer", "1f1b", "even", "none", 1,
         3, 0},
        {"--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "1f1b",
         "even", "none", 1, 2, 0},
        {"--use-torch-fsdp2", "1f1b", "even", "none", 1, 3, 0},
        {"--recompute-granularity full --recompute-method uniform "
         "--recompute-num-layers 1",
         "1f1b", "even", "full", 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512];
        snprintf(line, sizeof line, DIMS BATCH "%s", rows[i].flags);
        weft_launch got = read_line(line);
        assert_string_equal(got.layout.schedule, rows[i].schedule);
        assert_string_equal(got.layout.stage_layers, rows[i].layers);
        assert_string_equal(got.layout.recompute, rows[i].recompute);
        assert_int_equal(got.layout.vpp, rows[i].vpp);
        assert_int_equal(got.layout.zero, rows[i].zero);
        assert_int_equal(got.layout.sp, rows[i].sp);
        weft_launch_clear(&got);
    }
}

typedef struct credit {
    const char *flags, *recompute, *unmodelled;
} credit;

/* Scores that flash attention does not store are not freed by not storing them; what frees
 * more than is priced, or does more again, is named. */
static void selective_recompute_is_credited_with_what_its_modules_free(void **state)
{
    static const credit rows[] = {
        {"--recompute-activations", "none", "--recompute-activations"},
        {"--recompute-granularity selective", "none", "--recompute-granularity"},
        {"--recompute-granularity selective --attention-backend auto", "none",
         "--recompute-granularity"},
        {"--recompute-activations --attention-backend unfused", "selective", ""},
        {"--recompute-activations --attention-backend local", "selective", ""},
        {"--recompute-activations --recompute-modules mlp", "selective", ""},
        {"--recompute-activations --recompute-modules=mlp", "selective", ""},
        {"--recompute-modules layernorm core_attn mlp --recompute-activations",
         "selective", "--recompute-modules"},
        {"--recompute-activations --recompute-modules layernorm", "none",
         "--recompute-modules"},
        {"--recompute-activations --recompute-modules mlp --attention-backend unfused",
         "none", "--recompute-modules"},
        {"--recompute-activations --num-experts 8 --moe-router-topk 2 "
         "--recompute-modules layernorm moe_act",
         "none", "--recompute-modules"},
        {"--recompute-activations --num-experts 8 --moe-router-topk 2 "
         "--recompute-modules moe",
         "selective", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512];
        snprintf(line, sizeof line, DIMS BATCH "%s", rows[i].flags);
        weft_launch got = read_line(line);
        assert_string_equal(got.layout.recompute, rows[i].recompute);
        assert_string_equal(got.unmodelled.s, rows[i].unmodelled);
        weft_launch_clear(&got);
    }
}

/* What the emitted modules free by hand: llama3-8b, two bytes a value. */
static void modules_free_at_least_what_is_priced(void **state)
{
    weft_arch a = arch_of("llama3-8b");
    weft_layout l = two_by_two(1024);
    weft_cost_options o;

    weft_cost_defaults(&o);
    l.sp = 1;
    snprintf(l.recompute, sizeof l.recompute, "selective");
    char *text = emitted_as(WEFT_TOOL_MEGATRON, &l, &a, &o);
    /* half of 4096 + 3 * 14336, of 2 * 4096 + 14336 */
    assert_int_equal(strncmp(text,
                             "# --recompute-modules mlp frees 47104 bytes a token and "
                             "layer; 22528 were priced\n",
                             80),
                     0);
    assert_non_null(strstr(text, "--recompute-granularity selective \\\n    "
                                 "--recompute-modules mlp \\\n"));
    free(text);
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        a = *weft_arch_preset_at(i);
        for (int bits = 0; bits < 4; bits++) {
            l.sp = bits & 1;
            l.tp = bits & 2 ? 4 : 1;
            o.math = l.tp > 1 ? WEFT_MATH_FP8 : WEFT_MATH_BF16;
            if (weft_emit_check(WEFT_TOOL_MEGATRON, &l, &a)) continue;
            double x, y;
            text = emitted_as(WEFT_TOOL_MEGATRON, &l, &a, &o);
            const char *at = strstr(text, " frees ");
            if (!at ||
                sscanf(at, " frees %lf bytes a token and layer; %lf", &x, &y) < 2)
                fail_msg("%s", text);
            /* the same kernels hold a norm without SP */
            if (l.sp || l.tp == 1) assert_true(x >= y);
            assert_true(x > 0.8 * y);
            free(text);
        }
    }
}

static void dropout_attention_and_loss_come_from_the_line(void **state)
{
    static const struct {
        const char *flags;
        int dropout, assumed, fused, loss, overlap;
        double grad;
    } rows[] = {
        {"", 1, 1, 1, 0, 0, 4},
        {"--hidden-dropout 0", 1, 1, 1, 0, 0, 4},
        {"--hidden-dropout 0 --attention-dropout 0.0", 0, 0, 1, 0, 0, 4},
        {"--hidden-dropout 0.1 --attention-dropout 0.1", 1, 0, 1, 0, 0, 4},
        {"--attention-backend unfused --cross-entropy-loss-fusion", 1, 1, 0, 1, 0, 4},
        {"--overlap-grad-reduce --grad-reduce-in-bf16", 1, 1, 1, 0, 1, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512];
        snprintf(line, sizeof line, DIMS BATCH "%s", rows[i].flags);
        weft_launch got = read_line(line);
        assert_int_equal(got.dropout, rows[i].dropout);
        assert_int_equal(got.dropout_assumed, rows[i].assumed);
        assert_int_equal(got.fused_attention, rows[i].fused);
        assert_int_equal(got.fused_loss, rows[i].loss);
        assert_int_equal(got.overlap_dp, rows[i].overlap);
        assert_true(got.grad_bytes == rows[i].grad);
        assert_string_equal(got.ignored.s, "");
        weft_launch_clear(&got);
    }
}

static void flags_that_megatron_has_not_are_told_from_those_it_has(void **state)
{
    weft_launch got =
        read_line(DIMS BATCH "--no-such-flag 3 --lr 1 --lr-warmup-iters 2 --moe "
                             "--master_addr=here --yarn-beta-fast 1 --zzz");
    assert_string_equal(got.ignored.s,
                        "--lr --lr-warmup-iters --master_addr --yarn-beta-fast");
    assert_string_equal(got.unknown.s, "--no-such-flag --moe --zzz");
    weft_launch_clear(&got);
}

/* Experts are priced split by TP as well as by EP. */
static void experts_are_split_by_tp(void **state)
{
    static const char line[] = DIMS BATCH
        "--num-experts 8 --moe-router-topk 2 --tensor-model-parallel-size 2 ";
    char whole[512];
    weft_arch a = arch_of("mixtral-8x7b"), biased = arch_of("gpt-oss-20b");
    weft_layout l = two_by_two(1024);

    l.pp = 1;
    l.ep = 2;
    assert_int_equal(weft_emit_check(WEFT_TOOL_MEGATRON, &l, &a), WEFT_E_INFEASIBLE);
    assert_non_null(strstr(weft_status_message(), "only with --sp"));
    l.sp = 1;
    snprintf(l.order, sizeof l.order, "tp,cp,dp,pp");
    l.zero = 3;
    assert_int_equal(weft_emit_check(WEFT_TOOL_TORCHTITAN, &l, &a), WEFT_E_INFEASIBLE);
    assert_non_null(strstr(weft_status_message(), "not split by TP"));
    char *text = emitted(WEFT_TOOL_MEGATRON, &l, &a);
    assert_non_null(strstr(text, "--expert-tensor-parallel-size 2 "));
    free(text);
    assert_int_equal(weft_emit_check(WEFT_TOOL_MEGATRON, &l, &biased),
                     WEFT_E_INFEASIBLE);
    weft_launch got = read_line(line);
    assert_string_equal(got.unmodelled.s, "");
    weft_launch_clear(&got);
    snprintf(whole, sizeof whole, "%s--expert-tensor-parallel-size 1", line);
    got = read_line(whole);
    assert_string_equal(got.unmodelled.s, "--expert-tensor-parallel-size");
    weft_launch_clear(&got);
}

/* ---- refusals ------------------------------------------------------------------------- */

typedef struct refusal {
    weft_tool tool;
    const char *line, *words;
} refusal;

#define M(flags) WEFT_TOOL_MEGATRON, DIMS BATCH flags
#define T(flags) WEFT_TOOL_TORCHTITAN, flags

static const refusal refusals[] = {
    {M("--tensor-model-parallel-size 2\n--tensor-model-parallel-size 4"),
     "--tensor-model-parallel-size is given twice: \"2\" in line 1, \"4\" in line 2"},
    {M("--tensor-model-parallel-size"), "--tensor-model-parallel-size needs a value"},
    {M("--tensor-model-parallel-size two"), "--tensor-model-parallel-size"},
    {M("\n--tensor-model-parallel-size $TP"),
     "line 2: --tensor-model-parallel-size $TP: the text does not set this variable"},
    {M("--sequence-parallel=1"), "--sequence-parallel takes no value"},
    {M("'--tensor-model-parallel-size 2"), "line 1: the quote ' never ends"},
    {M("--num-layers-per-virtual-pipeline-stage 1 "
       "--num-virtual-stages-per-pipeline-rank 2"),
     "contradict each other"},
    {M("--recompute-activations --recompute-granularity full"),
     "contradict each other"},
    {M("--use-megatron-fsdp --use-torch-fsdp2"), "contradict each other"},
    {M("--bf16 --fp16"), "--bf16 and --fp16 contradict each other"},
    {M("--use-torch-fsdp2 --pipeline-model-parallel-size 2"), "not for pipelines"},
    {M("--pipeline-model-parallel-size 5 --num-layers-per-virtual-pipeline-stage 2"),
     "does not divide the 24 layers"},
    {M("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "
       "'Et*12|t*11|tL'"),
     "has 3 stages, no multiple of --pipeline-model-parallel-size 4"},
    {M("--recompute-granularity full --recompute-method block --recompute-num-layers "
       "4"),
     "--recompute-method uniform"},
    {M("--cp-comm-type a2a+p2p"), "weft has a model of p2p, allgather and a2a"},
    {M("--hidden-dropout 1.5"), "--hidden-dropout 1.5"},
    {M("--attention-backend quick"), "is none of flash fused unfused local auto"},
    {M("--batch-size 4"), "--batch-size is no longer taken by Megatron-LM; "
                          "--micro-batch-size is"},
    {M("--num-query-groups 4"), "--group-query-attention"},
    {WEFT_TOOL_MEGATRON, DIMS "--micro-batch-size 1", "--seq-length is missing"},
    {WEFT_TOOL_MEGATRON, BATCH,
     "--num-layers, --hidden-size and --num-attention-heads"},
    {T("[parallelism]\ntensor_parallel_degree = 8\n"), "TOML"},
    {T("--training.seq_len 4096"), "--training.max_context_length is"},
    {T("--parallelism.pipeline_parallel_degree 2 "
       "--parallelism.pipeline_parallel_schedule ZB2P"),
     "is none of 1F1B GPipe"},
    {T("--parallelism.enable_sequence_parallel maybe "
       "--parallelism.tensor_parallel_degree"),
     "needs a value"},
    {T("--parallelism.pipeline_parallel_degree 2 --parallelism.num_pp_microbatches 2 "
       "--parallelism.data_parallel_shard_degree 1 --training.max_context_length 1024 "
       "--training.num_tokens_per_microbatch_per_dp_rank 1024 "
       "--training.num_tokens_per_train_step 8192"),
     "8 makes it one pass"},
    {WEFT_TOOL_NANOTRON, "dp: 2", "lines of nanotron are not read"},
};

static void contradictions_and_what_has_no_model_are_refused_by_name(void **state)
{
    weft_arch a = arch_of(LLAMA);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        weft_launch got;
        int titan = r->tool == WEFT_TOOL_TORCHTITAN;
        weft_status st = weft_launch_read(r->tool, r->line, titan ? &a : NULL, &got);
        if (st == WEFT_OK) fail_msg("\"%s\" is taken", r->line);
        if (!strstr(weft_status_message(), r->words))
            fail_msg("\"%s\":\n%s\nlacks \"%s\"", r->line, weft_status_message(),
                     r->words);
    }
}

static void a_line_that_contradicts_the_given_model_is_refused(void **state)
{
    weft_arch a = arch_of(LLAMA);
    weft_launch got;
    assert_int_equal(weft_launch_read(WEFT_TOOL_MEGATRON,
                                      "--num-layers 32 --micro-batch-size 1 "
                                      "--seq-length 8",
                                      &a, &got),
                     WEFT_E_MISMATCH);
    assert_non_null(strstr(weft_status_message(),
                           "--num-layers is 32, but the model has "
                           "24"));
}

static void what_a_tool_cannot_run_is_refused_with_what_it_can(void **state)
{
    static const struct {
        weft_tool tool;
        const char *field, *value, *words;
    } rows[] = {
        {WEFT_TOOL_MEGATRON, "schedule", "zb-h1", "megatron has 1f1b interleaved"},
        {WEFT_TOOL_MEGATRON, "order", "pp,tp,cp,dp", "--use-tp-pp-dp-mapping"},
        {WEFT_TOOL_TORCHTITAN, "order", "tp,cp,pp,dp", "--order tp,cp,dp,pp is it"},
        {WEFT_TOOL_TORCHTITAN, "zero", "1", "torchtitan has DDP (0) and FSDP"},
        {WEFT_TOOL_TORCHTITAN, "stage-layers", "8,4,8,4", "of the rest the first ones"},
        {WEFT_TOOL_DEEPSPEED, "zero", "2", "incompatible with its pipeline"},
        {WEFT_TOOL_NANOTRON, "zero", "3", "nanotron has 0 and 1"},
        {WEFT_TOOL_NANOTRON, "recompute", "selective", "nanotron has none and full"},
    };
    weft_arch a = arch_of(LLAMA);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_layout l;
        weft_layout_defaults(&l);
        l.pp = 4;
        l.tp = l.dp = 2;
        l.seq = 1024;
        l.global_batch = 16;
        snprintf(l.order, sizeof l.order, "tp,cp,dp,pp");
        assert_int_equal(weft_layout_plan_set(&l, rows[i].field, rows[i].value),
                         WEFT_OK);
        if (weft_emit_check(rows[i].tool, &l, &a) != WEFT_E_INFEASIBLE)
            fail_msg("%s --%s %s is taken", weft_tool_name(rows[i].tool), rows[i].field,
                     rows[i].value);
        if (!strstr(weft_status_message(), rows[i].words))
            fail_msg("%s lacks \"%s\"", weft_status_message(), rows[i].words);
    }
}

static void what_a_tool_has_not_of_the_prices_is_refused(void **state)
{
    static const struct {
        weft_tool tool;
        const char *field, *value, *words;
    } rows[] = {
        {WEFT_TOOL_NANOTRON, "dropout", "1", "nanotron's models have none"},
        {WEFT_TOOL_TORCHTITAN, "dropout", "1", "torchtitan's models have none"},
        {WEFT_TOOL_WEFT, "dropout", "1", "weft train has none"},
        {WEFT_TOOL_NANOTRON, "fused-attention", "0", "attention is fused"},
        {WEFT_TOOL_TORCHTITAN, "fused-attention", "0", "attention is fused"},
        {WEFT_TOOL_NANOTRON, "math", "f32", "nanotron's attention has bf16"},
        {WEFT_TOOL_TORCHTITAN, "math", "fp8", "bf16 and f32"},
        {WEFT_TOOL_DEEPSPEED, "math", "fp4", "bf16 and f32"},
        {WEFT_TOOL_MEGATRON, "math", "f64", "megatron has f32, bf16, fp8 and fp4"},
        {WEFT_TOOL_SLURM, "math", "f64", "megatron has f32, bf16, fp8 and fp4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_arch a = arch_of(rows[i].tool == WEFT_TOOL_WEFT ? "gpt2" : "llama3-8b");
        weft_layout l = two_by_two(1024);
        weft_cost_options o;
        weft_math math = WEFT_MATH_BF16;
        weft_text text = {NULL, 0, 0};
        weft_writer out = weft_text_writer(&text);

        snprintf(l.order, sizeof l.order, "tp,cp,dp,pp");
        l.pp = 1;
        weft_cost_defaults(&o);
        if (strcmp(rows[i].field, "math"))
            assert_int_equal(weft_cost_set(&o, rows[i].field, rows[i].value), WEFT_OK);
        else
            assert_int_equal(weft_math_parse(rows[i].value, &math), WEFT_OK);
        o.math = math;
        assert_int_equal(weft_emit(rows[i].tool, &l, &a, &o, 8, &out),
                         WEFT_E_INFEASIBLE);
        if (!strstr(weft_status_message(), rows[i].words))
            fail_msg("%s lacks \"%s\"", weft_status_message(), rows[i].words);
        assert_int_equal(text.n, 0);
        weft_text_clear(&text);
    }
}

/* YAML 1.1 takes 1e-05 for a word. */
static void numbers_of_nanotron_have_a_point(void **state)
{
    weft_arch a = arch_of("qwen2-7b");
    weft_layout l = two_by_two(1024);

    snprintf(l.order, sizeof l.order, "tp,cp,dp,pp");
    char *text = emitted(WEFT_TOOL_NANOTRON, &l, &a);
    assert_non_null(strstr(text, "    rms_norm_eps: 1.0e-06\n"));
    assert_non_null(strstr(text, "    rope_theta: 1000000.0\n"));
    assert_non_null(strstr(text, "    is_qwen2_config: true\n"));
    assert_non_null(strstr(text, "    attention_bias: true\n"));
    free(text);
    a = arch_of("qwen3-8b");
    assert_int_equal(weft_emit_check(WEFT_TOOL_NANOTRON, &l, &a), WEFT_E_INFEASIBLE);
    assert_non_null(strstr(weft_status_message(), "a norm of q and k"));
}

/* ---- any text -------------------------------------------------------------------------- */

static void any_text_is_safe(void **state)
{
    static const char from[] =
        "A=1 B=\"$A$A\" torchrun --nnodes 2 x.py --num-layers 24 --hidden-size 1024 "
        "--num-attention-heads 16 --micro-batch-size 1 --seq-length 8 "
        "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout "
        "'Et*7|(t*8|)*2t*1L' --moe-layer-freq '([0]*3+[1]*21)' $B ${A} '\\' \\\n";
    static const char letters[] = "$'\"\\{}=-09 \n#|(*E";
    weft_arch a = arch_of(LLAMA);
    int taken = 0;

    for (int i = 0; i < 40000; i++) {
        char text[sizeof from];
        weft_launch got;
        memcpy(text, from, sizeof from);
        for (int k = below(6); k >= 0; k--)
            text[below((int)sizeof from - 1)] = letters[below((int)sizeof letters - 1)];
        if (below(4) == 0) text[below((int)sizeof from - 1)] = 0;
        weft_tool tool = i & 1 ? WEFT_TOOL_TORCHTITAN : WEFT_TOOL_MEGATRON;
        if (weft_launch_read(tool, text, &a, &got) == WEFT_OK) {
            taken++;
            weft_launch_clear(&got);
        }
    }
    assert_true(taken > 100);
}

static void variables_that_hold_each_other_are_bounded(void **state)
{
    char text[4096] = "A0=xxxxxxxxxxxxxxxx ";
    weft_launch got;
    for (int i = 1; i < 60; i++) {
        char more[64];
        snprintf(more, sizeof more, "A%d=\"$A%d$A%d\" ", i, i - 1, i - 1);
        strcat(text, more);
    }
    assert_int_equal(weft_launch_read(WEFT_TOOL_MEGATRON, text, NULL, &got),
                     WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "longer than"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_emitted_reads_back_as_the_same_layout),
        cmocka_unit_test(megatron_lines_describe_the_model_too),
        cmocka_unit_test(megatron_is_told_what_was_priced),
        cmocka_unit_test(a_line_read_back_costs_the_same),
        cmocka_unit_test(models_come_back_from_their_text),
        cmocka_unit_test(weft_lines_train_the_model_that_was_planned),
        cmocka_unit_test(arithmetic_that_weft_has_not_is_refused),
        cmocka_unit_test(scripts_are_read_with_quotes_comments_and_variables),
        cmocka_unit_test(flags_mean_what_megatron_makes_of_them),
        cmocka_unit_test(selective_recompute_is_credited_with_what_its_modules_free),
        cmocka_unit_test(modules_free_at_least_what_is_priced),
        cmocka_unit_test(dropout_attention_and_loss_come_from_the_line),
        cmocka_unit_test(flags_that_megatron_has_not_are_told_from_those_it_has),
        cmocka_unit_test(experts_are_split_by_tp),
        cmocka_unit_test(contradictions_and_what_has_no_model_are_refused_by_name),
        cmocka_unit_test(a_line_that_contradicts_the_given_model_is_refused),
        cmocka_unit_test(what_a_tool_cannot_run_is_refused_with_what_it_can),
        cmocka_unit_test(what_a_tool_has_not_of_the_prices_is_refused),
        cmocka_unit_test(numbers_of_nanotron_have_a_point),
        cmocka_unit_test(any_text_is_safe),
        cmocka_unit_test(variables_that_hold_each_other_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
