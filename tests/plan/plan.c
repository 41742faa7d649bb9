/* SPDX-License-Identifier: Apache-2.0 */
/* The search against the search without pruning, what its pruning rests on, and the verdicts
 * of the lessons. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>
#include <weft/plan.h>
#include <weft/predict.h>

#include "cost/prices.h"
#include "layout/rule.h"
#include "plan/pool.h"
#include "plan/space.h"

#define SMALL                                                                          \
    "family=llama,layers=8,hidden=1024,heads=8,kv_heads=4,ffn=2816,vocab=32000,"       \
    "positions=4096"
/* Nothing divides it but its batch. */
#define ONE_LAYER                                                                      \
    "family=llama,layers=1,hidden=2048,heads=1,ffn=16384,vocab=32000,positions=4096"
#define MOE SMALL ",experts=4,experts_per_token=2"

static weft_cost_model model_of(const char *arch, const char *machine)
{
    weft_arch a;
    weft_machine m;
    weft_cost_options o;
    weft_cost_model q;

    weft_cost_defaults(&o);
    if (weft_arch_parse(arch, &a) || weft_machine_parse(machine, &m) ||
        weft_cost_prepare(&a, &m, &o, &q))
        fail_msg("%s %s: %s", arch, machine, weft_status_message());
    return q;
}

static weft_plan_options options_of(int64_t batch, int64_t seq)
{
    weft_plan_options o;
    weft_plan_defaults(&o);
    o.given.global_batch = batch;
    o.given.seq = seq;
    return o;
}

static weft_plan plan_of(const weft_cost_model *q, const weft_plan_options *o)
{
    weft_plan p;
    if (weft_plan_make(q, o, &p)) fail_msg("%s", weft_status_message());
    return p;
}

/* ---- pruning is exact ----------------------------------------------------------------- */

typedef struct space {
    const char *arch, *machine;
    int64_t batch, seq;
    double far; /* the network is so many times slower */
    int zero3;  /* nothing else is asked for                        */
} space;

/* Machines where nothing, something and almost everything is too large; and where it pays to
 * keep copies of shards. */
static const space spaces[] = {
    {SMALL, "h100:1x4", 8, 1024, 1, 0},
    {SMALL, "h100:2x2", 8, 1024, 1, 0},
    {SMALL, "h100:1x4,memory=9GiB,reserve=0.5GiB", 8, 2048, 1, 0},
    {SMALL, "h100:2x2,memory=5GiB,reserve=0.5GiB", 16, 2048, 1, 0},
    {SMALL, "h100:1x4,memory=3500MiB,reserve=0.5GiB", 8, 1024, 1, 0},
    {MOE, "h100:2x2,memory=14GiB,reserve=0.5GiB", 8, 1024, 40, 0},
    {SMALL, "h100:4x2,memory=4GiB,reserve=0.5GiB", 16, 1024, 40, 0},
    {"gpt2", "a100-80:1x4,memory=3GiB,reserve=0.5GiB", 8, 1024, 1, 0},
    {ONE_LAYER, "h100:4x2,memory=9GiB,reserve=0.5GiB", 64, 1023, 40, 1},
};
enum { N_SPACES = sizeof spaces / sizeof *spaces };

static weft_cost_model model_of_space(const space *s)
{
    weft_cost_model q = model_of(s->arch, s->machine);
    q.machine.tier[q.machine.n_tiers - 1].bytes_per_s /= s->far;
    return q;
}

static void assert_same_rows(const weft_plan *a, const weft_plan *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    for (int i = 0; i < a->n_rows; i++) {
        weft_text x = {NULL, 0, 0}, y = {NULL, 0, 0};
        weft_writer u = weft_text_writer(&x), v = weft_text_writer(&y);
        weft_layout_write_json(&a->row[i].layout, &u);
        weft_layout_write_json(&b->row[i].layout, &v);
        assert_string_equal(x.s, y.s);
        assert_true(a->row[i].cost.step_time_s == b->row[i].cost.step_time_s);
        weft_text_clear(&x);
        weft_text_clear(&y);
    }
}

/* Every row says what a report of its layout says. */
static void assert_as_reported(const weft_cost_model *q, const weft_plan_row *row,
                               int n)
{
    for (int i = 0; i < n; i++) {
        weft_cost c;
        assert_int_equal(weft_predict(q, &row[i].layout, NULL, NULL, &c), WEFT_OK);
        assert_true(fabs(row[i].cost.step_time_s / c.step_time_s - 1) < 1e-12);
        assert_true(row[i].cost.memory.total == c.memory.total);
        assert_true(row[i].cost.memory.activations == c.memory.activations);
        assert_int_equal(row[i].cost.memory.stage, c.memory.stage);
        assert_true(row[i].cost.fits && c.fits);
    }
}

