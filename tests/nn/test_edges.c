/* SPDX-License-Identifier: Apache-2.0 */
/* Where split models go wrong: biases added on every rank, padded vocabulary, ignored
 * targets, means of means. Each claim compares TP degrees, or holds for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "nn/lab.h"

enum { MAX_TOKENS = 128 };

/* Forward and backward of some micro-batches on every rank of a TP group. */
typedef struct ask {
    lab_spec spec;
    int32_t tokens[MAX_TOKENS], targets[MAX_TOKENS]; /* of all micro-batches */
    double scale;
    weft_status (*prepare)(lab *l);
    weft_status (*inspect)(lab *l);
    double loss_sum;
    double *grad; /* merged, logical */
    lab_map map;
    lab_shards shards;
} ask;

static weft_status work(lab *l, ask *a)
{
    int64_t per = a->spec.batch * a->spec.seq;
    void *none = NULL;
    double sum = 0;

    if (a->prepare) WF_TRY(a->prepare(l));
    for (int64_t i = 0; i < l->chunk.cfg.n_micro; i++)
        WF_TRY(weft_chunk_forward(&l->chunk, i, a->tokens + i * per,
                                  a->targets + i * per, NULL, &none, &sum));
    for (int64_t i = 0; i < l->chunk.cfg.n_micro; i++)
        WF_TRY(weft_chunk_backward(&l->chunk, i, a->scale, NULL, &none, NULL, NULL));
    if (a->inspect) WF_TRY(a->inspect(l));
    if (weft_comm_rank(l->comm) == 0) a->loss_sum = sum;
    return lab_read(&l->chunk, &a->map, LAB_GRADS,
                    a->shards.x + weft_comm_rank(l->comm) * a->shards.len);
}

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    ask *a = ctx;
    lab l;

    WF_TRY(lab_open(comm, &a->spec, &l));
    weft_status st = work(&l, a);
    lab_close(&l);
    return st;
}

static weft_status run(ask *a, int tp)
{
    weft_comm_options o = {.timeout_s = 60};
    weft_arch arch;

    WF_TRY(weft_arch_parse(a->spec.arch, &arch));
    WF_TRY(lab_map_create(&arch, &a->map));
    int64_t n = a->map.at[a->map.n_tensors];
    WF_TRY(WF_ALLOC(n, &a->grad));
    WF_TRY(lab_shards_create(tp, n, &a->shards));
    WF_TRY(weft_loop_run(tp, &o, on_rank, a));
    return lab_merge(&a->shards, a->grad);
}

static void done(ask *a)
{
    lab_shards_clear(&a->shards);
    lab_map_clear(&a->map);
    wf_free(a->grad);
    a->grad = NULL;
}

/* The same loss and gradients as tp = 1, for each of the degrees (0 ends them). */
static void same_for(ask a, const int *tp)
{
    ask one = a;

    MUST(run(&one, 1));
    assert_true(isfinite(one.loss_sum) && one.loss_sum > 0);
    for (; *tp; tp++) {
        ask many = a;
        MUST(run(&many, *tp));
        if (!(fabs(many.loss_sum - one.loss_sum) <= 1e-13 * one.loss_sum))
            fail_msg("tp %d: loss %.17g, tp 1: %.17g", *tp, many.loss_sum,
                     one.loss_sum);
        for (int i = 0; i < one.map.n_tensors; i++) {
            double far = lab_far(many.grad, one.grad, one.map.at[i], one.map.at[i + 1]);
            if (!(far <= 1e-12))
                fail_msg("tp %d: gradient of tensor %d: %g", *tp, i, far);
        }
        done(&many);
    }
    done(&one);
}

static ask small(const char *arch, int64_t batch, int64_t seq, int64_t vocab)
{
    ask a = {.spec = {.arch = arch, .batch = batch, .seq = seq, .random_all = 1},
             .scale = 0.125};
    lab_tokens(batch * seq, vocab, 1, 7, a.tokens, a.targets);
    return a;
}

