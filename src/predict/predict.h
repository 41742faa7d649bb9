/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PREDICT_PREDICT_H
#define WF_PREDICT_PREDICT_H
#include <weft/predict.h>

#include "cost/prices.h"

/* The fullest instant of every pipeline rank under the schedule's own order: bytes of each
 * chunk until B or I, and of what W needs until W. prices: a cache, or NULL. Fills memory [p]
 * unless it is NULL, and *out with the fullest rank. */
weft_status wf_predict_held(const weft_cost_model *q, const weft_layout *l,
                            wf_prices *prices, const weft_schedule *s,
                            weft_memory *memory, weft_memory *out) WEFT_MUST_CHECK;
/* Does that fit? *out: a rank that does not, at least; or the fullest, at most. */
weft_status wf_predict_fits(const weft_cost_model *q, const weft_layout *l,
                            wf_prices *prices, const weft_schedule *s,
                            weft_memory *out) WEFT_MUST_CHECK;
/* options.exact_memory: activations, logits, temporaries and comm in place of those above. */
weft_status wf_predict_exact(const weft_cost_model *q, const weft_layout *l,
                             const weft_schedule *s,
                             weft_memory *memory) WEFT_MUST_CHECK;
/* Versions of its weights that a rank holds at once, under an asynchronous schedule. */
weft_status wf_predict_versions(const weft_schedule *s, int rank,
                                int64_t *most) WEFT_MUST_CHECK;
#endif
