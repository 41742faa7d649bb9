/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_COST_RANK_H
#define WF_COST_RANK_H
#include "cost/prices.h"

/* cache may be NULL; stride as in wf_cost_evaluate(). */
weft_status wf_line_make(const weft_cost_model *q, const weft_layout *l,
                         wf_prices *cache, const int64_t *stride,
                         wf_line *x) WEFT_MUST_CHECK;
/* The same; with a cache and a stride the line is the cache's, which has it already for a
 * layout that differs in ZeRO and copies alone; else it is made in *own. *out is valid until
 * the next such call. */
weft_status wf_line_get(const weft_cost_model *q, const weft_layout *l,
                        wf_prices *cache, const int64_t *stride, wf_line *own,
                        wf_line **out) WEFT_MUST_CHECK;
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
