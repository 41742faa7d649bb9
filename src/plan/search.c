/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best layout of one set of degrees. Its nodes are walked once; each variant that fits
 * becomes a point with a lower bound of its step, in a heap. The point with the least bound
 * is simulated, again and again, until the least bound is above what is known.
 */
#include "plan/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/rank.h"

/* ---- the search --------------------------------------------------------------------- */

enum { TICKS = 1024 };

/* Do links get no faster outwards, seen from any group? */
static int is_regular(const weft_machine *m)
{
    for (int i = 0; i < m->n_tiers; i++) {
        const weft_tier *t = &m->tier[i], *next = t + 1;
        double share = t->switched || t->ranks < 2 ? 1 : 1.0 / (t->ranks - 1);
        for (int c = 0; c < WEFT_N_COLLS; c++)
            if (t->measured[c].bytes_per_s > 0) return 0;
        if (i + 1 == m->n_tiers) break;
        if (t->bytes_per_s * t->efficiency * share <
            next->bytes_per_s * next->efficiency)
            return 0;
        if (t->alpha_s > next->alpha_s) return 0;
    }
    return 1;
}

void wf_search_init(wf_search *s, const weft_cost_model *q, const weft_plan_options *o)
{
    memset(s, 0, sizeof *s);
    s->q = q;
    s->o = o;
    s->space.q = q;
    s->space.o = o;
    s->next_call = TICKS;
    s->regular = is_regular(&q->machine);
}

void wf_search_clear(wf_search *s)
{
    wf_pool_clear(&s->pool);
}

weft_status wf_search_tick(wf_search *s)
{
    if (++s->counts.evaluated < s->next_call) return WEFT_OK;
    s->next_call += TICKS;
    if (s->o->progress && s->o->progress(s->o->ctx, &s->counts))
        return WF_FAIL(WEFT_E_CANCELLED, "the search was stopped after %lld layouts",
                       (long long)s->counts.enumerated);
    return WEFT_OK;
}

/* ---- a heap of points, least bound first -------------------------------------------- */

typedef struct heap {
    int64_t n, cap;
    wf_point *at;
} heap;

static void swap(wf_point *a, wf_point *b)
{
    wf_point x = *a;
    *a = *b;
    *b = x;
}

static weft_status push(heap *h, const wf_point *p)
{
    WF_TRY(wf_grow(&h->at, &h->cap, h->n + 1, sizeof *h->at));
    int64_t i = h->n++;
    h->at[i] = *p;
    for (; i > 0 && h->at[i].bound < h->at[(i - 1) / 2].bound; i = (i - 1) / 2)
        swap(&h->at[i], &h->at[(i - 1) / 2]);
    return WEFT_OK;
}

static wf_point pop(heap *h)
{
    wf_point least = h->at[0];
    h->at[0] = h->at[--h->n];
    for (int64_t i = 0;;) {
        int64_t k = 2 * i + 1;
        if (k >= h->n) break;
        if (k + 1 < h->n && h->at[k + 1].bound < h->at[k].bound) k++;
        if (h->at[i].bound <= h->at[k].bound) break;
        swap(&h->at[i], &h->at[k]);
        i = k;
    }
    return least;
}

/* ---- one set of degrees --------------------------------------------------------------- */

typedef struct find {
    wf_search *s;
    heap heap;
    int n_orders;
    char order[WF_MOST_ORDERS][24];
    int64_t n_rows, cap_rows;
    weft_plan_row *row; /* simulated, within the tie of the fastest when they were */
    double fastest, cutoff;
    double estimate; /* least so far of what fits */
    double passes;   /* no variant of the way that is looked at takes less */

    /* micro-batch from which nothing fits, of this schedule and split; 0: not known */
    int64_t full_from;
    int full_vpp;
    char full_schedule[16], full_split[256];
} find;

/* The strides that bound every order; NULL where links are such that none do. */
static const int64_t *near(const find *f)
{
    return f->s->regular ? wf_all_near : NULL;
}

/* A bound that is as long as the step may come out longer by its rounding. */
static const double rounding = 1 + 1e-9;

