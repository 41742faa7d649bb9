/* SPDX-License-Identifier: Apache-2.0 */
/* Simulation against closed forms, bounds and an independent simulator. */
#include "support.h"

static double random_time(uint64_t *seed)
{
    return random_below(seed, 64) / 8.0;
}

/* A random shape that the kind accepts. */
static weft_schedule random_schedule(const char *kind, uint64_t *seed)
{
    weft_schedule s;
    for (;;) {
        int p = 1 + (int)random_below(seed, 8), m = 1 + (int)random_below(seed, 24);
        int v = (int)random_below(seed, 5); /* 0: its own */
        weft_schedule_options opt = {0};
        if (!strncmp(kind, "interleaved", 11) && random_below(seed, 2))
            opt.group = 1 + random_below(seed, 24);
        if (weft_schedule_make(kind, p, m, v, &opt, &s) == WEFT_OK) return s;
    }
}

/* Edges of one micro-batch that cross ranks, one way. */
static int64_t remote_edges(const weft_schedule *s)
{
    if (s->p == 1) return 0;
    switch (s->placement) {
    case WEFT_PLACE_LOOP: return (int64_t)s->p * s->v - 1;
    case WEFT_PLACE_V: return (int64_t)s->v * (s->p - 1); /* it turns on a rank */
    case WEFT_PLACE_BIDIRV: return 2 * (int64_t)(s->p - 1);
    case WEFT_PLACE_SINGLE:
    case WEFT_PLACE_BIDIR: break;
    }
    return s->p - 1;
}

static void assert_makespan(const weft_schedule *s, uint64_t *seed, int *known)
{
    double tf = random_time(seed), ti = random_time(seed), tw = random_time(seed);
    if (random_below(seed, 2)) ti = tf; /* where the forms of some kinds hold */
    if (random_below(seed, 3) == 0) tw = ti;
    double closed = weft_schedule_closed_makespan_split(s, tf, ti, tw);
    if (isnan(closed)) return;
    weft_eval e = timed_split(s, tf, ti, tw);
    if (!(fabs(e.makespan - closed) <= 1e-9 * (1 + closed)))
        fail_msg("%s p=%d m=%d v=%d group=%d tf=%g ti=%g tw=%g: %g, closed form %g",
                 s->kind, s->p, s->m, s->v, s->group, tf, ti, tw, e.makespan, closed);
    weft_eval_clear(&e);
    ++*known;
}

static void assert_report(const weft_schedule *s)
{
    weft_schedule_report report;
    assert_ok(weft_schedule_check(s, 0, &report));
    for (int r = 0; r < s->p; r++) {
        int64_t closed = weft_schedule_closed_peak(s, r);
        if (closed >= 0) assert_int_equal(report.peak_in_flight[r], closed);
    }
    int64_t ways = strcmp(s->kind, "forward") ? 2 : 1;
    assert_int_equal(report.p2p_messages, ways * s->m * remote_edges(s));
    weft_schedule_report_clear(&report);
}

static void every_kind_meets_its_closed_forms_and_passes_the_check(void **state)
{
    uint64_t seed = 1;
    for (int k = 0; k < weft_schedule_kind_count(); k++) {
        const char *kind = weft_schedule_kind_name(weft_schedule_kind_at(k));
        int known = 0;
        for (int i = 0; i < 400; i++) {
            weft_schedule s = random_schedule(kind, &seed);
            assert_makespan(&s, &seed, &known);
            assert_report(&s);
            weft_schedule_clear(&s);
        }
        print_message("%-16s closed makespan in %3d of 400\n", kind, known);
    }
}

