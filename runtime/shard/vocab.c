/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary split over TP: embedding and cross-entropy. */
#include <math.h>

#include "base/error.h"
#include "shard/place.h"

weft_vocab_shard weft_vocab_shard_of(const weft_shard *s, int64_t vocab, int64_t padded)
{
    weft_vocab_shard v;
    v.rows = padded / weft_group_size(s->tp);
    v.first = v.rows * weft_group_rank(s->tp);
    v.count = vocab - v.first;
    if (v.count < 0) v.count = 0; /* a shard of padding only */
    if (v.count > v.rows) v.count = v.rows;
    return v;
}

weft_status weft_vocab_embed(const weft_shard *s, weft_vocab_shard v,
                             const int32_t *tokens, const void *w, weft_view *out)
{
    weft_event ev = {0};

    weft_k_embed(s->k, s->t, out->dtype, out->rows, out->cols, v.first, v.count, tokens,
                 w, out->data);
    out->at[WEFT_TP] = (weft_placement){WEFT_PARTIAL_SUM, 0};
    WF_TRY(weft_reduce_start(s, WEFT_FOR_EMBED, out, &ev));
    return weft_reduce_finish(s, out, &ev);
}

static double at(weft_dtype t, const void *x, int64_t i)
{
    return t == WEFT_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Sum over valid tokens of log(sum) - target, in token order. */
static double sum_loss(weft_dtype t, int64_t n, const int32_t *targets, const void *sum,
                       const void *target)
{
    double loss = 0;
    for (int64_t i = 0; i < n; i++)
        if (targets[i] >= 0) loss += log(at(t, sum, i)) - at(t, target, i);
    return loss;
}

static weft_status reduce(const weft_shard *s, weft_purpose why, void *x, int64_t n,
                          weft_reduce op)
{
    weft_event ev = {0};
    WF_TRY(weft_all_reduce(s->tp, why, x, n, weft_dtype_acc(s->t), op, &ev));
    return weft_wait(s->comm, &ev);
}

weft_status weft_ce_forward(const weft_shard *s, weft_vocab_shard v,
                            const weft_view *logits, const int32_t *targets,
                            weft_ce *saved, double *loss_sum)
{
    weft_dtype acc = weft_dtype_acc(s->t);
    int64_t n = logits->rows, bytes = weft_dtype_bytes(acc);
    void *max, *sum;

    WF_TRY(wf_expect(s, "cross-entropy", logits, WEFT_SPLIT, 1));
    WF_TRY(weft_arena_take(s->arena, WEFT_LOGITS, n * bytes, &max));
    WF_TRY(weft_arena_take(s->arena, WEFT_LOGITS, 2 * n * bytes, &sum));
    weft_k_ce_max(s->k, s->t, n, logits->cols, v.count, logits->data, max);
    WF_TRY(reduce(s, WEFT_FOR_CE_MAX, max, n, WEFT_MAX));
    /* sum [T] and target [T] side by side: one all-reduce for both */
    void *target = (char *)sum + n * bytes;
    weft_k_ce_sum(s->k, s->t, n, logits->cols, v.first, v.count, targets, logits->data,
                  max, sum, target);
    WF_TRY(reduce(s, WEFT_FOR_CE_SUM, sum, 2 * n, WEFT_SUM));
    *loss_sum = sum_loss(acc, n, targets, sum, target);
    *saved = (weft_ce){max, sum};
    return WEFT_OK;
}

weft_status weft_ce_backward(const weft_shard *s, weft_vocab_shard v,
                             const int32_t *targets, double scale, weft_ce *saved,
                             weft_view *logits)
{
    WF_TRY(wf_expect(s, "cross-entropy gradient", logits, WEFT_SPLIT, 1));
    weft_k_ce_dx(s->k, s->t, logits->rows, logits->cols, v.first, v.count, targets,
                 saved->max, saved->sum, scale, logits->data);
    weft_arena_give(s->arena, saved->max);
    weft_arena_give(s->arena, saved->sum);
    *saved = (weft_ce){0};
    return WEFT_OK;
}
