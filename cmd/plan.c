/* SPDX-License-Identifier: Apache-2.0 */
/* weft plan: the best layouts of a model on a machine. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cmd/commands.h"
#include "cmd/plan_job.h"
#include "cmd/stdio_writer.h"
#include "cost/options.h"
#include "layout/fields.h"
#include "plan/write.h"

typedef struct planning {
    wf_plan_job job;
    weft_plan_options o;
    int explain, pareto;
    const char *why_not;
} planning;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is emitted is not what the search without a tool finds best. */
static void put_winner(const planning *x, const weft_plan_row *winner, const char *why,
                       const weft_plan_row *best)
{
    weft_text a = {NULL, 0, 0}, b = {NULL, 0, 0};
    weft_writer u = weft_text_writer(&a), v = weft_text_writer(&b);

    wf_put_layout_words(&winner->layout, &u);
    wf_put_layout_words(&best->layout, &v);
    wf_cmd_note("plan",
                "the winner (%s; %.3f s) is none that %s can run: %s; this is the best "
                "that it can: %s; %.3f s, %+.1f %%",
                a.s, winner->cost.step_time_s, x->job.emit, why, b.s,
                best->cost.step_time_s,
                100 * (best->cost.step_time_s / winner->cost.step_time_s - 1));
    weft_text_clear(&a);
    weft_text_clear(&b);
}

/* The winner is nothing for the tool: search among what is. */
static weft_status emit_other(planning *x, weft_tool tool, const weft_plan_row *winner,
                              const char *why, weft_writer *out)
{
    weft_plan_options o = x->o;
    weft_plan p;

    o.tool = (int32_t)tool;
    WF_TRY(weft_plan_make(&x->job.q, &o, &p));
    weft_status st;
    if (p.n_rows) {
        put_winner(x, winner, why, &p.row[0]);
        st = wf_plan_job_emit(&x->job, tool, &p.row[0].layout, out);
    } else {
        st =
            WF_FAIL(WEFT_E_INFEASIBLE, "no layout that %s can run fits; the winner: %s",
                    x->job.emit, why);
    }
    weft_plan_clear(&p);
    return st;
}

static weft_status emit_best(planning *x, const weft_plan *p, weft_writer *out)
{
    weft_tool tool;
    char why[512];

    WF_TRY(weft_tool_find(x->job.emit, &tool));
    if (!p->n_rows)
        return WF_FAIL(WEFT_E_INFEASIBLE, "no layout fits: %s", p->why_none);
    if (weft_emit_check(tool, &p->row[0].layout, &x->job.q.arch) == WEFT_OK)
        return wf_plan_job_emit(&x->job, tool, &p->row[0].layout, out);
    snprintf(why, sizeof why, "%s", weft_status_message());
    return emit_other(x, tool, &p->row[0], why, out);
}

static weft_status put_why_not(planning *x, const weft_plan *p, weft_writer *out)
{
    weft_plan_options asked = x->o;
    WF_TRY(wf_plan_job_dims(x->why_not, &asked.given, &asked.fixed));
    return weft_plan_why_not(&x->job.q, p, &asked, out);
}

static weft_status put_plan(planning *x, const weft_plan *p, weft_writer *out)
{
    if (x->job.emit) return emit_best(x, p, out);
    if (x->job.json) {
        weft_plan_write_json(&x->job.q, p, out);
        return WEFT_OK;
    }
    weft_plan_write_text(&x->job.q, p, out);
    if (x->explain) weft_plan_explain(&x->job.q, p, out);
    return x->why_not ? put_why_not(x, p, out) : WEFT_OK;
}

