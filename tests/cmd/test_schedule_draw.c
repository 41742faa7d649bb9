/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of `weft schedule`: trace events as their format demands, and two schedules
 * beside each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/test_cmd.h"

/* ---- rules of the trace-event format -------------------------------------------- */

typedef struct slice {
    double start, end;
    json_int_t pid, tid;
} slice;

static int by_thread_and_start(const void *pa, const void *pb)
{
    const slice *a = pa, *b = pb;
    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid) return a->tid < b->tid ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->end < b->end) - (a->end > b->end);
}

/* Slices of a thread nest or lie apart; viewers draw nothing else rightly. */
static void assert_nested(slice *all, size_t n)
{
    enum { DEEPEST = 64 };
    double open[DEEPEST];
    int depth = 0;
    qsort(all, n, sizeof *all, by_thread_and_start);
    for (size_t i = 0; i < n; i++) {
        if (!i || all[i].pid != all[i - 1].pid || all[i].tid != all[i - 1].tid)
            depth = 0;
        while (depth && open[depth - 1] <= all[i].start + 1e-6)
            depth--;
        if (depth) assert_true(all[i].end <= open[depth - 1] + 1e-6);
        assert_true(depth < DEEPEST);
        open[depth++] = all[i].end;
    }
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));
    assert_non_null(s);
    return s;
}

static void check_metadata(const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    const char *name = text_of(event, "name");
    int is_name = !strcmp(name, "process_name") || !strcmp(name, "thread_name");
    int is_index =
        !strcmp(name, "process_sort_index") || !strcmp(name, "thread_sort_index");
    assert_true(is_name || is_index);
    assert_true(is_name ? json_is_string(json_object_get(args, "name"))
                        : json_is_integer(json_object_get(args, "sort_index")));
}

static void check_counter(const json_t *event)
{
    const char *key;
    json_t *value, *args = json_object_get(event, "args");
    text_of(event, "name");
    assert_true(number(event, "ts") >= 0);
    assert_true(json_object_size(args) > 0);
    json_object_foreach(args, key, value)
    {
        assert_true(json_is_number(value));
    }
}

static int has_name(const json_t *events, const slice *s)
{
    size_t i;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        if (!strcmp(text_of(e, "ph"), "M") &&
            !strcmp(text_of(e, "name"), "thread_name") &&
            number(e, "pid") == (double)s->pid && number(e, "tid") == (double)s->tid)
            return 1;
    }
    return 0;
}

/* Returns how many counters there are. */
static int check_events(const json_t *events)
{
    size_t i, n = 0;
    int counters = 0;
    json_t *e;
    slice *all = calloc(json_array_size(events) + 1, sizeof *all);
    json_array_foreach(events, i, e)
    {
        const char *phase = text_of(e, "ph");
        assert_true(json_is_integer(json_object_get(e, "pid")));
        assert_true(json_is_integer(json_object_get(e, "tid")));
        if (!strcmp(phase, "M")) {
            check_metadata(e);
        } else if (!strcmp(phase, "C")) {
            check_counter(e);
            counters++;
        } else {
            assert_string_equal(phase, "X");
            assert_true(strlen(text_of(e, "name")) > 0);
            double ts = number(e, "ts"), dur = number(e, "dur");
            assert_true(ts >= 0 && dur >= 0);
            all[n++] =
                (slice){ts, ts + dur, json_integer_value(json_object_get(e, "pid")),
                        json_integer_value(json_object_get(e, "tid"))};
        }
    }
    assert_true(n > 0);
    assert_nested(all, n);
    for (i = 0; i < n; i++)
        if (!i || all[i].pid != all[i - 1].pid || all[i].tid != all[i - 1].tid)
            assert_true(has_name(events, &all[i]));
    free(all);
    return counters;
}

