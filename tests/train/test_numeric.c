/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a training run: what is not finite stops it before anything is updated; f32
 * and bf16 follow f64; the same run gives the same bits, on any number of replicas the
 * same losses, and evaluations change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/lab.h"

enum { MAX_STEPS = 64, MAX_RANKS = 8 };
static const char arch[] = "layers=4,hidden=24,heads=4,vocab=256,positions=16";

/* English with few words, so that a small model learns it in a few steps. */
static weft_data *text(void)
{
    static char s[8192];
    static const char *const words[] = {"the ", "rank ", "sends ", "a ",   "block ",
                                        "to ",  "its ",  "peer ",  "and ", "waits.\n"};
    weft_data *data;
    size_t n = 0;

    for (unsigned i = 0; n + 16 < sizeof s; i++) {
        const char *w = words[(i * i + i / 7) % 10];
        memcpy(s + n, w, strlen(w));
        n += strlen(w);
    }
    MUST(weft_data_from_text(s, (int64_t)n, 16, 1, &data));
    return data;
}

typedef struct job {
    weft_train_config c;
    weft_data *data;
    int steps, evaluate; /* evaluations after each step */
    double jitter_s;
    double loss[MAX_STEPS], norm[MAX_STEPS], held_out;
    uint64_t sum[MAX_RANKS]; /* checksum of the weights of each rank */
} job;

static void jitter(weft_comm *comm, void *ctx)
{
    const job *j = ctx;
    weft_tamper_jitter(comm, j->jitter_s, 3);
}

/* FNV-1a over the bytes of all weights. */
static uint64_t checksum(const weft_engine *e)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int c = 0; c < weft_engine_n_chunks(e); c++) {
        const weft_chunk *k = weft_engine_chunk(e, c);
        const unsigned char *b = k->w_all;
        for (int64_t i = 0; i < k->n_elems * weft_dtype_bytes(k->sh.t); i++)
            h = (h ^ b[i]) * 0x100000001b3u;
    }
    return h;
}

static weft_status train(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    int rank = weft_comm_rank(comm);
    double held_out = 0;

    for (int i = 0; i < j->steps; i++) {
        weft_step_result r;
        WF_TRY(weft_engine_step(e, &r));
        CLAIM(r.step == i && r.consumed == (i + 1) * j->c.layout.global_batch,
              "step %lld, %lld consumed", (long long)r.step, (long long)r.consumed);
        for (int k = 0; k < j->evaluate; k++)
            WF_TRY(weft_engine_evaluate(e, 2, &held_out));
        if (rank == 0) {
            j->loss[i] = r.loss;
            j->norm[i] = r.grad_norm;
        }
    }
    if (rank == 0) j->held_out = held_out;
    j->sum[rank] = checksum(e);
    return WEFT_OK;
}

/* AdamW and clipping, as `weft train` would. */
static void open_job(job *j, const char *layout, weft_dtype t, int steps)
{
    *j = (job){.steps = steps, .data = text()};
    lab_base(&j->c, arch);
    j->c.random_all = 0;
    j->c.dtype = t;
    j->c.optimizer = WEFT_ADAMW;
    j->c.lr = (weft_lr){.lr = 5e-3,
                        .min_lr = 5e-4,
                        .warmup_iters = 4,
                        .decay_iters = 60,
                        .style = WEFT_DECAY_COSINE};
    j->c.clip_grad = 1;
    lab_layout(&j->c, layout);
}

static void run(job *j)
{
    if (lab_engines(&j->c, j->data, jitter, train, j))
        fail_msg("%s: %s", lab_text(&j->c.layout), weft_status_message());
}

static void close_job(job *j)
{
    weft_data_destroy(j->data);
}

