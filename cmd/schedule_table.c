/* SPDX-License-Identifier: Apache-2.0 */
/* weft schedule compare KIND KIND KIND ...: a row each, in the same costs. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
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

/* Change is against the first row that has times. */
static void put_row(const wf_schedule_side *x, const wf_schedule_side *first, int width,
                    weft_writer *out)
{
    const weft_schedule_report *held = &x->r.report;
    double all = x->r.sim.eval.makespan, before = first->r.sim.eval.makespan;

    if (*x->why) {
        weft_print(out, "%-*s %s\n", width, x->word, x->why);
        return;
    }
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

static void json_refused(const wf_schedule_side *x, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_json_put_string(&j, "kind", x->kind);
    wf_json_put_string(&j, "error", x->why);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

static weft_status put_json(const wf_schedule_args *a, int n, const wf_schedule_side *x,
                            weft_writer *out)
{
    for (int i = 0; i < n; i++) {
        weft_print(out, i ? "," : "[");
        if (*x[i].why)
            json_refused(&x[i], out);
        else
            WF_TRY(wf_schedule_report_json(a, &x[i].r, out));
    }
    weft_print(out, "]\n");
    return weft_writer_status(out);
}

static weft_status put_text(int n, const wf_schedule_side *x, weft_writer *out)
{
    int width = longest_word(n, x);
    const wf_schedule_side *first = x;
    while (*first->why)
        first++;
    put_head(first, width, out);
    for (int i = 0; i < n; i++)
        put_row(&x[i], first, width, out);
    return weft_writer_status(out);
}

/* A kind that cannot be made in these flags has its reason for a row. A word that is no kind,
 * or memory of this machine that ends, ends all. */
static weft_status open_all(const wf_schedule_args *a, const wf_args *args, int n,
                            wf_schedule_side *x)
{
    weft_status first = WEFT_OK, st;
    int made = 0, told = -1;
    for (int i = 0; i < n; i++) {
        st = wf_schedule_side_open(a, args, args->word[1 + i], 0, &x[i]);
        made += st == WEFT_OK;
        if (st == WEFT_OK) continue;
        if (!x[i].read ||
            (st != WEFT_E_INVALID && st != WEFT_E_MISMATCH && st != WEFT_E_INFEASIBLE))
            return st;
        snprintf(x[i].why, sizeof x[i].why, "%s", weft_status_message());
        if (told >= 0) continue;
        told = i;
        first = st;
    }
    return made ? WEFT_OK : WF_FAIL(first, "%s", x[told].why);
}

weft_status wf_schedule_table(const wf_schedule_args *a, const wf_args *args)
{
    weft_writer out = wf_stdout_writer();
    wf_schedule_side *x = NULL;
    int n = args->n - 1;

    WF_TRY(WF_ALLOC(n, &x));
    weft_status st = open_all(a, args, n, x);
    if (st == WEFT_OK) wf_schedule_note_placements(n, x);
    if (st == WEFT_OK) st = a->json ? put_json(a, n, x, &out) : put_text(n, x, &out);
    for (int i = 0; i < n; i++)
        wf_schedule_side_close(&x[i]);
    wf_free(x);
    return st;
}
