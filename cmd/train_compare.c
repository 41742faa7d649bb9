/* SPDX-License-Identifier: Apache-2.0 */
/* The measured timeline beside the predicted one. The prediction simulates the schedule
 * with the op times measured in the first half of the recorded steps; what it is compared
 * with is the second half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/draw.h>
#include <weft/run/measure.h>
#include <weft/sim.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/stdio_writer.h"
#include "cmd/terminal.h"
#include "cmd/trace_file.h"
#include "cmd/train.h"

typedef struct halves {
    weft_pipeline_slice first, second;
    int *ranks;
    double *dur;
    weft_trace predicted, measured;
    double predicted_s, measured_s;
    int drawn; /* step of `measured` */
    weft_eval eval;
} halves;

/* World ranks of the pipeline of tp 0, dp 0. */
static weft_status pipeline_ranks(const weft_engine *e, int **out)
{
    const weft_mesh *mesh = weft_engine_mesh(e);
    int pp = weft_mesh_degree(mesh, WEFT_PP), n;

    WF_TRY(WF_ALLOC(pp, out));
    return weft_mesh_group(mesh, 0, 1u << WEFT_PP, &n, *out);
}

/* The step that stands for all: of the slice, the one whose time is nearest to `time_s`. */
static int step_near(const weft_pipeline_slice *s, double time_s)
{
    int best = s->first_step;
    double off = HUGE_VAL;

    for (int step = s->first_step; step <= s->last_step; step++) {
        double d = fabs(weft_pipeline_time(s, step) - time_s);
        if (d < off) {
            off = d;
            best = step;
        }
    }
    return best;
}

static weft_status predict(const weft_engine *e, halves *h)
{
    const weft_schedule *s = weft_engine_schedule(e);
    weft_costs costs = {0};

    WF_TRY(WF_ALLOC((int64_t)s->p * s->v * WEFT_OP_N_COMPUTE, &h->dur));
    WF_TRY(weft_op_medians(&h->first, h->dur));
    costs.dur = h->dur;
    WF_TRY(weft_simulate(s, &costs, &h->predicted, &h->eval));
    snprintf(h->predicted.unit, sizeof h->predicted.unit, "s");
    h->predicted_s = h->eval.makespan;
    WF_TRY(weft_pipeline_median(&h->second, &h->measured_s));
    h->drawn = step_near(&h->second, h->measured_s);
    return weft_pipeline_step(&h->second, h->drawn, &h->measured);
}

int wf_train_recorded(const weft_trace *all, int *first)
{
    int64_t from = INT64_MAX, end = 0;

    for (int64_t i = 0; i < all->n; i++) {
        int64_t step = all->entry[i].step;
        if (step < from) from = step;
        if (step >= end) end = step + 1;
    }
    *first = all->n ? (int)from : 0;
    return (int)(end - *first);
}

static weft_status fill(const weft_engine *e, const weft_trace *all, halves *h)
{
    int from, n = wf_train_recorded(all, &from);

    WF_TRY(pipeline_ranks(e, &h->ranks));
    h->first = (weft_pipeline_slice){all, weft_engine_schedule(e), h->ranks, from,
                                     from + n / 2 - 1};
    h->second = h->first;
    h->second.first_step = from + n / 2;
    h->second.last_step = from + n - 1;
    return predict(e, h);
}

static void clear(halves *h)
{
    wf_free(h->ranks);
    wf_free(h->dur);
    weft_trace_clear(&h->predicted);
    weft_trace_clear(&h->measured);
    weft_eval_clear(&h->eval);
}

static weft_status show(const halves *h)
{
    weft_writer out = wf_stdout_writer();
    weft_draw_options o = {.width = wf_terminal_width(),
                           .ascii = wf_terminal_ascii(),
                           .color = wf_terminal_color()};

    printf(
        "\npipeline of tp 0, dp 0: measured (step %d, the nearest to the median), and "
        "predicted by\nsimulating the same schedule with the median op times of steps "
        "%d..%d\n",
        h->drawn, h->first.first_step, h->first.last_step);
    WF_TRY(weft_draw_text_pair(&h->measured, &h->predicted, &o, &out));
    printf("pipeline time, median of steps %d..%d: measured %.2f ms, predicted %.2f ms "
           "(%+.1f %%)\n",
           h->second.first_step, h->second.last_step, 1e3 * h->measured_s,
           1e3 * h->predicted_s, 100 * (h->predicted_s / h->measured_s - 1));
    fflush(stdout);
    return weft_writer_status(&out);
}

weft_status wf_train_compare(const weft_engine *e, const weft_trace *all)
{
    halves h = {0};
    weft_status st = fill(e, all, &h);

    if (st == WEFT_OK) st = show(&h);
    clear(&h);
    return st;
}

static weft_status write_trace(const char *dir, const char *name,
                               const weft_trace *trace)
{
    char path[1024];

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return WF_FAIL(WEFT_E_IO, "--trace %s: the path is too long", dir);
    return wf_trace_write(path, trace);
}

/* measured.json (all ranks), and pipeline-measured.json beside pipeline-predicted.json,
 * which weft compare subtracts, unless there is but one step. */
weft_status wf_train_write_traces(const wf_train *t, const weft_engine *e,
                                  const weft_trace *all)
{
    halves h = {0};
    int first;

    WF_TRY(write_trace(t->trace_dir, "measured.json", all));
    if (wf_train_recorded(all, &first) < 2) return WEFT_OK;
    weft_status st = fill(e, all, &h);
    if (st == WEFT_OK)
        st = write_trace(t->trace_dir, "pipeline-measured.json", &h.measured);
    if (st == WEFT_OK)
        st = write_trace(t->trace_dir, "pipeline-predicted.json", &h.predicted);
    clear(&h);
    return st;
}
