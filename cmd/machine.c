/* SPDX-License-Identifier: Apache-2.0 */
/* weft machine: what is known of devices and clusters. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/near.h"
#include "cmd/commands.h"
#include "cmd/machine_file.h"
#include "cmd/options.h"
#include "cmd/stdio_writer.h"

/* ---- list ------------------------------------------------------------------------ */

static void list_text(weft_writer *out)
{
    weft_print(out, "%-9s %-22s %10s %8s %8s  %s\n", "name", "device", "bf16 TF/s",
               "GB", "GB/s", "links, GB/s a direction and rank");
    for (int i = 0; i < weft_machine_preset_count(); i++) {
        const weft_machine *m = weft_machine_preset_at(i);
        weft_print(out, "%-9s %-22s %10.6g %8.6g %8.6g  ", m->name, m->device,
                   m->flops_per_s[WEFT_MATH_BF16] / 1e12, m->memory_bytes / 1e9,
                   m->memory_bytes_per_s / 1e9);
        for (int t = 0; t < m->n_tiers; t++)
            weft_print(out, "%s%s %.6g", t ? ", " : "", m->tier[t].name,
                       m->tier[t].bytes_per_s / 1e9);
        weft_print(out, "\n");
    }
}

static void list_json(weft_writer *out)
{
    weft_print(out, "[");
    for (int i = 0; i < weft_machine_preset_count(); i++) {
        weft_print(out, "%s", i ? "," : "");
        weft_machine_write_json(weft_machine_preset_at(i), out);
    }
    weft_print(out, "]\n");
}

static int list(int argc, char **argv)
{
    int json = 0, rc = 0;
    const wf_option rows[] = {{"json", .type = WF_OPT_FLAG, .out = &json,
                               .help = "every field of every preset"},
                              {0}};
    const wf_command_line line = {.command = "machine list",
                                  .usage = "[--json]",
                                  .about = "The presets.",
                                  .examples = "  weft machine list\n",
                                  .group = {{"Output", .row = rows}}};
    wf_args args;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    weft_writer out = wf_stdout_writer();
    if (args.n)
        rc = wf_cmd_usage("machine list", "unexpected word \"%s\"", args.word[0]);
    else if (json)
        list_json(&out);
    else
        list_text(&out);
    wf_args_clear(&args);
    return rc ? rc : wf_stdout_finish("machine list", WF_EXIT_OK);
}

/* ---- show ------------------------------------------------------------------------ */

static int put(const char *text, int json)
{
    weft_machine m;
    weft_status st = wf_machine_read(text, &m);

    if (st != WEFT_OK) return wf_cmd_fail("machine show", st);
    weft_writer out = wf_stdout_writer();
    if (json) {
        weft_machine_write_json(&m, &out);
        weft_print(&out, "\n");
    } else {
        weft_machine_write_text(&m, &out);
    }
    return wf_stdout_finish("machine show", WF_EXIT_OK);
}

static int show(int argc, char **argv)
{
    int json = 0, rc;
    const wf_option rows[] = {
        {"json", .type = WF_OPT_FLAG, .out = &json,
         .help = "the machine file, to be changed and given to --machine"},
        {0}};
    const wf_command_line line = {
        .command = "machine show",
        .usage = "MACHINE",
        .about =
            "Facts with their sources, links, and the constants of efficiency. "
            "MACHINE is a preset\n(weft machine list) with its shape, nodes x ranks "
            "of a node, or a machine file; changes\nfollow after commas.",
        .examples =
            "  weft machine show h100:8x8\n"
            "  weft machine show a100-80:4x8,network=12.5GB/s --json > mine.json\n"
            "  weft machine show mine.json\n",
        .group = {{"Output", .row = rows}}};
    wf_args args;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    rc = args.n == 1 ? put(args.word[0], json)
                     : wf_cmd_usage("machine show",
                                    "one MACHINE is needed, %d are given", args.n);
    wf_args_clear(&args);
    return rc;
}

/* ---- which ----------------------------------------------------------------------- */

static const wf_command actions[] = {
    {"list", "the presets", list},
    {"show", "one machine: facts, links, constants", show},
#ifdef WEFT_HAVE_RUN
    {"measure", "time this machine and write its file", wf_machine_measure},
#endif
};
enum { N_ACTIONS = sizeof actions / sizeof *actions };

static int put_help(void)
{
    printf("Usage: weft machine ACTION [flags]\n\nActions\n");
    for (int i = 0; i < N_ACTIONS; i++)
        printf("  %-10s %s\n", actions[i].name, actions[i].summary);
    printf("\n  weft machine ACTION --help  flags and examples\n");
    return wf_stdout_finish("machine", WF_EXIT_OK);
}

static const char *action_name(const void *ctx, int i)
{
    return actions[i].name;
}

/* "list, show, measure", whatever this build has */
static void action_names(char *out, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < N_ACTIONS && n < size; i++)
        n +=
            (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", actions[i].name);
}

int wf_cmd_machine(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    char names[64];

    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return put_help();
    for (int i = 0; i < N_ACTIONS; i++)
        if (!strcmp(word, actions[i].name)) return actions[i].run(argc - 1, argv + 1);
    action_names(names, sizeof names);
    if (!*word) return wf_cmd_usage("machine", "an action is missing: %s", names);
    const char *near = wf_nearest(word, N_ACTIONS, action_name, NULL);
    return wf_cmd_usage("machine", "\"%.60s\" is no action; %s are%s%s%s", word, names,
                        near ? "; did you mean " : "", near ? near : "",
                        near ? "?" : "");
}
