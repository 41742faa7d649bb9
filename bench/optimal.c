/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of docs/optimal.md: how far `optimal` is from its lower bound, how long the
 * search takes, and by how much the best other kind, zb-auto, zb-v and dualpipev are
 * slower in the same memory.
 *
 *     bench_optimal            p = 4, 8, 16
 *     bench_optimal P M        one size
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "schedule/problems.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "bench_optimal: %s\n", weft_status_message());
    exit(2);
}

static void put_gain(double other, double own)
{
    if (isfinite(other))
        printf(" %.2f |", 100 * (other / own - 1));
    else
        printf(" - |");
}

static void put_row(weft_placement_kind place, int p, int m, stage_times times,
                    double limit_of_p, double latency)
{
    problem a;
    const char *best;
    weft_schedule s;
    weft_schedule_lower_bound bound;
    set_up(&a, place, p, m, times, NULL);
    a.opt.latency = latency;
    a.opt.mem_limit = ceil(limit_of_p * p);
    double t = now();
    need(weft_schedule_optimal(p, m, a.v, &a.opt, &s, &bound));
    t = now() - t;
    double own = time_of(&s, &a.opt), other = best_other(&a, &best);
    printf("| %s | %d | %d | %s | %g | %g | %.2f | %.2f | %.2f | %.0f |",
           weft_placement_name(place), p, m, times == STAGES_REAL ? "equal" : "unequal",
           a.opt.mem_limit, latency, own, bound.makespan,
           100 * fabs(own / bound.makespan - 1), 1e3 * t);
    printf(" %s |", best);
    put_gain(other, own);
    put_gain(time_of_other("zb-auto", &a), own);
    put_gain(time_of_other("zb-v", &a), own);
    put_gain(time_of_other("dualpipev", &a), own);
    printf("\n");
    fflush(stdout);
    weft_schedule_clear(&s);
}

static void put_size(int p, int m)
{
    for (int k = 0; k <= WEFT_PLACE_V; k++) {
        weft_placement_kind place = (weft_placement_kind)k;
        put_row(place, p, m, STAGES_REAL, 1, 0);
        put_row(place, p, m, STAGES_THIRDS, 1, 0);
        put_row(place, p, m, STAGES_THIRDS, 1, 0.25);
        put_row(place, p, m, STAGES_THIRDS, 0.625, 0);
        put_row(place, p, m, STAGES_THIRDS, 2, 0.5);
    }
}

int main(int argc, char **argv)
{
    printf("| placement | p | m | stages | limit | latency | optimal | bound | above "
           "bound, %% | search, ms | best other | it is slower by, %% | zb-auto, %% | "
           "zb-v, %% | dualpipev, %% |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    if (argc == 3) {
        int p = atoi(argv[1]), m = atoi(argv[2]);
        if (p < 1 || p > MOST_STAGES / 2 || m < 1) return 2;
        put_size(p, m);
        return 0;
    }
    put_size(4, 8);
    put_size(8, 24);
    put_size(16, 64);
    return 0;
}
