/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cost/rank.h"
#include "schedule/kind.h"

/* What evaluation gathers over the ranks. */
typedef struct gathered {
    double bound, busy_most, mean_busy;
    double alone; /* as much as the bound, from one rank with its own DP             */
    wf_rank slowest; /* the busiest */
    int slowest_rank;
    double after;     /* of any rank: DP that is exposed, less what idles at its end  */
    double optimizer; /* of the slowest */
    double dp_total;
    weft_memory least;
} gathered;

static double busy_s(const wf_line *x, const wf_rank *r)
{
    double once = x->splits ? fmin(r->b, r->i + r->w) : r->b;
    return (double)x->p.m * (r->f + once + r->r);
}

/* The later chunks of a rank alone: their first F waits for all stages before them, and after
 * their last backward come those of all these stages. Chunks lie in the order of their
 * stages but for two directions. */
static double chunks_bound(wf_line *x, int rank)
{
    double m = (double)x->p.m, work = 0, weights = 0, most = 0;

    if (x->kind->two_ways) return 0;
    for (int c = x->shape.v - 1; c > 0; c--) {
        int stage = weft_schedule_stage(&x->shape, rank, c);
        const weft_stage_cost *s = wf_line_stage(x, stage, NULL);
        double split = s->i.total + s->w.total, once = s->b.total;
        if (x->splits && split < once) once = split;
        work += m * (s->f.total + once + s->r.total);
        if (x->splits) weights += m * s->w.total;
        most = fmax(most, x->head[stage] + work + fmax(0, x->tail[stage] - weights));
    }
    return most;
}

/* Gradients are reduced when a rank's last backward is done, which for later stages is
 * before the step's end. */
static void gather_rank(wf_line *x, int rank, weft_cost *out, gathered *g)
{
    wf_rank r;
    weft_memory memory;
    int exact;

    wf_line_rank(x, rank, &r);
    double busy = busy_s(x, &r);
    double tail = x->splits ? fmax(0, r.tail_s - (double)x->p.m * r.w) : r.tail_s;
    double later = x->shape.v > 1 ? chunks_bound(x, rank) : 0;
    g->bound = fmax(g->bound, fmax(later, r.head_s + busy + tail));
    g->mean_busy += busy / x->shape.p;
    if (busy > g->busy_most) {
        g->busy_most = busy;
        g->slowest = r;
        g->slowest_rank = rank;
    }
    wf_dp dp = wf_dp_price(&x->p, &r);
    g->after = fmax(g->after, dp.exposed - tail);
    g->alone = fmax(g->alone, fmax(later, r.head_s + busy + fmax(tail, dp.exposed)));
    g->dp_total = fmax(g->dp_total, dp.total);
    g->optimizer = fmax(g->optimizer, wf_optimizer_s(&x->p, &r));
    wf_line_memory(x, rank, &r, &memory, &exact);
    out->exact_peak &= exact;
    if (memory.total > out->memory.total) out->memory = memory;
    if (exact && memory.total <= x->p.q->machine.memory_bytes) return; /* it fits */
    wf_line_least(x, rank, &r, &memory);
    if (memory.total > g->least.total) g->least = memory;
}

/* Tied embedding: both copies sum their gradients over the first and the last stage. */
static double tied_s(const wf_line *x)
{
    const wf_place *p = &x->p;
    if (!p->q->arch.tied || p->l->pp == 1 || p->envelope) return 0;
    double n = p->q->derived.embed_rows *
               (double)weft_layout_padded_vocab(p->l, &p->q->arch) / p->t;
    double bytes = n * p->q->options.grad_bytes;
    return weft_machine_collective_s(&p->q->machine, WEFT_COLL_ALL_REDUCE, bytes,
                                     p->stride[WEFT_PP] * (p->l->pp - 1), 2);
}

/* ---- the pipeline ---------------------------------------------------------------- */

/* The kind's closed form is of equal stages. With the busiest stage for all of them its
 * bubble is too long: the fill runs through stages of the mean size. */
