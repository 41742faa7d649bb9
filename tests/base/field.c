/* SPDX-License-Identifier: Apache-2.0 */
#include "base/field.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>

typedef struct thing {
    int32_t small, on;
    int64_t many, needed;
    double rate;
    char word[8];
    int32_t later, kind;
} thing;

#define AT(member) WF_AT(thing, member)
static const wf_field fields[] = {
    {"small", "tiny mini", WF_I32, WF_PLAIN, AT(small), 1, 10, "3", WF_NOW, "h"},
    {"on", NULL, WF_BOOL, WF_PLAIN, AT(on), 0, 1, "true", WF_NOW, "h"},
    {"many_things", "n_things", WF_I64, WF_COUNT, AT(many), 0, 1e15, "7B", WF_NOW, "h"},
    {"needed", NULL, WF_I64, WF_COUNT, AT(needed), 1, 9, NULL, WF_NOW, "h"},
    {"rate", NULL, WF_F64, WF_FLOPS_S, AT(rate), 0, 1e30, "989TFLOP/s", WF_NOW, "h"},
    {"word", NULL, WF_STRING, WF_PLAIN, AT(word), 0, 0, "abc", WF_NOW, "h"},
    {"later", NULL, WF_I32, WF_PLAIN, AT(later), 0, 5, "0", WF_LATER, "h"},
    {"nowhere", NULL, WF_STRING, WF_PLAIN, 0, 0, 0, 0, "none", WF_LATER, "h"},
    {"kind", NULL, WF_CHOICE, WF_PLAIN, AT(kind), 0, 0, "none|head|full", WF_NOW, "h"},
    {"mode", NULL, WF_CHOICE, WF_PLAIN, 0, 0, 0, 0, "off|on", WF_LATER, "h"},
};
static const wf_table flags = {"thing option", "--", 10, fields};
static const wf_table keys = {"thing", "", 10, fields};

static thing fresh(void)
{
    thing t;
    memset(&t, 0x5a, sizeof t);
    wf_field_defaults(&flags, &t);
    return t;
}

static void refused(const char *name, const char *value, const char *words)
{
    thing t = fresh(), before = t;
    assert_int_equal(wf_field_set(&flags, &t, name, value), WEFT_E_INVALID);
    if (!strstr(weft_status_message(), words))
        fail_msg("'%s' lacks '%s'", weft_status_message(), words);
    assert_memory_equal(&t, &before, sizeof t);
}

static void defaults_fill_every_field(void **state)
{
    thing t = fresh();
    assert_int_equal(t.small, 3);
    assert_int_equal(t.on, 1);
    assert_true(t.many == 7000000000 && t.needed == 0 && t.rate == 989e12);
    assert_string_equal(t.word, "abc");
}

static void names_are_found_however_they_are_written(void **state)
{
    static const char *const same[] = {"many_things", "many-things", "--many-things",
                                       "n_things", "--n-things"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(wf_field_find(&flags, same[i]), 2);
    assert_int_equal(wf_field_find(&flags, "mini"), 0);
    assert_int_equal(wf_field_find(&flags, "min"), -1);
    assert_int_equal(wf_field_find(&flags, "tiny mini"), -1);
    assert_int_equal(wf_field_find(&flags, ""), -1);
}

static void errors_name_flag_value_and_range(void **state)
{
    refused("small", "11", "--small 11 is outside 1 .. 10");
    refused("small", "0", "--small 0 is outside 1 .. 10");
    refused("small", "99999999999999", "--small 99999999999999 is outside 1 .. 10");
    refused("mini", "x", "--small: 'x' is not a number");
    refused("small", "", "--small: a value is missing");
    refused("many-things", "-1", "--many-things -1 is below 0");
    refused("many-things", "5GB", "such as 7B, 70e9 or 4k");
    refused("rate", "nan", "--rate: nan is not finite");
    refused("on", "2", "--on: '2' is not one of true, false");
    refused("word", "12345678", "--word: '12345678' is longer than 7 characters");
    refused("many-thing", "1", "did you mean --many-things?");
    refused("--smal", "1", "did you mean --small?");
    refused("zzzzz", "1", "--zzzzz is no thing option");
    thing t = fresh();
    assert_int_equal(wf_field_set(&keys, &t, "many-thing", "1"), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "did you mean many_things?"));
}

