/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of the plans of any model on any machine: small ones at random. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>
#include <weft/plan.h>
#include <weft/predict.h>

enum { TRIALS = 24 };

typedef struct trial {
    char arch[160], machine[80]; /* for messages */
    weft_cost_model q;
    weft_plan_options o;
} trial;

static uint64_t state_of;

/* 0 .. n-1; Knuth's MMIX generator, its upper bits. */
static int draw(int n)
{
    state_of = state_of * 6364136223846793005u + 1442695040888963407u;
    return (int)((state_of >> 33) % (uint64_t)n);
}

static void prepare(trial *t)
{
    weft_arch a;
    weft_machine m;
    weft_cost_options o;

    weft_cost_defaults(&o);
    o.fused_attention = draw(4) > 0;
    o.overlap_dp = draw(4) > 0;
    o.overlap_pp = draw(4) > 0;
    if (weft_arch_parse(t->arch, &a) || weft_machine_parse(t->machine, &m) ||
        weft_cost_prepare(&a, &m, &o, &t->q))
        fail_msg("%s on %s: %s", t->arch, t->machine, weft_status_message());
}

static trial at_random(uint64_t seed)
{
    trial t;

    state_of = seed * 2654435761u + 12345;
    snprintf(t.arch, sizeof t.arch,
             "family=llama,layers=%d,hidden=%d,heads=8,kv_heads=4,ffn=2816,vocab=%d,"
             "positions=4096%s",
             3 + draw(12), 512 << draw(3), draw(2) ? 32000 : 128000,
             draw(4) ? "" : ",experts=4,experts_per_token=2");
    snprintf(t.machine, sizeof t.machine, "%s:%dx%d,memory=%dMiB,reserve=0.25GiB",
             draw(2) ? "h100" : "a100-80", 1 << draw(3), 2 << draw(2),
             1500 + draw(8000));
    prepare(&t);
    weft_tier *tier = t.q.machine.tier;
    tier[1].bytes_per_s /= 1 << draw(6);
    if (draw(2)) tier[1].alpha_s *= 20;
    weft_plan_defaults(&t.o);
    t.o.tie = 0;
    t.o.top = 3;
    t.o.given.global_batch = 8 << draw(3);
    t.o.given.seq = 1024;
    if (draw(2)) t.o.fixed = 1u << WEFT_DIM_TP | 1u << WEFT_DIM_CP;
    t.o.given.tp = t.o.given.cp = 1;
    return t;
}

static weft_plan plan_of(const trial *t)
{
    weft_plan p;
    if (weft_plan_make(&t->q, &t->o, &p)) fail_msg("%s", weft_status_message());
    return p;
}

static double best_s(const trial *t)
{
    weft_plan p = plan_of(t);
    double s = p.n_rows ? p.row[0].cost.step_time_s : HUGE_VAL;
    weft_plan_clear(&p);
    return s;
}

static void one_tp_rank_sends_nothing_over_tp(void **state)
{
    int alone = 0, split = 0;
    for (int i = 0; i < TRIALS; i++) {
        trial t = at_random((uint64_t)i);
        weft_plan p = plan_of(&t);
        for (int r = 0; r < p.n_rows; r++) {
            const weft_cost *c = &p.row[r].cost;
            int one = p.row[r].layout.tp == 1;
            assert_true(one == (c->time.tp_comm == 0));
            assert_true(one == (c->ratio_tp == 0));
            assert_true((p.row[r].layout.pp == 1) == (c->ratio_pp == 0));
            if (p.row[r].layout.dp * p.row[r].layout.cp == 1) assert_true(c->dp_s == 0);
            alone += one;
            split += !one;
        }
        weft_plan_clear(&p);
    }
    assert_true(alone > 20 && split > 5);
}