static int64_t too_large(const weft_plan *p)
{
    for (int i = 0; i < p->n_rejected; i++)
        if (!strcmp(p->rejected[i].rule, "memory")) return p->rejected[i].count;
    return 0;
}

static void the_pruned_search_finds_what_the_unpruned_one_finds(void **state)
{
    int copies = 0;
    for (int i = 0; i < N_SPACES; i++) {
        const space *s = &spaces[i];
        weft_cost_model q = model_of_space(s);
        weft_plan_options o = options_of(s->batch, s->seq);
        if (s->zero3) {
            o.given.zero = 3;
            o.fixed = 1u << WEFT_DIM_ZERO;
        }
        o.top = 4;
        weft_plan quick = plan_of(&q, &o);
        o.every = 1;
        weft_plan all = plan_of(&q, &o);
        print_message("%s: %lld of %lld simulated, %d rows\n", s->machine,
                      (long long)quick.counts.simulated,
                      (long long)all.counts.simulated, quick.n_rows);
        assert_same_rows(&quick, &all);
        for (int r = 0; r < all.n_rows; r++)
            copies += all.row[r].layout.replicate > 1;
        assert_int_equal(quick.counts.enumerated, all.counts.enumerated);
        assert_true(quick.counts.simulated <= all.counts.simulated);
        assert_true(too_large(&quick) <= too_large(&all)); /* none that would fit */
        assert_as_reported(&q, all.row, all.n_rows);
        weft_plan_clear(&quick);
        weft_plan_clear(&all);
    }
    assert_true(copies > 0);
}

/* With a table for all degrees and a wide tie hardly anything is cut by time: what is called
 * too large then is all that is, and no more. */
static void only_what_does_not_fit_is_called_too_large(void **state)
{
    for (int i = 0; i < N_SPACES; i++) {
        weft_cost_model q = model_of_space(&spaces[i]);
        weft_plan_options o = options_of(spaces[i].batch, spaces[i].seq);
        o.top = 1000;
        o.tie = 0.99;
        weft_plan quick = plan_of(&q, &o);
        o.every = 1;
        weft_plan all = plan_of(&q, &o);
        assert_true(too_large(&quick) <= too_large(&all));
        if (too_large(&all) > 100) assert_true(2 * too_large(&quick) > too_large(&all));
        weft_plan_clear(&quick);
        weft_plan_clear(&all);
    }
}

/* 7 chunks of 1 to 3 layers: were each the largest it would be 78.5 GB. What fits by report
 * fits by plan, and a byte less does not. */
static void memory_of_unequal_chunks_is_that_of_the_schedule(void **state)
{
    weft_cost_model q = model_of("llama3-70b", "h100:8x8");
    weft_plan_options o = options_of(256, 4096);
    weft_cost c;

    o.given.tp = o.given.pp = o.given.dp = 4;
    o.given.vpp = 7;
    o.given.micro_batch = 2;
    o.given.zero = o.given.sp = 1;
    snprintf(o.given.schedule, sizeof o.given.schedule, "interleaved");
    snprintf(o.given.recompute, sizeof o.given.recompute, "selective");
    snprintf(o.given.stage_layers, sizeof o.given.stage_layers, "2,3*25,2,1");
    o.fixed = (1u << WEFT_N_DIMS) - 1;
    assert_int_equal(weft_predict(&q, &o.given, NULL, NULL, &c), WEFT_OK);
    assert_true(fabs(c.memory.total / 1e9 - 75.89) < 0.005);
    for (int less = 0; less < 2; less++) {
        q.machine.memory_bytes = c.memory.total - less;
        weft_plan p = plan_of(&q, &o);
        assert_int_equal(p.n_rows, !less);
        assert_as_reported(&q, p.row, p.n_rows);
        weft_plan_clear(&p);
    }
}

static void counts_add_up(void **state)
{
    for (int i = 0; i < N_SPACES; i++) {
        weft_cost_model q = model_of_space(&spaces[i]);
        weft_plan_options o = options_of(spaces[i].batch, spaces[i].seq);
        weft_plan p = plan_of(&q, &o);
        assert_int_equal(p.counts.enumerated,
                         p.counts.bounded + p.counts.simulated + too_large(&p));
        weft_plan_clear(&p);
    }
}

/* ---- what it rests on ------------------------------------------------------------------ */

typedef struct visit {
    const weft_cost_model *q;
    wf_space *s;
    wf_pool *pool;
    int64_t layouts, simulated;
} visit;

