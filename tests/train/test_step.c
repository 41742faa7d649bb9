/* SPDX-License-Identifier: Apache-2.0 */
/* A step of the engine against its definition, computed here from the data and from one
 * chunk: the mean loss over valid tokens, its gradient, the clip, AdamW. What `verify`
 * compares shares this code on both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "nn/lab.h"
#include "train/lab.h"

enum { SEQ = 4, STEPS = 3, MAX_ELEMS = 32768 };
static const char arch[] = "layers=4,hidden=12,heads=6,vocab=21,positions=4";

/* What the engine says: gradients of each step, weights before the first and after each. */
typedef struct job {
    weft_train_config c;
    weft_data *data;
    lab_map map;
    lab_shards grad[STEPS], weight[STEPS + 1];
    weft_step_result step[STEPS];
    double held_out;
} job;

static weft_status read_into(weft_engine *e, const job *j, int what, lab_shards *s,
                             int rank)
{
    for (int i = 0; i < weft_engine_n_chunks(e); i++)
        WF_TRY(lab_read(weft_engine_chunk(e, i), &j->map, what, s->x + rank * s->len));
    return WEFT_OK;
}

static weft_status on_engine(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    int rank = weft_comm_rank(comm);

    WF_TRY(read_into(e, j, LAB_WEIGHTS, &j->weight[0], rank));
    for (int i = 0; i < STEPS; i++) {
        weft_step_result r;
        WF_TRY(weft_engine_step(e, &r));
        if (rank == 0) j->step[i] = r;
        WF_TRY(read_into(e, j, LAB_GRADS, &j->grad[i], rank));
        WF_TRY(read_into(e, j, LAB_WEIGHTS, &j->weight[i + 1], rank));
    }
    double held_out;
    WF_TRY(weft_engine_evaluate(e, 2, &held_out));
    if (rank == 0) j->held_out = held_out;
    return WEFT_OK;
}

static void merged(const lab_shards *s, double *out)
{
    assert_true(s->len <= MAX_ELEMS);
    MUST(lab_merge(s, out));
}

static void open_job(job *j, const char *layout)
{
    *j = (job){.held_out = 0};
    lab_base(&j->c, arch);
    j->c.optimizer = WEFT_ADAMW;
    j->c.weight_decay = 0.3;
    j->c.beta1 = 0.8;
    j->c.beta2 = 0.95;
    j->c.eps = 1e-6;
    j->c.clip_grad = 0.5;
    j->c.lr = (weft_lr){.lr = 0.04,
                        .min_lr = 0.01,
                        .warmup_iters = 2,
                        .decay_iters = 10,
                        .style = WEFT_DECAY_LINEAR};
    lab_layout(&j->c, layout);
    MUST(weft_data_random(j->c.arch.vocab, SEQ, 64, 3, 1, &j->data));
    MUST(lab_map_create(&j->c.arch, &j->map));
    int world = weft_layout_world(&j->c.layout);
    for (int i = 0; i <= STEPS; i++) {
        MUST(lab_shards_create(world, j->map.at[j->map.n_tensors], &j->weight[i]));
        if (i < STEPS)
            MUST(lab_shards_create(world, j->map.at[j->map.n_tensors], &j->grad[i]));
    }
    MUST(lab_engines(&j->c, j->data, NULL, on_engine, j));
}

static void close_job(job *j)
{
    for (int i = 0; i <= STEPS; i++) {
        lab_shards_clear(&j->weight[i]);
        if (i < STEPS) lab_shards_clear(&j->grad[i]);
    }
    lab_map_clear(&j->map);
    weft_data_destroy(j->data);
}

/* One rank, one chunk, one sample at a time. */
typedef struct alone {
    lab l;
    weft_comm *comm;
} alone;

static void open_alone(alone *a)
{
    lab_spec spec = {.arch = arch, .batch = 1, .seq = SEQ, .random_all = 1};
    MUST(weft_comm_self(NULL, &a->comm));
    MUST(lab_open(a->comm, &spec, &a->l));
}

static void close_alone(alone *a)
{
    lab_close(&a->l);
    weft_comm_destroy(a->comm);
}

/* Mean loss of samples k .. k+n-1 with weights w; its gradient when grad is not NULL. */
static double mean_loss(alone *a, const job *j, weft_split split, int64_t k, int64_t n,
                        const double *w, double *grad)
{
    int32_t tokens[SEQ], targets[SEQ];
    double sum = 0, valid = 0;
    void *none = NULL;
    weft_chunk *c = &a->l.chunk;

    MUST(lab_write(c, &j->map, w));
    memset(c->g_all, 0, (size_t)c->n_elems * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        weft_data_sample(j->data, split, k + i, tokens, targets);
        for (int t = 0; t < SEQ; t++)
            valid += targets[t] >= 0;
    }
    for (int64_t i = 0; i < n; i++) {
        weft_data_sample(j->data, split, k + i, tokens, targets);
        MUST(weft_chunk_forward(c, 0, tokens, targets, NULL, &none, &sum));
        MUST(weft_chunk_backward(c, 0, 1 / valid, NULL, &none, NULL, NULL));
    }
    if (grad) MUST(lab_read(c, &j->map, LAB_GRADS, grad));
    return sum / valid;
}