/* Of the space, whose search is exact; each tier alone and all. */
static void more_bandwidth_never_makes_the_best_plan_slower(void **state)
{
    int planned = 0, faster = 0;
    for (int i = 0; i < TRIALS; i++) {
        trial t = at_random(1000 + (uint64_t)i);
        t.o.space_only = 1;
        double before = best_s(&t);
        for (int which = 0; which < 3; which++) {
            trial more = t;
            for (int k = 0; k < 2; k++)
                if (which == 2 || which == k) more.q.machine.tier[k].bytes_per_s *= 2;
            /* faster outwards than inside: another case of the search */
            double after = best_s(&more);
            if (after > before * (1 + 1e-12))
                fail_msg("%.9g s, twice the bandwidth (%d): %.9g s; %s on %s", before,
                         which, after, t.arch, t.machine);
            faster += after < before * 0.99;
        }
        planned += before < HUGE_VAL;
    }
    assert_true(planned > TRIALS / 2 && faster > 10);
}

static void more_memory_never_makes_the_best_plan_slower(void **state)
{
    int faster = 0;
    for (int i = 0; i < TRIALS; i++) {
        trial t = at_random(2000 + (uint64_t)i);
        t.o.space_only = 1;
        double before = best_s(&t);
        for (int k = 0; k < 3; k++) {
            t.q.machine.memory_bytes *= 1.25;
            double after = best_s(&t);
            if (after > before * (1 + 1e-12))
                fail_msg("%.9g s, with more memory %.9g s; %s on %s", before, after,
                         t.arch, t.machine);
            faster += after < before;
            before = after;
        }
    }
    assert_true(faster > 10);
}

static void more_flops_never_make_the_best_plan_slower(void **state)
{
    for (int i = 0; i < TRIALS; i++) {
        trial t = at_random(3000 + (uint64_t)i), more = t;
        t.o.space_only = more.o.space_only = 1;
        more.q.machine.flops_per_s[WEFT_MATH_BF16] *= 1.5;
        assert_true(best_s(&more) <= best_s(&t) * (1 + 1e-12));
    }
}

/* What is tried beside the space takes a row's place only where it is better; all of it is
 * legal, fits, and is what a report of it says. */
static void what_is_beside_the_space_betters_rows(void **state)
{
    int lists = 0, searched = 0, groups = 0;
    for (int i = 0; i < 3 * TRIALS; i++) {
        trial t = at_random(4000 + (uint64_t)i);
        t.o.top = 20;
        weft_plan p = plan_of(&t);
        t.o.space_only = 1;
        assert_true(!p.n_rows || p.row[0].cost.step_time_s <= best_s(&t) * (1 + 1e-12));
        for (int r = 0; r < p.n_rows; r++) {
            const weft_layout *l = &p.row[r].layout;
            int beside = 0;
            if (strchr(l->recompute, '*')) lists++, beside = 1;
            if (l->group) groups++, beside = 1;
            if (!strcmp(l->schedule, "zb-auto") || !strcmp(l->schedule, "optimal"))
                searched++, beside = 1;
            if (!beside) continue;
            weft_cost c;
            assert_int_equal(weft_layout_plan_check(l, &t.q.arch), WEFT_OK);
            assert_int_equal(weft_predict(&t.q, l, NULL, NULL, &c), WEFT_OK);
            assert_true(c.fits);
            assert_true(fabs(c.step_time_s / p.row[r].cost.step_time_s - 1) < 1e-12);
            assert_true(c.memory.total == p.row[r].cost.memory.total);
        }
        weft_plan_clear(&p);
    }
    print_message("%d lists of recompute, %d searched kinds, %d groups\n", lists,
                  searched, groups);
    assert_true(lists > 0 && searched > 0 && groups > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tp_rank_sends_nothing_over_tp),
        cmocka_unit_test(more_bandwidth_never_makes_the_best_plan_slower),
        cmocka_unit_test(more_memory_never_makes_the_best_plan_slower),
        cmocka_unit_test(more_flops_never_make_the_best_plan_slower),
        cmocka_unit_test(what_is_beside_the_space_betters_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