static void f32_and_bf16_learn_as_f64_does(void **state)
{
    static const double within[] = {0, 2e-3, 6e-2}; /* of the loss of f64 */
    job wide, narrow;
    (void)state;
    open_job(&wide, "tp=2 pp=2 m=4", WEFT_F64, 60);
    run(&wide);
    assert_true(wide.loss[59] < 0.5 * wide.loss[0]);
    assert_true(wide.norm[0] > wide.c.clip_grad); /* the clip acts */
    for (int t = WEFT_F32; t <= WEFT_BF16; t++) {
        double far = 0;
        open_job(&narrow, "tp=2 pp=2 m=4", (weft_dtype)t, 60);
        run(&narrow);
        for (int i = 0; i < 60; i++)
            far = fmax(far, fabs(narrow.loss[i] / wide.loss[i] - 1));
        print_message("%s: loss %.3f to %.3f (f64 %.3f), at most %.1e off f64\n",
                      weft_dtype_name((weft_dtype)t), narrow.loss[0], narrow.loss[59],
                      wide.loss[59], far);
        assert_true(far > 0 && far < within[t]);
        close_job(&narrow);
    }
    close_job(&wide);
}

static void the_same_run_gives_the_same_bits_however_ranks_are_delayed(void **state)
{
    static const char *const layouts[] = {"tp=2 pp=2 dp=2 m=2", "dp=4 m=2",
                                          "pp=2 vpp=2 m=4 schedule=interleaved"};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < WEFT_N_DTYPES; t++) {
            job a, b;
            open_job(&a, layouts[i], (weft_dtype)t, 5);
            open_job(&b, layouts[i], (weft_dtype)t, 5);
            b.jitter_s = 1e-3;
            run(&a);
            run(&b);
            assert_memory_equal(a.loss, b.loss, sizeof a.loss);
            assert_memory_equal(a.norm, b.norm, sizeof a.norm);
            assert_memory_equal(a.sum, b.sum, sizeof a.sum);
            close_job(&a);
            close_job(&b);
        }
}

/* Case 106 in small: a sample is the step's and the batch's, never the rank's. */
static void replicas_share_the_samples_of_one_rank(void **state)
{
    static const char *const layouts[] = {"dp=2 m=4", "dp=4 m=2", "dp=8 m=1",
                                          "dp=2 m=2 micro_batch=2", "dp=4 pp=2 m=2"};
    job one;
    (void)state;
    open_job(&one, "m=8", WEFT_F64, 12);
    run(&one);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        job many;
        open_job(&many, layouts[i], WEFT_F64, 12);
        run(&many);
        for (int k = 0; k < 12; k++)
            if (!(fabs(many.loss[k] - one.loss[k]) < 1e-10 * one.loss[k]))
                fail_msg("%s, step %d: %.15g, alone %.15g", layouts[i], k, many.loss[k],
                         one.loss[k]);
        close_job(&many);
    }
    close_job(&one);
}

/* Case 54: evaluations between steps, two in a row. */
static void evaluations_change_nothing(void **state)
{
    static const char *const layouts[] = {"m=4", "tp=2 pp=2 dp=2 m=2",
                                          "pp=4 m=3 schedule=gpipe",
                                          "pp=2 vpp=2 m=4 schedule=interleaved"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        job without, with;
        open_job(&without, layouts[i], WEFT_F64, 6);
        open_job(&with, layouts[i], WEFT_F64, 6);
        with.evaluate = 2;
        run(&without);
        run(&with);
        assert_memory_equal(without.loss, with.loss, sizeof with.loss);
        assert_memory_equal(without.sum, with.sum, sizeof with.sum);
        assert_true(with.held_out > 0 && with.held_out < log(256));
        close_job(&without);
        close_job(&with);
    }
}

static void the_held_out_loss_is_the_same_however_split(void **state)
{
    static const char *const layouts[] = {"tp=2 m=8",
                                          "pp=2 m=8",
                                          "dp=2 m=4",
                                          "tp=2 pp=2 dp=2 m=4",
                                          "m=4 micro_batch=2",
                                          "pp=2 vpp=2 m=8 schedule=looped-bfs",
                                          "pp=2 vpp=2 m=8 schedule=zb-v",
                                          "pp=2 vpp=2 m=8 schedule=dualpipe",
                                          "pp=2 dp=2 vpp=4 m=4 schedule=bitpipe"};
    job one;
    (void)state;
    open_job(&one, "m=8", WEFT_F64, 4);
    one.evaluate = 1;
    run(&one);
    for (int i = 0; i < 5; i++) {
        job many;
        open_job(&many, layouts[i], WEFT_F64, 4);
        many.evaluate = 1;
        run(&many);
        assert_true(fabs(many.held_out - one.held_out) < 1e-10 * one.held_out);
        close_job(&many);
    }
    close_job(&one);
}

