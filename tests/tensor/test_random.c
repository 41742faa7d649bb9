/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/run/random.h>

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", got, tolerance, want);
}

/* Recorded from another implementation, which gives the published vectors of Philox. The
 * first two are such a vector: philox4x32-10 of zeros. */
static void values_are_those_on_record(void **state)
{
    const struct {
        uint64_t seed, key, index, bits;
        double uniform, normal;
        uint64_t below_50257, below_large; /* 2^63 + 12345 */
    } want[] = {
        {0, 0, 0, 0xe169c58d6627e8d5, 0.8805201978886142, -0.3976675384441824, 44252,
         8121365371091689184},
        {0, 0, 1, 0x9b00dbd8bc57ac4c, 0.6054818538799213, -0.3103954788017382, 30429,
         5584584399899063128},
        {1234, 0x0123456789abcdef, 7, 0x8b5bb7c435331de7, 0.5443682531378723,
         -0.6056285624468944, 27358, 5020910923743340851},
        {0xfedcba9876543210, 0xdeadbeefcafef00d, 0x123456789abcdef0, 0x92e6196ac192cbfe,
         0.5738235364565966, -1.0101139767255283, 28838, 5292587960242897322},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint64_t s = want[i].seed, k = want[i].key, n = want[i].index;
        assert_true(weft_random_bits(s, k, n) == want[i].bits);
        assert_true(weft_random_uniform(s, k, n) == want[i].uniform);
        assert_near(weft_random_normal(s, k, n), want[i].normal, 1e-14);
        assert_true(weft_random_below(s, k, n, 50257) == want[i].below_50257);
        assert_true(weft_random_below(s, k, n, ((uint64_t)1 << 63) + 12345) ==
                    want[i].below_large);
    }
}

static void a_key_is_the_xxh3_of_the_name(void **state)
{
    assert_true(weft_random_key("") == 0x2d06800538d394c2);
    assert_true(weft_random_key("h.3.attn.qkv.weight") == 0x28f4ddd18fd04de3);
}

enum { MANY = 200000 };

static void normal_values_have_the_moments_of_a_normal(void **state)
{
    const uint64_t seeds[] = {0, 1, 1234567890123456789};
    for (size_t s = 0; s < 3; s++) {
        double sum[5] = {0}, past2 = 0, lag = 0, before = 0;
        for (uint64_t i = 0; i < MANY; i++) {
            double z = weft_random_normal(seeds[s], 42, i), power = z;
            for (int m = 1; m <= 4; m++, power *= z)
                sum[m] += power / MANY;
            past2 += fabs(z) > 2;
            lag += before * z / MANY;
            before = z;
            assert_true(fabs(z) < 8.6);
        }
        double unit = 1 / sqrt(MANY); /* 5 deviations of each estimate */
        assert_near(sum[1], 0, 5 * unit);
        assert_near(sum[2], 1, 5 * sqrt(2) * unit);
        assert_near(sum[3], 0, 5 * sqrt(15) * unit);
        assert_near(sum[4], 3, 5 * sqrt(96) * unit);
        assert_near(past2 / MANY, 0.0455003, 5 * 0.2084 * unit);
        assert_near(lag, 0, 5 * unit); /* also the two of a Box-Muller pair */
    }
}

static void uniform_values_are_even_and_never_0_or_1(void **state)
{
    int bin[64] = {0};
    double chi2 = 0;

    for (uint64_t i = 0; i < MANY; i++) {
        double u = weft_random_uniform(7, 3, i);
        assert_true(u > 0 && u < 1);
        assert_true(fmod(u * 0x1p53, 2) == 1);
        bin[(int)(u * 64)]++;
    }
    for (int b = 0; b < 64; b++)
        chi2 += pow(bin[b] - MANY / 64.0, 2) / (MANY / 64.0);
    assert_true(chi2 > 25 && chi2 < 120); /* 63 degrees of freedom, 5 deviations */
}

static void below_n_is_even_and_below_n(void **state)
{
    for (uint64_t n = 1; n <= 12; n++) {
        int count[12] = {0};
        for (uint64_t i = 0; i < 12000; i++) {
            uint64_t x = weft_random_below(5, n, i, n);
            assert_true(x < n);
            count[x]++;
        }
        double mean = 12000.0 / (double)n;
        for (uint64_t x = 0; x < n; x++)
            assert_near(count[x], mean, 5 * sqrt(mean));
    }
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(weft_random_below(5, 1, i, UINT64_MAX) < UINT64_MAX);
}

