/* SPDX-License-Identifier: Apache-2.0 */
/* A machine measured in a fraction of a second: no figure is right, all must be there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <weft/cost.h>
#include <weft/run/probe.h>

enum { MAX_RANKS = 3 };

typedef struct job {
    weft_probe_options o;
    weft_machine m[MAX_RANKS];
    weft_probe_report r[MAX_RANKS];
} job;

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    job *j = ctx;
    int me = weft_comm_rank(comm);
    return weft_probe_machine(comm, &j->o, &j->m[me], &j->r[me]);
}

static void measure(int n, weft_dtype t, job *j)
{
    weft_comm_options o = {.timeout_s = 60, .yield = 1};
    *j = (job){.o = {.backend = WEFT_BACKEND_AUTO,
                     .threads = 1,
                     .n_dtypes = 1,
                     .dtype = {t},
                     .seconds = 0.05,
                     .quick = 1}};
    if (weft_loop_run(n, &o, on_rank, j) != WEFT_OK)
        fail_msg("%d ranks: %s", n, weft_status_message());
}

static void every_figure_is_there_and_the_machine_is_legal(void **state)
{
    static job j;
    for (int n = 1; n <= MAX_RANKS; n++) {
        measure(n, n == 2 ? WEFT_BF16 : WEFT_F32, &j);
        const weft_machine *m = &j.m[0];
        weft_math math = n == 2 ? WEFT_MATH_BF16 : WEFT_MATH_F32;
        assert_int_equal(weft_machine_check(m), WEFT_OK);
        assert_int_equal(weft_machine_ranks(m), n);
        assert_int_equal(m->nodes, 1);
        assert_true(m->flops_per_s[math] > 0 && m->memory_bytes_per_s > 0);
        assert_true(m->memory_bytes > 0 && m->op_overhead_s > 0);
        assert_int_equal(m->n_gemms, 12);
        for (int i = 0; i < m->n_gemms; i++) {
            assert_int_equal(m->gemm[i].math, math);
            assert_true(m->gemm[i].flops_per_s <= m->flops_per_s[math]);
        }
        for (int c = 0; c < WEFT_N_COLLS; c++)
            assert_int_equal(m->tier[0].measured[c].bytes_per_s > 0, n > 1);
    }
}

static void all_ranks_have_the_same_machine(void **state)
{
    static job j;
    measure(3, WEFT_F32, &j);
    assert_memory_equal(&j.m[1], &j.m[0], sizeof j.m[0]);
    assert_memory_equal(&j.m[2], &j.m[0], sizeof j.m[0]);
    assert_true(strlen(j.r[2].cpus) > 0 && strlen(j.r[0].kernel) > 0);
    assert_int_equal(j.r[0].messages, 4 * WEFT_N_COLLS);
}

/* The model of a collective gives back what was timed: a size inside the range is within
 * a factor of what the machine says, far from a slip in steps or bytes. */
static void a_predicted_all_reduce_takes_longer_for_more_bytes(void **state)
{
    static job j;
    measure(2, WEFT_F32, &j);
    double small = weft_machine_collective_s(&j.m[0], WEFT_COLL_ALL_REDUCE, 1e3, 1, 2),
           large = weft_machine_collective_s(&j.m[0], WEFT_COLL_ALL_REDUCE, 1e8, 1, 2);
    assert_true(small > 0 && large > small && large < 10);
}

static double kernels_s(const char *arch)
{
    weft_cost_options o;
    weft_cost_model q;
    weft_stage_cost c;
    weft_layout l;
    weft_machine m;
    weft_arch a;

    weft_machine_defaults(&m);
    m.n_gemms = 1; /* matmuls take no time */
    m.gemm[0] = (weft_gemm_point){WEFT_MATH_F32, 1, 1, 1, 9e20};
    m.memory_bytes = 1e12;
    m.memory_bytes_per_s = m.tier[0].bytes_per_s = 1;
    weft_cost_of_weft(&o, WEFT_MATH_F32);
    weft_layout_defaults(&l);
    assert_int_equal(weft_arch_parse(arch, &a), WEFT_OK);
    l.tp = l.pp = l.dp = 1;
    l.seq = 512;
    l.global_batch = 1;
    assert_int_equal(weft_cost_prepare(&a, &m, &o, &q), WEFT_OK);
    weft_cost_stage(&q, &l, 0, &c);
    return c.f.total + c.i.total;
}

/* memory_efficiency is of what the cost model counts between the matmuls of a layer: runtime
 * and model must mean the same bytes. */
static void the_model_counts_as_many_values_as_the_probe(void **state)
{
    double one = kernels_s("layers=1,hidden=512,heads=8,vocab=256,positions=512"),
           two = kernels_s("layers=2,hidden=512,heads=8,vocab=256,positions=512");
    double values = (58.0 * 512 * 512 + 5.0 * 8 * 512 * 512) * 4;
    if (!(fabs((two - one) / values - 1) < 1e-6))
        fail_msg("a layer counts %.0f bytes, the probe %.0f", two - one, values);
}

static void options_out_of_range_are_refused(void **state)
{
    static job j;
    weft_comm_options o = {.timeout_s = 10};
    j = (job){.o = {.threads = 0, .n_dtypes = 1, .seconds = 1}};
    assert_int_equal(weft_loop_run(1, &o, on_rank, &j), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "0 threads"));
    j.o = (weft_probe_options){.threads = 1, .n_dtypes = 1, .seconds = -1};
    assert_int_equal(weft_loop_run(1, &o, on_rank, &j), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "-1 s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_is_there_and_the_machine_is_legal),
        cmocka_unit_test(all_ranks_have_the_same_machine),
        cmocka_unit_test(a_predicted_all_reduce_takes_longer_for_more_bytes),
        cmocka_unit_test(the_model_counts_as_many_values_as_the_probe),
        cmocka_unit_test(options_out_of_range_are_refused)};
    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