static double estimate(const wf_line *x, const gathered *g)
{
    const wf_rank *r = &g->slowest;
    wf_times t = {r->f, r->b + r->r, r->i + r->r, r->w};
    double closed = x->kind->makespan ? x->kind->makespan(&x->shape, &t) : NAN;
    double ideal = (double)x->p.m * (r->f + r->r + (x->splits ? r->i + r->w : r->b));
    double hops = 2.0 * (x->shape.p - 1) * wf_p2p_s(&x->p);

    if (!isfinite(closed))
        closed = ideal + (double)(x->shape.p - 1) / x->shape.v * (r->f + r->b + r->r);
    double s = ideal + (closed - ideal) * g->mean_busy / g->busy_most + hops;
    /* 1F1B hands a micro-batch to and fro in its steady state: each message is waited
     * for */
    if (!strcmp(x->kind->name, "1f1b") || !x->p.q->options.overlap_pp)
        s += (double)(x->p.m - 1) * wf_p2p_s(&x->p) *
             (x->p.q->options.overlap_pp ? 1 : 2) * (x->shape.p > 1);
    return fmax(s, g->bound);
}

/* ---- parts and rates ------------------------------------------------------------- */

/* The part of a rank's backwards that the schedule runs in one piece. */
static double whole_part(const weft_schedule *s, int rank)
{
    int64_t whole = 0, split = 0;

    for (int64_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        whole += s->op[i].kind == WEFT_OP_B;
        split += s->op[i].kind == WEFT_OP_I;
    }
    return whole ? (double)whole / (double)(whole + split) : 0;
}

/* `all` has backwards as I and W; of those in one piece TP's reduction hides behind W. */
static void hide_in_whole(const wf_rank *r, double n, weft_time_parts *t, double *busy)
{
    double hidden = fmax(0, n * (r->i + r->w - r->b));
    double of_tp = fmin(hidden, t->tp_comm);

    t->tp_comm -= of_tp;
    t->compute -= hidden - of_tp;
    *busy -= hidden;
}

/* s: what ran, or NULL: how many backwards are in one piece is not known then. */
static void fill_parts(const wf_line *x, const gathered *g, const weft_schedule *s,
                       double makespan, weft_cost *out)
{
    const wf_rank *r = &g->slowest;
    double m = (double)x->p.m;
    weft_time_parts *t = &out->time;

    t->compute = m * r->all.compute;
    t->tp_comm = m * (r->all.tp_comm + r->again.tp_comm);
    t->cp_comm = m * (r->all.cp_comm + r->again.cp_comm);
    t->ep_comm = m * (r->all.ep_comm + r->again.ep_comm);
    t->recompute = m * r->again.compute;
    double busy = m * (r->all.total + r->again.total);
    if (s && x->splits)
        hide_in_whole(r, m * whole_part(s, g->slowest_rank), t, &busy);
    else if (x->splits && busy > makespan)
        hide_in_whole(r, fmin(m, (busy - makespan) / (r->i + r->w - r->b)), t, &busy);
    double idle = fmax(0, makespan - busy);
    t->compute += fmin(0, makespan - busy); /* rounding */
    double hops = x->shape.p > 1 ? 2.0 * (x->shape.p - 1) * wf_p2p_s(&x->p) : 0;
    t->pp_comm = fmin(idle, hops);
    t->bubble = idle - t->pp_comm;
    t->dp_comm = g->after + tied_s(x);
    t->optimizer = g->optimizer;
    out->bubble_of_total = makespan > 0 ? (makespan - busy) / makespan : 0;
    if (out->bubble_of_total < 0) out->bubble_of_total = 0;
    out->step_time_s = makespan + t->dp_comm + t->optimizer;
}

static void fill_rates(const wf_line *x, const gathered *g, weft_cost *out)
{
    const weft_cost_model *q = x->p.q;
    const weft_layout *l = x->p.l;
    double tokens = (double)l->global_batch * (double)l->seq;
    double peak = q->machine.flops_per_s[q->options.math];

    out->model_flops = x->price->flops * tokens;
    out->tokens_per_s = tokens / out->step_time_s;
    double rate = out->model_flops / out->step_time_s / weft_layout_world(l);
    out->tflops_per_rank = rate / 1e12;
    out->mfu = peak > 0 ? rate / peak : 0;
    out->p2p_s = wf_p2p_s(&x->p);
    out->dp_s = g->dp_total;
    out->optimizer_s = g->optimizer;
}

/* The lessons' ratios: TP of a forward, a message over a stage's forward, DP over the
 * backward; bytes over link bandwidth, nothing for latency. */