static void fail_layout(const weft_layout *l, const weft_cost *near, const weft_cost *c)
{
    weft_text t = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&t);
    weft_layout_write_json(l, &w);
    fail_msg("bound of all orders %.9g, bound %.9g, step %.9g; dp %.9g and %.9g, "
             "bubble %.9g "
             "and %.9g: %s",
             near->bound_s, c->bound_s, c->step_time_s, near->time.dp_comm,
             c->time.dp_comm, near->time.bubble, c->time.bubble, t.s);
}

/* Of all orders and variants of a node: bounds hold, memory falls as it should. */
static weft_status check_node(void *ctx, const weft_layout *node)
{
    visit *x = ctx;
    char order[WF_MOST_ORDERS][24];
    wf_degrees d = {node->tp, node->cp, node->pp, node->dp, node->ep};
    int orders = wf_space_orders(x->s, &d, order);

    wf_space_variants(x->s, node);
    for (int i = 0; i < x->s->n_variants; i++) {
        weft_layout l = *node;
        weft_cost near, c;
        double least;
        wf_variant_apply(&x->s->variant[i], &l);
        assert_int_equal(weft_layout_plan_check(&l, &x->q->arch), WEFT_OK);
        assert_int_equal(wf_value(x->pool, x->q, &l, wf_all_near, &near), WEFT_OK);
        assert_int_equal(
            wf_cost_least_s(x->q, &l, &x->pool->prices, wf_all_near, &least), WEFT_OK);
        for (int k = 0; k < orders; k++) {
            memcpy(l.order, order[k], sizeof order[k]);
            assert_int_equal(wf_value(x->pool, x->q, &l, NULL, &c), WEFT_OK);
            if (near.bound_s > c.bound_s * (1 + 1e-12)) fail_layout(&l, &near, &c);
            assert_true(fabs(near.memory.total - c.memory.total) < 1);
            double bound = c.bound_s;
            x->layouts++;
            if (x->layouts % 7) continue;
            x->simulated++;
            int fits = c.fits;
            double room = x->q->machine.memory_bytes, said = c.memory.total;
            weft_memory least_held;
            assert_int_equal(wf_least_memory(x->pool, x->q, &l, HUGE_VAL, &least_held),
                             WEFT_OK);
            assert_int_equal(wf_simulate_step(x->pool, x->q, &l, &c), WEFT_OK);
            assert_int_equal(wf_hold(x->pool, x->q, &l, &c), WEFT_OK);
            assert_int_equal(fits, c.fits);
            assert_true(least_held.total <= c.memory.total * (1 + 1e-12));
            if (said > room) assert_true(said <= c.memory.total * (1 + 1e-12));
            if (said <= room) assert_true(said >= c.memory.total * (1 - 1e-12));
            if (bound > c.step_time_s * (1 + 1e-9)) fail_layout(&l, &near, &c);
            assert_true(least <= c.step_time_s * (1 + 1e-9));
        }
    }
    return WEFT_OK;
}

static void bounds_are_never_above_the_simulation(void **state)
{
    for (int i = 0; i < N_SPACES - 1; i += 2) { /* the last is small */
        weft_cost_model q = model_of_space(&spaces[i]);
        weft_plan_options o = options_of(spaces[i].batch, spaces[i].seq);
        wf_space s = {.q = &q, .o = &o};
        wf_pool *pool = calloc(1, sizeof *pool);
        visit x = {&q, &s, pool, 0, 0};
        wf_degrees *d;
        int64_t n;
        assert_int_equal(wf_space_degrees(&s, &d, &n), WEFT_OK);
        for (int64_t k = 0; k < n; k++)
            assert_int_equal(wf_space_nodes(&s, &d[k], check_node, &x), WEFT_OK);
        print_message("%lld layouts, %lld simulated\n", (long long)x.layouts,
                      (long long)x.simulated);
        assert_true(x.simulated > 100);
        wf_pool_clear(pool);
        free(pool);
        free(d);
    }
}

/* More ZeRO from stage 1 on and more recompute: never less time. What an unfit layout is
 * given up for rests on memory in the same way, and is proved by the same best. */