/* The measure of the papers: ranks start one forward apart, and none waits. */
static void case44_the_span_of_zb_h2_is_its_closed_form(void **state)
{
    uint64_t seed = 11;
    for (int i = 0; i < 2000; i++) {
        int p = 1 + (int)random_below(&seed, 8);
        int m = 2 * p - 1 + (int)random_below(&seed, 16);
        double tf = random_time(&seed), ti = random_time(&seed),
               tw = random_time(&seed);
        weft_schedule s = made("zb-h2", p, m, 1);
        weft_eval e = timed_split(&s, tf, ti, tw);
        double gap = fmax(0, tf + ti - 2 * fmin(tf, tw));
        assert_near(e.span, m * (tf + ti + tw) + (p - 1) * gap);
        weft_eval_clear(&e);
        weft_schedule_clear(&s);
    }
}

static void case44_zb_h1_has_a_third_of_the_bubble_of_1f1b_in_unit_times(void **state)
{
    static const struct {
        int p, m, split, whole;
    } row[] = {{4, 8, 27, 33}, {4, 12, 39, 45}, {8, 20, 67, 81}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        weft_schedule h1 = made("zb-h1", row[i].p, row[i].m, 1);
        weft_schedule plain = made("1f1b", row[i].p, row[i].m, 1);
        weft_schedule_report report;
        assert_near(makespan(&h1, 1, 2), row[i].split);
        assert_near(makespan(&plain, 1, 2), row[i].whole);
        assert_ok(weft_schedule_check(&h1, 0, &report));
        for (int r = 0; r < row[i].p; r++)
            assert_int_equal(report.peak_in_flight_w[r], row[i].p);
        weft_schedule_report_clear(&report);
        weft_schedule_clear(&h1);
        weft_schedule_clear(&plain);
    }
}

static void zb_v_in_unit_times_never_waits_once_it_runs(void **state)
{
    for (int p = 1; p <= 8; p++) {
        for (int m = 2 * p - 1; m < 2 * p + 6; m++) {
            weft_schedule s = made("zb-v", p, m, 0);
            weft_eval e = timed_split(&s, 2, 2, 2);
            assert_near(e.span, e.ideal);
            assert_near(e.makespan, e.ideal + p - 1);
            weft_eval_clear(&e);
            weft_schedule_clear(&s);
        }
    }
}

/* Case 56. */
static void case56_pipedream_keeps_a_weight_version_for_each_stage_that_follows(
    void **state)
{
    weft_schedule s = made("pipedream", 4, 12, 1);
    for (int r = 0; r < 4; r++)
        assert_int_equal(weft_schedule_weight_copies(&s, r), 4 - r);
    weft_schedule_clear(&s);
    s = made("pipedream", 4, 2, 1); /* no more versions than micro-batches */
    assert_int_equal(weft_schedule_weight_copies(&s, 0), 2);
    assert_int_equal(weft_schedule_weight_copies(&s, 3), 1);
    weft_schedule_clear(&s);
}

