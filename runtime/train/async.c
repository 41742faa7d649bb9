/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules that do not wait for the end of a step: a micro-batch is a mini-batch of its
 * own, whose gradient each stage applies right after it has it. */
#include <math.h>

#include "train/engine.h"

weft_status weft_train_check(const weft_train_config *c)
{
    const weft_layout *l = &c->layout;
    const weft_schedule_kind *k = weft_schedule_kind_find(l->schedule);

    if (!weft_schedule_kind_asynchronous(k)) return WEFT_OK;
    if (c->clip_grad > 0)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--clip-grad %g: under --schedule %s a stage updates its weights before "
            "the "
            "other stages have their gradients, so no norm over all of them is known; "
            "--clip-grad 0 is needed (1f1b clips)",
            c->clip_grad, l->schedule);
    if (c->arch.tied && l->pp > 1)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--model with tied embeddings: under --schedule %s the first and the last "
            "of "
            "%d stages update at different times and cannot share one; add tied=0 to "
            "--model (as in gpt2,tied=0), or take another schedule (1f1b)",
            l->schedule, l->pp);
    return WEFT_OK;
}

void wf_micro_scales(weft_engine *e)
{
    const weft_layout *l = &e->cfg.layout;
    int64_t each = l->micro_batch * l->dp;

    for (int64_t i = 0; i < e->schedule.m; i++) {
        int64_t valid =
            weft_data_valid(e->data, WEFT_TRAIN, e->consumed + i * each, each);
        e->micro_scale[i] = e->cfg.exact > 0 ? 1 : 1 / (double)(valid ? valid : 1);
    }
}

static int is_finite(weft_engine *e, const weft_chunk *c)
{
    weft_dtype acc = weft_dtype_acc(e->cfg.dtype);
    return isfinite(weft_k_absmax(e->k, acc, c->n_elems, c->g_all));
}

weft_status wf_async_update(void *engine, int chunk, int64_t micro)
{
    weft_engine *e = engine;
    wf_rate rate = {.lr = weft_lr_at(&e->cfg.lr, e->step),
                    .grad_scale = 1,
                    .number = e->step * e->schedule.m + micro + 1};

    WF_TRY(wf_buckets_finish(e));
    if (e->bad < 0 && !is_finite(e, &e->chunk[chunk])) e->bad = wf_first_bad(e);
    if (e->bad < 0) wf_update_chunk(e, chunk, &rate);
    return WEFT_OK;
}
