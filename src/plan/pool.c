/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/pool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/envelope.h>

#include "base/alloc.h"
#include "base/error.h"
#include "predict/predict.h"

/* ---- schedules ---------------------------------------------------------------------- */

/* The schedule of a layout for m micro-batches; valid until the next call. */
static weft_status get_schedule(wf_pool *pool, const weft_layout *l, int m,
                                const weft_schedule **out)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);
    wf_pooled *oldest = pool->entry;

    pool->clock++;
    for (int i = 0; i < WF_POOL_SCHEDULES; i++) {
        wf_pooled *e = &pool->entry[i];
        if (e->used && e->p == l->pp && e->m == m && e->v == l->vpp &&
            e->group == l->group && e->placement == opt.placement &&
            !strcmp(e->kind, l->schedule)) {
            e->used = pool->clock;
            *out = &e->s;
            return WEFT_OK;
        }
        if (e->used < oldest->used) oldest = e;
    }
    if (oldest->used) weft_schedule_clear(&oldest->s);
    oldest->used = 0;
    WF_TRY(weft_schedule_make(l->schedule, l->pp, m, l->vpp, &opt, &oldest->s));
    snprintf(oldest->kind, sizeof oldest->kind, "%s", l->schedule);
    oldest->p = l->pp;
    oldest->m = m;
    oldest->v = l->vpp;
    oldest->group = l->group;
    oldest->placement = opt.placement;
    oldest->used = pool->clock;
    *out = &oldest->s;
    return WEFT_OK;
}

/* What is held has settled after 4 p micro-batches (tests/plan/plan.c compares with whole
 * schedules). */
static int settled(const weft_layout *l)
{
    int64_t m = weft_layout_n_micro(l), enough = 4 * (int64_t)l->pp;
    return (int)(m < enough ? m : enough);
}

static weft_status count(const weft_layout *l, int m, wf_peaks *out)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);
    weft_schedule_report report;
    weft_schedule s;

    WF_TRY(weft_schedule_make(l->schedule, l->pp, m, l->vpp, &opt, &s));
    weft_status st = weft_schedule_check(&s, 0, &report);
    weft_schedule_clear(&s);
    WF_TRY(st);
    out->until_b = report.peak_in_flight; /* ours now, and freed as its own are */
    out->until_w = report.peak_in_flight_w;
    return WEFT_OK;
}

static void drop(wf_peaks *e)
{
    weft_schedule_report report = {.peak_in_flight = e->until_b,
                                   .peak_in_flight_w = e->until_w};
    if (e->used) weft_schedule_report_clear(&report);
    *e = (wf_peaks){.used = 0};
}

weft_status wf_pool_peaks(wf_pool *pool, const weft_layout *l, const wf_peaks **out)
{
    int m = settled(l);
    weft_placement_kind placement = weft_layout_schedule_options(l).placement;
    wf_peaks *oldest = pool->peaks;

    pool->clock++;
    for (int i = 0; i < WF_POOL_PEAKS; i++) {
        wf_peaks *e = &pool->peaks[i];
        if (e->used && e->p == l->pp && e->m == m && e->v == l->vpp &&
            e->placement == placement && !strcmp(e->kind, l->schedule)) {
            e->used = pool->clock;
            *out = e;
            return WEFT_OK;
        }
        if (e->used < oldest->used) oldest = e;
    }
    drop(oldest);
    WF_TRY(count(l, m, oldest));
    snprintf(oldest->kind, sizeof oldest->kind, "%s", l->schedule);
    oldest->p = l->pp;
    oldest->m = m;
    oldest->v = l->vpp;
    oldest->placement = placement;
    oldest->used = pool->clock;
    *out = oldest;
    return WEFT_OK;
}

void wf_pool_clear(wf_pool *pool)
{
    for (int i = 0; i < WF_POOL_SCHEDULES; i++)
        if (pool->entry[i].used) weft_schedule_clear(&pool->entry[i].s);
    for (int i = 0; i < WF_POOL_PEAKS; i++)
        drop(&pool->peaks[i]);
    wf_free(pool->dur);
    memset(pool, 0, sizeof *pool);
}

