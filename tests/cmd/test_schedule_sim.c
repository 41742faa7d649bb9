/* SPDX-License-Identifier: Apache-2.0 */
/* Links, steps and memory of `weft schedule`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/test_cmd.h"

static void assert_makespan(const char *words, double makespan)
{
    json_t *j = weft_json("schedule %s --json", words);
    if (fabs(number(j, "makespan") - makespan) > 1e-12 * makespan)
        fail_msg("%s: %.17g, not %.17g", words, number(j, "makespan"), makespan);
    json_decref(j);
}

/* GPipe of one micro-batch: p ops there and back, and each link twice. */
static void a_message_takes_latency_and_bytes_by_its_link(void **state)
{
    assert_makespan("gpipe -p 4 -m 1 --latency 0.5", 4 * 3 + 6 * 0.5);
    assert_makespan("gpipe -p 4 -m 1 --latency 0.5 --bandwidth 8 --message-bytes 2",
                    4 * 3 + 6 * (0.5 + 0.25));
    assert_makespan("gpipe -p 4 -m 1 --latency 0.5,2 --ranks-per-node 2",
                    4 * 3 + 4 * 0.5 + 2 * 2);
    assert_makespan("gpipe -p 8 -m 1 --latency 1,2,4 --ranks-per-node 2,4",
                    8 * 3 + 8 * 1 + 4 * 2 + 2 * 4);
    assert_makespan("gpipe -p 4 -m 1 --tf 1ms --tb 2ms --ranks-per-node 2 --bandwidth "
                    "100GB/s,10GB/s --message-bytes 10MB",
                    4 * 3e-3 + 4 * 1e-4 + 2 * 1e-3);
    /* an op on half a stage takes half of the time, a message does not */
    assert_makespan("looped-bfs -p 2 -m 2 -v 2 --bandwidth 4 --message-bytes 1 "
                    "--latency 0.5 --messages blocking",
                    16.5);
    assert_makespan("looped-bfs -p 2 -m 2 -v 2 --bandwidth 4 --message-bytes 1 "
                    "--latency 0.5 --messages blocking --per-op --tf 0.5 --tb 1",
                    16.5);
    assert_makespan("gpipe -p 2 -m 4 --latency 1 --messages blocking", 5 * 3 + 2 * 4);
}

static void links_that_cannot_be_are_refused(void **state)
{
    refuses(2, "--bandwidth needs --message-bytes beside it",
            "schedule 1f1b -p 2 -m 2 --bandwidth 4");
    refuses(2, "--message-bytes needs --bandwidth beside it",
            "schedule 1f1b -p 2 -m 2 --message-bytes 4");
    refuses(2, "--latency has 2 items, one or 1 (a kind of link each) are needed",
            "schedule 1f1b -p 2 -m 2 --latency 1,2");
    refuses(2, "--ranks-per-node 4,2: whole numbers of pipeline ranks, each above",
            "schedule 1f1b -p 2 -m 2 --latency 1 --ranks-per-node 4,2");
    refuses(2, "--ranks-per-node 2: with neither --latency nor --bandwidth",
            "schedule 1f1b -p 2 -m 2 --ranks-per-node 2");
    refuses(2, "--bandwidth 0: a link carries something",
            "schedule 1f1b -p 2 -m 2 --bandwidth 0 --message-bytes 1");
    refuses(2, "--bandwidth has a unit of time and --tf has none",
            "schedule 1f1b -p 2 -m 2 --bandwidth 1GB/s --message-bytes 1");
    refuses(2, "--ranks-per-node 2: with neither --latency nor --bandwidth",
            "schedule optimal -p 4 -m 4 --ranks-per-node 2");
    refuses(2, "--messages", "schedule 1f1b -p 2 -m 2 --messages maybe");
}

static double makespan_with(const char *kind, const char *words, double *bound)
{
    json_t *j = weft_json("schedule %s %s --json", kind, words);
    json_t *least = json_object_get(j, "lower_bound");
    double t = number(j, "makespan");
    if (bound) *bound = json_number_value(least);
    json_decref(j);
    return t;
}

/* The order is made for the links that it runs on: with a slow one in the middle it gains on
 * the orders that are written out. */
static void a_search_knows_the_kinds_of_links(void **state)
{
    static const char *const words[] = {
        "-p 4 -m 8 --tf 1 --ti 1 --tw 1 --ranks-per-node 2 --latency 0,2",
        "-p 4 -m 8 --ranks-per-node 2 --bandwidth 100,2 --message-bytes 1",
        "-p 4 -m 8 -v 2 --placement v --ranks-per-node 2 --latency 0,2",
        "-p 4 -m 8 -v 2 --placement v --per-op --ranks-per-node 2 --latency 0,2",
        "-p 4 -m 8 --tf 1ms --tb 2ms --ranks-per-node 2 --latency 5us,2ms"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        double bound, least = makespan_with("optimal", words[i], &bound);
        double found = makespan_with("zb-auto", words[i], NULL);
        double written =
            makespan_with(strstr(words[i], "-v 2") ? "zb-v" : "zb-h1", words[i], NULL);
        assert_true(bound > 0 && bound <= least * (1 + 1e-9));
        assert_true(least <= found * (1 + 1e-9));
        assert_true(found < written * 0.97);
    }
}

