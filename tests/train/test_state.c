/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks hold together: the same model at the start under every layout, equal copies
 * at the end, and one gradient norm. */
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

static const char arch[] = "layers=6,hidden=12,heads=6,vocab=53,positions=4";

/* Logical tensors as the ranks of a layout hold them, before and after some steps. */
typedef struct job {
    weft_train_config c;
    int steps;
    weft_data *data;
    lab_map map;
    lab_shards first, last, grad;
    double *w0, *w1, *g; /* merged */
    double norm, lr;     /* of the last step */
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
    weft_step_result r = {0};

    WF_TRY(read_into(e, j, LAB_WEIGHTS, &j->first, rank));
    for (int i = 0; i < j->steps; i++)
        WF_TRY(weft_engine_step(e, &r));
    WF_TRY(read_into(e, j, LAB_WEIGHTS, &j->last, rank));
    if (rank == 0) {
        j->norm = r.grad_norm;
        j->lr = r.lr;
    }
    return read_into(e, j, LAB_GRADS, &j->grad, rank);
}

static void open_job(job *j, const weft_train_config *c, int steps)
{
    int world = weft_layout_world(&c->layout);
    int64_t n;

    *j = (job){.c = *c, .steps = steps};
    MUST(lab_map_create(&c->arch, &j->map));
    n = j->map.at[j->map.n_tensors];
    MUST(lab_shards_create(world, n, &j->first));
    MUST(lab_shards_create(world, n, &j->last));
    MUST(lab_shards_create(world, n, &j->grad));
    MUST(WF_ALLOC(n, &j->w0));
    MUST(WF_ALLOC(n, &j->w1));
    MUST(WF_ALLOC(n, &j->g));
    MUST(weft_data_random(c->arch.vocab, c->layout.seq, 100, 7, 1, &j->data));
}

/* Copies on different ranks (tp, dp, both ends of the pipeline) must be equal bits. */
static void run(job *j)
{
    if (lab_engines(&j->c, j->data, NULL, on_engine, j) ||
        lab_merge(&j->first, j->w0) || lab_merge(&j->last, j->w1) ||
        lab_merge(&j->grad, j->g))
        fail_msg("%s: %s", lab_text(&j->c.layout), weft_status_message());
}

static void close_job(job *j)
{
    lab_shards_clear(&j->first);
    lab_shards_clear(&j->last);
    lab_shards_clear(&j->grad);
    lab_map_clear(&j->map);
    weft_data_destroy(j->data);
    wf_free(j->w0);
    wf_free(j->w1);
    wf_free(j->g);
}

static size_t bytes_of(const job *j)
{
    return (size_t)j->map.at[j->map.n_tensors] * sizeof *j->g;
}

/* Case 85: over tp, pp, dp and vpp. */
static void every_layout_starts_from_the_same_bits(void **state)
{
    weft_train_config c;
    weft_verify_case *cases;
    job one;
    int n;
    (void)state;
    lab_base(&c, arch);
    c.random_all = 0;
    lab_layout(&c, "m=1");
    open_job(&one, &c, 0);
    run(&one);
    MUST(weft_verify_cases(&c.arch, 4, 8, 2, 1, &cases, &n));
    for (int i = 0; i < n; i++) {
        job j;
        c.layout = cases[i].layout;
        open_job(&j, &c, 0);
        run(&j);
        if (memcmp(j.w0, one.w0, bytes_of(&one)))
            fail_msg("%s starts otherwise", lab_text(&c.layout));
        close_job(&j);
    }
    print_message("%d layouts\n", n);
    weft_verify_cases_free(cases);
    close_job(&one);
}

static const char *const layouts[] = {"tp=2 m=4",
                                      "tp=3 m=4",
                                      "pp=2 m=4",
                                      "pp=3 m=4",
                                      "dp=2 m=2",
                                      "dp=4 m=1",
                                      "tp=2 pp=2 dp=2 m=2",
                                      "tp=3 pp=2 m=4",
                                      "pp=2 vpp=3 m=4 schedule=interleaved",
                                      "vpp=2 m=4 schedule=interleaved",
                                      "pp=3 vpp=2 m=4 schedule=zb-v",
                                      "pp=2 vpp=2 m=4 schedule=chimera",
                                      "tp=2 pp=2 dp=2 vpp=2 m=4 schedule=dualpipe",
                                      "pp=2 dp=2 vpp=4 m=2 schedule=bitpipe "
                                      "stage_layers=balanced order=dp,pp,tp,cp"};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

/* Cases 62 and 135: after 10 AdamW steps replicated parameters, replicas, both copies of
 * the embedding and of the stages of two pipelines are equal to the bit (run() fails
 * otherwise), in every type. */
static void copies_stay_equal_to_the_bit(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++)
        for (int t = 0; t < WEFT_N_DTYPES; t++) {
            weft_train_config c;
            job j;
            lab_base(&c, arch);
            c.dtype = (weft_dtype)t;
            c.optimizer = WEFT_ADAMW;
            c.lr.lr = 1e-3;
            c.clip_grad = 1;
            lab_layout(&c, layouts[i]);
            open_job(&j, &c, 10);
            run(&j);
            assert_memory_not_equal(j.w0, j.w1, bytes_of(&j));
            close_job(&j);
        }
}

static double length(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Case 79: the norm that is reported is that of the logical gradient, each element once.
 * Case 82: clipped, all of it moves by lr * clip together. */
static void the_norm_counts_every_logical_element_once(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        weft_train_config c;
        job j;
        lab_base(&c, arch);
        lab_layout(&c, layouts[i]);
        for (int clip = 0; clip < 3; clip++) {
            open_job(&j, &c, 1);
            run(&j);
            int64_t n = j.map.at[j.map.n_tensors];
            double norm = length(j.g, n), far = 0;
            for (int64_t k = 0; k < n; k++)
                j.w1[k] -= j.w0[k];
            double moved = length(j.w1, n) / j.lr;
            far = fmax(fabs(j.norm - norm),
                       fabs(moved - (clip == 1 ? c.clip_grad : norm)));
            if (!(far < 1e-12 * norm))
                fail_msg("%s: norm %.15g, reported %.15g, moved by %.15g", layouts[i],
                         norm, j.norm, moved);
            c.clip_grad = clip ? norm * 2 : norm / 3; /* none, acts, does not act */
            close_job(&j);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_starts_from_the_same_bits),
        cmocka_unit_test(copies_stay_equal_to_the_bit),
        cmocka_unit_test(the_norm_counts_every_logical_element_once)};
    return cmocka_run_group_tests_name("what ranks hold", tests, NULL, NULL);
}
