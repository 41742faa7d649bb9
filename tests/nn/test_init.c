/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements a TP rank holds, and with what values it starts. */
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

static const char arch[] = "layers=3,hidden=24,heads=6,ffn=36,vocab=17,positions=5";

/* The logical element of each local one; -1 where a run does not reach. */
typedef struct seen {
    int64_t of[512];
} seen;

static weft_status note(void *ctx, int64_t local, int64_t logical, int64_t n)
{
    seen *s = ctx;
    for (int64_t i = 0; i < n; i++) {
        CLAIM(s->of[local + i] == -1, "local element %lld twice",
              (long long)(local + i));
        s->of[local + i] = logical + i;
    }
    return WEFT_OK;
}

static void runs_of(const weft_tensor_info *t, int tp, int rank, int64_t padded,
                    seen *s)
{
    memset(s->of, -1, sizeof s->of);
    MUST(weft_shard_runs(t, tp, rank, padded, note, s));
}

static weft_tensor_info tensor_of(const char *text, weft_role role)
{
    weft_tensor_info t = {0};
    weft_arch a;

    MUST(weft_arch_parse(text, &a));
    for (int i = 0; i < weft_arch_tensor_count(&a); i++) {
        weft_arch_tensor(&a, i, &t);
        if (t.role == role) return t;
    }
    fail_msg("no such tensor");
    return t;
}

/* Case 67: rows q0 q1 q2 q3 k0 .. k3 v0 .. v3 of heads one wide. */
static void q_k_and_v_are_each_split_by_heads(void **state)
{
    weft_tensor_info w = tensor_of("layers=1,hidden=4,heads=4,vocab=8", WEFT_QKV_W);
    static const int rows[2][6] = {{0, 1, 4, 5, 8, 9}, {2, 3, 6, 7, 10, 11}};
    seen s;

    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        runs_of(&w, 2, rank, 0, &s);
        for (int i = 0; i < 6 * 4; i++)
            assert_int_equal(s.of[i], rows[rank][i / 4] * 4 + i % 4);
        assert_int_equal(s.of[24], -1);
    }
}

static void a_row_parallel_weight_is_split_by_columns(void **state)
{
    weft_tensor_info w =
        tensor_of("layers=1,hidden=4,heads=4,ffn=6,vocab=8", WEFT_PROJ_W);
    seen s;

    (void)state; /* [4, 6] over 3: two columns each */
    for (int rank = 0; rank < 3; rank++) {
        runs_of(&w, 3, rank, 0, &s);
        for (int i = 0; i < 8; i++)
            assert_int_equal(s.of[i], i / 2 * 6 + rank * 2 + i % 2);
    }
}

static void vocabulary_rows_are_split_after_padding(void **state)
{
    weft_tensor_info w = tensor_of("layers=1,hidden=4,heads=4,vocab=5", WEFT_WTE);
    static const int held[4] = {2, 2, 1, 0};
    seen s;

    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        runs_of(&w, 4, rank, 8, &s);
        for (int i = 0; i < 8; i++)
            assert_int_equal(s.of[i], i < held[rank] * 4 ? rank * 8 + i : -1);
    }
}

/* Start values. */
typedef struct start {
    lab_spec spec;
    lab_map map;
    lab_shards shards;
} start;

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    start *s = ctx;
    lab l;

    WF_TRY(lab_open(comm, &s->spec, &l));
    weft_status st = lab_read(&l.chunk, &s->map, LAB_WEIGHTS,
                              s->shards.x + weft_comm_rank(comm) * s->shards.len);
    lab_close(&l);
    return st;
}

/* The model as tp ranks start with it; the caller frees. */
static double *started(start *s, int tp)
{
    weft_arch a;
    double *x = NULL;

    MUST(weft_arch_parse(s->spec.arch, &a));
    MUST(lab_map_create(&a, &s->map));
    int64_t n = s->map.at[s->map.n_tensors];
    MUST(WF_ALLOC(n, &x));
    MUST(lab_shards_create(tp, n, &s->shards));
    MUST(weft_loop_run(tp, NULL, on_rank, s));
    MUST(lab_merge(&s->shards, x));
    return x;
}

static void finish(start *s)
{
    lab_map_clear(&s->map);
    lab_shards_clear(&s->shards);
}

