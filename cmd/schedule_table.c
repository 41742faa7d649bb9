/* SPDX-License-Identifier: Apache-2.0 */
/* weft schedule compare KIND KIND KIND ...: a row each, in the same costs. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/schedule_side.h"
#include "cmd/stdio_writer.h"

static void put_head(const wf_schedule_side *x, int width, weft_writer *out)
{
    weft_print(out, "%-*s %11s %9s %9s", width, "",
               x->r.trace.unit[0] ? "makespan, s" : "makespan", "change", "bubble");
    if (x->r.sim.steps > 1) weft_print(out, " %11s", "a step");
    weft_print(out, " %9s %9s", "in flight", "until W");
    if (x->r.sim.peak) weft_print(out, " %12s", "peak bytes");
    weft_print(out, " %9s\n", "messages");
}

/* Change is against the first row. */
static void put_row(const wf_schedule_side *x, const wf_schedule_side *first, int width,
                    weft_writer *out)
{
    const weft_schedule_report *held = &x->r.report;
    double all = x->r.sim.eval.makespan, before = first->r.sim.eval.makespan;

    weft_print(out, "%-*s %11.6g", width, x->word, all);
    if (before > 0)
        weft_print(out, " %+7.1f %%", 100 * (all / before - 1));
    else
        weft_print(out, " %9s", "");
    weft_print(out, " %7.2f %%", 100 * x->r.sim.eval.bubble_of_total);
    if (x->r.sim.steps > 1) weft_print(out, " %11.6g", x->r.sim.step_time);
    weft_print(out, " %9.4g %9.4g", wf_schedule_side_held(x, held->peak_in_flight),
               wf_schedule_side_held(x, held->peak_in_flight_w));
    if (x->r.sim.peak) weft_print(out, " %12.6g", wf_schedule_side_bytes(x));
    weft_print(out, " %9lld\n", (long long)held->p2p_messages);
}

static int longest_word(int n, const wf_schedule_side *x)
{
    int most = 12;
    for (int i = 0; i < n; i++) {
        int len = snprintf(NULL, 0, "%s", x[i].word);
        most = len > most ? len : most;
    }
    return most;
}

static weft_status put_json(const wf_schedule_args *a, int n, const wf_schedule_side *x,
                            weft_writer *out)
{
    for (int i = 0; i < n; i++) {
        weft_print(out, i ? "," : "[");
        WF_TRY(wf_schedule_report_json(a, &x[i].r, out));
    }
    weft_print(out, "]\n");
    return weft_writer_status(out);
}

static weft_status put_text(int n, const wf_schedule_side *x, weft_writer *out)
{
    int width = longest_word(n, x);
    put_head(x, width, out);
    for (int i = 0; i < n; i++)
        put_row(&x[i], x, width, out);
    return weft_writer_status(out);
}

weft_status wf_schedule_table(const wf_schedule_args *a, const wf_args *args)
{
    weft_writer out = wf_stdout_writer();
    wf_schedule_side *x = NULL;
    int n = args->n - 1;

    WF_TRY(WF_ALLOC(n, &x));
    weft_status st = WEFT_OK;
    for (int i = 0; i < n && st == WEFT_OK; i++)
        st = wf_schedule_side_open(a, args, args->word[1 + i], 0, &x[i]);
    if (st == WEFT_OK) st = a->json ? put_json(a, n, x, &out) : put_text(n, x, &out);
    for (int i = 0; i < n; i++)
        wf_schedule_side_close(&x[i]);
    wf_free(x);
    return st;
}
