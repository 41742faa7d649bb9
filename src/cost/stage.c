/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

#include <string.h>

#include "layout/rule.h"

static double flops_of_a_token(const wf_place *p)
{
    weft_flops_rule rule = {1, WEFT_RECOMPUTE_NONE};
    weft_flops flops;

    if (p->q->options.params > 0) return 6 * p->q->options.params;
    weft_arch_flops(&p->q->arch, p->l->seq, rule, &flops);
    return flops.total;
}

void wf_price(const wf_place *p, wf_priced *out)
{
    memset(out, 0, sizeof *out);
    const struct weft_cost_derived *d = &p->q->derived;
    for (int kind = 0; kind < d->n_kinds; kind++)
        if (d->kind[kind].n_gemms) wf_layer_price(p, kind, &out->layer[kind]);
    wf_ends_price(p, out);
    wf_activations_price(p, out);
    out->flops = flops_of_a_token(p);
    out->block_flops = weft_cost_block_flops(&p->q->arch, WEFT_FORWARD, 1, 1);
}

/* With first, count and recompute set. */
static void fill_shape(const wf_place *p, int64_t stage, wf_stage_shape *s)
{
    const weft_arch *a = &p->q->arch;

    if (a->experts)
        s->moe = weft_arch_moe_layers_before(a, s->first + s->count) -
                 weft_arch_moe_layers_before(a, s->first);
    s->has_embed = stage == 0;
    s->has_head = stage == p->stages - 1;
}

void wf_stage_shape_get(const wf_place *p, int64_t stage, wf_stage_shape *out)
{
    wf_stage_shape s = {0};

    weft_layout_stage_layers(p->l, &p->q->arch, (int)stage, &s.first, &s.count);
    s.recompute = weft_layout_recompute(p->l, (int)stage);
    fill_shape(p, stage, &s);
    *out = s;
}

static void read_split(const char *text, wf_split *split)
{
    if (!strcmp(text, split->text)) return;
    if (!strcmp(text, "balanced") ||
        weft_stages_read(text, 4096, &split->n, split->count) != WEFT_OK)
        split->n = 0;
    memcpy(split->text, text, strlen(text) + 1);
}

void wf_stage_walk_start(const wf_place *p, wf_split *split, wf_stage_walk *w)
{
    const char *text = p->l->stage_layers;

    w->p = p;
    w->stage = w->first = 0;
    w->even = strcmp(text, "even") ? 0 : p->q->arch.layers / p->stages;
    w->recompute = wf_recompute_run(p->l, 0, &w->recomputes_to);
    w->split = split;
    if (!w->even) read_split(text, split);
}

void wf_stage_walk_next(wf_stage_walk *w, wf_stage_shape *out)
{
    int64_t stage = w->stage++;
    if (stage >= w->recomputes_to)
        w->recompute = wf_recompute_run(w->p->l, stage, &w->recomputes_to);
    wf_stage_shape s = {.first = w->first, .count = w->even, .recompute = w->recompute};

    if (!w->even && stage < w->split->n)
        s.count = w->split->count[stage];
    else if (!w->even)
        weft_layout_stage_layers(w->p->l, &w->p->q->arch, (int)stage, &s.first,
                                 &s.count);
    w->first = s.first + s.count;
    fill_shape(w->p, stage, &s);
    *out = s;
}

int wf_stage_walk_same(wf_stage_walk *w)
{
    int64_t s = w->stage;

    if (s < 2 || s >= w->p->stages - 1 || s >= w->recomputes_to ||
        w->p->q->arch.experts)
        return 0;
    if (!w->even && (s >= w->split->n || w->split->count[s] != w->split->count[s - 1]))
        return 0;
    w->first += w->even ? w->even : w->split->count[s];
    w->stage++;
    return 1;
}

static void add(weft_op_cost *sum, const weft_op_cost *x, double times)
{
    sum->compute += times * x->compute;
    sum->tp_comm += times * x->tp_comm;
    sum->cp_comm += times * x->cp_comm;
    sum->ep_comm += times * x->ep_comm;
    sum->total += times * x->total;
}

static void add_layers(const wf_layer_cost *x, weft_recompute r, double n,
                       weft_stage_cost *out)
{
    if (n <= 0) return;
    add(&out->f, &x->f, n);
    add(&out->b, &x->b, n);
    add(&out->i, &x->i, n);
    add(&out->w, &x->w, n);
    add(&out->r, &x->again[r], n);
}

static void add_bytes(const wf_place *p, const wf_priced *x, const wf_stage_shape *s,
                      weft_stage_cost *out)
{
    double n[2] = {(double)(s->count - s->moe), (double)s->moe}, layer = 0;

    for (int kind = 0; kind < 2; kind++) {
        double kept = s->recompute == WEFT_RECOMPUTE_FULL ? x->act_full
                      : s->recompute == WEFT_RECOMPUTE_SELECTIVE
                          ? x->act_selective[kind]
                          : x->act[kind];
        double again = x->act[kind] - kept;
        if (n[kind] <= 0) continue;
        out->act_bytes += n[kind] * kept;
        out->act_w_bytes += n[kind] * (x->act_w[kind] < kept ? x->act_w[kind] : kept);
        if (again + x->transient[kind] > layer) layer = again + x->transient[kind];
    }
    out->transient_bytes = layer;
    if (s->has_embed && p->q->options.dropout)
        out->act_bytes += p->tokens * (double)p->q->arch.hidden / (p->l->sp ? p->t : 1);
    if (s->has_head) {
        out->logits_bytes = wf_logits_bytes(p);
        out->act_bytes += 2 * x->act_full; /* into and out of the last norm */
    }
}

void wf_stage_price(const wf_place *p, const wf_priced *x, const wf_stage_shape *s,
                    weft_stage_cost *out)
{
    memset(out, 0, sizeof *out);
    out->first_layer = s->first;
    out->n_layers = s->count;
    add_layers(&x->layer[0], s->recompute, (double)(s->count - s->moe), out);
    add_layers(&x->layer[1], s->recompute, (double)s->moe, out);
    if (s->has_embed) {
        add(&out->f, &x->embed_f, 1);
        add(&out->b, &x->embed_b, 1);
        add(&out->w, &x->embed_b, 1);
    }
    if (s->has_head) {
        add(&out->f, &x->head_f, 1);
        add(&out->b, &x->head_i, 1);
        add(&out->b, &x->head_w, 1);
        add(&out->i, &x->head_i, 1);
        add(&out->w, &x->head_w, 1);
    }
    wf_params n = wf_stage_params(p, s);
    out->params = n.dense + n.expert;
    add_bytes(p, x, s, out);
}

void weft_cost_stage(const weft_cost_model *q, const weft_layout *l, int stage,
                     weft_stage_cost *out)
{
    wf_place p;
    wf_priced x;
    wf_stage_shape s;

    memset(out, 0, sizeof *out);
    if (wf_place_make(q, l, &p) != WEFT_OK) return;
    wf_price(&p, &x);
    wf_stage_shape_get(&p, stage, &s);
    wf_stage_price(&p, &x, &s, out);
}