/* Steps above this are not looked for. */
static double limit(const find *f)
{
    double known = f->fastest < f->cutoff ? f->fastest : f->cutoff;
    return f->s->o->every ? HUGE_VAL : known * (1 + f->s->o->tie) * rounding;
}

static void count_simulated(find *f, int fits)
{
    weft_plan_counts *c = &f->s->counts;

    c->bounded--; /* it was counted there when it was found to fit */
    if (fits) {
        c->simulated++;
    } else { /* what it holds had not settled */
        c->feasible--;
        f->s->space.rejected[WF_RULE_MEMORY]++;
    }
}

static weft_status simulate(find *f, const weft_layout *l)
{
    weft_plan_row r;

    memset(&r, 0, sizeof r);
    r.layout = *l;
    WF_TRY(wf_value(&f->s->pool, f->s->q, l, NULL, &r.cost));
    WF_TRY(wf_simulate_step(&f->s->pool, f->s->q, l, &r.cost));
    if (r.cost.step_time_s <= limit(f))
        WF_TRY(wf_hold(&f->s->pool, f->s->q, l, &r.cost));
    count_simulated(f, r.cost.fits);
    if (!r.cost.fits) return WEFT_OK;
    if (r.cost.step_time_s > limit(f)) return WEFT_OK;
    if (r.cost.step_time_s < f->fastest) f->fastest = r.cost.step_time_s;
    WF_TRY(wf_grow(&f->row, &f->cap_rows, f->n_rows + 1, sizeof *f->row));
    f->row[f->n_rows++] = r;
    return WEFT_OK;
}

static int runs_with_tool(const find *f, const weft_layout *l)
{
    return f->s->o->tool < 0 ||
           weft_emit_check((weft_tool)f->s->o->tool, l, &f->s->q->arch) == WEFT_OK;
}

static weft_status push_order(find *f, const wf_point *p)
{
    wf_point x = *p;

    if (!runs_with_tool(f, &x.l)) {
        f->s->space.rejected[WF_RULE_TOOL]++;
        f->s->counts.bounded--;
        f->s->counts.feasible--;
        return WEFT_OK;
    }
    WF_TRY(wf_bound(&f->s->pool, f->s->q, &x.l, NULL, HUGE_VAL, &x.bound));
    WF_TRY(wf_search_tick(f->s));
    x.expanded = 1;
    return x.bound <= limit(f) ? push(&f->heap, &x) : WEFT_OK;
}

/* Does an order that begins as order[i] does, as far as its first n axes that matter, have a
 * chance? What follows them is at least as far apart as all of them together. */
static weft_status may_win(find *f, const wf_point *p, int i, int n, int *out)
{
    int64_t stride[WEFT_N_AXES], span = 1;
    weft_layout l = p->l;
    weft_mesh mesh;
    double bound;

    *out = 1;
    if (!f->s->regular || f->s->o->tool >= 0) return WEFT_OK; /* all are looked at */
    memcpy(l.order, f->order[i], sizeof f->order[i]);
    WF_TRY(weft_layout_mesh(&l, &mesh));
    for (int k = 0; k < WEFT_N_AXES; k++)
        stride[k] = 0;
    for (int k = 0; k < mesh.n_axes && n > 0; k++) {
        if (mesh.size[k] == 1) continue;
        stride[mesh.axis[k]] = span;
        span *= mesh.size[k];
        n--;
    }
    for (int k = 0; k < WEFT_N_AXES; k++)
        if (!stride[k]) stride[k] = span;
    stride[WEFT_EP] = stride[WEFT_DP];
    WF_TRY(wf_bound(&f->s->pool, f->s->q, &p->l, stride, limit(f), &bound));
    WF_TRY(wf_search_tick(f->s));
    *out = bound <= limit(f);
    return WEFT_OK;
}

/* Orders stand in the list by their first axis, then by their second: a beginning without a
 * chance takes all of its orders with it. */
