/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/envelope.h>

#include <math.h>
#include <string.h>
#include <weft/sim.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/links.h"

/* ---- memory ------------------------------------------------------------------------ */

/* Weights 2, gradients 2, master weights and moments 12 bytes a parameter; ZeRO stage 1
 * shards the last, 2 the second too, 3 all. */
static void states(const weft_layout *l, double params, weft_envelope *e)
{
    double shards = (double)l->dp / (l->replicate > 1 ? l->replicate : 1);
    e->params_bytes = 2 * params / (l->zero >= 3 ? shards : 1);
    e->grads_bytes = 2 * params / (l->zero >= 2 ? shards : 1);
    e->optimizer_bytes = 12 * params / (l->zero >= 1 ? shards : 1);
    e->rank_states_bytes = e->params_bytes + e->grads_bytes + e->optimizer_bytes;
}

static double act_layer(const weft_cost_model *q, const weft_layout *l, int stage)
{
    const weft_arch *a = &q->arch;
    double t = l->tp, h = (double)a->hidden, s = (double)l->seq / l->cp;
    double sbh = s * (double)l->micro_batch * h;
    weft_recompute again = weft_layout_recompute(l, stage);
    int stored = !q->options.fused_attention && again == WEFT_RECOMPUTE_NONE;

    if (again == WEFT_RECOMPUTE_FULL) return 2 * sbh / (l->sp ? t : 1);
    double scores = stored ? 5 * (double)a->heads * (double)l->seq / (h * t) : 0;
    return sbh * ((l->sp ? 34 / t : 10 + 24 / t) + scores);
}

/* Chunk activations that a pipeline rank holds at most, as the kind bounds them. */
static double in_flight(const weft_schedule *shape, int rank)
{
    int64_t n = weft_schedule_closed_peak(shape, rank);
    return n >= 0 ? (double)n : (double)shape->m * shape->v;
}

/* All chunks of a rank: its layers, and what they hold. Chunks of a rank are held alike. */
static double rank_activations(const weft_cost_model *q, const weft_layout *l,
                               const weft_schedule *shape, int rank, double *layers)
{
    double bytes = 0;
    *layers = 0;
    for (int c = 0; c < shape->v; c++) {
        int stage = weft_schedule_stage(shape, rank, c);
        int64_t first, count;
        weft_layout_stage_layers(l, &q->arch, stage, &first, &count);
        *layers += (double)count;
        bytes += (double)count * act_layer(q, l, stage);
    }
    return bytes * in_flight(shape, rank) / shape->v;
}

static void memory(const weft_cost_model *q, const weft_layout *l,
                   const weft_schedule *shape, weft_envelope *e)
{
    double per_rank = e->params / l->tp, copies = weft_schedule_weight_copies(shape, 0);
    weft_envelope most = *e;

    for (int r = 0; r < l->pp; r++) {
        double layers;
        weft_envelope at = *e;
        at.stage = r;
        at.act_bytes = rank_activations(q, l, shape, r, &layers);
        /* copies of the weights are among the chunks: their layers are counted twice */
        states(l, per_rank * layers / (double)q->arch.layers, &at);
        at.total_bytes = at.rank_states_bytes + at.act_bytes;
        if (at.total_bytes > most.total_bytes) most = at;
    }
    if (copies > 1 && shape->v == 1)
        most.total_bytes += (copies - 1) * most.params_bytes;
    most.act_layer_bytes = act_layer(q, l, weft_schedule_stage(shape, most.stage, 0));
    *e = most;
}

/* ---- time -------------------------------------------------------------------------- */

/* Makespan of m micro-batches that take f, and i and w backward, on a full stage. */
static weft_status makespan(const weft_layout *l, const weft_schedule *shape, double f,
                            double i, double w, double *out)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);
    weft_schedule s;
    weft_eval e;
    double *dur;

    *out = weft_schedule_closed_makespan_split(shape, f, i, w);
    if (!isnan(*out)) return WEFT_OK;
    WF_TRY(weft_schedule_make(l->schedule, l->pp, shape->m, l->vpp, &opt, &s));
    weft_status st = WF_ALLOC((int64_t)s.p * s.v * WEFT_OP_N_COMPUTE, &dur);
    if (st == WEFT_OK) {
        weft_costs_uniform(&s, f, i + w, i, w, 0, dur);
        st = weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e);
        wf_free(dur);
    }
    if (st == WEFT_OK) {
        *out = e.makespan;
        weft_eval_clear(&e);
    }
    weft_schedule_clear(&s);
    return st;
}

