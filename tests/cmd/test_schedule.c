/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/test_cmd.h"

/* Rows of lessons/numbers.csv that schedule answers: id, words, makespan, bubble of total,
 * peak on rank 0. */
static void lesson_rows_come_out_of_the_command(void **state)
{
    static const struct {
        const char *id, *words;
        double makespan, bubble;
        int peak;
    } row[] = {{"L01", "gpipe -p 4 -m 4", 21, 3 / 7.0, 4},
               {"L01", "1f1b -p 4 -m 4", 21, 3 / 7.0, 4},
               {"L09", "1f1b -p 8 -m 24", 93, 7 / 31.0, 8},
               {"L10", "1f1b -p 8 -m 128", 405, 7 / 135.0, 8},
               {"L11", "gpipe -p 8 -m 16", 69, 7 / 23.0, 16},
               {"L19", "gpipe -p 4 -m 12", 45, 9 / 45.0, 12},
               {"L20", "1f1b -p 4 -m 12", 45, 9 / 45.0, 4},
               {"L21", "interleaved -p 4 -m 12 -v 3", 39, 3 / 39.0, 15},
               {"L29", "1f1b -p 8 -m 256", 789, 7 / 263.0, 8},
               {"L34", "1f1b -p 4 -m 128", 393, 3 / 131.0, 4},
               {"L40", "gpipe -p 6 -m 18", 69, 5 / 23.0, 18},
               {"L40", "1f1b -p 6 -m 18", 69, 5 / 23.0, 6},
               {"L40", "interleaved -p 6 -m 18 -v 2", 61.5, 5 / 41.0, 17},
               {"L51", "interleaved -p 4 -m 8 -v 2", 28.5, 9 / 57.0, 11}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        json_t *j = weft_json("schedule %s --json", row[i].words);
        int peak = (int)json_integer_value(
            json_array_get(json_object_get(j, "peak_in_flight"), 0));
        if (number(j, "makespan") != row[i].makespan ||
            fabs(number(j, "bubble_of_total") - row[i].bubble) > 1e-12 ||
            peak != row[i].peak)
            fail_msg("%s %s: makespan %g, bubble %g, peak %d", row[i].id, row[i].words,
                     number(j, "makespan"), number(j, "bubble_of_total"), peak);
        json_decref(j);
    }
}

static void json_has_exactly_the_promised_keys(void **state)
{
    static const char *const keys[] = {"kind",
                                       "p",
                                       "m",
                                       "v",
                                       "group",
                                       "placement",
                                       "makespan",
                                       "span",
                                       "ideal",
                                       "bubble_of_total",
                                       "bubble_of_ideal",
                                       "idle",
                                       "peak_in_flight",
                                       "peak_in_flight_w",
                                       "weight_copies",
                                       "p2p_messages",
                                       "ops"};
    json_t *j = weft_json("schedule 1f1b -p 2 -m 3 --json --ops");
    assert_int_equal(json_object_size(j), 17);
    for (int i = 0; i < 17; i++)
        assert_non_null(json_object_get(j, keys[i]));
    const json_t *rank1 = json_array_get(json_object_get(j, "ops"), 1);
    assert_string_equal(json_string_value(json_array_get(rank1, 1)), "B0.0");
    assert_true(number(j, "bubble_of_ideal") ==
                number(j, "makespan") / number(j, "ideal") - 1);
    json_decref(j);
    j = weft_json("schedule 1f1b -p 2 -m 3 --json");
    assert_int_equal(json_object_size(j), 16);
    json_decref(j);
}