static void more_zero_and_more_recompute_are_never_faster(void **state)
{
    static const char *const recompute[] = {"none", "selective", "full"};
    weft_cost_model q = model_of(SMALL, "h100:2x4");
    wf_pool *pool = calloc(1, sizeof *pool);
    weft_cost c[4][3];

    for (int pp = 1; pp <= 4; pp *= 2)
        for (int i = 0; i < 2 * 3 * 2; i++) {
            weft_layout l = options_of(32, 1024).given;
            if (i / 6 && pp == 1) continue;
            l.vpp = 1 + i / 6; /* in groups, where ZeRO-2 reduces less often */
            if (l.vpp > 1) snprintf(l.schedule, sizeof l.schedule, "interleaved");
            l.tp = 1 + i % 2;
            l.pp = pp;
            l.dp = 8 / l.tp / pp;
            l.replicate = 1 << i / 2 % 3; /* copies */
            if (l.dp % l.replicate) continue;
            for (int z = l.replicate > 1; z < 4; z++)
                for (int r = 0; r < 3; r++) {
                    l.zero = z;
                    snprintf(l.recompute, sizeof l.recompute, "%s", recompute[r]);
                    assert_int_equal(wf_value(pool, &q, &l, NULL, &c[z][r]), WEFT_OK);
                    assert_int_equal(wf_simulate_step(pool, &q, &l, &c[z][r]), WEFT_OK);
                    assert_int_equal(wf_hold(pool, &q, &l, &c[z][r]), WEFT_OK);
                    double t = c[z][r].step_time_s * (1 + 1e-12);
                    if (r > 0) assert_true(c[z][r - 1].step_time_s <= t);
                    if (z > 1) assert_true(c[z - 1][r].step_time_s <= t);
                    if (r > 0)
                        assert_true(c[z][r].memory.total - c[z][r].memory.temporaries <=
                                    c[z][r - 1].memory.total);
                }
        }
    wf_pool_clear(pool);
    free(pool);
}

/* Of g the reductions of all gradients once, of p the gathers of weights: ZeRO-1 has g + p,
 * ZeRO-2 g for every group; its gradients take more than shares and less than whole. */
static void zero_2_reduces_once_for_every_group(void **state)
{
    weft_cost_model q = model_of("family=llama,layers=8,hidden=1024,heads=8,kv_heads=4,"
                                 "ffn=2816,vocab=1000,positions=4096",
                                 "h100:4x4");
    weft_layout l = options_of(64, 1024).given;
    weft_cost one, c[3], alone;

    l.tp = 1;
    l.pp = 2;
    l.dp = 8;
    l.vpp = 4;
    snprintf(l.schedule, sizeof l.schedule, "interleaved");
    l.zero = 1;
    assert_int_equal(weft_cost_evaluate(&q, &l, &one), WEFT_OK);
    l.zero = 2;
    for (int i = 0; i < 3; i++) { /* 8 micro-batches: 4 groups, 2, 1 */
        l.group = 2 << i;
        assert_int_equal(weft_cost_evaluate(&q, &l, &c[i]), WEFT_OK);
        assert_true(c[i].memory.grads < one.memory.grads);
        assert_true(c[i].memory.grads > one.memory.grads / 8);
    }
    double g = (c[1].dp_s - c[2].dp_s);
    assert_true(fabs((c[0].dp_s - c[1].dp_s) / (2 * g) - 1) < 1e-9);
    assert_true(g > 0 && fabs(c[2].dp_s / one.dp_s - 1) < 1e-12);
    l.vpp = 1; /* one chunk, that each micro-batch comes back to */
    l.group = 0;
    snprintf(l.schedule, sizeof l.schedule, "1f1b");
    assert_int_equal(weft_cost_evaluate(&q, &l, &alone), WEFT_OK);
    assert_true(fabs(alone.memory.grads / (one.memory.grads / 8) - 1) < 1e-9);
}

/* More copies of shards: never less memory. What does not fit with few does not with more. */
static void more_copies_never_hold_less(void **state)
{
    static const char *const recompute[] = {"none", "selective", "full"};
    weft_cost_model q = model_of(MOE, "h100:4x4");
    wf_pool *pool = calloc(1, sizeof *pool);
    int compared = 0;

    for (int i = 0; i < 3 * 3 * 2 * 2 * 2; i++) {
        weft_layout l = options_of(64, 1024).given;
        double last = 0, passes = 0;
        l.tp = 1;
        l.zero = 1 + i % 3;
        snprintf(l.recompute, sizeof l.recompute, "%s", recompute[i / 3 % 3]);
        l.pp = 1 + i / 9 % 2;
        l.cp = 1 + i / 18 % 2;
        l.dp = 16 / l.pp / l.cp;
        l.ep = 1 + 3 * (i / 36 % 2);
        for (l.replicate = 1; l.replicate <= l.dp; l.replicate *= 2) {
            weft_cost c;
            assert_int_equal(wf_value(pool, &q, &l, NULL, &c), WEFT_OK);
            assert_true(c.memory.total >= last);
            if (passes > 0) assert_true(fabs(c.passes_s / passes - 1) < 1e-12);
            assert_true(c.passes_s <= c.bound_s * (1 + 1e-12));
            last = c.memory.total;
            passes = c.passes_s;
            compared++;
        }
    }
    assert_true(compared > 200);
    wf_pool_clear(pool);
    free(pool);
}