static double step_time(const char *words)
{
    json_t *j = weft_json("schedule %s --json", words);
    json_t *steps = json_object_get(j, "steps");
    double t = number(steps, "step_time");
    assert_int_equal(json_array_size(json_object_get(steps, "end")), 4);
    assert_true(number(steps, "period") == 1);
    json_decref(j);
    return t;
}

static void steps_repeat_with_and_without_a_barrier(void **state)
{
    assert_true(step_time("1f1b -p 4 -m 8 --steps 4 --optimizer 2") == 11 * 3 + 2);
    assert_true(step_time("zb-h2 -p 4 -m 8 --steps 4 --optimizer 2") == 8 * 3 + 3 + 2);
    assert_true(step_time("zb-h2 -p 4 -m 8 --steps 4 --optimizer 2 --optimizer-sync "
                          "chain") == 8 * 3 + 2);
    assert_true(step_time("zb-v -p 4 -m 8 --steps 4 --optimizer 2 --optimizer-sync "
                          "none") == 8 * 3 + 2);
    assert_true(step_time("pipedream -p 4 -m 8 --steps 4") == 8 * 3);
    assert_true(step_time("forward -p 4 -m 8 --steps 4") == 8);
    assert_makespan("1f1b -p 4 -m 8 --optimizer 2", 11 * 3 + 2);
    assert_makespan("1f1b -p 2 -m 2 --optimizer 2,3 --optimizer-sync none", 9 + 2);
    json_t *j = weft_json("schedule 1f1b -p 2 -m 2 --json");
    assert_null(json_object_get(j, "steps"));
    assert_null(json_object_get(j, "peak_memory"));
    json_decref(j);
    result r = weft("schedule 1f1b -p 2 -m 2 --steps 3 --summary");
    assert_non_null(strstr(r.out, "3 steps back to back: one takes 9 from step 0 on"));
    done(&r);
}

static void steps_that_cannot_be_are_refused(void **state)
{
    refuses(2, "--optimizer has 2 items, one or 3 (a rank each) are needed",
            "schedule 1f1b -p 3 -m 3 --optimizer 1,2");
    refuses(2, "a stage of pipedream changes its weights after each backward",
            "schedule pipedream -p 3 -m 3 --steps 2 --optimizer-sync global");
    refuses(2, "there is no --optimizer and no second step",
            "schedule 1f1b -p 3 -m 3 --optimizer-sync chain");
    refuses(2, "forward has no gradients", "schedule forward -p 3 -m 3 --optimizer 1");
    refuses(2, "--steps", "schedule 1f1b -p 3 -m 3 --steps -1");
}

static double peak(json_t *j, size_t rank)
{
    return number(json_array_get(json_object_get(j, "peak_memory"), rank), "bytes");
}

static void memory_is_reported_and_limited_in_bytes(void **state)
{
    json_t *j =
        weft_json("schedule 1f1b -p 2 -m 3 --stage-free-i 100 --stage-free-w 20 "
                  "--stage-temp-b 7,9 --json");
    assert_true(peak(j, 0) == 2 * 120 + 7);
    assert_true(peak(j, 1) == 120 + 9);
    json_decref(j);
    refuses(
        1, "--mem-limit 240: rank 0 holds 247 B from 4 on, in B0",
        "schedule 1f1b -p 2 -m 3 --stage-free-i 120 --stage-temp-b 7 --mem-limit 240 "
        "--summary");
    result r =
        weft("schedule 1f1b -p 2 -m 3 --stage-free-i 120 --mem-limit 240 --summary");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "peak memory: 240 B, 120 B; rank 0 at 1, in F1"));
    done(&r);
    write_text("wide.txt", "F0.0 F1.0 B0.0 B1.0\n");
    refuses(1, "rank 0 holds 2 KiB from 1 on, in F1",
            "schedule check wide.txt --stage-free-i 1KiB --mem-limit 1KiB");
    r = weft("schedule check wide.txt --stage-free-i 1KiB --mem-limit 2KiB");
    assert_int_equal(r.rc, 0);
    done(&r);
    refuses(2, "an order is checked in bytes", "schedule check wide.txt --mem-limit 2");
    refuses(2, "zb-auto is searched for a limit in forwards",
            "schedule zb-auto -p 2 -m 3 --stage-free-i 6GiB --mem-limit 6GiB");
    refuses(2, "--stage-free-w has 3 items, one or 2 (a stage each) are needed",
            "schedule 1f1b -p 2 -m 3 --stage-free-w 1,2,3");
}

const struct CMUnitTest schedule_sim_tests[] = {
    cmocka_unit_test(a_message_takes_latency_and_bytes_by_its_link),
    cmocka_unit_test(a_search_knows_the_kinds_of_links),
    cmocka_unit_test(links_that_cannot_be_are_refused),
    cmocka_unit_test(steps_repeat_with_and_without_a_barrier),
    cmocka_unit_test(steps_that_cannot_be_are_refused),
    cmocka_unit_test(memory_is_reported_and_limited_in_bytes),
};
const int n_schedule_sim_tests = sizeof schedule_sim_tests / sizeof *schedule_sim_tests;
