/* SPDX-License-Identifier: Apache-2.0 */
/* A training run in which one rank stops, dies or runs out of memory ends as a whole, soon,
 * with words that say where. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "train/lab.h"

static const char arch[] = "layers=4,hidden=12,heads=6,vocab=21,positions=4";

typedef struct job {
    weft_train_config c;
    weft_data *data;
    int64_t steps_done; /* by rank 0 */
} job;

static weft_status train(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    for (int i = 0; i < 6; i++) {
        weft_step_result r;
        WF_TRY(weft_engine_step(e, &r));
        if (weft_comm_rank(comm) == 0) j->steps_done = i + 1;
    }
    return WEFT_OK;
}

static void open_job(job *j, const char *layout)
{
    *j = (job){0};
    lab_base(&j->c, arch);
    lab_layout(&j->c, layout);
    MUST(weft_data_random(21, 4, 64, 7, 1, &j->data));
}

static weft_status run(job *j)
{
    weft_status st = lab_engines(&j->c, j->data, NULL, train, j);
    weft_data_destroy(j->data);
    return st;
}

static void has(const char *part)
{
    if (!strstr(weft_status_message(), part))
        fail_msg("\"%s\" lacks \"%s\"", weft_status_message(), part);
}

static void one_rank_out_of_memory_ends_the_run(void **state)
{
    job j;
    (void)state;
    setenv("WEFT_FAULT", "rank:2,step:3,kind:alloc", 1);
    open_job(&j, "tp=2 pp=2 m=4");
    assert_int_equal(run(&j), WEFT_E_NOMEM);
    unsetenv("WEFT_FAULT");
    has("rank 2, step 3: out of memory");
    assert_int_equal(j.steps_done, 3);
}

static void a_rank_that_stops_is_named_with_what_it_did(void **state)
{
    job j;
    double from = weft_now_s();
    (void)state;
    setenv("WEFT_FAULT", "rank:2,step:3,kind:stop", 1);
    lab_timeout_s = 1;
    open_job(&j, "tp=2 pp=2 m=4");
    assert_int_equal(run(&j), WEFT_E_TIMEOUT);
    unsetenv("WEFT_FAULT");
    lab_timeout_s = 120;
    print_message("%s\n", weft_status_message());
    has("rank 2 is at step 3, op F0.0");
    has("waited 1."); /* a busy machine adds some */
    assert_true(weft_now_s() - from < 10);
}

/* The first limit holds no parameters, the second no activations. */
static void a_memory_limit_names_the_class_that_passes_it(void **state)
{
    job j;
    weft_rank_bytes b;
    (void)state;
    open_job(&j, "tp=2 pp=2 m=4");
    weft_train_rank_bytes(&j.c, 0, &b);
    j.c.memory_limit_bytes = b.params / 2;
    assert_int_equal(run(&j), WEFT_E_NOMEM);
    has("params");
    open_job(&j, "tp=2 pp=2 m=4");
    j.c.memory_limit_bytes = b.params + b.grads + b.optimizer + 1000;
    assert_int_equal(run(&j), WEFT_E_NOMEM);
    has("out of memory");
    assert_int_equal(j.steps_done, 0);
}

static weft_status one_too_many(weft_comm *comm, void *ctx)
{
    job *j = ctx;
    weft_engine *e = NULL;
    return weft_engine_create(comm, &j->c, j->data, &e);
}

static void a_layout_of_another_number_of_ranks_is_refused(void **state)
{
    job j;
    (void)state;
    open_job(&j, "tp=2 pp=2 m=4");
    assert_int_equal(weft_loop_run(3, NULL, one_too_many, &j), WEFT_E_MISMATCH);
    has("needs 4 ranks, the communicator has 3");
    weft_data_destroy(j.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_out_of_memory_ends_the_run),
        cmocka_unit_test(a_rank_that_stops_is_named_with_what_it_did),
        cmocka_unit_test(a_memory_limit_names_the_class_that_passes_it),
        cmocka_unit_test(a_layout_of_another_number_of_ranks_is_refused)};
    return cmocka_run_group_tests_name("faults in a run", tests, NULL, NULL);
}
