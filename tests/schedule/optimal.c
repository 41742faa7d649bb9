/* SPDX-License-Identifier: Apache-2.0 */
/* The kind "optimal" against every other kind in the same memory; its limits, its bound and
 * what it refuses. small.c has it against complete searches. */
#include "schedule/problems.h"
#include "support.h"

/* Time of the schedule found, after all that must hold of it. */
static double solved(const problem *a, weft_schedule_lower_bound *bound)
{
    weft_schedule s;
    weft_schedule_lower_bound quick;
    if (weft_schedule_optimal(a->p, a->m, a->v, &a->opt, &s, bound) != WEFT_OK)
        fail_msg("p=%d m=%d v=%d: %s", a->p, a->m, a->v, weft_status_message());
    assert_ok(weft_schedule_check(&s, 1, NULL));
    assert_ok(weft_schedule_bound(a->p, a->m, a->v, &a->opt, &quick));
    assert_true(keeps_limits(&s, &a->opt));
    double t = time_of(&s, &a->opt);
    assert_true(quick.makespan <= bound->makespan * (1 + 1e-12));
    assert_true(bound->makespan <= t * (1 + 1e-9));
    assert_true(!bound->by_search || t <= bound->makespan * (1 + 1e-9));
    weft_schedule_clear(&s);
    return t;
}

/* ---- against the other kinds ---------------------------------------------------- */

typedef struct score {
    int cells, better, optimal;
} score;

static void compare(const problem *a, void *ctx)
{
    score *sum = ctx;
    const char *name;
    weft_schedule_lower_bound bound;
    double other = best_other(a, &name), own = solved(a, &bound);
    if (own > other * (1 + 1e-9))
        fail_msg("p=%d m=%d placement %d latency %g: %.12g, but %s has %.12g", a->p,
                 a->m, (int)a->opt.placement, a->opt.latency, own, name, other);
    if (!(other < INFINITY)) return;
    sum->cells++;
    sum->better += own < other * (1 - 1e-9);
    sum->optimal += own <= bound.makespan * (1 + 1e-9);
}

static int is_long; /* all of a larger grid */

static score compare_all(stage_times times, int every)
{
    score sum = {0};
    each_cell(&(grid){is_long ? 16 : 8, every, times, 77}, compare, &sum);
    print_message(
        "%s stages: %d cells, better than every kind in %d, proved optimal in "
        "%d\n",
        times == STAGES_EQUAL ? "equal" : "unequal", sum.cells, sum.better,
        sum.optimal);
    return sum;
}

static void is_never_worse_and_mostly_better_on_unequal_stages(void **state)
{
    score sum = compare_all(STAGES_RANDOM, is_long ? 3 : 23);
    assert_true(sum.better >= (is_long ? 0.5 : 0.4) * sum.cells); /* a small sample */
}

static void is_never_worse_on_equal_stages(void **state)
{
    compare_all(STAGES_EQUAL, is_long ? 5 : 37);
}

/* p, m and latency by chance. */
static void set_up_small(problem *a, int k, uint64_t *seed)
{
    set_up(a, (weft_placement_kind)(k % 3), 2 + k % 3, 1 + k / 3 % 6, STAGES_RANDOM,
           seed);
    a->opt.latency = 0.25 * random_below(seed, 3);
}

/* ---- bytes and refusals --------------------------------------------------------- */

