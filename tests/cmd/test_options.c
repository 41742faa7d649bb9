/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cmd/test_cmd.h"

static void help_and_version_go_to_stdout_with_status_0(void **state)
{
    static const char *const words[] = {"--help",         "--version",       "help",
                                        "help schedule",  "schedule --help", "mesh -h",
                                        "compare --help", "doctor --help"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        result r = weft("%s", words[i]);
        assert_int_equal(r.rc, 0);
        assert_true(strlen(r.out) > 5);
        assert_string_equal(r.err, "");
        if (i >= 3) assert_non_null(strstr(r.out, "Examples"));
        if (i >= 3) assert_non_null(strstr(r.out, "--config FILE"));
        done(&r);
    }
}

static void no_subcommand_is_bad_usage(void **state)
{
    result r = weft(" ");
    assert_int_equal(r.rc, 2);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "Usage: weft SUBCOMMAND"));
    done(&r);
}

static void unknown_words_name_the_nearest_known_one(void **state)
{
    refuses(2, "did you mean schedule?", "shedule");
    refuses(2, "there is no subcommand 'xyzzy'", "xyzzy");
    refuses(2, "convert is not in this version", "convert");
    refuses(2, "there is no flag --tp", "--tp 2");
    refuses(2, "did you mean --stage-tf?", "schedule 1f1b -p 2 -m 2 --stge-tf 1,1");
    refuses(2, "did you mean --stage-tf?", "schedule 1f1b -p 2 -m 2 --stge-tf=1,1");
    refuses(2, "there is no flag -z", "schedule 1f1b -p 2 -m 2 -z");
    refuses(2, "--ep is not in this version", "mesh --ep 2");
    refuses(2, "--ep is not in this version", "mesh --ep=2");
}

static void values_are_demanded_and_judged(void **state)
{
    refuses(2, "--tp needs a value", "mesh --tp");
    refuses(2, "--tp: 'x'", "mesh --tp x");
    refuses(2, "--tp: 1.5 is not a whole number", "mesh --tp 1.5");
    refuses(2, "--tp: a value is missing", "mesh --tp ''");
    refuses(2, "--svg: a value is missing", "schedule 1f1b -p 2 -m 2 --svg=");
    refuses(2, "--order: a value is missing", "mesh --order ''");
    refuses(2, "--config: a value is missing", "mesh --config=");
    refuses(2, "does not fit 64 bits", "mesh --tp 99999999999999999999999");
    refuses(2, "--tp 4294967296 is beyond 2147483647", "mesh --tp 4294967296");
    refuses(2, "did you mean slot?", "mesh --map-by slt --gpus-per-node 2");
    refuses(2, "is not one of true, false", "mesh --json=perhaps");
    refuses(2, "unexpected word 'extra'", "mesh extra");
}

static int world(const char *words)
{
    json_t *j = weft_json("mesh --json %s", words);
    int n = (int)number(j, "world");
    json_decref(j);
    return n;
}

static void every_spelling_of_a_flag_is_the_flag(void **state)
{
    assert_int_equal(world("--tp 3"), 3);
    assert_int_equal(world("--tp=3"), 3);
    assert_int_equal(world("--tensor-model-parallel-size 3"), 3);
    assert_int_equal(world("--tensor_model_parallel_size=3"), 3);
    assert_int_equal(world("--tp 5 --tp 3"), 3);
    assert_int_equal(world("--tp 5 --tensor-model-parallel-size=3"), 3);
    json_t *j = weft_json("schedule 1f1b -p4 -m 8 --json");
    assert_int_equal(number(j, "p"), 4);
    json_decref(j);
    j = weft_json("schedule --json=yes --pp 4 --m=8 1f1b");
    assert_int_equal(number(j, "m"), 8);
    json_decref(j);
}

