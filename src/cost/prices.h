/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_COST_PRICES_H
#define WF_COST_PRICES_H
#include "cost/line.h"

/* All that wf_price() reads of a layout: places of one model with equal keys have equal
 * prices, whatever their pp, dp, schedule, ZeRO stage and recompute. */
typedef struct wf_price_key {
    int64_t micro_batch, seq, vocab_multiple;
    int64_t stride_tp, stride_cp, stride_ep;
    int32_t tp, cp, ep, sp;
    int64_t cp_comm; /* its first letter */
} wf_price_key;

/* The shape of a layout's schedule, as it was asked for last. */
typedef struct wf_last_shape {
    char schedule[16], placement[8];
    int p, m, v, group;
    weft_schedule shape;
    const weft_schedule_kind *kind;
} wf_last_shape;

/* Prices of layers that the layouts of a search share; zeroed is empty. Of one model. */
enum { WF_PRICES = 4096, WF_LINES = 4 };
typedef struct wf_prices {
    wf_split split; /* read last        */
    wf_last_shape last;
    int64_t clock;
    wf_kept_line line[WF_LINES];
    struct {
        int filled;
        wf_price_key key;
        wf_priced price;
    } entry[WF_PRICES];
} wf_prices;

/* From the cache, or worked out into it. Valid until the next call. */
const wf_priced *wf_prices_get(wf_prices *cache, const wf_place *p);

/* Everything next to each other: no order of the axes can do that for all of them. */
extern const int64_t wf_all_near[WEFT_N_AXES];

/* A layout is of no interest from here on. */
typedef struct wf_stop {
    double late_s;     /* its bound is above                       */
    double full_bytes; /* some rank holds more than that at least  */
} wf_stop;

/* weft_cost_evaluate() with a cache; NULL: without. least: as
 * wf_cost_least_memory() where that does not fit, or NULL.
 * `stride`: [WEFT_N_AXES] in place of what
 * the order says, NULL: that. Where links get no faster outwards the bound with some strides
 * is one for every order whose strides are no smaller.
 * stop: with a stride, or NULL. A layout that is late or full by what some of its ranks have
 * is not worked out further: bound_s, or *least, is then above what `stop` says, and the
 * rest of *out means nothing. */
weft_status wf_cost_evaluate(const weft_cost_model *q, const weft_layout *l,
                             wf_prices *cache, const int64_t *stride,
                             const wf_stop *stop, weft_cost *out,
                             weft_memory *least) WEFT_MUST_CHECK;
/* A step is never shorter, whatever the schedule, the split of the layers, ZeRO and recompute:
 * the mean work of a pipeline rank, which the busiest has at least, and the way of one
 * micro-batch through all layers and back. */
weft_status wf_cost_least_s(const weft_cost_model *q, const weft_layout *l,
                            wf_prices *cache, const int64_t *stride,
                            double *out) WEFT_MUST_CHECK;

/* What the fullest rank holds at least and at most, whatever the order in which its chunks
 * come, from the counts of each rank [pp]. */
weft_status wf_cost_range(const weft_cost_model *q, const weft_layout *l,
                          wf_prices *cache, const int64_t *in_flight,
                          const int64_t *in_flight_w, weft_memory *least,
                          weft_memory *most) WEFT_MUST_CHECK;
/* What it holds at least by the kind's closed form; without activations where it has none:
 * *closed 0. Of a rank that holds more than enough_bytes beside weights, buffers and what is
 * there for a while it says so, and looks no further. */
weft_status wf_cost_least_memory(const weft_cost_model *q, const weft_layout *l,
                                 wf_prices *cache, double enough_bytes,
                                 weft_memory *out, int *closed) WEFT_MUST_CHECK;

/* weft_cost_durations() and weft_cost_with_makespan() with a cache. */
void wf_cost_durations(const weft_cost_model *q, const weft_layout *l, wf_prices *cache,
                       const weft_schedule *shape, double *dur,
                       weft_link_tier tier[WEFT_MAX_TIERS], weft_costs *out);
void wf_cost_with_makespan(const weft_cost_model *q, const weft_layout *l,
                           wf_prices *cache, const weft_schedule *s, double makespan,
                           weft_cost *out);
#endif
