/* SPDX-License-Identifier: Apache-2.0 */
/* weft compare A B: two traces, predicted or measured, subtracted. */
#include <stdio.h>
#include <weft/draw.h>

#include "base/error.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/stdio_writer.h"
#include "cmd/terminal.h"
#include "cmd/trace_file.h"

enum { MOST_DRAWN_RANKS = 64 };

typedef struct flags {
    int json, summary, ascii, width;
} flags;

static weft_status put_text(const flags *f, const weft_trace *a, const weft_trace *b,
                            const weft_compare *c, weft_writer *out)
{
    weft_draw_options o = {f->width > 0 ? f->width : wf_terminal_width(),
                           f->ascii || wf_terminal_ascii(), wf_terminal_color(), -1};
    if (!f->summary && a->n_ranks <= MOST_DRAWN_RANKS) {
        WF_TRY(weft_draw_text_pair(a, b, &o, out));
        weft_print(out, "\n");
    }
    weft_compare_write_text(c, out);
    return weft_writer_status(out);
}

static weft_status compare(const flags *f, const weft_trace *a, const weft_trace *b)
{
    weft_writer out = wf_stdout_writer();
    weft_compare c;

    WF_TRY(weft_trace_compare(a, b, &c));
    weft_status st = WEFT_OK;
    if (f->json)
        weft_compare_write_json(&c, &out);
    else
        st = put_text(f, a, b, &c, &out);
    weft_compare_clear(&c);
    return st == WEFT_OK ? weft_writer_status(&out) : st;
}

static weft_status compare_files(const flags *f, const char *path_a, const char *path_b)
{
    weft_trace a, b;
    WF_TRY(wf_trace_read(path_a, &a));
    weft_status st = wf_trace_read(path_b, &b);
    if (st == WEFT_OK) {
        st = compare(f, &a, &b);
        weft_trace_clear(&b);
    }
    weft_trace_clear(&a);
    return st;
}

int wf_cmd_compare(int argc, char **argv)
{
    flags f = {0};
    const wf_option rows[] = {
        {"json", .type = WF_OPT_FLAG, .out = &f.json, .help = "results as JSON"},
        {"summary", .type = WF_OPT_FLAG, .out = &f.summary, .help = "no timelines"},
        {"ascii", .type = WF_OPT_FLAG, .out = &f.ascii, .help = "timelines in ASCII"},
        {"width", .type = WF_OPT_INT, .out = &f.width, .arg = "N", .max = 100000,
         .help = "columns of the timelines; 0 is the terminal's"},
        {0}};
    const wf_command_line line = {
        .command = "compare",
        .usage = "A.json B.json",
        .about = "Subtracts two traces op by op: medians per kind, busy and waiting "
                 "time per rank,\n"
                 "where the difference of the step goes, and the ops that differ most. "
                 "Traces come\n"
                 "from weft schedule --trace and weft train --trace. A trace without a "
                 "unit is\n"
                 "stretched so that its compute time is that of the other.",
        .examples = "  weft schedule 1f1b -p 4 -m 8 --summary --trace a.json\n"
                    "  weft schedule 1f1b -p 4 -m 8 --summary --trace b.json "
                    "--stage-tf 1,1,1,1.2\n"
                    "  weft compare a.json b.json\n",
        .group = {{"Flags", .row = rows}}};
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    if (args.n != 2) {
        rc = wf_cmd_usage("compare", "two traces are needed, %d given", args.n);
    } else {
        weft_status st = compare_files(&f, args.word[0], args.word[1]);
        if (st != WEFT_OK) rc = wf_cmd_fail("compare", st);
    }
    wf_args_clear(&args);
    return rc;
}
