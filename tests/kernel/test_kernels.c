/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of every instruction set this CPU runs, against the f64 oracle. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "skip.h"

/* The last two are past the size from which a team of threads works. */
static const struct shape {
    int64_t rows, cols;
} shapes[] = {{1, 1},  {1, 7},    {3, 1},     {2, 64},
              {5, 33}, {17, 130}, {131, 257}, {53, 768}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Sums of n terms of size up to about 5 and one rounding of the result; bf16 kernels also
 * read back what they stored (bias_gelu, the softmaxes). */
static int close_enough(double got, double want, weft_dtype t)
{
    if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : got == want;
    const double part = t == WEFT_BF16 ? 0x1p-7 : t == WEFT_F32 ? 4e-6 : 1e-12;
    return fabs(got - want) <= part * (fabs(want) + 1);
}

static void compare(const lab_kernel *kernel, weft_kctx *k, const char *set,
                    weft_dtype t, weft_kctx *oracle, const struct shape *s,
                    uint32_t seed)
{
    int64_t n_want, n_got;
    double *want = lab_run(kernel, oracle, WEFT_F64, s->rows, s->cols, seed, &n_want);
    double *got = lab_run(kernel, k, t, s->rows, s->cols, seed, &n_got);
    assert_int_equal(n_got, n_want);
    for (int64_t i = 0; i < n_want; i++)
        if (!close_enough(got[i], want[i], t))
            fail_msg("%s %s by %s, [%lld, %lld]: result %lld is %.9g, must be %.9g",
                     kernel->name, weft_dtype_name(t), set, (long long)s->rows,
                     (long long)s->cols, (long long)i, got[i], want[i]);
    free(want);
    free(got);
}

static void check_set(int set)
{
    const char *name, *oracle_name;
    weft_kctx *k = lab_context(set, 2, &name),
              *oracle = lab_context(-1, 1, &oracle_name);
    if (!k) {
        lab_free_context(oracle);
        SKIP_NEEDS("cpu:avx512bw", "this CPU runs fewer instruction sets");
    }
    for (int i = 0; i < lab_n_kernels; i++)
        for (int s = 0; s < N_SHAPES; s++)
            for (int t = WEFT_F32; t <= WEFT_BF16; t++)
                compare(&lab_kernels[i], k, name, (weft_dtype)t, oracle, &shapes[s],
                        (uint32_t)(i * 1000 + s));
    lab_free_context(k);
    lab_free_context(oracle);
}

static void ref_loops_in_f32_and_bf16_follow_those_in_f64(void **state)
{
    check_set(-1);
}

static void the_best_vector_set_follows_the_oracle(void **state)
{
    check_set(0);
}

static void the_second_vector_set_follows_the_oracle(void **state)
{
    check_set(1);
}

static void the_third_vector_set_follows_the_oracle(void **state)
{
    check_set(2);
}

static void one_two_three_threads_and_a_second_call_give_the_same_bits(void **state)
{
    const struct shape *s = &shapes[N_SHAPES - 2];
    const char *name;
    for (int i = 0; i < lab_n_kernels; i++)
        for (int t = WEFT_F32; t <= WEFT_BF16; t++) {
            double *first = NULL;
            int64_t n = 0, n_first = 0;
            for (int threads = 1; threads <= 4; threads++) {
                weft_kctx *k = lab_context(0, threads == 4 ? 2 : threads, &name);
                double *now =
                    lab_run(&lab_kernels[i], k, (weft_dtype)t, s->rows, s->cols, 5, &n);
                if (threads == 1) {
                    first = now;
                    n_first = n;
                } else {
                    if (n != n_first || memcmp(first, now, (size_t)n * sizeof *now))
                        fail_msg("%s %s: other bits", lab_kernels[i].name,
                                 weft_dtype_name((weft_dtype)t));
                    free(now);
                }
                lab_free_context(k);
            }
            free(first);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_loops_in_f32_and_bf16_follow_those_in_f64),
        cmocka_unit_test(the_best_vector_set_follows_the_oracle),
        cmocka_unit_test(the_second_vector_set_follows_the_oracle),
        cmocka_unit_test(the_third_vector_set_follows_the_oracle),
        cmocka_unit_test(one_two_three_threads_and_a_second_call_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