/* Kinds without a closed form for their in-flight counts: these have settled after 4 p
 * micro-batches, so the search counts them there. */
static void counts_of_kinds_without_a_closed_form_settle(void **state)
{
    static const char *const kind[] = {"v-half", "v-min", "1f1b-v"};
    int compared = 0;

    for (int k = 0; k < 3; k++)
        for (int p = 2; p <= 8; p++)
            for (int m = 4 * p; m <= 10 * p; m += p) {
                weft_schedule a, b;
                weft_schedule_report x, y;
                if (weft_schedule_make(kind[k], p, 4 * p, 2, NULL, &a)) continue;
                if (weft_schedule_make(kind[k], p, m, 2, NULL, &b)) {
                    weft_schedule_clear(&a);
                    continue;
                }
                assert_int_equal(weft_schedule_check(&a, 0, &x), WEFT_OK);
                assert_int_equal(weft_schedule_check(&b, 0, &y), WEFT_OK);
                for (int r = 0; r < p; r++) {
                    assert_int_equal(x.peak_in_flight[r], y.peak_in_flight[r]);
                    assert_int_equal(x.peak_in_flight_w[r], y.peak_in_flight_w[r]);
                }
                compared++;
                weft_schedule_report_clear(&x);
                weft_schedule_report_clear(&y);
                weft_schedule_clear(&a);
                weft_schedule_clear(&b);
            }
    assert_true(compared > 80);
}

static void shared_prices_change_nothing(void **state)
{
    weft_cost_model q = model_of(MOE, "h100:2x4");
    wf_prices *prices = calloc(1, sizeof *prices);
    for (int i = 0; i < 200; i++) {
        weft_layout l = options_of(64, 1024).given;
        weft_cost a, b;
        l.tp = 1 << i % 3;
        l.pp = 1 << i / 3 % 2;
        l.dp = 8 / l.tp / l.pp;
        l.micro_batch = 1 + i % 2;
        l.sp = i / 7 % 2;
        l.ep = l.dp > 1 ? 2 : 1;
        l.zero = i % 4;
        snprintf(l.stage_layers, sizeof l.stage_layers,
                 l.pp == 2 && i % 5 ? "5,3" : "even");
        if (weft_layout_plan_check(&l, &q.arch)) continue;
        assert_int_equal(weft_cost_evaluate(&q, &l, &a), WEFT_OK);
        assert_int_equal(wf_cost_evaluate(&q, &l, prices, NULL, NULL, &b, NULL),
                         WEFT_OK);
        assert_true(a.step_time_s == b.step_time_s && a.bound_s == b.bound_s);
        assert_true(a.memory.total == b.memory.total);
        double f = q.machine.flops_per_s[WEFT_MATH_BF16] * q.machine.gemm_efficiency;
        double link = q.machine.tier[0].bytes_per_s;
        double tp = weft_cost_tp_ratio(&q.arch, WEFT_FORWARD, l.tp, 2, f, link);
        if (l.tp > 1) assert_true(fabs(a.ratio_tp / tp - 1) < 1e-12);
    }
    free(prices);
}

/* Layouts that differ in nothing but their placement, one after the other: each has the time
 * and memory of its own schedule, and the loop of two chunks another time than the V. */