static weft_status check(const planning *x)
{
    weft_layout any = x->job.layout;
    uint32_t fixed = 0;
    if (x->why_not) WF_TRY(wf_plan_job_dims(x->why_not, &any, &fixed));
    if (x->job.from)
        return WF_FAIL(WEFT_E_INVALID, "--from reads one layout: weft report takes it");
    if (x->job.emit && (x->explain || x->why_not || x->pareto))
        return WF_FAIL(WEFT_E_INVALID,
                       "--emit writes what %s reads alone: no --%s with it",
                       x->job.emit,
                       x->explain   ? "explain"
                       : x->why_not ? "why-not"
                                    : "pareto");
    if (x->job.json && (x->explain || x->why_not))
        return WF_FAIL(WEFT_E_INVALID,
                       "--explain and --why-not are words, not for --json");
    return WEFT_OK;
}

static weft_status plan(planning *x, const wf_args *args, int *found)
{
    weft_writer out = wf_stdout_writer();
    weft_plan p;

    WF_TRY(check(x));
    WF_TRY(wf_plan_job_prepare(&x->job, args));
    x->o.given = x->job.layout;
    x->o.fixed = wf_plan_job_fixed(args);
    x->o.front = x->pareto;
    if (x->job.emit) x->o.top = 1;
    double start = now_s();
    WF_TRY(weft_plan_make(&x->job.q, &x->o, &p));
    p.seconds = now_s() - start;
    *found = p.n_rows > 0;
    weft_status st = put_plan(x, &p, &out);
    weft_plan_clear(&p);
    return st == WEFT_OK ? weft_writer_status(&out) : st;
}

int wf_cmd_plan(int argc, char **argv)
{
    static planning x;
    wf_option rows[WF_PLAN_JOB_ROWS];
    wf_args args;
    int rc, found = 0;

    wf_plan_job_init(&x.job, "plan");
    wf_plan_job_rows(&x.job, rows);
    weft_plan_defaults(&x.o);
    const wf_option search[] = {
        {"top", .type = WF_OPT_INT, .out = &x.o.top, .arg = "N", .min = 1,
         .max = 100000, .help = "rows, each the best of its degrees"},
        {"tie", .type = WF_OPT_NUMBER, .out = &x.o.tie, .arg = "SHARE", .min = 0,
         .max = 0.5, .help = "within this share of the fastest the simplest wins"},
        {"pareto", .type = WF_OPT_FLAG, .out = &x.pareto,
         .help = "the front of step time and memory too"},
        {"explain", .type = WF_OPT_FLAG, .out = &x.explain,
         .help = "what binds, and why the winner beats the runner-up"},
        {"why-not", .type = WF_OPT_TEXT, .out = &x.why_not, .arg = "tp=..,pp=..",
         .help = "why not a layout of these dimensions"},
        {0}};
    const wf_command_line line = {
        .command = "plan",
        .usage = "MODEL --machine MACHINE --global-batch B --seq S [--tp T ...]",
        .about =
            "Looks at every layout of a model on a machine and simulates those that "
            "may be "
            "the best: tp, cp,\npp, dp, ep, chunks, micro-batch, schedule, ZeRO and "
            "its copies, "
            "SP, recompute, split of the\nlayers, order of the ranks; what is given "
            "stays. Exit status 1: none fits.",
        .examples =
            "  weft plan llama3-70b -M h100:8x8 --global-batch 256 --seq 4096 "
            "--explain\n"
            "  weft plan llama3-8b -M a100-80:2x8 --global-batch 128 --seq 8192 "
            "--pareto\n"
            "  weft plan llama3-70b -M h100:8x8 --global-batch 256 --seq 4096 \\\n"
            "      --why-not tp=8,pp=8\n"
            "  weft plan llama3-70b -M h100:8x8 --global-batch 256 --seq 4096 --emit "
            "megatron\n",
        .hidden = "from exact-memory receive-buffers scratch-bytes",
        .layout = 1,
        .group = {
            {"Plan", .row = rows},
            {"Search", .row = search},
            {"Layout", .table = wf_layout_plan_table(), .object = &x.job.layout},
            {"Training program", .table = wf_cost_table(), .object = &x.job.cost}}};
    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    weft_status st = plan(&x, &args, &found);
    rc = st != WEFT_OK ? wf_cmd_fail("plan", st) : found ? WF_EXIT_OK : WF_EXIT_NO;
    wf_args_clear(&args);
    return rc;
}
