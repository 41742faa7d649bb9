/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_KINDS_OPTIMAL_SEARCH_H
#define WF_SCHEDULE_KINDS_OPTIMAL_SEARCH_H
#include "schedule/kinds/optimal.h"

typedef struct wf_searcher {
    const weft_schedule *s; /* its shape and kind are looked at */
    wf_problem x;
    wf_window window;
    wf_clock clock;
    int *order, *best; /* [p][len] */
    double makespan;   /* of best; INFINITY before there is one */
    weft_schedule_lower_bound bound;
} wf_searcher;

/* From what is filled in above, best and its makespan; and a better bound, where it is
 * found out that there is no better schedule. */
weft_status wf_search(wf_searcher *a);
#endif
