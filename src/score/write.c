/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>

#include "base/json.h"
#include "score/stats.h"

/* ---- JSON ------------------------------------------------------------------------ */

static void put_line(const weft_score_line *x, const char *source, wf_json *j)
{
    wf_json_object(j);
    if (source) wf_json_put_string(j, "source", source);
    wf_json_put_i64(j, "rows", x->rows);
    wf_json_put_f64(j, "step_time_mape", x->step_time_mape);
    wf_json_put_f64(j, "step_time_bias", x->step_time_bias);
    wf_json_put_i64(j, "memory_rows", x->memory_rows);
    wf_json_put_f64(j, "memory_mape", x->memory_mape);
    wf_json_put_f64(j, "within_10", x->within_10);
    wf_json_end_object(j);
}

static void put_sources(const weft_runs *r, weft_half half, wf_json *j)
{
    weft_score_line x;
    wf_json_key(j, "sources");
    wf_json_array(j);
    for (int64_t i = 0; i < r->n; i++) {
        if (wf_run_seen_source(r, i)) continue;
        weft_score_source(r, r->run[i].source, half, &x);
        put_line(&x, r->run[i].source, j);
    }
    wf_json_end_array(j);
    wf_json_key(j, "all");
    weft_score_source(r, NULL, half, &x);
    put_line(&x, NULL, j);
}

static void put_groups(const weft_runs *r, wf_json *j)
{
    weft_score_group g;
    wf_json_key(j, "groups");
    wf_json_array(j);
    for (int64_t i = 0; i < r->n; i++) {
        if (*r->run[i].skip || wf_run_seen_group(r, i)) continue;
        weft_score_group_of(r, r->run[i].group, &g);
        if (g.layouts < WF_GROUP_LEAST) continue;
        wf_json_object(j);
        wf_json_put_string(j, "group", r->run[i].group);
        wf_json_put_i64(j, "layouts", g.layouts);
        wf_json_put_f64(j, "pair_agreement", g.pair_agreement);
        wf_json_put_f64(j, "regret", g.regret);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void put_skipped(const weft_runs *r, wf_json *j)
{
    wf_json_key(j, "skipped");
    wf_json_array(j);
    for (int64_t i = 0; i < r->n; i++) {
        if (!*r->run[i].skip) continue;
        wf_json_object(j);
        wf_json_put_string(j, "id", r->run[i].id);
        wf_json_put_string(j, "reason", r->run[i].skip);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void put_rows(const weft_runs *r, weft_half half, wf_json *j)
{
    wf_json_key(j, "rows");
    wf_json_array(j);
    for (int64_t i = 0; i < r->n; i++) {
        const weft_run *run = &r->run[i];
        if (!wf_run_counts(run, half)) continue;
        wf_json_object(j);
        wf_json_put_string(j, "id", run->id);
        wf_json_put_bool(j, "fit_half", weft_run_in_fit_half(run->id));
        wf_json_put_f64(j, "measured_s", run->measured_s);
        wf_json_put_f64(j, "predicted_s", run->predicted_s);
        wf_json_put_f64(j, "measured_bytes",
                        run->measured_bytes > 0 ? run->measured_bytes : NAN);
        wf_json_put_f64(j, "predicted_bytes", run->predicted_bytes);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

void weft_score_write_json(const weft_runs *r, weft_half half, int by_row,
                           weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    put_sources(r, half, &j);
    put_groups(r, &j);
    if (by_row) put_rows(r, half, &j);
    put_skipped(r, &j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

/* ---- text ------------------------------------------------------------------------ */

static void put_percent(double x, weft_writer *out)
{
    if (isnan(x))
        weft_print(out, "%8s", "-");
    else
        weft_print(out, "%7.1f%%", 100 * x);
}

static void write_line(const weft_score_line *x, const char *source, weft_writer *out)
{
    weft_print(out, "%4d ", x->rows);
    put_percent(x->step_time_mape, out);
    put_percent(x->step_time_bias, out);
    put_percent(x->within_10, out);
    weft_print(out, " %4d ", x->memory_rows);
    put_percent(x->memory_mape, out);
    weft_print(out, "  %.70s\n", source);
}

static void write_sources(const weft_runs *r, weft_half half, weft_writer *out)
{
    weft_score_line x;
    weft_print(out, "rows    step    bias  in 10%%  mem  memory  source\n");
    for (int64_t i = 0; i < r->n; i++) {
        if (wf_run_seen_source(r, i)) continue;
        weft_score_source(r, r->run[i].source, half, &x);
        if (x.rows) write_line(&x, r->run[i].source, out);
    }
    weft_score_source(r, NULL, half, &x);
    write_line(&x, "all", out);
}

static void write_groups(const weft_runs *r, weft_writer *out)
{
    weft_score_group g;
    weft_print(out, "\nlayouts  pairs  regret  group\n");
    for (int64_t i = 0; i < r->n; i++) {
        if (*r->run[i].skip || wf_run_seen_group(r, i)) continue;
        weft_score_group_of(r, r->run[i].group, &g);
        if (g.layouts < WF_GROUP_LEAST) continue;
        weft_print(out, "%7d %6.2f", g.layouts, g.pair_agreement);
        put_percent(g.regret, out);
        weft_print(out, "  %s\n", r->run[i].group);
    }
}

static void write_rows(const weft_runs *r, weft_half half, weft_writer *out)
{
    weft_print(out,
               "\nhalf   measured  predicted   error      GB      GB   error  id\n");
    for (int64_t i = 0; i < r->n; i++) {
        const weft_run *run = &r->run[i];
        if (!wf_run_counts(run, half)) continue;
        weft_print(out, "%-5s %8.4g s %8.4g s ",
                   weft_run_in_fit_half(run->id) ? "fit" : "other", run->measured_s,
                   run->predicted_s);
        put_percent(run->predicted_s / run->measured_s - 1, out);
        weft_print(out, " %7.2f %7.2f ", run->measured_bytes / 1e9,
                   run->predicted_bytes / 1e9);
        put_percent(run->measured_bytes > 0
                        ? run->predicted_bytes / run->measured_bytes - 1
                        : NAN,
                    out);
        weft_print(out, "  %s\n", run->id);
    }
}

void weft_score_write_text(const weft_runs *r, weft_half half, int by_row,
                           weft_writer *out)
{
    write_sources(r, half, out);
    write_groups(r, out);
    if (by_row) write_rows(r, half, out);
    weft_print(out, "\nskipped\n");
    for (int64_t i = 0; i < r->n; i++)
        if (*r->run[i].skip)
            weft_print(out, "  %s: %s\n", r->run[i].id, r->run[i].skip);
}
