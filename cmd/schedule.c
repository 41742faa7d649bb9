/* SPDX-License-Identifier: Apache-2.0 */
/* weft schedule KIND | compare KIND KIND | list | check FILE | sim FILE */
#include "cmd/schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/commands.h"
#include "cmd/option_rows.h"
#include "cmd/stdio_writer.h"

/* ---- list ----------------------------------------------------------------------- */

static int run_list(const wf_schedule_args *a)
{
    weft_writer out = wf_stdout_writer();
    wf_json j = wf_json_begin(&out);

    if (a->json) wf_json_array(&j);
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        if (!a->json) {
            weft_print(&out, "%-14s %s\n%14s %s\n", weft_schedule_kind_name(k),
                       weft_schedule_kind_summary(k), "", weft_schedule_kind_source(k));
            continue;
        }
        wf_json_object(&j);
        wf_json_put_string(&j, "name", weft_schedule_kind_name(k));
        wf_json_put_string(&j, "summary", weft_schedule_kind_summary(k));
        wf_json_put_string(&j, "source", weft_schedule_kind_source(k));
        wf_json_end_object(&j);
    }
    if (a->json) wf_json_end_array(&j);
    if (a->json) weft_print(&out, "\n");
    return WF_EXIT_OK;
}

/* ---- one schedule --------------------------------------------------------------- */

static int is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static weft_status report(const wf_schedule_args *a, wf_schedule_result *r)
{
    weft_writer out = wf_stdout_writer();
    WF_TRY(weft_schedule_check(r->s, a->outstanding, &r->report));
    WF_TRY(wf_schedule_simulate(a, wf_schedule_wants_picture(a, r->s), r));
    WF_TRY(wf_schedule_report_files(a, r));
    if (!is_stdout(a->svg) && !is_stdout(a->trace) && !is_stdout(a->csv))
        WF_TRY(a->json ? wf_schedule_report_json(a, r, &out)
                       : wf_schedule_report_text(a, r, &out));
    return wf_schedule_memory_fits(a, r);
}

static int run_made(const wf_schedule_args *a, weft_schedule *s, double bound,
                    weft_status st)
{
    /* The bound is that of one step, which ends with its last op. */
    wf_schedule_result r = {.s = s,
                            .lower_bound = a->steps > 1 || a->optimizer ? NAN : bound};
    if (st == WEFT_OK) {
        st = report(a, &r);
        wf_schedule_result_clear(&r);
        weft_schedule_clear(s);
    }
    return st == WEFT_OK ? WF_EXIT_OK : wf_cmd_fail("schedule", st);
}

/* ---- check FILE ----------------------------------------------------------------- */

static void put_checked(const wf_schedule_args *a, const weft_schedule *s,
                        weft_status st, const weft_schedule_report *r)
{
    weft_writer out = wf_stdout_writer();
    wf_json j = wf_json_begin(&out);

    if (!a->json) {
        if (st == WEFT_OK)
            weft_print(&out,
                       "ok: p=%d m=%d v=%d placement %s, %lld ops, %lld messages\n",
                       s->p, s->m, s->v, wf_placement_name(s->placement),
                       (long long)r->n_compute, (long long)r->p2p_messages);
        return;
    }
    wf_json_object(&j);
    wf_json_put_bool(&j, "ok", st == WEFT_OK);
    if (st != WEFT_OK) wf_json_put_string(&j, "error", weft_status_message());
    wf_json_put_i64(&j, "p", s->p);
    wf_json_put_i64(&j, "m", s->m);
    wf_json_put_i64(&j, "v", s->v);
    wf_json_put_string(&j, "placement", wf_placement_name(s->placement));
    if (st == WEFT_OK) {
        wf_json_put_i64(&j, "ops", r->n_compute);
        wf_json_put_i64(&j, "p2p_messages", r->p2p_messages);
    }
    wf_json_end_object(&j);
    weft_print(&out, "\n");
}

/* With bytes the order is simulated as well: memory may end on the way. */
static weft_status check(const wf_schedule_args *a, wf_schedule_result *r)
{
    WF_TRY(weft_schedule_check(r->s, a->outstanding, &r->report));
    if (!wf_schedule_has_bytes(a)) return WEFT_OK;
    WF_TRY(wf_schedule_simulate(a, 0, r));
    return wf_schedule_memory_fits(a, r);
}

