/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_TRAIN_SERIAL_H
#define WF_TRAIN_SERIAL_H
#include "train/engine.h"

/* What an asynchronous schedule must equal: one rank with the whole model and no pipeline,
 * one mini-batch after the other. Stage s of the split layout uses, in forward and
 * backward of mini-batch i, its weights after update max(0, i - delay[s]) of the step, and
 * applies the gradient to its newest. */
typedef struct wf_serial {
    weft_engine *e;           /* of one rank: model, kernels, data, optimizer */
    const weft_layout *split; /* the layout that is checked                   */
    int m;                    /* mini-batches of a step                       */
    int *delay;               /* [n_params] of the stage that a tensor is in  */
    void **weights;           /* [m + 1] before each mini-batch, and at last  */
} wf_serial;

weft_status wf_serial_init(wf_serial *s, weft_engine *one,
                           const weft_layout *split) WEFT_MUST_CHECK;
void wf_serial_clear(wf_serial *s);
/* Loss and norm as weft_engine_step() gives them; gradients and weights are in s->e. */
weft_status wf_serial_step(wf_serial *s, weft_step_result *r) WEFT_MUST_CHECK;
#endif
