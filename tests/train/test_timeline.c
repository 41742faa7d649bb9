/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's measured timeline against the simulation of the same schedule: with
 * injected op times, and (argument "real") with the medians of real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/timeline.h"

/* Measured over simulated time of a run; the trace is left in j. */
static double ratio(timeline *j, const double *dur, weft_trace *simulated,
                    const char *layout)
{
    double measured, want;

    timeline_record(j);
    want = timeline_simulated(&j->schedule, dur, simulated);
    weft_pipeline_slice all = timeline_slice(j, 1, j->steps - 1);
    MUST(weft_pipeline_median(&all, &measured));
    print_message("%-42s simulated %.1f ms, measured %.1f ms: %+.2f %%\n", layout,
                  want * 1e3, measured * 1e3, 100 * (measured / want - 1));
    return measured / want;
}

static void injected_durations(const weft_layout *l, int n, const double *tf,
                               const double *tb, double *dur)
{
    weft_schedule s;
    MUST(weft_schedule_make(l->schedule, l->pp, (int)weft_layout_n_micro(l), l->vpp,
                            NULL, &s));
    MUST(weft_costs_by_stage(&s, n, tf, tb, NULL, NULL, dur));
    weft_schedule_clear(&s);
}

/* Other processes can only add time, so one run of three within the limit is enough. */
static void injected(const char *layout, int n, const double *tf, const double *tb)
{
    double dur[TIMELINE_DUR];
    int good = 0;

    for (int i = 0; i < 3 && !good; i++) {
        timeline j = {.steps = 6};
        weft_trace simulated;
        lab_base(&j.c, "layers=8,hidden=8,heads=2,vocab=16,positions=4");
        lab_layout(&j.c, layout);
        injected_durations(&j.c.layout, n, tf, tb, dur);
        j.c.op_s = dur;
        double x = ratio(&j, dur, &simulated, layout);
        good = fabs(x - 1) < 0.02;
        good = good && timeline_ops_error(&j, &simulated) < 0.02;
        weft_trace_clear(&simulated);
        timeline_clear(&j);
    }
    assert_true(good);
}

static const double even_f[] = {0.015, 0.015, 0.015, 0.015};
static const double even_b[] = {0.03, 0.03, 0.03, 0.03};

static void two_stages_take_what_the_simulation_says(void **state)
{
    (void)state;
    injected("pp=2 schedule=gpipe m=4", 2, even_f, even_b);
    injected("pp=2 schedule=1f1b m=4", 2, even_f, even_b);
    injected("pp=2 vpp=2 schedule=interleaved m=4", 2, even_f, even_b);
}

static void four_stages_take_what_the_simulation_says(void **state)
{
    (void)state;
    injected("pp=4 schedule=gpipe m=8", 4, even_f, even_b);
    injected("pp=4 schedule=1f1b m=8", 4, even_f, even_b);
    injected("pp=4 schedule=1f1b m=3", 4, even_f, even_b);
    injected("pp=4 vpp=2 schedule=interleaved m=8", 4, even_f, even_b);
}

/* Case 42: the place of a slow stage matters to 1F1B, and the run shows it. */
static void a_slow_stage_costs_what_the_simulation_says(void **state)
{
    static const double first_f[] = {0.02, 0.01, 0.01, 0.01};
    static const double first_b[] = {0.04, 0.02, 0.02, 0.02};
    static const double last_f[] = {0.01, 0.01, 0.01, 0.02};
    static const double last_b[] = {0.02, 0.02, 0.02, 0.04};
    (void)state;
    injected("pp=4 schedule=gpipe m=8", 4, first_f, first_b);
    injected("pp=4 schedule=1f1b m=8", 4, first_f, first_b);
    injected("pp=4 schedule=1f1b m=8", 4, last_f, last_b);
}

/* Real compute on two cores: the medians of the first half of the steps predict the
 * second, when the machine does nothing else: one run of three. */
static double second_half(const char *layout)
{
    double dur[TIMELINE_DUR] = {0}, measured;
    timeline j = {.steps = 25};

    lab_base(&j.c, "layers=4,hidden=256,heads=4,vocab=512,positions=128");
    j.c.dtype = WEFT_F32;
    j.c.random_all = 0;
    lab_layout(&j.c, layout);
    timeline_record(&j);
    weft_pipeline_slice first = timeline_slice(&j, 1, 12),
                        second = timeline_slice(&j, 13, 24);
    MUST(weft_op_medians(&first, dur));
    MUST(weft_pipeline_median(&second, &measured));
    double want = timeline_simulated(&j.schedule, dur, NULL);
    print_message("%-42s F %.1f ms, B %.1f ms; predicted %.1f ms, measured %.1f ms: "
                  "%+.1f %%\n",
                  layout, dur[WEFT_OP_F] * 1e3, dur[WEFT_OP_B] * 1e3, want * 1e3,
                  measured * 1e3, 100 * (measured / want - 1));
    timeline_clear(&j);
    return measured / want;
}

static void predict(const char *layout)
{
    int good = 0;
    for (int i = 0; i < 3 && !good; i++)
        good = fabs(second_half(layout) - 1) < 0.1;
    assert_true(good);
}

static void medians_of_the_first_half_predict_the_second(void **state)
{
    (void)state;
    predict("pp=2 schedule=1f1b m=8 micro_batch=2");
    predict("pp=2 schedule=gpipe m=8 micro_batch=2");
    predict("pp=2 vpp=2 schedule=interleaved m=8 micro_batch=2");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest injection[] = {
        cmocka_unit_test(two_stages_take_what_the_simulation_says),
        cmocka_unit_test(four_stages_take_what_the_simulation_says),
        cmocka_unit_test(a_slow_stage_costs_what_the_simulation_says)};
    const struct CMUnitTest real[] = {
        cmocka_unit_test(medians_of_the_first_half_predict_the_second)};

    (void)argv;
    if (argc == 1) lab_urgent();
    return argc > 1 ? cmocka_run_group_tests_name("real timelines", real, NULL, NULL)
                    : cmocka_run_group_tests_name("injected timelines", injection, NULL,
                                                  NULL);
}
