/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as text for people and as JSON for scripts. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include <weft/trace.h>

/* Seconds are shown in the unit that gives the step length 1 to 1000 of them. */
typedef struct shown {
    double factor;
    const char *unit;
} shown;

static shown choose_unit(const weft_compare *c)
{
    if (strcmp(c->unit, "s")) return (shown){1, c->unit};
    if (c->length_b >= 1) return (shown){1, "s"};
    if (c->length_b >= 1e-3) return (shown){1e3, "ms"};
    return (shown){1e6, "us"};
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- text ----------------------------------------------------------------------- */

static void put_side(char which, const char *title, int measured, int step, int steps,
                     double length, shown u, weft_writer *out)
{
    weft_print(out, "%c  %-9s  %s: %.4g%s%s", which,
               measured ? "measured" : "predicted", title, length * u.factor,
               *u.unit ? " " : "", u.unit);
    if (steps > 1) weft_print(out, " (step %d, the median of %d)", step, steps);
    weft_print(out, "\n");
}

static void put_cell(double x, int width, weft_writer *out)
{
    if (isnan(x))
        weft_print(out, "%*s", width, "-");
    else
        weft_print(out, "%*.4g", width, x);
}

static void put_kinds(const weft_compare *c, shown u, weft_writer *out)
{
    weft_print(out, "\n%-16s %8s %8s %10s %10s %10s\n", "median", "n a", "n b", "a",
               "b", "b - a");
    for (int i = 0; i < c->n_kinds; i++) {
        const weft_compare_kind *k = &c->kind[i];
        weft_print(out, "%-16s %8lld %8lld ", k->name, (long long)k->n_a,
                   (long long)k->n_b);
        put_cell(k->median_a * u.factor, 10, out);
        weft_print(out, " ");
        put_cell(k->median_b * u.factor, 10, out);
        weft_print(out, " ");
        put_cell((k->median_b - k->median_a) * u.factor, 10, out);
        weft_print(out, "\n");
    }
}

static int is_spent(const weft_compare *c, int what)
{
    for (int r = 0; r < c->n_ranks; r++)
        if (c->rank[r].a[what] != 0 || c->rank[r].b[what] != 0) return 1;
    return 0;
}

static double sum_busy(const double *spent)
{
    double busy = 0;
    for (int w = 0; w <= WEFT_SPENT_R; w++)
        busy += spent[w];
    return busy;
}

static void put_busy(const weft_compare *c, shown u, weft_writer *out)
{
    weft_print(out, "\n%-8s %10s %10s %10s %10s   (%s)\n", "rank", "busy a", "busy b",
               "waiting a", "waiting b", u.unit[0] ? u.unit : "cost units");
    for (int r = 0; r < c->n_ranks; r++) {
        const weft_compare_rank *k = &c->rank[r];
        weft_print(out, "%-8d %10.4g %10.4g %10.4g %10.4g\n", r,
                   sum_busy(k->a) * u.factor, sum_busy(k->b) * u.factor,
                   k->a[WEFT_SPENT_WAIT] * u.factor, k->b[WEFT_SPENT_WAIT] * u.factor);
    }
}

/* A difference that is only the rounding of sums is none. */
static double tidy(double x, double length)
{
    return fabs(x) < 1e-9 * length ? 0 : x;
}

/* Each row sums to the difference of the step lengths. */
static void put_where(const weft_compare *c, shown u, weft_writer *out)
{
    double d = c->length_b - c->length_a;
    weft_print(out, "\nwhere the difference of %+.4g%s%s (%+.1f %%) goes, b - a\n%-8s",
               d * u.factor, *u.unit ? " " : "", u.unit, percent(d, c->length_a),
               "rank");
    for (int w = 0; w < WEFT_N_SPENT; w++)
        if (is_spent(c, w)) weft_print(out, " %11s", weft_spent_name((weft_spent)w));
    weft_print(out, "\n");
    for (int r = 0; r < c->n_ranks; r++) {
        weft_print(out, "%-8d", r);
        for (int w = 0; w < WEFT_N_SPENT; w++)
            if (is_spent(c, w))
                weft_print(out, " %+11.4g",
                           tidy(c->rank[r].b[w] - c->rank[r].a[w], c->length_b) *
                               u.factor);
        weft_print(out, "\n");
    }
}

static void put_ops(const weft_compare *c, shown u, weft_writer *out)
{
    weft_print(out, "\n%lld ops in both, mean |b - a| / b %.2f %%\n",
               (long long)c->n_matched, 100 * c->mean_abs_error);
    for (int i = 0; i < c->n_worst; i++) {
        const weft_compare_op *w = &c->worst[i];
        weft_print(out, "  rank %d %-10s %10.4g -> %-10.4g (%+.4g)\n", w->rank, w->name,
                   w->a * u.factor, w->b * u.factor, (w->b - w->a) * u.factor);
    }
    if (!c->n_missing) return;
    weft_print(out, "%lld ops are in one trace only:", (long long)c->n_missing);
    for (int i = 0; i < c->n_named; i++)
        weft_print(out, "%s rank %d %s (only in %c)", i ? "," : "", c->named[i].rank,
                   c->named[i].name, isnan(c->named[i].a) ? 'b' : 'a');
    weft_print(out, c->n_missing > c->n_named ? ", ...\n" : "\n");
}

void weft_compare_write_text(const weft_compare *c, weft_writer *out)
{
    shown u = choose_unit(c);
    put_side('a', c->title_a, c->measured_a, c->step_a, c->steps_a, c->length_a, u,
             out);
    put_side('b', c->title_b, c->measured_b, c->step_b, c->steps_b, c->length_b, u,
             out);
    if (c->scale != 1)
        weft_print(
            out,
            "a has another unit: its times are multiplied by %.6g, so that F B I "
            "W add up to the same\n",
            c->scale);
    put_kinds(c, u, out);
    put_busy(c, u, out);
    put_where(c, u, out);
    put_ops(c, u, out);
}

/* ---- JSON ----------------------------------------------------------------------- */

static void json_side(wf_json *j, const char *key, const char *title, int measured,
                      int steps, int step, double length)
{
    wf_json_key(j, key);
    wf_json_object(j);
    wf_json_put_string(j, "title", title);
    wf_json_put_bool(j, "measured", measured);
    wf_json_put_i64(j, "steps", steps);
    wf_json_put_i64(j, "step", step);
    wf_json_put_f64(j, "length", length);
    wf_json_end_object(j);
}

static void json_kinds(wf_json *j, const weft_compare *c)
{
    wf_json_key(j, "kinds");
    wf_json_array(j);
    for (int i = 0; i < c->n_kinds; i++) {
        const weft_compare_kind *k = &c->kind[i];
        wf_json_object(j);
        wf_json_put_string(j, "kind", k->name);
        wf_json_put_i64(j, "n_a", k->n_a);
        wf_json_put_i64(j, "n_b", k->n_b);
        wf_json_put_f64(j, "median_a", k->median_a);
        wf_json_put_f64(j, "median_b", k->median_b);
        wf_json_put_f64(j, "difference", k->median_b - k->median_a);
        wf_json_put_f64(j, "total_a", k->total_a);
        wf_json_put_f64(j, "total_b", k->total_b);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void json_spent(wf_json *j, const char *key, const double *spent)
{
    wf_json_key(j, key);
    wf_json_object(j);
    for (int w = 0; w < WEFT_N_SPENT; w++)
        wf_json_put_f64(j, weft_spent_name((weft_spent)w), spent[w]);
    wf_json_end_object(j);
}

static void json_ranks(wf_json *j, const weft_compare *c)
{
    wf_json_key(j, "ranks");
    wf_json_array(j);
    for (int r = 0; r < c->n_ranks; r++) {
        const weft_compare_rank *k = &c->rank[r];
        double d[WEFT_N_SPENT];
        for (int w = 0; w < WEFT_N_SPENT; w++)
            d[w] = k->b[w] - k->a[w];
        wf_json_object(j);
        wf_json_put_i64(j, "rank", r);
        wf_json_put_f64(j, "busy_a", sum_busy(k->a));
        wf_json_put_f64(j, "busy_b", sum_busy(k->b));
        json_spent(j, "a", k->a);
        json_spent(j, "b", k->b);
        json_spent(j, "difference", d);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void json_ops(wf_json *j, const char *key, int n, const weft_compare_op *op)
{
    wf_json_key(j, key);
    wf_json_array(j);
    for (int i = 0; i < n; i++) {
        wf_json_object(j);
        wf_json_put_i64(j, "rank", op[i].rank);
        wf_json_put_string(j, "op", op[i].name);
        wf_json_put_f64(j, "a", op[i].a);
        wf_json_put_f64(j, "b", op[i].b);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

void weft_compare_write_json(const weft_compare *c, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    json_side(&j, "a", c->title_a, c->measured_a, c->steps_a, c->step_a, c->length_a);
    json_side(&j, "b", c->title_b, c->measured_b, c->steps_b, c->step_b, c->length_b);
    wf_json_put_string(&j, "unit", c->unit);
    wf_json_put_f64(&j, "scale_a", c->scale);
    wf_json_put_f64(&j, "difference", c->length_b - c->length_a);
    wf_json_put_i64(&j, "ops_matched", c->n_matched);
    wf_json_put_f64(&j, "mean_abs_error", c->mean_abs_error);
    wf_json_put_i64(&j, "ops_missing", c->n_missing);
    json_ops(&j, "missing", c->n_named, c->named);
    json_ops(&j, "largest", c->n_worst, c->worst);
    json_kinds(&j, c);
    json_ranks(&j, c);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}