/* ---- prices ------------------------------------------------------------------------- */

static weft_status envelope(const weft_cost_model *q, const weft_layout *l,
                            weft_cost *out)
{
    weft_envelope e;
    WF_TRY(weft_envelope_make(q, l, &e));
    weft_envelope_cost(q, l, &e, out);
    return WEFT_OK;
}

static weft_status range(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                         weft_memory *least, weft_memory *most)
{
    const wf_peaks *peaks;

    WF_TRY(wf_pool_peaks(pool, l, &peaks));
    return wf_cost_range(q, l, &pool->prices, peaks->until_b, peaks->until_w, least,
                         most);
}

weft_status wf_least_memory(wf_pool *pool, const weft_cost_model *q,
                            const weft_layout *l, double enough_bytes, weft_memory *out)
{
    weft_memory most;
    weft_cost c;
    int closed;

    if (q->options.achieved_flops_per_s > 0) {
        WF_TRY(envelope(q, l, &c));
        *out = c.memory;
        return WEFT_OK;
    }
    WF_TRY(wf_cost_least_memory(q, l, &pool->prices, enough_bytes, out, &closed));
    return closed || out->total > enough_bytes ? WEFT_OK
                                               : range(pool, q, l, out, &most);
}

static void put_memory(const weft_cost_model *q, const weft_memory *m, weft_cost *out)
{
    out->memory = *m;
    out->fits = m->total <= q->machine.memory_bytes;
    out->exact_peak = 1;
}

/* Memory of what fits at most by no closed form, and is not known not to fit at least. */
static weft_status weigh(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                         weft_cost *out)
{
    double room = q->machine.memory_bytes;
    const weft_schedule *s;
    weft_memory least, most, held;

    if (!out->exact_peak) {
        WF_TRY(range(pool, q, l, &least, &most));
        put_memory(q, most.total <= room ? &most : &least, out);
        if (most.total <= room || least.total > room) return WEFT_OK;
    }
    WF_TRY(get_schedule(pool, l, settled(l), &s));
    WF_TRY(wf_predict_fits(q, l, &pool->prices, s, &held));
    put_memory(q, &held, out);
    return WEFT_OK;
}

weft_status wf_value_until(wf_pool *pool, const weft_cost_model *q,
                           const weft_layout *l, const int64_t *stride, double most_s,
                           weft_cost *out)
{
    wf_stop stop = {most_s, q->machine.memory_bytes};
    weft_memory least;

    if (q->options.achieved_flops_per_s > 0) return envelope(q, l, out);
    WF_TRY(wf_cost_evaluate(q, l, &pool->prices, stride,
                            stride && most_s < HUGE_VAL ? &stop : NULL, out, &least));
    if (out->bound_s > most_s) {
        out->fits = 1;
        return WEFT_OK;
    }
    if (out->exact_peak && out->fits) return WEFT_OK;
    if (least.total <= q->machine.memory_bytes) return weigh(pool, q, l, out);
    put_memory(q, &least, out);
    return WEFT_OK;
}

weft_status wf_value(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                     const int64_t *stride, weft_cost *out)
{
    return wf_value_until(pool, q, l, stride, HUGE_VAL, out);
}

weft_status wf_bound(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                     const int64_t *stride, double late_s, double *out)
{
    wf_stop stop = {late_s, HUGE_VAL};
    weft_cost c;

    if (q->options.achieved_flops_per_s > 0)
        WF_TRY(envelope(q, l, &c));
    else
        WF_TRY(wf_cost_evaluate(q, l, &pool->prices, stride, stride ? &stop : NULL, &c,
                                NULL));
    *out = c.bound_s;
    return WEFT_OK;
}

