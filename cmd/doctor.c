/* SPDX-License-Identifier: Apache-2.0 */
/* weft doctor: what would break a run on this machine, and how to mend it. */
#include "cmd/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#ifdef WEFT_HAVE_RUN
#include <weft/run/comm.h>
#endif

#include "base/json.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/stdio_writer.h"

void wf_found(wf_doctor *d, const char *name, wf_level level, const char *fmt, ...)
{
    va_list ap;
    if (d->n == WF_MOST_FINDINGS) return;
    wf_finding *f = &d->finding[d->n++];
    *f = (wf_finding){.name = name, .level = level};
    va_start(ap, fmt);
    vsnprintf(f->found, sizeof f->found, fmt, ap);
    va_end(ap);
}

void wf_fix(wf_doctor *d, const char *fmt, ...)
{
    va_list ap;
    wf_finding *f = &d->finding[d->n - 1];
    va_start(ap, fmt);
    vsnprintf(f->fix, sizeof f->fix, fmt, ap);
    va_end(ap);
}

int wf_first_line(const char *path, char *buf, int size)
{
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    int ok = fgets(buf, size, f) != NULL;
    fclose(f);
    if (ok) buf[strcspn(buf, "\n")] = 0;
    return ok;
}

static const char *level_name(wf_level level)
{
    static const char *const names[] = {"ok", "note", "slow", "BREAKS"};
    return names[level];
}

static int count(const wf_doctor *d, wf_level level)
{
    int n = 0;
    for (int i = 0; i < d->n; i++)
        n += d->finding[i].level == level;
    return n;
}

static void put_text(const wf_doctor *d, weft_writer *out)
{
    for (int i = 0; i < d->n; i++) {
        const wf_finding *f = &d->finding[i];
        weft_print(out, "%-7s %-14s %s\n", level_name(f->level), f->name, f->found);
        if (*f->fix) weft_print(out, "%22s > %s\n", "", f->fix);
    }
    weft_print(
        out, "\n%d rank%s of %d thread%s here: %d would break, %d would be slow\n",
        d->ranks, d->ranks == 1 ? "" : "s", d->threads, d->threads == 1 ? "" : "s",
        count(d, WF_LEVEL_BREAKS), count(d, WF_LEVEL_SLOW));
}

static void put_json(const wf_doctor *d, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_json_put_i64(&j, "ranks", d->ranks);
    wf_json_put_i64(&j, "threads", d->threads);
    wf_json_put_i64(&j, "breaks", count(d, WF_LEVEL_BREAKS));
    wf_json_put_i64(&j, "slow", count(d, WF_LEVEL_SLOW));
    wf_json_key(&j, "findings");
    wf_json_array(&j);
    for (int i = 0; i < d->n; i++) {
        const wf_finding *f = &d->finding[i];
        wf_json_object(&j);
        wf_json_put_string(&j, "name", f->name);
        wf_json_put_string(
            &j, "level", f->level == WF_LEVEL_BREAKS ? "breaks" : level_name(f->level));
        wf_json_put_string(&j, "found", f->found);
        wf_json_put_string(&j, "fix", *f->fix ? f->fix : NULL);
        wf_json_end_object(&j);
    }
    wf_json_end_array(&j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

static void examine(wf_doctor *d)
{
    wf_doctor_cpus(d);
    wf_doctor_kernels(d);
    wf_doctor_memory(d);
    wf_doctor_shm(d);
    wf_doctor_mpi(d);
    wf_doctor_copy(d);
    wf_doctor_namespace(d);
}

/* What the ranks of a job that was cut short did last. */
static int put_status(const char *dir)
{
#ifdef WEFT_HAVE_RUN
    char text[400];
    int n = 0;
    for (; weft_board_read(dir, n, text, sizeof text) == WEFT_OK; n++)
        puts(text);
    return n ? WF_EXIT_OK : wf_cmd_fail("doctor", WEFT_E_IO);
#else
    return wf_cmd_usage("doctor",
                        "--status %s: this weft was built without "
                        "libweft-run",
                        dir);
#endif
}

int wf_cmd_doctor(int argc, char **argv)
{
    wf_doctor d = {.ranks = 8, .threads = 1};
    const char *status = NULL;
    int json = 0;
    const wf_option rows[] = {
        {"ranks", .letter = 'n', .type = WF_OPT_INT, .out = &d.ranks, .arg = "N",
         .min = 1, .max = 65536, .help = "ranks that are to run on this machine"},
        {"threads", .type = WF_OPT_INT, .out = &d.threads, .arg = "T", .min = 1,
         .max = 4096, .help = "threads of each rank"},
        {"status", .type = WF_OPT_TEXT, .out = &status, .arg = "DIR",
         .help = "only print what the status files of a job say: where each rank was"},
        {"json", .type = WF_OPT_FLAG, .out = &json, .help = "findings as JSON"},
        {0}};
    const wf_command_line line = {
        .command = "doctor",
        .usage = "[--ranks N] [--threads T]",
        .about = "Looks for what would break or slow a run here, and says how to mend "
                 "it. Exit 1\n"
                 "when something would break. Start it under the launcher to examine "
                 "what a rank\n"
                 "gets there.",
        .examples = "  weft doctor --ranks 4 --threads 2\n"
                    "  mpirun -n 1 weft doctor --ranks 2 --threads 2\n",
        .group = {{"Flags", .row = rows}}};
    weft_writer out = wf_stdout_writer();
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    if (args.n) {
        rc = wf_cmd_usage("doctor", "unexpected word '%s'", args.word[0]);
    } else if (status) {
        rc = put_status(status);
    } else {
        examine(&d);
        (json ? put_json : put_text)(&d, &out);
        rc = count(&d, WF_LEVEL_BREAKS) ? WF_EXIT_NO : WF_EXIT_OK;
    }
    wf_args_clear(&args);
    return rc;
}
