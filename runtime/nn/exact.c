/* SPDX-License-Identifier: Apache-2.0 */
/* Bit-exact mode. Weights, data and loss weights are small integers and the non-linear
 * places are clamps, so every sum is a sum of integers below 2^53: exact in f64 in any
 * order. Two layouts that differ in one bit differ in a reduction. */
#include <weft/run/random.h>

#include "nn/nn.h"

/* -1, 0 or 1; two thirds are zero, so that few values reach the clamp. */
void wf_exact_init(const weft_chunk *c, weft_param *p)
{
    double *w = p->w;
    for (int64_t i = 0; i < p->count; i++) /* w holds uniforms in (0, 6) */
        w[i] = w[i] < 1 ? -1 : w[i] < 2 ? 1 : 0;
    (void)c;
}

/* Weight of vocabulary row `word` in the loss of a token with this target: -2 .. 2. */
static double loss_weight(const weft_chunk *c, int32_t target, int64_t word)
{
    uint64_t key = weft_random_key("exact.loss");
    return (double)weft_random_below(c->cfg.seed, key,
                                     (uint64_t)target * 4096 + (uint64_t)word, 5) -
           2;
}

double wf_exact_loss(const weft_chunk *c, const weft_view *logits,
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
