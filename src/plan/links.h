/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_LINKS_H
#define WF_PLAN_LINKS_H
#include <weft/cost.h>

/* Where the groups of an axis lie: ranks of a group are `stride` apart, and their slowest
 * link is the one of this tier. */
typedef struct wf_reach {
    int64_t stride;
    int size, tier;
} wf_reach;

wf_reach wf_axis_reach(const weft_cost_model *q, const weft_layout *l, weft_axis axis);
/* Bytes/s of that link, of the data sheet. */
double wf_reach_bytes_per_s(const weft_cost_model *q, wf_reach reach);
#endif
