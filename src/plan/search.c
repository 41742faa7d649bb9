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

/* Steps above this are not looked for. */
static double limit(const find *f)
{
    double known = f->fastest < f->cutoff ? f->fastest : f->cutoff;
    return f->s->o->every ? HUGE_VAL : known * (1 + f->s->o->tie);
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
    f->s->counts.bounded--; /* it was counted there when it was found to fit */
    if (!r.cost.fits) {     /* what it holds had not settled */
        f->s->counts.feasible--;
        f->s->space.rejected[WF_RULE_MEMORY]++;
        return WEFT_OK;
    }
    f->s->counts.simulated++;
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

/* Price a variant for all orders. One that is too slow counts as one that fits: so is what has
 * more recompute or ZeRO. *bytes: of one that does not fit what it holds all the time or
 * again and again; with less recompute a rank never holds less than that. */
static weft_status visit_variant(find *f, const weft_layout *node, const wf_variant *v,
                                 int *fits, double *bytes)
{
    wf_point p = {.l = *node};
    weft_cost c;

    wf_variant_apply(v, &p.l);
    double most_s = f->s->regular && !f->s->o->every ? limit(f) : HUGE_VAL;
    WF_TRY(wf_value_until(&f->s->pool, f->s->q, &p.l, near(f), most_s, &c));
    WF_TRY(wf_search_tick(f->s));
    count(f, 1, *fits = c.fits);
    *bytes = c.fits ? 0 : c.memory.total - c.memory.temporaries;
    p.bound = f->s->regular ? c.bound_s : 0;
    if (!c.fits || p.bound > limit(f)) return WEFT_OK;
    WF_TRY(look_ahead(f, &p.l, c));
    return push(&f->heap, &p);
}

/* One ZeRO stage: v[0 .. n-1] differ in recompute alone, less first. *fit: of what fitted
 * with a lower stage of at least 1 the least recompute; more is slower and less simple than
 * that, and only counted. The same holds for more recompute than fits here. */
static weft_status visit_zero(find *f, const weft_layout *node, const wf_variant *v,
                              int n, int *fit)
{
    int left = 0, fits;
    double bytes, room = f->s->q->machine.memory_bytes;

    while (left < n && (f->s->o->every || v[left].rank < *fit))
        left++;
    count(f, n - left, 1);
    for (int i = 0; i < left; i++) {
        WF_TRY(visit_variant(f, node, &v[i], &fits, &bytes));
        if (fits && !f->s->o->every) {
            count(f, left - 1 - i, 1);
            *fit = v[i].rank;
            return WEFT_OK;
        }
        if (f->s->o->every || i > 0 || left < 3) continue;
        /* none does not fit: does full? If not, what is between does not either */
        WF_TRY(visit_variant(f, node, &v[--left], &fits, &bytes));
        if (bytes > room) {
            count(f, left - 1, 0);
            return WEFT_OK;
        }
        if (fits) *fit = v[left].rank;
    }
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

/* The same with a ZeRO stage, from the memory m of floor_bytes(): what the stage leaves whole
 * is at least as many times the share as ranks share the experts, or the rest. */
static double floor_of_zero(const find *f, const weft_layout *node,
                            const weft_memory *m, int zero)
{
    const weft_cost_options *o = &f->s->q->options;
    double ranks = (double)node->dp * node->cp / node->ep;
    double whole = m->optimizer * ranks; /* for all parameters */
    double rest = m->total - m->params - m->temporaries - m->grads - m->optimizer;

    if (zero < 3 && o->optimizer_bytes > 0)
        rest += whole / o->optimizer_bytes * o->param_bytes;
    return rest + m->grads * (zero < 2 ? ranks : 1) +
           m->optimizer * (zero < 1 ? ranks : 1);
}

/* v[0 .. n-1] differ in ZeRO and recompute alone. */
static weft_status visit_way(find *f, const weft_layout *node, const wf_variant *v,
                             int n)
{
    int fit = 9;
    int quick = !f->s->o->every && !(f->s->q->options.achieved_flops_per_s > 0);
    double bytes = 0, room = f->s->q->machine.memory_bytes;
    weft_memory m;

    if (quick) WF_TRY(floor_bytes(f, node, v, &m, &bytes));
    if (bytes > room) {
        count(f, n, 0);
        return WEFT_OK;
    }
    for (int i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n && v[i + k].zero == v[i].zero;)
            k++;
        if (v[i].zero == 1) fit = 9; /* stage 0 may update slower */
        if (quick && floor_of_zero(f, node, &m, v[i].zero) > room)
            count(f, k, 0);
        else
            WF_TRY(visit_zero(f, node, v + i, k, &fit));
    }
    return WEFT_OK;
}

/* Variants that have the sp and cp_comm of the first. */
static int same_way(const wf_variant *v, int n)
{
    int k = 1;
    while (k < n && v[k].sp == v[0].sp && v[k].cp_comm == v[0].cp_comm)
        k++;
    return k;
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

static weft_status visit_ways(find *f, const weft_layout *node, const wf_variant *v,
                              int n)
{
    int late;

    for (int i = 0, k; i < n; i += k) {
        k = same_way(v + i, n - i);
        WF_TRY(is_late(f, node, v + i, &late));
        if (late)
            count_late(f, k);
        else
            WF_TRY(visit_way(f, node, v + i, k));
    }
    return WEFT_OK;
}

static weft_status all_late(find *f, const weft_layout *node, const wf_variant *v,
                            int n, int *late)
{
    *late = 1;
    for (int i = 0; i < n && *late; i += same_way(v + i, n - i))
        WF_TRY(is_late(f, node, v + i, late));
    return WEFT_OK;
}

static weft_status visit_node(void *ctx, const weft_layout *node)
{
    find *f = ctx;
    wf_variant v[WF_MOST_VARIANTS];
    int n = wf_space_variants(&f->s->space, node, v), late, full;

    if (n == 0) return WEFT_OK;
    WF_TRY(all_late(f, node, v, n, &late));
    if (late) {
        count_late(f, n);
        return WEFT_OK;
    }
    WF_TRY(is_full(f, node, &v[n - 1], &full));
    if (!full) return visit_ways(f, node, v, n);
    count(f, n, 0);
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
