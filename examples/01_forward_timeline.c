/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline bubble of forward passes: each row is a GPU, each column a time slot, the
 * digit the micro-batch it works on, a dot nothing.
 *
 *     cc 01_forward_timeline.c $(pkg-config --cflags --libs weft) && ./a.out
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

/* Simulate m micro-batches on p stages, every forward of a stage taking one slot. */
static double busy_share(int p, int m, weft_trace *trace)
{
    weft_schedule s;
    weft_eval e;
    double *dur = calloc((size_t)p * WEFT_OP_N_COMPUTE, sizeof *dur), busy = 0;

    if (!dur) exit(1);
    check(weft_schedule_make("forward", p, m, 1, NULL, &s));
    weft_costs_uniform(&s, 1, 0, 0, 0, 0, dur);
    check(weft_simulate(&s, &(weft_costs){.dur = dur}, trace, &e));
    for (int r = 0; r < p; r++)
        busy += e.busy[r];
    busy /= p * e.makespan;
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
    free(dur);
    return busy;
}

static void draw(const weft_trace *t, int p, int slots)
{
    char row[64];
    for (int r = 0; r < p; r++) {
        for (int i = 0; i < slots; i++)
            row[i] = '.';
        for (int64_t i = 0; i < t->n; i++)
            if (t->entry[i].rank == r)
                row[(int)t->entry[i].start] = (char)('0' + t->entry[i].op.micro);
        printf("  gpu%d: %.*s\n", r, slots, row);
    }
}

int main(void)
{
    static const int micro[] = {1, 4, 16}, more[] = {1, 8, 32};

    for (int i = 0; i < 3; i++) {
        weft_trace t;
        double busy = busy_share(4, micro[i], &t);
        printf("4 GPUs, %d microbatch(es) -- each column is one time slot\n", micro[i]);
        if (micro[i] < 10) draw(&t, 4, 4 + micro[i] - 1);
        printf("  GPUs busy %.0f%% of the time, idle %.0f%%\n\n", 100 * busy,
               100 * (1 - busy));
        weft_trace_clear(&t);
    }
    for (int i = 0; i < 3; i++)
        printf("8 GPUs, %d microbatch(es): busy %.4f\n", more[i],
               busy_share(8, more[i], NULL));

    int m = 1;
    while (busy_share(8, m, NULL) < 0.9)
        m++;
    printf("8 GPUs are busy 90%% of the time from %d microbatches on\n", m);
    return 0;
}
