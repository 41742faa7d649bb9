/* SPDX-License-Identifier: Apache-2.0 */
/* Links, blocking messages, pairs, steps and updates against a second simulation and
 * against closed forms. */
#include "reference.h"
#include "sim/record.h"

/* ---- against the second simulation ---------------------------------------------- */

typedef struct random_case {
    weft_schedule s;
    double dur[16 * 8 * WEFT_OP_N_COMPUTE], pair[16], optimizer[16];
    weft_link_tier tier[3];
    weft_costs c;
    weft_sim_options o;
} random_case;

static double random_time(uint64_t *seed)
{
    return 0.25 * random_below(seed, 20);
}

static void random_links(random_case *x, uint64_t *seed)
{
    x->c.n_tiers = (int)random_below(seed, 4);
    for (int k = 0, ranks = 0; k < x->c.n_tiers; k++) {
        ranks += 1 + (int)random_below(seed, 2);
        x->tier[k].ranks = k < x->c.n_tiers - 1 ? ranks : 0;
        x->tier[k].latency = random_time(seed);
        x->tier[k].bandwidth = 8.0 * random_below(seed, 5);
    }
    x->c.latency = random_time(seed) * random_below(seed, 2);
    x->c.tier = x->tier;
    x->c.message_bytes = 32;
    x->c.messages = (weft_messages)random_below(seed, 2);
}

/* Every kind but the searched ones, whose lists are as any other. */
static weft_schedule random_schedule(uint64_t *seed)
{
    static const struct {
        const char *kind;
        int v, even;
    } row[] = {{"gpipe", 1, 0},          {"1f1b", 1, 0},       {"interleaved", 2, 0},
               {"interleaved-zb", 3, 0}, {"looped-bfs", 2, 0}, {"zb-h1", 1, 0},
               {"zb-h2", 1, 0},          {"zb-v", 2, 0},       {"dualpipe", 2, 1},
               {"dualpipev", 2, 0},      {"chimera", 2, 1},    {"bitpipe", 4, 1},
               {"hanayo", 4, 0},         {"eager-1f1b", 1, 0}, {"forward", 1, 0}};
    for (;;) {
        uint32_t k = random_below(seed, sizeof row / sizeof *row + 4);
        int p = 1 + (int)random_below(seed, 5), m = 1 + (int)random_below(seed, 12);
        weft_schedule s;
        if (k >= sizeof row / sizeof *row)
            return random_order((weft_placement_kind)random_below(seed, 2), p, m, 1,
                                seed);
        if (weft_schedule_make(row[k].kind, p, m, row[k].v, NULL, &s) == WEFT_OK)
            return s;
    }
}

static void random_fill(random_case *x, uint64_t *seed)
{
    *x = (random_case){.s = random_schedule(seed)};
    for (int i = 0; i < x->s.p * x->s.v * WEFT_OP_N_COMPUTE; i++)
        x->dur[i] = random_time(seed);
    for (int r = 0; r < x->s.p; r++) {
        x->pair[r] = 0.25 * (1 + random_below(seed, 40));
        x->optimizer[r] = random_time(seed);
    }
    random_links(x, seed);
    x->c.dur = x->dur;
    x->c.overlap = (weft_overlap)random_below(seed, 2);
    uint32_t cost = random_below(seed, 3);
    if (cost == 1) x->c.overlap_cost = x->pair[0];
    if (cost == 2) x->c.overlap_by_rank = x->pair;
    x->o.steps = 1 + (int)random_below(seed, 3);
    x->o.sync = (weft_sync)random_below(seed, 3);
    int trains = strcmp(x->s.kind, "forward") != 0;
    if (trains && random_below(seed, 2)) x->o.optimizer = x->optimizer;
    if (!trains) x->o.sync = WEFT_SYNC_NONE;
}

static int node_type(const weft_trace_entry *e)
{
    if (e->label) return NODE_UPDATE;
    return e->op.kind == WEFT_OP_SEND        ? NODE_SEND
           : e->op.kind == WEFT_OP_POST_RECV ? NODE_RECV
                                             : NODE_OP;
}

