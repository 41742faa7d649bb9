/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time and memory of generate + check + eval (summary only), and apart from them of the
 * lowered form, which a planner does not need.
 *
 *     bench_schedule                      interleaved 64 4096 2: 1,048,576 ops
 *     bench_schedule KIND P M V           V 0: the kind's own
 *     bench_schedule kinds [P M]          a line for every kind
 *     bench_schedule row KIND P M V [LIMIT TF TI TW PLACEMENT]
 *                                         one line for a program: ops, ms to generate, to
 *                                         check, to simulate, makespan; the options are
 *                                         those of zb-auto, times of a full stage
 *
 * Exit 1 above 0.1 s or 32 MiB for the default size, or above 0.1 s for a kind whose order
 * is written out, at 64 4096.
 */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <weft/alloc.h>
#include <weft/sim.h>

enum { REPEATS = 7 };

/* The library's own bytes: each block carries its size in front. */
static size_t live, peak;

static void *counted_realloc(void *old, size_t n)
{
    max_align_t *head = old ? (max_align_t *)old - 1 : NULL;
    size_t before = head ? *(size_t *)head : 0;
    head = realloc(head, n + sizeof *head);
    if (!head) return NULL;
    *(size_t *)head = n;
    live += n - before;
    if (live > peak) peak = live;
    return head + 1;
}

static void counted_free(void *block)
{
    max_align_t *head = (max_align_t *)block - 1;
    live -= *(size_t *)head;
    free(head);
}

/* Time on the core, so that a busy machine changes little. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void need(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "bench_schedule: %s\n", weft_status_message());
    exit(2);
}

typedef struct times {
    double generate, check, eval, lower, check_lowered;
    double makespan, closed;
    int64_t ops;
} times;

static void measure(const char *kind, int p, int m, int v,
                    const weft_schedule_options *opt, times *t)
{
    static const weft_schedule_options plain = {.tf = 1, .ti = 1, .tw = 1};
    const weft_schedule_options *o = opt ? opt : &plain;
    weft_schedule s;
    weft_eval e;
    double t0 = now();
    need(weft_schedule_make(kind, p, m, v, opt, &s));
    double t1 = now();
    need(weft_schedule_check(&s, 0, NULL));
    double t2 = now();
    double *dur = malloc((size_t)p * (size_t)s.v * WEFT_OP_N_COMPUTE * sizeof *dur);
    if (!dur) exit(2);
    weft_costs_uniform(&s, o->tf, o->ti + o->tw, o->ti, o->tw, 0, dur);
    need(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e));
    double t3 = now();

    *t = (times){.generate = t1 - t0,
                 .check = t2 - t1,
                 .eval = t3 - t2,
                 .makespan = e.makespan,
                 .closed = weft_schedule_closed_makespan(&s, 1, 2),
                 .ops = s.first[p]};
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
    free(dur);
}

static void measure_lowered(const char *kind, int p, int m, int v, times *t)
{
    weft_schedule s, low;
    need(weft_schedule_make(kind, p, m, v, NULL, &s));
    double t0 = now();
    need(weft_schedule_lower(&s, &low));
    double t1 = now();
    need(weft_schedule_check(&low, 1, NULL));
    t->lower = t1 - t0;
    t->check_lowered = now() - t1;
    weft_schedule_clear(&low);
    weft_schedule_clear(&s);
}

static double total(const times *t)
{
    return t->generate + t->check + t->eval;
}

/* Found by a search, of which the time is not promised. */
static int is_searched(const char *kind)
{
    static const char *const kinds[] = {"zb-auto", "v-half", "v-min", "1f1b-v",
                                        "optimal"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i])) return 1;
    return 0;
}

static int measure_kinds(int p, int m)
{
    int slow = 0;
    printf("%-15s %9s %10s %8s %8s %8s   ms, p=%d m=%d\n", "kind", "ops", "generate",
           "check", "eval", "total", p, m);
    for (int k = 0; k < weft_schedule_kind_count(); k++) {
        const char *kind = weft_schedule_kind_name(weft_schedule_kind_at(k));
        times best = {0}, t;
        for (int i = 0; i < REPEATS; i++) {
            measure(kind, p, m, strcmp(kind, "interleaved") ? 0 : 2, NULL, &t);
            if (!i || total(&t) < total(&best)) best = t;
        }
        printf("%-15s %9lld %10.2f %8.2f %8.2f %8.2f%s\n", kind, (long long)best.ops,
               1e3 * best.generate, 1e3 * best.check, 1e3 * best.eval,
               1e3 * total(&best), is_searched(kind) ? "   (searched)" : "");
        slow |= !is_searched(kind) && p == 64 && m == 4096 && total(&best) >= 0.1;
    }
    return slow;
}

static int measure_row(int argc, char **argv)
{
    weft_schedule_options o = {.mem_limit = 0};
    times best = {0}, t;
    if (argc != 6 && argc != 11) return 2;
    if (argc == 11) {
        o.mem_limit = atof(argv[6]);
        o.tf = atof(argv[7]);
        o.ti = atof(argv[8]);
        o.tw = atof(argv[9]);
        need(weft_placement_find(argv[10], &o.placement));
    }
    for (int i = 0; i < REPEATS; i++) {
        measure(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]),
                argc == 11 ? &o : NULL, &t);
        if (!i || total(&t) < total(&best)) best = t;
    }
    printf("%lld %.6g %.6g %.6g %.17g\n", (long long)best.ops, 1e3 * best.generate,
           1e3 * best.check, 1e3 * best.eval, best.makespan);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "row")) return measure_row(argc, argv);
    if (argc > 1 && !strcmp(argv[1], "kinds"))
        return measure_kinds(argc == 4 ? atoi(argv[2]) : 64,
                             argc == 4 ? atoi(argv[3]) : 4096);
    const char *kind = argc == 5 ? argv[1] : "interleaved";
    int p = argc == 5 ? atoi(argv[2]) : 64, m = argc == 5 ? atoi(argv[3]) : 4096;
    int v = argc == 5 ? atoi(argv[4]) : 2;
    long rss = resident_kib();
    times best, t;

    weft_set_allocator(counted_realloc, counted_free);
    measure(kind, p, m, v, NULL, &best);
    long rss_grown = resident_kib() - rss;
    size_t own = peak;
    double cold = total(&best);
    for (int i = 1; i < REPEATS; i++) {
        measure(kind, p, m, v, NULL, &t);
        if (total(&t) < total(&best)) best = t;
    }
    measure_lowered(kind, p, m, v, &best);

    printf("%s p=%d m=%d v=%d: %lld ops, makespan %.17g (closed form %.17g)\n", kind, p,
           m, v, (long long)best.ops, best.makespan, best.closed);
    printf("generate %7.2f ms\ncheck    %7.2f ms\neval     %7.2f ms\n",
           1e3 * best.generate, 1e3 * best.check, 1e3 * best.eval);
    printf("total    %7.2f ms   best of %d; first run %.2f ms\n", 1e3 * total(&best),
           (int)REPEATS, 1e3 * cold);
    printf(
        "memory   %7.2f MiB  of libweft at its peak; resident size grew by %.2f MiB\n",
        (double)own / 1048576, (double)rss_grown / 1024);
    printf("apart: lower %.2f ms, check of the lowered form %.2f ms\n",
           1e3 * best.lower, 1e3 * best.check_lowered);
    if (argc != 5 && (cold >= 0.1 || rss_grown > 32 * 1024)) return 1;
    return live ? 1 : 0;
}
