/* SPDX-License-Identifier: Apache-2.0 */
/* Pipedream against its definition, computed here one mini-batch after the other on one
 * chunk of one rank, with the weights that each stage should have had and AdamW written
 * out; and what follows from it. `weft verify` has such a program of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/lab.h"
#include "train/lab.h"

enum { SEQ = 4, STEPS = 2, MOST_M = 9, MAX_ELEMS = 16384 };
static const char arch[] = "layers=4,hidden=8,heads=2,vocab=21,positions=4,tied=0";

typedef struct job {
    weft_train_config c;
    weft_data *data;
    lab_map map;
    lab_shards first, last;
    weft_step_result step[STEPS];
    int steps, batches;   /* of training; of an evaluation */
    double before, after; /* held-out loss at both ends */
} job;

static weft_status read_into(weft_engine *e, const job *j, lab_shards *s, int rank)
{
    for (int i = 0; i < weft_engine_n_chunks(e); i++)
        WF_TRY(lab_read(weft_engine_chunk(e, i), &j->map, LAB_WEIGHTS,
                        s->x + rank * s->len));
    return WEFT_OK;
}

static weft_status on_engine(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    int rank = weft_comm_rank(comm);
    double before, after;

    WF_TRY(read_into(e, j, &j->first, rank));
    WF_TRY(weft_engine_evaluate(e, j->batches, &before));
    for (int i = 0; i < j->steps; i++) {
        weft_step_result r;
        WF_TRY(weft_engine_step(e, &r));
        if (rank == 0 && i < STEPS) j->step[i] = r;
    }
    WF_TRY(weft_engine_evaluate(e, j->batches, &after));
    if (rank == 0) {
        j->before = before;
        j->after = after;
    }
    return read_into(e, j, &j->last, rank);
}

static void open_job(job *j, const char *layout, int steps)
{
    *j = (job){.steps = steps, .batches = 1};
    lab_base(&j->c, arch);
    j->c.optimizer = WEFT_ADAMW;
    j->c.weight_decay = 0.3;
    j->c.beta1 = 0.8;
    j->c.beta2 = 0.95;
    j->c.eps = 1e-6;
    j->c.lr = (weft_lr){.lr = 0.02, .min_lr = 0.02, .style = WEFT_DECAY_CONSTANT};
    lab_layout(&j->c, layout);
    MUST(weft_data_random(j->c.arch.vocab, SEQ, 64, 3, 1, &j->data));
    MUST(lab_map_create(&j->c.arch, &j->map));
    int world = weft_layout_world(&j->c.layout);
    assert_true(j->map.at[j->map.n_tensors] <= MAX_ELEMS);
    MUST(lab_shards_create(world, j->map.at[j->map.n_tensors], &j->first));
    MUST(lab_shards_create(world, j->map.at[j->map.n_tensors], &j->last));
}

static void run(job *j)
{
    if (lab_engines(&j->c, j->data, NULL, on_engine, j))
        fail_msg("%s: %s", lab_text(&j->c.layout), weft_status_message());
}

static void close_job(job *j)
{
    lab_shards_clear(&j->first);
    lab_shards_clear(&j->last);
    lab_map_clear(&j->map);
    weft_data_destroy(j->data);
}

/* ---- the definition -------------------------------------------------------------- */

/* Weights before each mini-batch of a step, and at last. */
static double history[MOST_M + 1][MAX_ELEMS], seen[MAX_ELEMS], grad[MAX_ELEMS];
static double moment[MAX_ELEMS], second[MAX_ELEMS];

/* Four layers, one a stage with p = 4, two a stage with p = 2. */
static int stage_of(const weft_tensor_info *t, int p)
{
    if (t->layer < 0) return 0;
    return t->layer >= 4 ? p - 1 : t->layer * p / 4;
}

/* Stage s runs p-1-s forwards ahead of its first backward: so many updates old are the
 * weights of its later ones, and the first p-s have those of the start. */
