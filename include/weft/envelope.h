/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/envelope.h
 * A layout on the back of an envelope: the closed forms that are taught, one rate for all
 * compute, 16 bytes a parameter, links at their data sheet's rate. No embedding, no logits,
 * no buffers, so keep 10 to 20 % of the memory free. `weft report --achieved-flops F`.
 *
 * Letters: P parameters, t tp, p pp, d dp, v chunks, m micro-batches, s tokens of a
 * sequence, b sequences of a micro-batch, h hidden, a heads, L layers, F achieved FLOP/s, W
 * bytes/s of a link in one direction. Narayanan et al. 2021, sections 2 and 3; Korthikanti
 * et al. 2022, section 4; Rajbhandari et al. 2020 (ZeRO), section 5.
 */
#ifndef WEFT_ENVELOPE_H
#define WEFT_ENVELOPE_H

#include <weft/cost.h>

WEFT_BEGIN

typedef struct weft_envelope {
    double params;       /**< P: options.params, or the count                     */
    double states_bytes; /**< of the whole model: 16 P                             */
    int64_t n_micro;

    /* of the fullest pipeline rank */
    int32_t stage;
    double params_bytes, grads_bytes, optimizer_bytes; /**< sharded as ZeRO says    */
    double rank_states_bytes;                          /**< their sum               */
    double act_layer_bytes; /**< of a layer and micro-batch: s b h (10 + 24/t), with sp
                                 34/t, and 5 a s / (h t) more where scores are stored;
                                 2 s b h with full recompute                          */
    double act_bytes;       /**< layers of the rank * micro-batches in flight        */
    double total_bytes;

    double
        compute_s; /**< of a micro-batch on a rank, both passes: 6 P s b / (t p c F) */
    double
        tp_s; /**< of a micro-batch: what TP's all-reduces take longer than inside the
                      innermost domain, where they are part of the achieved rate          */
    double bubble; /**< of the total: (p-1) / (v m + p-1) for the 1f1b family         */

    double pp_bytes,
        pp_s; /**< of a micro-batch over a boundary in one direction: 2sbh/t */
    double dp_bytes,
        dp_s; /**< of a step, or with dp_per_micro of each micro-batch       */
    int32_t
        dp_per_micro; /**< 1: ZeRO-3, or ZeRO-2 of more than one micro-batch         */

    double ratio_tp; /**< (t-1) F / (3 h W), on the link that the group has      */
    double
        ratio_tp_across; /**< the same on the slowest link                           */
    double ratio_pp; /**< p F / (12 h L W)                                         */
    double ratio_dp; /**< (F/W) (d-1)/d / T                                        */
    double
        tokens; /**< T: of a DP rank until it must have communicated: a step's, or with
                        dp_per_micro a micro-batch's                                      */
    double
        tokens_needed; /**< F/W: with as many the DP communication hides             */

    double step_s; /**< m compute, the bubble, and what DP does not hide */
} weft_envelope;

/**
 * Needs options.achieved_flops_per_s. ZeRO-2 and ZeRO-3 pay their communication once for
 * every micro-batch.
 * @return WEFT_OK; WEFT_E_INVALID without a rate; WEFT_E_MISMATCH for another number of
 *         ranks than the machine has; as weft_schedule_make() for kinds without a closed
 *         form, which are simulated.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_envelope_make(const weft_cost_model *q,
                                                        const weft_layout *l,
                                                        weft_envelope *out);
/** The same as a cost, so that it can be ranked and written like any other. */
WEFT_API void weft_envelope_cost(const weft_cost_model *q, const weft_layout *l,
                                 const weft_envelope *e, weft_cost *out);
/** One line for each step of the calculation, with its numbers. */
WEFT_API void weft_envelope_write_text(const weft_cost_model *q, const weft_layout *l,
                                       const weft_envelope *e, weft_writer *out);

WEFT_END
#endif