static int same_op(const weft_trace_entry *e, const node *n)
{
    if (e->label) return 1;
    int grad = n->op.kind == WEFT_OP_B || n->op.kind == WEFT_OP_I;
    int kind = e->op.kind >= WEFT_OP_N_COMPUTE ? grad == (e->op.flags == WEFT_OPF_GRAD)
                                               : e->op.kind == n->op.kind;
    return kind && e->op.chunk == n->op.chunk && e->op.micro == n->op.micro;
}

static int is_shown(const node *n)
{
    if (n->type == NODE_OP) return 1;
    return n->type != NODE_JOIN && n->length > 0;
}

static void assert_same_times(const graph *g, const weft_trace *t)
{
    int shown = 0;
    for (int i = 0; i < g->n; i++)
        shown += is_shown(&g->node[i]);
    assert_int_equal(t->n, shown);
    for (int64_t k = 0; k < t->n; k++) {
        const weft_trace_entry *e = &t->entry[k];
        int i = 0;
        while (i < g->n &&
               !(is_shown(&g->node[i]) && g->node[i].rank == e->rank &&
                 g->node[i].step == e->step && g->node[i].type == node_type(e) &&
                 same_op(e, &g->node[i])))
            i++;
        assert_true(i < g->n);
        const node *n = &g->node[i];
        assert_near(e->start, n->start + n->pair_from);
        assert_near(e->end - e->start, n->pair_length);
    }
}

static void every_time_is_that_of_a_second_simulation(void **state)
{
    static random_case x;
    uint64_t seed = 7;
    for (int i = 0; i < 3000; i++) {
        weft_trace t;
        weft_sim r;
        weft_eval plain;
        random_fill(&x, &seed);
        graph g = reference_graph(&x.s, &x.c, &x.o);
        weft_status st = weft_simulate_steps(&x.s, &x.c, &x.o, &t, &r);
        if (st == WEFT_E_INFEASIBLE && x.c.overlap == WEFT_OVERLAP_ATOMIC)
            fail_msg("%s: %s", x.s.kind, weft_status_message());
        assert_ok(st);
        assert_same_times(&g, &t);
        assert_near(r.eval.makespan, reference_makespan(&g));
        assert_near(r.step_end[r.steps - 1], r.eval.makespan);
        if (x.o.steps == 1 && !x.o.optimizer) { /* without a trace: the short way */
            assert_ok(weft_schedule_eval(&x.s, &x.c, NULL, NULL, &plain));
            assert_near(plain.makespan, r.eval.makespan);
            assert_int_equal(plain.p2p_messages, r.eval.p2p_messages);
            weft_eval_clear(&plain);
        }
        weft_sim_clear(&r);
        weft_trace_clear(&t);
        graph_clear(&g);
        weft_schedule_clear(&x.s);
    }
}

/* ---- closed forms ---------------------------------------------------------------- */

typedef struct plain {
    double dur[64 * 4 * WEFT_OP_N_COMPUTE];
    weft_link_tier tier;
    weft_costs c;
} plain;

static weft_costs *uniform(plain *x, const weft_schedule *s, double tf, double ti,
                           double tw)
{
    *x = (plain){.c = {.dur = x->dur}};
    weft_costs_uniform(s, tf, ti + tw, ti, tw, 0, x->dur);
    return &x->c;
}

static weft_sim steps_of(const weft_schedule *s, const weft_costs *c,
                         const weft_sim_options *o)
{
    weft_sim r;
    assert_ok(weft_simulate_steps(s, c, o, NULL, &r));
    return r;
}

/* The last stage gets an input every max(op, gap); the first input needs p-1 ops, gaps and
 * latencies. */
