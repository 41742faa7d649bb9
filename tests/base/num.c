/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* mkdtemp, setenv */
#include "base/num.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>

#include "skip.h"

static double f64(const char *text, wf_unit unit)
{
    double x = -12345;
    if (wf_num_f64("--x", text, unit, &x))
        fail_msg("%s: %s", text, weft_status_message());
    return x;
}

static int64_t i64(const char *text, wf_unit unit)
{
    int64_t x = -12345;
    if (wf_num_i64("--x", text, unit, &x))
        fail_msg("%s: %s", text, weft_status_message());
    return x;
}

/* Refused, the value untouched, the name and the text in the words. */
static void refused_f64(const char *text, wf_unit unit)
{
    double x = 42;
    if (!wf_num_f64("--x", text, unit, &x)) fail_msg("'%s' was taken as %g", text, x);
    assert_true(x == 42);
    assert_ptr_equal(strstr(weft_status_message(), "--x"), weft_status_message());
}

static void refused_i64(const char *text, wf_unit unit)
{
    int64_t x = 42;
    if (!wf_num_i64("--x", text, unit, &x))
        fail_msg("'%s' was taken as %lld", text, (long long)x);
    assert_true(x == 42);
    assert_ptr_equal(strstr(weft_status_message(), "--x"), weft_status_message());
}

static void units_of_every_quantity_are_read(void **state)
{
    assert_true(f64("7B", WF_COUNT) == 7e9);
    assert_true(f64("70e9", WF_COUNT) == 70e9);
    assert_true(f64("80GiB", WF_BYTES) == 80.0 * (1 << 30));
    assert_true(f64("24GB", WF_BYTES) == 24e9);
    assert_true(f64("1536", WF_BYTES) == 1536);
    assert_true(f64("450GB/s", WF_BYTES_S) == 450e9);
    assert_true(f64("989TFLOP/s", WF_FLOPS_S) == 989e12);
    assert_true(f64("1EFLOPS", WF_FLOPS_S) == 1e18);
    assert_true(f64("2e3MFLOP/s", WF_FLOPS_S) == 2e9);
    assert_true(f64("200ms", WF_SECONDS) == 0.2);
    assert_true(f64("3us", WF_SECONDS) == 3e-6);
    assert_true(f64("0.5", WF_SECONDS) == 0.5);
    assert_true(f64("-1e-8", WF_PLAIN) == -1e-8);
    assert_true(f64(".5", WF_PLAIN) == 0.5 && f64("5.", WF_PLAIN) == 5);
}

static void kilo_is_1000_and_kibi_is_1024(void **state)
{
    assert_true(i64("1kB", WF_BYTES) == 1000 && i64("1KiB", WF_BYTES) == 1024);
    assert_true(i64("4k", WF_COUNT) == 4000);
    assert_true(i64("4Ki", WF_COUNT) == 4096 && i64("1.5Mi", WF_COUNT) == 1572864);
    assert_true(f64("4Ki", WF_COUNT) == 4096 && f64("2Gi", WF_COUNT) == 2147483648.0);
    refused_i64("4ki", WF_COUNT);
    refused_i64("4KiB", WF_COUNT);
    refused_i64("80G", WF_BYTES); /* GB or GiB? */
}

static void whole_numbers_are_exact(void **state)
{
    assert_true(i64("9223372036854775807", WF_COUNT) == INT64_MAX);
    assert_true(i64("-9223372036854775808", WF_COUNT) == INT64_MIN);
    assert_true(i64("9007199254740993", WF_COUNT) == 9007199254740993);
    assert_true(i64("1.5k", WF_COUNT) == 1500 && i64("15e-1k", WF_COUNT) == 1500);
    assert_true(i64("1.50000000000000000000000000000000000k", WF_COUNT) == 1500);
    assert_true(i64("0.25KiB", WF_BYTES) == 256);
    assert_true(i64("1000e-3", WF_COUNT) == 1 && i64("0e99999", WF_COUNT) == 0);
    refused_i64("9223372036854775808", WF_COUNT);
    refused_i64("10e18", WF_COUNT);
    refused_i64("1e400", WF_COUNT);
    refused_i64("1.5", WF_COUNT);
    refused_i64("1e-400", WF_COUNT);
    refused_i64("0.0001k", WF_COUNT);
}

static void what_is_not_a_number_is_refused(void **state)
{
    static const char *const bad[] = {
        "",     " ",     "x",   "1x",   "1 ",       " 1",    "--1",
        "1..2", "1.2.3", ".",   "+",    "-",        "e5",    "1e",
        "1e+",  "0x10",  "1,5", "7 B",  "7b",       "1/2",   "nan",
        "-nan", "NaN",   "inf", "-inf", "infinity", "1e999", "-1e999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refused_f64(bad[i], WF_PLAIN);
        refused_f64(bad[i], WF_COUNT);
        refused_i64(bad[i], WF_COUNT);
    }
    refused_f64("1GB", WF_PLAIN);
    refused_f64("450Gb/s", WF_BYTES_S); /* bits */
    refused_f64("2h", WF_SECONDS);
    char digits[500];
    memset(digits, '9', sizeof digits);
    digits[499] = 0;
    refused_f64(digits, WF_PLAIN);
}