static int run_check(const wf_schedule_args *a, const wf_args *args)
{
    weft_schedule s;
    wf_schedule_result r = {.s = &s};
    weft_status st = wf_schedule_read(a, args->word[1], &s);

    if (st != WEFT_OK) return wf_cmd_fail("schedule", st);
    st = check(a, &r);
    put_checked(a, &s, st, &r.report);
    int rc = st == WEFT_OK ? WF_EXIT_OK : wf_cmd_fail("schedule", st);
    wf_schedule_result_clear(&r);
    weft_schedule_clear(&s);
    return rc;
}

/* ---- dispatch ------------------------------------------------------------------- */

static int run_file(wf_schedule_args *a, const wf_args *args)
{
    weft_schedule s;
    int is_sim = !strcmp(args->word[0], "sim");

    if (args->n < 2)
        return wf_cmd_usage("schedule", "%s needs a FILE (- reads the standard input)",
                            args->word[0]);
    if (args->n > 2)
        return wf_cmd_usage("schedule", "unexpected word '%s'", args->word[2]);
    int rc = wf_schedule_file_flags(a, args);
    if (rc) return rc;
    if (!is_sim) return run_check(a, args);
    weft_status st = wf_schedule_read(a, args->word[1], &s);
    return run_made(a, &s, NAN, st);
}

/* What is written last would replace the rest, or stand in its middle. */
static int outputs_clash(const wf_schedule_args *a)
{
    static const char *const flag[] = {"--svg", "--trace", "--csv"};
    const char *path[] = {a->svg, a->trace, a->csv};

    for (int i = 0; i < 3; i++) {
        if (a->json && is_stdout(path[i]))
            return wf_cmd_usage("schedule",
                                "%s -: the standard output has the JSON of --json",
                                flag[i]);
        for (int k = 0; k < i; k++)
            if (path[i] && path[k] && !strcmp(path[i], path[k]))
                return wf_cmd_usage("schedule", "%s and %s are both written to %.200s",
                                    flag[k], flag[i], path[i]);
    }
    return 0;
}

/* Before a search of seconds, not after it. */
static int check_outputs(const wf_schedule_args *a)
{
    const char *path[] = {a->svg, a->trace, a->csv};
    for (int i = 0; i < 3; i++) {
        int why = path[i] ? wf_out_refused(path[i]) : 0;
        if (why)
            return wf_cmd_usage("schedule", "%.200s cannot be written: %s", path[i],
                                strerror(why));
    }
    return 0;
}

static int dispatch(wf_schedule_args *a, const wf_args *args)
{
    weft_schedule s;
    const char *word = args->n ? args->word[0] : a->kind;
    int clash = outputs_clash(a);

    if (!clash) clash = check_outputs(a);
    if (clash) return clash;
    if (!word)
        return wf_cmd_usage("schedule",
                            "a kind is missing; weft schedule list shows all, such as "
                            "weft schedule 1f1b -p 4 -m 12");
    if (args->n > 1 && !strcmp(word, "list"))
        return wf_cmd_usage("schedule", "list takes no word, found '%s'",
                            args->word[1]);
    if (!strcmp(word, "list")) return run_list(a);
    if (args->n && (!strcmp(word, "check") || !strcmp(word, "sim")))
        return run_file(a, args);
    if (args->n && !strcmp(word, "compare")) return wf_schedule_compare(a, args);
    if (args->n > 1)
        return wf_cmd_usage("schedule", "unexpected word '%s'", args->word[1]);
    if (args->n && a->kind && strcmp(word, a->kind))
        return wf_cmd_usage("schedule", "two kinds: %s and --kind %s", word, a->kind);
    a->kind = word;
    double bound = NAN;
    weft_status st = wf_schedule_make(a, args, &s, &bound);
    return run_made(a, &s, bound, st);
}

#define TEXT(name, member, value, words)                                               \
    {                                                                                  \
        name, .type = WF_OPT_TEXT, .out = &a.member, .arg = value, .help = words       \
    }
#define FLAG(name, member, words)                                                      \
    {                                                                                  \
        name, .type = WF_OPT_FLAG, .out = &a.member, .help = words                     \
    }

