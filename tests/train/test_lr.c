/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/run/optim.h>

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-15 * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

static const weft_lr base = {.lr = 6e-4,
                             .min_lr = 6e-5,
                             .warmup_iters = 10,
                             .decay_iters = 110,
                             .style = WEFT_DECAY_COSINE};

static void warm_up_rises_by_equal_steps_to_the_full_rate(void **state)
{
    for (int style = 0; style < WEFT_N_DECAYS; style++) {
        weft_lr s = base;
        s.style = (weft_decay)style;
        for (int i = 0; i < 10; i++)
            assert_near(weft_lr_at(&s, i), 6e-4 * (i + 1) / 10);
        assert_near(weft_lr_at(&s, 10), 6e-4);
    }
}

static void constant_stays(void **state)
{
    weft_lr s = base;
    s.style = WEFT_DECAY_CONSTANT;
    for (int64_t i = 10; i < 100000; i = i * 3 + 1)
        assert_true(weft_lr_at(&s, i) == 6e-4);
}

static void linear_falls_by_equal_steps_to_the_least_rate(void **state)
{
    weft_lr s = base;
    s.style = WEFT_DECAY_LINEAR;
    for (int i = 0; i <= 100; i++)
        assert_near(weft_lr_at(&s, 10 + i), 6e-5 + (100 - i) / 100.0 * 5.4e-4);
    assert_true(weft_lr_at(&s, 111) == 6e-5);
    assert_true(weft_lr_at(&s, INT64_MAX) == 6e-5);
}

static void cosine_passes_its_known_points(void **state)
{
    assert_near(weft_lr_at(&base, 10), 6e-4);
    assert_near(weft_lr_at(&base, 10 + 50), (6e-4 + 6e-5) / 2);
    assert_near(weft_lr_at(&base, 10 + 25), 6e-5 + 5.4e-4 * (2 + sqrt(2)) / 4);
    assert_near(weft_lr_at(&base, 10 + 75), 6e-5 + 5.4e-4 * (2 - sqrt(2)) / 4);
    assert_true(weft_lr_at(&base, 110) == 6e-5);
    assert_true(weft_lr_at(&base, INT64_MAX) == 6e-5);
    for (int i = 10; i < 110; i++)
        assert_true(weft_lr_at(&base, i) > weft_lr_at(&base, i + 1));
}

static void no_warm_up_starts_at_the_full_rate(void **state)
{
    weft_lr s = base;
    s.warmup_iters = 0;
    assert_near(weft_lr_at(&s, 0), 6e-4);
    s.warmup_iters = s.decay_iters; /* nothing left to decay in */
    assert_near(weft_lr_at(&s, 109), 6e-4);
    assert_true(weft_lr_at(&s, 110) == 6e-5);
}

static void assert_refused(weft_lr s, const char *flag, const char *words)
{
    assert_int_equal(weft_lr_check(&s), WEFT_E_INVALID);
    const char *m = weft_status_message();
    if (strncmp(m, flag, strlen(flag)) || !strstr(m, words))
        fail_msg("no \"%s\" and \"%s\" in: %s", flag, words, m);
}

#define WITH(field, value, flag, words)                                                \
    do {                                                                               \
        weft_lr s_ = base;                                                             \
        s_.field = (value);                                                            \
        assert_refused(s_, flag, words);                                               \
    } while (0)

static void what_is_out_of_range_is_named(void **state)
{
    assert_int_equal(weft_lr_check(&base), WEFT_OK);
    WITH(lr, NAN, "--lr nan", "above 0");
    WITH(lr, INFINITY, "--lr inf", "finite");
    WITH(lr, 0, "--lr 0", "above 0");
    WITH(lr, -1e-3, "--lr -0.001", "above 0");
    WITH(min_lr, NAN, "--min-lr nan", "0.0006");
    WITH(min_lr, -1e-9, "--min-lr -1e-09", "0.0006");
    WITH(min_lr, 7e-4, "--min-lr 0.0007", "--lr 0.0006");
    WITH(warmup_iters, -1, "--lr-warmup-iters -1", "0 or more");
    WITH(warmup_iters, 111, "--lr-warmup-iters 111", "--lr-decay-iters 110");
    WITH(decay_iters, 0, "--lr-decay-iters 0", "1 or more");
}

static void a_constant_rate_needs_no_decay(void **state)
{
    weft_lr s = {.lr = 1, .warmup_iters = 5, .style = WEFT_DECAY_CONSTANT};
    assert_int_equal(weft_lr_check(&s), WEFT_OK);
}

static void style_names_round_trip_and_unknown_ones_get_the_nearest(void **state)
{
    weft_decay got;
    for (int i = 0; i < WEFT_N_DECAYS; i++) {
        assert_int_equal(weft_decay_parse(weft_decay_name((weft_decay)i), &got),
                         WEFT_OK);
        assert_int_equal(got, i);
    }
    got = WEFT_DECAY_LINEAR;
    assert_int_equal(weft_decay_parse("cosin", &got), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "--lr-decay-style cosin "));
    assert_non_null(strstr(weft_status_message(), "mean cosine?"));
    assert_int_equal(weft_decay_parse("zzz", &got), WEFT_E_INVALID);
    assert_null(strstr(weft_status_message(), "mean"));
    assert_non_null(strstr(weft_status_message(), "constant, linear or cosine"));
    assert_int_equal(got, WEFT_DECAY_LINEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_up_rises_by_equal_steps_to_the_full_rate),
        cmocka_unit_test(constant_stays),
        cmocka_unit_test(linear_falls_by_equal_steps_to_the_least_rate),
        cmocka_unit_test(cosine_passes_its_known_points),
        cmocka_unit_test(no_warm_up_starts_at_the_full_rate),
        cmocka_unit_test(what_is_out_of_range_is_named),
        cmocka_unit_test(a_constant_rate_needs_no_decay),
        cmocka_unit_test(style_names_round_trip_and_unknown_ones_get_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
