/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/plan_job.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/machine_file.h"
#include "cmd/model_file.h"
#include "cmd/stdio_writer.h"
#include "cost/options.h"
#include "layout/fields.h"

enum { MOST_LAUNCH = 1 << 22 };

void wf_plan_job_init(wf_plan_job *job, const char *command)
{
    memset(job, 0, sizeof *job);
    job->command = command;
    job->reserve = -1;
    job->math = "bf16";
    weft_layout_defaults(&job->layout);
    weft_cost_defaults(&job->cost);
}

void wf_plan_job_rows(wf_plan_job *job, wf_option rows[WF_PLAN_JOB_ROWS])
{
    const wf_option all[WF_PLAN_JOB_ROWS] = {
        {"machine", .letter = 'M', .type = WF_OPT_TEXT, .out = &job->machine,
         .arg = "MACHINE",
         .help = "preset with its shape, h100:8x8, or a machine file"},
        {"reserve", .type = WF_OPT_NUMBER, .out = &job->reserve, .arg = "BYTES",
         .unit = WF_BYTES, .help = "memory kept free; below 0: as the machine says"},
        {"math", .type = WF_OPT_CHOICE, .out = &job->math,
         .choices = "f64 f32 bf16 fp8 fp4", .help = "arithmetic of the matmuls"},
        {"emit", .type = WF_OPT_CHOICE, .out = &job->emit,
         .choices = "megatron torchtitan deepspeed nanotron weft slurm ranks",
         .help = "print the launch flags or configuration of this tool instead"},
        {"from", .type = WF_OPT_CHOICE, .out = &job->from,
         .choices = "megatron torchtitan",
         .help = "the last word is a file with a launch line of this tool"},
        {"json", .type = WF_OPT_FLAG, .out = &job->json, .help = "results as JSON"},
        {0}};
    memcpy(rows, all, sizeof all);
}

/* ---- the model ------------------------------------------------------------------------ */

/* MODEL without its params=N, which overrides the count. */
static weft_status read_model(wf_plan_job *job, const char *text, weft_arch *out)
{
    char plain[512] = "", number[64];
    size_t used = 0;

    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ",");
        if (!strncmp(at, "params=", 7) && n > 7 && n < sizeof number) {
            snprintf(number, sizeof number, "%.*s", (int)(n - 7), at + 7);
            WF_TRY(wf_num_f64("params", number, WF_COUNT, &job->cost.params));
            if (!(job->cost.params > 0))
                return WF_FAIL(WEFT_E_INVALID, "params=%s: more than 0 are needed",
                               number);
        } else if (used + n + 2 < sizeof plain) {
            used += (size_t)snprintf(plain + used, sizeof plain - used, "%s%.*s",
                                     used ? "," : "", (int)n, at);
        } else {
            return WF_FAIL(WEFT_E_INVALID, "the model '%.40s...' is too long", text);
        }
        at += n + (at[n] == ',');
    }
    return wf_model_read(plain, out);
}

/* ---- a launch line -------------------------------------------------------------------- */

static void put_notes(const wf_plan_job *job, const weft_launch *got)
{
    if (got->ignored.n)
        wf_cmd_note(job->command, "%s: %s",
                    strcmp(job->from, "megatron")
                        ? "not read"
                        : "without effect on time or memory as they are predicted",
                    got->ignored.s);
    if (got->unknown.n)
        wf_cmd_note(job->command, "unknown to %s: %s", job->from, got->unknown.s);
    if (got->dropout_assumed)
        wf_cmd_note(job->command,
                    "dropout is on, as in %s unless the line switches it off; "
                    "--dropout=false is without",
                    job->from);
    if (got->unmodelled.n)
        wf_cmd_note(job->command,
                    "without a model here, though they change time or memory: %s",
                    got->unmodelled.s);
    if (got->has_arch && got->vocab_assumed)
        wf_cmd_note(
            job->command,
            "the line does not tell the tokenizer's size: a vocabulary of %lld is "
            "assumed; --vocab-size or MODEL says it",
            (long long)got->arch.vocab);
}

