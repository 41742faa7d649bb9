/* SPDX-License-Identifier: Apache-2.0 */
/* weft score: the planner's model against measured runs. */
#include <string.h>
#include <weft/score.h>

#include "base/alloc.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/stdio_writer.h"

enum { MOST_BYTES = 1 << 26 };

typedef struct scoring {
    const char *half;
    int json, rows;
} scoring;

static weft_half half_of(const char *word)
{
    if (!strcmp(word, "fit")) return WEFT_HALF_FIT;
    return strcmp(word, "other") ? WEFT_HALF_ALL : WEFT_HALF_OTHER;
}

static weft_status score(const scoring *x, const char *path)
{
    weft_runs runs = {0, NULL};
    char *text = NULL;
    int64_t n = 0;
    weft_status st = wf_read_file(path, MOST_BYTES, &text, &n);

    if (st == WEFT_OK) st = weft_runs_read(text, n, &runs);
    wf_free(text);
    if (st == WEFT_OK) st = weft_runs_predict(&runs);
    if (st == WEFT_OK) {
        weft_writer out = wf_stdout_writer();
        if (x->json)
            weft_score_write_json(&runs, half_of(x->half), x->rows, &out);
        else
            weft_score_write_text(&runs, half_of(x->half), x->rows, &out);
    }
    weft_runs_clear(&runs);
    return st;
}

int wf_cmd_score(int argc, char **argv)
{
    scoring x = {.half = "all"};
    const wf_option rows[] = {
        {"half", .type = WF_OPT_CHOICE, .out = &x.half, .choices = "all fit other",
         .help =
             "rows that count: those that constants were fitted on have an even hash "
             "of their id"},
        {"rows", .type = WF_OPT_FLAG, .out = &x.rows, .help = "each row too"},
        {"json", .type = WF_OPT_FLAG, .out = &x.json, .help = "JSON"},
        {0}};
    const wf_command_line line = {
        .command = "score",
        .usage = "RUNS.csv [--half all|fit|other] [--rows] [--json]",
        .about =
            "Predicts measured runs and says how far off the predictions are: mean "
            "absolute error of\nstep time and memory by source, share of rows within "
            "10 %, and for layouts of one model\non as many GPUs how many pairs are "
            "in the measured order and what choosing the\npredicted best costs.",
        .examples = "  weft score published_runs.csv\n"
                    "  weft score published_runs.csv --half other --rows\n",
        .group = {{"Scoring", .row = rows}}};
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    if (args.n != 1) {
        rc = wf_cmd_usage("score", "one file of runs is needed, %d are given", args.n);
    } else {
        weft_status st = score(&x, args.word[0]);
        rc = st == WEFT_OK ? wf_stdout_finish("score", WF_EXIT_OK)
                           : wf_cmd_fail("score", st);
    }
    wf_args_clear(&args);
    return rc;
}
