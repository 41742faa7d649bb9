/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <weft/run/probe.h>
#include <weft/run/random.h>

enum { N = 7 };
static const double bytes[N] = {1 << 10, 1 << 13, 1 << 16, 1 << 18,
                                1 << 20, 1 << 22, 1 << 24};

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.10g, expected %.10g within %g", got, want, tolerance);
}

static void must(weft_status st)
{
    if (st != WEFT_OK) fail_msg("%s", weft_status_message());
}

/* t = steps * alpha + bytes / beta, each times 1 + noise * [-1, 1]. */
static void make(double steps, double alpha, double beta, double noise, uint64_t seed,
                 weft_timing t[N])
{
    for (int i = 0; i < N; i++)
        t[i] = (weft_timing){
            steps, bytes[i],
            (steps * alpha + bytes[i] / beta) *
                (1 + noise * (2 * weft_random_uniform(seed, 1, (uint64_t)i) - 1))};
}

/* Where a hundredth of the fastest message can be seen in the largest, see the header. */
static void exact_timings_give_latency_and_bandwidth_back(void **state)
{
    int seen = 0;
    for (double alpha = 1e-7; alpha < 1e-2; alpha *= 7)
        for (double beta = 1e6; beta < 1e12; beta *= 11)
            for (int steps = 1; steps <= 14; steps += 13) {
                weft_timing t[N];
                weft_alpha_beta got;
                if (bytes[N - 1] / beta < steps * alpha / 50) continue;
                make(steps, alpha, beta, 0, 1, t);
                must(weft_fit_alpha_beta(N, t, &got));
                assert_near(got.alpha_s, alpha, 1e-6);
                assert_near(got.bytes_per_s, beta, 1e-6);
                seen++;
            }
    assert_true(seen > 50);
}

static void noise_of_a_tenth_moves_the_constants_by_about_as_much(void **state)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_timing t[N];
        weft_alpha_beta got;
        make(2, 2e-5, 5e9, 0.1, seed, t);
        must(weft_fit_alpha_beta(N, t, &got));
        assert_near(got.alpha_s, 2e-5, 0.12);
        assert_near(got.bytes_per_s, 5e9, 0.12);
    }
}

/* No pair on a fine grid around the answer has a smaller sum of squared relative errors,
 * also where the free optimum is out of bounds. */
static double misfit(const weft_timing t[N], double alpha, double slope)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double r = (t[i].steps * alpha + slope * t[i].bytes) / t[i].seconds - 1;
        sum += r * r;
    }
    return sum;
}

static void the_fit_is_the_best_of_its_neighbours(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        weft_timing t[N];
        weft_alpha_beta got;
        make(1, seed % 2 ? 1e-5 : 1e-10, 1e9, 0.4, seed, t);
        must(weft_fit_alpha_beta(N, t, &got));
        assert_true(got.alpha_s >= 0 && got.bytes_per_s > 0);
        double slope = 1 / got.bytes_per_s, best = misfit(t, got.alpha_s, slope);
        for (int i = -3; i <= 3; i++)
            for (int j = -3; j <= 3; j++) {
                double a = got.alpha_s * (1 + 0.01 * i) + 1e-9 * (i > 0 ? i : 0);
                assert_true(misfit(t, a, slope * (1 + 0.01 * j)) >= best * (1 - 1e-12));
            }
    }
}

static void a_time_that_does_not_grow_has_a_bandwidth_too_large_to_matter(void **state)
{
    weft_timing t[N];
    weft_alpha_beta got;
    for (int i = 0; i < N; i++)
        t[i] = (weft_timing){1, bytes[i], 2e-6 * (1 - 0.01 * i)};
    must(weft_fit_alpha_beta(N, t, &got));
    assert_true(isfinite(got.bytes_per_s));
    assert_true(bytes[N - 1] / got.bytes_per_s < 0.011 * 2e-6);
    assert_near(got.alpha_s, 2e-6, 0.05);
}

