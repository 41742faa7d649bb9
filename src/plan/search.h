/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_SEARCH_H
#define WF_PLAN_SEARCH_H
#include "plan/pool.h"
#include "plan/space.h"

/* A layout that fits, and what its step is at least. */
typedef struct wf_point {
    weft_layout l;
    double bound;
    int expanded; /* 0: its bound is one for all orders of its axes   */
} wf_point;

/* One search. */
typedef struct wf_search {
    wf_space space;
    wf_pool pool;
    const weft_cost_model *q;
    const weft_plan_options *o;
    weft_plan_counts counts;
    int64_t next_call; /* of evaluations, when progress is told again */
    int regular;       /* links get no faster outwards: bounds for all orders hold */
} wf_search;

void wf_search_init(wf_search *s, const weft_cost_model *q, const weft_plan_options *o);
void wf_search_clear(wf_search *s);
/* Counts an evaluation, and calls progress now and then. */
weft_status wf_search_tick(wf_search *s) WEFT_MUST_CHECK;

/* The best layout of these degrees. cutoff: a step that is of interest; slower ones need not
 * be found. *found 0: none fits, or none is as fast. */
weft_status wf_search_degrees(wf_search *s, const wf_degrees *d, double cutoff,
                              weft_plan_row *out, int *found) WEFT_MUST_CHECK;
/* The better of each row and of what is like it beside the space. */
weft_status wf_refine_rows(wf_search *s, weft_plan_row *row, int n) WEFT_MUST_CHECK;
/* Fills plain_dp, zero3 and ladder. */
weft_status wf_plan_references(const weft_cost_model *q, const weft_plan_options *o,
                               weft_plan *out) WEFT_MUST_CHECK;
/* All layouts of the space that are on the front; *row to be freed. */
weft_status wf_search_front(wf_search *s, weft_plan_row **row, int *n) WEFT_MUST_CHECK;
#endif
