/* SPDX-License-Identifier: Apache-2.0 */
/* weft machine measure: time this machine and write what it is as a machine file. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/run/probe.h>
#include <weft/version.h>

#include "base/error.h"
#include "cmd/commands.h"
#include "cmd/launch.h"
#include "cmd/load.h"
#include "cmd/stdio_writer.h"

typedef struct measuring {
    wf_job job;
    weft_probe_options o;
    const char *path, *name, *dtypes, *backend;
    int ranks, threads;
    wf_out_file file;
} measuring;

/* ---- options ---------------------------------------------------------------------- */

static weft_status read_dtypes(measuring *x)
{
    char words[64], *save = NULL;

    if (strlen(x->dtypes) >= sizeof words)
        return WF_FAIL(WEFT_E_INVALID, "--dtype '%.60s...': at most f64,f32,bf16",
                       x->dtypes);
    snprintf(words, sizeof words, "%s", x->dtypes);
    for (char *w = strtok_r(words, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        weft_dtype t;
        WF_TRY(weft_dtype_parse(w, &t));
        for (int i = 0; i < x->o.n_dtypes; i++)
            if (x->o.dtype[i] == t)
                return WF_FAIL(WEFT_E_INVALID, "--dtype %s names %s twice", x->dtypes,
                               w);
        x->o.dtype[x->o.n_dtypes++] = t;
    }
    if (!x->o.n_dtypes)
        return WF_FAIL(WEFT_E_INVALID, "--dtype is empty: f64, f32, bf16 are known");
    return WEFT_OK;
}

static weft_status count_ranks(measuring *x, int world)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int per = x->threads > 0 ? x->threads : 1;

    if (world && x->ranks && x->ranks != world)
        return WF_FAIL(WEFT_E_INVALID,
                       "--ranks %d, but the launcher started %d: leave --ranks out "
                       "under a launcher",
                       x->ranks, world);
    if (world)
        x->ranks = world;
    else if (!x->ranks)
        x->ranks = cores / per > 1 ? (int)(cores / per) : 1;
    return WEFT_OK;
}

static weft_backend backend_of(const char *name)
{
    if (!strcmp(name, "ref")) return WEFT_BACKEND_REF;
    if (!strcmp(name, "blas")) return WEFT_BACKEND_BLAS;
    if (!strcmp(name, "onednn")) return WEFT_BACKEND_ONEDNN;
    return WEFT_BACKEND_AUTO;
}

static weft_status prepare(measuring *x, int world)
{
    WF_TRY(read_dtypes(x));
    WF_TRY(count_ranks(x, world));
    x->o.threads = x->threads > 0 ? x->threads : 1;
    x->o.backend = backend_of(x->backend);
    if (x->o.seconds == 0) x->o.seconds = x->o.quick ? 2 : 40;
    if (!wf_job_speaks(&x->job)) return WEFT_OK;
    WF_TRY(wf_out_file_open(x->path, &x->file));
    wf_note_load("machine measure", "what is measured beside it is too slow");
    return WEFT_OK;
}

/* ---- what the file says of itself --------------------------------------------------- */

/* "Intel(R) Xeon(R) Processor" where the system tells. */
static void name_device(weft_machine *m)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(m->device, sizeof m->device, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !at) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(m->device, sizeof m->device, "%.47s", at + 2);
        break;
    }
    if (f) fclose(f);
}

static void name_machine(const measuring *x, weft_machine *m)
{
    if (*x->name)
        snprintf(m->name, sizeof m->name, "%.31s", x->name);
    else if (gethostname(m->name, sizeof m->name - 1))
        snprintf(m->name, sizeof m->name, "this");
}

/* Date, program, ranks with their threads and cores, links, kernels. */
static void name_source(const measuring *x, const weft_probe_report *r,
                        const char *comm, weft_machine *m)
{
    char day[32];
    time_t now = time(NULL);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%MZ", &utc);
    int n =
        snprintf(m->source, sizeof m->source,
                 "measured %s by weft %s: %d rank%s of %d thread%s on cpus %s, %s, ",
                 day, WEFT_VERSION, x->ranks, x->ranks == 1 ? "" : "s", x->o.threads,
                 x->o.threads == 1 ? "" : "s", r->cpus, comm);
    if (n < (int)sizeof m->source)
        snprintf(m->source + n, sizeof m->source - (size_t)n, "%s", r->kernel);
}