static void trace_events_keep_the_rules_of_their_format(void **state)
{
    static const char *const words[] = {
        "1f1b -p 4 -m 8",
        "zb-v -p 3 -m 6 --latency 0.5",
        "interleaved -p 4 -m 8 -v 2 --bandwidth 2 --message-bytes 3 --ranks-per-node 2",
        "gpipe -p 3 -m 5 --latency 1 --messages blocking",
        "dualpipe -p 4 -m 8 --overlap atomic --tf 1ms --tb 2.5ms",
        "pipedream -p 4 -m 6 --steps 3 --optimizer 0.25",
        "1f1b -p 4 -m 8 --steps 2 --optimizer 1 --stage-free-i 1GiB --stage-temp-b "
        "1MiB",
        "forward -p 2 -m 3"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        result r = weft("schedule %s --trace -", words[i]);
        json_error_t error;
        assert_int_equal(r.rc, 0);
        json_t *j = json_loads(r.out, JSON_REJECT_DUPLICATES, &error);
        if (!j) fail_msg("%s: line %d: %s", words[i], error.line, error.text);
        assert_string_equal(text_of(j, "displayTimeUnit"), "ms");
        json_t *events = json_object_get(j, "traceEvents");
        assert_true(json_is_array(events));
        int counters = check_events(events);
        if (!strncmp(words[i], "forward", 7)) /* nothing is kept */
            assert_int_equal(counters, 0);
        else
            assert_true(counters > 0);
        json_decref(j);
        done(&r);
    }
}

/* ---- compare -------------------------------------------------------------------- */

static void two_kinds_stand_beside_each_other(void **state)
{
    result r = weft("schedule compare 1f1b zb-h1 -p 4 -m 8 --ascii --svg two.svg");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "rank 0 a |0123......a-4b-5c-6d-7e-.f-.g-.h-|  73%"));
    assert_non_null(strstr(r.out, "       b |0123...aA4bB5cC6dD7eEfFgGhH......|  89%"));
    assert_non_null(strstr(r.out, "makespan                             33           27"
                                  "           -6    -18.2 %"));
    done(&r);
    char *svg = read_text("two.svg");
    assert_non_null(svg);
    assert_non_null(
        strstr(svg, "b takes 6 less (-18.2 %), its bubble is 16.16 points smaller"));
    assert_non_null(strstr(svg, "id=\"a-r2-B7.0\" class=\"B\""));
    assert_non_null(strstr(svg, "id=\"b-r2-W7.0\" class=\"W\""));
    assert_non_null(strstr(svg, "33, bubble 27.27 %"));
    assert_non_null(strstr(svg, "27, bubble 11.11 %"));
    free(svg);
    json_t *j =
        weft_json("schedule compare 1f1b interleaved,v=2,group=4 -p 4 -m 8 --json");
    json_t *a = json_object_get(j, "a"), *b = json_object_get(j, "b");
    assert_true(number(a, "makespan") == 33 && number(a, "v") == 1);
    assert_true(number(b, "makespan") == 28.5 && number(b, "v") == 2);
    json_decref(j);
    j = weft_json("schedule compare zb-auto zb-auto,placement=v -p 4 -m 8 --json");
    assert_true(number(json_object_get(j, "b"), "v") == 2);
    json_decref(j);
}

static void more_than_two_kinds_are_a_table(void **state)
{
    static const char *const words[] = {"1f1b", "interleaved,v=2,group=4",
                                        "optimal,v=2,placement=loop", "zb-v"};
    static const char kinds[] = "schedule compare 1f1b interleaved,v=2,group=4 "
                                "optimal,v=2,placement=loop zb-v -p 4 -m 8";
    result r = weft("%s", kinds);
    const char *at = r.out;
    assert_int_equal(r.rc, 0);
    json_t *rows = weft_json("%s --json", kinds);
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        json_t *one = json_array_get(rows, i);
        char row[128];
        double all = number(one, "makespan");
        snprintf(row, sizeof row, "\n%-26s %11.6g %+7.1f %% %7.2f %% ", words[i], all,
                 100 * (all / 33 - 1), 100 * number(one, "bubble_of_total"));
        at = strstr(at, row);
        if (!at) fail_msg("no row \"%s\" in its place in\n%s", row, r.out);
    }
    assert_true(number(json_array_get(rows, 0), "makespan") == 33);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(rows, 2), "placement")),
        "loop");
    json_decref(rows);
    done(&r);
    r = weft("schedule compare 1f1b zb-h1 gpipe -p 2 -m 4 --tf 1ms --tb 2ms --steps 3 "
             "--stage-free-i 1MiB");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "makespan, s"));
    assert_non_null(strstr(r.out, "a step"));
    assert_non_null(strstr(r.out, "peak bytes"));
    done(&r);
}