static void what_this_version_lacks_is_refused_but_its_default_is_not(void **state)
{
    thing t = fresh();
    refused("later", "1", "--later 1 is not in this version; 0 is");
    refused("nowhere", "full", "--nowhere full is not in this version; none is");
    assert_int_equal(wf_field_set(&flags, &t, "later", "+0"), WEFT_OK);
    assert_int_equal(wf_field_set(&flags, &t, "nowhere", "none"), WEFT_OK);
    t.needed = 1;
    t.later = 2;
    assert_int_equal(wf_field_check(&flags, &t), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(),
                        "--later 2 is not in this version; 0 is");
}

static void a_struct_filled_by_hand_is_checked(void **state)
{
    thing t = fresh();
    assert_int_equal(wf_field_check(&flags, &t), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "--needed is not given");
    t.needed = 2;
    assert_int_equal(wf_field_check(&flags, &t), WEFT_OK);
    t.rate = (double)NAN;
    assert_int_equal(wf_field_check(&flags, &t), WEFT_E_INVALID);
    t.rate = 1;
    memset(t.word, 'x', sizeof t.word);
    assert_int_equal(wf_field_check(&flags, &t), WEFT_E_INVALID);
}

static void a_choice_is_one_of_its_words(void **state)
{
    thing t = fresh();
    assert_int_equal(t.kind, 0);
    assert_int_equal(wf_field_set(&flags, &t, "kind", "full"), WEFT_OK);
    assert_int_equal(t.kind, 2);
    refused("kind", "ful",
            "--kind: 'ful' is none of none|head|full; did you mean full?");
    refused("kind", "none|head", "is none of none|head|full");
    refused("kind", "2", "is none of none|head|full");
    refused("kind", "", "is none of none|head|full");
    refused("mode", "on", "--mode on is not in this version; off is");
    assert_int_equal(wf_field_set(&flags, &t, "mode", "off"), WEFT_OK);
    t.needed = 1;
    t.kind = 3;
    assert_int_equal(wf_field_check(&flags, &t), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(),
                        "--kind has the number 3; none|head|full are 0 to 2");
    t.kind = -1;
    assert_int_equal(wf_field_check(&flags, &t), WEFT_E_INVALID);
}

/* Printing every field and setting the text again gives the same struct. */
static void printed_values_read_back(void **state)
{
    thing t = fresh(), back;
    t.rate = 1.0 / 3;
    t.many = 999999999999999;
    t.needed = 9;
    t.on = 0;
    t.kind = 1;
    memset(&back, 0, sizeof back);
    wf_field_defaults(&flags, &back);
    for (int i = 0; i < flags.n; i++) {
        weft_text text = {0};
        weft_writer out = weft_text_writer(&text);
        wf_field_print(&flags, i, &t, &out);
        assert_int_equal(wf_field_set(&flags, &back, fields[i].name, text.s), WEFT_OK);
        weft_text_clear(&text);
    }
    assert_true(back.small == t.small && back.on == t.on && back.many == t.many &&
                back.needed == t.needed && back.rate == t.rate && back.kind == t.kind);
    assert_string_equal(back.word, t.word);
}

static void json_has_one_member_a_stored_field(void **state)
{
    thing t = fresh();
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    wf_json j = wf_json_begin(&out);
    wf_json_object(&j);
    wf_field_put_json(&flags, &t, &j);
    wf_json_end_object(&j);
    assert_string_equal(text.s,
                        "{\"small\":3,\"on\":true,\"many_things\":7000000000,"
                        "\"needed\":0,\"rate\":989000000000000,\"word\":\"abc\","
                        "\"later\":0,\"kind\":\"none\"}");
    weft_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_every_field),
        cmocka_unit_test(names_are_found_however_they_are_written),
        cmocka_unit_test(errors_name_flag_value_and_range),
        cmocka_unit_test(what_this_version_lacks_is_refused_but_its_default_is_not),
        cmocka_unit_test(a_struct_filled_by_hand_is_checked),
        cmocka_unit_test(a_choice_is_one_of_its_words),
        cmocka_unit_test(printed_values_read_back),
        cmocka_unit_test(json_has_one_member_a_stored_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
