/* SPDX-License-Identifier: Apache-2.0 */
/* weft machine and weft score as users type them. */
#include "cmd/machine_file.h"

#include <stdio.h>
#include <string.h>

#include "cmd/run.h"
#include "skip.h"

static void list_has_every_preset(void **state)
{
    json_t *j = weft_json("machine list --json");
    assert_int_equal(json_array_size(j), weft_machine_preset_count());
    for (int i = 0; i < weft_machine_preset_count(); i++)
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(j, (size_t)i), "name")),
            weft_machine_preset_at(i)->name);
    json_decref(j);
}

static void show_prints_facts_links_and_constants(void **state)
{
    result r = weft("machine show h100:8x8");
    static const char *const words[] = {"989 TFLOP/s dense", "80 GB (74.5058 GiB)",
                                        "NVLink4", "gemm_efficiency", "overlap_tax"};
    for (int i = 0; i < 5; i++)
        assert_non_null(strstr(r.out, words[i]));
    done(&r);
}

/* No tile, no outputs of one; no message of copies is faster than memory. */
static void show_says_what_units_and_messages_are(void **state)
{
    static const char file[] =
        "{\"memory\":\"8GB\",\"memory_bandwidth\":\"50GB/s\",\"bf16\":\"1TFLOP/s\","
        "\"ranks_per_node\":2,\"units\":3,\"tile_m\":%d,\"tile_n\":%d,\"tiers\":[{"
        "\"name\":\"x\",\"bandwidth\":1e9,\"p2p_bandwidth\":\"%s\"}]}";
    char text[400];

    snprintf(text, sizeof text, file, 0, 0, "4564GB/s");
    write_text("m.json", text);
    result r = weft("machine show m.json");
    assert_null(strstr(r.out, "outputs"));
    assert_non_null(strstr(r.out, "  units                    3\n"));
    assert_non_null(strstr(r.out, "hand-over (no copy), above the rate of memory\n"));
    done(&r);
    snprintf(text, sizeof text, file, 16, 32, "49GB/s");
    write_text("m.json", text);
    r = weft("machine show m.json");
    assert_non_null(strstr(r.out, "3 of 16 x 32 outputs"));
    assert_null(strstr(r.out, "hand-over"));
    done(&r);
}

static void a_machine_file_reads_back_as_it_was_written(void **state)
{
    for (int i = 0; i < weft_machine_preset_count(); i++) {
        weft_machine m = *weft_machine_preset_at(i), back;
        weft_text text = {0}, again = {0};
        m.n_gemms = 1;
        m.gemm[0] = (weft_gemm_point){WEFT_MATH_F32, 64, 128, 256, 1.5e11};
        m.tier[0].measured[WEFT_COLL_ALL_TO_ALL] = (weft_alpha_beta){1e-6, 2.5e9};
        weft_writer out = weft_text_writer(&text);
        weft_machine_write_json(&m, &out);
        assert_int_equal(wf_machine_parse_file("m", text.s, strlen(text.s), &back),
                         WEFT_OK);
        out = weft_text_writer(&again);
        weft_machine_write_json(&back, &out);
        assert_string_equal(text.s, again.s);
        weft_text_clear(&text);
        weft_text_clear(&again);
    }
}

