/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk against the recorded float64 run of PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/torch.h"

static const double tolerance = 1e-10; /* of the largest element of a tensor */

/* How a rank runs it, and what the ranks found. */
typedef struct trial {
    torch_run *torch;
    int micros; /* the batch in so many micro-batches */
    double loss[TORCH_STEPS + 1];
    lab_shards grad, weight;
} trial;

static double valid_targets(const torch_run *r)
{
    double n = 0;
    for (int64_t i = 0; i < r->batch * r->seq; i++)
        n += r->targets[i] >= 0;
    return n;
}

/* Mean loss; gradients when `back`. Micro-batches in flight together, last backward
 * first. */
static weft_status loss_of(lab *l, const trial *t, int back, double *loss)
{
    const torch_run *r = t->torch;
    int64_t per = r->batch / t->micros * r->seq;
    double valid = valid_targets(r), sum = 0;
    void *none = NULL;

    for (int i = 0; i < t->micros; i++)
        WF_TRY(weft_chunk_forward(&l->chunk, i, r->tokens + i * per,
                                  r->targets + i * per, NULL, &none, &sum));
    memset(l->chunk.g_all, 0, (size_t)l->chunk.n_elems * sizeof(double));
    for (int i = t->micros - 1; i >= 0; i--)
        WF_TRY(weft_chunk_backward(&l->chunk, i, 1 / valid, NULL, &none, NULL, NULL));
    *loss = sum / valid;
    return WEFT_OK;
}

static void sgd(lab *l, double lr)
{
    double *w = l->chunk.w_all, *g = l->chunk.g_all;
    for (int64_t i = 0; i < l->chunk.n_elems; i++)
        w[i] -= lr * g[i];
}

static weft_status run_steps(lab *l, trial *t)
{
    const torch_run *r = t->torch;
    int64_t at = weft_comm_rank(l->comm) * t->grad.len;
    double loss[TORCH_STEPS + 1];

    WF_TRY(lab_write(&l->chunk, &r->map, r->weight));
    for (int i = 0; i < TORCH_STEPS; i++) {
        WF_TRY(loss_of(l, t, 1, &loss[i]));
        if (i == 0) WF_TRY(lab_read(&l->chunk, &r->map, LAB_GRADS, t->grad.x + at));
        sgd(l, r->lr);
    }
    WF_TRY(loss_of(l, t, 0, &loss[TORCH_STEPS]));
    if (weft_comm_rank(l->comm) == 0) memcpy(t->loss, loss, sizeof loss);
    return lab_read(&l->chunk, &r->map, LAB_WEIGHTS, t->weight.x + at);
}

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    trial *t = ctx;
    lab_spec spec = {.arch = t->torch->arch,
                     .batch = t->torch->batch / t->micros,
                     .seq = t->torch->seq,
                     .n_micro = t->micros,
                     .vocab_multiple = 2};
    lab l;

    WF_TRY(lab_open(comm, &spec, &l));
    weft_status st = run_steps(&l, t);
    lab_close(&l);
    return st;
}

static void agrees(const trial *t, const double *grad, const double *weight)
{
    const torch_run *r = t->torch;

    for (int i = 0; i <= TORCH_STEPS; i++)
        if (!(fabs(t->loss[i] - r->loss[i]) <= tolerance * r->loss[i]))
            fail_msg("loss %d is %.15g, PyTorch's %.15g", i, t->loss[i], r->loss[i]);
    for (int i = 0; i < r->map.n_tensors; i++) {
        int64_t lo = r->map.at[i], hi = r->map.at[i + 1];
        weft_tensor_info info;
        weft_arch_tensor(&r->map.arch, i, &info);
        double far = lab_far(grad, r->grad, lo, hi);
        if (!(far <= tolerance)) fail_msg("gradient of %s: %.3g", info.name, far);
        if (isnan(r->after[lo])) continue;
        far = lab_far(weight, r->after, lo, hi);
        if (!(far <= tolerance)) fail_msg("%s after SGD: %.3g", info.name, far);
    }
}

static void compare(int tp, int micros)
{
    torch_run r;
    weft_comm_options o = {.timeout_s = 60};
    static double grad[8192], weight[8192];

    MUST(torch_read(&r));
    trial t = {.torch = &r, .micros = micros};
    int64_t n = r.map.at[r.map.n_tensors];
    assert_true(n <= 8192);
    MUST(lab_shards_create(tp, n, &t.grad));
    MUST(lab_shards_create(tp, n, &t.weight));
    MUST(weft_loop_run(tp, &o, on_rank, &t));
    MUST(lab_merge(&t.grad, grad));
    MUST(lab_merge(&t.weight, weight));
    agrees(&t, grad, weight);
    lab_shards_clear(&t.grad);
    lab_shards_clear(&t.weight);
    torch_clear(&r);
}

static void one_rank_gives_pytorchs_loss_gradients_and_weights(void **state)
{
    (void)state;
    compare(1, 1);
}

static void micro_batches_add_up_to_the_same(void **state)
{
    (void)state;
    compare(1, 3);
}

static void so_do_three_tensor_parallel_ranks(void **state)
{
    (void)state;
    compare(3, 1);
    compare(3, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_gives_pytorchs_loss_gradients_and_weights),
        cmocka_unit_test(micro_batches_add_up_to_the_same),
        cmocka_unit_test(so_do_three_tensor_parallel_ranks)};
    return cmocka_run_group_tests_name("a chunk beside PyTorch", tests, NULL, NULL);
}
