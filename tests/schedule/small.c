/* SPDX-License-Identifier: Apache-2.0 */
/* The kind "optimal" on small problems, and its bound, against a complete search (exact.c),
 * and that against every order there is (brute.c). */
#include "brute.h"
#include "exact.h"
#include "problems.h"

static int is_long; /* more problems, more states */

/* Stages that differ a little; in whole numbers up to 5, W's of no time among them; equal;
 * or in anything from half to double. */
static void draw_times(problem *a, uint64_t *seed)
{
    uint32_t how = random_below(seed, 4);
    for (int s = 0; s < a->p * a->v && how; s++) {
        a->f[s] = a->i[s] = a->w[s] = 1;
        if (how == 2) continue;
        a->f[s] =
            how == 1 ? 1 + random_below(seed, 5) : 0.5 + random_below(seed, 31) / 20.;
        a->i[s] =
            how == 1 ? 1 + random_below(seed, 5) : 0.5 + random_below(seed, 31) / 20.;
        a->w[s] = how == 1 ? random_below(seed, 6) : random_below(seed, 41) / 20.;
    }
}

/* None, in forwards, or in a unit of its own that differs by stage and rank. */
static void draw_limits(problem *a, uint64_t *seed)
{
    uint32_t how = random_below(seed, 3);
    weft_schedule q;
    assert_ok(weft_schedule_shape("optimal", a->p, a->m, a->v, &a->opt, &q));
    if (how == 1) a->opt.mem_limit = 1 + random_below(seed, 2 * (uint32_t)a->p) / 2.0;
    if (how < 2) return;
    for (int s = 0; s < a->p * a->v; s++) {
        a->free_i[s] = random_below(seed, 10);
        a->free_w[s] = random_below(seed, 10);
    }
    for (int r = 0; r < a->p; r++) {
        double one = 0;
        for (int c = 0; c < a->v; c++) {
            int s = weft_schedule_stage(&q, r, c);
            one += a->free_i[s] + a->free_w[s];
        }
        a->limit[r] = one > 0 ? one * (4 + random_below(seed, 9)) / 4 : 1;
    }
    a->opt.stage_free_i = a->free_i;
    a->opt.stage_free_w = a->free_w;
    a->opt.rank_limit = a->limit;
}

static void draw(problem *a, int most_p, int most_m, uint64_t *seed)
{
    int place = (int)random_below(seed, 3);
    int p = 2 + (int)random_below(seed, (uint32_t)most_p - 1);
    int m = 1 + (int)random_below(seed, (uint32_t)most_m);
    set_up(a, (weft_placement_kind)place, p, m, STAGES_RANDOM, seed);
    if (random_below(seed, 2)) a->opt.latency = 0.125 * (1 + random_below(seed, 4));
    draw_times(a, seed);
    draw_limits(a, seed);
}

static weft_schedule shape_of(const problem *a)
{
    weft_schedule q;
    assert_ok(weft_schedule_shape("optimal", a->p, a->m, a->v, &a->opt, &q));
    return q;
}

/* What was found; and both bounds, of which the better one is the second. */
static double solved(const problem *a, double bound[2])
{
    weft_schedule s;
    weft_schedule_lower_bound quick, best;
    assert_ok(weft_schedule_bound(a->p, a->m, a->v, &a->opt, &quick));
    assert_ok(weft_schedule_optimal(a->p, a->m, a->v, &a->opt, &s, &best));
    assert_ok(weft_schedule_check(&s, 1, NULL));
    assert_true(keeps_limits(&s, &a->opt));
    double t = time_of(&s, &a->opt);
    weft_schedule_clear(&s);
    bound[0] = quick.makespan;
    bound[1] = best.makespan;
    return t;
}

static void print_problem(const problem *a, double own, const char *what)
{
    print_message("placement %d p=%d m=%d latency %g limit %g%s: %.12g, %s\n",
                  (int)a->opt.placement, a->p, a->m, a->opt.latency, a->opt.mem_limit,
                  a->opt.rank_limit ? " by rank" : "", own, what);
}

