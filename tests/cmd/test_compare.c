/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/test_cmd.h"
#include "cmd/trace_file.h"

static int by_all(const void *pa, const void *pb)
{
    const weft_trace_entry *a = pa, *b = pb;
    if (a->rank != b->rank) return a->rank - b->rank;
    if (a->lane != b->lane) return a->lane - b->lane;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->op.micro > b->op.micro) - (a->op.micro < b->op.micro);
}

static weft_trace random_trace(unsigned seed)
{
    static const char *const label[] = {"wait", "optimizer",
                                        "a \"label\"\t& <\xc3\xa4>"};
    static const int kind[] = {WEFT_OP_F, WEFT_OP_B,    WEFT_OP_I,      WEFT_OP_W,
                               WEFT_OP_R, WEFT_OP_SEND, WEFT_OP_REDUCE, WEFT_OP_STEP};
    weft_trace t;
    srand(seed);
    weft_trace_init(&t, 3, seed % 2 ? "s" : "", "random \"traces\"");
    t.measured = seed % 2;
    for (int i = 0; i < 60; i++) {
        weft_trace_entry e = {.start = rand() / 7.0 / RAND_MAX, .rank = rand() % 3};
        e.end = e.start + rand() / 3.0 / RAND_MAX;
        e.step = rand() % 4;
        e.lane = (uint8_t)(rand() % WEFT_N_LANES);
        e.bytes = (int64_t)rand() << 20;
        e.op = (weft_op){(uint8_t)kind[rand() % 8], (uint8_t)(rand() % 8),
                         (uint8_t)(rand() % 3), (uint8_t)(rand() % 5), (uint32_t)i};
        if (i % 5 == 0) e.label = label[i % 3];
        assert_int_equal(weft_trace_add(&t, &e), WEFT_OK);
    }
    return t;
}

static void assert_same(const weft_trace_entry *a, const weft_trace_entry *b)
{
    assert_true(a->start == b->start && a->end == b->end);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->lane, b->lane);
    assert_int_equal(!a->label, !b->label);
    assert_int_equal(a->op.micro, b->op.micro);
    if (a->label)
        assert_string_equal(a->label, b->label);
    else
        assert_memory_equal(&a->op, &b->op, sizeof a->op);
}

static void a_trace_reads_back_exactly_as_it_was_written(void **state)
{
    for (unsigned seed = 0; seed < 10; seed++) {
        weft_trace a = random_trace(seed), b;
        assert_int_equal(wf_trace_write("trace.json", &a), WEFT_OK);
        if (wf_trace_read("trace.json", &b) != WEFT_OK)
            fail_msg("%s", weft_status_message());
        qsort(a.entry, (size_t)a.n, sizeof *a.entry, by_all);
        qsort(b.entry, (size_t)b.n, sizeof *b.entry, by_all);
        assert_int_equal(a.n, b.n);
        assert_int_equal(a.measured, b.measured);
        assert_int_equal(a.n_ranks, b.n_ranks);
        assert_string_equal(a.unit, b.unit);
        assert_string_equal(a.title, b.title);
        for (int64_t i = 0; i < a.n; i++)
            assert_same(&a.entry[i], &b.entry[i]);
        weft_trace_clear(&a);
        weft_trace_clear(&b);
    }
}

/* Chrome and Perfetto draw overlapping slices of one thread wrongly. */
static void slices_of_one_thread_do_not_overlap(void **state)
{
    weft_trace t = random_trace(4);
    assert_int_equal(wf_trace_write("trace.json", &t), WEFT_OK);
    json_t *root = json_load_file("trace.json", 0, NULL);
    const json_t *events = json_object_get(root, "traceEvents"), *v;
    double until[3][256] = {{0}};
    size_t i;
    json_array_foreach(events, i, v)
    {
        if (strcmp(json_string_value(json_object_get(v, "ph")), "X")) continue;
        int pid = (int)number(v, "pid"), tid = (int)number(v, "tid");
        assert_true(tid < 256);
        assert_true(number(v, "ts") >= until[pid][tid] - 1e-6);
        until[pid][tid] = number(v, "ts") + number(v, "dur");
    }
    json_decref(root);
    weft_trace_clear(&t);
}