static void costs_are_of_a_full_stage_or_of_one_op(void **state)
{
    static const struct {
        const char *words;
        double makespan;
    } row[] = {
        {"1f1b -p 4 -m 8 --tf 2 --tb 3", 11 * 5},
        {"interleaved -p 4 -m 4 -v 2 --tf 2 --tb 4", (4 + 1.5) * 6},
        {"interleaved -p 4 -m 4 -v 2 --tf 2 --tb 4 --per-op", 2 * (4 + 1.5) * 6},
        {"gpipe -p 4 -m 4 --tf 1ms --tb 2ms", 0.021},
        {"1f1b -p 4 -m 8 --tf 1 --ti 2 --tw 3", 11 * 6},
        {"gpipe -p 3 -m 2 --tf 1 --tb 2 --latency 0.25", 4 * 3 + 4 * 0.25},
        {"gpipe -p 2 -m 2 --stage-tf 1,2 --stage-tb 2,4", 1 + 2 * 2 + 2 * 4 + 2},
        {"gpipe -p 2 -m 2 --stage-tf 1,2", 1 + 2 * 2 + 2 * 4 + 2},
        {"gpipe -p 2 -m 2 --stage-tb 2,4", 1 + 2 * 2 + 2 * 4 + 2},
        {"interleaved -p 2 -m 2 -v 2 --stage-tf 1,1", (2 + 0.5) * 3},
        {"interleaved -p 2 -m 2 -v 2 --stage-tf 0.5,0.5,0.5,0.5", (2 + 0.5) * 3}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        json_t *j = weft_json("schedule %s --json", row[i].words);
        if (fabs(number(j, "makespan") - row[i].makespan) > 1e-12)
            fail_msg("%s: %.17g, not %.17g", row[i].words, number(j, "makespan"),
                     row[i].makespan);
        json_decref(j);
    }
}

static void bad_costs_are_refused_in_words(void **state)
{
    refuses(2, "--tf: nan is not finite", "schedule 1f1b -p 2 -m 2 --tf nan");
    refuses(2, "--tb -1: a time is at least 0", "schedule 1f1b -p 2 -m 2 --tb -1");
    refuses(2, "--tf has a unit of time and --tb has none",
            "schedule 1f1b -p 2 -m 2 --tf 2ms --tb 3");
    refuses(2, "3 times per stage, 2 are needed",
            "schedule 1f1b -p 2 -m 2 --stage-tf 1,2,3");
    refuses(2, "--stage-tb has 1 times, another list has 2",
            "schedule 1f1b -p 2 -m 2 --stage-tf 1,2 --stage-tb 1");
    refuses(2, "--stage-tf: a value is missing",
            "schedule 1f1b -p 2 -m 2 --stage-tf 1,");
    refuses(2, "need --stage-tf", "schedule 1f1b -p 2 -m 2 --stage-ti 1,1");
}

/* JSON has no infinity: what would come out as null is not taken in. */
static void costs_whose_sums_overflow_are_refused(void **state)
{
    refuses(2, "--tf 1e308: 0 or 1e-60 .. 1e+60 is needed",
            "schedule 1f1b -p 4 -m 4 --json --tf 1e308 --tb 1e308");
    refuses(2, "--stage-tb 1e61", "schedule 1f1b -p 2 -m 4 --stage-tb 1,1e61");
    refuses(2, "--latency 1e-200", "schedule 1f1b -p 2 -m 4 --latency 1e-200");
    refuses(2, "--message-bytes 1e200",
            "schedule 1f1b -p 2 -m 4 --bandwidth 1 --message-bytes 1e200");
    refuses(2, "--bandwidth 1e-200",
            "schedule 1f1b -p 2 -m 4 --bandwidth 1e-200 --message-bytes 1");
    json_t *j = weft_json("schedule 1f1b -p 4 -m 4 --json --stage-tf "
                          "1e60,1e60,1e60,1e60 --tf 1e-60 --tb 1e60 --latency 1e60");
    assert_true(number(j, "makespan") > 1e60);
    json_decref(j);
}