static weft_status expand_run(find *f, const wf_point *p, int from, int count,
                              int depth, int n_axes)
{
    for (int i = from, k; i < from + count; i += k) {
        int may;
        k = count / (n_axes - depth);
        if (k > 1) {
            WF_TRY(may_win(f, p, i, depth + 1, &may));
            if (may) WF_TRY(expand_run(f, p, i, k, depth + 1, n_axes));
            continue;
        }
        wf_point x = *p;
        memcpy(x.l.order, f->order[i], sizeof f->order[i]);
        WF_TRY(push_order(f, &x));
    }
    return WEFT_OK;
}

static weft_status expand(find *f, const wf_point *p)
{
    const weft_layout *l = &p->l;
    int n = (l->tp > 1) + (l->cp > 1) + (l->pp > 1) + (l->dp > 1);

    if (f->n_orders == 1) {
        wf_point x = *p;
        memcpy(x.l.order, f->order[0], sizeof f->order[0]);
        return push_order(f, &x);
    }
    return expand_run(f, p, 0, f->n_orders, 0, n);
}

/* Fitting layouts count as bounded until they are simulated. */
static void count(find *f, int variants, int fits)
{
    weft_plan_counts *c = &f->s->counts;
    int64_t n = (int64_t)variants * f->n_orders;

    c->enumerated += n;
    if (!fits) {
        f->s->space.rejected[WF_RULE_MEMORY] += n;
        return;
    }
    c->bounded += n;
    c->feasible += n;
}

/* A layout that promises to be the best so far is simulated at once, so that what is slower
 * need not be kept. It stays in the heap. */
static weft_status look_ahead(find *f, const weft_layout *l, weft_cost c)
{
    if (f->s->o->every || c.step_time_s > 0.99 * f->estimate) return WEFT_OK;
    f->estimate = c.step_time_s;
    if (!runs_with_tool(f, l)) return WEFT_OK;
    WF_TRY(wf_value(&f->s->pool, f->s->q, l, NULL, &c));
    WF_TRY(wf_simulate_step(&f->s->pool, f->s->q, l, &c));
    WF_TRY(wf_hold(&f->s->pool, f->s->q, l, &c));
    if (c.fits && c.step_time_s < f->fastest) f->fastest = c.step_time_s;
    return WEFT_OK;
}

/* What is known of a variant: it is slower than what is looked for, it fits, it does not. */
typedef enum verdict { LATE, FITS, FULL } verdict;

/* Price a layout for all orders. *bytes: of one that does not fit what it holds all the time
 * or again and again; with less recompute a rank never holds less than that. */
static weft_status judge(find *f, const weft_layout *l, weft_cost *c, verdict *out,
                         double *bytes)
{
    double most_s = f->s->regular && !f->s->o->every ? limit(f) : HUGE_VAL;

    WF_TRY(wf_value_until(&f->s->pool, f->s->q, l, near(f), most_s, c));
    WF_TRY(wf_search_tick(f->s));
    *bytes = c->fits ? 0 : c->memory.total - c->memory.temporaries;
    *out = !c->fits ? FULL : f->s->regular && c->bound_s > limit(f) ? LATE : FITS;
    return WEFT_OK;
}

static weft_status keep(find *f, const weft_layout *l, const weft_cost *c)
{
    wf_point p = {.l = *l};

    p.bound = f->s->regular ? c->bound_s : 0;
    WF_TRY(look_ahead(f, l, *c));
    return push(&f->heap, &p);
}

/* One that is too slow counts as one that fits: so is what has more recompute or ZeRO. */
static weft_status visit_variant(find *f, const weft_layout *node, const wf_variant *v,
                                 verdict *out, double *bytes)
{
    weft_layout l = *node;
    weft_cost c;

    wf_variant_apply(v, &l);
    WF_TRY(judge(f, &l, &c, out, bytes));
    count(f, 1, *out != FULL);
    if (v->rank == 0 && c.passes_s > f->passes) f->passes = c.passes_s;
    return *out == FITS ? keep(f, &l, &c) : WEFT_OK;
}