static void compare_degrees(lab_spec spec)
{
    start one = {.spec = spec};
    double *x = started(&one, 1);

    for (int tp = 2; tp <= 6; tp++) {
        start many = {.spec = spec};
        if (tp == 4 || tp == 5) continue;
        many.spec.vocab_multiple = tp == 3 ? 8 : 2;
        double *y = started(&many, tp);
        assert_memory_equal(x, y, sizeof *x * (size_t)one.map.at[one.map.n_tensors]);
        finish(&many);
        wf_free(y);
    }
    finish(&one);
    wf_free(x);
}

/* Case 85. */
static void every_degree_starts_from_the_same_bits(void **state)
{
    (void)state;
    for (int t = 0; t < WEFT_N_DTYPES; t++)
        for (int all = 0; all < 2; all++)
            compare_degrees((lab_spec){.arch = arch,
                                       .batch = 1,
                                       .seq = 2,
                                       .t = (weft_dtype)t,
                                       .random_all = all,
                                       .seed = 11});
    compare_degrees((lab_spec){.arch = arch, .batch = 1, .seq = 2, .exact = 4});
}

static double spread(const double *x, int64_t n)
{
    double sum = 0, square = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        square += x[i] * x[i];
    }
    return sqrt(square / (double)n - sum * sum / (double)n / (double)n);
}

/* The standard deviation is the table's, within 5 of its own standard errors; norms start
 * at one, biases at zero; no two tensors are alike. */
static void values_have_the_spread_of_the_table(void **state)
{
    start s = {.spec = {.arch = arch, .batch = 1, .seq = 2, .seed = 3}};
    double *x = started(&s, 3);

    (void)state;
    for (int i = 0; i < s.map.n_tensors; i++) {
        int64_t at = s.map.at[i], n = s.map.at[i + 1] - at;
        weft_tensor_info t;
        weft_arch_tensor(&s.map.arch, i, &t);
        if (t.init != WEFT_INIT_NORMAL) {
            for (int64_t k = 0; k < n; k++)
                assert_true(x[at + k] == (t.init == WEFT_INIT_ONE));
            continue;
        }
        double error = 5 * t.std / sqrt(2 * (double)n);
        if (!(fabs(spread(x + at, n) - t.std) < error))
            fail_msg("%s: spread %g, the table says %g", t.name, spread(x + at, n),
                     t.std);
        for (int j = 0; j < i; j++) {
            weft_tensor_info other;
            weft_arch_tensor(&s.map.arch, j, &other);
            if (other.init == WEFT_INIT_NORMAL && s.map.at[j + 1] - s.map.at[j] == n)
                assert_memory_not_equal(x + at, x + s.map.at[j], 16 * sizeof *x);
        }
    }
    finish(&s);
    wf_free(x);
}

static void gains_drawn_at_random_lie_around_one_in_every_type(void **state)
{
    (void)state;
    for (int type = 0; type < WEFT_N_DTYPES; type++) {
        start s = {.spec = {.arch = arch,
                            .batch = 1,
                            .seq = 2,
                            .t = (weft_dtype)type,
                            .random_all = 1}};
        double *x = started(&s, 1);
        for (int i = 0; i < s.map.n_tensors; i++) {
            weft_tensor_info t;
            weft_arch_tensor(&s.map.arch, i, &t);
            double mean = 0, n = (double)(s.map.at[i + 1] - s.map.at[i]);
            for (int64_t k = s.map.at[i]; k < s.map.at[i + 1]; k++)
                mean += x[k] / n;
            if (t.init == WEFT_INIT_ONE && !(fabs(mean - 1) < 0.5))
                fail_msg("%s in %s: mean %g", t.name, weft_dtype_name((weft_dtype)type),
                         mean);
        }
        finish(&s);
        wf_free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q_k_and_v_are_each_split_by_heads),
        cmocka_unit_test(a_row_parallel_weight_is_split_by_columns),
        cmocka_unit_test(vocabulary_rows_are_split_after_padding),
        cmocka_unit_test(every_degree_starts_from_the_same_bits),
        cmocka_unit_test(values_have_the_spread_of_the_table),
        cmocka_unit_test(gains_drawn_at_random_lie_around_one_in_every_type)};
    return cmocka_run_group_tests_name("shards and start values", tests, NULL, NULL);
}