static void two_directions_need_two_copies_of_the_weights(void **state)
{
    static const struct {
        const char *kind;
        int copies;
    } row[] = {{"dualpipe", 2}, {"chimera", 2},   {"bitpipe", 2},
               {"zb-v", 1},     {"dualpipev", 1}, {"1f1b", 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        weft_schedule s = made(row[i].kind, 4, 8, 0);
        for (int r = 0; r < 4; r++)
            assert_int_equal(weft_schedule_weight_copies(&s, r), row[i].copies);
        weft_schedule_clear(&s);
    }
}

static void idle_busy_span_and_bubbles_are_what_their_names_say(void **state)
{
    weft_schedule s = made("1f1b", 3, 4, 1);
    double dur[3 * WEFT_OP_N_COMPUTE], tf[] = {1, 2, 1}, tb[] = {2, 3, 2};
    assert_ok(weft_costs_by_stage(&s, 3, tf, tb, NULL, NULL, dur));
    weft_eval e;
    assert_ok(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e));
    assert_near(e.ideal, 20); /* the middle stage: 4 * (2 + 3) */
    assert_near(e.busy[0], 12);
    assert_near(e.idle[1], e.makespan - 20);
    assert_near(e.bubble_of_total, (e.makespan - 20) / e.makespan);
    assert_near(e.bubble_of_ideal, e.makespan / 20 - 1);
    assert_near(e.span, e.makespan); /* rank 0 is first and last */
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

static void the_start_skew_is_in_the_makespan_but_not_in_the_span(void **state)
{
    weft_schedule s = made("forward", 3, 5, 1);
    weft_eval e = timed(&s, 1, 0);
    assert_near(e.makespan, 7);
    assert_near(e.span, 5);
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

/* W is work of its own rank: the stage before starts when I ends. */
static void a_weight_gradient_keeps_nobody_else_waiting(void **state)
{
    weft_schedule s = parsed("F0.0 I0.0 W0.0\nF0.0 I0.0 W0.0\n", WEFT_PLACE_SINGLE);
    double dur[2 * WEFT_OP_N_COMPUTE];
    weft_costs_uniform(&s, 1, 0, 1, 5, 0, dur);
    weft_eval e;
    assert_ok(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e));
    assert_near(e.makespan, 9); /* F F I I W */
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

/* p stages in a row, one op at a time, a flush: nothing beats this. */
static void no_single_placement_order_beats_the_lower_bound(void **state)
{
    uint64_t seed = 3;
    int valid = 0;
    for (int i = 0; i < 400; i++) {
        weft_schedule s = random_schedule(i % 2 ? "1f1b" : "gpipe", &seed);
        for (int swaps = (int)random_below(&seed, 6); swaps-- > 0;) {
            int64_t j = random_below(&seed, (uint32_t)s.first[s.p] - 1);
            weft_op o = s.op[j];
            s.op[j] = s.op[j + 1];
            s.op[j + 1] = o;
        }
        double tf = random_time(&seed), tb = random_time(&seed);
        if (weft_schedule_check(&s, 0, NULL) == WEFT_OK) {
            valid++;
            assert_true(makespan(&s, tf, tb) >=
                        (s.m + s.p - 1) * (tf + tb) * (1 - 1e-12));
        }
        weft_schedule_clear(&s);
    }
    assert_true(valid > 100);
}

typedef struct ends {
    const weft_schedule *s;
    const double *end;
    int64_t *at; /* [p] */
} ends;

static void compare_end(void *ctx, int rank, const weft_op *op, double start,
                        double end)
{
    ends *x = ctx;
    int64_t i = x->s->first[rank] + x->at[rank]++;
    assert_ptr_equal(op, &x->s->op[i]);
    assert_near(end, x->end[i]);
}

static void every_end_equals_that_of_an_independent_sweep(void **state)
{
    uint64_t seed = 4;
    for (int i = 0; i < 60; i++) {
        const char *kind = weft_schedule_kind_name(
            weft_schedule_kind_at(i % weft_schedule_kind_count()));
        weft_schedule s = random_schedule(kind, &seed);
        if (s.m > 10) { /* sweeps are slow */
            weft_schedule_clear(&s);
            continue;
        }
        size_t n = (size_t)(s.p * s.v) * WEFT_OP_N_COMPUTE;
        double *dur = malloc(n * sizeof *dur), latency = random_time(&seed);
        for (size_t j = 0; j < n; j++)
            dur[j] = random_time(&seed);
        ends x = {&s, swept_ends(&s, dur, latency),
                  calloc((size_t)s.p, sizeof(int64_t))};
        weft_eval e;
        assert_ok(weft_schedule_eval(&s, &(weft_costs){.dur = dur, .latency = latency},
                                     compare_end, &x, &e));
        weft_eval_clear(&e);
        free((void *)x.end);
        free(x.at);
        free(dur);
        weft_schedule_clear(&s);
    }
}

static double micro_time(void *ctx, int rank, int chunk, int kind, int64_t micro)
{
    double t = kind == WEFT_OP_F ? 1 : 2;
    return micro == *(int64_t *)ctx ? 3 * t : t;
}

static void a_duration_per_micro_batch_overrides_the_table(void **state)
{
    int64_t slow = 2;
    weft_schedule s = made("forward", 2, 4, 1);
    weft_costs costs = {.dur_at = micro_time, .dur_ctx = &slow};
    weft_eval e;
    assert_ok(weft_schedule_eval(&s, &costs, NULL, NULL, &e));
    assert_near(e.makespan, 9); /* 1 1 3 on rank 0, then 3 1 on rank 1 */
    assert_near(e.busy[1], 6);
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

/* Plain 1F1B pays the round trip for each micro-batch; GPipe only at the ends. */
static void latency_of_a_message_costs_what_its_formula_says(void **state)
{
    for (int p = 2; p <= 6; p++) {
        for (int k = 1; k <= 3; k++) {
            int m = k * p;
            double *dur = malloc((size_t)p * WEFT_OP_N_COMPUTE * sizeof *dur),
                   c = 0.125;
            for (int kind = 0; kind < 2; kind++) {
                weft_schedule s = made(kind ? "1f1b" : "gpipe", p, m, 1);
                weft_costs_uniform(&s, 1, 2, 1, 1, 0, dur);
                weft_eval e;
                assert_ok(weft_schedule_eval(
                    &s, &(weft_costs){.dur = dur, .latency = c}, NULL, NULL, &e));
                double extra = kind ? 2 * c * ((p - 1) * (k + 1) - 1) : 2 * (p - 1) * c;
                assert_near(e.makespan, (m + p - 1) * 3 + extra);
                weft_eval_clear(&e);
                weft_schedule_clear(&s);
            }
            free(dur);
        }
    }
}

static void bad_durations_are_refused_by_name(void **state)
{
    weft_schedule s = made("1f1b", 2, 2, 1);
    weft_eval e;
    double dur[2 * WEFT_OP_N_COMPUTE];
    weft_costs_uniform(&s, 1, -2, 1, 1, 0, dur);
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                 WEFT_E_INVALID, "duration of B0.0 on rank 1 is -2");
    weft_costs_uniform(&s, NAN, 2, 1, 1, 0, dur);
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                 WEFT_E_INVALID, "duration of F0.0 on rank 0 is nan");
    weft_costs_uniform(&s, 1, 2, 1, 1, 0, dur);
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur, .latency = -1}, NULL,
                                    NULL, &e),
                 WEFT_E_INVALID, "latency -1");
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.latency = 1}, NULL, NULL, &e),
                 WEFT_E_INVALID, "no durations");
    weft_schedule_clear(&s);
}