static void searched_kinds_are_priced_where_they_are_placed(void **state)
{
    static const char *const kind[] = {"zb-auto", "optimal"};
    static const char *const place[] = {"auto", "single", "loop", "v"};
    weft_cost_model q = model_of(SMALL, "h100:2x2");
    wf_pool *pool = calloc(1, sizeof *pool);
    double step_s[2][5][4] = {{{0}}};
    int legal = 0;

    for (int i = 0; i < 2 * 4 * 4; i++) {
        int k = i / 16, v = 1 + i / 4 % 4;
        weft_layout l = options_of(8, 1024).given;
        weft_cost a, b;
        l.pp = 4;
        l.tp = l.cp = l.dp = 1;
        l.vpp = v;
        snprintf(l.schedule, sizeof l.schedule, "%s", kind[k]);
        snprintf(l.placement, sizeof l.placement, "%s", place[i % 4]);
        snprintf(l.stage_layers, sizeof l.stage_layers, "%s",
                 v < 3    ? "balanced"
                 : v == 3 ? "1*8,0*4"
                          : "1*8,0*8");
        if (weft_layout_plan_check(&l, &q.arch)) continue;
        legal++;
        assert_int_equal(weft_predict(&q, &l, NULL, NULL, &a), WEFT_OK);
        assert_int_equal(wf_value(pool, &q, &l, NULL, &b), WEFT_OK);
        assert_int_equal(wf_simulate_step(pool, &q, &l, &b), WEFT_OK);
        assert_int_equal(wf_hold(pool, &q, &l, &b), WEFT_OK);
        assert_true(a.step_time_s == b.step_time_s);
        assert_true(a.memory.total == b.memory.total);
        assert_true(b.bound_s <= a.step_time_s * (1 + 1e-12));
        step_s[k][v][i % 4] = a.step_time_s;
    }
    /* zb-auto: 2 + 2; optimal: every word of one chunk but v, 3, 2, 3 */
    assert_int_equal(legal, 4 + 3 + 3 + 2 + 3);
    assert_true(step_s[0][2][0] == step_s[0][2][3]); /* auto is the V */
    assert_true(step_s[1][3][0] == step_s[1][3][2]); /* of three chunks the loop */
    assert_true(step_s[1][2][2] != step_s[1][2][3]);
    wf_pool_clear(pool);
    free(pool);
}

/* ---- the space is all of it ----------------------------------------------------------- */

typedef struct tally {
    wf_space *s;
    int64_t n;
} tally;

static weft_status count_node(void *ctx, const weft_layout *node)
{
    tally *x = ctx;
    char order[WF_MOST_ORDERS][24];
    wf_degrees d = {node->tp, node->cp, node->pp, node->dp, node->ep};
    wf_space_variants(x->s, node);
    x->n += (int64_t)x->s->n_variants * wf_space_orders(x->s, &d, order);
    return WEFT_OK;
}

/* Every combination of the values, checked one by one by the rules alone. Copies of shards
 * are of interest where the shards fit in a node, and there are others. */
static int64_t by_hand(const weft_cost_model *q, const weft_layout *base, int world)
{
    int node = q->machine.ranks_per_node;
    static const char *const kind[] = {
        "1f1b",    "eager-1f1b", "gpipe",    "interleaved",    "looped-bfs",
        "zb-h1",   "zb-h2",      "zb-v",     "interleaved-zb", "v-half",
        "v-min",   "1f1b-v",     "dualpipe", "dualpipev",      "chimera",
        "bitpipe", "hanayo"};
    static const char *const word[] = {"none", "selective", "full"};
    static const char *const cp[] = {"ring", "allgather", "ulysses"};
    int64_t n = 0;
    for (int tp = 1; tp <= world; tp++)
        for (int c = 1; c <= world; c++)
            for (int pp = 1; pp <= world; pp++)
                for (int v = 1; v <= 8; v++)
                    for (int k = 0; k < 17; k++)
                        for (int64_t b = 1; b <= base->global_batch; b++)
                            for (int i = 0; i < 2 * 3 * 4 * 3 * world; i++) {
                                weft_layout l = *base;
                                if (world % (tp * c * pp)) continue;
                                l.tp = tp;
                                l.cp = c;
                                l.pp = pp;
                                l.dp = world / (tp * c * pp);
                                l.vpp = v;
                                l.micro_batch = b;
                                l.sp = i % 2;
                                l.zero = i / 2 % 4;
                                snprintf(l.recompute, 16, "%s", word[i / 8 % 3]);
                                snprintf(l.cp_comm, 12, "%s", cp[i / 24 % 3]);
                                l.replicate = 1 + i / 72;
                                snprintf(l.schedule, 16, "%s", kind[k]);
                                /* the space has one of each that mean the same */
                                if (pp == 1 && (k || v > 1)) continue;
                                if (l.dp == 1 && l.zero) continue;
                                if (tp == 1 && l.sp) continue;
                                if (c == 1 && i / 24 % 3) continue;
                                int shards = c * l.dp / l.replicate;
                                if (l.replicate > 1 &&
                                    (world <= node || shards < 2 || shards > node))
                                    continue;
                                n += wf_rules_hold(&l, &q->arch, -1);
                            }
    return n;
}

static int64_t in_space(const weft_cost_model *q, const weft_plan_options *o)
{
    wf_space s = {.q = q, .o = o};
    tally x = {&s, 0};
    wf_degrees *d;
    int64_t n;
    assert_int_equal(wf_space_degrees(&s, &d, &n), WEFT_OK);
    for (int64_t k = 0; k < n; k++)
        assert_int_equal(wf_space_nodes(&s, &d[k], count_node, &x), WEFT_OK);
    free(d);
    return x.n;
}

