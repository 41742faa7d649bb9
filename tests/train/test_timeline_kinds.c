/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a step, measured and simulated, for every kind of schedule: with injected op
 * times on four ranks; and (argument "real") on two ranks with real ones, whose medians in
 * every other step predict the steps between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/timeline.h"

enum { TRIES = 3, HALF = 10 };

/* ---- injected ---------------------------------------------------------------------- */

/* A stage takes F : I : W = 5 : 6 : 4, the second one half as much again. */
static void inject(const timeline *t, double *dur)
{
    const weft_layout *l = &t->c.layout;
    double f[4], b[4], i[4], w[4];
    weft_schedule shape;

    for (int r = 0; r < 4; r++) {
        double unit = r == 1 ? 0.0036 : 0.0024;
        f[r] = 5 * unit;
        i[r] = 6 * unit;
        w[r] = 4 * unit;
        b[r] = i[r] + w[r];
    }
    MUST(weft_layout_shape(l, &shape));
    MUST(weft_costs_by_stage(&shape, 4, f, b, i, w, dur));
}

/* Whether a run took the simulated time, as a whole and op by op. */
static int injected_once(const char *layout)
{
    double dur[TIMELINE_DUR], measured;
    timeline t = {.steps = 4};
    weft_trace simulated;

    lab_base(&t.c, "layers=16,hidden=8,heads=2,vocab=16,positions=4,tied=0");
    lab_layout(&t.c, layout);
    inject(&t, dur);
    t.c.op_s = dur;
    timeline_record(&t);
    double want = timeline_simulated(&t.schedule, dur, &simulated);
    weft_pipeline_slice all = timeline_slice(&t, 1, t.steps - 1);
    MUST(weft_pipeline_median(&all, &measured));
    double off = measured / want - 1;
    print_message("%-15s %2d %2d %10.1f %10.1f %+7.2f %%\n", t.schedule.kind,
                  t.schedule.m, t.schedule.v, want * 1e3, measured * 1e3, 100 * off);
    int good = fabs(off) < 0.03 && timeline_ops_error(&t, &simulated) < 0.02;
    weft_trace_clear(&simulated);
    timeline_clear(&t);
    return good;
}

/* Other processes can only add time, so one run of three within the limit is enough. */
static void injected(const char *layout)
{
    for (int i = 0; i < TRIES; i++)
        if (injected_once(layout)) return;
    fail_msg("%s: never within 3 %% of the simulation", layout);
}

/* Two chunks a rank where the kind has them, else one or four. */
static int chunks_of(const char *kind)
{
    static const int order[] = {2, 1, 4};
    for (int i = 0; i < 3; i++)
        if (!weft_schedule_applicable(kind, 4, 8, order[i], NULL)) return order[i];
    fail_msg("%s takes neither 2, 1 nor 4 chunks", kind);
    return 0;
}

/* Two chunks of a kind that is searched, on each placement that has room for them. */
static int injected_placements(const weft_schedule_kind *k)
{
    int n = 0;
    unsigned places = weft_schedule_kind_placements(k) & ~(1u << WEFT_PLACE_SINGLE);
    for (int i = 0; places >> i; i++) {
        char layout[96];
        if (!(places >> i & 1)) continue;
        snprintf(layout, sizeof layout, "pp=4 m=8 vpp=2 schedule=%s placement=%s",
                 weft_schedule_kind_name(k),
                 weft_placement_name((weft_placement_kind)i));
        injected(layout);
        n++;
    }
    return n;
}

static void every_kind_takes_what_the_simulation_says_on_four_ranks(void **state)
{
    int n = 0, placed = 0;
    (void)state;
    print_message("%-15s %2s %2s %10s %10s\n", "kind", "m", "v", "simulated",
                  "measured");
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        const char *kind = weft_schedule_kind_name(k);
        char layout[96];
        if (!weft_schedule_kind_trains(k)) continue;
        snprintf(layout, sizeof layout, "pp=4 m=8 vpp=%d schedule=%s", chunks_of(kind),
                 kind);
        injected(layout);
        placed += injected_placements(k);
        n++;
    }
    assert_int_equal(placed, 1 + 2); /* zb-auto; optimal */
    print_message("%d kinds within 3 %%\n", n);
}

/* ---- real -------------------------------------------------------------------------- */

/* Steps 1, 3, 5, ... become 0 .. HALF-1, steps 2, 4, 6, ... the ones after: a machine that
 * slows down does so to both. */
static void deal(weft_trace *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        int step = t->entry[i].step - 1;
        t->entry[i].step = step % 2 * HALF + step / 2;
    }
}

/* Measured over predicted time, less 1, of every other step; the prediction has the
 * medians of the ops of those between. */
static double other_steps(const char *layout)
{
    double dur[TIMELINE_DUR] = {0}, measured;
    timeline t = {.steps = 1 + 2 * HALF};

    lab_base(&t.c, "layers=8,hidden=192,heads=4,vocab=256,positions=96,tied=0");
    t.c.dtype = WEFT_F32;
    t.c.random_all = 0;
    lab_layout(&t.c, layout);
    timeline_record(&t);
    deal(&t.trace);
    weft_pipeline_slice one = timeline_slice(&t, 0, HALF - 1),
                        other = timeline_slice(&t, HALF, 2 * HALF - 1);
    MUST(weft_op_medians(&one, dur));
    MUST(weft_pipeline_median(&other, &measured));
    double want = timeline_simulated(&t.schedule, dur, NULL), off = measured / want - 1;
    print_message("%-15s %2d %2d %10.2f %10.2f %+7.2f %%\n", t.schedule.kind,
                  t.schedule.m, t.schedule.v, want * 1e3, measured * 1e3, 100 * off);
    timeline_clear(&t);
    return off;
}

static void medians_of_some_steps_predict_the_others_for_many_kinds(void **state)
{
    static const char *const layouts[] = {"m=8 schedule=gpipe",
                                          "m=8 schedule=1f1b",
                                          "m=8 schedule=eager-1f1b",
                                          "m=8 schedule=zb-h1",
                                          "m=8 vpp=2 schedule=interleaved",
                                          "m=8 vpp=2 schedule=zb-v",
                                          "m=8 vpp=2 schedule=dualpipev",
                                          "m=8 vpp=2 schedule=chimera",
                                          "m=8 vpp=4 schedule=bitpipe",
                                          "m=8 schedule=pipedream"};
    (void)state;
    print_message("%-15s %2s %2s %10s %10s\n", "kind", "m", "v", "predicted",
                  "measured");
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char layout[96];
        int good = 0;
        snprintf(layout, sizeof layout, "pp=2 %s", layouts[i]);
        for (int k = 0; k < TRIES && !good; k++)
            good = fabs(other_steps(layout)) < 0.1;
        if (!good) fail_msg("%s: never within 10 %% of the prediction", layout);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest injection[] = {
        cmocka_unit_test(every_kind_takes_what_the_simulation_says_on_four_ranks)};
    const struct CMUnitTest real[] = {
        cmocka_unit_test(medians_of_some_steps_predict_the_others_for_many_kinds)};

    (void)argv;
    if (argc == 1) lab_urgent();
    return argc > 1
               ? cmocka_run_group_tests_name("real steps, all kinds", real, NULL, NULL)
               : cmocka_run_group_tests_name("injected steps, all kinds", injection,
                                             NULL, NULL);
}