static void gpipe_with_bandwidth_is_its_closed_form(void **state)
{
    static plain x;
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        int p = 2 + (int)random_below(&seed, 15), m = 1 + (int)random_below(&seed, 40);
        double tf = 1 + random_below(&seed, 9), tb = 1 + random_below(&seed, 9);
        double c = random_below(&seed, 6), g = 0.5 * random_below(&seed, 30);
        weft_schedule s = made("gpipe", p, m, 1);
        uniform(&x, &s, tf, tb / 2, tb / 2);
        x.tier = (weft_link_tier){.latency = c, .bandwidth = g > 0 ? 64 / g : 0};
        x.c.tier = &x.tier;
        x.c.n_tiers = 1;
        x.c.message_bytes = 64;
        weft_sim r = steps_of(&s, &x.c, NULL);
        double f = (p - 1) * (tf + g + c) + tf + (m - 1) * fmax(tf, g);
        double b = (p - 1) * (tb + g + c) + tb + (m - 1) * fmax(tb, g);
        assert_near(r.eval.makespan, f + b);
        weft_sim_clear(&r);
        weft_schedule_clear(&s);
    }
}

/* A rank between others works, receives and sends in turn: op + 2t; with two ranks op + t. */
static void gpipe_with_blocking_messages_is_its_closed_form(void **state)
{
    static plain x;
    uint64_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        int p = 2 + (int)random_below(&seed, 15), m = 1 + (int)random_below(&seed, 40);
        double tf = 1 + random_below(&seed, 9), tb = 1 + random_below(&seed, 9);
        double t = random_below(&seed, 6), each = p == 2 ? t : 2 * t;
        weft_schedule s = made("gpipe", p, m, 1);
        uniform(&x, &s, tf, tb / 2, tb / 2);
        x.c.latency = t;
        x.c.messages = WEFT_MESSAGES_BLOCKING;
        weft_sim r = steps_of(&s, &x.c, NULL);
        double f = (p - 1) * (tf + t) + tf + (m - 1) * (tf + each);
        double b = (p - 1) * (tb + t) + tb + (m - 1) * (tb + each);
        assert_near(r.eval.makespan, f + b);
        assert_near(r.eval.ideal, m * (tf + tb)); /* messages are no work */
        weft_sim_clear(&r);
        weft_schedule_clear(&s);
    }
}

static void messages_take_their_own_tier(void **state)
{
    static plain x;
    static const weft_link_tier tiers[] = {{.ranks = 2, .latency = 1, .bandwidth = 32},
                                           {.latency = 10, .bandwidth = 8}};
    weft_schedule s = made("gpipe", 4, 1, 1); /* two links in nodes, one between */
    uniform(&x, &s, 1, 1, 1);
    x.c.tier = tiers;
    x.c.n_tiers = 2;
    x.c.message_bytes = 64;
    weft_sim r = steps_of(&s, &x.c, NULL);
    assert_near(r.eval.makespan, 4 * (1 + 2) + 2 * (2 * (1 + 2) + (10 + 8)));
    weft_sim_clear(&r);
    weft_schedule_clear(&s);
}

static void assert_steady(const char *kind, int p, int m, int v, weft_sync sync,
                          double update, double step)
{
    static plain x;
    double optimizer[16];
    for (int k = 0; k < p; k++)
        optimizer[k] = update;
    weft_schedule s = made(kind, p, m, v);
    int last = 4 + 2 * (p / m); /* pipedream fills over several steps where m < p */
    weft_sim_options o = {.steps = last + 1, .sync = sync};
    if (strcmp(kind, "forward")) o.optimizer = optimizer;
    weft_sim r = steps_of(&s, uniform(&x, &s, 1, 1, 1), &o);
    if (!r.period) fail_msg("%s p=%d m=%d is not steady", kind, p, m);
    if (fabs(r.step_time - step) > 1e-9)
        fail_msg("%s p=%d m=%d sync %d: a step is %g, not %g", kind, p, m, sync,
                 r.step_time, step);
    assert_near(r.step_end[last] - r.step_end[last - 1], step);
    weft_sim_clear(&r);
    weft_schedule_clear(&s);
}

/* F = I = W = 1, so a stage works 3m in a step, and u for its update.
 *   1f1b       the last B of a step is on rank 0, which the next step's first F follows:
 *              waiting for the others or not, all of the bubble comes back
 *   zb-h2      rank r is r later than rank 0 and works without a gap: only the global wait
 *              costs p-1; the chain goes the way of the skew and costs nothing
 *   zb-v       the same, with ops of half a stage
 *   forward    nothing to wait for
 *   pipedream  never flushed: an update for each micro-batch and no bubble */