static void shapes_that_cannot_be_are_refused_with_flag_and_number(void **state)
{
    refuses(2, "needs -p (ranks) and -m", "schedule 1f1b -p 4");
    refuses(2, "-p 0", "schedule 1f1b -p 0 -m 4");
    refuses(2, "-p 4097", "schedule 1f1b -p 4097 -m 4");
    refuses(2, "-m 0", "schedule 1f1b -p 4 -m 0");
    refuses(2, "-v 2", "schedule 1f1b -p 4 -m 4 -v 2");
    refuses(2, "did you mean 1f1b?", "schedule 1f1d -p 4 -m 4");
    refuses(2, "a kind is missing", "schedule");
    refuses(2, "--placement v: 1f1b has its own",
            "schedule 1f1b -p 4 -m 4 --placement v");
    refuses(2, "--placement single: zb-v has its own, v",
            "schedule zb-v -p 4 -m 4 --placement single");
    refuses(2, "--placement loop: zb-auto knows single and v",
            "schedule zb-auto -p 4 -m 4 -v 2 --placement loop");
    refuses(2, "--mem-limit 4: the order of 1f1b is fixed",
            "schedule 1f1b -p 4 -m 4 --mem-limit 4");
    refuses(2, "--mem-limit 1: zb-auto needs room for 2 forwards of a full stage",
            "schedule zb-auto -p 4 -m 8 --placement v --mem-limit 1");
    refuses(2, "--stage-tf: zb-auto is made for equal stages",
            "schedule zb-auto -p 2 -m 4 --stage-tf 1,2");
}

static void list_names_every_kind(void **state)
{
    json_t *j = weft_json("schedule list --json");
    result r = weft("schedule list");
    assert_true(json_array_size(j) >= 4);
    for (size_t i = 0; i < json_array_size(j); i++) {
        const char *name =
            json_string_value(json_object_get(json_array_get(j, i), "name"));
        assert_non_null(strstr(r.out, name));
    }
    done(&r);
    json_decref(j);
}

static void a_written_schedule_checks_and_simulates_to_the_same(void **state)
{
    static const char *const shape[] = {"gpipe -p 4 -m 6", "1f1b -p 3 -m 7",
                                        "interleaved -p 2 -m 4 -v 3"};
    static const char *const place[] = {"single", "single", "loop"};
    for (int i = 0; i < 3; i++) {
        json_t *a = weft_json("schedule %s --json --csv s.csv", shape[i]);
        result ops = weft("schedule %s --ops", shape[i]);
        write_text("s.txt", ops.out);
        done(&ops);
        for (int k = 0; k < 2; k++) {
            json_t *b = weft_json("schedule sim %s --placement %s --json",
                                  k ? "s.csv" : "s.txt", place[i]);
            json_t *c = weft_json("schedule check %s --placement %s --json",
                                  k ? "s.csv" : "s.txt", place[i]);
            assert_true(json_is_true(json_object_get(c, "ok")));
            assert_true(number(a, "makespan") == number(b, "makespan"));
            assert_true(json_equal(json_object_get(a, "peak_in_flight"),
                                   json_object_get(b, "peak_in_flight")));
            assert_true(number(a, "p2p_messages") == number(c, "p2p_messages"));
            json_decref(b);
            json_decref(c);
        }
        json_decref(a);
    }
}

static void a_broken_schedule_is_status_1_and_a_broken_file_status_2(void **state)
{
    write_text("dead.txt", "B0.0 F0.0\nF0.0 B0.0\n");
    refuses(1, "rank 0", "schedule check dead.txt");
    result r = weft("schedule check dead.txt --json");
    assert_int_equal(r.rc, 1);
    json_t *j = json_loads(r.out, 0, NULL);
    assert_true(json_is_false(json_object_get(j, "ok")));
    assert_true(json_is_string(json_object_get(j, "error")));
    json_decref(j);
    done(&r);
    refuses(1, "rank 0", "schedule sim dead.txt");
    write_text("empty.txt", "");
    refuses(2, "empty.txt:", "schedule check empty.txt");
    write_text("binary.txt", "\x7f\x45\x4c\x46\x02\xff\xfe\x01");
    refuses(2, "binary.txt: line 1 column 1", "schedule check binary.txt");
    refuses(2, "cannot be read", "schedule check nowhere.txt");
    refuses(2, "needs a FILE", "schedule check");
    refuses(2, "come from the file", "schedule check dead.txt -p 2");
}

