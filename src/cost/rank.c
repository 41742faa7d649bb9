/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/rank.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "schedule/ir.h"
#include "schedule/kind.h"

/* ---- stages, each sort priced once ----------------------------------------------- */

static int same_shape(const wf_stage_shape *a, const wf_stage_shape *b)
{
    return a->count == b->count && a->moe == b->moe && a->recompute == b->recompute &&
           a->has_embed == b->has_embed && a->has_head == b->has_head;
}

/* The sort of a stage, priced; the last place is taken over and over by those that find
 * no place of their own. */
static int sort_of(wf_line *x, const wf_stage_shape *s, int *kept)
{
    int i = 0;
    while (i < x->n_sorts && !same_shape(&x->sort[i].shape, s))
        i++;
    *kept = i < WF_SORTS - 1;
    if (i < x->n_sorts && *kept) return i;
    if (!*kept) i = WF_SORTS - 1;
    if (*kept) x->n_sorts = i + 1;
    x->sort[i].shape = *s;
    wf_stage_price(&x->p, x->price, s, &x->sort[i].cost);
    x->sort[i].params = wf_stage_params(&x->p, s);
    return i;
}

static int price_stage(wf_line *x, const wf_stage_shape *s, int64_t stage)
{
    int kept, i = sort_of(x, s, &kept);
    x->sort_of[stage] = (unsigned char)(kept ? i : WF_SORTS);
    return i;
}

