/* SPDX-License-Identifier: Apache-2.0 */
/* The calculation as one would write it down. */
#include <string.h>
#include <weft/envelope.h>

#include "plan/links.h"

static const char *link_name(const weft_cost_model *q, const weft_layout *l,
                             weft_axis axis)
{
    return q->machine.tier[wf_axis_reach(q, l, axis).tier].name;
}

static void put_memory(const weft_layout *l, const weft_envelope *e, weft_writer *out)
{
    const double gb = 1e9;
    weft_print(out, "model states            16 B x %.4g = %.4g GB; of a rank %.1f GB",
               e->params, e->states_bytes / gb, e->rank_states_bytes / gb);
    weft_print(out, " (weights %.1f, gradients %.1f, optimizer %.1f)\n",
               e->params_bytes / gb, e->grads_bytes / gb, e->optimizer_bytes / gb);
    weft_print(out,
               "activations             %.2f GB a layer and micro-batch, %.1f GB in "
               "all\n",
               e->act_layer_bytes / gb, e->act_bytes / gb);
    weft_print(out,
               "memory                  %.1f GB on pipeline rank %d, before logits and "
               "buffers\n",
               e->total_bytes / gb, e->stage);
}

static void put_dp(const weft_cost_model *q, const weft_layout *l,
                   const weft_envelope *e, weft_writer *out)
{
    if (l->dp == 1) return;
    weft_print(out,
               "data parallel           %.3g GB a %s on %s: %.3g s; %s %.6g tokens a "
               "rank, F/W is %.6g: ratio %.2f\n",
               e->dp_bytes / 1e9, e->dp_per_micro ? "micro-batch" : "step",
               link_name(q, l, WEFT_DP), e->dp_s,
               e->tokens >= e->tokens_needed ? "hidden," : "communication-bound,",
               e->tokens, e->tokens_needed, e->ratio_dp);
}

void weft_envelope_write_text(const weft_cost_model *q, const weft_layout *l,
                              const weft_envelope *e, weft_writer *out)
{
    put_memory(l, e, out);
    weft_print(out,
               "compute                 %.3g s a micro-batch and rank, %lld of them\n",
               e->compute_s, (long long)e->n_micro);
    weft_print(out, "bubble                  %.1f %% of the total\n", 100 * e->bubble);
    if (l->tp > 1)
        weft_print(out, "tensor parallel         ratio %.2f on %s (%.1f on %s)\n",
                   e->ratio_tp, link_name(q, l, WEFT_TP), e->ratio_tp_across,
                   q->machine.tier[q->machine.n_tiers - 1].name);
    if (l->pp > 1)
        weft_print(out,
                   "pipeline                %.3g MB a micro-batch, boundary and "
                   "direction on %s: %.3g ms; ratio %.3f\n",
                   e->pp_bytes / 1e6, link_name(q, l, WEFT_PP), 1e3 * e->pp_s,
                   e->ratio_pp);
    put_dp(q, l, e, out);
    weft_print(out, "step                    %.4g s\n", e->step_s);
}