static void repeated_steps_take_what_theory_says(void **state)
{
    static const weft_sync all[] = {WEFT_SYNC_GLOBAL, WEFT_SYNC_CHAIN, WEFT_SYNC_NONE};
    for (int p = 1; p <= 6; p++)
        for (int m = 2 * p; m <= 3 * p + 2; m++)
            for (double u = 0; u <= 1.5; u += 0.75)
                for (int k = 0; k < 3; k++) {
                    double wait = all[k] == WEFT_SYNC_GLOBAL ? p - 1 : 0;
                    assert_steady("1f1b", p, m, 1, all[k], u, 3 * (m + p - 1) + u);
                    assert_steady("gpipe", p, m, 1, all[k], u, 3 * (m + p - 1) + u);
                    assert_steady("zb-h2", p, m, 1, all[k], u, 3 * m + wait + u);
                    assert_steady("zb-v", p, m, 2, all[k], u, 3 * m + wait / 2 + u);
                    assert_steady("forward", p, m, 1, all[k], u, m);
                    assert_steady("pipedream", p, m, 1, all[k], u, m * (3 + u));
                }
    assert_steady("pipedream", 8, 3, 1, WEFT_SYNC_NONE, 0, 9); /* m < p */
}

static void a_steady_step_repeats_and_holds_all_work(void **state)
{
    static random_case x;
    uint64_t seed = 11;
    int found = 0;
    for (int i = 0; i < 1000; i++) {
        random_fill(&x, &seed);
        x.o.steps = 12;
        weft_sim r = steps_of(&x.s, &x.c, &x.o);
        if (r.period) {
            int n = r.steps - 1, k = r.period;
            found++;
            assert_near(r.step_end[n] - r.step_end[n - k], k * r.step_time);
            assert_true(r.steady_from + k <= n);
            if (r.step_time + 1e-9 < r.eval.ideal / r.steps)
                fail_msg("a step of %g holds work of %g", r.step_time,
                         r.eval.ideal / r.steps);
        }
        weft_sim_clear(&r);
        weft_schedule_clear(&x.s);
    }
    assert_true(found > 900);
}

/* x(k+1) = max over j of a[i][j] + x(k)[j] grows by the largest mean of a cycle of a
 * (Karp 1978); the period is that of the cycles which have it. */
static double largest_cycle_mean(int n, double a[4][4])
{
    double d[5][4] = {{0}}, best = -1e9;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            d[k + 1][i] = -1e9;
            for (int j = 0; j < n; j++)
                d[k + 1][i] = fmax(d[k + 1][i], d[k][j] + a[i][j]);
        }
    for (int i = 0; i < n; i++) {
        double least = 1e9;
        for (int k = 0; k < n; k++)
            least = fmin(least, (d[n][i] - d[k][i]) / (n - k));
        best = fmax(best, least);
    }
    return best;
}

