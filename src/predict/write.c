/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/predict.h>

#include "base/json.h"
#include "layout/fields.h"

static void put_memory(const weft_memory *m, wf_json *j)
{
    wf_json_object(j);
    wf_json_put_i64(j, "stage", m->stage);
    wf_json_put_f64(j, "params", m->params);
    wf_json_put_f64(j, "grads", m->grads);
    wf_json_put_f64(j, "optimizer", m->optimizer);
    wf_json_put_f64(j, "activations", m->activations);
    wf_json_put_f64(j, "logits", m->logits);
    wf_json_put_f64(j, "comm", m->comm);
    wf_json_put_f64(j, "temporaries", m->temporaries);
    wf_json_put_f64(j, "reserve", m->reserve);
    wf_json_put_f64(j, "total", m->total);
    wf_json_end_object(j);
}

static void put_times(const weft_time_parts *t, wf_json *j)
{
    wf_json_object(j);
    wf_json_put_f64(j, "compute", t->compute);
    wf_json_put_f64(j, "tp_comm", t->tp_comm);
    wf_json_put_f64(j, "cp_comm", t->cp_comm);
    wf_json_put_f64(j, "ep_comm", t->ep_comm);
    wf_json_put_f64(j, "pp_comm", t->pp_comm);
    wf_json_put_f64(j, "dp_comm", t->dp_comm);
    wf_json_put_f64(j, "bubble", t->bubble);
    wf_json_put_f64(j, "recompute", t->recompute);
    wf_json_put_f64(j, "optimizer", t->optimizer);
    wf_json_end_object(j);
}

static void put_layout(const weft_layout *l, wf_json *j)
{
    wf_json_object(j);
    wf_field_put_json(wf_layout_plan_table(), l, j);
    wf_json_put_i64(j, "world", weft_layout_world(l));
    wf_json_put_i64(j, "n_micro", weft_layout_n_micro(l));
    wf_json_end_object(j);
}

static void put_rates(const weft_cost *c, wf_json *j)
{
    wf_json_put_bool(j, "fits", c->fits);
    wf_json_put_f64(j, "step_time_s", c->step_time_s);
    wf_json_put_f64(j, "tokens_per_s", c->tokens_per_s);
    wf_json_put_f64(j, "tflops_per_gpu", c->tflops_per_rank);
    wf_json_put_f64(j, "mfu", c->mfu);
    wf_json_put_string(j, "flops_convention", "model FLOPs, causal");
    wf_json_put_f64(j, "bubble_of_total", c->bubble_of_total);
}

void weft_predict_write_json(const weft_cost_model *q, const weft_layout *l,
                             const weft_cost *c, const weft_memory *memory,
                             int n_warnings, const char *const *warnings,
                             weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_json_key(&j, "layout");
    put_layout(l, &j);
    put_rates(c, &j);
    wf_json_key(&j, "memory_bytes");
    put_memory(&c->memory, &j);
    wf_json_key(&j, "memory_by_stage");
    wf_json_array(&j);
    for (int r = 0; r < l->pp; r++)
        put_memory(&memory[r], &j);
    wf_json_end_array(&j);
    wf_json_key(&j, "ratio");
    wf_json_object(&j);
    wf_json_put_f64(&j, "tp", c->ratio_tp);
    wf_json_put_f64(&j, "pp", c->ratio_pp);
    wf_json_put_f64(&j, "dp", c->ratio_dp);
    wf_json_end_object(&j);
    wf_json_key(&j, "time_s");
    put_times(&c->time, &j);
    wf_json_key(&j, "warnings");
    wf_json_array(&j);
    for (int i = 0; i < n_warnings; i++)
        wf_json_string(&j, warnings[i]);
    wf_json_end_array(&j);
    wf_json_end_object(&j);
}