const weft_stage_cost *wf_line_stage(wf_line *x, int64_t stage, wf_params *params)
{
    int i = x->sort_of[stage];
    if (i == WF_SORTS) {
        wf_stage_shape s;
        wf_stage_shape_get(&x->p, stage, &s);
        i = price_stage(x, &s, stage);
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

/* Between the two neighbours that are nearest: no hop of the pipeline takes less. */
static double least_hop_s(const wf_place *p)
{
    if (p->l->pp == 1) return 0;
    return wf_coll_s(p, WEFT_COLL_P2P, wf_p2p_bytes(p), WEFT_PP, 2) +
           wf_p2p_gather_s(p);
}

/* Does the next stage lie on the same rank? It does where a V turns: no message is sent. */
static int turns(const wf_line *x, int64_t stage)
{
    int v =
        x->shape.placement == WEFT_PLACE_V || x->shape.placement == WEFT_PLACE_BIDIRV;
    return v && (stage + 1) % x->shape.p == 0;
}

static void lay_out(wf_line *x, wf_split *split)
{
    double head = 0, tail = 0, hop = least_hop_s(&x->p);
    wf_stage_walk walk;

    wf_stage_walk_start(&x->p, split, &walk);
    double f = 0, b = 0;
    for (int64_t s = 0; s < x->p.stages; s++) {
        wf_stage_shape shape;
        if (s > 1 && wf_stage_walk_same(&walk)) {
            x->sort_of[s] = x->sort_of[s - 1];
        } else {
            wf_stage_walk_next(&walk, &shape);
            const weft_stage_cost *c = &x->sort[price_stage(x, &shape, s)].cost;
            f = c->f.total + hop;
            b = backward_s(x, c) + hop;
        }
        x->head[s] = head;
        x->tail[s] = tail;
        head += f;
        tail += b;
        if (turns(x, s)) {
            head -= hop;
            tail -= hop;
        }
    }
}

static weft_status read_shape(const weft_layout *l, wf_line *x)
{
    WF_TRY(weft_layout_shape(l, &x->shape));
    x->kind = weft_schedule_kind_find(l->schedule);
    return WEFT_OK;
}

/* Layouts that follow each other in a search mostly have one shape. */
static weft_status shape_of(const weft_layout *l, wf_prices *cache, wf_line *x)
{
    int m = (int)weft_layout_n_micro(l);

    if (!cache) return read_shape(l, x);
    wf_last_shape *last = &cache->last;
    if (last->p != l->pp || last->m != m || last->v != l->vpp ||
        last->group != l->group || strcmp(last->schedule, l->schedule) ||
        strcmp(last->placement, l->placement)) {
        WF_TRY(read_shape(l, x));
        memcpy(last->schedule, l->schedule, sizeof last->schedule);
        memcpy(last->placement, l->placement, sizeof last->placement);
        last->p = l->pp;
        last->m = m;
        last->v = l->vpp;
        last->group = l->group;
        last->shape = x->shape;
        last->kind = x->kind;
        return WEFT_OK;
    }
    x->shape = last->shape;
    x->kind = last->kind;
    return WEFT_OK;
}

/* Kinds in groups run the micro-batches of a group through a chunk one after the other. */
static int64_t rounds(const wf_line *x)
{
    int64_t m = x->shape.m, group = x->shape.group;
    return x->shape.v > 1 && group > 0 ? (m + group - 1) / group : m;
}

weft_status wf_line_make(const weft_cost_model *q, const weft_layout *l,
                         wf_prices *cache, const int64_t *stride, wf_line *x)
{
    WF_TRY(wf_place_make(q, l, &x->p));
    for (int axis = 0; stride && axis < WEFT_N_AXES; axis++)
        x->p.stride[axis] = stride[axis];
    WF_TRY(shape_of(l, cache, x));
    x->splits = weft_schedule_kind_splits(x->kind);
    x->p.stages = weft_schedule_stages(&x->shape);
    x->p.rounds = rounds(x);
    x->n_sorts = 0;
    x->kept = NULL;
    if (x->p.stages > WF_MAX_STAGES)
        return WF_FAIL(WEFT_E_INVALID,
                       "%lld stages (--pp %d * --vpp %d): %d are the most "
                       "that can be priced",
                       (long long)x->p.stages, l->pp, l->vpp, WF_MAX_STAGES);
    wf_split split;
    split.text[0] = 0;
    x->price = cache ? wf_prices_get(cache, &x->p) : &x->own;
    if (!cache) wf_price(&x->p, &x->own);
    lay_out(x, cache ? &cache->split : &split);
    return WEFT_OK;
}

/* Does what is kept go for this layout, but for ZeRO and copies? */
static int is_kept(const wf_kept_line *k, const weft_layout *l, const int64_t *stride)
{
    if (!k->used) return 0;
    if (k->layout.micro_batch != l->micro_batch) return 0; /* what differs most often */
    if (memcmp(k->stride, stride, sizeof k->stride)) return 0;
    weft_layout same = *l;
    same.zero = k->layout.zero;
    same.replicate = k->layout.replicate;
    return !memcmp(&same, &k->layout, sizeof same);
}

static weft_status keep(const weft_cost_model *q, const weft_layout *l,
                        wf_prices *cache, const int64_t *stride, wf_kept_line *k)
{
    k->used = 0;
    k->layout = *l;
    WF_TRY(wf_line_make(q, &k->layout, cache, stride, &k->line));
    k->line.own = *k->line.price; /* the cache may give its place away */
    k->line.price = &k->line.own;
    k->line.kept = k;
    memcpy(k->stride, stride, sizeof k->stride);
    memset(k->known, 0, (size_t)k->line.shape.p);
    return WEFT_OK;
}

weft_status wf_line_get(const weft_cost_model *q, const weft_layout *l,
                        wf_prices *cache, const int64_t *stride, wf_line *own,
                        wf_line **out)
{
    *out = own;
    if (!cache || !stride) return wf_line_make(q, l, cache, stride, own);
    wf_kept_line *k = cache->line;
    for (int i = 0; i < WF_LINES; i++) {
        if (is_kept(&cache->line[i], l, stride)) {
            k = &cache->line[i];
            break;
        }
        if (cache->line[i].used < k->used) k = &cache->line[i];
    }
    if (!is_kept(k, l, stride)) WF_TRY(keep(q, l, cache, stride, k));
    k->used = ++cache->clock;
    k->layout.zero = l->zero;
    k->layout.replicate = l->replicate;
    k->line.p.q = q;
    k->line.p.shards = l->zero ? k->line.p.replicas / l->replicate : 1;
    *out = &k->line;
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

/* n chunks of a sort. */
static void add_chunks(const wf_line *x, int sort, int n, wf_rank *r)
{
    const weft_stage_cost *c = &x->sort[sort].cost;
    const wf_params *params = &x->sort[sort].params;
    double part = n * share(x);

    r->f += part * c->f.total;
    r->b += part * c->b.total;
    r->i += part * c->i.total;
    r->w += part * c->w.total;
    r->r += part * c->r.total;
    add(&r->all, &c->f, part);
    add(&r->all, x->splits ? &c->i : &c->b, part);
    if (x->splits) add(&r->all, &c->w, part);
    add(&r->again, &c->r, part);
    r->params += n * (params->dense + params->expert);
    r->chunk_params = fmax(r->chunk_params, params->dense + params->expert);
    r->experts += n * params->expert;
    r->layers += n * c->n_layers;
    r->chunk_act = fmax(r->chunk_act, c->act_bytes);
    r->chunk_act_w = fmax(r->chunk_act_w, c->act_w_bytes);
    r->least_act = fmin(r->least_act, c->act_bytes);
    r->least_act_w = fmin(r->least_act_w, c->act_w_bytes);
    r->transient = fmax(r->transient, c->transient_bytes);
}

static void sum_rank(wf_line *x, int rank, wf_rank *out)
{
    wf_rank r = {.head_s = HUGE_VAL,
                 .tail_s = HUGE_VAL,
                 .least_act = HUGE_VAL,
                 .least_act_w = HUGE_VAL,
                 .n_chunks = x->shape.v};
    int n[WF_SORTS] = {0};

    for (int chunk = 0; chunk < x->shape.v; chunk++) {
        int stage = weft_schedule_stage(&x->shape, rank, chunk);
        int sort = x->sort_of[stage];
        if (x->head[stage] < r.head_s) r.head_s = x->head[stage];
        if (x->tail[stage] < r.tail_s) r.tail_s = x->tail[stage];
        r.has_head |= stage == x->p.stages - 1;
        if (sort < WF_SORTS) {
            n[sort]++;
        } else { /* priced again, into the last place */
            wf_line_stage(x, stage, NULL);
            add_chunks(x, WF_SORTS - 1, 1, &r);
        }
    }
    for (int i = 0; i < x->n_sorts; i++)
        if (n[i]) add_chunks(x, i, n[i], &r);
    *out = r;
}

void wf_line_rank(wf_line *x, int rank, wf_rank *out)
{
    wf_kept_line *k = x->kept;

    if (!k) {
        sum_rank(x, rank, out);
        return;
    }
    if (!k->known[rank]) sum_rank(x, rank, &k->rank[rank]);
    k->known[rank] = 1;
    *out = k->rank[rank];
}

int wf_line_copies(const wf_line *x, int rank)
{
    return x->kind->weight_copies ? x->kind->weight_copies(&x->shape, rank) : 1;
}

int64_t wf_line_peak(const wf_line *x, int rank, int *exact)
{
    int64_t n = x->kind->peak ? x->kind->peak(&x->shape, rank) : -1;
    *exact = n >= 0 && !x->splits; /* none has what waits for W */
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
    wf_rank_memory(&x->p, r, act, wf_line_copies(x, rank), out);
    out->stage = rank;
}

/* When most chunks are held, each holds at least what the smallest does; of those that only
 * wait for W the same goes for what W needs. */
static double least_held(const wf_rank *r, int64_t in_flight, int64_t in_flight_w)
{
    return fmax((double)in_flight * r->least_act, (double)in_flight_w * r->least_act_w);
}

static double most_held(const wf_rank *r, int64_t in_flight, int64_t in_flight_w)
{
    double only_w = in_flight_w > in_flight ? (double)(in_flight_w - in_flight) : 0;
    return (double)in_flight * r->chunk_act + only_w * r->chunk_act_w;
}

/* Of a rank with these counts. */
static void held(wf_line *x, int rank, int64_t in_flight, int64_t in_flight_w,
                 weft_memory *out)
{
    wf_rank r;
    int exact;

    wf_line_rank(x, rank, &r);
    if (in_flight < 0) {
        wf_line_memory(x, rank, &r, out, &exact);
        return;
    }
    double act = most_held(&r, in_flight, in_flight_w);
    wf_rank_memory(&x->p, &r, act, wf_line_copies(x, rank), out);
    out->stage = rank;
}

void weft_cost_memory(const weft_cost_model *q, const weft_layout *l, int rank,
                      int64_t in_flight, int64_t in_flight_w, weft_memory *out)
{
    wf_line x;

    memset(out, 0, sizeof *out);
    if (wf_line_make(q, l, NULL, NULL, &x) == WEFT_OK)
        held(&x, rank, in_flight, in_flight_w, out);
}

void wf_line_least(wf_line *x, int rank, const wf_rank *r, weft_memory *out)
{
    int64_t n = x->kind->peak ? x->kind->peak(&x->shape, rank) : 0;

    wf_rank_memory(&x->p, r, least_held(r, n > 0 ? n : 0, 0), wf_line_copies(x, rank),
                   out);
    out->stage = rank;
}

weft_status wf_cost_range(const weft_cost_model *q, const weft_layout *l,
                          wf_prices *cache, const int64_t *in_flight,
                          const int64_t *in_flight_w, weft_memory *least,
                          weft_memory *most)
{
    wf_line own, *x;

    WF_TRY(wf_line_get(q, l, cache, wf_all_near, &own, &x));
    least->total = most->total = -1;
    for (int r = 0; r < l->pp; r++) {
        int copies = wf_line_copies(x, r);
        int64_t n = in_flight[r], w = in_flight_w[r];
        wf_rank rank;
        weft_memory m;
        wf_line_rank(x, r, &rank);
        wf_rank_memory(&x->p, &rank, least_held(&rank, n, w), copies, &m);
        m.stage = r;
        if (m.total > least->total) *least = m;
        wf_rank_memory(&x->p, &rank, most_held(&rank, n, w), copies, &m);
        m.stage = r;
        if (m.total > most->total) *most = m;
    }
    return WEFT_OK;
}

weft_status wf_cost_least_memory(const weft_cost_model *q, const weft_layout *l,
                                 wf_prices *cache, double enough_bytes,
                                 weft_memory *out, int *closed)
{
    wf_line own, *x;

    WF_TRY(wf_line_get(q, l, cache, wf_all_near, &own, &x));
    *closed = x->kind->peak && x->kind->peak(&x->shape, 0) >= 0;
    out->total = -1;
    for (int r = 0; r < l->pp; r++) {
        wf_rank rank;
        weft_memory m;
        wf_line_rank(x, r, &rank);
        wf_line_least(x, r, &rank, &m);
        if (m.total > out->total) *out = m;
        if (m.total - m.params - m.temporaries - m.comm > enough_bytes) break;
    }
    return WEFT_OK;
}
