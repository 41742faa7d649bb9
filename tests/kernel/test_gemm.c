/* SPDX-License-Identifier: Apache-2.0 */
/* Every gemm this build has against sums in double made here. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/table.h"
#include "lab.h"

enum { GAP = 5 }; /* elements behind each row and each matrix that are not ours */

static weft_kctx *context(weft_backend b, int threads)
{
    weft_arena *a;
    weft_kctx *k = NULL;
    assert_int_equal(weft_arena_create(0, &a), WEFT_OK);
    if (weft_kctx_create(b, threads, a, &k) != WEFT_OK) weft_arena_destroy(a);
    return k;
}

/* What the test knows of one matrix: rows x cols in memory, `ld` apart, n of them. */
typedef struct matrix {
    weft_dtype t;
    int64_t rows, cols, ld, stride, size;
    void *data;
} matrix;

static matrix make(lab *l, weft_dtype t, int64_t rows, int64_t cols, int64_t batch,
                   int gap)
{
    matrix m = {t, rows, cols, cols + gap, 0, 0, NULL};
    m.stride = rows * m.ld + gap;
    m.size = batch * m.stride;
    m.data = lab_input(l, t, m.size, 1);
    return m;
}

static double at(const matrix *m, int transposed, int64_t q, int64_t i, int64_t j)
{
    const int64_t row = transposed ? j : i, col = transposed ? i : j;
    return lab_get(m->data, m->t, q * m->stride + row * m->ld + col);
}

/* C as it must be, in double: every element of its memory, the gaps unchanged. */
static double *expected(const weft_gemm *g, const matrix *a, const matrix *b,
                        const matrix *c, int64_t batch)
{
    double *want = malloc((size_t)c->size * sizeof *want);
    for (int64_t i = 0; i < c->size; i++)
        want[i] = lab_get(c->data, c->t, i);
    for (int64_t q = 0; q < batch; q++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) {
                double *x = &want[q * c->stride + i * c->ld + j], sum = 0;
                for (int64_t l = 0; l < g->k; l++)
                    sum += at(a, g->ta, q, i, l) * at(b, g->tb, q, l, j);
                *x = g->alpha * sum + (g->beta != 0 ? *x : 0);
            }
    return want;
}

/* f32 sums of k terms below 1; a bf16 result is rounded once. */
static double tolerance(const weft_gemm *g, double want)
{
    if (g->out == WEFT_F64) return 1e-14 * (double)g->k;
    const double sum = 2e-6 * (1 + sqrt((double)g->k));
    return g->out == WEFT_F32 ? sum : sum + 0x1p-8 * fabs(want);
}

typedef struct problem {
    int64_t m, n, k, batch;
    int ta, tb, beta, gap;
    double alpha;
    weft_dtype in, out;
} problem;

static void check(weft_kctx *k, const problem *p, uint32_t seed)
{
    lab l = {.seed = seed};
    const int64_t batch = p->batch ? p->batch : 1;
    matrix a = make(&l, p->in, p->ta ? p->k : p->m, p->ta ? p->m : p->k, batch, p->gap);
    matrix b = make(&l, p->in, p->tb ? p->n : p->k, p->tb ? p->k : p->n, batch, p->gap);
    matrix c = make(&l, p->out, p->m, p->n, batch, p->gap);
    if (!p->beta) /* what is there must not count */
        for (int64_t q = 0; q < batch; q++)
            for (int64_t i = 0; i < p->m * p->n; i++)
                lab_set(c.data, c.t, q * c.stride + i / p->n * c.ld + i % p->n, NAN);
    weft_gemm g = {.ta = p->ta,
                   .tb = p->tb,
                   .m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .lda = p->gap ? a.ld : 0,
                   .ldb = p->gap ? b.ld : 0,
                   .ldc = p->gap ? c.ld : 0,
                   .batch = p->batch,
                   .sa = a.stride,
                   .sb = b.stride,
                   .sc = c.stride,
                   .alpha = p->alpha,
                   .beta = p->beta,
                   .in = p->in,
                   .out = p->out,
                   .a = a.data,
                   .b = b.data,
                   .c = c.data};
    double *want = expected(&g, &a, &b, &c, batch);
    if (weft_k_gemm(k, &g) != WEFT_OK) fail_msg("%s", weft_status_message());
    for (int64_t i = 0; i < c.size; i++) {
        const double got = lab_get(c.data, c.t, i);
        if (!(fabs(got - want[i]) <= tolerance(&g, want[i])))
            fail_msg("%s: m %lld n %lld k %lld batch %lld ta %d tb %d beta %d alpha %g "
                     "gap %d "
                     "%s to %s: element %lld is %.9g, must be %.9g",
                     weft_kctx_describe(k), (long long)g.m, (long long)g.n,
                     (long long)g.k, (long long)p->batch, g.ta, g.tb, p->beta, g.alpha,
                     p->gap, weft_dtype_name(g.in), weft_dtype_name(g.out),
                     (long long)i, got, want[i]);
    }
    free(want);
    while (l.n_blocks)
        free(l.block[--l.n_blocks]);
}

