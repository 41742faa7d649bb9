/* SPDX-License-Identifier: Apache-2.0 */
/* What weft train says before, beside and after its steps; the steps themselves are tested
 * in tests/train. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/test_cmd.h"
#include "cmd/trace_file.h"

#define SMALL                                                                          \
    "train --comm loop --model layers=2,hidden=16,heads=2,vocab=256,positions=16 "     \
    "--threads 1 "

static void write_book(void)
{
    char text[2048];
    for (int i = 0; i < (int)sizeof text - 1; i++)
        text[i] = "A sentence of words. "[i % 21];
    text[sizeof text - 1] = 0;
    write_text("book.txt", text);
}

static void accepts(const char *part, const char *words)
{
    result r = weft("%s", words);
    if (r.rc) fail_msg("weft %s: status %d: %s", words, r.rc, r.err);
    if (!strstr(r.out, part)) fail_msg("weft %s: no \"%s\" in %s", words, part, r.out);
    done(&r);
}

/* A plan is for machines that are not this one. */
static void a_dry_run_asks_nothing_of_this_machine(void **state)
{
    accepts("dp=1024", "train --comm loop --model gpt2-xl --dp 1024 --dry-run");
    accepts("layers 0 4 8 ", "train --comm loop --model gpt2 --pp 4 --vpp 3 --dry-run "
                             "--schedule interleaved");
    write_book();
    refuses(2, "this machine has",
            "train --comm loop --model gpt2-xl --dp 1024 --data book.txt");
    refuses(2, "GB: a smaller model, or more machines",
            "train --comm loop --model layers=1000,hidden=65536,heads=1,vocab=256 "
            "--data book.txt");
}

#define PIPEDREAM                                                                      \
    "train --comm loop --schedule pipedream --pp 2 --dry-run --model "                 \
    "layers=2,hidden=16,heads=2,vocab=256,positions=16"

static void what_does_not_run_is_said_before_anything_is_made(void **state)
{
    refuses(2, "--clip-grad 1: under --schedule pipedream", PIPEDREAM ",tied=0");
    refuses(2, "--clip-grad 0 is needed", PIPEDREAM ",tied=0");
    refuses(2, "add tied=0 to --model", PIPEDREAM " --clip-grad 0");
    refuses(2, "cannot share one", "verify --comm loop --pp 2 --schedule pipedream");
    accepts("pp 1", PIPEDREAM ",tied=0 --clip-grad 0");
    refuses(2, "--clip-grad 1: under --schedule pipedream",
            "verify --comm loop --all-layouts 2 --kinds 1f1b,pipedream --clip-grad 1");
    refuses(2, "--tp is for one layout", "verify --comm loop --all-layouts 2 --tp 2");
    refuses(2, "--covering is for a walk", "verify --comm loop --covering");
    refuses(2, "--steps does not go with it", "verify --comm loop --exact --steps 2");
    result r = weft("verify --exact --print-config");
    write_text("exact.json", r.out);
    done(&r);
    r = weft("verify --comm loop --config exact.json");
    assert_int_equal(r.rc, 0);
    done(&r);
}

/* A preset's units are no threads. */
static void a_preset_was_not_measured_with_threads(void **state)
{
    result r = weft("train --comm loop --dry-run --threads 1 --machine h100:1x1");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "on machine h100: a step of "));
    assert_string_equal(r.err, "");
    done(&r);
}

static void a_proof_says_first_whether_it_holds(void **state)
{
    static const char small[] = "layers=4,hidden=4,heads=2,vocab=5,positions=4";
    result r = weft("verify --comm loop --model %s --pp 2 --vpp 2 --schedule optimal "
                    "--placement loop",
                    small);
    assert_int_equal(r.rc, 0);
    assert_ptr_equal(strstr(r.out, "tp=1 pp=2 dp=1 vpp=2 optimal placement=loop m=4: "
                                   "equal to the unsplit run; largest difference "),
                     r.out);
    assert_non_null(strstr(r.out, "\n\ntensor "));
    done(&r);
    r = weft("verify --comm loop --model %s --pp 2 --dtype f32 --tolerance 1e-300",
             small);
    assert_int_equal(r.rc, 1);
    assert_ptr_equal(strstr(r.out, "tp=1 pp=2 dp=1 vpp=1 1f1b m=4: DIFFERS from"),
                     r.out);
    done(&r);
}