/* Bytes that a rank sends for its share of the parameters, and how often. */
static void data_parallel(const weft_layout *l, double params, weft_envelope *e)
{
    double part = ((double)l->dp - 1) / l->dp * 2 * params / ((double)l->tp * l->pp);

    e->dp_per_micro = l->zero == 3 || (l->zero == 2 && e->n_micro > 1);
    /* two gathers of the weights and one reduction; or the reduction alone (the weights
     * are gathered once a step, which is little beside it); or an all-reduce */
    e->dp_bytes = (l->zero == 3 ? 3 : e->dp_per_micro ? 1 : 2) * part;
}

static double link_of(const weft_cost_model *q, const weft_layout *l, weft_axis axis)
{
    return wf_reach_bytes_per_s(q, wf_axis_reach(q, l, axis));
}

static double over(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Of c the sequence parts and of dp ranks each has their share of the batch. */
static void ratios(const weft_cost_model *q, const weft_layout *l, weft_envelope *e)
{
    const weft_arch *a = &q->arch;
    double f = q->options.achieved_flops_per_s, h = (double)a->hidden;
    double slowest = q->machine.tier[q->machine.n_tiers - 1].bytes_per_s;
    double micro = (double)l->micro_batch * (double)l->seq / l->cp;
    double w = link_of(q, l, WEFT_DP);

    e->ratio_tp = over((l->tp - 1) * f, 3 * h * link_of(q, l, WEFT_TP));
    e->ratio_tp_across = over((l->tp - 1) * f, 3 * h * slowest);
    if (l->pp > 1)
        e->ratio_pp =
            over(l->pp * f, 12 * h * (double)a->layers * link_of(q, l, WEFT_PP));
    e->tokens = e->dp_per_micro ? micro : micro * (double)e->n_micro;
    e->tokens_needed = l->dp > 1 ? over(f, w) : 0;
    e->ratio_dp = e->tokens_needed * ((double)l->dp - 1) / l->dp / e->tokens;
    e->pp_bytes = l->pp > 1 ? 2 * micro * h / l->tp : 0;
    e->pp_s = over(e->pp_bytes, link_of(q, l, WEFT_PP));
    e->dp_s = l->dp > 1 ? over(e->dp_bytes, w) : 0;
}

/* What DP does not hide: per micro-batch behind all of its compute, else behind the
 * backward passes of the step. */
static double exposed(const weft_envelope *e)
{
    double m = (double)e->n_micro;
    double hidden = e->dp_per_micro ? e->compute_s : 2 * m * e->compute_s / 3;
    double left = e->dp_s - hidden;
    if (left <= 0) return 0;
    return e->dp_per_micro ? m * left : left;
}

static int full_stages(const weft_layout *l)
{
    int n = 0;
    for (int s = 0; s < l->pp * l->vpp; s++)
        n += weft_layout_recompute(l, s) == WEFT_RECOMPUTE_FULL;
    return n;
}

/* Of a micro-batch, what the all-reduces of TP take longer than inside the innermost domain,
 * where they are part of the achieved rate: forward the ratio is of a third of the compute,
 * backward half of it of two thirds. */
static double slow_tp(const weft_cost_model *q, const weft_layout *l,
                      const weft_envelope *e)
{
    double inside = over((l->tp - 1) * q->options.achieved_flops_per_s,
                         3 * (double)q->arch.hidden * q->machine.tier[0].bytes_per_s);
    return 2.0 / 3 * e->compute_s * (e->ratio_tp - inside);
}

static weft_status times(const weft_cost_model *q, const weft_layout *l,
                         const weft_schedule *shape, weft_envelope *e)
{
    double f = q->options.achieved_flops_per_s, whole;
    double params = q->options.params > 0 ? q->options.params
                                          : (double)weft_arch_active_params(&q->arch);
    double tokens = (double)l->micro_batch * (double)l->seq;
    double again =
        (double)full_stages(l) / ((double)l->pp * l->vpp); /* a forward more */

    e->compute_s = 6 * params * tokens / ((double)l->tp * l->pp * l->cp) / f;
    e->tp_s = slow_tp(q, l, e);
    double half = e->tp_s / 2; /* as many bytes forward as backward */
    double third = e->compute_s / 3;
    WF_TRY(makespan(l, shape, third + half, third * (1 + again) + half, third, &whole));
    double busy = (double)e->n_micro * (e->compute_s * (1 + again / 3) + e->tp_s);
    e->bubble = over(whole - busy, whole);
    e->step_s = whole + exposed(e);
    return WEFT_OK;
}

weft_status weft_envelope_make(const weft_cost_model *q, const weft_layout *l,
                               weft_envelope *out)
{
    weft_envelope e = {.n_micro = weft_layout_n_micro(l)};
    weft_schedule shape;

    if (!(q->options.achieved_flops_per_s > 0))
        return WF_FAIL(
            WEFT_E_INVALID,
            "the back of an envelope needs a rate: --achieved-flops 400TFLOP/s");
    if (weft_layout_world(l) != weft_machine_ranks(&q->machine))
        return WF_FAIL(WEFT_E_MISMATCH, "the layout has %d ranks, the machine %d",
                       weft_layout_world(l), weft_machine_ranks(&q->machine));
    WF_TRY(weft_layout_shape(l, &shape));
    e.params =
        q->options.params > 0 ? q->options.params : (double)weft_arch_params(&q->arch);
    e.states_bytes = 16 * e.params;
    memory(q, l, &shape, &e);
    data_parallel(l, e.params, &e);
    ratios(q, l, &e);
    WF_TRY(times(q, l, &shape, &e));
    *out = e;
    return WEFT_OK;
}

/* ---- as a cost ---------------------------------------------------------------------- */

static void fill_memory(const weft_envelope *e, weft_memory *m)
{
    *m = (weft_memory){.stage = e->stage,
                       .params = e->params_bytes,
                       .grads = e->grads_bytes,
                       .optimizer = e->optimizer_bytes,
                       .activations = e->act_bytes,
                       .total = e->total_bytes};
}

void weft_envelope_cost(const weft_cost_model *q, const weft_layout *l,
                        const weft_envelope *e, weft_cost *out)
{
    const weft_machine *m = &q->machine;
    double compute = (double)e->n_micro * e->compute_s, late = exposed(e);
    double whole = e->step_s - late; /* of the pipeline */
    double tokens = (double)l->global_batch * (double)l->seq;
    double peak = m->flops_per_s[q->options.math];
    int ranks = weft_machine_ranks(m);
    weft_cost c = {.fits = e->total_bytes <= m->memory_bytes, .exact_peak = 1};

    c.step_time_s = c.bound_s = e->step_s;
    c.time.compute = compute;
    c.time.dp_comm = late;
    c.time.tp_comm = (double)e->n_micro * e->tp_s;
    c.time.bubble = e->bubble * whole;
    c.time.recompute = whole - c.time.bubble - compute - c.time.tp_comm;
    fill_memory(e, &c.memory);
    c.tokens_per_s = tokens / e->step_s;
    c.model_flops = compute * q->options.achieved_flops_per_s * ranks;
    c.tflops_per_rank = c.model_flops / e->step_s / ranks / 1e12;
    c.mfu = over(c.tflops_per_rank * 1e12, peak);
    c.bubble_of_total = e->bubble;
    c.ratio_tp = e->ratio_tp;
    c.ratio_pp = e->ratio_pp;
    c.ratio_dp = e->ratio_dp;
    c.p2p_s = e->pp_s;
    c.dp_s = e->dp_per_micro ? (double)e->n_micro * e->dp_s : e->dp_s;
    *out = c;
}