static const struct {
    weft_dtype in, out;
} types[] = {{WEFT_F64, WEFT_F64},
             {WEFT_F32, WEFT_F32},
             {WEFT_BF16, WEFT_BF16},
             {WEFT_BF16, WEFT_F32}};

/* Every combination of the flags at one size. */
static void check_all(weft_kctx *k, int64_t m, int64_t n, int64_t kk, int64_t batch)
{
    for (int bits = 0; bits < 32; bits++)
        for (int t = 0; t < 4; t++) {
            problem p = {m,
                         n,
                         kk,
                         batch,
                         bits & 1,
                         bits >> 1 & 1,
                         bits >> 2 & 1,
                         bits & 8 ? GAP : 0,
                         bits & 16 ? 0.375 : 1,
                         types[t].in,
                         types[t].out};
            check(k, &p, (uint32_t)(bits * 4 + t));
        }
}

static void check_backend(weft_backend b)
{
    lab l = {.seed = 11};
    weft_kctx *k = context(b, 2), *three = context(b, 3);
    assert_true(k && three);
    check_all(k, 1, 1, 1, 0);
    check_all(k, 17, 33, 65, 0);
    check_all(k, 5, 48, 31, 3);
    check_all(k, 64, 1, 7, 2);
    for (int i = 0; i < 3; i++)
        check_all(k, 1 + lab_below(&l, 50), 1 + lab_below(&l, 50),
                  1 + lab_below(&l, 50), lab_below(&l, 3));
    check_all(three, 100, 70, 60,
              0); /* past the size from which a team works: rows cut */
    check_all(three, 60, 100, 70, 0); /* columns cut */
    lab_free_context(k);
    lab_free_context(three);
}

static void ref_has_every_combination(void **state)
{
    check_backend(WEFT_BACKEND_REF);
}

#ifdef WF_HAVE_BLAS
static void blas_has_every_combination(void **state)
{
    check_backend(WEFT_BACKEND_BLAS);
}
#endif

static void the_automatic_choice_has_every_combination(void **state)
{
    check_backend(WEFT_BACKEND_AUTO);
}

static void long_sums_stay_right(void **state)
{
    weft_kctx *k = context(WEFT_BACKEND_AUTO, 2);
    check_all(k, 3, 2, 2000, 0);
    lab_free_context(k);
}

static void no_terms_leave_beta_c_and_empty_results_are_fine(void **state)
{
    weft_kctx *k = context(WEFT_BACKEND_AUTO, 1);
    float c[6] = {1, 2, 3, 4, 5, 6};
    weft_gemm g = {.m = 2,
                   .n = 2,
                   .ldc = 3,
                   .alpha = 1,
                   .beta = 1,
                   .in = WEFT_F32,
                   .out = WEFT_F32,
                   .c = c};
    assert_int_equal(weft_k_gemm(k, &g), WEFT_OK);
    assert_true(c[0] == 1 && c[4] == 5);
    g.beta = 0;
    assert_int_equal(weft_k_gemm(k, &g), WEFT_OK);
    assert_true(c[0] == 0 && c[1] == 0 && c[2] == 3 && c[3] == 0 && c[4] == 0 &&
                c[5] == 6);
    g.m = 0;
    assert_int_equal(weft_k_gemm(k, &g), WEFT_OK);
    lab_free_context(k);
}

static void refuse(weft_kctx *k, weft_gemm g, weft_status st, const char *message)
{
    assert_int_equal(weft_k_gemm(k, &g), st);
    assert_string_equal(weft_status_message(), message);
}

static void calls_that_make_no_sense_are_refused_in_words(void **state)
{
    weft_kctx *k = context(WEFT_BACKEND_AUTO, 1);
    const weft_gemm g = {
        .m = 4, .n = 5, .k = 6, .alpha = 1, .in = WEFT_F32, .out = WEFT_F32};
    weft_gemm bad = g;
    bad.n = -5;
    refuse(k, bad, WEFT_E_INVALID,
           "gemm of m=4 n=-5 k=6 batch=0: none may be negative");
    bad = g;
    bad.beta = 0.5;
    refuse(k, bad, WEFT_E_INVALID, "gemm with beta 0.5: 0 or 1");
    bad = g;
    bad.out = WEFT_BF16;
    refuse(k, bad, WEFT_E_INVALID, "gemm from f32 to bf16: same type, or bf16 to f32");
    bad = g;
    bad.lda = 5;
    refuse(k, bad, WEFT_E_MISMATCH, "gemm: rows of A have 6 elements, 5 apart");
    bad = g;
    bad.batch = 2;
    refuse(k, bad, WEFT_E_MISMATCH, "gemm: 2 matrices C at one place (stride 0)");
    lab_free_context(k);
}