/* Correlation of two sequences of normal values of one length. */
static double correlation(uint64_t seed_a, uint64_t key_a, uint64_t seed_b,
                          uint64_t key_b, uint64_t shift)
{
    double sum = 0;
    for (uint64_t i = 0; i < MANY; i++)
        sum += weft_random_normal(seed_a, key_a, i) *
               weft_random_normal(seed_b, key_b, i + shift);
    return sum / MANY;
}

static void neighbouring_seeds_and_keys_are_independent(void **state)
{
    double limit = 5 / sqrt(MANY);
    assert_near(correlation(1, 10, 2, 10, 0), 0, limit);
    assert_near(correlation(1, 10, 1, 11, 0), 0, limit);
    assert_near(correlation(1, 10, 10, 1, 0), 0, limit);
    assert_near(correlation(1, 10, 1, 10, 2), 0, limit);
    assert_near(correlation((uint64_t)1 << 32, 10, 0, 10, 0), 0, limit);
    assert_near(correlation(1, (uint64_t)10 << 32, 1, 10, 0), 0, limit);
}

enum { ROWS = 15, COLS = 21 };

/* Any block of the logical tensor holds what the whole one has there, to the bit: every
 * first row and column, so odd starts too, and every width. */
static void a_shard_is_filled_as_the_unsplit_tensor(void **state)
{
    static double whole[ROWS * COLS], part[ROWS * COLS + 1];
    weft_random_block all = {0, COLS, ROWS, COLS};
    weft_random_fill_normal(9, 8, all, 0.02, WEFT_F64, whole);

    for (int64_t i = 0; i < ROWS * COLS; i++)
        assert_true(whole[i] == 0.02 * weft_random_normal(9, 8, (uint64_t)i));
    for (int64_t r0 = 0; r0 < ROWS; r0 += 4) {
        for (int64_t c0 = 0; c0 < COLS; c0++) {
            for (int64_t n = 0; c0 + n <= COLS; n++) {
                weft_random_block b = {r0 * COLS + c0, COLS, ROWS - r0, n};
                memset(part, 0x55, sizeof part);
                weft_random_fill_normal(9, 8, b, 0.02, WEFT_F64, part);
                for (int64_t r = 0; r < b.rows; r++)
                    assert_memory_equal(part + r * n, whole + (r0 + r) * COLS + c0,
                                        (size_t)n * sizeof *part);
                uint64_t after;
                memcpy(&after, part + b.rows * n, sizeof after);
                assert_true(after == 0x5555555555555555);
            }
        }
    }
}

static void narrow_types_are_the_f64_values_rounded_once(void **state)
{
    weft_random_block b = {5, 40, 3, 33};
    double wide[99];
    float single[99];
    uint16_t half[99];

    for (int uniform = 0; uniform < 2; uniform++) {
        void *out[] = {wide, single, half};
        weft_dtype type[] = {WEFT_F64, WEFT_F32, WEFT_BF16};
        for (int i = 0; i < 3; i++) {
            if (uniform)
                weft_random_fill_uniform(3, 4, b, -2, 6, type[i], out[i]);
            else
                weft_random_fill_normal(3, 4, b, 1.5, type[i], out[i]);
        }
        for (int i = 0; i < 99; i++) {
            assert_true(single[i] == (float)wide[i]);
            assert_int_equal(half[i], weft_bf16_from_f32((float)wide[i]));
            if (!uniform) continue;
            uint64_t index = (uint64_t)(5 + i / 33 * 40 + i % 33);
            assert_true(wide[i] == -2 + 8 * weft_random_uniform(3, 4, index));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_on_record),
        cmocka_unit_test(a_key_is_the_xxh3_of_the_name),
        cmocka_unit_test(normal_values_have_the_moments_of_a_normal),
        cmocka_unit_test(uniform_values_are_even_and_never_0_or_1),
        cmocka_unit_test(below_n_is_even_and_below_n),
        cmocka_unit_test(neighbouring_seeds_and_keys_are_independent),
        cmocka_unit_test(a_shard_is_filled_as_the_unsplit_tensor),
        cmocka_unit_test(narrow_types_are_the_f64_values_rounded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