static void what_a_form_does_not_look_at_is_refused(void **state)
{
    write_text("small.txt", "F0.0 B0.0\nF0.0 B0.0\n");
    refuses(2,
            "--svg: check draws and writes nothing; weft schedule sim small.txt does",
            "schedule check small.txt --svg x.svg");
    refuses(2, "--tf: check looks at the order only",
            "schedule check small.txt --tf 2");
    refuses(2, "two kinds: 1f1b and --kind gpipe",
            "schedule 1f1b --kind gpipe -p 2 -m 2 --summary");
    refuses(2, "list takes no word, found 'extra'", "schedule list extra");
    refuses(2, "100000000 forwards, and this command takes at most 67108864",
            "schedule 1f1b -p 1000 -m 100000 --summary");
    refuses(2, "-m 67108 is the most", "schedule 1f1b -p 1000 -m 100000 --summary");
}

static void the_placement_under_which_a_file_runs_is_named(void **state)
{
    static const char *const made[][3] = {{"interleaved", "-v 2", "loop"},
                                          {"zb-v", "", "v"},
                                          {"dualpipe", "", "bidir"},
                                          {"bitpipe", "", "bidirv"}};
    for (int i = 0; i < 4; i++) {
        result r = weft("schedule %s -p 4 -m 8 %s --csv order.csv --summary",
                        made[i][0], made[i][1]);
        assert_int_equal(r.rc, 0);
        done(&r);
        char part[64];
        snprintf(part, sizeof part, "; under --placement %s it runs\n", made[i][2]);
        refuses(2, part, "schedule check order.csv");
        refuses(2, part, "schedule sim order.csv --summary");
    }
}

static double pair_makespan(const char *flags)
{
    json_t *j = weft_json("schedule sim pair.txt --json %s", flags);
    double t = number(j, "makespan");
    json_decref(j);
    return t;
}

static void a_pair_runs_one_by_one_or_as_a_block_of_any_length(void **state)
{
    write_text("pair.txt", "F0.0 F1.0& B0.0 B1.0\n");
    assert_true(pair_makespan("") == 6);
    assert_true(pair_makespan("--overlap atomic") == 6);
    assert_true(pair_makespan("--overlap-cost 2.5") == 5.5);
    assert_true(pair_makespan("--overlap atomic --overlap-cost 2") == 5);
    assert_true(pair_makespan("--overlap serial --overlap-cost 2") == 5);
    assert_true(pair_makespan("--overlap-cost 4") == 7);
    refuses(2, "--overlap-cost has 2 items, one or 1 (a rank each) are needed",
            "schedule sim pair.txt --overlap-cost 2,3");
    refuses(2, "--overlap-cost 0: a pair takes some time",
            "schedule sim pair.txt --overlap-cost 0");
    refuses(2, "--overlap-cost has a unit of time and --tf has none",
            "schedule sim pair.txt --overlap-cost 2ms");
    /* of a full stage, as the other times are: DualPipe of the golden README */
    json_t *j = weft_json("schedule dualpipe -p 4 -m 8 --tf 5 --ti 6 --tw 4 --json "
                          "--overlap atomic");
    assert_true(number(j, "makespan") == 8 * 15 + 12);
    assert_true(number(j, "weight_copies") == 2);
    json_decref(j);
}

/* Times and limit of the recorded search; the same by stage, by op, and with a unit. */
static void zb_auto_is_made_for_the_times_and_the_memory_given(void **state)
{
    static const struct {
        const char *words;
        double makespan;
    } row[] = {{"-m 8 --tf 5 --ti 6 --tw 4 --mem-limit 8", 135},
               {"-m 8 --tf 5 --ti 6 --tw 4 --mem-limit 4", 141},
               {"-m 8 --tf 5ms --ti 6ms --tw 4ms --mem-limit 8", 0.135},
               {"-m 7 --placement v --per-op --tf 5 --ti 6 --tw 4", 228},
               {"-m 7 --placement v --tf 10 --ti 12 --tw 8", 228}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        json_t *j = weft_json("schedule zb-auto -p 4 %s --json", row[i].words);
        assert_true(number(j, "makespan") <= row[i].makespan * (1 + 1e-12));
        json_decref(j);
    }
    json_t *j = weft_json("schedule zb-auto -p 4 -m 8 --placement v --json");
    assert_true(number(j, "v") == 2);
    assert_string_equal(json_string_value(json_object_get(j, "placement")), "v");
    json_decref(j);
}

