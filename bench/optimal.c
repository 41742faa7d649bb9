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
#include <string.h>
#include <time.h>
#include <weft/schedule.h>

enum { MOST_STAGES = 256 };

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

typedef struct problem {
    int p, m, v;
    double f[MOST_STAGES], i[MOST_STAGES], w[MOST_STAGES];
    weft_schedule_options opt;
} problem;

/* Equal stages; or an embedding on the first of them and a head on the last, and between
 * them stages of which every third is a fifth longer. */
static void set_times(problem *a, int equal)
{
    int n = a->p * a->v;
    for (int s = 0; s < n; s++) {
        double x = (!equal && s % 3 == 1 ? 1.2 : 1.0) / a->v;
        a->f[s] = x;
        a->i[s] = 1.1 * x;
        a->w[s] = 0.9 * x;
    }
    if (!equal) {
        a->f[0] += 0.1;
        a->w[0] += 0.1;
        a->f[n - 1] += 0.2;
        a->i[n - 1] += 0.2;
        a->w[n - 1] += 0.2;
    }
    a->opt.n_stages = n;
    a->opt.stage_f = a->f;
    a->opt.stage_i = a->i;
    a->opt.stage_w = a->w;
}

static double time_of(const weft_schedule *s, const problem *a)
{
    static double dur[MOST_STAGES * WEFT_OP_N_COMPUTE];
    for (int r = 0; r < s->p; r++)
        for (int c = 0; c < s->v; c++) {
            double *d = dur + (r * s->v + c) * WEFT_OP_N_COMPUTE;
            int k = weft_schedule_stage(s, r, c);
            d[WEFT_OP_F] = a->f[k];
            d[WEFT_OP_I] = a->i[k];
            d[WEFT_OP_W] = a->w[k];
            d[WEFT_OP_B] = a->i[k] + a->w[k];
        }
    weft_eval e;
    weft_costs costs = {.dur = dur, .latency = a->opt.latency};
    need(weft_schedule_eval(s, &costs, NULL, NULL, &e));
    double t = e.makespan;
    weft_eval_clear(&e);
    return t;
}

static int fits(const weft_schedule *s, double forwards)
{
    for (int r = 0; r < s->p; r++) {
        int64_t halves = 0;
        for (int64_t k = s->first[r]; k < s->first[r + 1]; k++) {
            halves += s->op[k].kind == WEFT_OP_F   ? 2
                      : s->op[k].kind == WEFT_OP_B ? -2
                                                   : -1;
            if ((double)halves > 2 * s->v * forwards) return 0;
        }
    }
    return 1;
}

/* Of a kind with the placement that keeps the limit; NaN where it cannot. */
static double time_of_kind(const char *kind, const problem *a)
{
    weft_schedule_options o = {.group = 0};
    weft_schedule s;
    if (!strcmp(kind, "zb-auto"))
        o = (weft_schedule_options){.placement = a->opt.placement,
                                    .mem_limit = a->opt.mem_limit,
                                    .latency = a->opt.latency,
                                    .tf = 1,
                                    .ti = 1.1,
                                    .tw = 0.9};
    if (weft_schedule_make(kind, a->p, a->m, a->v, &o, &s) != WEFT_OK) return NAN;
    double t = s.placement == a->opt.placement && fits(&s, a->opt.mem_limit)
                   ? time_of(&s, a)
                   : NAN;
    weft_schedule_clear(&s);
    return t;
}

static const char *const synchronous[] = {
    "gpipe", "1f1b",   "eager-1f1b", "interleaved", "looped-bfs",
    "zb-h1", "zb-h2",  "zb-v",       "zb-auto",     "v-half",
    "v-min", "1f1b-v", "dualpipev",  "hanayo",      "interleaved-zb"};

static double best_kind(const problem *a, const char **name)
{
    double best = INFINITY;
    *name = "none fits";
    for (size_t k = 0; k < sizeof synchronous / sizeof *synchronous; k++) {
        double t = time_of_kind(synchronous[k], a);
        if (!(t < best)) continue;
        best = t;
        *name = synchronous[k];
    }
    return best;
}

static void put_gain(double other, double own)
{
    if (isfinite(other))
        printf(" %.2f |", 100 * (other / own - 1));
    else
        printf(" - |");
}

static void put_row(problem *a, int equal, double limit_of_p, double latency)
{
    static const char *const place[] = {"single", "loop", "v"};
    const char *best;
    weft_schedule s;
    weft_schedule_lower_bound bound;
    set_times(a, equal);
    a->opt.latency = latency;
    a->opt.mem_limit = ceil(limit_of_p * a->p);
    double t = now();
    need(weft_schedule_make("optimal", a->p, a->m, a->v, &a->opt, &s));
    t = now() - t;
    need(weft_schedule_bound(a->p, a->m, a->v, &a->opt, &bound));
    double own = time_of(&s, a), other = best_kind(a, &best);
    printf("| %s | %d | %d | %s | %g | %g | %.2f | %.2f | %.2f | %.0f |",
           place[a->opt.placement], a->p, a->m, equal ? "equal" : "unequal",
           a->opt.mem_limit, latency, own, bound.makespan,
           100 * fabs(own / bound.makespan - 1), 1e3 * t);
    printf(" %s |", best);
    put_gain(other, own);
    put_gain(time_of_kind("zb-auto", a), own);
    put_gain(time_of_kind("zb-v", a), own);
    put_gain(time_of_kind("dualpipev", a), own);
    printf("\n");
    fflush(stdout);
    weft_schedule_clear(&s);
}

static void put_size(int p, int m)
{
    for (int place = 0; place <= WEFT_PLACE_V; place++) {
        problem a = {.p = p, .m = m, .v = place ? 2 : 1};
        a.opt.placement = (weft_placement_kind)place;
        put_row(&a, 1, 1, 0);
        put_row(&a, 0, 1, 0);
        put_row(&a, 0, 1, 0.25);
        put_row(&a, 0, 0.625, 0);
        put_row(&a, 0, 2, 0.5);
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