static void a_kind_that_cannot_is_a_row_with_its_reason(void **state)
{
    static const char kinds[] = "schedule compare 1f1b zb-auto optimal zb-v -p 4 -m 8 ";
    result r = weft("%s--mem-limit 4", kinds);
    assert_int_equal(r.rc, 0);
    assert_non_null(
        strstr(r.out, "1f1b         --mem-limit 4: the order of 1f1b is fixed"));
    assert_non_null(strstr(r.out, "zb-auto               27    +0.0 %"));
    done(&r);
    r = weft("%s--stage-tf 1,1,1,1.5", kinds);
    assert_int_equal(r.rc, 0);
    assert_non_null(
        strstr(r.out, "zb-auto      --stage-tf: zb-auto is made for equal"));
    done(&r);
    json_t *j = weft_json("%s--mem-limit 4 --json", kinds);
    assert_int_equal(json_array_size(j), 4);
    assert_non_null(json_object_get(json_array_get(j, 3), "error"));
    assert_null(json_object_get(json_array_get(j, 1), "error"));
    assert_true(number(json_array_get(j, 1), "makespan") == 27);
    json_decref(j);
    /* two have a picture and a difference, which one alone has not; nor have none a row */
    refuses(2, "the order of 1f1b is fixed",
            "schedule compare 1f1b zb-auto -p 4 -m 8 --mem-limit 4");
    refuses(2, "the order of 1f1b is fixed",
            "schedule compare 1f1b gpipe zb-h1 -p 4 -m 8 --mem-limit 4");
}

static void what_is_compared_on_another_placement_is_told(void **state)
{
    result r = weft("schedule compare zb-v optimal -p 2 -m 4 --summary");
    assert_non_null(strstr(r.err, "optimal has placement single here, zb-v has v; "
                                  "optimal,placement=v"));
    done(&r);
    r = weft("schedule compare 1f1b zb-v optimal -p 2 -m 4");
    assert_non_null(strstr(r.err, "optimal,placement=v"));
    done(&r);
    r = weft("schedule compare 1f1b zb-v optimal,placement=v -p 2 -m 4");
    assert_string_equal(r.err, "");
    done(&r);
    r = weft("schedule --help");
    assert_non_null(strstr(r.out, "optimal,placement=v"));
    done(&r);
}

static void kinds_that_cannot_be_compared_are_refused(void **state)
{
    refuses(2, "compare takes two kinds or more, found 1",
            "schedule compare 1f1b -p 4 -m 8");
    refuses(2, "--svg: a picture is of two kinds, 3 are compared in a table",
            "schedule compare 1f1b gpipe zb-h1 -p 4 -m 8 --svg x.svg");
    refuses(2, "did you mean zb-h1?", "schedule compare 1f1b gpipe zb-h9 -p 4 -m 8");
    refuses(2, "did you mean gpipe?", "schedule compare 1f1b gpip -p 4 -m 8");
    refuses(2, "zb-h1,x=3: a kind of its own has v, group or placement",
            "schedule compare 1f1b zb-h1,x=3 -p 4 -m 8");
    refuses(2, "what is meant is zb-h1,v=2", "schedule compare 1f1b zb-h1,2 -p 4 -m 8");
    refuses(2, "compare does not take --csv",
            "schedule compare 1f1b zb-h1 -p 4 -m 8 --csv x.csv");
    refuses(2, "-v 2", "schedule compare 1f1b,v=2 zb-h1 -p 4 -m 8");
}

const struct CMUnitTest schedule_draw_tests[] = {
    cmocka_unit_test(trace_events_keep_the_rules_of_their_format),
    cmocka_unit_test(two_kinds_stand_beside_each_other),
    cmocka_unit_test(more_than_two_kinds_are_a_table),
    cmocka_unit_test(a_kind_that_cannot_is_a_row_with_its_reason),
    cmocka_unit_test(what_is_compared_on_another_placement_is_told),
    cmocka_unit_test(kinds_that_cannot_be_compared_are_refused),
};
const int n_schedule_draw_tests =
    sizeof schedule_draw_tests / sizeof *schedule_draw_tests;
