/* SPDX-License-Identifier: Apache-2.0 */
/* A plan, as a table and as JSON. */
#include <string.h>

#include "base/num.h"
#include "plan/write.h"

/* ---- JSON --------------------------------------------------------------------------- */

static void json_row(const weft_cost_model *q, const weft_plan_row *r, wf_json *j)
{
    wf_json_object(j);
    wf_put_layout_cost(q, &r->layout, &r->cost, NULL, j);
    if (*r->why_not) wf_json_put_string(j, "why_not", r->why_not);
    wf_json_end_object(j);
}

static void json_rows(const weft_cost_model *q, const char *key, const weft_plan_row *r,
                      int n, wf_json *j)
{
    wf_json_key(j, key);
    wf_json_array(j);
    for (int i = 0; i < n; i++)
        json_row(q, &r[i], j);
    wf_json_end_array(j);
}

static void json_counts(const weft_plan *p, wf_json *j)
{
    wf_json_put_i64(j, "enumerated", p->counts.enumerated);
    wf_json_put_i64(j, "bounded", p->counts.bounded);
    wf_json_put_i64(j, "simulated", p->counts.simulated);
    wf_json_put_i64(j, "feasible", p->counts.feasible);
    wf_json_put_i64(j, "evaluated", p->counts.evaluated);
    wf_json_put_i64(j, "refined", p->counts.refined);
    wf_json_put_f64(j, "seconds", p->seconds);
}

void weft_plan_write_json(const weft_cost_model *q, const weft_plan *p,
                          weft_writer *out)
{
    wf_json j = wf_json_begin(out);

    wf_json_object(&j);
    json_counts(p, &j);
    json_rows(q, "layouts", p->row, p->n_rows, &j);
    wf_json_key(&j, "references");
    wf_json_object(&j);
    wf_json_key(&j, "dp");
    json_row(q, &p->plain_dp, &j);
    wf_json_key(&j, "zero3");
    json_row(q, &p->zero3, &j);
    wf_json_end_object(&j);
    wf_json_put_bool(&j, "split_needed", *p->ladder.why_not != 0);
    if (p->n_front) json_rows(q, "pareto", p->front, p->n_front, &j);
    wf_json_key(&j, "rejected");
    wf_json_object(&j);
    for (int i = 0; i < p->n_rejected; i++)
        wf_json_put_i64(&j, p->rejected[i].rule, p->rejected[i].count);
    wf_json_end_object(&j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

/* ---- text --------------------------------------------------------------------------- */

/* Units of a column: those of the first row that has numbers. */
typedef struct columns {
    wf_scale step, rate, memory;
} columns;

static columns columns_of(const weft_plan *p)
{
    const weft_plan_row *r = p->n_rows ? p->row : &p->plain_dp;
    if (*r->why_not) r = &p->zero3;
    double known = !*r->why_not;

    return (columns){wf_scale_of(known * r->cost.step_time_s, 1),
                     wf_scale_of(known * 1e12 * r->cost.tflops_per_rank, 1e12),
                     wf_scale_of(known * r->cost.memory.total, 1e9)};
}

static void text_row(const char *name, const weft_plan_row *r, const columns *u,
                     weft_writer *out)
{
    if (*r->why_not) {
        weft_print(out, "%-9s %s\n", name, r->why_not);
        return;
    }
    weft_print(out, "%-9s %9.3f %8.1f %6.1f %7.1f  ", name,
               r->cost.step_time_s / u->step.unit,
               1e12 * r->cost.tflops_per_rank / u->rate.unit,
               100 * r->cost.bubble_of_total, r->cost.memory.total / u->memory.unit);
    wf_put_layout_words(&r->layout, out);
    weft_print(out, "\n");
}

static void text_rows(const weft_plan_row *r, int n, const columns *u, weft_writer *out)
{
    for (int i = 0; i < n; i++) {
        char name[16];
        int k = 0;
        for (int x = i + 1; x && k < 14; x /= 10)
            k++;
        name[k] = 0;
        for (int x = i + 1; k; x /= 10)
            name[--k] = (char)('0' + x % 10);
        text_row(name, &r[i], u, out);
    }
}

static int is_split(const weft_layout *l)
{
    return l->tp > 1 || l->cp > 1 || l->pp > 1 || l->ep > 1;
}

static void text_ladder(const weft_plan *p, weft_writer *out)
{
    if (*p->ladder.why_not || !p->n_rows) return;
    if (!is_split(&p->row[0].layout)) {
        weft_print(out, "\nNo split of the model is needed, and row 1 has none.\n");
        return;
    }
    weft_print(out, "\nNo split of the model is needed: ");
    wf_put_layout_words(&p->ladder.layout, out);
    weft_print(out, " fits");
    weft_print(out, ", %.3f s: %+.1f %% against row 1", p->ladder.cost.step_time_s,
               100 * (p->ladder.cost.step_time_s / p->row[0].cost.step_time_s - 1));
    weft_print(out, " (mixed precision, then recompute, then ZeRO come before TP and "
                    "PP).\n");
}

typedef struct warnings {
    weft_writer *out;
    int n;
} warnings;

static void text_warning(void *ctx, const char *rule, const char *text)
{
    warnings *w = ctx;
    weft_print(w->out, "%srow 1: %s\n", w->n++ ? "" : "\n", text);
}

void weft_plan_write_text(const weft_cost_model *q, const weft_plan *p,
                          weft_writer *out)
{
    int ranks = weft_machine_ranks(&q->machine);
    columns u = columns_of(p);

    weft_print(out, "%s on %s (%d rank%s)\n\n", q->arch.name, q->machine.name, ranks,
               ranks == 1 ? "" : "s");
    weft_print(out,
               "%-9s %*s %ss %*sFLOP/s %6s %*sB  layout (the best of its degrees)\n",
               "", *u.step.prefix ? 6 : 7, "step", u.step.prefix, 2, u.rate.prefix,
               "bub %", 6, u.memory.prefix);
    text_rows(p->row, p->n_rows, &u, out);
    if (!p->n_rows) weft_print(out, "no layout fits: %s\n", p->why_none);
    if (p->n_rows > 1 && p->row[1].cost.step_time_s < p->row[0].cost.step_time_s)
        weft_print(out, "row 1 is the simplest of those that are no more than the tie "
                        "slower than the fastest; the others stand by time\n");
    text_row("plain DP", &p->plain_dp, &u, out);
    text_row("ZeRO-3", &p->zero3, &u, out);
    if (p->n_front) weft_print(out, "\nfaster or smaller, none both\n");
    text_rows(p->front, p->n_front, &u, out);
    warnings w = {out, 0};
    if (p->n_rows)
        weft_plan_warnings(q, &p->row[0].layout, &p->row[0].cost, text_warning, &w);
    text_ladder(p, out);
    weft_print(
        out,
        "\n%lld layouts: %lld simulated, %lld no faster by their bound, %lld too "
        "large; %lld beside them simulated; %lld prices in %.2f s\n",
        (long long)p->counts.enumerated, (long long)p->counts.simulated,
        (long long)p->counts.bounded,
        (long long)(p->counts.enumerated - p->counts.simulated - p->counts.bounded),
        (long long)p->counts.refined, (long long)p->counts.evaluated, p->seconds);
    for (int i = 0; i < p->n_rejected; i++)
        weft_print(out, "%s%s %lld", i ? ", " : "rejected: ", p->rejected[i].rule,
                   (long long)p->rejected[i].count);
    weft_print(out, "%s", p->n_rejected ? "\n" : "");
}