/* What is known of the recomputes of one ZeRO stage with so many copies. */
typedef struct fitting {
    int least[4]; /* by ZeRO stage: no less recompute fits, nor with more copies */
    int fit;      /* of what fitted with a lower stage of at least 1 the least      */
    int full[3];  /* these do not fit                                             */
} fitting;

/* v[0 .. n-1] differ in recompute alone, less first. More than fitted with a lower stage is
 * slower and less simple than that, and only counted. The same holds for more recompute than
 * fits here. */
static weft_status visit_recomputes(find *f, const weft_layout *node,
                                    const wf_variant *v, int n, fitting *x)
{
    int left = 0;
    double bytes, room = f->s->q->machine.memory_bytes;
    verdict is;

    while (left < n && (f->s->o->every || v[left].rank < x->fit))
        left++;
    count(f, n - left, 1);
    for (int i = 0; i < left; i++) {
        WF_TRY(visit_variant(f, node, &v[i], &is, &bytes));
        if (v[i].rank < 3) x->full[v[i].rank] = is == FULL;
        if (is != FULL && !f->s->o->every) {
            count(f, left - 1 - i, 1);
            x->fit = v[i].rank;
            return WEFT_OK;
        }
        if (f->s->o->every || i > 0 || left < 3) continue;
        /* none does not fit: does full? If not, what is between does not either */
        WF_TRY(visit_variant(f, node, &v[--left], &is, &bytes));
        x->full[2] = is == FULL;
        if (bytes > room) {
            count(f, left - 1, 0);
            x->full[1] = 1;
            return WEFT_OK;
        }
        if (is != FULL) x->fit = v[left].rank;
    }
    return WEFT_OK;
}

/* ---- one way ---------------------------------------------------------------------------- */

/* One ZeRO stage with so many copies. */
static weft_status visit_zero(find *f, const weft_layout *node, const wf_variant *v,
                              int n, fitting *x)
{
    int *least = &x->least[v->zero], skip = 0;

    memset(x->full, 0, sizeof x->full);
    for (; skip < n && !f->s->o->every && v[skip].rank < *least; skip++)
        if (v[skip].rank < 3) x->full[v[skip].rank] = 1;
    count(f, skip, 0);
    WF_TRY(visit_recomputes(f, node, v + skip, n - skip, x));
    while (*least < 3 && x->full[*least])
        ++*least;
    return WEFT_OK;
}

/* Bytes that no layout with the variant's sp and cp_comm does without, whatever its ZeRO and
 * recompute: gradients and optimizer sharded, the inputs of the layers. Weights and what is
 * there for a while are left out: ZeRO-3 holds two layers' weights beside its shards. */
static weft_status floor_bytes(find *f, const weft_layout *node, const wf_variant *v,
                               weft_memory *m, double *out)
{
    weft_layout l = *node;

    wf_variant_apply(v, &l);
    l.zero = 3;
    l.replicate = 1;
    memcpy(l.recompute, "full", sizeof "full");
    WF_TRY(wf_least_memory(&f->s->pool, f->s->q, &l, f->s->q->machine.memory_bytes, m));
    WF_TRY(wf_search_tick(f->s));
    *out = m->total - m->params - m->temporaries;
    return WEFT_OK;
}

/* The same with a ZeRO stage and copies, from the memory m of floor_bytes(): what the stage
 * leaves whole is at least as many times the share as ranks share the experts, or the rest;
 * what it shards, as there are copies, or as many. */
static double floor_of_zero(const find *f, const weft_layout *node,
                            const weft_memory *m, const wf_variant *v)
{
    const weft_cost_options *o = &f->s->q->options;
    double ranks = (double)node->dp * node->cp / node->ep;
    double copies = v->replicate < ranks ? v->replicate : ranks;
    double whole = m->optimizer * ranks; /* for all parameters */
    double rest = m->total - m->params - m->temporaries - m->grads - m->optimizer;

    if (v->zero < 3 && o->optimizer_bytes > 0)
        rest += whole / o->optimizer_bytes * o->param_bytes;
    return rest + m->grads * (v->zero < 2 ? ranks : copies) +
           m->optimizer * (v->zero < 1 ? ranks : copies);
}