static void on_off_flags_can_be_switched_off(void **state)
{
    static const char *const off[] = {"--json --no-json", "--json=0",
                                      "--json --json=false"};
    for (int i = 0; i < 3; i++) {
        result r = weft("mesh --tp 2 %s", off[i]);
        assert_int_equal(r.rc, 0);
        assert_int_equal(strncmp(r.out, "world 2", 7), 0);
        done(&r);
    }
}

static void a_flag_says_how_it_is_switched_off(void **state)
{
    result r = weft("report --help");
    assert_non_null(strstr(r.out, "  --[no-]overlap-dp "));
    assert_null(strstr(r.out, "[no-]sp"));
    done(&r);
    refuses(2, "--overlap-dp=false, or --no-overlap-dp",
            "report llama3-8b --overlap_dp false");
    refuses(2, "--no-json to switch it off", "mesh --tp 2 --json off");
    refuses(2, "unexpected word 'false'", "mesh --tp 2 false");
    r = weft("report llama3-8b -M h100:1x8 --global-batch 8 --seq 1024 "
             "--no-overlap-dp --print-config");
    assert_non_null(strstr(r.out, "\"overlap_dp\":false"));
    done(&r);
}

/* SI as everywhere in weft, and no surprise. */
static void a_sequence_of_thousands_is_told_from_a_power_of_two(void **state)
{
    result r = weft("model gpt2 --seq 1Ki");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "a sequence of 1024"));
    assert_string_equal(r.err, "");
    done(&r);
    r = weft("model gpt2 --seq 1k");
    assert_non_null(strstr(r.out, "a sequence of 1000"));
    assert_string_equal(r.err, "weft model: note: --seq 1k is 1000; 1Ki is 1024\n");
    done(&r);
    r = weft("model gpt2 --seq 1000");
    assert_string_equal(r.err, "");
    done(&r);
}

static void a_run_file_gives_flags_and_the_command_line_overrides_it(void **state)
{
    write_text("run.json",
               "{\"tp\": 4, \"pipeline_model_parallel_size\": \"2\", \"dp\": 3,\n"
               " \"json\": true}");
    json_t *j = weft_json("mesh --config run.json");
    assert_int_equal(number(j, "world"), 24);
    json_decref(j);
    j = weft_json("mesh --dp 1 --config=run.json --tp 1");
    assert_int_equal(number(j, "world"), 2);
    json_decref(j);
    write_text("costs.json",
               "{\"kind\": \"1f1b\", \"p\": 2, \"m\": 2, \"stage_tf\": [1, 1.5]}");
    j = weft_json("schedule --config costs.json --json");
    assert_true(number(j, "makespan") == 1 + 2 * (1.5 + 3) + 2);
    json_decref(j);
}

static void the_printed_configuration_reads_back_to_itself(void **state)
{
    result a =
        weft("schedule interleaved -p 4 -m 8 -v 2 --tf 2ms --tb 4ms --stage-tf 1ms,2ms "
             "--no-ops --svg x.svg --print-config");
    assert_int_equal(a.rc, 0);
    write_text("all.json", a.out);
    result b = weft("schedule interleaved --config all.json --print-config");
    assert_string_equal(a.out, b.out);
    assert_null(read_text("x.svg"));
    done(&a);
    done(&b);
}

/* What was not given stays so: --gpus-per-node 0 or --rank -1 would be refused. */
static void options_that_were_not_given_are_not_in_it(void **state)
{
    result a = weft("mesh --tp 2 --print-config");
    write_text("mesh.json", a.out);
    result b = weft("mesh --config mesh.json --print-config");
    assert_string_equal(a.out, b.out);
    assert_string_equal(b.err, "");
    done(&a);
    done(&b);
    a = weft("mesh --help");
    assert_null(strstr(a.out, "[-1]"));
    done(&a);
}

