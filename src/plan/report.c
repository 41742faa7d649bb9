/* SPDX-License-Identifier: Apache-2.0 */
/* One layout, for people and as JSON. */
#include <string.h>

#include "base/num.h"
#include "layout/fields.h"
#include "layout/split.h"
#include "plan/write.h"

/* ---- parts -------------------------------------------------------------------------- */

static const char *const part_names[WF_N_PARTS] = {"compute", "tp_comm",   "cp_comm",
                                                   "ep_comm", "pp_comm",   "dp_comm",
                                                   "bubble",  "recompute", "optimizer"};

const char *wf_part_name(int i)
{
    return part_names[i];
}

double wf_part(const weft_time_parts *t, int i)
{
    const double part[WF_N_PARTS] = {t->compute, t->tp_comm,   t->cp_comm,
                                     t->ep_comm, t->pp_comm,   t->dp_comm,
                                     t->bubble,  t->recompute, t->optimizer};
    return part[i];
}

enum { N_HOLDS = 8 };
static const char *const hold_names[N_HOLDS] = {"params",      "grads",  "optimizer",
                                                "activations", "logits", "comm",
                                                "temporaries", "reserve"};

static double hold(const weft_memory *m, int i)
{
    const double part[N_HOLDS] = {m->params, m->grads, m->optimizer,   m->activations,
                                  m->logits, m->comm,  m->temporaries, m->reserve};
    return part[i];
}

/* ---- JSON --------------------------------------------------------------------------- */

static void json_memory(const weft_memory *m, wf_json *j)
{
    wf_json_object(j);
    wf_json_put_i64(j, "stage", m->stage);
    for (int i = 0; i < N_HOLDS; i++)
        wf_json_put_f64(j, hold_names[i], hold(m, i));
    wf_json_put_f64(j, "total", m->total);
    wf_json_end_object(j);
}

static void json_warning(void *ctx, const char *rule, const char *text)
{
    wf_json_string(ctx, text);
}

static void json_rates(const weft_cost *c, wf_json *j)
{
    wf_json_put_bool(j, "fits", c->fits);
    wf_json_put_f64(j, "step_time_s", c->step_time_s);
    wf_json_put_f64(j, "tokens_per_s", c->tokens_per_s);
    wf_json_put_f64(j, "tflops_per_gpu", c->tflops_per_rank);
    wf_json_put_f64(j, "mfu", c->mfu);
    wf_json_put_string(j, "flops_convention", "model FLOPs, causal");
    wf_json_put_f64(j, "bubble_of_total", c->bubble_of_total);
}

void wf_put_layout_cost(const weft_cost_model *q, const weft_layout *l,
                        const weft_cost *c, const weft_memory *memory, wf_json *j)
{
    wf_json_key(j, "layout");
    wf_json_object(j);
    wf_field_put_json(wf_layout_plan_table(), l, j);
    wf_json_put_i64(j, "world", weft_layout_world(l));
    wf_json_put_i64(j, "n_micro", weft_layout_n_micro(l));
    wf_json_end_object(j);
    json_rates(c, j);
    wf_json_key(j, "memory_bytes");
    json_memory(&c->memory, j);
    if (memory) {
        wf_json_key(j, "memory_by_stage");
        wf_json_array(j);
        for (int r = 0; r < l->pp; r++)
            json_memory(&memory[r], j);
        wf_json_end_array(j);
    }
    wf_json_key(j, "ratio");
    wf_json_object(j);
    wf_json_put_f64(j, "tp", c->ratio_tp);
    wf_json_put_f64(j, "pp", c->ratio_pp);
    wf_json_put_f64(j, "dp", c->ratio_dp);
    wf_json_end_object(j);
    wf_json_key(j, "time_s");
    wf_json_object(j);
    for (int i = 0; i < WF_N_PARTS; i++)
        wf_json_put_f64(j, part_names[i], wf_part(&c->time, i));
    wf_json_end_object(j);
    wf_json_key(j, "warnings");
    wf_json_array(j);
    weft_plan_warnings(q, l, c, json_warning, j);
    wf_json_end_array(j);
}