/* As a layout has it: a V with several chunks, a loop where their number is odd. */
static void chunks_that_nobody_placed_lie_as_in_a_layout(void **state)
{
    static const char *const row[][2] = {
        {"zb-auto -p 2 -m 4", "single"},
        {"zb-auto -p 2 -m 4 -v 2", "v"},
        {"optimal -p 2 -m 4 -v 2", "v"},
        {"optimal -p 2 -m 4 -v 3", "loop"},
        {"optimal -p 2 -m 4 -v 4", "v"},
        {"zb-v -p 2 -m 4 --placement v", "v"},
        {"optimal -p 2 -m 4 -v 2 --placement loop", "loop"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        json_t *j = weft_json("schedule %s --json", row[i][0]);
        assert_string_equal(json_string_value(json_object_get(j, "placement")),
                            row[i][1]);
        json_decref(j);
    }
}

static void optimal_stands_beside_its_lower_bound(void **state)
{
    static const struct {
        const char *words;
        double makespan;
    } row[] = {
        {"-p 3 -m 4 --stage-tf 1,1,2 --stage-ti 1,1,2 --stage-tw 1,1,2", 26},
        {"-p 4 -m 16 --placement v", 49.5},
        {"-p 2 -m 6 --tf 1ms --ti 1ms --tw 1ms --latency 0s", 0.019},
        {"-p 1 -m 3 --mem-limit 6GiB --stage-free-i 4GiB --stage-free-w 2GiB", 9},
        {"-p 2 -m 4 --mem-limit 2,1", 14},
        {"-p 2 -m 4 --mem-limit 20,10 --stage-free-i 5 --stage-free-w 5", 14}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        json_t *j = weft_json("schedule optimal %s --json", row[i].words);
        assert_true(number(j, "makespan") <= row[i].makespan * (1 + 1e-9));
        assert_true(number(j, "lower_bound") >= row[i].makespan * (1 - 1e-9));
        json_decref(j);
    }
    refuses(2, "--mem-limit 5e+09: one micro-batch needs 6e+09 on rank 0",
            "schedule optimal -p 2 -m 3 --mem-limit 5GB --stage-free-i 6GB");
    refuses(2, "--mem-limit has 2 items, one or 3 (a rank each) are needed",
            "schedule optimal -p 3 -m 3 --mem-limit 5,4");
    refuses(2, "--overlap atomic: optimal makes no pairs of ops",
            "schedule optimal -p 2 -m 3 --overlap atomic");
    refuses(2, "--overlap-cost 2: optimal makes no pairs of ops",
            "schedule optimal -p 2 -m 3 --overlap-cost 2");
    refuses(2, "--mem-limit 5GB: optimal keeps a limit in bytes of what I and W free",
            "schedule optimal -p 2 -m 3 --mem-limit 5GB --stage-temp-f 1GB");
}

static void files_appear_whole_or_not_at_all(void **state)
{
    write_text("keep.svg", "old");
    refuses(2, "not-there/x.svg cannot be written",
            "schedule 1f1b -p 2 -m 2 --summary --svg not-there/x.svg");
    refuses(3, "/dev/full cannot be written",
            "schedule 1f1b -p 2 -m 2 --svg /dev/full");
    refuses(2, "-v 2", "schedule 1f1b -p 2 -m 2 -v 2 --svg keep.svg");
    char *text = read_text("keep.svg");
    assert_string_equal(text, "old");
    free(text);
    result r = weft("schedule 1f1b -p 2 -m 2 --summary --svg keep.svg");
    assert_int_equal(r.rc, 0);
    done(&r);
    assert_int_equal(system("test \"$(ls -a | grep -c svg)\" = 1"),
                     0); /* no temporary one */
    text = read_text("keep.svg");
    assert_int_equal(strncmp(text, "<svg ", 5), 0);
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    free(text);
}

static void two_outputs_do_not_share_a_place(void **state)
{
    static const char *const kind[] = {"1f1b", "compare 1f1b gpipe"};
    refuses(2, "--svg and --trace are both written to x",
            "schedule 1f1b -p 2 -m 2 --svg x --trace x");
    refuses(2, "--trace and --csv are both written to -",
            "schedule 1f1b -p 2 -m 2 --trace - --csv -");
    for (int i = 0; i < 2; i++)
        refuses(2, "--svg -: the standard output has the JSON of --json",
                "schedule %s -p 2 -m 2 --svg - --json", kind[i]);
    assert_null(read_text("x"));
}

/* On a terminal; a launcher's tells nothing. */
static void colours_are_for_terminals(void **state)
{
    static const char draws[] =
        "--version; env -u NO_COLOR TERM=xterm %s "
        "script -qec '" WEFT_PROGRAM " schedule 1f1b -p 2 -m 2' /dev/null";
    result r = weft("--version; script -qec true /dev/null");
    int terminal = r.rc == 0; /* script(1) makes one, where there are any */
    done(&r);
    if (terminal) {
        r = weft(draws, "");
        assert_non_null(strchr(r.out, '\033'));
        done(&r);
        r = weft(draws, "OMPI_COMM_WORLD_RANK=0");
        assert_null(strchr(r.out, '\033'));
        done(&r);
    }
    r = weft("--version; env -u NO_COLOR CLICOLOR_FORCE=1 "
             "OMPI_COMM_WORLD_RANK=0 " WEFT_PROGRAM " schedule 1f1b -p 2 -m 2");
    assert_non_null(strchr(r.out, '\033'));
    done(&r);
    r = weft("--version; CLICOLOR_FORCE=1 " WEFT_PROGRAM " schedule 1f1b -p 2 -m 2");
    assert_null(strchr(r.out, '\033')); /* NO_COLOR is above it */
    done(&r);
}

static void the_timeline_is_drawn_with_and_without_unicode(void **state)
{
    result r = weft("schedule 1f1b -p 2 -m 2");
    assert_non_null(strstr(r.out, "rank 1 │···F0 B0─── F1 B1─── ······│"));
    done(&r);
    r = weft("schedule 1f1b -p 2 -m 2 --ascii");
    assert_non_null(strstr(r.out, "rank 1 |...F0 B0--- F1 B1--- ......|"));
    assert_null(strchr(r.out, '\033'));
    done(&r);
}

const struct CMUnitTest schedule_tests[] = {
    cmocka_unit_test(lesson_rows_come_out_of_the_command),
    cmocka_unit_test(json_has_exactly_the_promised_keys),
    cmocka_unit_test(costs_are_of_a_full_stage_or_of_one_op),
    cmocka_unit_test(bad_costs_are_refused_in_words),
    cmocka_unit_test(costs_whose_sums_overflow_are_refused),
    cmocka_unit_test(shapes_that_cannot_be_are_refused_with_flag_and_number),
    cmocka_unit_test(list_names_every_kind),
    cmocka_unit_test(a_written_schedule_checks_and_simulates_to_the_same),
    cmocka_unit_test(what_a_form_does_not_look_at_is_refused),
    cmocka_unit_test(the_placement_under_which_a_file_runs_is_named),
    cmocka_unit_test(chunks_that_nobody_placed_lie_as_in_a_layout),
    cmocka_unit_test(a_broken_schedule_is_status_1_and_a_broken_file_status_2),
    cmocka_unit_test(a_pair_runs_one_by_one_or_as_a_block_of_any_length),
    cmocka_unit_test(zb_auto_is_made_for_the_times_and_the_memory_given),
    cmocka_unit_test(optimal_stands_beside_its_lower_bound),
    cmocka_unit_test(files_appear_whole_or_not_at_all),
    cmocka_unit_test(two_outputs_do_not_share_a_place),
    cmocka_unit_test(colours_are_for_terminals),
    cmocka_unit_test(the_timeline_is_drawn_with_and_without_unicode),
};
const int n_schedule_tests = sizeof schedule_tests / sizeof *schedule_tests;