static void heads_split_over_any_divisor(void **state)
{
    ask a = small("layers=2,hidden=24,heads=6,ffn=36,vocab=12,positions=5", 3, 5, 12);
    (void)state;
    same_for(a, (const int[]){2, 3, 6, 0});
}

/* Case 71. */
static void a_vocabulary_that_no_degree_divides_is_padded_without_a_trace(void **state)
{
    ask a = small("layers=1,hidden=8,heads=8,ffn=16,vocab=13,positions=6", 2, 6, 13);
    (void)state;
    a.spec.vocab_multiple = 4;
    same_for(a, (const int[]){2, 4, 8, 0});
    a.spec.arch = "layers=1,hidden=8,heads=8,ffn=16,vocab=13,positions=6,tied=0";
    same_for(a, (const int[]){2, 4, 8, 0});
}

/* Vocabulary 5 over 4 ranks of 2 rows: the last holds none of it. */
static void a_shard_of_padding_alone_changes_nothing(void **state)
{
    ask a = small("layers=1,hidden=8,heads=4,ffn=16,vocab=5,positions=6", 2, 6, 5);
    (void)state;
    a.spec.vocab_multiple = 2;
    same_for(a, (const int[]){2, 4, 0});
}

/* Large values in the padding: a logit of it would overflow the sum, or win the maximum. */
static weft_status fill_padding(lab *l)
{
    const weft_param *p = weft_chunk_param(&l->chunk, WEFT_WTE, -1);
    double *w = p->w;

    for (int64_t i = l->chunk.vocab.count; i < l->chunk.vocab.rows; i++)
        for (int64_t j = 0; j < p->size[1]; j++)
            w[i * p->size[1] + j] = j % 2 ? -1e4 : 1e4;
    return WEFT_OK;
}

static weft_status padding_has_no_gradient(lab *l)
{
    const weft_param *p = weft_chunk_param(&l->chunk, WEFT_WTE, -1);
    const double *g = p->g;

    for (int64_t i = l->chunk.vocab.count * p->size[1]; i < p->count; i++)
        CLAIM(g[i] == 0, "row %lld is padding and has gradient %g",
              (long long)(i / p->size[1]), g[i]);
    return WEFT_OK;
}

static void padded_rows_get_no_probability_and_no_gradient(void **state)
{
    ask plain = small("layers=1,hidden=8,heads=4,ffn=16,vocab=5,positions=6", 2, 6, 5);
    (void)state;
    for (int tp = 1; tp <= 4; tp *= 2) {
        ask padded = plain, bare = plain;
        padded.spec.vocab_multiple = 4;
        bare.spec.vocab_multiple = 4;
        padded.prepare = fill_padding;
        padded.inspect = padding_has_no_gradient;
        MUST(run(&bare, tp));
        MUST(run(&padded, tp));
        assert_true(padded.loss_sum == bare.loss_sum);
        assert_memory_equal(padded.grad, bare.grad,
                            sizeof(double) * (size_t)bare.map.at[bare.map.n_tensors]);
        done(&padded);
        done(&bare);
    }
}

/* All weights zero but the biases after the sums: what leaves the last block is their
 * sum. */
static weft_status only_row_biases(lab *l)
{
    for (int i = 0; i < l->chunk.n_params; i++) {
        const weft_param *p = &l->chunk.param[i];
        double *w = p->w, x = 0;
        if (p->info.role == WEFT_OUT_B) x = 10;
        if (p->info.role == WEFT_PROJ_B) x = 1;
        for (int64_t k = 0; k < p->count; k++)
            w[k] = x * (double)(k + 1);
    }
    return WEFT_OK;
}

