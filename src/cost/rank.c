/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/rank.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "schedule/kind.h"

/* ---- stages, each sort priced once ----------------------------------------------- */

static int same_shape(const wf_stage_shape *a, const wf_stage_shape *b)
{
    return a->count == b->count && a->moe == b->moe && a->recompute == b->recompute &&
           a->has_embed == b->has_embed && a->has_head == b->has_head;
}

const weft_stage_cost *wf_line_stage(wf_line *x, int64_t stage, wf_params *params)
{
    wf_stage_shape s;
    wf_stage_shape_get(&x->p, stage, &s);
    int i = 0;
    while (i < x->n_sorts && !same_shape(&x->sort[i].shape, &s))
        i++;
    if (i == x->n_sorts) {
        if (i == WF_SORTS)
            i = WF_SORTS - 1; /* price again rather than keep */
        else
            x->n_sorts++;
        x->sort[i].shape = s;
        wf_stage_price(&x->p, &x->price, &s, &x->sort[i].cost);
        x->sort[i].params = wf_stage_params(&x->p, &s);
    }
    if (params) *params = x->sort[i].params;
    return &x->sort[i].cost;
}

/* ---- the line of stages ---------------------------------------------------------- */

static double backward_s(const wf_line *x, const weft_stage_cost *c)
{
    double input = x->splits && c->i.total < c->b.total ? c->i.total : c->b.total;
    return input + c->r.total;
}

weft_status wf_line_make(const weft_cost_model *q, const weft_layout *l, wf_line *x)
{
    WF_TRY(wf_place_make(q, l, &x->p));
    WF_TRY(weft_layout_shape(l, &x->shape));
    x->kind = weft_schedule_kind_find(l->schedule);
    x->splits = strstr(l->schedule, "zb") || l->schedule[0] == 'v' ||
                !strncmp(l->schedule, "dual", 4) || !strcmp(l->schedule, "optimal");
    x->p.stages = weft_schedule_stages(&x->shape);
    x->n_sorts = 0;
    if (x->p.stages > WF_MAX_STAGES)
        return WF_FAIL(WEFT_E_INVALID,
                       "%lld stages (--pp %d * --vpp %d): %d are the most "
                       "that can be priced",
                       (long long)x->p.stages, l->pp, l->vpp, WF_MAX_STAGES);
    wf_price(&x->p, &x->price);
    double head = 0, tail = 0, hop = wf_p2p_s(&x->p);
    for (int64_t s = 0; s < x->p.stages; s++) {
        const weft_stage_cost *c = wf_line_stage(x, s, NULL);
        x->head[s] = head;
        x->tail[s] = tail;
        head += c->f.total + (x->p.l->pp > 1 ? hop : 0);
        tail += backward_s(x, c) + (x->p.l->pp > 1 ? hop : 0);
    }
    return WEFT_OK;
}

/* ---- one rank -------------------------------------------------------------------- */

static void add(weft_op_cost *sum, const weft_op_cost *x, double times)
{
    sum->compute += times * x->compute;
    sum->tp_comm += times * x->tp_comm;
    sum->cp_comm += times * x->cp_comm;
    sum->ep_comm += times * x->ep_comm;
    sum->total += times * x->total;
}

/* Two directions: a chunk sees half of the micro-batches. */
static double share(const wf_line *x)
{
    return x->kind->two_ways ? 0.5 : 1;
}

static void add_chunk(wf_line *x, int64_t stage, wf_rank *r)
{
    wf_params n;
    const weft_stage_cost *c = wf_line_stage(x, stage, &n);
    double part = share(x);

    r->f += part * c->f.total;
    r->b += part * c->b.total;
    r->i += part * c->i.total;
    r->w += part * c->w.total;
    r->r += part * c->r.total;
    add(&r->all, &c->f, part);
    add(&r->all, x->splits ? &c->i : &c->b, part);
    if (x->splits) add(&r->all, &c->w, part);
    add(&r->again, &c->r, part);
    r->params += n.dense + n.expert;
    r->experts += n.expert;
    r->layers += c->n_layers;
    r->has_head |= stage == x->p.stages - 1;
    r->head_s = fmin(r->head_s, x->head[stage]);
    r->tail_s = fmin(r->tail_s, x->tail[stage]);
    r->chunk_act = fmax(r->chunk_act, c->act_bytes);
    r->chunk_act_w = fmax(r->chunk_act_w, c->act_w_bytes);
    r->transient = fmax(r->transient, c->transient_bytes);
}

void wf_line_rank(wf_line *x, int rank, wf_rank *out)
{
    wf_rank r = {.head_s = HUGE_VAL, .tail_s = HUGE_VAL, .n_chunks = x->shape.v};
    for (int chunk = 0; chunk < x->shape.v; chunk++)
        add_chunk(x, weft_schedule_stage(&x->shape, rank, chunk), &r);
    *out = r;
}

int64_t wf_line_peak(const wf_line *x, int rank, int *exact)
{
    int64_t n = x->kind->peak ? x->kind->peak(&x->shape, rank) : -1;
    *exact = n >= 0;
    if (n >= 0) return n;
    /* as 1F1B, within which most kinds keep; simulation has the real count */
    n = (int64_t)x->shape.p * x->shape.v;
    int64_t most = (int64_t)x->shape.m * x->shape.v;
    return n < most ? n : most;
}

void wf_line_memory(wf_line *x, int rank, const wf_rank *r, weft_memory *out,
                    int *exact)
{
    double act = (double)wf_line_peak(x, rank, exact) * r->chunk_act;
    wf_rank_memory(&x->p, r, act, weft_schedule_weight_copies(&x->shape, rank), out);
    out->stage = rank;
}

void weft_cost_memory(const weft_cost_model *q, const weft_layout *l, int rank,
                      int64_t in_flight, int64_t in_flight_w, weft_memory *out)
{
    wf_line x;
    wf_rank r;
    int exact;

    memset(out, 0, sizeof *out);
    if (wf_line_make(q, l, &x) != WEFT_OK) return;
    wf_line_rank(&x, rank, &r);
    if (in_flight < 0) {
        wf_line_memory(&x, rank, &r, out, &exact);
        return;
    }
    double act = (double)in_flight * r.chunk_act;
    if (in_flight_w > in_flight)
        act += (double)(in_flight_w - in_flight) * r.chunk_act_w;
    wf_rank_memory(&x.p, &r, act, weft_schedule_weight_copies(&x.shape, rank), out);
    out->stage = rank;
}