/* One weight of one rank becomes NaN before step 1 and is put back after it. */
typedef struct poison {
    job j;
    int rank;
    weft_role role;
    char words[MAX_RANKS][512];
    double loss; /* of step 1, after the weight is back */
} poison;

static weft_status stop_at(weft_engine *e, poison *p, int rank)
{
    weft_step_result r = {0};
    uint64_t before = checksum(e);
    weft_status st = weft_engine_step(e, &r);

    CLAIM(st == WEFT_E_NUMERIC, "a NaN gives %s", weft_status_name(st));
    snprintf(p->words[rank], sizeof p->words[rank], "%s", weft_status_message());
    CLAIM(checksum(e) == before, "weights were updated");
    return WEFT_OK;
}

static double *weight_of(weft_engine *e, weft_role role)
{
    for (int c = 0; c < weft_engine_n_chunks(e); c++)
        for (int i = 0; i < weft_engine_chunk(e, c)->n_params; i++) {
            weft_param *p = &weft_engine_chunk(e, c)->param[i];
            if (p->info.role == role) return p->w;
        }
    return NULL;
}

static weft_status with_poison(weft_engine *e, weft_comm *comm, void *ctx)
{
    poison *p = ctx;
    int rank = weft_comm_rank(comm);
    double *w = rank == p->rank ? weight_of(e, p->role) : NULL, good = 0;
    weft_step_result r;

    WF_TRY(weft_engine_step(e, &r));
    if (w) {
        good = *w;
        *w = NAN;
    }
    WF_TRY(stop_at(e, p, rank));
    if (w) *w = good;
    WF_TRY(weft_engine_step(e, &r));
    CLAIM(r.step == 1 && r.consumed == 2 * p->j.c.layout.global_batch,
          "the step that failed was counted: %lld", (long long)r.step);
    if (rank == 0) p->loss = r.loss;
    return WEFT_OK;
}

static void try_poison(const char *layout, int rank, weft_role role)
{
    poison p = {.rank = rank, .role = role};
    job clean;

    open_job(&p.j, layout, WEFT_F64, 0);
    if (lab_engines(&p.j.c, p.j.data, NULL, with_poison, &p))
        fail_msg("%s: %s", layout, weft_status_message());
    for (int r = 0; r < weft_layout_world(&p.j.c.layout); r++) {
        assert_string_equal(p.words[r], p.words[0]);
        if (!strstr(p.words[r], "step 1: the gradient of ") ||
            !strstr(p.words[r], " on rank ") ||
            !strstr(p.words[r], "nothing was updated"))
            fail_msg("%s", p.words[r]);
    }
    open_job(&clean, layout, WEFT_F64, 2);
    run(&clean);
    assert_true(p.loss == clean.loss[1]);
    close_job(&clean);
    close_job(&p.j);
}

static void a_nan_stops_every_rank_names_tensor_rank_and_step_and_updates_nothing(
    void **state)
{
    (void)state;
    try_poison("m=2", 0, WEFT_FC_W);
    try_poison("tp=2 pp=2 dp=2 m=2", 5, WEFT_PROJ_W);
    try_poison("tp=2 pp=2 dp=2 m=2", 2, WEFT_LNF_G);
    try_poison("pp=2 vpp=2 m=4 schedule=interleaved", 1, WEFT_QKV_B);
    try_poison("dp=3 m=1", 2, WEFT_LN1_B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_and_bf16_learn_as_f64_does),
        cmocka_unit_test(the_same_run_gives_the_same_bits_however_ranks_are_delayed),
        cmocka_unit_test(replicas_share_the_samples_of_one_rank),
        cmocka_unit_test(evaluations_change_nothing),
        cmocka_unit_test(the_held_out_loss_is_the_same_however_split),
        cmocka_unit_test(
            a_nan_stops_every_rank_names_tensor_rank_and_step_and_updates_nothing)};
    return cmocka_run_group_tests_name("numbers of a run", tests, NULL, NULL);
}