static void the_json_of_a_proof_is_json(void **state)
{
    static const char *const one[] = {"--tp 2", "--pp 2 --exact",
                                      "--dp 2 --micro-batch 2"};
    for (int i = 0; i < 3; i++) {
        json_t *j = weft_json("verify --comm loop --quiet --json %s", one[i]);
        const json_t *layout = json_object_get(j, "layout");
        assert_true(
            number(layout, "tp") * number(layout, "pp") * number(layout, "dp") == 2);
        assert_true(json_is_true(json_object_get(j, "equal")));
        assert_true(json_array_size(json_object_get(j, "tensors")) > 10);
        json_decref(j);
    }
    json_t *j = weft_json("verify --comm loop --quiet --json --all-layouts 2 "
                          "--max-micro 2 --model "
                          "layers=2,hidden=4,heads=2,vocab=5,positions=4");
    assert_true(number(j, "cases") > 2 && number(j, "cases") == number(j, "equal"));
    assert_true(json_is_number(json_object_get(j, "worst")));
    json_decref(j);
}

static void what_would_be_written_is_tried_first(void **state)
{
    write_book();
    refuses(2, "--trace book.txt: cannot write there: Not a directory",
            SMALL "--data book.txt --trace book.txt");
    refuses(2, "--trace no/where: cannot write there",
            SMALL "--data book.txt --trace no/where");
    refuses(2, "--compare: --train-iters 1: at least 2",
            SMALL "--data book.txt --train-iters 1 --compare");
    refuses(2, "--trace no/where: cannot write there: No such file",
            SMALL "--data no-book.txt --trace no/where");
    refuses(2, "--log no/where.jsonl: cannot open: No such file",
            SMALL "--data no-book.txt --log no/where.jsonl");
    refuses(2, "--trace: --train-iters 1: at least 2",
            SMALL "--data book.txt --train-iters 1 --trace t");
}