void weft_report_write_json(const weft_cost_model *q, const weft_layout *l,
                            const weft_cost *c, const weft_memory *memory,
                            weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_put_layout_cost(q, l, c, memory, &j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}

/* ---- text --------------------------------------------------------------------------- */

void wf_put_layout_words(const weft_layout *l, weft_writer *out)
{
    const struct {
        const char *name;
        int n;
    } degree[] = {
        {"tp", l->tp}, {"cp", l->cp}, {"pp", l->pp}, {"dp", l->dp}, {"ep", l->ep}};
    int some = 0;

    for (int i = 0; i < 5; i++)
        if (degree[i].n > 1)
            weft_print(out, "%s%s %d", some++ ? " x " : "", degree[i].name,
                       degree[i].n);
    if (!some) weft_print(out, "one rank");
    if (l->pp > 1) weft_print(out, ", %s", l->schedule);
    if (l->vpp > 1) weft_print(out, " of %d chunks", l->vpp);
    if (wf_layout_is_placed(l)) weft_print(out, " placed %s", l->placement);
    if (l->zero) weft_print(out, ", ZeRO-%d", l->zero);
    if (l->replicate > 1) weft_print(out, " in %d copies", l->replicate);
    if (l->sp && l->tp > 1) weft_print(out, ", SP");
    if (l->cp > 1) weft_print(out, ", %s", l->cp_comm);
    if (strcmp(l->recompute, "none")) weft_print(out, ", recompute %s", l->recompute);
    weft_print(out, ", micro-batch %lld x %lld", (long long)l->micro_batch,
               (long long)weft_layout_n_micro(l));
    if (strcmp(l->stage_layers, "even"))
        weft_print(out, ", stages %s", l->stage_layers);
    if (strcmp(l->order, "tp,cp,pp,dp")) weft_print(out, ", order %s", l->order);
}

int wf_same_layout(const weft_layout *a, const weft_layout *b)
{
    const wf_table *t = wf_layout_plan_table();

    for (int i = 0; i < t->n; i++) {
        const wf_field *f = &t->field[i];
        const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
        if (f->type == WF_STRING || f->type == WF_CHOICE ? strcmp(x, y)
                                                         : memcmp(x, y, f->size))
            return 0;
    }
    return 1;
}

static void text_memory(const weft_cost_model *q, const weft_memory *m,
                        weft_writer *out)
{
    wf_scale u = wf_scale_of(m->total, 1e9);

    weft_print(out, "memory      %8.2f %sB of %.2f GB on the fullest stage, %d\n",
               m->total / u.unit, u.prefix, q->machine.memory_bytes / 1e9, m->stage);
    for (int i = 0; i < N_HOLDS; i++) {
        u = wf_scale_of(hold(m, i), 1e9);
        if (hold(m, i) > 0)
            weft_print(out, "  %-12s %8.2f %sB\n", hold_names[i], hold(m, i) / u.unit,
                       u.prefix);
    }
}

static void text_stages(const weft_layout *l, const weft_memory *memory,
                        weft_writer *out)
{
    wf_scale u = wf_scale_of(memory[0].total, 1e9);

    if (l->pp == 1) return;
    weft_print(out, "by stage   ");
    for (int r = 0; r < l->pp && r < 16; r++)
        weft_print(out, " %.1f", memory[r].total / u.unit);
    weft_print(out, "%s %sB\n", l->pp > 16 ? " ..." : "", u.prefix);
}

static void text_warning(void *ctx, const char *rule, const char *text)
{
    weft_print(ctx, "warning: %s\n", text);
}

void weft_report_write_text(const weft_cost_model *q, const weft_layout *l,
                            const weft_cost *c, const weft_memory *memory,
                            weft_writer *out)
{
    wf_scale s = wf_scale_of(c->step_time_s, 1),
             rate = wf_scale_of(1e12 * c->tflops_per_rank, 1e12);

    weft_print(out, "%s on %s: ", q->arch.name, q->machine.name);
    wf_put_layout_words(l, out);
    weft_print(out, "\n%s\n\n", c->fits ? "fits" : "DOES NOT FIT");
    weft_print(out, "step        %8.3f %ss, %.6g tokens/s\n", c->step_time_s / s.unit,
               s.prefix, c->tokens_per_s);
    for (int i = 0; i < WF_N_PARTS; i++)
        if (wf_part(&c->time, i) > 0)
            weft_print(out, "  %-12s %8.3f %ss %5.1f %%\n", part_names[i],
                       wf_part(&c->time, i) / s.unit, s.prefix,
                       100 * wf_part(&c->time, i) / c->step_time_s);
    weft_print(out,
               "rate        %8.1f %sFLOP/s a rank, %.1f %% of the peak (model FLOPs, "
               "causal)\n",
               1e12 * c->tflops_per_rank / rate.unit, rate.prefix, 100 * c->mfu);
    weft_print(out, "bubble      %8.2f %% of the pipeline's time\n",
               100 * c->bubble_of_total);
    weft_print(out,
               "ratios      %8.3f tp, %.4f pp, %.4f dp (communication over compute)\n",
               c->ratio_tp, c->ratio_pp, c->ratio_dp);
    text_memory(q, &c->memory, out);
    if (memory) text_stages(l, memory, out);
    weft_plan_warnings(q, l, c, text_warning, out);
}