static void look(const job *j, int i)
{
    int p = j->c.layout.pp;

    for (int k = 0; k < j->map.n_tensors; k++) {
        weft_tensor_info t;
        weft_arch_tensor(&j->map.arch, k, &t);
        int old = i - (p - 1 - stage_of(&t, p));
        const double *w = history[old > 0 ? old : 0];
        for (int64_t e = j->map.at[k]; e < j->map.at[k + 1]; e++)
            seen[e] = w[e];
    }
}

/* Mean over the valid tokens of n samples from k on. */
static double gradient(lab *l, const job *j, int64_t k, int64_t n, double *valid)
{
    int32_t tokens[SEQ], targets[SEQ];
    double sum = 0;
    void *none = NULL;
    weft_chunk *c = &l->chunk;

    *valid = 0;
    MUST(lab_write(c, &j->map, seen));
    weft_chunk_zero_grads(c);
    for (int64_t i = 0; i < n; i++) {
        weft_data_sample(j->data, WEFT_TRAIN, k + i, tokens, targets);
        for (int t = 0; t < SEQ; t++)
            *valid += targets[t] >= 0;
    }
    for (int64_t i = 0; i < n; i++) {
        weft_data_sample(j->data, WEFT_TRAIN, k + i, tokens, targets);
        MUST(weft_chunk_forward(c, 0, tokens, targets, NULL, &none, &sum));
        MUST(weft_chunk_backward(c, 0, 1 / *valid, NULL, &none, NULL, NULL));
    }
    MUST(lab_read(c, &j->map, LAB_GRADS, grad));
    return sum;
}

/* Update u (from 1) of a tensor, from the newest weights to the next. */
static void adamw(const job *j, int tensor, int u, const double *from, double *to)
{
    weft_tensor_info t;

    weft_arch_tensor(&j->map.arch, tensor, &t);
    for (int64_t k = j->map.at[tensor]; k < j->map.at[tensor + 1]; k++) {
        moment[k] = 0.8 * moment[k] + 0.2 * grad[k];
        second[k] = 0.95 * second[k] + 0.05 * grad[k] * grad[k];
        double m = moment[k] / (1 - pow(0.8, u)), v = second[k] / (1 - pow(0.95, u));
        double decay = t.n_dims == 2 ? 0.3 * from[k] : 0;
        to[k] = from[k] - 0.02 * (m / (sqrt(v) + 1e-6) + decay);
    }
}

/* Mean loss of the step; the weights after it are in history[0]. */
static double serial_step(lab *l, const job *j, int step)
{
    const weft_layout *x = &j->c.layout;
    int m = (int)weft_layout_n_micro(x);
    int64_t each = x->micro_batch * x->dp;
    double loss = 0, valid = 0, n;

    for (int i = 0; i < m; i++) {
        look(j, i);
        loss += gradient(l, j, step * x->global_batch + i * each, each, &n);
        valid += n;
        for (int k = 0; k < j->map.n_tensors; k++)
            adamw(j, k, step * m + i + 1, history[i], history[i + 1]);
    }
    memcpy(history[0], history[m], sizeof history[0]);
    return loss / valid;
}

static void follows_the_definition(const char *layout)
{
    static double first[MAX_ELEMS], last[MAX_ELEMS];
    lab_spec spec = {.arch = arch, .batch = 1, .seq = SEQ, .random_all = 1};
    weft_comm *self;
    lab l;
    job j;

    open_job(&j, layout, STEPS);
    run(&j);
    MUST(lab_merge(&j.first, first));
    MUST(lab_merge(&j.last, last));
    MUST(weft_comm_self(NULL, &self));
    MUST(lab_open(self, &spec, &l));
    memcpy(history[0], first, sizeof first);
    memset(moment, 0, sizeof moment);
    memset(second, 0, sizeof second);
    for (int s = 0; s < STEPS; s++) {
        double loss = serial_step(&l, &j, s);
        if (!(fabs(loss - j.step[s].loss) < 1e-12 * loss))
            fail_msg("%s, step %d: loss %.15g, not %.15g", layout, s, j.step[s].loss,
                     loss);
    }
    double far = lab_far(last, history[0], 0, j.map.at[j.map.n_tensors]);
    if (!(far < 1e-11)) fail_msg("%s: weights off by %.2g", layout, far);
    assert_true(lab_far(first, last, 0, j.map.at[j.map.n_tensors]) > 1e-3);
    print_message("%-44s weights within %.1e\n", layout, far);
    lab_close(&l);
    weft_comm_destroy(self);
    close_job(&j);
}