/* Flags that were given go before what the line says. */
static void override(const wf_args *args, const weft_layout *given, weft_layout *l)
{
    const wf_table *t = wf_layout_plan_table();
    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        char name[64];
        snprintf(name, sizeof name, "%s", f->name);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = '-';
        if (f->size && wf_args_given(args, name))
            memcpy((char *)l + f->offset, (const char *)given + f->offset, f->size);
    }
}

static void take_options(wf_plan_job *job, const wf_args *args, weft_launch *got)
{
    weft_cost_options *o = &job->cost;
    if (wf_args_given(args, "dropout")) got->dropout = -1, got->dropout_assumed = 0;
    if (got->dropout >= 0) o->dropout = got->dropout;
    if (got->fused_attention >= 0 && !wf_args_given(args, "fused-attention"))
        o->fused_attention = got->fused_attention;
    if (got->fused_loss >= 0 && !wf_args_given(args, "fused-loss"))
        o->fused_loss = got->fused_loss;
    if (got->overlap_dp >= 0 && !wf_args_given(args, "overlap-dp"))
        o->overlap_dp = got->overlap_dp;
    if (got->grad_bytes > 0 && !wf_args_given(args, "grad-bytes"))
        o->grad_bytes = got->grad_bytes;
}

static weft_status read_launch(wf_plan_job *job, const wf_args *args, const char *file,
                               const weft_arch *given, weft_arch *arch, int *world)
{
    weft_tool tool;
    weft_launch got;
    char *text;
    int64_t n;

    WF_TRY(weft_tool_find(job->from, &tool));
    WF_TRY(wf_read_file(file, MOST_LAUNCH, &text, &n));
    weft_status st = weft_launch_read(tool, text, given, &got);
    wf_free(text);
    if (st != WEFT_OK) {
        char why[512];
        snprintf(why, sizeof why, "%s", weft_status_message());
        return WF_FAIL(st, "%s: %s", file, why);
    }
    take_options(job, args, &got);
    put_notes(job, &got);
    weft_layout said = got.layout;
    override(args, &job->layout, &said);
    job->layout = said;
    job->order_given = 1;
    *arch = got.arch;
    *world = got.world;
    weft_launch_clear(&got);
    return WEFT_OK;
}

/* ---- all of it ------------------------------------------------------------------------ */

static weft_status read_words(wf_plan_job *job, const wf_args *args, weft_arch *a,
                              int *world)
{
    int models = args->n - (job->from != NULL);

    *world = 0;
    if (models < 0)
        return WF_FAIL(WEFT_E_INVALID, "--from %s needs a file after it", job->from);
    if (models > 1)
        return WF_FAIL(WEFT_E_INVALID, "unexpected word '%s'", args->word[1]);
    if (models == 0 && !job->from)
        return WF_FAIL(WEFT_E_INVALID, "a MODEL is needed: a preset, a config.json or "
                                       "layers=..,hidden=..,heads=..");
    if (models) WF_TRY(read_model(job, args->word[0], a));
    if (!job->from) return WEFT_OK;
    weft_arch given = *a;
    return read_launch(job, args, args->word[args->n - 1], models ? &given : NULL, a,
                       world);
}

static weft_status check_world(const wf_plan_job *job, int world)
{
    int ranks = weft_machine_ranks(&job->q.machine);
    if (!world || world == ranks) return WEFT_OK;
    return WF_FAIL(WEFT_E_MISMATCH,
                   "the launch line starts %d ranks, --machine %s has %d", world,
                   job->machine, ranks);
}

static weft_status check_emit(const wf_plan_job *job)
{
    weft_tool tool;
    WF_TRY(weft_tool_find(job->emit, &tool));
    return weft_emit_check_options(tool, &job->q.options);
}

weft_status wf_plan_job_prepare(wf_plan_job *job, const wf_args *args)
{
    weft_machine m;
    weft_arch a;
    weft_math math;
    int world;

    memset(&a, 0, sizeof a);
    if (job->emit && job->json)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--emit %s writes what %s reads, and --json results: one of them",
            job->emit, job->emit);
    job->order_given = wf_args_given(args, "order");
    WF_TRY(read_words(job, args, &a, &world));
    if (!job->machine)
        return WF_FAIL(WEFT_E_INVALID,
                       "--machine is missing: h100:8x8 is 8 nodes of 8 H100; "
                       "`weft machine list` has more");
    WF_TRY(wf_machine_read(job->machine, &m));
    if (job->reserve >= 0) m.reserve_bytes = job->reserve;
    WF_TRY(weft_math_parse(job->math, &math));
    job->cost.math = math;
    WF_TRY(weft_cost_prepare(&a, &m, &job->cost, &job->q));
    if (job->emit) WF_TRY(check_emit(job)); /* before a search, not after */
    return check_world(job, world);
}