static void compare_subtracts_and_explains(void **state)
{
    result r = weft("schedule 1f1b -p 4 -m 8 --summary --trace a.json");
    assert_int_equal(r.rc, 0);
    done(&r);
    r = weft("schedule 1f1b -p 4 -m 8 --summary --trace b.json --tb 3");
    done(&r);
    json_t *j = weft_json("compare a.json b.json --json");
    assert_int_equal(number(j, "ops_matched"), 64);
    assert_int_equal(number(j, "ops_missing"), 0);
    assert_true(number(j, "difference") == 11);
    const json_t *rank = json_array_get(json_object_get(j, "ranks"), 2);
    const json_t *d = json_object_get(rank, "difference");
    assert_true(number(d, "B") == 8 && number(d, "waiting") == 3);
    json_decref(j);
    r = weft("compare a.json b.json");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "where the difference of +11 (+33.3 %) goes"));
    assert_non_null(strstr(r.out, "rank 0 a │"));
    done(&r);
}

static void traces_that_are_none_are_refused_by_name(void **state)
{
    result r = weft("schedule 1f1b -p 4 -m 8 --summary --trace a.json");
    done(&r);
    r = weft("schedule 1f1b -p 2 -m 8 --summary --trace two.json");
    done(&r);
    refuses(2, "has 4 ranks", "compare a.json two.json");
    refuses(2, "two traces are needed, 1 given", "compare a.json");
    refuses(2, "none.json cannot be read", "compare a.json none.json");
    write_text("x.json", "{\"traceEvents\":[]}");
    refuses(2, "x.json: no trace that weft wrote", "compare x.json a.json");
    write_text("x.json",
               "{\"otherData\":{\"unit\":\"\",\"title\":\"t\",\"n_ranks\":1},"
               "\"traceEvents\":[{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"args\":{\"kind\":"
               "\"F\",\"micro\":0,\"chunk\":0,\"slice\":0,\"flags\":0,\"step\":0,"
               "\"bytes\":0,\"start\":2,\"end\":2}}]}");
    refuses(2, "x.json: its slices begin at 2 and end at 2: no timeline",
            "compare x.json a.json");
    write_text("x.json", "\x01\x02garbage");
    refuses(2, "x.json:1:", "compare a.json x.json");
    write_text("x.json", "");
    refuses(2, "x.json:", "compare a.json x.json");
    const char *head = "{\"otherData\":{\"unit\":\"\",\"title\":\"t\",\"n_ranks\":1},"
                       "\"traceEvents\":[";
    char text[512];
    snprintf(text, sizeof text, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"args\":{}}]}",
             head);
    write_text("x.json", text);
    refuses(2, "event 0: \"pid\" 1 is outside 0 .. 0", "compare x.json a.json");
    snprintf(text, sizeof text, "%s]}", head);
    write_text("x.json", text);
    refuses(2, "no slice", "compare x.json a.json");
}

/* The title of a trace is text of whoever wrote the file. */
static void a_trace_does_not_command_the_terminal(void **state)
{
    result r = weft("schedule 1f1b -p 2 -m 2 --summary --trace a.json");
    done(&r);
    assert_int_equal(
        system("sed 's/\"title\":\"[^\"]*\"/\"title\":\"\\\\u001b[31m\\\\u009b1mred"
               "\\\\u0007\"/' a.json >red.json"),
        0);
    r = weft("compare red.json a.json");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "?[31m??1mred?"));
    for (const char *c = r.out; *c; c++)
        assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
    done(&r);
    write_text("x.json",
               "{\"otherData\":{\"unit\":\"\",\"title\":\"t\",\"n_ranks\":1},"
               "\"traceEvents\":[{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"args\":{"
               "\"step\":0,\"bytes\":0,\"start\":0,\"end\":1,\"micro\":0,"
               "\"chunk\":0,\"slice\":0,\"flags\":0,\"kind\":\"\\u001b[2J\"}}]}");
    refuses(2, "there is no op kind \"?[2J\"", "compare x.json a.json");
}

const struct CMUnitTest compare_tests[] = {
    cmocka_unit_test(a_trace_reads_back_exactly_as_it_was_written),
    cmocka_unit_test(slices_of_one_thread_do_not_overlap),
    cmocka_unit_test(compare_subtracts_and_explains),
    cmocka_unit_test(traces_that_are_none_are_refused_by_name),
    cmocka_unit_test(a_trace_does_not_command_the_terminal),
};
const int n_compare_tests = sizeof compare_tests / sizeof *compare_tests;
