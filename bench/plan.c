/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of the planner on one core.
 *
 *     bench_plan                    prices a second, then the searches below
 *     bench_plan price              prices a second alone
 *     bench_plan MODEL MACHINE B S  one search
 *
 * A price is the full closed form of time and memory of a layout, all pipeline ranks of it,
 * as the search works it out. Exit 1 below 500,000 of them a second, or when 70B on 64 H100
 * takes more than a second or 405B on 16,384 more than three.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/plan.h>

#include "cost/prices.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "bench_plan: %s\n", weft_status_message());
    exit(2);
}

static weft_cost_model model_of(const char *arch, const char *machine)
{
    weft_arch a;
    weft_machine m;
    weft_cost_options o;
    weft_cost_model q;

    weft_cost_defaults(&o);
    need(weft_arch_parse(arch, &a));
    need(weft_machine_parse(machine, &m));
    need(weft_cost_prepare(&a, &m, &o, &q));
    return q;
}

/* Every legal layout of 70B on 64 ranks with 1f1b or interleaving and even stages. */
static int list_layouts(const weft_cost_model *q, weft_layout *l, int most)
{
    static const char *const recompute[] = {"none", "selective", "full"};
    int n = 0;

    for (int i = 0; i < 4 * 4 * 7 * 4 * 6 * 4 * 2 * 3 && n < most; i++) {
        weft_layout x;
        int k = i;
        weft_layout_defaults(&x);
        x.global_batch = 256;
        x.seq = 4096;
        x.tp = 1 << k % 4;
        x.cp = 1 << (k /= 4) % 4;
        x.pp = 1 << (k /= 4) % 7;
        x.vpp = 1 + (k /= 7) % 4;
        x.micro_batch = 1 << (k /= 4) % 6;
        x.zero = (k /= 6) % 4;
        x.sp = (k /= 4) % 2;
        snprintf(x.recompute, sizeof x.recompute, "%s", recompute[k / 2 % 3]);
        if (64 % (x.tp * x.cp * x.pp)) continue;
        x.dp = 64 / (x.tp * x.cp * x.pp);
        if (x.vpp > 1) snprintf(x.schedule, sizeof x.schedule, "interleaved");
        if (weft_layout_plan_check(&x, &q->arch) == WEFT_OK) l[n++] = x;
    }
    return n;
}

static double prices_a_second(void)
{
    enum { MOST = 1 << 16, ROUNDS = 7 };
    weft_cost_model q = model_of("llama3-70b", "h100:8x8");
    weft_layout *l = malloc(MOST * sizeof *l);
    wf_prices *prices = calloc(1, sizeof *prices);
    double best = 0, memory = 0;

    if (!l || !prices) exit(2);
    int n = list_layouts(&q, l, MOST);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_s();
        for (int i = 0; i < n; i++) {
            weft_cost c;
            need(wf_cost_evaluate(&q, &l[i], prices, NULL, NULL, &c, NULL));
            memory += c.memory.total;
        }
        double rate = n / (now_s() - start);
        if (rate > best) best = rate;
    }
    printf(
        "%d layouts of llama3-70b on 64 H100: %.0f prices a second (best of %d rounds; "
        "mean memory %.1f GB)\n",
        n, best, ROUNDS, memory / n / ROUNDS / 1e9);
    free(prices);
    free(l);
    return best;
}

static double search(const char *arch, const char *machine, int64_t batch, int64_t seq)
{
    weft_cost_model q = model_of(arch, machine);
    weft_plan_options o;
    weft_plan p;

    weft_plan_defaults(&o);
    o.given.global_batch = batch;
    o.given.seq = seq;
    double start = now_s();
    need(weft_plan_make(&q, &o, &p));
    double seconds = now_s() - start;
    printf(
        "%s on %s: %.2f s; %lld layouts, %lld prices, %lld simulated, %lld decided by "
        "bounds",
        arch, machine, seconds, (long long)p.counts.enumerated,
        (long long)p.counts.evaluated, (long long)p.counts.simulated,
        (long long)p.counts.bounded);
    if (p.n_rows)
        printf("; best %.3f s, %.0f TFLOP/s", p.row[0].cost.step_time_s,
               p.row[0].cost.tflops_per_rank);
    printf("\n");
    weft_plan_clear(&p);
    return seconds;
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        search(argv[1], argv[2], atoll(argv[3]), atoll(argv[4]));
        return 0;
    }
    int slow = prices_a_second() < 5e5;
    if (argc > 1 && !strcmp(argv[1], "price")) return slow;
    slow |= search("llama3-70b", "h100:8x8", 256, 4096) > 1;
    slow |= search("llama3-405b", "h100:2048x8", 2048, 8192) > 3;
    return slow;
}