/* Copies change what data parallelism takes, and nothing else in time. */
static int copies_are_late(const find *f, const wf_variant *v)
{
    return v->replicate > 1 && f->s->regular && !f->s->o->every && f->passes > limit(f);
}

static weft_status visit_way(find *f, const weft_layout *node, wf_way way)
{
    fitting x = {.fit = 9};
    int quick = !f->s->o->every && !(f->s->q->options.achieved_flops_per_s > 0);
    double bytes = 0, room = f->s->q->machine.memory_bytes;
    weft_memory m;

    if (quick) WF_TRY(floor_bytes(f, node, way.v, &m, &bytes));
    if (bytes > room) {
        count(f, way.n, 0);
        return WEFT_OK;
    }
    f->passes = 0;
    for (int i = 0, k; i < way.n; i += k) {
        const wf_variant *v = way.v + i;
        for (k = 1;
             i + k < way.n && v[k].zero == v->zero && v[k].replicate == v->replicate;)
            k++;
        if (v->zero <= 1 || v->replicate != v[-(i > 0)].replicate)
            x.fit = 9; /* stage 0 may update slower, and fewer copies gather slower */
        if (copies_are_late(f, v))
            count(f, k, 1);
        else if (quick && floor_of_zero(f, node, &m, v) > room)
            count(f, k, 0);
        else
            WF_TRY(visit_zero(f, node, v, k, &x));
    }
    return WEFT_OK;
}

/* Does the mean work of a rank alone take longer than what is looked for? */
static weft_status is_late(find *f, const weft_layout *node, const wf_variant *v,
                           int *late)
{
    weft_layout l = *node;
    double least;

    *late = 0;
    if (f->s->o->every || !f->s->regular || f->s->q->options.achieved_flops_per_s > 0)
        return WEFT_OK;
    wf_variant_apply(v, &l);
    WF_TRY(wf_cost_least_s(f->s->q, &l, &f->s->pool.prices, wf_all_near, &least));
    *late = least > limit(f);
    return WEFT_OK;
}

static void count_late(find *f, int variants)
{
    f->s->counts.enumerated += (int64_t)variants * f->n_orders;
    f->s->counts.bounded += (int64_t)variants * f->n_orders;
}

/* Micro-batches come in ascending order, and larger ones never take less: of a schedule and
 * split one that was too large is the last that need be weighed. */
static int is_too_large(find *f, const weft_layout *node)
{
    if (f->full_from > 0 && node->micro_batch >= f->full_from &&
        node->vpp == f->full_vpp && !strcmp(node->schedule, f->full_schedule) &&
        !strcmp(node->stage_layers, f->full_split))
        return 1;
    f->full_from = 0;
    return 0;
}

static void was_too_large(find *f, const weft_layout *node)
{
    f->full_from = node->micro_batch;
    f->full_vpp = node->vpp;
    memcpy(f->full_schedule, node->schedule, sizeof f->full_schedule);
    memcpy(f->full_split, node->stage_layers, sizeof f->full_split);
}

/* Can no variant at all fit? The last way has sequence parallelism, where there is one. */
static weft_status is_full(find *f, const weft_layout *node, const wf_variant *last,
                           int *full)
{
    weft_memory m;
    double bytes;

    *full = 0;
    if (f->s->o->every || f->s->q->options.achieved_flops_per_s > 0) return WEFT_OK;
    *full = is_too_large(f, node);
    if (*full) return WEFT_OK;
    WF_TRY(floor_bytes(f, node, last, &m, &bytes));
    *full = bytes - m.comm > f->s->q->machine.memory_bytes;
    if (*full) was_too_large(f, node);
    return WEFT_OK;
}

static weft_status visit_ways(find *f, const weft_layout *node)
{
    const wf_space *s = &f->s->space;
    int late;

    for (int i = 0; i < s->n_ways; i++) {
        WF_TRY(is_late(f, node, s->way[i].v, &late));
        if (late)
            count_late(f, s->way[i].n);
        else
            WF_TRY(visit_way(f, node, s->way[i]));
    }
    return WEFT_OK;
}