static void every_legal_layout_is_in_the_space_once(void **state)
{
    static const char *const machine[] = {"h100:1x4", "h100:2x2"};
    int64_t last = 200;
    for (int i = 0; i < 2; i++) { /* on two nodes there are copies of shards too */
        weft_cost_model q =
            model_of("family=llama,layers=4,hidden=512,heads=4,kv_heads=2,"
                     "ffn=1408,vocab=1000",
                     machine[i]);
        weft_plan_options o = options_of(4, 512);
        o.fixed = 1u << WEFT_DIM_STAGE_LAYERS | 1u << WEFT_DIM_ORDER;
        int64_t n = in_space(&q, &o);
        assert_int_equal(n, by_hand(&q, &o.given, 4));
        assert_true(n > last);
        last = n;
    }
}

/* What is given is all that is looked at; copies that do not divide are refused by rule. */
static void given_copies_are_the_only_ones(void **state)
{
    weft_cost_model q = model_of(SMALL, "h100:2x4");
    weft_plan_options o = options_of(16, 1024);
    o.fixed = 1u << WEFT_DIM_REPLICATE;
    o.given.replicate = 4;
    o.top = 100;
    weft_plan p = plan_of(&q, &o);
    assert_true(p.n_rows > 0);
    for (int i = 0; i < p.n_rows; i++) {
        assert_int_equal(p.row[i].layout.replicate, 4);
        assert_true(p.row[i].layout.zero > 0);
    }
    weft_plan_clear(&p);
    o.given.replicate = 3;
    p = plan_of(&q, &o);
    assert_int_equal(p.n_rows, 0);
    assert_non_null(strstr(p.why_none, "--replicate 3 does not divide"));
    weft_plan_clear(&p);
}

/* Slow links between nodes, and many micro-batches that gather: copies win. */
static void copies_of_shards_win_where_nodes_are_far(void **state)
{
    weft_cost_model q = model_of(SMALL, "h100:4x4,memory=5GiB,reserve=0.5GiB");
    weft_plan_options o = options_of(256, 2048);
    q.machine.tier[1].bytes_per_s /= 50;
    o.given.zero = 3;
    o.given.tp = o.given.cp = o.given.pp = 1;
    o.given.dp = 16;
    o.given.micro_batch = 1;
    o.fixed = 1u << WEFT_DIM_ZERO | 1u << WEFT_DIM_TP | 1u << WEFT_DIM_CP |
              1u << WEFT_DIM_PP | 1u << WEFT_DIM_DP | 1u << WEFT_DIM_MICRO_BATCH;
    weft_plan free_copies = plan_of(&q, &o);
    o.fixed |= 1u << WEFT_DIM_REPLICATE;
    weft_plan none = plan_of(&q, &o);
    assert_true(free_copies.n_rows && none.n_rows);
    assert_int_equal(free_copies.row[0].layout.replicate, 4);
    assert_true(free_copies.row[0].cost.step_time_s <
                0.8 * none.row[0].cost.step_time_s);
    weft_plan_clear(&free_copies);
    weft_plan_clear(&none);
}

/* ---- properties of plans ---------------------------------------------------------------- */

static void more_memory_never_loses_a_layout(void **state)
{
    double last = HUGE_VAL;
    int64_t feasible = 0;
    for (int gib = 3; gib <= 12; gib += 3) {
        char machine[64];
        snprintf(machine, sizeof machine, "h100:1x4,memory=%dGiB,reserve=0.5GiB", gib);
        weft_cost_model q = model_of(SMALL, machine);
        weft_plan_options o = options_of(8, 1024);
        o.every = 1;
        o.fixed = 1u << WEFT_DIM_ORDER | 1u << WEFT_DIM_STAGE_LAYERS;
        o.top = 1;
        o.tie = 0;
        weft_plan p = plan_of(&q, &o);
        assert_true(p.counts.feasible >= feasible);
        feasible = p.counts.feasible;
        if (p.n_rows) {
            assert_true(p.row[0].cost.step_time_s <= last);
            last = p.row[0].cost.step_time_s;
        }
        weft_plan_clear(&p);
    }
    assert_true(feasible > 0);
}

