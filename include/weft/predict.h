/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/predict.h
 * The final figure of a layout: its schedule, simulated with its costs. Where cost and sim
 * meet; `weft report`, `weft score`, the search's last step and `train --compare` use it.
 */
#ifndef WEFT_PREDICT_H
#define WEFT_PREDICT_H

#include <weft/cost.h>
#include <weft/sim.h>

WEFT_BEGIN

/**
 * weft_cost_evaluate(), then the pipeline's makespan from weft_simulate() and the memory
 * from the counts that weft_schedule_check() finds in the real order, for every rank.
 *
 * @param[out] trace   as of weft_simulate(), in seconds; NULL: not wanted
 * @param[out] memory  [pp] per pipeline rank; NULL: not wanted
 *
 * @return as weft_cost_evaluate() and weft_schedule_make(); WEFT_E_NOMEM.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_predict(const weft_cost_model *q,
                                                  const weft_layout *l,
                                                  weft_trace *trace,
                                                  weft_memory *memory, weft_cost *out);

WEFT_END
#endif
