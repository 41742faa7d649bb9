/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_COST_LINE_H
#define WF_COST_LINE_H
#include "cost/cost.h"
#include "schedule/kind.h"

enum { WF_MAX_STAGES = 4096, WF_SORTS = 8 };

/* The stages of a layout one after another, each sort of them priced once. Lives on the
 * stack; only the first `stages` of head and tail are ever touched. */
typedef struct wf_line {
    wf_place p;
    const wf_priced *price;
    wf_priced own; /* where the price stands without a cache */
    weft_schedule shape;
    const weft_schedule_kind *kind;
    int splits;                /* the kind has I and W in place of B */
    struct wf_kept_line *kept; /* where its ranks are kept, or NULL */
    int n_sorts;
    struct {
        wf_stage_shape shape;
        weft_stage_cost cost;
        wf_params params;
    } sort[WF_SORTS];
    unsigned char sort_of[WF_MAX_STAGES]; /* WF_SORTS: of none that is kept      */
    double head[WF_MAX_STAGES]; /* before the first F of a stage can start      */
    double tail[WF_MAX_STAGES]; /* after its last B (or I) until the step's end */
} wf_line;

/* A line and its ranks for layouts that follow each other in a search. */
typedef struct wf_kept_line {
    int64_t used; /* 0: empty */
    weft_layout layout;
    int64_t stride[WEFT_N_AXES];
    wf_line line;
    unsigned char known[WF_MAX_STAGES];
    wf_rank rank[WF_MAX_STAGES];
} wf_kept_line;
#endif
