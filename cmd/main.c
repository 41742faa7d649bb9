/* SPDX-License-Identifier: Apache-2.0 */
/* weft SUBCOMMAND: the table of commands, --help and --version. */
#define _XOPEN_SOURCE 700 /* getrlimit */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <weft/version.h>

#include "base/near.h"
#include "cmd/commands.h"
#ifdef WEFT_HAVE_RUN
#include "cmd/launch.h"
#endif
#include "cmd/options.h"
#include "cmd/stdio_writer.h"

static const wf_command commands[] = {
    {"schedule", "draw, simulate and check a pipeline schedule", wf_cmd_schedule},
    {"mesh", "which rank sits where, and the groups of every axis", wf_cmd_mesh},
    {"model", "what a model is made of, its parameters and FLOPs", wf_cmd_model},
#ifdef WEFT_HAVE_RUN
    {"train", "train a model split over ranks", wf_cmd_train},
    {"verify", "prove split training equal to unsplit training", wf_cmd_verify},
#endif
    {"report", "what one layout of a model costs on a machine", wf_cmd_report},
    {"plan", "the best layouts of a model on a machine", wf_cmd_plan},
    {"machine", "devices and clusters: presets, files, this machine", wf_cmd_machine},
    {"score", "predict measured runs and say how far off that is", wf_cmd_score},
    {"compare", "subtract two timelines op by op", wf_cmd_compare},
    {"doctor", "find what would break a run on this machine", wf_cmd_doctor},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* Named in the design, not built yet, or not in this build. */
static const char *const later[] = {"convert", "train", "verify", "generate"};
enum { N_LATER = sizeof later / sizeof *later };

static int put_help(FILE *out, int exit_code)
{
    fprintf(out,
            "weft %s: plans, draws, simulates and runs split training\n\n"
            "Usage: weft SUBCOMMAND [flags]\n\nSubcommands\n",
            WEFT_VERSION);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n  weft SUBCOMMAND --help  flags and examples\n"
                 "  weft --version          version and what it was built with\n\n"
                 "Examples\n"
                 "  weft schedule 1f1b -p 4 -m 12\n"
                 "  weft schedule interleaved -p 4 -m 12 -v 3 --svg timeline.svg\n"
                 "  weft mesh --tp 2 --pp 4 --dp 2 --gpus-per-node 8\n\n"
                 "Exit status: 0 done, 1 no (infeasible, unequal, check failed), 2 bad "
                 "usage or\n"
                 "input, 3 a fault while running.\n");
    return exit_code;
}

static int put_version(void)
{
    printf("weft %s\n", WEFT_VERSION);
#ifdef WEFT_BUILT_WITH
    printf("runs jobs with %s\n", WEFT_BUILT_WITH);
#else
    printf("plans and draws only: built without libweft-run\n");
#endif
    return WF_EXIT_OK;
}

static const char *name_at(const void *ctx, int i)
{
    return ((const wf_command *)ctx)[i].name;
}

static int unknown(const char *word)
{
    for (int i = 0; i < N_LATER; i++) {
        if (strcmp(word, later[i])) continue;
        fprintf(stderr, "weft: %s is not in this version%s\n", word,
                i < 1 ? "" : " as it was built (libweft-run is off)");
        return WF_EXIT_USAGE;
    }
    const char *near = wf_nearest(word, N_COMMANDS, name_at, commands);
    if (near)
        fprintf(stderr, "weft: there is no subcommand '%.60s'; did you mean %s?\n",
                word, near);
    else
        fprintf(stderr,
                "weft: there is no subcommand '%.60s'; weft --help lists them\n", word);
    return WF_EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    if (argc < 2) return put_help(stderr, WF_EXIT_USAGE);
    const char *word = argv[1];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) return put_version();
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return put_help(stdout, WF_EXIT_OK);
    if (!strcmp(word, "help")) {
        if (argc < 3) return put_help(stdout, WF_EXIT_OK);
        char *args[] = {argv[2], "--help", NULL};
        for (int i = 0; i < N_COMMANDS; i++)
            if (!strcmp(argv[2], commands[i].name)) return commands[i].run(2, args);
        return unknown(argv[2]);
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(word, commands[i].name)) return commands[i].run(argc - 1, argv + 1);
    if (*word == '-') {
        fprintf(stderr, "weft: there is no flag %.60s before a subcommand\n", word);
        return WF_EXIT_USAGE;
    }
    return unknown(word);
}

#ifdef WEFT_HAVE_RUN
/* Commands whose ranks compute. */
static int computes(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "", *action = argc > 2 ? argv[2] : "";
    return !strcmp(word, "train") || !strcmp(word, "verify") ||
           (!strcmp(word, "machine") && !strcmp(action, "measure"));
}
#endif

/* OpenBLAS joins its threads when the program ends, and one that finds no address space for
 * its work area looks for it for ever: under a limit the program ends without that. */
static int leave(int rc)
{
    struct rlimit space;

    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY) {
        fflush(stderr);
        _exit(rc);
    }
    return rc;
}

int main(int argc, char **argv)
{
#ifdef WEFT_HAVE_RUN
    if (computes(argc, argv)) wf_job_calm(argv);
#endif
    int rc = run(argc, argv);
    return leave(wf_stdout_finish(argc > 1 ? argv[1] : "", rc));
}
