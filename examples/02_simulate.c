/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step time, bubble and peak memory of three schedules on 4 stages and 12 micro-batches,
 * a backward taking twice as long as a forward.
 *
 *     cc 02_simulate.c $(pkg-config --cflags --libs weft) && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static void check(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "%s\n", weft_status_message());
    exit(1);
}

static void simulate(const char *kind, int p, int m, int v, double tf, double tb)
{
    weft_schedule s;
    weft_schedule_report report;
    weft_eval e;
    double *dur = calloc((size_t)p * v * WEFT_OP_N_COMPUTE, sizeof *dur);

    if (!dur) exit(1);
    check(weft_schedule_make(kind, p, m, v, NULL, &s));
    check(weft_schedule_check(&s, 0, &report)); /* order, deadlock, memory */
    weft_costs_uniform(&s, tf, tb, 0, 0, 0, dur);
    check(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e));

    printf("%s %.1f %.3g [", kind, e.makespan, e.bubble_of_total);
    for (int r = 0; r < p; r++)
        printf("%s%lld", r ? ", " : "", (long long)report.peak_in_flight[r]);
    printf(v > 1 ? "] of 1/%d stage\n" : "]\n", v);

    weft_eval_clear(&e);
    weft_schedule_report_clear(&report);
    weft_schedule_clear(&s);
    free(dur);
}

int main(void)
{
    simulate("gpipe", 4, 12, 1, 1, 2);
    simulate("1f1b", 4, 12, 1, 1, 2);
    simulate("interleaved", 4, 12, 3, 1, 2);
    return 0;
}