static const char *const layouts[] = {"m=6",
                                      "m=3 micro_batch=2",
                                      "dp=2 m=3",
                                      "dp=3 m=2",
                                      "tp=2 pp=2 m=6",
                                      "tp=3 dp=2 m=3",
                                      "pp=2 dp=3 m=1 micro_batch=2",
                                      "vpp=2 m=6 schedule=interleaved",
                                      "pp=2 vpp=2 m=6 schedule=looped-bfs",
                                      "pp=2 vpp=2 m=6 schedule=v-min",
                                      "pp=2 vpp=2 m=6 schedule=chimera",
                                      "pp=2 dp=3 vpp=4 m=2 schedule=bitpipe",
                                      "pp=2 vpp=2 m=6 schedule=dualpipe"};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts, BATCH = 6 };

static double weights[STEPS + 1][MAX_ELEMS], grads[MAX_ELEMS], mine[MAX_ELEMS];

/* Cases 75, 78: whatever m and dp are, sums over valid tokens divided once. Step i uses
 * samples 6 i .. 6 i + 5 (case 106). */
static void loss_and_gradient_are_means_over_the_valid_tokens_of_the_batch(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        job j;
        alone a;
        open_job(&j, layouts[i]);
        open_alone(&a);
        int64_t n = j.map.at[j.map.n_tensors];
        for (int s = 0; s < STEPS; s++) {
            merged(&j.weight[s], weights[0]);
            merged(&j.grad[s], grads);
            double loss =
                mean_loss(&a, &j, WEFT_TRAIN, s * BATCH, BATCH, weights[0], mine);
            if (!(fabs(loss - j.step[s].loss) < 1e-13 * loss) ||
                !(lab_far(grads, mine, 0, n) < 1e-12))
                fail_msg("%s, step %d: loss %.15g, not %.15g; gradient off by %.2g",
                         layouts[i], s, j.step[s].loss, loss,
                         lab_far(grads, mine, 0, n));
        }
        close_alone(&a);
        close_job(&j);
    }
}

static void the_held_out_loss_is_the_mean_over_its_batches(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        job j;
        alone a;
        open_job(&j, layouts[i]);
        open_alone(&a);
        merged(&j.weight[STEPS], weights[0]);
        double loss = mean_loss(&a, &j, WEFT_HELD_OUT, 0, 2 * BATCH, weights[0], NULL);
        assert_true(fabs(loss - j.held_out) < 1e-13 * loss);
        close_alone(&a);
        close_job(&j);
    }
}

/* Warm-up to 0.04 in two steps, then 0.04 - 0.03 (i - 2) / 8. */
static void the_rate_warms_up_and_decays(void **state)
{
    job j;
    (void)state;
    open_job(&j, "m=6");
    assert_true(j.step[0].lr == 0.02 && j.step[1].lr == 0.04 && j.step[2].lr == 0.04);
    close_job(&j);
}

/* The definition, on the clipped gradient; decay only for matrices; the bias correction
 * counts from 1 (case 105). */
static void adamw(const job *j, int tensor, double *w, double *m, double *v)
{
    weft_tensor_info t;

    weft_arch_tensor(&j->map.arch, tensor, &t);
    for (int64_t k = j->map.at[tensor]; k < j->map.at[tensor + 1]; k++)
        for (int s = 0; s < STEPS; s++) {
            double g = j->grad[s].x[k], clip = 0.5 / j->step[s].grad_norm;
            if (clip < 1) g *= clip;
            m[k] = 0.8 * m[k] + 0.2 * g;
            v[k] = 0.95 * v[k] + 0.05 * g * g;
            double mh = m[k] / (1 - pow(0.8, s + 1)),
                   vh = v[k] / (1 - pow(0.95, s + 1));
            w[k] -= j->step[s].lr *
                    (mh / (sqrt(vh) + 1e-6) + (t.n_dims == 2 ? 0.3 * w[k] : 0));
        }
}

static void weights_follow_adamw_of_the_clipped_gradient(void **state)
{
    static double w[MAX_ELEMS], m[MAX_ELEMS], v[MAX_ELEMS];
    job j;
    (void)state;
    open_job(&j, "m=6"); /* one rank, whose arrays are whole */
    assert_true(j.step[0].grad_norm > 0.5);
    merged(&j.weight[0], w);
    merged(&j.weight[STEPS], weights[STEPS]);
    for (int i = 0; i < j.map.n_tensors; i++)
        adamw(&j, i, w, m, v);
    for (int64_t k = 0; k < j.map.at[j.map.n_tensors]; k++)
        if (!(fabs(w[k] - weights[STEPS][k]) < 1e-12))
            fail_msg("element %lld: %.15g, not %.15g", (long long)k, weights[STEPS][k],
                     w[k]);
    close_job(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            loss_and_gradient_are_means_over_the_valid_tokens_of_the_batch),
        cmocka_unit_test(the_held_out_loss_is_the_mean_over_its_batches),
        cmocka_unit_test(the_rate_warms_up_and_decays),
        cmocka_unit_test(weights_follow_adamw_of_the_clipped_gradient)};
    return cmocka_run_group_tests_name("one step", tests, NULL, NULL);
}
