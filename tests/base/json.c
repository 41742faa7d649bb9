/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>

static weft_text text;
static weft_writer out;

static wf_json start(void)
{
    weft_text_clear(&text);
    out = weft_text_writer(&text);
    return wf_json_begin(&out);
}

static void nested_containers_get_their_commas(void **state)
{
    wf_json j = start();
    wf_json_object(&j);
    wf_json_put_i64(&j, "a", -1);
    wf_json_key(&j, "b");
    wf_json_array(&j);
    wf_json_array(&j);
    wf_json_end_array(&j);
    wf_json_object(&j);
    wf_json_end_object(&j);
    wf_json_array(&j);
    wf_json_i64(&j, 1);
    wf_json_i64(&j, 2);
    wf_json_end_array(&j);
    wf_json_array(&j); /* as deep as the last, and empty again */
    wf_json_i64(&j, 3);
    wf_json_end_array(&j);
    wf_json_null(&j);
    wf_json_end_array(&j);
    wf_json_put_bool(&j, "c", 1);
    wf_json_put_string(&j, "d", NULL);
    wf_json_end_object(&j);
    assert_string_equal(
        text.s, "{\"a\":-1,\"b\":[[],{},[1,2],[3],null],\"c\":true,\"d\":null}");
    assert_int_equal(weft_writer_status(&out), WEFT_OK);
}

static void doubles_are_exact_and_short(void **state)
{
    wf_json j = start();
    wf_json_array(&j);
    wf_json_f64(&j, 0.1);
    wf_json_f64(&j, 45);
    wf_json_f64(&j, 0.22580645161290322);
    wf_json_f64(&j, 1e300);
    wf_json_f64(&j, (double)NAN);
    wf_json_f64(&j, (double)-INFINITY);
    wf_json_end_array(&j);
    assert_string_equal(text.s, "[0.1,45,0.22580645161290322,1e+300,null,null]");
}

static void strings_are_escaped(void **state)
{
    wf_json j = start();
    wf_json_string(&j, "a\"b\\c\n\r\t\x01\x1f/\x7f");
    assert_string_equal(text.s, "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f/\x7f\"");
}

static void text_that_is_not_utf8_becomes_u_fffd(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"\xc3\xa9", "\xc3\xa9"},                 /* e acute        */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, /* beyond the BMP */
        {"\xff", "\\ufffd"},
        {"\xc3", "\\ufffd"},            /* cut short      */
        {"\xc0\xaf", "\\ufffd\\ufffd"}, /* overlong '/'   */
        {"\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"},
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* surrogate      */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* > U+10FFFF */
        {"a\xe2\x82z", "a\\ufffd\\ufffdz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wf_json j = start();
        wf_json_string(&j, cases[i].in);
        assert_int_equal(text.n, strlen(cases[i].out) + 2);
        assert_memory_equal(text.s + 1, cases[i].out, strlen(cases[i].out));
    }
}

static void nesting_beyond_the_limit_fails_the_writer(void **state)
{
    for (int depth = 58; depth < 63; depth++) {
        wf_json j = start();
        for (int i = 0; i < depth; i++)
            wf_json_array(&j);
        assert_int_equal(weft_writer_status(&out), depth <= 60 ? WEFT_OK : WEFT_E_IO);
    }
}

static int clear(void **state)
{
    weft_text_clear(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_containers_get_their_commas),
        cmocka_unit_test(doubles_are_exact_and_short),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(text_that_is_not_utf8_becomes_u_fffd),
        cmocka_unit_test(nesting_beyond_the_limit_fails_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