static void the_front_has_no_layout_that_another_beats(void **state)
{
    weft_cost_model q = model_of(SMALL, "h100:1x4,memory=9GiB,reserve=0.5GiB");
    weft_plan_options o = options_of(8, 1024);
    o.front = 1;
    o.tie = 0;
    weft_plan p = plan_of(&q, &o);
    assert_true(p.n_front >= 2);
    assert_as_reported(&q, p.front, p.n_front);
    for (int i = 1; i < p.n_front; i++) {
        assert_true(p.front[i].cost.step_time_s > p.front[i - 1].cost.step_time_s);
        assert_true(p.front[i].cost.memory.total < p.front[i - 1].cost.memory.total);
    }
    /* the fastest of all is its first */
    assert_true(fabs(p.front[0].cost.step_time_s / p.row[0].cost.step_time_s - 1) <
                1e-12);
    weft_plan_clear(&p);
}

static int stop(void *ctx, const weft_plan_counts *so_far)
{
    ++*(int *)ctx;
    return 1;
}

static void a_search_can_be_stopped(void **state)
{
    weft_cost_model q = model_of("llama3-8b", "h100:2x8");
    weft_plan_options o = options_of(64, 4096);
    int calls = 0;
    weft_plan p;
    o.progress = stop;
    o.ctx = &calls;
    assert_int_equal(weft_plan_make(&q, &o, &p), WEFT_E_CANCELLED);
    assert_int_equal(calls, 1);
}

/* Case 7: 3 GPUs, 32 heads, 16 kv heads: nothing with tp 3. */
static void case_7_tp_3_is_never_offered_for_32_heads(void **state)
{
    weft_cost_model q =
        model_of("family=llama,layers=24,hidden=2048,heads=32,kv_heads=16,"
                 "ffn=5632,vocab=32000,"
                 "positions=4096",
                 "h100:1x3");
    weft_plan_options o = options_of(12, 1024);
    weft_plan p = plan_of(&q, &o);
    assert_true(p.n_rows > 0);
    for (int i = 0; i < p.n_rows; i++)
        assert_int_equal(p.row[i].layout.tp, 1);
    weft_plan_clear(&p);
}

/* Cases 5 and 17 of tp and heads stand in tests/layout; here: the rule is counted. */
static void broken_rules_are_counted_by_name(void **state)
{
    weft_cost_model q = model_of(SMALL, "h100:1x8");
    weft_plan_options o = options_of(8, 1024);
    weft_plan p = plan_of(&q, &o);
    int found = 0;
    for (int i = 0; i < p.n_rejected; i++)
        found |= !strcmp(p.rejected[i].rule, "tp-kv-heads") && p.rejected[i].count > 0;
    assert_true(found);
    weft_plan_clear(&p);
}

static void small_models_need_no_split(void **state)
{
    weft_cost_model q = model_of("gpt2", "h100:1x8");
    weft_plan_options o = options_of(64, 1024);
    weft_plan p = plan_of(&q, &o);
    assert_string_equal(p.ladder.why_not, "");
    assert_string_equal(p.ladder.layout.recompute, "none");
    assert_int_equal(p.ladder.layout.zero, 0);
    assert_string_equal(p.plain_dp.why_not, "");
    weft_plan_clear(&p);
    q = model_of("llama3-70b", "h100:1x8");
    o = options_of(64, 4096);
    p = plan_of(&q, &o);
    assert_true(*p.ladder.why_not != 0 && *p.plain_dp.why_not != 0);
    weft_plan_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pruned_search_finds_what_the_unpruned_one_finds),
        cmocka_unit_test(only_what_does_not_fit_is_called_too_large),
        cmocka_unit_test(memory_of_unequal_chunks_is_that_of_the_schedule),
        cmocka_unit_test(counts_add_up),
        cmocka_unit_test(bounds_are_never_above_the_simulation),
        cmocka_unit_test(more_zero_and_more_recompute_are_never_faster),
        cmocka_unit_test(zero_2_reduces_once_for_every_group),
        cmocka_unit_test(more_copies_never_hold_less),
        cmocka_unit_test(counts_of_kinds_without_a_closed_form_settle),
        cmocka_unit_test(shared_prices_change_nothing),
        cmocka_unit_test(searched_kinds_are_priced_where_they_are_placed),
        cmocka_unit_test(every_legal_layout_is_in_the_space_once),
        cmocka_unit_test(given_copies_are_the_only_ones),
        cmocka_unit_test(copies_of_shards_win_where_nodes_are_far),
        cmocka_unit_test(more_memory_never_loses_a_layout),
        cmocka_unit_test(the_front_has_no_layout_that_another_beats),
        cmocka_unit_test(a_search_can_be_stopped),
        cmocka_unit_test(case_7_tp_3_is_never_offered_for_32_heads),
        cmocka_unit_test(broken_rules_are_counted_by_name),
        cmocka_unit_test(small_models_need_no_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