/* FNV-1a over words with two seeds and multipliers. */
static void mix(uint64_t key[2], const void *bytes, size_t n)
{
    const char *at = bytes;
    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        key[0] = (key[0] ^ word) * 0x9e3779b97f4a7c15u;
        key[0] ^= key[0] >> 29;
        key[1] = (key[1] ^ (word + 0x7f4a7c15u)) * 0xd6e8feb86659fd93u;
        key[1] ^= key[1] >> 32;
    }
}

static void key_of(const weft_layout *l, const weft_schedule *s, const weft_costs *c,
                   uint64_t key[2])
{
    uint64_t shape[6] = {0};

    memcpy(shape, l->schedule, sizeof l->schedule);
    shape[2] = (uint64_t)s->p << 32 | (uint64_t)s->placement << 16 | (uint64_t)s->v;
    shape[3] = (uint64_t)s->m << 32 | (uint64_t)s->group;
    shape[4] = (uint64_t)c->messages << 32 | (uint64_t)c->n_tiers;
    memcpy(&shape[5], &c->message_bytes, sizeof shape[5]);
    key[0] = 0xcbf29ce484222325u;
    key[1] = 0x84222325cbf29ce4u;
    mix(key, shape, sizeof shape);
    for (int i = 0; i < c->n_tiers; i++) {
        double link[3] = {c->tier[i].ranks, c->tier[i].latency, c->tier[i].bandwidth};
        mix(key, link, sizeof link);
    }
    mix(key, c->dur, (size_t)s->p * (size_t)s->v * WEFT_OP_N_COMPUTE * sizeof *c->dur);
}

static weft_status makespan(wf_pool *pool, const weft_layout *l, const weft_schedule *s,
                            const weft_costs *costs, double *out)
{
    uint64_t key[2];
    weft_eval e;

    key_of(l, s, costs, key);
    wf_span *span = &pool->span[key[0] % WF_POOL_SPANS];
    if (!span->makespan || span->key[0] != key[0] || span->key[1] != key[1]) {
        WF_TRY(weft_schedule_eval(s, costs, NULL, NULL, &e));
        *span = (wf_span){{key[0], key[1]}, e.makespan};
        weft_eval_clear(&e);
    }
    *out = span->makespan;
    return WEFT_OK;
}

weft_status wf_simulate_step(wf_pool *pool, const weft_cost_model *q,
                             const weft_layout *l, weft_cost *io)
{
    const weft_schedule *s;
    weft_link_tier tier[WEFT_MAX_TIERS];
    weft_costs costs;
    double whole;

    if (q->options.achieved_flops_per_s > 0) return WEFT_OK; /* exact as it is */
    WF_TRY(get_schedule(pool, l, (int)weft_layout_n_micro(l), &s));
    WF_TRY(wf_grow(&pool->dur, &pool->cap, (int64_t)s->p * s->v * WEFT_OP_N_COMPUTE,
                   sizeof *pool->dur));
    wf_cost_durations(q, l, &pool->prices, s, pool->dur, tier, &costs);
    WF_TRY(makespan(pool, l, s, &costs, &whole));
    wf_cost_with_makespan(q, l, &pool->prices, s, whole, io);
    return WEFT_OK;
}

weft_status wf_hold(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                    weft_cost *io)
{
    const weft_schedule *s;
    weft_memory held;

    if (q->options.achieved_flops_per_s > 0) return WEFT_OK;
    WF_TRY(get_schedule(pool, l, (int)weft_layout_n_micro(l), &s));
    WF_TRY(wf_predict_held(q, l, &pool->prices, s, NULL, &held));
    put_memory(q, &held, io);
    return WEFT_OK;
}

weft_status weft_plan_price(const weft_cost_model *q, const weft_layout *l,
                            weft_cost *out)
{
    wf_pool *pool;
    WF_TRY(weft_layout_plan_check(l, &q->arch));
    WF_TRY(WF_ALLOC(1, &pool));
    weft_status st = wf_value(pool, q, l, NULL, out);
    if (st == WEFT_OK) st = wf_simulate_step(pool, q, l, out);
    if (st == WEFT_OK) st = wf_hold(pool, q, l, out);
    wf_pool_clear(pool);
    wf_free(pool);
    return st;
}