static void keeps_bytes_that_differ_by_stage_and_rank(void **state)
{
    uint64_t seed = 9;
    for (int k = 0; k < 60; k++) {
        problem a;
        set_up_small(&a, k, &seed);
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
        weft_schedule_lower_bound bound;
        solved(&a, &bound);
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
        set_up_small(&a, k, &seed);
        a.opt.mem_limit = 4;
        assert_ok(weft_schedule_bound(a.p, a.m, a.v, &a.opt, &before));
        assert_ok(weft_schedule_bound(a.p, a.m + 1, a.v, &a.opt, &after));
        assert_true(after.makespan >= before.makespan * (1 - 1e-12));
        a.opt.mem_limit = 1;
        assert_ok(weft_schedule_bound(a.p, a.m, a.v, &a.opt, &after));
        assert_true(after.makespan >= before.makespan * (1 - 1e-12));
        a.opt.mem_limit = 4;
        a.w[random_below(&seed, (uint32_t)(a.p * a.v))] *= 2;
        assert_ok(weft_schedule_bound(a.p, a.m, a.v, &a.opt, &after));
        assert_true(after.makespan >= before.makespan * (1 - 1e-12));
    }
}

static void the_same_input_gives_the_same_schedule(void **state)
{
    uint64_t seed = 11;
    problem a;
    set_up(&a, WEFT_PLACE_LOOP, 4, 10, STAGES_RANDOM, &seed);
    weft_schedule s, again;
    assert_ok(weft_schedule_make("optimal", 4, 10, 2, &a.opt, &s));
    assert_ok(weft_schedule_make("optimal", 4, 10, 2, &a.opt, &again));
    assert_memory_equal(s.op, again.op, (size_t)s.first[4] * sizeof *s.op);
    weft_schedule_clear(&s);
    weft_schedule_clear(&again);
}

static double time_with(const problem *a, const weft_schedule_options *made_for,
                        double *bound)
{
    weft_schedule s;
    weft_schedule_lower_bound b;
    assert_ok(weft_schedule_optimal(a->p, a->m, a->v, made_for, &s, &b));
    double t = time_of(&s, &a->opt);
    weft_schedule_clear(&s);
    *bound = b.makespan;
    return t;
}

/* Two nodes, slow between them: an order that knows which link is the slow one is mostly
 * shorter than one made for the mean of all, and never longer where it is proved. */
static void orders_are_made_for_the_link_that_is_slow(void **state)
{
    int n = 0, better = 0;
    for (int place = WEFT_PLACE_SINGLE; place <= WEFT_PLACE_V; place++)
        for (int m = 2; m <= 6; m += 2) {
            problem a;
            double bound, ignored;
            uint64_t seed = 7;
            set_up(&a, (weft_placement_kind)place, 4, m, STAGES_RANDOM, &seed);
            a.tier[0] = (weft_link_tier){.ranks = 2, .bandwidth = 16};
            a.tier[1] = (weft_link_tier){.latency = 1.5, .bandwidth = 16};
            a.opt.tier = a.tier;
            a.opt.n_tiers = 2;
            a.opt.message_bytes =
                1; /* takes a sixteenth, and leaves no gap to wait for */
            weft_schedule_options mean = a.opt;
            int hops = place == WEFT_PLACE_LOOP ? 7 : place == WEFT_PLACE_V ? 6 : 3;
            int slow = place == WEFT_PLACE_SINGLE ? 1 : place == WEFT_PLACE_V ? 2 : 3;
            mean.n_tiers = 0;
            mean.latency = 0.0625 + 1.5 * slow / hops;
            double own = time_with(&a, &a.opt, &bound);
            double other = time_with(&a, &mean, &ignored);
            assert_true(own >= bound * (1 - 1e-9));
            if (own <= bound * (1 + 1e-9)) assert_true(own <= other * (1 + 1e-9));
            better += own < other * (1 - 1e-9);
            n++;
        }
    print_message("%d of %d are shorter than what is made for the mean link\n", better,
                  n);
    assert_true(better * 2 > n);
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
        {{.n_tiers = 1, .tier = &(weft_link_tier){.latency = -1}},
         1,
         "latency -1 of link tier 0 is not 0 or more"},
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
        cmocka_unit_test(orders_are_made_for_the_link_that_is_slow),
        cmocka_unit_test(the_bound_grows_with_the_problem),
        cmocka_unit_test(the_same_input_gives_the_same_schedule),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
