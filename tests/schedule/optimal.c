/* SPDX-License-Identifier: Apache-2.0 */
/* The kind "optimal": against every other kind in the same memory, against a complete
 * search, and its bound against both. */
#include "exact.h"

enum { MOST_STAGES = 64 };

/* A problem that owns its lists. */
typedef struct problem {
    int p, m, v;
    double f[MOST_STAGES], i[MOST_STAGES], w[MOST_STAGES];
    double free_i[MOST_STAGES], free_w[MOST_STAGES], limit[MOST_STAGES];
    weft_schedule_options opt;
} problem;

static double random_time(uint64_t *seed, double least, double most)
{
    return least + (most - least) * random_below(seed, 21) / 20;
}

/* Stages that differ by up to a fifth, an embedding on the first, a head on the last. */
static void set_times(problem *a, int equal, uint64_t *seed)
{
    int n = a->p * a->v;
    for (int s = 0; s < n; s++) {
        double x = (equal ? 1 : random_time(seed, 0.8, 1.2)) / a->v;
        a->f[s] = x;
        a->i[s] = (equal ? 1 : 1.1) * x;
        a->w[s] = (equal ? 1 : 0.9) * x;
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

static double time_of(const weft_schedule *s, const weft_schedule_options *o)
{
    double *dur = calloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE, sizeof *dur);
    for (int r = 0; r < s->p; r++)
        for (int c = 0; c < s->v; c++) {
            double *d = dur + (r * s->v + c) * WEFT_OP_N_COMPUTE;
            int k = weft_schedule_stage(s, r, c);
            d[WEFT_OP_F] = o->stage_f[k];
            d[WEFT_OP_I] = o->stage_i[k];
            d[WEFT_OP_W] = o->stage_w[k];
            d[WEFT_OP_B] = o->stage_i[k] + o->stage_w[k];
        }
    weft_eval e;
    assert_ok(weft_schedule_eval(s, &(weft_costs){.dur = dur, .latency = o->latency},
                                 NULL, NULL, &e));
    double t = e.makespan;
    weft_eval_clear(&e);
    free(dur);
    return t;
}

/* Most that a rank holds, in forwards of a full stage or in the unit of the lists. */
static double held(const weft_schedule *s, int r, const weft_schedule_options *o)
{
    double now = 0, most = 0;
    for (int64_t k = s->first[r]; k < s->first[r + 1]; k++) {
        const weft_op *op = &s->op[k];
        int stage = weft_schedule_stage(s, r, op->chunk);
        double i = o->stage_free_i ? o->stage_free_i[stage] : 0.5 / s->v;
        double w = o->stage_free_w ? o->stage_free_w[stage] : 0.5 / s->v;
        now += op->kind == WEFT_OP_F   ? i + w
               : op->kind == WEFT_OP_I ? -i
               : op->kind == WEFT_OP_W ? -w
                                       : -i - w;
        most = fmax(most, now);
    }
    return most;
}

static int keeps(const weft_schedule *s, const weft_schedule_options *o)
{
    for (int r = 0; r < s->p; r++) {
        double limit = o->rank_limit ? o->rank_limit[r] : o->mem_limit;
        if (limit > 0 && held(s, r, o) > limit + 1e-9) return 0;
    }
    return 1;
}

/* Time of the schedule found, after all that must hold of it. */
static double solved(const problem *a)
{
    weft_schedule s;
    weft_schedule_lower_bound bound;
    if (weft_schedule_make("optimal", a->p, a->m, a->v, &a->opt, &s) != WEFT_OK)
        fail_msg("p=%d m=%d v=%d: %s", a->p, a->m, a->v, weft_status_message());
    assert_ok(weft_schedule_check(&s, 1, NULL));
    assert_ok(weft_schedule_bound(a->p, a->m, a->v, &a->opt, &bound));
    assert_true(keeps(&s, &a->opt));
    double t = time_of(&s, &a->opt);
    assert_true(bound.makespan <= t * (1 + 1e-9));
    weft_schedule_clear(&s);
    return t;
}

/* ---- against the other kinds ---------------------------------------------------- */

static const char *const others[] = {
    "gpipe", "1f1b",   "eager-1f1b", "interleaved", "looped-bfs",
    "zb-h1", "zb-h2",  "zb-v",       "zb-auto",     "v-half",
    "v-min", "1f1b-v", "dualpipev",  "hanayo",      "interleaved-zb"};
enum { N_OTHERS = sizeof others / sizeof *others };

/* zb-auto is told the mean stage. */
static int make_other(const char *kind, const problem *a, weft_schedule *s)
{
    weft_schedule_options o = {.group = 0};
    if (!strcmp(kind, "zb-auto"))
        o = (weft_schedule_options){.placement = a->opt.placement,
                                    .mem_limit = a->opt.mem_limit,
                                    .latency = a->opt.latency};
    for (int k = 0; !strcmp(kind, "zb-auto") && k < a->p * a->v; k++) {
        o.tf += a->f[k] / a->p;
        o.ti += a->i[k] / a->p;
        o.tw += a->w[k] / a->p;
    }
    if (weft_schedule_make(kind, a->p, a->m, a->v, &o, s) != WEFT_OK) return 0;
    if (s->placement == a->opt.placement) return 1;
    weft_schedule_clear(s);
    return 0;
}

typedef struct score {
    int cells, better, optimal;
} score;

/* Best other kind within the limits; INFINITY if none. */
static double best_other(const problem *a)
{
    double best = INFINITY;
    for (int k = 0; k < N_OTHERS; k++) {
        weft_schedule s;
        if (!make_other(others[k], a, &s)) continue;
        if (keeps(&s, &a->opt)) best = fmin(best, time_of(&s, &a->opt));
        weft_schedule_clear(&s);
    }
    return best;
}

static void compare(const problem *a, score *sum)
{
    weft_schedule_lower_bound bound;
    double other = best_other(a), own = solved(a);
    if (own > other * (1 + 1e-9))
        fail_msg("p=%d m=%d placement %d latency %g: %.12g, but a kind has %.12g", a->p,
                 a->m, (int)a->opt.placement, a->opt.latency, own, other);
    assert_ok(weft_schedule_bound(a->p, a->m, a->v, &a->opt, &bound));
    if (!(other < INFINITY)) return;
    sum->cells++;
    sum->better += own < other * (1 - 1e-9);
    sum->optimal += own <= bound.makespan * (1 + 1e-9);
}

/* As much memory as each of the other kinds takes on each rank. */
static void compare_in_memory_of_each(problem *a, score *sum)
{
    for (int k = 0; k < N_OTHERS; k++) {
        weft_schedule s;
        if (!make_other(others[k], a, &s)) continue;
        for (int r = 0; r < a->p; r++)
            a->limit[r] = held(&s, r, &a->opt);
        weft_schedule_clear(&s);
        a->opt.rank_limit = a->limit;
        compare(a, sum);
        a->opt.rank_limit = NULL;
    }
}

static score compare_grid(int equal, int most_p, int every)
{
    static const int ms[] = {2, 4, 8, 16, 32, 64};
    uint64_t seed = 77;
    score sum = {0};
    int cell = 0;
    for (int p = 2; p <= most_p; p += p < 4 ? 1 : p / 2)
        for (int j = 0; j < 6; j++)
            for (int place = 0; place <= WEFT_PLACE_V; place++)
                for (int latency = 0; latency <= 2; latency++) {
                    problem a = {.p = p, .m = ms[j], .v = place ? 2 : 1};
                    a.opt.placement = (weft_placement_kind)place;
                    a.opt.latency = 0.25 * latency;
                    set_times(&a, equal, &seed);
                    if (cell++ % every == 0) compare_in_memory_of_each(&a, &sum);
                }
    print_message("%s stages: %d cells, better than every kind in %d, on the bound in "
                  "%d\n",
                  equal ? "equal" : "unequal", sum.cells, sum.better, sum.optimal);
    return sum;
}

static int is_long; /* all of a larger grid */

static void is_never_worse_and_mostly_better_on_unequal_stages(void **state)
{
    score sum = compare_grid(0, is_long ? 16 : 8, is_long ? 3 : 23);
    assert_true(sum.better >= (is_long ? 0.5 : 0.4) * sum.cells); /* a small sample */
}

static void is_never_worse_on_equal_stages(void **state)
{
    compare_grid(1, is_long ? 16 : 8, is_long ? 5 : 37);
}

/* ---- against a complete search -------------------------------------------------- */

static void shape_small(problem *a, int place, int p, int m, uint64_t *seed)
{
    *a = (problem){.p = p, .m = m, .v = place ? 2 : 1};
    a->opt.placement = (weft_placement_kind)place;
    a->opt.latency = 0.25 * random_below(seed, 3);
    set_times(a, 0, seed);
}

/* Of the bound too: solved() fails where it is above what was found, and what was found
 * is the optimum here. */
static void is_what_a_complete_search_finds_but_for_one_case_in_fifty(void **state)
{
    uint64_t seed = 5;
    int cases = 0, proved = 0, below = 0, states = is_long ? 1000000 : 10000;
    for (int place = 0; place <= WEFT_PLACE_V; place++)
        for (int p = 2; p <= 4; p++)
            for (int m = 1; m <= 6; m++)
                for (int limited = 0; limited < 2; limited++) {
                    problem a;
                    shape_small(&a, place, p, m, &seed);
                    if (limited)
                        a.opt.mem_limit =
                            1 + random_below(&seed, 2 * (uint32_t)p) / 2.0;
                    double own = solved(&a);
                    weft_schedule q;
                    assert_ok(weft_schedule_shape("optimal", p, m, a.v, &a.opt, &q));
                    exact_answer e = exact_below(&q, &a.opt, own * (1 - 1e-9), states);
                    if (e == EXACT_BELOW)
                        print_message("placement %d p=%d m=%d limit %g latency %g: "
                                      "there is a schedule below %.12g\n",
                                      place, p, m, a.opt.mem_limit, a.opt.latency, own);
                    below += e == EXACT_BELOW;
                    cases++;
                    proved += e == EXACT_NONE;
                }
    assert_true(50 * below <= cases);      /* it is a heuristic */
    assert_true(10 * proved >= 7 * cases); /* the rest is too large to search */
    print_message("%d of %d proved optimal by complete search\n", proved, cases);
}

/* ---- bytes and refusals --------------------------------------------------------- */

static void keeps_bytes_that_differ_by_stage_and_rank(void **state)
{
    uint64_t seed = 9;
    for (int k = 0; k < 60; k++) {
        problem a;
        shape_small(&a, k % 3, 2 + k % 3, 1 + k / 3 % 6, &seed);
        for (int s = 0; s < a.p * a.v; s++) {
            a.free_i[s] = 1e9 + random_below(&seed, 1000000000);
            a.free_w[s] = random_below(&seed, 1000000000);
        }
        for (int r = 0; r < a.p; r++) /* down to the least: one micro-batch */
            for (int c = 0; c < a.v; c++) {
                weft_schedule q;
                assert_ok(weft_schedule_shape("optimal", a.p, a.m, a.v, &a.opt, &q));
                int s = weft_schedule_stage(&q, r, c);
                a.limit[r] += (a.free_i[s] + a.free_w[s]) *
                              (1 + (k % 2 ? 0 : random_below(&seed, 4)));
            }
        a.opt.stage_free_i = a.free_i;
        a.opt.stage_free_w = a.free_w;
        a.opt.rank_limit = a.limit;
        solved(&a);
        a.limit[a.p - 1] = 1e8;
        assert_fails(weft_schedule_applicable("optimal", a.p, a.m, a.v, &a.opt),
                     WEFT_E_INVALID, "--mem-limit 1e+08: one micro-batch needs ");
    }
}

/* More micro-batches or less memory never make the bound smaller, nor a longer stage. */
static void the_bound_grows_with_the_problem(void **state)
{
    uint64_t seed = 3;
    for (int k = 0; k < 300; k++) {
        problem a;
        weft_schedule_lower_bound before, after;
        shape_small(&a, k % 3, 2 + k % 3, 1 + k / 3 % 6, &seed);
        a.opt.mem_limit = 4;
        assert_ok(weft_schedule_bound(a.p, a.m, a.v, &a.opt, &before));
        assert_ok(weft_schedule_bound(a.p, a.m + 1, a.v, &a.opt, &after));
        assert_true(after.makespan >= before.makespan);
        a.opt.mem_limit = 1;
        assert_ok(weft_schedule_bound(a.p, a.m, a.v, &a.opt, &after));
        assert_true(after.makespan >= before.makespan);
        a.opt.mem_limit = 4;
        a.w[random_below(&seed, (uint32_t)(a.p * a.v))] *= 2;
        assert_ok(weft_schedule_bound(a.p, a.m, a.v, &a.opt, &after));
        assert_true(after.makespan >= before.makespan);
    }
}

static void the_same_input_gives_the_same_schedule(void **state)
{
    uint64_t seed = 11;
    problem a;
    shape_small(&a, WEFT_PLACE_LOOP, 4, 6, &seed);
    weft_schedule s, again;
    assert_ok(weft_schedule_make("optimal", 4, 6, 2, &a.opt, &s));
    assert_ok(weft_schedule_make("optimal", 4, 6, 2, &a.opt, &again));
    assert_memory_equal(s.op, again.op, (size_t)s.first[4] * sizeof *s.op);
    weft_schedule_clear(&s);
    weft_schedule_clear(&again);
}

static void refuses_by_name(void **state)
{
    const double one[] = {1, 1, 1, 1}, bad[] = {1, -1, 1, 1};
    const struct {
        weft_schedule_options o;
        int v;
        const char *words;
    } row[] = {
        {{.placement = WEFT_PLACE_BIDIR}, 2, "--placement bidir: optimal knows single"},
        {{.n_stages = 3, .stage_f = one}, 1, "3 stages have times, -p 4 with 1 chunks"},
        {{.n_stages = 4, .stage_f = bad}, 1, "--stage-tf: item 2 is -1, not 0 or more"},
        {{.mem_limit = 0.5}, 1, "--mem-limit 0.5: one micro-batch needs 1 on rank 0"},
        {{.placement = WEFT_PLACE_V}, 3, "-v 3: a V comes back"},
        {{0}, 2, "one stage per rank with --placement single"},
        {{.latency = NAN}, 1, "--latency: item 1 is nan"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_fails(weft_schedule_applicable("optimal", 4, 8, row[i].v, &row[i].o),
                     WEFT_E_INVALID, row[i].words);
}

/* optimal long: the whole grid */
int main(int argc, char **argv)
{
    is_long = argc > 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_never_worse_and_mostly_better_on_unequal_stages),
        cmocka_unit_test(is_never_worse_on_equal_stages),
        cmocka_unit_test(keeps_bytes_that_differ_by_stage_and_rank),
        cmocka_unit_test(the_bound_grows_with_the_problem),
        cmocka_unit_test(the_same_input_gives_the_same_schedule),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(is_what_a_complete_search_finds_but_for_one_case_in_fifty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
