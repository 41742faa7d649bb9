/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_POOL_H
#define WF_PLAN_POOL_H
#include <weft/plan.h>

#include "cost/prices.h"

/* What layouts of one search share: schedules that were made, room for their durations,
 * prices of layers. Of one model and machine. */
enum { WF_POOL_SCHEDULES = 48, WF_POOL_PEAKS = 256 };

typedef struct wf_pooled {
    char kind[16];
    int p, m, v, group;
    weft_placement_kind placement;
    int64_t used; /* 0: empty */
    weft_schedule s;
} wf_pooled;

/* In-flight counts of every rank. */
typedef struct wf_peaks {
    char kind[16];
    int p, m, v;
    weft_placement_kind placement;
    int64_t used;
    int64_t *until_b, *until_w; /* [p] */
} wf_peaks;

/* Makespans by what they follow from: a schedule and its durations and links, as 128 bits of
 * hash. Layouts that differ in ZeRO or in where DP lies share one. */
enum { WF_POOL_SPANS = 1 << 14 };
typedef struct wf_span {
    uint64_t key[2];
    double makespan;
} wf_span;

typedef struct wf_pool {
    wf_prices prices;
    wf_span span[WF_POOL_SPANS];
    int64_t clock, cap;
    double *dur;
    wf_pooled entry[WF_POOL_SCHEDULES];
    wf_peaks peaks[WF_POOL_PEAKS];
} wf_pool;

/* Its counts, of kinds that have no closed form for them. */
weft_status wf_pool_peaks(wf_pool *pool, const weft_layout *l,
                          const wf_peaks **out) WEFT_MUST_CHECK;
void wf_pool_clear(wf_pool *pool);

/* weft_cost_evaluate() with `fits` as the schedule has it: it is walked where what a rank
 * holds at least fits and what it holds at most does not. Memory is of the fullest rank at
 * most if it fits, else of one that is too full at least. stride as in wf_cost_evaluate(). */
weft_status wf_value(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                     const int64_t *stride, weft_cost *out) WEFT_MUST_CHECK;
/* The same, but where the bound is above most_s nothing is asked of memory: `fits` is 1. */
weft_status wf_value_until(wf_pool *pool, const weft_cost_model *q,
                           const weft_layout *l, const int64_t *stride, double most_s,
                           weft_cost *out) WEFT_MUST_CHECK;
/* The bound alone, or one above late_s; nothing is asked of memory. */
weft_status wf_bound(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                     const int64_t *stride, double late_s, double *out) WEFT_MUST_CHECK;
/* What the fullest rank holds at least, or some rank that holds more than enough_bytes. */
weft_status wf_least_memory(wf_pool *pool, const weft_cost_model *q,
                            const weft_layout *l, double enough_bytes,
                            weft_memory *out) WEFT_MUST_CHECK;
/* From what wf_value() gave to the simulated step. */
weft_status wf_simulate_step(wf_pool *pool, const weft_cost_model *q,
                             const weft_layout *l, weft_cost *io) WEFT_MUST_CHECK;
/* And to the memory of the whole schedule. */
weft_status wf_hold(wf_pool *pool, const weft_cost_model *q, const weft_layout *l,
                    weft_cost *io) WEFT_MUST_CHECK;
#endif