static void bad_run_files_are_named_with_line_or_key(void **state)
{
    write_text("bad.json", "{\"tp\": 4,\n \"pp\" 2}");
    refuses(2, "bad.json:2:", "mesh --config bad.json");
    write_text("bad.json", "{\"tpp\": 4}");
    refuses(2, "no option \"tpp\"; did you mean \"tp\"?", "mesh --config bad.json");
    write_text("bad.json", "{\"tp\": {\"a\": 1}}");
    refuses(2, "\"tp\" is null, an object or nested", "mesh --config bad.json");
    write_text("bad.json", "{\"tp\": null}");
    refuses(2, "\"tp\" is null", "mesh --config bad.json");
    write_text("bad.json", "{\"tp\": \"two\"}");
    refuses(2, "bad.json: --tp: 'two'", "mesh --config bad.json");
    write_text("bad.json", "{\"tp\": 1, \"tp\": 2}");
    refuses(2, "bad.json:1:", "mesh --config bad.json");
    write_text("bad.json", "\xef\xbb\xbf{\"tp\": 1}");
    refuses(2, "bad.json begins with a byte order mark", "mesh --config bad.json");
    write_text("bad.json", "[1]");
    refuses(2, "one JSON object", "mesh --config bad.json");
    write_text("bad.json", "");
    refuses(2, "bad.json:", "mesh --config bad.json");
    refuses(2, "missing.json cannot be read", "mesh --config missing.json");
}

static void output_that_cannot_be_written_is_a_fault_told_once(void **state)
{
    static const char *const words[] = {"mesh --tp 4", "machine list",
                                        "machine show h100", "machine --help",
                                        "schedule 1f1b -p 2 -m 2 --svg -"};
    for (int i = 0; i < 5; i++) {
        result r = weft("%s 2>full.err >/dev/full; echo $? >rc; true", words[i]);
        char *rc = read_text("rc"), *err = read_text("full.err");
        assert_string_equal(rc, "3\n");
        assert_non_null(strstr(err, "No space left on device"));
        assert_ptr_equal(strchr(err, '\n'), err + strlen(err) - 1);
        free(rc);
        free(err);
        done(&r);
    }
}

/* A file that takes no more is a fault wherever it is; one that cannot be opened is input,
 * and is told before there is work for it. */
static void a_full_disk_and_a_bad_path_are_told_apart(void **state)
{
    refuses(3, "/dev/full cannot be written",
            "schedule 1f1b -p 2 -m 2 --svg /dev/full");
    refuses(3, "/dev/full cannot be written",
            "schedule compare 1f1b zb-h1 -p 2 -m 2 --svg /dev/full");
    refuses(2, "no/x.svg cannot be written: No such file",
            "schedule 1f1b -p 99999 -m 2 --svg no/x.svg");
    refuses(2, "no/x.csv cannot be written: No such file",
            "schedule check nofile --csv no/x.csv");
    refuses(2, ". cannot be written: Is a directory",
            "schedule 1f1b -p 2 -m 2 --csv .");
    assert_null(read_text("x.svg"));
}

const struct CMUnitTest option_tests[] = {
    cmocka_unit_test(help_and_version_go_to_stdout_with_status_0),
    cmocka_unit_test(no_subcommand_is_bad_usage),
    cmocka_unit_test(unknown_words_name_the_nearest_known_one),
    cmocka_unit_test(values_are_demanded_and_judged),
    cmocka_unit_test(every_spelling_of_a_flag_is_the_flag),
    cmocka_unit_test(on_off_flags_can_be_switched_off),
    cmocka_unit_test(a_flag_says_how_it_is_switched_off),
    cmocka_unit_test(a_sequence_of_thousands_is_told_from_a_power_of_two),
    cmocka_unit_test(a_run_file_gives_flags_and_the_command_line_overrides_it),
    cmocka_unit_test(the_printed_configuration_reads_back_to_itself),
    cmocka_unit_test(options_that_were_not_given_are_not_in_it),
    cmocka_unit_test(bad_run_files_are_named_with_line_or_key),
    cmocka_unit_test(output_that_cannot_be_written_is_a_fault_told_once),
    cmocka_unit_test(a_full_disk_and_a_bad_path_are_told_apart),
};
const int n_option_tests = sizeof option_tests / sizeof *option_tests;
