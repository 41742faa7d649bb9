/* SPDX-License-Identifier: Apache-2.0 */
/* One optimizer step; one evaluation. */
#include <math.h>

#include "train/engine.h"

void wf_batch_read(void *batch, int64_t micro, int32_t *tokens, int32_t *targets)
{
    const wf_batch *b = batch;
    const weft_layout *l = &b->e->cfg.layout;
    int64_t k =
        weft_data_first(b->first, micro, l->dp, b->e->coord[WEFT_DP], l->micro_batch);

    for (int64_t i = 0; i < l->micro_batch; i++)
        weft_data_sample(b->e->data, b->split, k + i, tokens + i * l->seq,
                         targets + i * l->seq);
}

/* The trace, in the steps that are recorded. */
static weft_trace *recording(weft_engine *e)
{
    return e->cfg.trace && e->step >= e->cfg.trace_from ? &e->trace : NULL;
}

weft_status wf_mark(weft_engine *e, weft_lane lane, const char *label, double start_s,
                    int64_t bytes)
{
    return weft_trace_measured(recording(e), weft_comm_rank(e->comm), e->step, lane,
                               label, NULL, start_s, weft_now_s(), bytes);
}

/* Loss and bubble in one small reduction over pp and dp: the loss is known on the last
 * stages, the idle share on every pipeline rank. */
static weft_status share_loss(weft_engine *e, double loss_sum, int64_t valid,
                              double idle, weft_step_result *r)
{
    const weft_layout *l = &e->cfg.layout;
    double x[2] = {loss_sum, idle / (l->pp * l->dp)};

    WF_TRY(wf_sum(e, e->replicas, WEFT_FOR_LOSS, x, 2));
    r->loss = e->cfg.exact > 0 ? x[0] : x[0] / (double)valid;
    r->bubble_measured = x[1];
    return WEFT_OK;
}

/* Sums over copies, unless each micro-batch had its own, and the norm: of the last
 * micro-batch's gradient then. */
static weft_status reduce_grads(weft_engine *e, double *norm)
{
    double t0 = weft_now_s();

    if (!e->asynchronous) {
        WF_TRY(wf_buckets_finish(e));
        WF_TRY(wf_mark(e, WEFT_LANE_COMPUTE, "dp wait", t0, 0));
        WF_TRY(wf_tied_sum(e));
    }
    t0 = weft_now_s();
    WF_TRY(wf_grad_norm(e, norm));
    return wf_mark(e, WEFT_LANE_COLLECTIVE, "grad norm", t0, 8);
}

static weft_status update(weft_engine *e, weft_step_result *r)
{
    double t0 = weft_now_s(), clip = e->cfg.clip_grad;
    wf_rate rate = {
        .lr = weft_lr_at(&e->cfg.lr, e->step), .grad_scale = 1, .number = e->step + 1};

    r->lr = rate.lr;
    if (e->asynchronous) return WEFT_OK; /* done, micro-batch by micro-batch */
    if (clip > 0 && r->grad_norm > clip) rate.grad_scale = clip / r->grad_norm;
    for (int i = 0; i < e->cfg.layout.vpp; i++)
        wf_update_chunk(e, i, &rate);
    return wf_mark(e, WEFT_LANE_COMPUTE, "optimizer", t0, 0);
}

static double idle_share(const weft_exec_result *x, double start_s)
{
    double all = x->end_s - start_s;
    return all > 0 ? 1 - x->busy_s / all : 0;
}

weft_status weft_engine_step(weft_engine *e, weft_step_result *r)
{
    const weft_layout *l = &e->cfg.layout;
    int64_t valid = weft_data_valid(e->data, WEFT_TRAIN, e->consumed, l->global_batch);
    wf_batch batch = {e, WEFT_TRAIN, e->consumed};
    weft_exec_step x = {.step = e->step,
                        .batch = wf_batch_read,
                        .batch_ctx = &batch,
                        .scale = e->cfg.exact > 0 ? 1 : 1 / (double)(valid ? valid : 1),
                        .micro_scale = e->asynchronous ? e->micro_scale : NULL,
                        .ready = wf_buckets_ready,
                        .update = wf_async_update,
                        .ready_ctx = e};
    weft_exec_result done;
    weft_step_result out = {.step = e->step};

    e->bad = -1;
    if (e->asynchronous) wf_micro_scales(e);
    for (int i = 0; i < l->vpp; i++)
        weft_chunk_zero_grads(&e->chunk[i]);
    double start = weft_now_s();
    weft_exec_set_trace(e->exec, recording(e));
    if (recording(e)) wf_trace_begin(e, start);
    WF_TRY(weft_exec_train(e->exec, &x, &done));
    weft_comm_note(e->comm, e->step, "gradients");
    WF_TRY(reduce_grads(e, &out.grad_norm));
    WF_TRY(share_loss(e, done.loss_sum, valid, idle_share(&done, start), &out));
    if (!isfinite(out.grad_norm) || !isfinite(out.loss))
        return wf_report_not_finite(e, out.loss);
    WF_TRY(update(e, &out));
    e->step++;
    e->consumed += l->global_batch;
    out.consumed = e->consumed;
    out.step_time_s = weft_now_s() - start;
    out.tokens_per_s = (double)(l->global_batch * l->seq) / out.step_time_s;
    *r = out;
    return WEFT_OK;
}

weft_status weft_engine_evaluate(weft_engine *e, int64_t iters, double *loss)
{
    const weft_layout *l = &e->cfg.layout;
    double sum[2] = {0, 0};

    for (int64_t i = 0; i < iters; i++) {
        wf_batch batch = {e, WEFT_HELD_OUT, i * l->global_batch};
        weft_exec_set_trace(e->exec, NULL);
        weft_exec_step x = {
            .step = e->step, .batch = wf_batch_read, .batch_ctx = &batch};
        weft_exec_result done;
        WF_TRY(weft_exec_forward(e->exec, &x, e->schedule.m, NULL, &done));
        sum[0] += done.loss_sum;
        sum[1] += (double)weft_data_valid(e->data, WEFT_HELD_OUT, batch.first,
                                          l->global_batch);
    }
    WF_TRY(wf_sum(e, e->replicas, WEFT_FOR_LOSS, sum, 1));
    *loss = sum[0] / sum[1];
    return WEFT_OK;
}
