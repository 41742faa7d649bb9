/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/run/optim.h  Learning-rate schedule (Megatron's decay styles). */
#ifndef WEFT_RUN_OPTIM_H
#define WEFT_RUN_OPTIM_H

#include <stdint.h>
#include <weft/status.h>

WEFT_BEGIN

typedef enum weft_decay {
    WEFT_DECAY_CONSTANT,
    WEFT_DECAY_LINEAR,
    WEFT_DECAY_COSINE,
    WEFT_N_DECAYS
} weft_decay;

/** Linear warm-up from 0 to lr, then decay to min_lr at decay_iters, which counts from
 *  the start of training and so includes the warm-up. */
typedef struct weft_lr {
    double lr, min_lr;
    int64_t warmup_iters,
        decay_iters; /**< constant: neither min_lr nor decay_iters is used */
    weft_decay style;
} weft_lr;

WEFT_API const char *weft_decay_name(
    weft_decay style); /**< "constant" "linear" "cosine" */
WEFT_API WEFT_MUST_CHECK weft_status weft_decay_parse(const char *text,
                                                      weft_decay *out);
/** lr finite and > 0, 0 <= min_lr <= lr, 0 <= warm-up; where the rate decays,
 *  1 <= decay_iters and warm-up <= decay_iters. The message names the flag. */
WEFT_API WEFT_MUST_CHECK weft_status weft_lr_check(const weft_lr *s);
/** Rate of step `iter` (from 0), of a checked schedule: in the warm-up
 *  lr*(iter+1)/warmup_iters, so that no step is lost to a rate of 0; then, with
 *  r = (iter - warm-up) / (decay - warm-up), lr - r*(lr - min_lr) or
 *  min_lr + (lr - min_lr)*(1 + cos(pi r))/2; min_lr from decay_iters on. */
WEFT_API double weft_lr_at(const weft_lr *s, int64_t iter);

WEFT_END
#endif