static void the_log_does_not_replace_the_data(void **state)
{
    write_book();
    char *before = read_text("book.txt");
    refuses(2, "--log ./book.txt is the file of --data book.txt",
            SMALL "--data book.txt --log ./book.txt");
    assert_int_equal(system("ln -s book.txt link.jsonl"), 0);
    refuses(2, "--log link.jsonl is the file of --data book.txt",
            SMALL "--data book.txt --log link.jsonl");
    char *after = read_text("book.txt");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void the_data_of_the_command_line_replaces_that_of_the_run_file(void **state)
{
    write_text("train.json", "{\"data\": [\"a\", \"b\"]}");
    json_t *j = weft_json("train --config train.json --print-config");
    assert_int_equal(json_array_size(json_object_get(j, "data")), 2);
    json_decref(j);
    j = weft_json("train --data c --config train.json --print-config");
    const json_t *data = json_object_get(j, "data");
    assert_int_equal(json_array_size(data), 1);
    assert_string_equal(json_string_value(json_array_get(data, 0)), "c");
    json_decref(j);
}

static void the_printed_configuration_is_a_run_file(void **state)
{
    result a = weft("train --data a --pp 2 --print-config");
    write_text("train.json", a.out);
    result b = weft("train --config train.json --print-config");
    assert_string_equal(a.out, b.out);
    done(&a);
    done(&b);
    accepts("pp=2", "train --config train.json --comm loop --dry-run");
}

static void no_step_at_all_is_a_run(void **state)
{
    write_book();
    accepts("equal within", SMALL "--data book.txt --train-iters 0 --verify 1 --tp 2");
}

static void the_vocabulary_is_that_of_the_flag(void **state)
{
    write_book();
    accepts("vocabulary 300 (padded 384)",
            SMALL "--data book.txt --train-iters 1 --vocab 300");
    accepts("vocabulary 777 ", "train --comm loop --model gpt2 --vocab 777 --dry-run");
    refuses(2,
            "book.txt is text, whose tokens are bytes: --vocab 256 or more is needed, "
            "found 255",
            SMALL "--data book.txt --vocab 255");
    /* 16-bit tokens up to 499 */
    assert_int_equal(
        system("i=0; while [ $i -lt 500 ]; do printf \"\\\\$(printf %o $((i %"
               " 256)))\\\\$(printf %o $((i / 256)))\"; i=$((i + 1)); done"
               " >t.bin"),
        0);
    refuses(2,
            "t.bin: token 256 at position 256 is not below --vocab 256; the largest in "
            "it is 499, so --vocab 500 or more is needed",
            SMALL "--data t.bin");
    refuses(2, "--vocab 500 or more", SMALL "--data t.bin --vocab 499");
    accepts("vocabulary 500 ", SMALL "--data t.bin --vocab 500 --train-iters 1");
}

static void a_fault_that_would_never_strike_is_refused(void **state)
{
    write_book();
    setenv("WEFT_FAULT", "rank:2,step:0,kind:alloc", 1);
    refuses(2,
            "WEFT_FAULT=rank:2,step:0,kind:alloc would never strike: the job has ranks "
            "0 to 1 and steps 0 to 2",
            SMALL "--data book.txt --tp 2 --train-iters 3");
    refuses(2, "ranks 0 to 1", "verify --comm loop --tp 2");
    setenv("WEFT_FAULT", "rank:1,step:3,kind:alloc", 1);
    refuses(2, "steps 0 to 2", SMALL "--data book.txt --tp 2 --train-iters 3");
    setenv("WEFT_FAULT", "rank:1,step:2,kind:alloc", 1);
    result r = weft(SMALL "--data book.txt --tp 2 --train-iters 3");
    unsetenv("WEFT_FAULT");
    assert_int_equal(r.rc, 3);
    assert_string_equal(r.err, "weft train: rank 1, step 2: out of memory (injected by "
                               "WEFT_FAULT)\n");
    done(&r);
}

#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is past any limit */
/* Whatever the limit, a run that finds no room says so, and ends. */
static void too_little_address_space_is_told_and_does_not_hang(void **state)
{
    static const int limits_kb[] = {120000, 500000, 1150000, 2000000};
    write_book();
    for (int i = 0; i < 4; i++) {
        char command[600];
        snprintf(command, sizeof command,
                 "ulimit -v %d; timeout -s KILL 60 " WEFT_PROGRAM " " SMALL
                 "--data book.txt --tp 2 --pp 2 --dp 2 --train-iters 1 >out 2>err",
                 limits_kb[i]);
        assert_int_equal(WEXITSTATUS(system(command)), 3);
        char *err = read_text("err");
        if (!strstr(err, "ulimit -v")) fail_msg("%d: %s", limits_kb[i], err);
        free(err);
    }
}
#endif

/* Against a peak that is the most this machine was seen to do, no step can be above it. */
static void no_step_is_above_the_peak(void **state)
{
    char *at, *log;
    int n = 0;
    double mfu;

    write_book();
    accepts("MFU ",
            SMALL "--data book.txt --train-iters 60 --log peak.jsonl --eval-iters 0");
    log = at = read_text("peak.jsonl");
    while ((at = strstr(at, "\"mfu\":"))) {
        assert_int_equal(sscanf(at, "\"mfu\":%lf", &mfu), 1);
        assert_true(mfu > 0 && mfu <= 1);
        at++;
        n++;
    }
    assert_int_equal(n, 60);
    free(log);
}

/* Those of at most 40 steps, up to the last that ran. */
static void assert_traces(const char *dir, int steps)
{
    static const char *const name[] = {"measured", "pipeline-measured",
                                       "pipeline-predicted"};
    for (int i = 0; i < 3; i++) {
        char path[64];
        weft_trace t;
        int64_t first = INT64_MAX, last = -1;
        snprintf(path, sizeof path, "%s/%s.json", dir, name[i]);
        if (wf_trace_read(path, &t)) fail_msg("%s", weft_status_message());
        for (int64_t k = 0; k < t.n; k++) {
            first = t.entry[k].step < first ? t.entry[k].step : first;
            last = t.entry[k].step > last ? t.entry[k].step : last;
        }
        if (!i) assert_int_equal(last - first + 1, steps < 40 ? steps : 40);
        if (!i) assert_int_equal(last, steps - 1);
        assert_true(t.n > 0);
        weft_trace_clear(&t);
    }
}

/* Stopped by a signal, a run still ends well, and soon: without evaluation and sample, but
 * with the timelines of the last steps that ran; and says by its status that it is not all
 * of what was asked for. */
static void a_signal_ends_a_run_after_a_whole_step(void **state)
{
    write_book();
    write_text(
        "stop.sh", WEFT_PROGRAM
        " " SMALL
        "--data book.txt --train-iters 100000000 --log log.jsonl --log-interval 0 "
        "--tp 2 --trace t --compare --sample 20 >out 2>err &\n"
        "p=$!\n"
        "for i in $(seq 600); do\n"
        "  grep -q '\"step\":2' log.jsonl 2>/dev/null && break\n"
        "  sleep 0.1\n"
        "done\n"
        "kill -TERM $p\n"
        "wait $p\n"
        "echo $? >rc\n");
    assert_int_equal(system("sh stop.sh"), 0);
    char *rc = read_text("rc"), *err = read_text("err"), *log = read_text("log.jsonl");
    char *out = read_text("out");
    int steps;
    assert_int_equal(
        sscanf(err,
               "weft train: stopping after this step; a second signal ends it at once\n"
               "weft train: stopped by a signal after step %d",
               &steps),
        1);
    assert_true(steps > 2);
    assert_non_null(strstr(err, " of 100000000; not evaluated; no sample\n"));
    assert_string_equal(rc, "3\n");
    assert_non_null(strstr(out, "pipeline of tp 0, dp 0: measured (step "));
    assert_traces("t", steps);
    assert_int_equal(log[strlen(log) - 1], '\n');
    assert_null(strstr(log, "held_out_loss"));
    assert_null(strstr(out, "sample ("));
    free(out);
    free(rc);
    free(err);
    free(log);
}

const struct CMUnitTest train_tests[] = {
    cmocka_unit_test(a_dry_run_asks_nothing_of_this_machine),
    cmocka_unit_test(what_does_not_run_is_said_before_anything_is_made),
    cmocka_unit_test(a_preset_was_not_measured_with_threads),
    cmocka_unit_test(a_proof_says_first_whether_it_holds),
    cmocka_unit_test(the_json_of_a_proof_is_json),
    cmocka_unit_test(what_would_be_written_is_tried_first),
    cmocka_unit_test(the_log_does_not_replace_the_data),
    cmocka_unit_test(the_data_of_the_command_line_replaces_that_of_the_run_file),
    cmocka_unit_test(the_printed_configuration_is_a_run_file),
    cmocka_unit_test(no_step_at_all_is_a_run),
    cmocka_unit_test(the_vocabulary_is_that_of_the_flag),
    cmocka_unit_test(a_fault_that_would_never_strike_is_refused),
#ifndef __SANITIZE_ADDRESS__
    cmocka_unit_test(too_little_address_space_is_told_and_does_not_hang),
#endif
    cmocka_unit_test(no_step_is_above_the_peak),
    cmocka_unit_test(a_signal_ends_a_run_after_a_whole_step),
};
const int n_train_tests = sizeof train_tests / sizeof *train_tests;
