/* SPDX-License-Identifier: Apache-2.0 */
/* Bit-exact mode. Weights, data and loss weights are small integers and the non-linear
 * places are clamps, so every sum is a sum of integers below 2^53: exact in f64 in any
 * order. Two layouts that differ in one bit differ in a reduction. */
#include <math.h>
#include <weft/run/random.h>

#include "nn/nn.h"

/* Share of the elements that are -1 or 1, the rest being 0. A row of a linear layer has one
 * on the average, of one that adds to the residual stream fewer in a deeper model: so
 * nearly all gradients are alive, most values stay inside the clamps, and the squares of
 * all gradients sum to less than 2^53. */
static double share_of_ones(const weft_chunk *c, const weft_tensor_info *t)
{
    int to_stream = t->role == WEFT_OUT_W || t->role == WEFT_PROJ_W;
    double in_row = to_stream ? 1.2 / sqrt((double)c->cfg.arch->layers) : 1;

    if (t->n_dims == 1) return 0.1;
    if (t->layer < 0) return 1.0 / 3; /* embeddings */
    return fmin(in_row / (double)t->size[1], 1);
}

void wf_exact_init(const weft_chunk *c, weft_param *p)
{
    double *w = p->w, half = 0.5 * share_of_ones(c, &p->info);

    for (int64_t i = 0; i < p->count;
         i++) /* w holds uniforms in (0, 1), 0 in padding */
        w[i] = w[i] > 0 && w[i] < half ? -1 : w[i] > 1 - half ? 1 : 0;
}

/* Weight of vocabulary row `word` in the loss of a token with this target: -2 .. 2. */
static double loss_weight(const weft_chunk *c, int32_t target, int64_t word)
{
    uint64_t key = weft_random_key("exact.loss");
    return (double)weft_random_below(c->cfg.seed, key,
                                     (uint64_t)target * 4096 + (uint64_t)word, 5) -
           2;
}

static double local_loss(const weft_chunk *c, const weft_view *logits,
                         const int32_t *targets)
{
    const double *x = logits->data;
    double loss = 0;

    for (int64_t i = 0; i < logits->rows; i++)
        for (int64_t j = 0; j < c->vocab.count && targets[i] >= 0; j++)
            loss += loss_weight(c, targets[i], c->vocab.first + j) *
                    x[i * logits->cols + j];
    return loss;
}

weft_status wf_exact_loss(const weft_chunk *c, const weft_view *logits,
                          const int32_t *targets, double *loss)
{
    double sum = local_loss(c, logits, targets);
    weft_event ev = {0};

    WF_TRY(
        weft_all_reduce(c->sh.tp, WEFT_FOR_CE_SUM, &sum, 1, WEFT_F64, WEFT_SUM, &ev));
    WF_TRY(weft_wait(c->sh.comm, &ev));
    *loss = sum;
    return WEFT_OK;
}

void wf_exact_loss_dx(const weft_chunk *c, weft_view *logits, const int32_t *targets)
{
    double *x = logits->data;

    for (int64_t i = 0; i < logits->rows; i++)
        for (int64_t j = 0; j < logits->cols; j++) {
            int used = targets[i] >= 0 && j < c->vocab.count;
            x[i * logits->cols + j] =
                used ? loss_weight(c, targets[i], c->vocab.first + j) : 0;
        }
}