static void each_stage_is_as_late_as_it_runs_ahead(void **state)
{
    (void)state;
    follows_the_definition("pp=4 m=9 schedule=pipedream");
    follows_the_definition("pp=4 m=2 schedule=pipedream");
    follows_the_definition("pp=2 m=7 schedule=pipedream");
    follows_the_definition("tp=2 pp=2 m=4 schedule=pipedream");
    follows_the_definition("pp=4 dp=2 m=5 micro_batch=2 schedule=pipedream");
}

/* ---- what follows ------------------------------------------------------------------ */

/* One stage is never late: m mini-batches in a step are m steps of one. */
static void on_one_stage_it_is_plain_descent(void **state)
{
    static double a[MAX_ELEMS], b[MAX_ELEMS];
    job async, plain;
    (void)state;
    open_job(&async, "m=6 schedule=pipedream", 2);
    run(&async);
    open_job(&plain, "m=1 schedule=1f1b", 12);
    plain.batches = 6; /* the same samples held out */
    run(&plain);
    MUST(lab_merge(&async.last, a));
    MUST(lab_merge(&plain.last, b));
    assert_memory_equal(a, b, (size_t)async.map.at[async.map.n_tensors] * sizeof *a);
    assert_true(async.after == plain.after && async.before == plain.before);
    assert_true(async.after != async.before);
    close_job(&async);
    close_job(&plain);
}

/* A gradient that is not finite ends the run with the tensor's name, and its stage keeps
 * the weights that it had. */
static void what_is_not_finite_ends_the_run(void **state)
{
    job j;
    (void)state;
    open_job(&j, "pp=2 m=4 schedule=pipedream", 3);
    j.c.optimizer = WEFT_SGD;
    j.c.lr = (weft_lr){.lr = 1e200, .min_lr = 1e200, .style = WEFT_DECAY_CONSTANT};
    assert_int_equal(lab_engines(&j.c, j.data, NULL, on_engine, &j), WEFT_E_NUMERIC);
    print_message("  %s\n", weft_status_message());
    assert_non_null(strstr(weft_status_message(), "step 0: the gradient of "));
    assert_non_null(strstr(weft_status_message(), "its stage was not updated by it"));
    close_job(&j);
}

static void what_it_cannot_do_is_refused_with_the_reason(void **state)
{
    job j;
    weft_engine *e = NULL;
    weft_comm *self;
    (void)state;
    open_job(&j, "pp=2 m=4 schedule=pipedream", 1);
    MUST(weft_train_check(&j.c));
    j.c.clip_grad = 0.5;
    assert_int_equal(weft_train_check(&j.c), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "--clip-grad 0.5: "));
    assert_non_null(strstr(weft_status_message(), "no norm over all of them"));
    assert_non_null(strstr(weft_status_message(), "--clip-grad 0 is needed"));
    j.c.clip_grad = 0;
    j.c.arch.tied = 1;
    assert_int_equal(weft_train_check(&j.c), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "tied embeddings"));
    assert_non_null(strstr(weft_status_message(), "add tied=0 to --model"));
    MUST(weft_comm_self(NULL, &self)); /* refused before the number of ranks matters */
    assert_int_equal(weft_engine_create(self, &j.c, j.data, &e), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "tied embeddings"));
    weft_comm_destroy(self);
    strcpy(j.c.layout.schedule, "1f1b");
    j.c.clip_grad = 0.5;
    MUST(weft_train_check(&j.c));
    close_job(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stage_is_as_late_as_it_runs_ahead),
        cmocka_unit_test(on_one_stage_it_is_plain_descent),
        cmocka_unit_test(what_is_not_finite_ends_the_run),
        cmocka_unit_test(what_it_cannot_do_is_refused_with_the_reason)};
    return cmocka_run_group_tests_name("pipedream", tests, NULL, NULL);
}