static void the_period_of_growth_is_found(void **state)
{
    enum { STEPS = 40 };
    uint64_t seed = 17;
    int of_period[8] = {0};
    for (int round = 0; round < 2000; round++) {
        int n = 1 + (int)random_below(&seed, 4), from;
        double a[4][4], x[STEPS][4] = {{0}}, all[STEPS * 4], shift;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                a[i][j] = random_below(&seed, 50);
        for (int k = 1; k < STEPS; k++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    x[k][i] = fmax(x[k][i], a[i][j] + x[k - 1][j]);
        for (int k = 0; k < STEPS; k++)
            for (int i = 0; i < n; i++)
                all[k * n + i] = x[k][i];
        wf_history h = {.steps = STEPS, .width = n, .x = all};
        int c = wf_history_period(&h, &shift, &from);
        if (!c) continue; /* a second cycle nearly as large: it takes long */
        of_period[c < 8 ? c : 7]++;
        assert_near(shift / c, largest_cycle_mean(n, a));
        for (int i = 0; i < n; i++)
            assert_near(x[from + c][i] - x[from][i], shift);
        if (from == 0) continue;
        int equal = 1;
        for (int i = 0; i < n; i++)
            equal = equal && fabs(x[from - 1 + c][i] - x[from - 1][i] - shift) < 1e-9;
        assert_false(equal);
    }
    for (int c = 1; c <= 3; c++)
        if (of_period[c] < 20) fail_msg("%d of period %d", of_period[c], c);
}

/* ---- memory ----------------------------------------------------------------------- */

typedef struct bytes {
    double list[2 + WEFT_OP_N_COMPUTE][64];
    weft_sim_bytes b;
} bytes;

static void random_bytes(bytes *x, uint64_t *seed)
{
    for (int k = 0; k < 2 + WEFT_OP_N_COMPUTE; k++)
        for (int i = 0; i < 64; i++)
            x->list[k][i] = random_below(seed, 100);
    x->b = (weft_sim_bytes){.free_i = x->list[0], .free_w = x->list[1]};
    for (int k = 0; k < WEFT_OP_N_COMPUTE; k++)
        x->b.temp[k] = x->list[2 + k];
}

/* What is there while op i (and its block's other op) runs, counted over the whole list. */
static double held_during(const weft_schedule *s, const bytes *x, int rank, int64_t i,
                          int64_t last, int forward_only)
{
    double sum = 0;
    for (int64_t k = s->first[rank]; k <= last; k++) {
        const weft_op *op = &s->op[k];
        int stage = weft_schedule_stage(s, rank, op->chunk), past = k < i;
        double a = x->list[0][stage], w = x->list[1][stage];
        if (op->kind == WEFT_OP_F && !(forward_only && past)) sum += a + w;
        if (past && (op->kind == WEFT_OP_B || op->kind == WEFT_OP_I)) sum -= a;
        if (past && (op->kind == WEFT_OP_B || op->kind == WEFT_OP_W)) sum -= w;
        if (!past) sum += x->list[2 + op->kind][stage];
    }
    return sum;
}

static double peak_by_counting(const random_case *x, const bytes *b, int rank,
                               const weft_op **first_over)
{
    double peak = 0;
    *first_over = NULL;
    int forward_only = !strcmp(x->s.kind, "forward");
    for (int64_t i = x->s.first[rank]; i < x->s.first[rank + 1]; i++) {
        int block =
            x->c.overlap == WEFT_OVERLAP_ATOMIC && x->s.op[i].flags & WEFT_OPF_PAIR;
        double held = held_during(&x->s, b, rank, i, i + block, forward_only);
        if (held > peak) peak = held;
        if (held > b->b.limit && !*first_over) *first_over = &x->s.op[i];
        i += block;
    }
    return peak;
}

static void memory_is_what_ops_keep_and_need(void **state)
{
    static random_case x;
    static bytes b;
    uint64_t seed = 13;
    int exceeded = 0;
    for (int i = 0; i < 500; i++) {
        random_fill(&x, &seed);
        random_bytes(&b, &seed);
        b.b.limit = 1 + random_below(&seed, 1000);
        x.o.bytes = &b.b;
        weft_trace t;
        weft_sim r;
        double highest[16] = {0}, last[16] = {0}, at[16] = {0};
        assert_ok(weft_simulate_steps(&x.s, &x.c, &x.o, &t, &r));
        assert_ok(weft_trace_check(&t));
        for (int64_t k = 0; k < t.n_levels; k++) {
            const weft_trace_level *l = &t.level[k];
            assert_true(l->at >= at[l->rank]);
            at[l->rank] = l->at;
            last[l->rank] = l->bytes;
            highest[l->rank] = fmax(highest[l->rank], l->bytes);
        }
        for (int k = 0; k < x.s.p; k++) {
            const weft_op *over;
            assert_near(r.peak[k].bytes, peak_by_counting(&x, &b, k, &over));
            assert_int_equal(r.first_over[k].bytes > 0, over != NULL);
            if (over) assert_memory_equal(&r.first_over[k].op, over, sizeof *over);
            exceeded += over != NULL;
            assert_near(r.peak[k].bytes, highest[k]);
            assert_near(last[k], 0);
        }
        weft_sim_clear(&r);
        weft_trace_clear(&t);
        weft_schedule_clear(&x.s);
    }
    assert_true(exceeded > 100);
}

/* 1F1B holds p-r activations; the most is while the first B runs with its temporaries. */
static void a_temporary_raises_the_peak_only_while_its_op_runs(void **state)
{
    static plain x;
    double kept[4] = {100, 100, 100, 100}, temp[4] = {7, 7, 7, 7};
    weft_sim_bytes need = {.free_i = kept, .temp = {[WEFT_OP_B] = temp}};
    weft_sim_options o = {.bytes = &need};
    weft_schedule s = made("1f1b", 4, 8, 1);
    weft_sim r = steps_of(&s, uniform(&x, &s, 1, 1, 1), &o);
    for (int k = 0; k < 4; k++) {
        assert_near(r.peak[k].bytes, 100 * (4 - k) + 7);
        assert_int_equal(r.peak[k].op.kind, WEFT_OP_B);
        assert_int_equal(r.peak[k].op.micro, 0);
        assert_near(r.peak[k].at, 4 + 2 * (3 - k)); /* B0 */
    }
    weft_sim_clear(&r);
    need.temp[WEFT_OP_B] = NULL;
    need.temp[WEFT_OP_F] = temp;
    r = steps_of(&s, &x.c, &o);
    assert_near(r.peak[0].bytes, 407);
    assert_int_equal(r.peak[0].op.kind, WEFT_OP_F);
    assert_int_equal(r.peak[0].op.micro, 3);
    assert_near(r.peak[0].at, 3);
    weft_sim_clear(&r);
    weft_schedule_clear(&s);
}

/* ---- refusals --------------------------------------------------------------------- */

static void options_out_of_range_are_refused(void **state)
{
    static plain x;
    static const weft_link_tier twice[] = {{.ranks = 2}, {.ranks = 2}, {0}};
    static const weft_link_tier ends[] = {{.ranks = 2}};
    weft_schedule s = made("1f1b", 2, 2, 1), f = made("forward", 2, 2, 1);
    double bad[2] = {1, -1};
    weft_sim r;
    weft_costs *c = uniform(&x, &s, 1, 1, 1);
#define REFUSED(words)                                                                 \
    assert_fails(weft_simulate_steps(&s, c, &o, NULL, &r), WEFT_E_INVALID, words)
    weft_sim_options o = {.steps = -1};
    REFUSED("-1 steps");
    o = (weft_sim_options){.sync = (weft_sync)3};
    REFUSED("sync number 3");
    o = (weft_sim_options){.optimizer = bad};
    REFUSED("takes -1 on rank 1");
    o = (weft_sim_options){.bytes = &(weft_sim_bytes){.free_w = bad}};
    REFUSED("what W frees of stage 1 is -1");
    o = (weft_sim_options){.steps = 1};
    c->n_tiers = 3;
    c->tier = twice;
    REFUSED("link tier 1 has domains of 2 ranks");
    c->n_tiers = 1;
    c->tier = ends;
    REFUSED("the last has 0");
    c->n_tiers = 0;
    c->message_bytes = NAN;
    REFUSED("message of nan");
    c->message_bytes = 0;
    c->messages = (weft_messages)2;
    REFUSED("messages number 2");
    c->messages = WEFT_MESSAGES_OVERLAPPED;
    c->overlap_by_rank = bad;
    REFUSED("overlap cost -1");
    c->overlap_by_rank = NULL;
    o.optimizer = (double[]){1, 1};
    assert_fails(weft_simulate_steps(&f, c, &o, NULL, &r), WEFT_E_INVALID,
                 "forward has no gradients");
    weft_schedule_clear(&s);
    weft_schedule_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_time_is_that_of_a_second_simulation),
        cmocka_unit_test(gpipe_with_bandwidth_is_its_closed_form),
        cmocka_unit_test(gpipe_with_blocking_messages_is_its_closed_form),
        cmocka_unit_test(messages_take_their_own_tier),
        cmocka_unit_test(repeated_steps_take_what_theory_says),
        cmocka_unit_test(a_steady_step_repeats_and_holds_all_work),
        cmocka_unit_test(the_period_of_growth_is_found),
        cmocka_unit_test(memory_is_what_ops_keep_and_need),
        cmocka_unit_test(a_temporary_raises_the_peak_only_while_its_op_runs),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
