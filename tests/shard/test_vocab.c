/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding and cross-entropy over a split vocabulary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "shard/lab.h"

enum { MAX_ROWS = 16, MAX_VOCAB = 64 };

/* Logits of some tokens over an unpadded vocabulary; what is right. */
typedef struct problem {
    int rows, vocab, padded;
    double logits[MAX_ROWS * MAX_VOCAB];
    int32_t targets[MAX_ROWS];
    double loss, tolerance;
    double gradient[MAX_ROWS * MAX_VOCAB]; /* of 1 * loss */
} problem;

/* The definition, in long double. */
static void solve(problem *p)
{
    p->loss = 0;
    for (int i = 0; i < p->rows; i++) {
        const double *x = &p->logits[i * p->vocab];
        long double top = x[0], sum = 0;
        for (int j = 1; j < p->vocab; j++)
            if (x[j] > top) top = x[j];
        for (int j = 0; j < p->vocab; j++)
            sum += expl(x[j] - top);
        int t = p->targets[i];
        for (int j = 0; j < p->vocab; j++)
            p->gradient[i * p->vocab + j] =
                t < 0 ? 0 : (double)(expl(x[j] - top) / sum - (j == t));
        if (t >= 0) p->loss += (double)(logl(sum) + top - x[t]);
    }
}

static weft_status check_gradient(const problem *p, weft_vocab_shard v, const double *g)
{
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < v.rows; j++) {
            double want = j < v.count ? p->gradient[i * p->vocab + v.first + j] : 0;
            double got = g[i * v.rows + j];
            CLAIM(fabs(got - want) <= 1e-15, "d logit [%d, %d] is %g, not %g", (int)i,
                  (int)(v.first + j), got, want);
        }
    return WEFT_OK;
}

static weft_status numbers_crossed(const weft_shard *s, int rows)
{
    weft_count_row row[8];
    int n = weft_count_rows(s->comm, row, 8);
    int64_t calls = 0, bytes = 0;

    for (int i = 0; i < n; i++) {
        calls += row[i].calls;
        bytes += row[i].bytes;
    }
    if (weft_group_size(s->tp) == 1) return WEFT_OK;
    CLAIM(calls == 2 && bytes == (int64_t)3 * rows * 8,
          "%lld calls with %lld bytes for %d tokens", (long long)calls,
          (long long)bytes, rows);
    return WEFT_OK;
}

static weft_status cross_entropy(const weft_shard *s, void *ctx)
{
    const problem *p = ctx;
    weft_vocab_shard v = weft_vocab_shard_of(s, p->vocab, p->padded);
    double x[MAX_ROWS * MAX_VOCAB], loss;
    weft_view logits = weft_view_split(x, WEFT_F64, p->rows, v.rows, 1);
    weft_ce saved;

    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < v.rows; j++) /* padding: larger than all */
            x[i * v.rows + j] =
                j < v.count ? p->logits[i * p->vocab + v.first + j] : 5000;
    weft_count_start(s->comm);
    WF_TRY(weft_ce_forward(s, v, &logits, p->targets, &saved, &loss));
    CLAIM(fabs(loss - p->loss) <= p->tolerance, "loss %.17g, not %.17g", loss, p->loss);
    WF_TRY(weft_ce_backward(s, v, p->targets, 1, &saved, &logits));
    WF_TRY(numbers_crossed(s, p->rows));
    WF_TRY(check_gradient(p, v, x));
    CLAIM(weft_arena_used(s->arena, WEFT_LOGITS) == 0, "something is kept");
    return WEFT_OK;
}

static void over_all(problem *p)
{
    for (int n = 1; n <= 8; n++)
        if (p->padded % n == 0) on_shards(n, WEFT_F64, cross_entropy, p);
}

/* Case 73: logits 1 .. 6. */
static void the_loss_of_one_to_six_at_three_is_3_4562(void **state)
{
    problem p = {.rows = 1,
                 .vocab = 6,
                 .padded = 6,
                 .logits = {1, 2, 3, 4, 5, 6},
                 .targets = {2},
                 .tolerance = 1e-14};
    (void)state;
    solve(&p);
    assert_true(fabs(p.loss - 3.4562) < 5e-5);
    over_all(&p);
}