/* Case 59, in the whole block: the residual stream is 11, 22, 33, ... whatever tp is. */
static weft_status stream_is_the_two_biases(weft_comm *comm, void *ctx)
{
    lab_spec spec = {.arch = "layers=1,hidden=8,heads=4,ffn=16,vocab=6,positions=3",
                     .batch = 1,
                     .seq = 3};
    int32_t tokens[3] = {0, 1, 2}, targets[3] = {0, 1, 2};
    void *x = NULL;
    double sum = 0;
    lab l;

    (void)ctx;
    WF_TRY(lab_open(comm, &spec, &l));
    WF_TRY(only_row_biases(&l));
    l.chunk.cfg.has_head = 0; /* the stream itself comes out */
    WF_TRY(weft_chunk_forward(&l.chunk, 0, tokens, targets, NULL, &x, &sum));
    for (int i = 0; i < 24; i++)
        CLAIM(((double *)x)[i] == 11 * (i % 8 + 1), "tp %d: x[%d] is %g, not %d",
              weft_comm_size(comm), i, ((double *)x)[i], 11 * (i % 8 + 1));
    weft_arena_give(l.arena, x);
    lab_close(&l);
    return WEFT_OK;
}

static void a_bias_after_the_sum_is_added_once(void **state)
{
    (void)state;
    for (int tp = 1; tp <= 4; tp *= 2)
        MUST(weft_loop_run(tp, NULL, stream_is_the_two_biases, NULL));
}

static void tokens_without_a_target_count_for_nothing(void **state)
{
    ask a = small("layers=2,hidden=8,heads=2,ffn=16,vocab=9,positions=6", 2, 6, 9);
    (void)state;
    for (int i = 0; i < 12; i++)
        a.targets[i] = -1;
    for (int tp = 1; tp <= 2; tp++) {
        ask none = a;
        MUST(run(&none, tp));
        assert_true(none.loss_sum == 0);
        for (int64_t i = 0; i < none.map.at[none.map.n_tensors]; i++)
            assert_true(none.grad[i] == 0);
        done(&none);
    }
}

/* Case 75: one sample with 2 targets, one with 20. Weighed by tokens, two micro-batches
 * give what one batch of both gives; a mean of means would not. */
static void uneven_samples_weigh_by_their_targets(void **state)
{
    ask both = small("layers=1,hidden=8,heads=2,ffn=16,vocab=9,positions=20", 2, 20, 9);
    (void)state;
    for (int i = 0; i < 40; i++)
        both.targets[i] = i < 18 ? -1 : (both.targets[i] & 7);
    both.scale = 1.0 / 22;
    ask apart = both;
    apart.spec.batch = 1;
    apart.spec.n_micro = 2;
    MUST(run(&both, 2));
    MUST(run(&apart, 2));
    assert_true(fabs(both.loss_sum - apart.loss_sum) <= 1e-13 * both.loss_sum);
    assert_true(lab_far(apart.grad, both.grad, 0, both.map.at[both.map.n_tensors]) <
                1e-13);
    done(&both);
    done(&apart);
}

/* Case 77: a gradient is the sum over micro-batches, not a running mean. */
static void four_equal_micro_batches_give_four_times_the_gradient(void **state)
{
    ask one = small("layers=1,hidden=8,heads=2,ffn=16,vocab=9,positions=6", 1, 6, 9);
    ask four = one;
    (void)state;
    four.spec.n_micro = 4;
    for (int i = 0; i < 24; i++) {
        four.tokens[i] = one.tokens[i % 6];
        four.targets[i] = one.targets[i % 6];
    }
    MUST(run(&one, 1));
    MUST(run(&four, 1));
    int64_t n = one.map.at[one.map.n_tensors];
    for (int64_t i = 0; i < n; i++)
        one.grad[i] *= 4;
    assert_true(four.loss_sum == 4 * one.loss_sum);
    assert_true(lab_far(four.grad, one.grad, 0, n) < 1e-14);
    done(&one);
    done(&four);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_split_over_any_divisor),
        cmocka_unit_test(a_vocabulary_that_no_degree_divides_is_padded_without_a_trace),
        cmocka_unit_test(a_shard_of_padding_alone_changes_nothing),
        cmocka_unit_test(padded_rows_get_no_probability_and_no_gradient),
        cmocka_unit_test(a_bias_after_the_sum_is_added_once),
        cmocka_unit_test(tokens_without_a_target_count_for_nothing),
        cmocka_unit_test(uneven_samples_weigh_by_their_targets),
        cmocka_unit_test(four_equal_micro_batches_give_four_times_the_gradient)};
    return cmocka_run_group_tests_name("edges of split models", tests, NULL, NULL);
}