static void a_wrong_machine_file_names_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"[]", "one JSON object"},
        {"\xef\xbb\xbf{\"memory\":1}", "m.json begins with a byte order mark"},
        {"{\"memory\":", "line 1"},
        {"{\"memry\":1}", "did you mean memory?"},
        {"{\"memory\":null}", "memory: a number, a word"},
        {"{\"memory\":\"80GB\",\"bf16\":1e12,\"tiers\":[]}", "1 .. 4 links"},
        {"{\"memory\":\"80GB\",\"bf16\":1e12,\"tiers\":[{\"bandwith\":1}]}",
         "tiers[0]: "},
        {"{\"memory\":\"80GB\",\"bf16\":1e12,\"tiers\":[{\"bandwidth\":1e9}],\"gemms\":"
         "[{\"math\":\"bf16\",\"m\":1}]}",
         "gemms[0]"},
        {"{\"memory\":\"80GB\",\"tiers\":[{\"bandwidth\":1e9}]}", "has no peak"},
        {"{\"bf16\":1e12,\"tiers\":[{\"bandwidth\":1e9}]}", "has no memory"},
        {"{\"memory\":\"80GB\",\"bf16\":1e12,\"tiers\":[{\"bandwidth\":1e9}]}",
         "memory_bandwidth is 0"},
        {"{\"memory\":\"80GB\",\"memory_bandwidth\":0,\"bf16\":1e12,\"tiers\":[{"
         "\"bandwidth\":1e9}]}",
         "memory_bandwidth is 0"},
        {"{\"memory\":\"80GB\",\"memory_bandwidth\":1e12,\"bf16\":1e12,\"ranks_per_"
         "node\":2,\"tiers\":[{\"bandwidth\":0}]}",
         "bandwidth 0 is below 1"},
        {"{\"memory\":\"80GB\",\"memory_bandwidth\":1e12,\"bf16\":0,\"tiers\":[{"
         "\"bandwidth\":1e9}]}",
         "has no peak"},
        {"{\"memory\":1,\"memory\":2}", "duplicate"},
        {"{\"memory\":\"80GB\",\"bf16\":1e12,\"nodes\":0,\"tiers\":[{\"bandwidth\":1}]"
         "}",
         "nodes 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_machine m;
        if (!wf_machine_parse_file("m.json", bad[i].text, strlen(bad[i].text), &m))
            fail_msg("%s: accepted", bad[i].text);
        if (!strstr(weft_status_message(), bad[i].words))
            fail_msg("%s: '%s' lacks '%s'", bad[i].text, weft_status_message(),
                     bad[i].words);
        assert_non_null(strstr(weft_status_message(), "m"));
    }
}

static void changes_follow_a_file_too(void **state)
{
    write_text("m.json", "{\"memory\":\"8GB\",\"memory_bandwidth\":\"50GB/s\","
                         "\"bf16\":\"1TFLOP/s\",\"nodes\":2,"
                         "\"ranks_per_node\":1,\"tiers\":[{\"bandwidth\":\"1GB/s\"}]}");
    json_t *j = weft_json("machine show m.json,memory=16GB --json");
    assert_true(number(j, "memory") == 16e9);
    json_decref(j);
    refuses(2, "field=value is needed", "machine show m.json,memory");
}

static void usage_is_told(void **state)
{
    refuses(2, "nearest is h100", "machine show h10");
    refuses(2, "one MACHINE is needed", "machine show");
    refuses(2, "\"sho\" is no action; list, show", "machine sho");
    refuses(2, "did you mean show?", "machine sho");
    refuses(2, "an action is missing: list, show", "machine");
    refuses(2, "one file of runs is needed", "score");
    refuses(2, "no-such.csv", "score no-such.csv");
}

static void score_has_the_promised_shape(void **state)
{
    FILE *f = fopen(WEFT_SHARED_DIR "/published_runs/published_runs.csv", "r");
    if (!f) SKIP_NEEDS("shared", "no table of published runs");
    fclose(f);
    json_t *j =
        weft_json("score " WEFT_SHARED_DIR "/published_runs/published_runs.csv --json");
    json_t *sources = json_object_get(j, "sources"), *all = json_object_get(j, "all");
    assert_true(json_array_size(sources) > 10);
    static const char *const keys[] = {"rows", "step_time_mape", "memory_rows",
                                       "memory_mape", "within_10"};
    for (int k = 0; k < 5; k++)
        assert_true(json_is_number(json_object_get(all, keys[k])));
    json_t *group = json_array_get(json_object_get(j, "groups"), 0);
    assert_true(json_is_string(json_object_get(group, "group")));
    assert_true(json_is_number(json_object_get(group, "pair_agreement")));
    assert_true(json_is_number(json_object_get(group, "regret")));
    json_t *skipped = json_array_get(json_object_get(j, "skipped"), 0);
    assert_true(json_is_string(json_object_get(skipped, "reason")));
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_has_every_preset),
        cmocka_unit_test(show_prints_facts_links_and_constants),
        cmocka_unit_test(show_says_what_units_and_messages_are),
        cmocka_unit_test(a_machine_file_reads_back_as_it_was_written),
        cmocka_unit_test(a_wrong_machine_file_names_what_is_wrong),
        cmocka_unit_test(changes_follow_a_file_too),
        cmocka_unit_test(usage_is_told),
        cmocka_unit_test(score_has_the_promised_shape),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