/* Batches with B apart by `sb`, in whole numbers. */
static void check_stride(weft_kctx *k, int64_t sb)
{
    float a[3 * 2 * 4], b[3 * 4 * 3], c[3 * 2 * 3];
    for (int j = 0; j < 24; j++)
        a[j] = (float)(j % 7);
    for (int j = 0; j < 36; j++)
        b[j] = (float)(j % 5);
    weft_gemm g = {.m = 2,
                   .n = 3,
                   .k = 4,
                   .batch = 3,
                   .sa = 8,
                   .sb = sb,
                   .sc = 6,
                   .alpha = 1,
                   .in = WEFT_F32,
                   .out = WEFT_F32,
                   .a = a,
                   .b = b,
                   .c = c};
    assert_int_equal(weft_k_gemm(k, &g), WEFT_OK);
    for (int q = 0; q < 3; q++)
        for (int e = 0; e < 6; e++) {
            float want = 0;
            for (int l = 0; l < 4; l++)
                want += a[q * 8 + e / 3 * 4 + l] * b[q * sb + l * 3 + e % 3];
            assert_true(c[q * 6 + e] == want);
        }
}

static void a_batch_stride_of_zero_repeats_the_matrix(void **state)
{
    const weft_backend all[] = {WEFT_BACKEND_REF, WEFT_BACKEND_AUTO};
    for (int i = 0; i < 2; i++) {
        weft_kctx *k = context(all[i], 2);
        check_stride(k, 0);
        check_stride(k, 12); /* nothing else differs: not the primitive of before */
        check_stride(k, 0);
        lab_free_context(k);
    }
}

/* A weight gradient of one row at a time, added in f32. */
static void add_row(weft_kctx *k, double x, float *c)
{
    uint16_t a, b = weft_bf16_from_f32(1);
    lab_set(&a, WEFT_BF16, 0, x);
    weft_gemm g = {.ta = 1,
                   .m = 1,
                   .n = 1,
                   .k = 1,
                   .alpha = 1,
                   .beta = 1,
                   .in = WEFT_BF16,
                   .out = WEFT_F32,
                   .a = &a,
                   .b = &b,
                   .c = c};
    assert_int_equal(weft_k_gemm(k, &g), WEFT_OK);
}

static void case_83_small_bf16_gradients_are_not_lost(void **state)
{
    const weft_backend all[] = {WEFT_BACKEND_REF, WEFT_BACKEND_AUTO};
    for (int i = 0; i < 2; i++) {
        weft_kctx *k = context(all[i], 1);
        float c = 256;
        add_row(k, 1, &c);
        assert_true(c == 257);
        c = 1;
        for (int n = 0; n < 512; n++)
            add_row(k, 1.0 / 512, &c);
        assert_true(c == 2);
        lab_free_context(k);
    }
}

/* ---- rank threads at once ----------------------------------------------------------- */

enum { RUNS = 500, SHAPES = 4, SIDE = 48 };

typedef struct worker {
    weft_dtype t;
    uint32_t seed;
    double sum[SHAPES]; /* of the first round; later rounds must repeat it */
    int failed;
} worker;

static double one_product(weft_kctx *k, weft_dtype t, int shape, const void *a,
                          const void *b, void *c)
{
    const int64_t m = 8 + 13 * shape, n = SIDE - 11 * shape, kk = 16 + 9 * shape;
    weft_gemm g = {.ta = shape & 1,
                   .tb = shape >> 1,
                   .m = m,
                   .n = n,
                   .k = kk,
                   .alpha = 1,
                   .in = t,
                   .out = weft_dtype_acc(t),
                   .a = a,
                   .b = b,
                   .c = c};
    if (weft_k_gemm(k, &g) != WEFT_OK) return NAN;
    double sum = 0;
    for (int64_t i = 0; i < m * n; i++)
        sum += lab_get(c, g.out, i) * (double)(i % 17 + 1);
    return sum;
}

