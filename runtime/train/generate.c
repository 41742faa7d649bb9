/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling from the model as it is split: every TP rank draws from its own vocabulary
 * rows, and only the winner's value and number cross ranks. */
#include <math.h>
#include <string.h>
#include <weft/run/random.h>

#include "train/engine.h"

/* The window that conditions the next token. */
typedef struct window {
    weft_engine *e;
    const int32_t *tokens;
    int64_t n; /* tokens in it, at most seq */
} window;

static void read_window(void *ctx, int64_t micro, int32_t *tokens, int32_t *targets)
{
    const window *w = ctx;
    const weft_layout *l = &w->e->cfg.layout;

    (void)micro;
    for (int64_t i = 0; i < l->micro_batch * l->seq; i++) {
        tokens[i] =
            i < w->n ? w->tokens[i] : 0; /* after the window: masked by causality */
        targets[i] = -1;
    }
}

static double logit(weft_dtype t, const void *x, int64_t i)
{
    if (t == WEFT_F64) return ((const double *)x)[i];
    if (t == WEFT_F32) return ((const float *)x)[i];
    return weft_bf16_to_f32(((const uint16_t *)x)[i]);
}

/* Gumbel-max: argmax of logit/temperature + g is a sample of the softmax, and an argmax
 * over shards is the largest of their argmaxes. The noise is keyed by the vocabulary
 * row, so the sample does not depend on the split. */
static void best_of_shard(weft_engine *e, const void *row, double temperature,
                          uint64_t seed, uint64_t draw, double best[2])
{
    const weft_vocab_shard *v = &e->chunk[e->cfg.layout.vpp - 1].vocab;
    uint64_t key = weft_random_key("generate");

    best[0] = -INFINITY;
    best[1] = -1;
    for (int64_t j = 0; j < v->count; j++) {
        double x = logit(e->cfg.dtype, row, j);
        uint64_t word = (uint64_t)(v->first + j);
        if (temperature > 0) {
            double u = weft_random_uniform(seed, key,
                                           draw * (uint64_t)e->cfg.arch.vocab + word);
            x = x / temperature - log(-log(u));
        }
        if (x > best[0]) {
            best[0] = x;
            best[1] = (double)word;
        }
    }
}

static weft_status pick(weft_engine *e, const double best[2], int32_t *token)
{
    double top = best[0], word;
    weft_event ev = {0};

    WF_TRY(weft_all_reduce(e->tp, WEFT_FOR_CONTROL, &top, 1, WEFT_F64, WEFT_MAX, &ev));
    WF_TRY(weft_wait(e->comm, &ev));
    word = best[0] == top ? best[1] : -1;
    WF_TRY(weft_all_reduce(e->tp, WEFT_FOR_CONTROL, &word, 1, WEFT_F64, WEFT_MAX, &ev));
    WF_TRY(weft_wait(e->comm, &ev));
    *token = (int32_t)word;
    return WEFT_OK;
}

/* From the rank that has the logits (others: -1) to every pipeline rank of the replica. */
static weft_status spread(weft_engine *e, int32_t *token)
{
    double x = *token;
    weft_event ev = {0};

    WF_TRY(
        weft_all_reduce(e->replicas, WEFT_FOR_CONTROL, &x, 1, WEFT_F64, WEFT_MAX, &ev));
    WF_TRY(weft_wait(e->comm, &ev));
    *token = (int32_t)x;
    return WEFT_OK;
}

static weft_status next_token(weft_engine *e, const window *w, double temperature,
                              uint64_t seed, uint64_t draw, int32_t *token)
{
    weft_exec_step x = {.step = e->step, .batch = read_window, .batch_ctx = (void *)w};
    weft_exec_result done;
    void *logits = NULL;
    int32_t out = -1;

    WF_TRY(weft_exec_forward(e->exec, &x, 1, &logits, &done));
    if (logits) {
        int64_t rows = e->chunk[e->cfg.layout.vpp - 1].vocab.rows;
        double best[2];
        best_of_shard(
            e, (char *)logits + (w->n - 1) * rows * weft_dtype_bytes(e->cfg.dtype),
            temperature, seed, draw, best);
        weft_arena_give(e->arena, logits);
        WF_TRY(pick(e, best, &out));
    }
    WF_TRY(spread(e, &out));
    *token = out;
    return WEFT_OK;
}

weft_status weft_engine_generate(weft_engine *e, int32_t *tokens, int64_t n_prompt,
                                 int64_t n_new, double temperature, uint64_t seed)
{
    int64_t seq = e->cfg.layout.seq;

    if (n_prompt < 1)
        return WF_FAIL(WEFT_E_INVALID,
                       "a prompt of at least one token is needed, found %lld",
                       (long long)n_prompt);
    for (int64_t i = n_prompt; i < n_prompt + n_new; i++) {
        int64_t n = i < seq ? i : seq;
        window w = {e, tokens + i - n, n};
        WF_TRY(next_token(e, &w, temperature, seed, (uint64_t)i, &tokens[i]));
    }
    return WEFT_OK;
}
