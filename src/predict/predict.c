/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"

static void find_fullest(const weft_cost_model *q, int p, const weft_memory *memory,
                         weft_cost *out)
{
    out->memory = memory[0];
    for (int r = 1; r < p; r++)
        if (memory[r].total > out->memory.total) out->memory = memory[r];
    out->exact_peak = 1;
    out->fits = out->memory.total <= q->machine.memory_bytes;
}

/* With the schedule made and room for its durations. */
static weft_status simulate(const weft_cost_model *q, const weft_layout *l,
                            const weft_schedule *s, double *dur, weft_trace *trace,
                            weft_memory *memory, weft_cost *out)
{
    weft_link_tier tier[WEFT_MAX_TIERS];
    weft_costs costs;
    weft_eval eval;

    weft_cost_durations(q, l, s, dur, tier, &costs);
    WF_TRY(weft_simulate(s, &costs, trace, &eval));
    weft_cost_with_makespan(q, l, s, eval.makespan, out);
    weft_eval_clear(&eval);
    WF_TRY(wf_predict_held(q, l, NULL, s, memory, &out->memory));
    if (q->options.exact_memory) WF_TRY(wf_predict_exact(q, l, s, memory));
    find_fullest(q, s->p, memory, out);
    return WEFT_OK;
}

weft_status weft_predict(const weft_cost_model *q, const weft_layout *l,
                         weft_trace *trace, weft_memory *memory, weft_cost *out)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);
    weft_schedule s;
    weft_cost c;

    WF_TRY(weft_cost_evaluate(q, l, &c));
    WF_TRY(weft_schedule_make(l->schedule, l->pp, (int)weft_layout_n_micro(l), l->vpp,
                              &opt, &s));
    double *dur = NULL;
    weft_memory *own = NULL;
    weft_status st = WF_ALLOC((int64_t)s.p * s.v * WEFT_OP_N_COMPUTE, &dur);
    if (st == WEFT_OK && !memory) st = WF_ALLOC(s.p, &own);
    if (st == WEFT_OK) st = simulate(q, l, &s, dur, trace, memory ? memory : own, &c);
    wf_free(own);
    wf_free(dur);
    weft_schedule_clear(&s);
    if (st == WEFT_OK) *out = c;
    return st;
}
