/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/run/optim.h  Learning-rate schedule (Megatron's decay styles). */
#ifndef WEFT_RUN_OPTIM_H
#define WEFT_RUN_OPTIM_H

#include <stdint.h>
#include <weft/status.h>

WEFT_BEGIN

typedef enum weft_decay { WEFT_DECAY_CONSTANT, WEFT_DECAY_LINEAR, WEFT_DECAY_COSINE } weft_decay;

typedef struct weft_lr {
    double lr, min_lr;
    int64_t warmup_iters, decay_iters; /**< linear warm-up from 0, then decay to min_lr at decay_iters */
    weft_decay style;
} weft_lr;

WEFT_API WEFT_MUST_CHECK weft_status weft_decay_parse(const char *text, weft_decay *out);
/** Ranges: finite, lr > 0, 0 <= min_lr <= lr, warm-up <= decay; names the flag. */
WEFT_API WEFT_MUST_CHECK weft_status weft_lr_check(const weft_lr *s);
/** Rate of step `iter` (from 0): warm-up gives lr*(iter+1)/warmup_iters. */
WEFT_API double weft_lr_at(const weft_lr *s, int64_t iter);

WEFT_END
#endif