/* Costs that a planner meets: nothing overflows, nothing is quadratic. */
static void a_million_ops_take_the_closed_form(void **state)
{
    weft_schedule s = made("interleaved", 64, 4096, 2);
    assert_int_equal(s.first[64], 1048576);
    assert_near(makespan(&s, 1, 2), weft_schedule_closed_makespan(&s, 1, 2));
    assert_ok(weft_schedule_check(&s, 0, NULL));
    weft_schedule_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_meets_its_closed_forms_and_passes_the_check),
        cmocka_unit_test(case44_the_span_of_zb_h2_is_its_closed_form),
        cmocka_unit_test(case44_zb_h1_has_a_third_of_the_bubble_of_1f1b_in_unit_times),
        cmocka_unit_test(zb_v_in_unit_times_never_waits_once_it_runs),
        cmocka_unit_test(
            case56_pipedream_keeps_a_weight_version_for_each_stage_that_follows),
        cmocka_unit_test(two_directions_need_two_copies_of_the_weights),
        cmocka_unit_test(idle_busy_span_and_bubbles_are_what_their_names_say),
        cmocka_unit_test(the_start_skew_is_in_the_makespan_but_not_in_the_span),
        cmocka_unit_test(a_weight_gradient_keeps_nobody_else_waiting),
        cmocka_unit_test(no_single_placement_order_beats_the_lower_bound),
        cmocka_unit_test(every_end_equals_that_of_an_independent_sweep),
        cmocka_unit_test(a_duration_per_micro_batch_overrides_the_table),
        cmocka_unit_test(latency_of_a_message_costs_what_its_formula_says),
        cmocka_unit_test(bad_durations_are_refused_by_name),
        cmocka_unit_test(a_million_ops_take_the_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
