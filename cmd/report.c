/* SPDX-License-Identifier: Apache-2.0 */
/* weft report: what one layout costs. */
#include <stdio.h>
#include <string.h>
#include <weft/envelope.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/commands.h"
#include "cmd/plan_job.h"
#include "cmd/stdio_writer.h"
#include "cost/options.h"
#include "layout/fields.h"

/* The rank order of the tool that is written for, unless the user chose one. */
static weft_status choose_order(wf_plan_job *job, weft_tool tool)
{
    if (job->order_given) return WEFT_OK;
    return weft_layout_plan_set(&job->layout, "order", weft_tool_order(tool));
}

static weft_status settle(wf_plan_job *job)
{
    weft_layout *l = &job->layout;
    const char *derived;

    if (l->seq < 1)
        return WF_FAIL(WEFT_E_INVALID, "--seq is missing: tokens per sequence");
    WF_TRY(weft_layout_resolve(l, weft_machine_ranks(&job->q.machine), &derived));
    if (derived)
        wf_cmd_note(job->command, "--%s %d follows from the %d rank%s of %s", derived,
                    !strcmp(derived, "tp")   ? l->tp
                    : !strcmp(derived, "pp") ? l->pp
                                             : l->dp,
                    weft_machine_ranks(&job->q.machine),
                    weft_machine_ranks(&job->q.machine) == 1 ? "" : "s", job->machine);
    if (l->global_batch < 1 && job->from) l->global_batch = l->micro_batch * l->dp;
    if (l->global_batch < 1)
        return WF_FAIL(WEFT_E_INVALID, "--global-batch is missing: sequences per step");
    WF_TRY(weft_layout_plan_check(l, &job->q.arch));
    weft_layout_settle_stages(l, &job->q.arch);
    return WEFT_OK;
}

static weft_status put_envelope(wf_plan_job *job, weft_cost *c, weft_writer *out)
{
    weft_envelope e;

    WF_TRY(weft_envelope_make(&job->q, &job->layout, &e));
    weft_envelope_cost(&job->q, &job->layout, &e, c);
    if (job->json) {
        weft_memory *memory;
        WF_TRY(WF_ALLOC(job->layout.pp, &memory));
        for (int r = 0; r < job->layout.pp; r++)
            memory[r] = c->memory;
        weft_report_write_json(&job->q, &job->layout, c, memory, out);
        wf_free(memory);
        return WEFT_OK;
    }
    weft_envelope_write_text(&job->q, &job->layout, &e, out);
    weft_print(out, "\n");
    weft_report_write_text(&job->q, &job->layout, c, NULL, out);
    return WEFT_OK;
}

static weft_status put_report(wf_plan_job *job, weft_cost *c, weft_writer *out)
{
    weft_memory *memory;

    if (job->cost.achieved_flops_per_s > 0) return put_envelope(job, c, out);
    WF_TRY(WF_ALLOC(job->layout.pp, &memory));
    weft_status st = weft_predict(&job->q, &job->layout, NULL, memory, c);
    if (st == WEFT_OK && job->json)
        weft_report_write_json(&job->q, &job->layout, c, memory, out);
    else if (st == WEFT_OK)
        weft_report_write_text(&job->q, &job->layout, c, memory, out);
    wf_free(memory);
    return st;
}

static weft_status report(wf_plan_job *job, const wf_args *args, int *fits)
{
    weft_writer out = wf_stdout_writer();
    weft_tool tool;
    weft_cost c = {.fits = 1};

    WF_TRY(wf_plan_job_prepare(job, args));
    if (job->emit) {
        WF_TRY(weft_tool_find(job->emit, &tool));
        WF_TRY(choose_order(job, tool));
    }
    WF_TRY(settle(job));
    if (job->emit)
        WF_TRY(wf_plan_job_emit(job, tool, &job->layout, &out));
    else
        WF_TRY(put_report(job, &c, &out));
    *fits = c.fits;
    return weft_writer_status(&out);
}

int wf_cmd_report(int argc, char **argv)
{
    static wf_plan_job job;
    wf_option rows[WF_PLAN_JOB_ROWS];
    wf_args args;
    int rc, fits = 1;

    wf_plan_job_init(&job, "report");
    wf_plan_job_rows(&job, rows);
    const wf_command_line line = {
        .command = "report",
        .usage = "MODEL --machine MACHINE --global-batch B --seq S [--tp T --pp P ...]",
        .about = "Time, memory and warnings of one layout of a model on a machine: the "
                 "schedule "
                 "is simulated,\nthe fullest stage found. A degree that is not given "
                 "follows "
                 "from the number of ranks.\nWith --achieved-flops it is the lessons' "
                 "back of "
                 "an envelope. Exit status 1: it does not fit.",
        .examples =
            "  weft report llama3-70b -M h100:8x8 --tp 8 --pp 4 --zero 1 --sp \\\n"
            "      --global-batch 256 --seq 4096\n"
            "  weft report layers=80,hidden=8192,heads=64,positions=4096,params=70e9 "
            "\\\n"
            "      -M h100:8x8 --tp 8 --pp 8 --global-batch 256 --seq 4096 \\\n"
            "      --achieved-flops 400TFLOP/s\n"
            "  weft report llama3-70b -M h100:8x8 --from megatron launch.sh\n",
        .layout = 1,
        .group = {{"Report", .row = rows},
                  {"Layout", .table = wf_layout_plan_table(), .object = &job.layout},
                  {"Training program", .table = wf_cost_table(), .object = &job.cost}}};
    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    weft_status st = report(&job, &args, &fits);
    rc = st != WEFT_OK ? wf_cmd_fail("report", st) : fits ? WF_EXIT_OK : WF_EXIT_NO;
    wf_args_clear(&args);
    return rc;
}
