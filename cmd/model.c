/* SPDX-License-Identifier: Apache-2.0 */
/* weft model: what a model is made of, its parameters and FLOPs. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/arch.h>

#include "base/error.h"
#include "base/json.h"
#include "base/near.h"
#include "base/num.h"
#include "cmd/commands.h"
#include "cmd/model_file.h"
#include "cmd/options.h"
#include "cmd/stdio_writer.h"

typedef struct view {
    weft_arch arch;
    int64_t seq;
    int json, tensors;
} view;

enum { USUAL = 8192 }; /* tokens, where a model takes more */

/* ---- rows of the report ---------------------------------------------------------- */

typedef struct part {
    const char *name;
    int64_t params;
} part;
enum { N_PARTS = 8 };

static void parts_of(const weft_arch *a, part out[N_PARTS])
{
    weft_arch_parts p;
    weft_arch_params_by_part(a, &p);
    const part all[N_PARTS] = {{"embedding", p.embedding},
                               {"attention", p.attention},
                               {"mlp", p.mlp},
                               {"experts", p.experts},
                               {"router", p.router},
                               {"norms", p.norms},
                               {"head", p.head},
                               {"mtp", p.mtp}};
    memcpy(out, all, sizeof all);
}

static const weft_flops_rule rules[] = {
    {1, WEFT_RECOMPUTE_NONE},      {0, WEFT_RECOMPUTE_NONE},
    {1, WEFT_RECOMPUTE_SELECTIVE}, {1, WEFT_RECOMPUTE_FULL},
    {0, WEFT_RECOMPUTE_SELECTIVE}, {0, WEFT_RECOMPUTE_FULL},
};
enum { N_RULES = sizeof rules / sizeof *rules };
static const char *const recompute_names[] = {"none", "selective", "full"};

static const char *attention_name(const weft_arch *a)
{
    if (a->kv_lora) return "MLA";
    return a->kv_heads == a->heads ? "MHA" : a->kv_heads == 1 ? "MQA" : "GQA";
}

/* ---- text ------------------------------------------------------------------------ */