weft_status wf_plan_job_emit(const wf_plan_job *job, weft_tool tool,
                             const weft_layout *l, weft_writer *out)
{
    WF_TRY(weft_emit(tool, l, &job->q.arch, &job->q.options,
                     job->q.machine.ranks_per_node, out));
    if (tool == WEFT_TOOL_DEEPSPEED && strcmp(l->recompute, "none"))
        wf_cmd_note(job->command,
                    "--recompute %s: deepspeed's configuration does not switch it on; "
                    "the model's code must, with deepspeed.checkpointing.checkpoint() "
                    "around %s",
                    l->recompute,
                    !strcmp(l->recompute, "full")    ? "each layer"
                    : job->q.options.fused_attention ? "its norms and the activation "
                                                       "of its MLP"
                                                     : "its attention");
    if (tool == WEFT_TOOL_DEEPSPEED)
        wf_cmd_note(job->command,
                    "the model is the program's: priced with %s attention, %s dropout "
                    "and %lld rows of vocabulary",
                    job->q.options.fused_attention ? "fused" : "stored",
                    job->q.options.dropout ? "with" : "without",
                    (long long)weft_layout_padded_vocab(l, &job->q.arch));
    return WEFT_OK;
}

/* ---- dimensions ----------------------------------------------------------------------- */

static const char *flag_of(weft_dim dim, char buf[32])
{
    snprintf(buf, 32, "%s", weft_dim_name(dim));
    for (char *c = buf; *c; c++)
        if (*c == '_') *c = '-';
    return buf;
}

uint32_t wf_plan_job_fixed(const wf_args *args)
{
    uint32_t fixed = 0;
    char flag[32];
    for (int d = 0; d < WEFT_N_DIMS; d++)
        if (wf_args_given(args, flag_of((weft_dim)d, flag))) fixed |= 1u << d;
    return fixed;
}

static weft_status set_dim(const char *key, const char *value, weft_layout *l,
                           uint32_t *seen)
{
    char flag[32];
    WF_TRY(weft_layout_plan_set(l, key, value));
    for (int d = 0; d < WEFT_N_DIMS; d++)
        if (!strcmp(key, weft_dim_name((weft_dim)d)) ||
            !strcmp(key, flag_of((weft_dim)d, flag))) {
            if (*seen >> d & 1)
                return WF_FAIL(WEFT_E_INVALID,
                               "--why-not: %s stands twice; once says it", key);
            *seen |= 1u << d;
            return WEFT_OK;
        }
    return WF_FAIL(WEFT_E_INVALID, "%s is no dimension of the search", key);
}

/* A part without '=' belongs to the value before it: order=tp,cp,dp,pp. */
weft_status wf_plan_job_dims(const char *text, weft_layout *l, uint32_t *fixed)
{
    char key[64], value[320];
    uint32_t seen = 0;

    while (*text) {
        size_t n = strcspn(text, "=,");
        if (text[n] != '=' || n == 0 || n >= sizeof key)
            return WF_FAIL(WEFT_E_INVALID,
                           "'%.40s' is no dimension=value, such as tp=8,pp=4", text);
        snprintf(key, sizeof key, "%.*s", (int)n, text);
        text += n + 1;
        for (n = strcspn(text, ","); text[n];) {
            size_t more = strcspn(text + n + 1, ",");
            if (memchr(text + n + 1, '=', more)) break;
            n += 1 + more;
        }
        if (n >= sizeof value)
            return WF_FAIL(WEFT_E_INVALID, "%s=%.40s... is too long", key, text);
        snprintf(value, sizeof value, "%.*s", (int)n, text);
        WF_TRY(set_dim(key, value, l, &seen));
        text += n + (text[n] == ',');
    }
    *fixed |= seen;
    return WEFT_OK;
}
