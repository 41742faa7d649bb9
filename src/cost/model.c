/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "cost/cost.h"
#include "cost/options.h"
#include "layout/split.h"

/* ---- the model, sorted by what splits it ----------------------------------------- */

static void add_layer_tensor(struct weft_cost_layer *k, const weft_tensor_info *t)
{
    double n = (double)t->size[0] * (double)(t->n_dims > 1 ? t->size[1] : 1);
    if (t->experts > 1)
        k->expert += n * (double)t->experts;
    else if (t->tp_dim >= 0)
        k->split += n;
    else
        k->whole += n;
}

static void add_end_tensor(weft_cost_model *q, const weft_tensor_info *t)
{
    struct weft_cost_derived *d = &q->derived;
    double n = (double)t->size[0] * (double)(t->n_dims > 1 ? t->size[1] : 1) *
               (double)t->experts;
    int head = t->layer >= q->arch.layers;

    if (t->layer > q->arch.layers) {
        d->mtp += n;
    } else if (t->is_vocab) {
        /* padded rows depend on tp: count the rows, not the values */
        *(head ? &d->head_rows : &d->embed_rows) += n / (double)t->size[t->tp_dim];
    } else if (t->tp_dim >= 0) {
        *(head ? &d->head_split : &d->embed_split) += n;
    } else {
        *(head ? &d->head_whole : &d->embed_whole) += n;
    }
}

static void fill_kind(weft_cost_model *q, int kind, int64_t layer)
{
    struct weft_cost_layer *k = &q->derived.kind[kind];
    const weft_arch *a = &q->arch;

    k->layer = layer;
    k->n_gemms = weft_arch_layer_gemms(a, layer, k->gemm);
    weft_arch_attention(a, layer, &k->attention);
    weft_arch_layer_width(a, layer, &k->width);
}

/* First dense layer (kind 0) and first MoE layer (kind 1); -1 where there is none. */
static void find_kinds(const weft_arch *a, int64_t layer[2])
{
    layer[0] = layer[1] = -1;
    for (int64_t i = 0; i < a->layers; i++) {
        int kind = weft_arch_layer_is_moe(a, i);
        if (layer[kind] < 0) layer[kind] = i;
        if (!a->experts || (layer[0] >= 0 && layer[1] >= 0)) return;
    }
}

static double share_of_windows(const weft_arch *a)
{
    int64_t with = 0;
    if (!a->window) return 0;
    for (int64_t i = 0; i < a->layers; i++) {
        weft_attention at;
        weft_arch_attention(a, i, &at);
        with += at.window > 0;
    }
    return (double)with / (double)a->layers;
}

static void derive(weft_cost_model *q)
{
    int64_t layer[2];

    memset(&q->derived, 0, sizeof q->derived);
    find_kinds(&q->arch, layer);
    for (int kind = 0; kind < 2; kind++)
        if (layer[kind] >= 0) fill_kind(q, kind, layer[kind]);
    q->derived.n_kinds = q->arch.experts ? 2 : 1;
    q->derived.windowed = share_of_windows(&q->arch);
    for (int i = 0; i < weft_arch_tensor_count(&q->arch); i++) {
        weft_tensor_info t;
        weft_arch_tensor(&q->arch, i, &t);
        if (t.layer < 0 || t.layer >= q->arch.layers)
            add_end_tensor(q, &t);
        else
            for (int kind = 0; kind < 2; kind++)
                if (t.layer == layer[kind])
                    add_layer_tensor(&q->derived.kind[kind], &t);
    }
}

/* Below this a step takes longer than anything has stood, and times overflow. */
static const double least_achieved = 1e6;

static weft_status check_achieved(const weft_cost_options *o)
{
    double f = o->achieved_flops_per_s;

    if (f == 0 || f >= least_achieved) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "--achieved-flops %g: at least %g FLOP/s of a rank are needed, such "
                   "as 400TFLOP/s; 0: off",
                   f, least_achieved);
}