static const char *s_of(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void put_shape(const weft_arch *a, weft_writer *out)
{
    static const char *const mlp[] = {"GELU", "ReLU", "SwiGLU", "GeGLU"};
    static const char *const norm[] = {"layer norm", "RMS norm"};
    static const char *const position[] = {"learned positions", "rotary positions",
                                           "ALiBi", "no positions"};
    int64_t moe = a->experts ? weft_arch_moe_layers_before(a, a->layers) : 0;

    weft_print(out, "%s (%s)\n", a->name, a->family);
    weft_print(out, "  %lld layer%s, hidden %lld, %s: %lld head%s of %lld",
               (long long)a->layers, s_of(a->layers), (long long)a->hidden,
               attention_name(a), (long long)a->heads, s_of(a->heads),
               (long long)a->head_dim);
    if (a->kv_heads != a->heads)
        weft_print(out, ", %lld for k and v", (long long)a->kv_heads);
    weft_print(out, "\n  %s", mlp[a->mlp]);
    if (moe < a->layers) weft_print(out, " of %lld", (long long)a->ffn);
    weft_print(out, ", %s, %s", norm[a->norm], position[a->position]);
    if (a->window)
        weft_print(out, ", window %lld%s", (long long)a->window,
                   a->full_every ? " in part of the layers" : "");
    weft_print(out, "\n");
    if (a->experts)
        weft_print(
            out,
            "  %lld MoE layer%s: %lld experts of %lld, %lld a token, %lld shared\n",
            (long long)moe, s_of(moe), (long long)a->experts, (long long)a->expert_ffn,
            (long long)a->experts_per_token, (long long)a->shared_experts);
    if (a->patch)
        weft_print(
            out,
            "  images of %lld x %lld, %lld channels, patches of %lld: %lld tokens\n",
            (long long)a->image_height, (long long)a->image_width,
            (long long)a->channels, (long long)a->patch,
            (long long)weft_arch_image_tokens(a));
    else
        weft_print(out, "  vocabulary %lld, %s output layer\n", (long long)a->vocab,
                   a->tied ? "tied" : "untied");
}

static void put_params(const weft_arch *a, weft_writer *out)
{
    part p[N_PARTS];
    int64_t all = weft_arch_params(a), active = weft_arch_active_params(a);

    weft_print(out, "\nparameters %26lld\n", (long long)all);
    parts_of(a, p);
    for (int i = 0; i < N_PARTS; i++)
        if (p[i].params)
            weft_print(out, "  %-12s %22lld %6.2f %%\n", p[i].name,
                       (long long)p[i].params,
                       100.0 * (double)p[i].params / (double)all);
    if (active != all)
        weft_print(out, "  active for a token %16lld %6.2f %%\n", (long long)active,
                   100.0 * (double)active / (double)all);
}

static double flops_of(const view *v, int rule)
{
    weft_flops f;
    weft_arch_flops(&v->arch, v->seq, rules[rule], &f);
    return f.total;
}

/* All in the unit of the smallest. */
static void put_flops(const view *v, weft_writer *out)
{
    double plain = 6 * (double)weft_arch_active_params(&v->arch), least = plain;

    for (int i = 0; i < N_RULES; i++)
        least = fmin(least, flops_of(v, i));
    wf_scale u = wf_scale_of(least, 1e9);
    weft_print(out, "\nFLOPs of a training token in a sequence of %lld\n",
               (long long)v->seq);
    for (int i = 0; i < N_RULES; i++) {
        char text[64];
        weft_print(out, "  %-52s %10.5g %sFLOP\n", weft_flops_rule_text(rules[i], text),
                   flops_of(v, i) / u.unit, u.prefix);
    }
    weft_print(out, "  %-52s %10.5g %sFLOP\n",
               "6 x active parameters, without attention", plain / u.unit, u.prefix);
}

static void put_tensors(const weft_arch *a, weft_writer *out)
{
    weft_print(out, "\n%-32s %9s %9s %9s  %s\n", "tensor", "experts", "rows", "columns",
               "TP splits");
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_tensor_info t;
        weft_arch_tensor(a, i, &t);
        weft_print(out, "%-32s %9lld %9lld %9lld  %s", t.name, (long long)t.experts,
                   (long long)t.size[0], (long long)t.size[1],
                   t.tp_dim < 0    ? "-"
                   : t.tp_dim == 0 ? "rows"
                                   : "columns");
        for (int s = 0; s < t.n_segments && t.n_segments > 1; s++)
            weft_print(out, "%s%s %lld", s ? ", " : " of ", t.segment_name[s],
                       (long long)t.segment[s]);
        weft_print(out, "\n");
    }
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_flops(const view *v, wf_json *j)
{
    wf_json_key(j, "flops_per_token");
    wf_json_array(j);
    for (int i = 0; i < N_RULES; i++) {
        weft_flops f;
        weft_arch_flops(&v->arch, v->seq, rules[i], &f);
        wf_json_object(j);
        wf_json_put_bool(j, "causal", rules[i].causal);
        wf_json_put_string(j, "recompute", recompute_names[rules[i].recompute]);
        wf_json_put_f64(j, "matmul", f.matmul);
        wf_json_put_f64(j, "scores", f.scores);
        wf_json_put_f64(j, "embed", f.embed);
        wf_json_put_f64(j, "head", f.head);
        wf_json_put_f64(j, "mtp", f.mtp);
        wf_json_put_f64(j, "total", f.total);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void json_tensors(const weft_arch *a, wf_json *j)
{
    wf_json_key(j, "tensors");
    wf_json_array(j);
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_tensor_info t;
        weft_arch_tensor(a, i, &t);
        wf_json_object(j);
        wf_json_put_string(j, "name", t.name);
        wf_json_put_i64(j, "layer", t.layer);
        wf_json_key(j, "shape");
        wf_json_array(j);
        if (t.experts > 1) wf_json_i64(j, t.experts);
        for (int d = 0; d < t.n_dims; d++)
            wf_json_i64(j, t.size[d]);
        wf_json_end_array(j);
        wf_json_put_i64(j, "experts", t.experts);
        wf_json_put_i64(j, "tp_dim", t.tp_dim);
        wf_json_put_bool(j, "decay", t.decay);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void put_json(const view *v, weft_writer *out)
{
    part p[N_PARTS];
    wf_json j = wf_json_begin(out);

    wf_json_object(&j);
    wf_json_key(&j, "model");
    weft_arch_write_json(&v->arch, out);
    j.after_key = 0;
    wf_json_put_i64(&j, "params", weft_arch_params(&v->arch));
    wf_json_put_i64(&j, "active_params", weft_arch_active_params(&v->arch));
    wf_json_key(&j, "parts");
    wf_json_object(&j);
    parts_of(&v->arch, p);
    for (int i = 0; i < N_PARTS; i++)
        wf_json_put_i64(&j, p[i].name, p[i].params);
    wf_json_end_object(&j);
    wf_json_put_i64(&j, "seq", v->seq);
    json_flops(v, &j);
    if (v->tensors) json_tensors(&v->arch, &j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

/* ---- the command ----------------------------------------------------------------- */

static int list(int json)
{
    weft_writer out = wf_stdout_writer();
    wf_json j = wf_json_begin(&out);

    if (json) wf_json_array(&j);
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        const weft_arch *a = weft_arch_preset_at(i);
        if (!json) {
            weft_print(&out, "%-18s %-12s %14.5g B parameters", a->name, a->family,
                       (double)weft_arch_params(a) / 1e9);
            if (a->experts)
                weft_print(&out, ", %.4g B a token",
                           (double)weft_arch_active_params(a) / 1e9);
            weft_print(&out, "\n");
            continue;
        }
        wf_json_object(&j);
        wf_json_put_string(&j, "name", a->name);
        wf_json_put_string(&j, "family", a->family);
        wf_json_put_i64(&j, "params", weft_arch_params(a));
        wf_json_put_i64(&j, "active_params", weft_arch_active_params(a));
        wf_json_end_object(&j);
    }
    if (json) {
        wf_json_end_array(&j);
        weft_print(&out, "\n");
    } else {
        weft_print(&out, "\nfamilies:");
        for (int i = 0; i < weft_arch_family_count(); i++)
            weft_print(&out, " %s", weft_arch_family_at(i));
        weft_print(&out, "\n");
    }
    return WF_EXIT_OK;
}

static int report(const char *model, view *v)
{
    weft_writer out = wf_stdout_writer();
    weft_status st = wf_model_read(model, &v->arch);

    if (st != WEFT_OK) return wf_cmd_fail("model", st);
    if (v->arch.patch && v->seq)
        return wf_cmd_usage(
            "model", "--seq %lld: an image of this model has %lld tokens",
            (long long)v->seq, (long long)weft_arch_image_tokens(&v->arch));
    if (v->arch.patch) v->seq = weft_arch_image_tokens(&v->arch);
    if (!v->seq) v->seq = v->arch.positions < USUAL ? v->arch.positions : USUAL;
    if (v->json) {
        put_json(v, &out);
    } else {
        put_shape(&v->arch, &out);
        put_params(&v->arch, &out);
        put_flops(v, &out);
        if (v->tensors) put_tensors(&v->arch, &out);
    }
    st = weft_writer_status(&out);
    return st == WEFT_OK ? WF_EXIT_OK : wf_cmd_fail("model", st);
}

int wf_cmd_model(int argc, char **argv)
{
    view v = {.seq = 0};
    const wf_option rows[] = {
        {"seq", .letter = 's', .type = WF_OPT_COUNT, .out = &v.seq, .arg = "S",
         .unit = WF_COUNT, .min = 1, .max = 2147483647,
         .help = "tokens of a sequence, for FLOPs (default: the longest, at most 8192)",
         .alias = "seq-length"},
        {"tensors", .letter = 't', .type = WF_OPT_FLAG, .out = &v.tensors,
         .help = "every tensor, its shape, and how TP splits it"},
        {"json", .type = WF_OPT_FLAG, .out = &v.json, .help = "results as JSON"},
        {0}};
    const wf_command_line line = {
        .command = "model",
        .usage = "MODEL|list [--seq S] [--tensors] [--json]",
        .about =
            "Prints what a model is made of, its parameters in all, for a token and "
            "by part, and\n"
            "the FLOPs of a training token under each convention. MODEL is a preset "
            "(weft model\n"
            "list), a Hugging Face config.json or its folder, or dimensions.",
        .examples =
            "  weft model llama3-8b --seq 8192\n"
            "  weft model deepseek-v3,mtp=1\n"
            "  weft model layers=24,hidden=1024,heads=16,family=llama --tensors\n"
            "  weft model list\n",
        .group = {{"Flags", .row = rows}}};
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    if (args.n != 1)
        rc = args.n ? wf_cmd_usage("model", "unexpected word '%s'", args.word[1])
                    : wf_cmd_usage("model", "MODEL is missing; 'weft model list' names "
                                            "some");
    else
        rc = strcmp(args.word[0], "list") ? report(args.word[0], &v) : list(v.json);
    wf_args_clear(&args);
    return rc;
}