static void infinities_are_read_where_asked(void **state)
{
    double x = 0;
    assert_int_equal(wf_num_f64_any("x", "inf", WF_SECONDS, &x), WEFT_OK);
    assert_true(isinf(x) && x > 0);
    assert_int_equal(wf_num_f64_any("x", "-inf", WF_SECONDS, &x), WEFT_OK);
    assert_true(isinf(x) && x < 0);
    assert_int_equal(wf_num_f64_any("x", "nan", WF_SECONDS, &x), WEFT_OK);
    assert_true(isnan(x));
}

static uint64_t state64 = 88172645463325252u;

static uint64_t next64(void)
{
    state64 ^= state64 << 13;
    state64 ^= state64 >> 7;
    return state64 ^= state64 << 17;
}

static double any_double(void)
{
    union {
        uint64_t u;
        double d;
    } x;
    do
        x.u = next64();
    while (!isfinite(x.d));
    return x.d;
}

static void any_double_survives_print_and_read(void **state)
{
    char buf[32];
    static const double special[] = {
        0.0,     -0.0,         0.1,  1.0 / 3, DBL_MAX,
        DBL_MIN, DBL_TRUE_MIN, 1e22, 1e23,    123456789012345678.0};
    for (int i = 0; i < 20010; i++) {
        double x = i < 10 ? special[i] : any_double();
        wf_num_text(x, buf);
        assert_true(f64(buf, WF_PLAIN) == x);
    }
    assert_string_equal(wf_num_text(0.1, buf), "0.1");
    assert_string_equal(wf_num_text(45, buf), "45");
    assert_string_equal(wf_num_text(1.0 / 3, buf), "0.3333333333333333");
}

/* Decimal suffixes move the exponent before rounding, so 1.1k is the double nearest to
 * 1100 and 4.35G the one nearest to 4350000000. */
static void suffixes_do_not_round_twice(void **state)
{
    for (int i = 0; i < 5000; i++) {
        char with[64], plain[64];
        unsigned digits = (unsigned)(next64() % 1000000000);
        snprintf(with, sizeof with, "0.%09uG", digits);
        snprintf(plain, sizeof plain, "%u", digits);
        assert_true(f64(with, WF_COUNT) == strtod(plain, NULL));
        assert_true(i64(with, WF_COUNT) == (int64_t)digits);
    }
}

static void a_prefix_leaves_one_to_three_digits(void **state)
{
    for (int i = 0; i < 2000; i++) {
        double x =
            ldexp(1 + (double)(next64() % 1000) / 1000, (int)(next64() % 90) - 35);
        wf_scale s = wf_scale_of(x, 1e9);
        assert_true(x / s.unit >= 1 || s.unit == 1e-9);
        assert_true(x / s.unit < 1000.000001 || s.unit == 1e9);
    }
    assert_string_equal(wf_scale_of(9.9e8, 1e12).prefix, "M");
    assert_string_equal(wf_scale_of(-5e13, 1e12).prefix, "T");
    assert_string_equal(wf_scale_of(25, 1).prefix, "");
    assert_string_equal(wf_scale_of(0.025, 1).prefix, "m");
    assert_string_equal(wf_scale_of(0, 1e9).prefix, "G");
    assert_string_equal(wf_scale_of((double)NAN, 1e9).prefix, "G");
}

/* A locale with a decimal comma, made here: few machines have one generated. */
static int set_comma_locale(char *dir)
{
    char path[64], command[256];
    if (!mkdtemp(dir)) return 0;
    snprintf(path, sizeof path, "%s/numeric", dir);
    FILE *f = fopen(path, "w");
    if (!f) return 0;
    fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\n"
          "END LC_NUMERIC\n",
          f);
    fclose(f);
    snprintf(command, sizeof command, "localedef -c -i %s %s/xx_XX >%s/log 2>&1", path,
             dir, dir);
    if (system(command) == 127) return 0;
    setenv("LOCPATH", dir, 1);
    return setlocale(LC_NUMERIC, "xx_XX") != NULL;
}

static void the_locale_does_not_matter(void **state)
{
    char dir[] = "/tmp/weft-locale-XXXXXX", buf[32], comma[8], command[64];

    int set = set_comma_locale(dir);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command)) print_message("%s is left behind\n", dir);
    if (!set) SKIP_NEEDS("locales", "localedef did not make a locale");
    snprintf(comma, sizeof comma, "%.1f", 0.5);
    double x = f64("1.5k", WF_COUNT);
    wf_num_text(0.5, buf);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(comma, "0,5"); /* the locale was really another */
    assert_true(x == 1500);
    assert_string_equal(buf, "0.5");
}

static void booleans_have_eight_spellings(void **state)
{
    static const char *const on[] = {"true", "yes", "on", "1"};
    static const char *const off[] = {"false", "no", "off", "0"};
    int32_t x;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wf_num_bool("x", on[i], &x), WEFT_OK);
        assert_int_equal(x, 1);
        assert_int_equal(wf_num_bool("x", off[i], &x), WEFT_OK);
        assert_int_equal(x, 0);
    }
    assert_int_equal(wf_num_bool("x", "maybe", &x), WEFT_E_INVALID);
    assert_int_equal(wf_num_bool("x", "", &x), WEFT_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_every_quantity_are_read),
        cmocka_unit_test(kilo_is_1000_and_kibi_is_1024),
        cmocka_unit_test(whole_numbers_are_exact),
        cmocka_unit_test(what_is_not_a_number_is_refused),
        cmocka_unit_test(infinities_are_read_where_asked),
        cmocka_unit_test(any_double_survives_print_and_read),
        cmocka_unit_test(suffixes_do_not_round_twice),
        cmocka_unit_test(a_prefix_leaves_one_to_three_digits),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(booleans_have_eight_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