/* A rate of the data sheet, or a measured one. */
static int has_rate(const weft_machine *m, int math)
{
    if (m->flops_per_s[math] > 0) return 1;
    for (int i = 0; i < m->n_gemms; i++)
        if (m->gemm[i].math == math) return 1;
    return 0;
}

/* What the machine has instead is of as many bits or more, if it has any such. */
static weft_status check_rate(const weft_machine *m, const weft_cost_options *o)
{
    int near = o->math;

    if (o->achieved_flops_per_s > 0 || has_rate(m, o->math)) return WEFT_OK;
    while (near >= 0 && !has_rate(m, near))
        near--;
    for (int i = 0; near < 0 && i < WEFT_N_MATHS; i++)
        if (has_rate(m, i)) near = i;
    return WF_FAIL(WEFT_E_INVALID,
                   "machine %s has no rate for %s; it has one for %s: --math %s (weft "
                   "train: --dtype)",
                   m->name, weft_math_name((weft_math)o->math),
                   weft_math_name((weft_math)near), weft_math_name((weft_math)near));
}

weft_status weft_cost_prepare(const weft_arch *a, const weft_machine *m,
                              const weft_cost_options *o, weft_cost_model *out)
{
    WF_TRY(weft_arch_check(a));
    WF_TRY(weft_machine_check(m));
    WF_TRY(wf_field_check(wf_cost_table(), o));
    WF_TRY(check_achieved(o));
    if (o->math < 0 || o->math >= WEFT_N_MATHS)
        return WF_FAIL(WEFT_E_INVALID, "arithmetic %d is none of weft_math", o->math);
    WF_TRY(check_rate(m, o));
    if (!(o->params >= 0 && o->params < 1e18))
        return WF_FAIL(WEFT_E_INVALID, "params %g is outside 0 .. 1e18", o->params);
    out->arch = *a;
    out->machine = *m;
    out->options = *o;
    derive(out);
    return WEFT_OK;
}

/* ---- a layout of it -------------------------------------------------------------- */

/* Ranks between neighbours on each axis, from "tp,cp,pp,dp" without a mesh being made. */
static void find_strides(wf_place *p)
{
    const char *at = p->l->order;
    int64_t stride = 1;

    for (; *at; at += strcspn(at, ",-"), at += *at != 0) {
        weft_axis axis = at[0] == 't'   ? WEFT_TP
                         : at[0] == 'c' ? WEFT_CP
                         : at[0] == 'p' ? WEFT_PP
                                        : WEFT_DP;
        p->stride[axis] = stride;
        stride *= axis == WEFT_TP   ? p->l->tp
                  : axis == WEFT_CP ? p->l->cp
                  : axis == WEFT_PP ? p->l->pp
                                    : p->l->dp;
    }
    p->stride[WEFT_EP] = p->stride[WEFT_DP];
}

weft_status wf_place_make(const weft_cost_model *q, const weft_layout *l, wf_place *out)
{
    wf_place p = {.q = q, .l = l};
    int world = weft_layout_world(l);

    if (world > weft_machine_ranks(&q->machine))
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the layout needs %d ranks, machine %s (%d x %d) has %d", world,
                       q->machine.name, q->machine.nodes, q->machine.ranks_per_node,
                       weft_machine_ranks(&q->machine));
    p.t = l->tp;
    p.batch = (double)l->micro_batch;
    p.queries = (double)l->seq / l->cp;
    p.tokens = p.batch * p.queries;
    p.m = p.rounds = weft_layout_n_micro(l);
    p.replicas = (int64_t)l->dp * l->cp;
    p.shards = l->zero ? p.replicas / l->replicate : 1;
    p.envelope = q->options.achieved_flops_per_s > 0;
    p.stages = wf_layout_stages(l);
    find_strides(&p);
    *out = p;
    return WEFT_OK;
}

double wf_coll_s(const wf_place *p, weft_collective c, double bytes, weft_axis axis,
                 int64_t size)
{
    if (size <= 1) return 0;
    return weft_machine_collective_s(&p->q->machine, c, bytes, p->stride[axis], size);
}
