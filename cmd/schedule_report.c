/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft schedule` prints and writes. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/draw.h>

#include "base/error.h"
#include "base/json.h"
#include "cmd/schedule.h"
#include "cmd/stdio_writer.h"
#include "cmd/terminal.h"

const char *wf_placement_name(weft_placement_kind placement)
{
    static const char *const names[] = {"single", "loop", "v", "bidir", "bidirv"};
    return (int)placement >= 0 && placement <= WEFT_PLACE_BIDIRV ? names[placement]
                                                                 : "?";
}

/* On the rank that keeps the most. */
static int weight_copies(const weft_schedule *s)
{
    int most = 0;
    for (int r = 0; r < s->p; r++) {
        int copies = weft_schedule_weight_copies(s, r);
        if (copies > most) most = copies;
    }
    return most;
}

/* ---- text ----------------------------------------------------------------------- */

/* "4 3 2 1"; equal values and long lists are shortened. */
static void put_ranks(weft_writer *out, int n, const int64_t *x)
{
    int equal = 1;
    for (int r = 1; r < n; r++)
        equal = equal && x[r] == x[0];
    if (equal && n > 1) {
        weft_print(out, " %lld on each rank", (long long)x[0]);
        return;
    }
    for (int r = 0; r < n && r < 16; r++)
        weft_print(out, " %lld", (long long)x[r]);
    if (n > 16) weft_print(out, " ... %lld", (long long)x[n - 1]);
}

static int same(int n, const int64_t *a, const int64_t *b)
{
    return !memcmp(a, b, (size_t)n * sizeof *a);
}

static int has_pairs(const weft_schedule *s)
{
    for (int64_t i = 0; i < s->first[s->p]; i++)
        if (s->op[i].flags & WEFT_OPF_PAIR) return 1;
    return 0;
}

static void put_bound(const wf_schedule_result *r, weft_writer *out)
{
    double over = r->lower_bound > 0 ? r->sim.eval.makespan / r->lower_bound - 1 : 0;
    weft_print(out, "\nno schedule takes less than %.10g%s: ", r->lower_bound,
               r->trace.unit[0] ? " s" : "");
    if (over > 1e-9)
        weft_print(out, "this one is at most %.3g %% above the best", 100 * over);
    else
        weft_print(out, "this one is optimal");
}

static void put_summary(const wf_schedule_result *r, weft_writer *out)
{
    const weft_schedule *s = r->s;
    const weft_eval *e = &r->sim.eval;
    const char *unit = r->trace.unit[0] ? " s" : "";

    weft_print(out, "%s p=%d m=%d v=%d, placement %s", s->kind, s->p, s->m, s->v,
               wf_placement_name(s->placement));
    if (s->group) weft_print(out, ", groups of %d", s->group);
    weft_print(out, "\nmakespan %.10g%s, ideal %.10g%s", e->makespan, unit, e->ideal,
               unit);
    if (e->span != e->makespan)
        weft_print(out, ", longest span of a rank %.10g%s", e->span, unit);
    if (!isnan(r->lower_bound)) put_bound(r, out);
    weft_print(out, "\nbubble %.4g %% of the total, %.4g %% of the ideal\n",
               100 * e->bubble_of_total, 100 * e->bubble_of_ideal);
    weft_print(out, "peak in flight (micro-batch x chunk):");
    put_ranks(out, s->p, r->report.peak_in_flight);
    if (!same(s->p, r->report.peak_in_flight, r->report.peak_in_flight_w)) {
        weft_print(out, "; held until W:");
        put_ranks(out, s->p, r->report.peak_in_flight_w);
    }
    weft_print(out, "\n%lld messages between ranks, %d cop%s of the weights\n",
               (long long)r->report.p2p_messages, weight_copies(s),
               weight_copies(s) == 1 ? "y" : "ies");
    wf_schedule_put_steps(r, out);
    wf_schedule_put_memory(r, out);
    if (has_pairs(s))
        weft_print(out, "pairs marked & run %s\n",
                   r->overlap == WEFT_OVERLAP_ATOMIC
                       ? "as one block"
                       : "one op after the other; --overlap atomic makes them a block");
}

weft_status wf_schedule_report_text(const wf_schedule_args *a,
                                    const wf_schedule_result *r, weft_writer *out)
{
    int width = a->width > 0 ? a->width : wf_terminal_width();
    weft_draw_options o = {width, a->ascii || wf_terminal_ascii(), wf_terminal_color(),
                           -1};

    if (r->trace.n && !a->summary && !a->ops) {
        WF_TRY(weft_draw_text(&r->trace, &o, out));
        weft_print(out, "\n");
    }
    if (a->ops)
        weft_schedule_write_ops(r->s, out);
    else
        put_summary(r, out);
    return weft_writer_status(out);
}

/* ---- JSON ----------------------------------------------------------------------- */

static void put_ints(wf_json *j, const char *key, int n, const int64_t *x)
{
    wf_json_key(j, key);
    wf_json_array(j);
    for (int r = 0; r < n; r++)
        wf_json_i64(j, x[r]);
    wf_json_end_array(j);
}

static void put_ops(wf_json *j, const weft_schedule *s)
{
    wf_json_key(j, "ops");
    wf_json_array(j);
    for (int r = 0; r < s->p; r++) {
        wf_json_array(j);
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            const weft_op *op = &s->op[i];
            char text[48];
            snprintf(text, sizeof text, "%s%u.%d%s", weft_op_kind_name(op->kind),
                     (unsigned)op->micro, op->chunk,
                     op->flags & WEFT_OPF_PAIR ? "&" : "");
            wf_json_string(j, text);
        }
        wf_json_end_array(j);
    }
    wf_json_end_array(j);
}

static void put_times(wf_json *j, const weft_eval *e, int p)
{
    wf_json_put_f64(j, "makespan", e->makespan);
    wf_json_put_f64(j, "span", e->span);
    wf_json_put_f64(j, "ideal", e->ideal);
    wf_json_put_f64(j, "bubble_of_total", e->bubble_of_total);
    wf_json_put_f64(j, "bubble_of_ideal", e->bubble_of_ideal);
    wf_json_key(j, "idle");
    wf_json_array(j);
    for (int r = 0; r < p; r++)
        wf_json_f64(j, e->idle[r]);
    wf_json_end_array(j);
}

weft_status wf_schedule_report_json(const wf_schedule_args *a,
                                    const wf_schedule_result *r, weft_writer *out)
{
    const weft_schedule *s = r->s;
    wf_json j = wf_json_begin(out);

    wf_json_object(&j);
    wf_json_put_string(&j, "kind", s->kind);
    wf_json_put_i64(&j, "p", s->p);
    wf_json_put_i64(&j, "m", s->m);
    wf_json_put_i64(&j, "v", s->v);
    wf_json_key(&j, "group");
    if (s->group)
        wf_json_i64(&j, s->group);
    else
        wf_json_null(&j);
    wf_json_put_string(&j, "placement", wf_placement_name(s->placement));
    put_times(&j, &r->sim.eval, s->p);
    if (!isnan(r->lower_bound)) wf_json_put_f64(&j, "lower_bound", r->lower_bound);
    put_ints(&j, "peak_in_flight", s->p, r->report.peak_in_flight);
    put_ints(&j, "peak_in_flight_w", s->p, r->report.peak_in_flight_w);
    wf_json_put_i64(&j, "weight_copies", weight_copies(s));
    wf_json_put_i64(&j, "p2p_messages", r->report.p2p_messages);
    wf_schedule_json_steps(r, &j);
    wf_schedule_json_memory(r, &j);
    if (a->ops) put_ops(&j, s);
    wf_json_end_object(&j);
    weft_print(out, "\n");
    return weft_writer_status(out);
}

/* ---- files ---------------------------------------------------------------------- */

static weft_status paint_svg(const wf_schedule_args *a, const wf_schedule_result *r,
                             weft_writer *out)
{
    weft_draw_options o = {.step = -1};
    return weft_draw_svg(&r->trace, &o, out);
}

static weft_status paint_trace(const wf_schedule_args *a, const wf_schedule_result *r,
                               weft_writer *out)
{
    return weft_draw_trace_event(&r->trace, out);
}

static weft_status paint_csv(const wf_schedule_args *a, const wf_schedule_result *r,
                             weft_writer *out)
{
    weft_schedule_write_csv(r->s, out);
    return weft_writer_status(out);
}

typedef weft_status painter(const wf_schedule_args *a, const wf_schedule_result *r,
                            weft_writer *out);

static weft_status write_file(const char *path, painter *paint,
                              const wf_schedule_args *a, const wf_schedule_result *r)
{
    wf_out_file file;
    if (!path) return WEFT_OK;
    WF_TRY(wf_out_file_open(path, &file));
    weft_status st = paint(a, r, &file.out);
    if (st == WEFT_OK || file.out.failed)
        return wf_out_file_commit(&file); /* names the file */
    wf_out_file_drop(&file);
    return st;
}

weft_status wf_schedule_report_files(const wf_schedule_args *a,
                                     const wf_schedule_result *r)
{
    WF_TRY(write_file(a->svg, paint_svg, a, r));
    WF_TRY(write_file(a->trace, paint_trace, a, r));
    return write_file(a->csv, paint_csv, a, r);
}