static void finds_the_best_of_all_orders_of_two_ranks(void **state)
{
    uint64_t seed = 17;
    int n = 0, limited_v = 0, most = is_long ? 2000000 : 8000;
    for (int k = 0; k < (is_long ? 2000 : 300); k++) {
        problem a;
        double bound[2];
        draw(&a, 2, 3, &seed);
        weft_schedule q = shape_of(&a);
        double best = brute_optimum(&q, &a.opt, most);
        if (isnan(best)) continue;
        assert_near(solved(&a, bound), best);
        assert_true(bound[0] <= best * (1 + 1e-9));
        assert_near(bound[1], best);
        assert_int_equal(exact_below(&q, &a.opt, best * (1 - 1e-9), 100000),
                         EXACT_NONE);
        assert_int_equal(exact_below(&q, &a.opt, best * (1 + 1e-9), 100000),
                         EXACT_BELOW);
        n++;
        limited_v += a.v > 1 && (a.opt.mem_limit > 0 || a.opt.rank_limit);
    }
    print_message("%d problems, %d of them with a limit for two chunks\n", n,
                  limited_v);
    assert_true(n >= 100 && limited_v >= 20);
}

/* What both searches, which share no code, say of some problems. */
typedef struct answers {
    int cases, closed, proved, open, below;
} answers;

/* The bound of a search that was complete is checked too: it is what was found, and below
 * that nothing is. */
static void ask_both(const problem *a, answers *x)
{
    double bound[2], own = solved(a, bound);
    int is_proved = own <= bound[1] * (1 + 1e-9);
    weft_schedule q = shape_of(a);
    exact_answer e =
        exact_below(&q, &a->opt, own * (1 - 1e-9), is_long ? 3000000 : 60000);
    if (e == EXACT_BELOW) print_problem(a, own, "there is a better one");
    if (e == EXACT_BELOW && is_proved) fail_msg("and the bound is above it");
    if (e == EXACT_UNKNOWN && !is_proved) print_problem(a, own, "neither proves it");
    x->cases++;
    x->closed += e == EXACT_NONE;
    x->proved += is_proved;
    x->open += e == EXACT_UNKNOWN && !is_proved;
    x->below += e == EXACT_BELOW;
}

static void assert_agreed(const answers *x)
{
    print_message("%d problems: %d closed by the search of the test, %d proved by its "
                  "own, %d by neither, better than it %d\n",
                  x->cases, x->closed, x->proved, x->open, x->below);
    assert_int_equal(x->below, 0);
    assert_true(100 * x->closed >= 90 * x->cases);
    assert_true(1000 * x->proved >= 990 * x->cases);
    assert_true(200 * x->open <= x->cases);
}

static void finds_what_a_complete_search_finds(void **state)
{
    uint64_t seed = 1;
    answers x = {0};
    for (int k = 0; k < (is_long ? 3000 : 300); k++) {
        problem a;
        draw(&a, 4, 6, &seed);
        ask_both(&a, &x);
    }
    assert_agreed(&x);
}

/* Nodes of 1 to 3 ranks, slower between than within. */
static void draw_links(problem *a, uint64_t *seed)
{
    double near = 0.125 * random_below(seed, 3);
    int ranks = 1 + (int)random_below(seed, 3);
    a->tier[0] = (weft_link_tier){.ranks = ranks, .latency = near};
    a->tier[1] = (weft_link_tier){.latency = near + 0.125 * random_below(seed, 6)};
    a->opt.tier = a->tier;
    a->opt.n_tiers = 2;
}

static void finds_it_where_links_differ(void **state)
{
    uint64_t seed = 5;
    answers x = {0};
    for (int k = 0; k < (is_long ? 600 : 60); k++) {
        problem a;
        draw(&a, 4, 5, &seed);
        draw_links(&a, &seed);
        ask_both(&a, &x);
    }
    assert_agreed(&x);
}

/* optimal_small long: thousands */
int main(int argc, char **argv)
{
    is_long = argc > 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_best_of_all_orders_of_two_ranks),
        cmocka_unit_test(finds_what_a_complete_search_finds),
        cmocka_unit_test(finds_it_where_links_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
