/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient reduction runs while a rank works: 200 ms of latency in it are hidden where
 * 300 ms of backward follow, and show in full where nothing follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/lab.h"

enum { STEPS = 5 };
static const double latency_s = 0.2;

typedef struct job {
    weft_train_config c;
    double latency;       /* of every gradient all-reduce */
    double step_s[STEPS]; /* on rank 0 */
    double wait_s, bucket_s;
    int buckets; /* entries "dp bucket" of rank 0 in the last step */
} job;

static void delay(weft_comm *comm, void *ctx)
{
    const job *j = ctx;
    weft_tamper_delay(comm, WEFT_FOR_DP_GRAD, j->latency);
}

/* What the trace of rank 0 says of the reduction in the last step. */
static void read_trace(const weft_trace *t, job *j)
{
    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *e = &t->entry[i];
        if (e->step != STEPS - 1 || !e->label) continue;
        if (!strcmp(e->label, "dp wait")) j->wait_s = e->end - e->start;
        if (strcmp(e->label, "dp bucket")) continue;
        j->buckets++;
        j->bucket_s += e->end - e->start;
    }
}

static weft_status on_engine(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;

    for (int i = 0; i < STEPS; i++) {
        weft_step_result r;
        WF_TRY(weft_engine_step(e, &r));
        if (weft_comm_rank(comm) == 0) j->step_s[i] = r.step_time_s;
    }
    if (weft_comm_rank(comm) == 0) read_trace(weft_engine_trace(e), j);
    return WEFT_OK;
}

/* Median step time; op times (seconds of F and B) as given. */
static double step_time(job *j, const char *layout, double f, double b, double latency)
{
    double op_s[4 * WEFT_OP_N_COMPUTE] = {0};
    weft_data *data;

    *j = (job){.latency = latency};
    lab_base(&j->c, "layers=4,hidden=24,heads=4,vocab=64,positions=8");
    lab_layout(&j->c, layout);
    j->c.trace = 1;
    j->c.bucket_bytes = 16384;
    for (int i = 0; i < 4; i++) {
        op_s[i * WEFT_OP_N_COMPUTE + WEFT_OP_F] = f;
        op_s[i * WEFT_OP_N_COMPUTE + WEFT_OP_B] = b;
    }
    if (b > 0) j->c.op_s = op_s;
    MUST(weft_data_random(64, 8, 64, 0, 1, &data));
    if (lab_engines(&j->c, data, delay, on_engine, j))
        fail_msg("%s: %s", layout, weft_status_message());
    weft_data_destroy(data);
    return lab_median(j->step_s, STEPS);
}

/* How much the latency adds to a step. */
static double growth(const char *layout, double f, double b, job *late)
{
    job plain;
    double before = step_time(&plain, layout, f, b, 0);
    double after = step_time(late, layout, f, b, latency_s);

    print_message(
        "%-12s B %3.0f ms: step %.1f ms, with %.0f ms of latency %.1f ms "
        "(%+.1f ms); %d buckets, %.0f ms in all, %.1f ms of them waited for\n",
        layout, b * 1e3, before * 1e3, latency_s * 1e3, after * 1e3,
        (after - before) * 1e3, late->buckets, late->bucket_s * 1e3,
        late->wait_s * 1e3);
    return after - before;
}

/* The buckets of the last backward start while 300 ms of it are still to come. */
static void latency_is_hidden_behind_the_backward_that_follows(void **state)
{
    static const char *const layouts[] = {"dp=2 m=2", "dp=2 pp=2 m=2", "dp=2 tp=2 m=2"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        job late;
        double g = growth(layouts[i], 0.01, 0.3, &late);
        assert_true(late.buckets >= 3);
        assert_true(late.bucket_s >= late.buckets * latency_s); /* each was late */
        assert_true(late.wait_s < latency_s / 4);
        assert_true(g < latency_s / 4);
    }
}

/* Half the latency fits behind the work, half does not. */
static void of_latency_longer_than_the_work_only_the_rest_shows(void **state)
{
    job late;
    (void)state;
    double g = growth("dp=2 m=2", 0.01, latency_s / 2, &late);
    assert_true(g > latency_s * 0.3 && g < latency_s * 0.75);
}

/* The control: without work to hide behind, the same latency shows; once, as the buckets
 * are under way together. */
static void without_work_behind_it_latency_shows_once(void **state)
{
    job late;
    (void)state;
    double g = growth("dp=2 m=2", 0, 0, &late);
    assert_true(late.buckets >= 3);
    assert_true(g > latency_s * 0.75 && g < latency_s * 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_is_hidden_behind_the_backward_that_follows),
        cmocka_unit_test(of_latency_longer_than_the_work_only_the_rest_shows),
        cmocka_unit_test(without_work_behind_it_latency_shows_once)};

    lab_urgent();
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