static weft_status put(measuring *x, const weft_machine *m, const weft_probe_report *r)
{
    weft_machine_write_json(m, &x->file.out);
    weft_print(&x->file.out, "\n");
    WF_TRY(wf_out_file_commit(&x->file));
    if (!strcmp(x->path, "-")) return WEFT_OK;
    weft_writer out = wf_stdout_writer();
    weft_machine_write_text(m, &out);
    weft_print(&out,
               "%s: %d matmuls, %d other kernels, %d sizes of messages in %.1f s\n",
               x->path, r->matmuls, r->kernels, r->messages, r->seconds);
    return weft_writer_status(&out);
}

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    measuring *x = ctx;
    weft_machine m;
    weft_probe_report r;

    WF_TRY(weft_probe_machine(comm, &x->o, &m, &r));
    if (weft_comm_rank(comm) > 0) return WEFT_OK;
    name_device(&m);
    name_machine(x, &m);
    name_source(
        x, &r,
        weft_comm_name(comm)[0] == 'm' ? weft_mpi_version() : weft_comm_name(comm), &m);
    weft_status st = put(x, &m, &r);
    if (st != WEFT_OK) weft_comm_abort(comm, st, weft_status_message(), 0);
    return st;
}

static int run(measuring *x)
{
    int rc = 0, world;

    if (wf_job_open(&x->job, &world, &rc)) return rc;
    if (!wf_job_agree(&x->job, prepare(x, world), &rc))
        rc = wf_job_run(&x->job, x->ranks, on_rank, x);
    wf_out_file_drop(&x->file);
    wf_job_close(&x->job);
    return rc;
}

static void fill_rows(measuring *x, wf_option *rows)
{
    const wf_option all[] = {
        {"output", .letter = 'o', .type = WF_OPT_TEXT, .out = &x->path, .arg = "FILE",
         .help = "the machine file; - is the standard output"},
        {"name", .type = WF_OPT_TEXT, .out = &x->name, .arg = "NAME",
         .help = "the machine's name in reports; the host's if not given"},
        {"ranks", .type = WF_OPT_INT, .out = &x->ranks, .arg = "N", .min = 0,
         .max = 4096,
         .help =
             "threads that stand for ranks, without a launcher; 0: cores / threads"},
        {"threads", .type = WF_OPT_INT, .out = &x->threads, .arg = "N", .min = 0,
         .max = 1024, .help = "of one rank; 0: 1"},
        {"dtype", .type = WF_OPT_TEXT, .out = &x->dtypes, .arg = "LIST",
         .help = "types of the matmuls; the last one's kernels give the constants"},
        {"backend", .type = WF_OPT_CHOICE, .out = &x->backend,
         .choices = "auto ref blas onednn", .help = "kernels"},
        {"seconds", .type = WF_OPT_NUMBER, .out = &x->o.seconds, .arg = "S",
         .unit = WF_SECONDS, .min = 0, .max = 3600,
         .help = "about how long in all; 0: 40, with --quick 2"},
        {"quick", .type = WF_OPT_FLAG, .out = &x->o.quick,
         .help = "fewer shapes and sizes"},
        {0}};
    memcpy(rows, all, sizeof all);
}

int wf_machine_measure(int argc, char **argv)
{
    static measuring x; /* outlives a rank thread that hangs */
    static wf_option rows[12], job[WF_JOB_ROWS + 1];
    wf_args args;
    int rc;

    x = (measuring){.path = "-", .name = "", .dtypes = "bf16,f32", .backend = "auto"};
    x.job.command = "machine measure";
    fill_rows(&x, rows);
    wf_job_options(&x.job, job);
    const wf_command_line line = {
        .command = "machine measure",
        .usage = "-o FILE [--ranks N | under mpirun] [--quick]",
        .about =
            "Times matmuls by shape, memory, the other kernels of a layer, and every "
            "collective and\nmessage on each tier of links, on all ranks at once, and "
            "writes a machine file that\nreport, plan and train --compare read. The "
            "machine should have nothing else to do.",
        .examples = "  weft machine measure -o here.json --ranks 2\n"
                    "  mpirun -n 2 weft machine measure -o mpi.json --dtype f32\n"
                    "  weft machine show here.json\n",
        .group = {{"Measuring", .row = rows}, {"Job", .row = job}}};
    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    rc = args.n
             ? wf_cmd_usage("machine measure",
                            "unexpected word \"%s\"; -o names the file", args.word[0])
             : run(&x);
    wf_args_clear(&args);
    return rc;
}