static weft_status all_late(find *f, const weft_layout *node, int *late)
{
    const wf_space *s = &f->s->space;

    *late = 1;
    for (int i = 0; i < s->n_ways && *late; i++)
        WF_TRY(is_late(f, node, s->way[i].v, late));
    return WEFT_OK;
}

static weft_status visit_node(void *ctx, const weft_layout *node)
{
    find *f = ctx;
    wf_space *s = &f->s->space;
    int late, full;

    wf_space_variants(s, node);
    if (s->n_variants == 0) return WEFT_OK;
    WF_TRY(all_late(f, node, &late));
    if (late) {
        count_late(f, s->n_variants);
        return WEFT_OK;
    }
    WF_TRY(is_full(f, node, s->way[s->n_ways - 1].v, &full));
    if (!full) return visit_ways(f, node);
    count(f, s->n_variants, 0);
    return WEFT_OK;
}

/* ---- two rounds ------------------------------------------------------------------------ */

/* Simulate until no bound is below the fastest, which is then known. */
static weft_status find_fastest(find *f)
{
    double tie = 1 + f->s->o->tie;
    while (f->heap.n && (f->s->o->every || f->heap.at[0].bound <= limit(f) / tie)) {
        wf_point p = pop(&f->heap);
        if (p.expanded)
            WF_TRY(simulate(f, &p.l));
        else
            WF_TRY(expand(f, &p));
    }
    return WEFT_OK;
}

static int simplest_first(const void *a, const void *b)
{
    const wf_point *x = a, *y = b;
    int64_t m = weft_plan_complexity(&x->l), n = weft_plan_complexity(&y->l);
    if (m != n) return m < n ? -1 : 1;
    return (x->bound > y->bound) - (x->bound < y->bound);
}

/* Of what may be within the tie only the simpler ones matter: from the simplest on, until
 * one was simulated that is as simple as all that follow. */
static weft_status find_simplest(find *f)
{
    heap rest = f->heap;
    weft_status st = WEFT_OK;

    f->heap = (heap){0};
    for (int64_t i = 0; i < rest.n && st == WEFT_OK; i++) {
        if (rest.at[i].bound > limit(f)) continue;
        st = rest.at[i].expanded ? push(&f->heap, &rest.at[i]) : expand(f, &rest.at[i]);
    }
    wf_free(rest.at);
    WF_TRY(st);
    if (f->heap.n)
        qsort(f->heap.at, (size_t)f->heap.n, sizeof *f->heap.at, simplest_first);
    for (int64_t i = 0; i < f->heap.n; i++) {
        const wf_point *p = &f->heap.at[i];
        int best = f->n_rows ? wf_winner(f->row, (int)f->n_rows, f->s->o->tie) : -1;
        if (best >= 0) {
            int64_t known = weft_plan_complexity(&f->row[best].layout);
            int64_t here = weft_plan_complexity(&p->l);
            if (here > known) break;
            if (here == known && p->bound > f->row[best].cost.step_time_s) continue;
        }
        WF_TRY(simulate(f, &p->l));
    }
    return WEFT_OK;
}

static weft_status search(find *f, const wf_degrees *d)
{
    f->n_orders = wf_space_orders(&f->s->space, d, f->order);
    WF_TRY(wf_space_nodes(&f->s->space, d, visit_node, f));
    WF_TRY(find_fastest(f));
    return find_simplest(f);
}

weft_status wf_search_degrees(wf_search *s, const wf_degrees *d, double cutoff,
                              weft_plan_row *out, int *found)
{
    find f = {.s = s, .fastest = HUGE_VAL, .cutoff = cutoff, .estimate = HUGE_VAL};
    weft_status st = search(&f, d);

    *found = 0;
    if (st == WEFT_OK && f.n_rows && f.fastest <= (s->o->every ? HUGE_VAL : cutoff)) {
        *out = f.row[wf_winner(f.row, (int)f.n_rows, s->o->tie)];
        *found = 1;
    }
    wf_free(f.row);
    wf_free(f.heap.at);
    return st;
}
