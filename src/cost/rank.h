/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_COST_RANK_H
#define WF_COST_RANK_H
#include "cost/prices.h"

enum { WF_MAX_STAGES = 4096, WF_SORTS = 8 };

/* The stages of a layout one after another, each sort of them priced once. Lives on the
 * stack; only the first `stages` of head and tail are ever touched. */
typedef struct wf_line {
    wf_place p;
    const wf_priced *price;
    wf_priced own; /* where the price stands without a cache */
    weft_schedule shape;
    const weft_schedule_kind *kind;
    int splits; /* the kind has I and W in place of B */
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

/* cache may be NULL; stride as in wf_cost_evaluate(). */
weft_status wf_line_make(const weft_cost_model *q, const weft_layout *l,
                         wf_prices *cache, const int64_t *stride,
                         wf_line *x) WEFT_MUST_CHECK;
/* Valid until the next call. */
const weft_stage_cost *wf_line_stage(wf_line *x, int64_t stage, wf_params *params);
void wf_line_rank(wf_line *x, int rank, wf_rank *out);
/* Versions of the weights of a rank's chunks: weft_schedule_weight_copies(), but where two
 * pipelines go in opposite directions, whose two copies are chunks of their own. */
int wf_line_copies(const wf_line *x, int rank);
/* Chunk activations in flight, by closed form where the kind has one. */
int64_t wf_line_peak(const wf_line *x, int rank, int *exact);
/* Of a rank at least, by the kind's closed form if it has one. */
void wf_line_least(wf_line *x, int rank, const wf_rank *r, weft_memory *out);
void wf_line_memory(wf_line *x, int rank, const wf_rank *r, weft_memory *out,
                    int *exact);
#endif