int wf_cmd_schedule(int argc, char **argv)
{
    wf_schedule_args a = {.placement = "auto"};
    const wf_option shape[] = {
        {"p", .type = WF_OPT_INT, .out = &a.p, .arg = "P", .help = "pipeline ranks",
         .alias = "pp pipeline-model-parallel-size"},
        {"m", .type = WF_OPT_INT, .out = &a.m, .arg = "M",
         .help = "micro-batches in a step", .alias = "n-micro num-microbatches"},
        {"v", .type = WF_OPT_INT, .out = &a.v, .arg = "V",
         .help = "chunks held by a rank; 0 is the kind's own", .alias = "vpp"},
        {"group", .type = WF_OPT_INT, .out = &a.group, .arg = "N",
         .help = "micro-batches in a group (interleaved kinds); 0 is the kind's own",
         .alias = "microbatch-group-size-per-virtual-pipeline-stage"},
        {"kind", .type = WF_OPT_TEXT, .out = &a.kind, .arg = "KIND",
         .help = "the schedule, where it is no word of its own",
         .alias = "schedule pipeline-schedule"},
        {"placement", .type = WF_OPT_CHOICE, .out = &a.placement,
         .choices = "auto single loop v bidir bidirv",
         .help = "which rank and chunk holds which stage (check, sim, zb-auto, "
                 "optimal); auto "
                 "is the kind's own, and single for a file"},
        {"outstanding", .type = WF_OPT_INT, .out = &a.outstanding, .arg = "K", .min = 0,
         .max = 1e6, .help = "sends in flight to a peer in the check; 0 is 2"},
        {0}};
    const wf_option costs[] = {
        TEXT("tf", tf, "T", "forward of a full stage, 1/p of the model (default 1)"),
        TEXT("tb", tb, "T", "unsplit backward of a full stage (default 2)"),
        TEXT("ti", ti, "T", "its input-gradient half (default tb/2)"),
        TEXT("tw", tw, "T", "its weight-gradient half (default tb/2)"),
        TEXT("stage-tf", stage_tf, "A,B,...",
             "forwards stage by stage, or rank by rank; lists not given keep the "
             "proportion"),
        TEXT("stage-tb", stage_tb, "A,B,...", "backwards"),
        TEXT("stage-ti", stage_ti, "A,B,...", "input gradients"),
        TEXT("stage-tw", stage_tw, "A,B,...", "weight gradients"),
        FLAG("per-op", per_op,
             "times are those of one listed op, whatever part of a stage"),
        TEXT("latency", latency, "C,...",
             "of a message; with --ranks-per-node one for each kind of link"),
        TEXT("bandwidth", bandwidth, "R,...",
             "bytes per unit of time, as 50GB/s; a message takes latency + "
             "bytes/bandwidth, one after the other from rank to rank"),
        TEXT("message-bytes", message_bytes, "N", "of an activation or gradient"),
        TEXT("ranks-per-node", ranks_per_node, "N,...",
             "links within N consecutive ranks are the first kind; further numbers: "
             "larger domains; the last kind is the rest"),
        {"messages", .type = WF_OPT_CHOICE, .out = &a.messages,
         .choices = "overlap blocking",
         .help = "run beside the ops (default), or sender and receiver stand still"},
        {"overlap", .type = WF_OPT_CHOICE, .out = &a.overlap,
         .choices = "serial atomic",
         .help = "how a pair marked & runs: one op after the other (default), or as "
                 "one block with both results at its end"},
        TEXT(
            "overlap-cost", overlap_cost, "X,...",
            "length of a pair in place of the sum of its two ops, one or rank by rank; "
            "atomic where --overlap does not say"),
        {0}};
    const wf_option steps[] = {
        {"steps", .type = WF_OPT_INT, .out = &a.steps, .arg = "N", .min = 0,
         .max = 100000, .help = "steps back to back; 0 is 1"},
        TEXT("optimizer", optimizer, "T,...",
             "change of the weights after a step (pipedream: after each backward), one "
             "or rank by rank"),
        {"optimizer-sync", .type = WF_OPT_CHOICE, .out = &a.optimizer_sync,
         .choices = "global chain none",
         .help = "it waits for the gradients of all ranks (default), for those of the "
                 "ranks before (validated afterwards, as zero-bubble schedules do), or "
                 "for its own"},
        {0}};
    const wf_option memory[] = {
        TEXT("mem-limit", mem_limit, "N,...",
             "forwards of a full stage that a rank may hold; 0 is 2p, or p on a V "
             "(zb-auto), or no limit (optimal, which takes one for each rank too). "
             "Beside "
             "bytes: bytes, for every kind, one or rank by rank"),
        TEXT("stage-free-i", stage_free_i, "A,B,...",
             "bytes of a forward that its I or B frees, one for all or stage by stage"),
        TEXT("stage-free-w", stage_free_w, "A,B,...",
             "bytes of a forward that its W or B frees"),
        TEXT("stage-temp-f", stage_temp[WEFT_OP_F], "A,B,...",
             "bytes that only live while an F runs"),
        TEXT("stage-temp-b", stage_temp[WEFT_OP_B], "A,B,...", "while a B runs"),
        TEXT("stage-temp-i", stage_temp[WEFT_OP_I], "A,B,...", "while an I runs"),
        TEXT("stage-temp-w", stage_temp[WEFT_OP_W], "A,B,...", "while a W runs"),
        {0}};
    const wf_option output[] = {
        FLAG("ascii", ascii, "timeline in ASCII, however large"),
        FLAG("summary", summary, "no timeline"),
        {"width", .type = WF_OPT_INT, .out = &a.width, .arg = "N", .max = 100000,
         .help = "columns of the timeline; 0 is the terminal's"},
        FLAG("ops", ops, "one line a rank: kind, micro-batch, chunk"),
        FLAG("json", json, "results as JSON; with --ops the ops too"),
        TEXT("svg", svg, "FILE", "picture"),
        TEXT("trace", trace, "FILE", "trace-event JSON for Perfetto or Chrome"),
        TEXT("csv", csv, "FILE", "PyTorch pipelining's order form"),
        {0}};
    const wf_command_line line = {
        .command = "schedule",
        .usage = "KIND -p P -m M [-v V] | compare KIND KIND ... | list | check FILE | "
                 "sim FILE",
        .about = "Makes a pipeline schedule, checks it (order, deadlock, memory), "
                 "simulates and draws "
                 "it.\nIn compare a kind may have values of its own: "
                 "interleaved,v=2,group=8 optimal,placement=v.\ncheck and sim take a "
                 "schedule of your own in the --ops or --csv "
                 "form. Times "
                 "may carry\na unit (12ms); they are costs without one otherwise.",
        .examples =
            "  weft schedule list\n"
            "  weft schedule 1f1b -p 4 -m 12\n"
            "  weft schedule interleaved -p 4 -m 12 -v 3 --svg timeline.svg\n"
            "  weft schedule compare 1f1b zb-h1 -p 4 -m 8 --svg both.svg\n"
            "  weft schedule compare 1f1b interleaved,v=2 zb-h1 zb-v "
            "optimal,placement=v -p 4 -m 8\n"
            "  weft schedule 1f1b -p 4 -m 8 --stage-tf 1,1,1,1.5 --latency 0.1\n"
            "  weft schedule zb-auto -p 4 -m 8 --tf 5 --ti 6 --tw 4 --mem-limit 6\n"
            "  weft schedule optimal -p 4 -m 8 --stage-tf 1.2,1,1,1.4 --latency 0.1 "
            "--mem-limit 5\n"
            "  weft schedule dualpipe -p 8 -m 20 --overlap-cost 2.5\n"
            "  weft schedule 1f1b -p 8 -m 16 --tf 5ms --tb 10ms --ranks-per-node 4 "
            "--latency 5us,20us\n"
            "      --bandwidth 200GB/s,25GB/s --message-bytes 64MiB\n"
            "  weft schedule zb-h2 -p 4 -m 8 --steps 3 --optimizer 1 --optimizer-sync "
            "chain\n"
            "  weft schedule 1f1b -p 4 -m 8 --stage-free-i 2GiB --stage-temp-b 500MiB "
            "--mem-limit 8GiB\n"
            "  weft schedule gpipe -p 4 -m 4 --ops > mine.txt\n"
            "  weft schedule check mine.txt && weft schedule sim mine.txt\n",
        .layout = 1,
        .group = {{"Shape", .row = shape},
                  {"Costs", .row = costs},
                  {"Steps", .row = steps},
                  {"Memory", .row = memory},
                  {"Output", .row = output}}};
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    rc = dispatch(&a, &args);
    wf_args_clear(&args);
    return rc;
}