/* Case 73: no overflow, and the loss is exactly zero. */
static void a_logit_of_1000_neither_overflows_nor_costs(void **state)
{
    problem p = {.rows = 2,
                 .vocab = 4,
                 .padded = 4,
                 .logits = {1000, 0, 0, 0, -1000, -1000, -1000, -1000},
                 .targets = {0, -1}};
    (void)state;
    solve(&p);
    assert_true(p.loss == 0);
    over_all(&p);
    p.targets[0] = 3;
    solve(&p);
    assert_true(p.loss == 1000);
    over_all(&p);
}

static void a_target_may_be_any_column_of_any_rank(void **state)
{
    problem p = {.rows = 9, .vocab = 8, .padded = 8, .tolerance = 1e-13};
    (void)state;
    for (int i = 0; i < 9; i++) {
        p.targets[i] = i - 1; /* one of them ignored */
        for (int j = 0; j < 8; j++)
            p.logits[i * 8 + j] = small_integer(i * 8 + j, 5);
    }
    solve(&p);
    over_all(&p);
}

static void padding_is_no_word(void **state)
{
    problem p = {.rows = 5, .vocab = 5, .padded = 24, .tolerance = 1e-13};
    (void)state;
    for (int i = 0; i < 5; i++) {
        p.targets[i] = i;
        for (int j = 0; j < 5; j++)
            p.logits[i * 5 + j] = small_integer(i * 5 + j, 6) / 3;
    }
    solve(&p);
    over_all(&p); /* over 6 and 8 ranks some hold padding alone */
}

static weft_status embed(const weft_shard *s, void *ctx)
{
    static const int32_t tokens[7] = {0, 4, 2, 4, 1, 3, 0};
    weft_vocab_shard v = weft_vocab_shard_of(s, 5, 8);
    double w[8 * 3], out[7 * 3];
    weft_view x = weft_view_of(out, WEFT_F64, 7, 3);

    (void)ctx;
    for (int64_t i = 0; i < v.rows * 3; i++)
        w[i] = i / 3 < v.count ? (double)((v.first + i / 3) * 10 + i % 3) : NAN;
    WF_TRY(weft_vocab_embed(s, v, tokens, w, &x));
    CLAIM(x.at[WEFT_TP].how == WEFT_SAME, "the sum is not marked as the same");
    for (int i = 0; i < 21; i++)
        CLAIM(out[i] == tokens[i / 3] * 10 + i % 3, "row %d of token %d is %g", i / 3,
              tokens[i / 3], out[i]);
    return WEFT_OK;
}

static void each_token_gets_its_row_from_the_rank_that_holds_it(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n *= 2)
        on_shards(n, WEFT_F64, embed, NULL);
}

static weft_status shard_sizes(const weft_shard *s, void *ctx)
{
    weft_vocab_shard v = weft_vocab_shard_of(s, 13, 16);
    int r = weft_group_rank(s->tp);
    static const int count[4] = {4, 4, 4, 1};

    (void)ctx;
    CLAIM(v.first == 4 * r && v.rows == 4 && v.count == count[r], "rank %d", r);
    return WEFT_OK;
}

static void real_words_come_first_and_padding_last(void **state)
{
    (void)state;
    on_shards(4, WEFT_F64, shard_sizes, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_of_one_to_six_at_three_is_3_4562),
        cmocka_unit_test(a_logit_of_1000_neither_overflows_nor_costs),
        cmocka_unit_test(a_target_may_be_any_column_of_any_rank),
        cmocka_unit_test(padding_is_no_word),
        cmocka_unit_test(each_token_gets_its_row_from_the_rank_that_holds_it),
        cmocka_unit_test(real_words_come_first_and_padding_last)};
    return cmocka_run_group_tests_name("split vocabulary", tests, NULL, NULL);
}