static void fill_ratios(wf_line *x, const gathered *g, weft_cost *out)
{
    const wf_place *p = &x->p;
    const weft_cost_model *q = p->q;
    const weft_machine *m = &q->machine;
    double flops = q->options.achieved_flops_per_s > 0
                       ? q->options.achieved_flops_per_s
                       : m->flops_per_s[q->options.math] * m->gemm_efficiency;
    const weft_tier *tier = m->tier;
    double tp_link =
        tier[weft_machine_tier(m, p->stride[WEFT_TP], p->l->tp)].bytes_per_s;
    double pp_link =
        tier[weft_machine_tier(m, p->stride[WEFT_PP], p->l->pp)].bytes_per_s;
    double dp_link =
        tier[weft_machine_tier(m, p->stride[WEFT_DP], p->l->dp)].bytes_per_s;

    /* weft_cost_tp_ratio() and weft_cost_pp_ratio() with the block's FLOPs at hand */
    double e = q->options.act_bytes, block = x->price->block_flops / p->l->tp / flops;
    double all = weft_cost_tp_block_bytes(&q->arch, WEFT_FORWARD, 1, p->l->tp, e);
    double boundary = weft_cost_pp_boundary_bytes(&q->arch, 1, p->l->tp, e, 1);
    out->ratio_tp = p->l->tp == 1 ? 0 : all / tp_link / block;
    out->ratio_pp = p->l->pp == 1 ? 0
                                  : boundary / pp_link /
                                        ((double)q->arch.layers / p->l->pp * block);
    double n = (double)p->l->dp, params = g->slowest.params;
    double tokens = (double)p->m * p->tokens;
    double passes = p->l->zero == 3               ? 3 * (double)p->m
                    : p->l->zero == 2 && p->m > 1 ? (double)p->rounds + 1
                                                  : 2;
    out->ratio_dp = n <= 1 ? 0
                           : passes * (n - 1) / n * params * q->options.param_bytes /
                                 dp_link / (4 * params * tokens / flops);
}

/* Returns 0 when it stopped on the way. Bounds and memory are those of the worst rank: what
 * one has is enough to say so. */
static int gather_all(wf_line *x, const wf_stop *stop, weft_cost *out, gathered *g)
{
    double tied = stop ? tied_s(x) : 0;

    memset(out, 0, sizeof *out);
    memset(g, 0, sizeof *g);
    g->busy_most = -1;
    out->exact_peak = 1;
    for (int r = 0; r < x->shape.p; r++) {
        gather_rank(x, r, out, g);
        if (!stop) continue;
        out->bound_s = g->alone + tied + g->optimizer;
        out->passes_s = g->bound + tied;
        if (out->bound_s > stop->late_s) return 0;
        if (g->least.total > stop->full_bytes) return 0;
    }
    return 1;
}

weft_status wf_cost_evaluate(const weft_cost_model *q, const weft_layout *l,
                             wf_prices *cache, const int64_t *stride,
                             const wf_stop *stop, weft_cost *out, weft_memory *least)
{
    wf_line own, *x;
    gathered g;

    WF_TRY(wf_line_get(q, l, cache, stride, &own, &x));
    int whole = gather_all(x, stop, out, &g);
    if (least) *least = g.least;
    if (!whole) return WEFT_OK;
    fill_parts(x, &g, NULL, estimate(x, &g), out);
    out->bound_s = g.bound + out->time.dp_comm + out->time.optimizer;
    /* The DP that the passes hide grows with them: of one rank both together never take less
     * on slower links, of two ranks they may. */
    if (stride) out->bound_s = g.alone + tied_s(x) + out->time.optimizer;
    out->passes_s = g.bound + tied_s(x);
    fill_rates(x, &g, out);
    fill_ratios(x, &g, out);
    out->fits = out->memory.total <= q->machine.memory_bytes;
    return WEFT_OK;
}

weft_status weft_cost_evaluate(const weft_cost_model *q, const weft_layout *l,
                               weft_cost *out)
{
    return wf_cost_evaluate(q, l, NULL, NULL, NULL, out, NULL);
}

void wf_cost_with_makespan(const weft_cost_model *q, const weft_layout *l,
                           wf_prices *cache, const weft_schedule *s, double makespan,
                           weft_cost *out)
{
    wf_line x;
    gathered g;
    weft_cost fresh;

    if (wf_line_make(q, l, cache, NULL, &x) != WEFT_OK) return;
    gather_all(&x, NULL, &fresh, &g);
    fill_parts(&x, &g, s, makespan, out);
    fill_rates(&x, &g, out);
}

void weft_cost_with_makespan(const weft_cost_model *q, const weft_layout *l,
                             const weft_schedule *s, double makespan, weft_cost *out)
{
    wf_cost_with_makespan(q, l, NULL, s, makespan, out);
}
