/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/run/tensor.h>

static void every_bf16_survives_the_way_to_f32_and_back(void **state)
{
    for (uint32_t u = 0; u < 65536; u++) {
        const float x = weft_bf16_to_f32((uint16_t)u);
        const uint16_t back = weft_bf16_from_f32(x);
        if (isnan(x))
            assert_true(isnan(weft_bf16_to_f32(back)));
        else
            assert_int_equal(back, u);
    }
}

/* Between each finite value and the next: below the middle down, above it up, on it to the
 * even one. The next after the largest is infinity, as IEEE rounding has it. */
static void rounding_is_to_nearest_even_between_all_neighbours(void **state)
{
    for (uint32_t u = 0; u < 65536; u++) {
        if ((u & 0x7f80) == 0x7f80) continue; /* infinity, NaN */
        const uint32_t low = u << 16;
        const struct {
            uint32_t bits, want;
        } all[] = {{low + 1, u},
                   {low + 0x7fff, u},
                   {low + 0x8000, u + (u & 1)},
                   {low + 0x8001, u + 1},
                   {low + 0xffff, u + 1}};
        for (int i = 0; i < 5; i++) {
            float x;
            memcpy(&x, &all[i].bits, sizeof x);
            assert_int_equal(weft_bf16_from_f32(x), all[i].want);
        }
    }
}

static void a_nan_with_any_payload_stays_a_nan(void **state)
{
    for (int bit = 0; bit < 23; bit++)
        for (uint32_t sign = 0; sign < 2; sign++) {
            const uint32_t u = sign << 31 | 0x7f800000u | 1u << bit;
            float x;
            memcpy(&x, &u, sizeof x);
            assert_true(isnan(weft_bf16_to_f32(weft_bf16_from_f32(x))));
        }
}

static void names_parse_to_their_dtype_and_sums_are_f32_or_f64(void **state)
{
    const int64_t bytes[WEFT_N_DTYPES] = {8, 4, 2};
    for (int t = 0; t < WEFT_N_DTYPES; t++) {
        weft_dtype parsed;
        assert_int_equal(weft_dtype_parse(weft_dtype_name((weft_dtype)t), &parsed),
                         WEFT_OK);
        assert_int_equal(parsed, t);
        assert_int_equal(weft_dtype_bytes(parsed), bytes[t]);
    }
    assert_int_equal(weft_dtype_acc(WEFT_F64), WEFT_F64);
    assert_int_equal(weft_dtype_acc(WEFT_F32), WEFT_F32);
    assert_int_equal(weft_dtype_acc(WEFT_BF16), WEFT_F32);
}

static void an_unknown_dtype_is_named_with_the_known_ones(void **state)
{
    weft_dtype t = WEFT_BF16;
    assert_int_equal(weft_dtype_parse("bf61", &t), WEFT_E_INVALID);
    assert_string_equal(
        weft_status_message(),
        "dtype \"bf61\" is not one of f64 f32 bf16; did you mean bf16?");
    assert_int_equal(t, WEFT_BF16);
}

static void a_view_shows_its_shape_and_placement(void **state)
{
    char buf[96];
    weft_view v = {.rows = 1024, .cols = 384};
    assert_string_equal(weft_view_text(&v, buf), "[1024, 384]");
    v.at[WEFT_TP] = (weft_placement){WEFT_SPLIT, 1};
    v.at[WEFT_DP] = (weft_placement){WEFT_SPLIT, 0};
    assert_string_equal(weft_view_text(&v, buf), "[1024/dp, 384/tp]");
    v.at[WEFT_TP] = (weft_placement){WEFT_PARTIAL_SUM, 0};
    v.at[WEFT_CP] = (weft_placement){WEFT_PARTIAL_MAX, 0};
    assert_string_equal(weft_view_text(&v, buf), "[1024/dp, 384]+tp^cp");
}

static void the_longest_view_text_fits_the_buffer(void **state)
{
    struct {
        char buf[96], guard;
    } room = {.guard = 77};
    weft_view v = {.rows = INT64_MAX, .cols = INT64_MIN};
    for (int a = 0; a < WEFT_MAX_AXES; a++)
        v.at[a] = (weft_placement){WEFT_SPLIT, (uint8_t)(a & 1)};
    assert_true(strlen(weft_view_text(&v, room.buf)) < sizeof room.buf);
    assert_int_equal(room.guard, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bf16_survives_the_way_to_f32_and_back),
        cmocka_unit_test(rounding_is_to_nearest_even_between_all_neighbours),
        cmocka_unit_test(a_nan_with_any_payload_stays_a_nan),
        cmocka_unit_test(names_parse_to_their_dtype_and_sums_are_f32_or_f64),
        cmocka_unit_test(an_unknown_dtype_is_named_with_the_known_ones),
        cmocka_unit_test(a_view_shows_its_shape_and_placement),
        cmocka_unit_test(the_longest_view_text_fits_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