static void too_little_is_refused(void **state)
{
    weft_timing t[2] = {{1, 1024, 1e-6}, {1, 1024, 1.1e-6}};
    weft_alpha_beta got;
    assert_int_equal(weft_fit_alpha_beta(1, t, &got), WEFT_E_INVALID);
    assert_int_equal(weft_fit_alpha_beta(2, t, &got), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "one size"));
    t[1].bytes = 2048;
    must(weft_fit_alpha_beta(2, t, &got));
    t[1].seconds = 0;
    assert_int_equal(weft_fit_alpha_beta(2, t, &got), WEFT_E_INVALID);
    t[1].seconds = NAN;
    assert_int_equal(weft_fit_alpha_beta(2, t, &got), WEFT_E_INVALID);
}

static void bandwidth_after_a_known_latency_is_found_alone(void **state)
{
    weft_timing t[N];
    double got;
    for (double beta = 1e6; beta < 1e12; beta *= 11) {
        make(2, 3e-5, beta, 0, 1, t);
        if (bytes[N - 1] / beta < 1e-6) continue;
        must(weft_fit_bandwidth(N, t, 3e-5, &got));
        assert_near(got, beta, 1e-6);
    }
    /* short messages that came through a burst are not asked, and change nothing */
    make(2, 3e-5, 12e6, 0, 1, t);
    t[0].seconds = 1e-6;
    must(weft_fit_bandwidth(N - 3, t + 3, 3e-5, &got));
    assert_near(got, 12e6, 1e-9);
    assert_int_equal(weft_fit_bandwidth(0, t, 0, &got), WEFT_E_INVALID);
    assert_int_equal(weft_fit_bandwidth(N, t, -1, &got), WEFT_E_INVALID);
}

static void a_saturating_rate_gives_its_top_and_half_size_back(void **state)
{
    const double k[] = {64, 128, 512, 2048, 32768};
    for (double top = 1e9; top < 1e14; top *= 10)
        for (double half = 0; half < 2000; half = half * 2 + 10) {
            double rate[5], got_top, got_half;
            for (int i = 0; i < 5; i++)
                rate[i] = top * k[i] / (k[i] + half);
            must(weft_fit_half_k(5, k, rate, 2 * top, &got_top, &got_half));
            assert_near(got_top, top, 1e-9);
            assert_true(fabs(got_half - half) <= 1e-6 * (half + 1));
        }
}

static void the_top_of_a_rate_is_not_above_the_peak(void **state)
{
    const double k[] = {128, 256, 512}, rate[] = {10e9, 30e9, 100e9};
    double top, half;
    must(weft_fit_half_k(3, k, rate, 110e9, &top, &half));
    assert_true(top <= 110e9 * (1 + 1e-12));
    assert_true(half >= 0);
    assert_int_equal(weft_fit_half_k(1, k, rate, 1, &top, &half), WEFT_E_INVALID);
}

static void median_is_the_middle_or_the_mean_of_the_two(void **state)
{
    double odd[] = {5, -1, 3}, even[] = {4, 1, 9, 2}, one[] = {7};
    assert_true(weft_median(3, odd) == 3);
    assert_true(weft_median(4, even) == 3);
    assert_true(weft_median(1, one) == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_timings_give_latency_and_bandwidth_back),
        cmocka_unit_test(noise_of_a_tenth_moves_the_constants_by_about_as_much),
        cmocka_unit_test(the_fit_is_the_best_of_its_neighbours),
        cmocka_unit_test(a_time_that_does_not_grow_has_a_bandwidth_too_large_to_matter),
        cmocka_unit_test(too_little_is_refused),
        cmocka_unit_test(bandwidth_after_a_known_latency_is_found_alone),
        cmocka_unit_test(a_saturating_rate_gives_its_top_and_half_size_back),
        cmocka_unit_test(the_top_of_a_rate_is_not_above_the_peak),
        cmocka_unit_test(median_is_the_middle_or_the_mean_of_the_two)};
    return cmocka_run_group_tests_name("probe_fit", tests, NULL, NULL);
}