static void *work(void *arg)
{
    worker *w = arg;
    lab l = {.seed = w->seed};
    weft_arena *arena;
    weft_kctx *k;
    if (weft_arena_create(0, &arena) ||
        weft_kctx_create(WEFT_BACKEND_AUTO, 1, arena, &k)) {
        w->failed = 1;
        return NULL;
    }
    void *a = lab_input(&l, w->t, SIDE * SIDE, 1),
         *b = lab_input(&l, w->t, SIDE * SIDE, 1);
    void *c = lab_zeros(&l, WEFT_F64, SIDE * SIDE);
    for (int r = 0; r < RUNS; r++)
        for (int s = 0; s < SHAPES; s++) {
            const double sum = one_product(k, w->t, s, a, b, c);
            if (r == 0) w->sum[s] = sum;
            if (!(sum == w->sum[s])) w->failed = 1;
        }
    while (l.n_blocks)
        free(l.block[--l.n_blocks]);
    lab_free_context(k);
    return NULL;
}

static void rank_threads_at_once_get_what_one_gets_alone(void **state)
{
    for (int t = 0; t < WEFT_N_DTYPES; t++) {
        worker w[4], alone[4];
        pthread_t thread[4];
        for (int i = 0; i < 4; i++) { /* two pairs with the same inputs */
            w[i] = (worker){.t = (weft_dtype)t, .seed = (uint32_t)(i / 2)};
            alone[i] = w[i];
            work(&alone[i]);
        }
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(thread[i], NULL);
        for (int i = 0; i < 4; i++) {
            assert_false(w[i].failed || alone[i].failed);
            assert_memory_equal(w[i].sum, alone[i].sum, sizeof w[i].sum);
        }
    }
}

/* ---- contexts ----------------------------------------------------------------------- */

static void a_context_says_what_it_is_made_of(void **state)
{
    weft_kctx *k = context(WEFT_BACKEND_REF, 3);
    assert_string_equal(weft_kctx_describe(k), "plain loops, 3 threads");
    lab_free_context(k);
    k = context(WEFT_BACKEND_AUTO, 1);
    assert_non_null(strstr(weft_kctx_describe(k), " loops"));
    assert_non_null(strstr(weft_kctx_describe(k), ", 1 thread"));
#ifdef WF_HAVE_BLAS
    assert_non_null(strstr(weft_kctx_describe(k), "openblas 0."));
#endif
#ifdef WF_HAVE_ONEDNN
    assert_non_null(strstr(weft_kctx_describe(k), "onednn 2."));
#endif
    lab_free_context(k);
}

static void no_threads_and_unknown_back_ends_are_refused(void **state)
{
    weft_kctx *k = NULL;
    assert_int_equal(weft_kctx_create(WEFT_BACKEND_AUTO, 0, NULL, &k), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "0 threads a rank: 1 or more");
    assert_int_equal(weft_kctx_create((weft_backend)9, 1, NULL, &k), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "this build has ref"));
#ifndef WF_HAVE_ONEDNN
    assert_int_equal(weft_kctx_create(WEFT_BACKEND_ONEDNN, 1, NULL, &k),
                     WEFT_E_INVALID);
    assert_non_null(
        strstr(weft_status_message(), "kernels onednn: this build has ref"));
#endif
    assert_null(k);
}

/* More shapes than a context keeps: dropped and made again. */
static void many_shapes_in_one_context_stay_right(void **state)
{
    weft_kctx *k = context(WEFT_BACKEND_AUTO, 1);
    for (int64_t round = 0; round < 2; round++)
        for (int64_t n = 1; n <= 600; n++) {
            problem p = {
                .m = 3, .n = n, .k = 2, .alpha = 1, .in = WEFT_BF16, .out = WEFT_F32};
            check(k, &p, (uint32_t)n);
        }
    lab_free_context(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_has_every_combination),
#ifdef WF_HAVE_BLAS
        cmocka_unit_test(blas_has_every_combination),
#endif
        cmocka_unit_test(the_automatic_choice_has_every_combination),
        cmocka_unit_test(long_sums_stay_right),
        cmocka_unit_test(no_terms_leave_beta_c_and_empty_results_are_fine),
        cmocka_unit_test(calls_that_make_no_sense_are_refused_in_words),
        cmocka_unit_test(a_batch_stride_of_zero_repeats_the_matrix),
        cmocka_unit_test(case_83_small_bf16_gradients_are_not_lost),
        cmocka_unit_test(rank_threads_at_once_get_what_one_gets_alone),
        cmocka_unit_test(a_context_says_what_it_is_made_of),
        cmocka_unit_test(no_threads_and_unknown_back_ends_are_refused),
        cmocka_unit_test(many_shapes_in_one_context_stay_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
