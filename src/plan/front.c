/* SPDX-License-Identifier: Apache-2.0 */
/* The front of step time and memory: every layout that fits is looked at, and simulated
 * unless one that was simulated is as small and faster than its bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/rank.h"
#include "plan/search.h"

typedef struct front {
    wf_search *s;
    int n_orders;
    char order[WF_MOST_ORDERS][24];
    int64_t n, cap;
    weft_plan_row *row; /* memory ascending, so time descending */
} front;

/* First row that takes more memory. */
static int64_t above(const front *f, double bytes)
{
    int64_t low = 0, high = f->n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (f->row[middle].cost.memory.total <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is there one as small that is faster? */
static int is_beaten(const front *f, double bytes, double step_s)
{
    int64_t k = above(f, bytes);
    return k > 0 && f->row[k - 1].cost.step_time_s <= step_s;
}

static weft_status put(front *f, const weft_plan_row *r)
{
    double bytes = r->cost.memory.total, step_s = r->cost.step_time_s;
    int64_t k, last;

    if (is_beaten(f, bytes, step_s)) return WEFT_OK;
    WF_TRY(wf_grow(&f->row, &f->cap, f->n + 1, sizeof *f->row));
    k = above(f, bytes);
    while (k > 0 && f->row[k - 1].cost.memory.total >= bytes)
        k--; /* as small, and slower */
    for (last = k; last < f->n && f->row[last].cost.step_time_s >= step_s; last++)
        ;
    memmove(f->row + k + 1, f->row + last, (size_t)(f->n - last) * sizeof *f->row);
    f->n -= last - k - 1;
    f->row[k] = *r;
    return WEFT_OK;
}

static weft_status visit_order(front *f, const weft_layout *l, double least_bytes)
{
    weft_plan_row r;

    memset(&r, 0, sizeof r);
    r.layout = *l;
    if (f->s->o->tool >= 0 &&
        weft_emit_check((weft_tool)f->s->o->tool, l, &f->s->q->arch) != WEFT_OK)
        return WEFT_OK;
    WF_TRY(wf_value(&f->s->pool, f->s->q, l, NULL, &r.cost));
    WF_TRY(wf_search_tick(f->s));
    if (is_beaten(f, least_bytes, r.cost.bound_s)) return WEFT_OK;
    WF_TRY(wf_simulate_step(&f->s->pool, f->s->q, l, &r.cost));
    WF_TRY(wf_hold(&f->s->pool, f->s->q, l, &r.cost));
    return r.cost.fits ? put(f, &r) : WEFT_OK;
}

static weft_status visit_node(void *ctx, const weft_layout *node)
{
    front *f = ctx;
    wf_space *s = &f->s->space;

    wf_space_variants(s, node);
    for (int i = 0; i < s->n_variants; i++) {
        weft_layout l = *node;
        weft_memory least;
        weft_cost c;
        wf_variant_apply(&s->variant[i], &l);
        WF_TRY(
            wf_value(&f->s->pool, f->s->q, &l, f->s->regular ? wf_all_near : NULL, &c));
        WF_TRY(wf_search_tick(f->s));
        if (!c.fits) continue;
        WF_TRY(wf_least_memory(&f->s->pool, f->s->q, &l, HUGE_VAL, &least));
        if (f->s->regular && is_beaten(f, least.total, c.bound_s)) continue;
        for (int k = 0; k < f->n_orders; k++) {
            memcpy(l.order, f->order[k], sizeof f->order[k]);
            WF_TRY(visit_order(f, &l, least.total));
        }
    }
    return WEFT_OK;
}

static weft_status walk(front *f)
{
    wf_degrees *d;
    int64_t n;
    weft_status st = WEFT_OK;
    wf_space again = f->s->space; /* rejections were counted by the search itself */

    WF_TRY(wf_space_degrees(&again, &d, &n));
    for (int64_t i = 0; i < n && st == WEFT_OK; i++) {
        f->n_orders = wf_space_orders(&again, &d[i], f->order);
        st = wf_space_nodes(&again, &d[i], visit_node, f);
    }
    wf_free(d);
    return st;
}

weft_status wf_search_front(wf_search *s, weft_plan_row **row, int *n)
{
    front f = {.s = s};
    weft_status st = walk(&f);

    if (st != WEFT_OK) {
        wf_free(f.row);
        return st;
    }
    for (int64_t i = 0; i < f.n / 2; i++) { /* fastest first */
        weft_plan_row x = f.row[i];
        f.row[i] = f.row[f.n - 1 - i];
        f.row[f.n - 1 - i] = x;
    }
    *row = f.row;
    *n = (int)f.n;
    return WEFT_OK;
}
