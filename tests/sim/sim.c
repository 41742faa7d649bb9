/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/support.h"

static double *uniform(const weft_schedule *s, double tf, double tb, int per_op)
{
    double *dur = malloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE * sizeof *dur);
    weft_costs_uniform(s, tf, tb, tb / 4, tb * 3 / 4, per_op, dur);
    return dur;
}

static weft_trace simulated(const weft_schedule *s, const double *dur, double latency)
{
    weft_trace t;
    weft_eval e;
    assert_ok(weft_simulate(s, &(weft_costs){.dur = dur, .latency = latency}, &t, &e));
    weft_eval_clear(&e);
    return t;
}

static void a_trace_holds_each_op_once_in_the_order_of_its_rank(void **state)
{
    weft_schedule s = made("interleaved", 3, 6, 2);
    double *dur = uniform(&s, 1, 2, 0);
    weft_trace t = simulated(&s, dur, 0);
    int64_t at[3] = {s.first[0], s.first[1], s.first[2]};
    assert_int_equal(t.n, s.first[3]);
    assert_int_equal(t.n_ranks, 3);
    assert_int_equal(t.measured, 0);
    assert_string_equal(t.title, "interleaved p=3 m=6 v=2");
    for (int64_t i = 0; i < t.n; i++) {
        const weft_trace_entry *e = &t.entry[i];
        const weft_op *op = &s.op[at[e->rank]++];
        assert_memory_equal(&e->op, op, sizeof *op);
        assert_null(e->label);
        assert_int_equal(e->lane, WEFT_LANE_COMPUTE);
        assert_near(e->end - e->start, op->kind == WEFT_OP_F ? 0.5 : 1);
    }
    assert_ok(weft_trace_check(&t));
    assert_ok(weft_simulate_check(&s, &t, 0, 0));
    weft_trace_clear(&t);
    weft_schedule_clear(&s);
    free(dur);
}

static void each_message_is_a_send_of_one_latency_after_its_op(void **state)
{
    weft_schedule s = made("1f1b", 3, 4, 1);
    double *dur = uniform(&s, 1, 2, 0);
    weft_trace t = simulated(&s, dur, 0.25);
    int64_t sends = 0;
    for (int64_t i = 0; i < t.n; i++) {
        const weft_trace_entry *e = &t.entry[i];
        if (e->lane == WEFT_LANE_COMPUTE) continue;
        sends++;
        assert_int_equal(e->lane, WEFT_LANE_SEND);
        assert_int_equal(e->op.kind, WEFT_OP_SEND);
        assert_near(e->end - e->start, 0.25);
        assert_near(e->start, t.entry[i - 1].end);
        assert_int_equal(e->op.micro, t.entry[i - 1].op.micro);
        int grad = t.entry[i - 1].op.kind == WEFT_OP_B;
        assert_int_equal(e->op.flags, grad ? WEFT_OPF_GRAD : 0);
        assert_int_not_equal(e->rank,
                             grad ? 0 : 2); /* the ends send nothing outwards */
    }
    assert_int_equal(sends, 2 * 4 * 2);
    assert_ok(weft_simulate_check(&s, &t, 0, 0));
    weft_trace_clear(&t);
    weft_schedule_clear(&s);
    free(dur);
}

static void a_summary_needs_no_trace(void **state)
{
    weft_schedule s = made("1f1b", 4, 12, 1);
    double *dur = uniform(&s, 1, 2, 0);
    weft_eval e;
    assert_ok(weft_simulate(&s, &(weft_costs){.dur = dur}, NULL, &e));
    assert_near(e.makespan, 45);
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
    free(dur);
}

static void a_failed_simulation_leaves_no_trace_behind(void **state)
{
    weft_schedule s =
        parsed("F0.0 B0.0 F1.0 B1.0\nF1.0 B1.0 F0.0 B0.0\n", WEFT_PLACE_SINGLE);
    double *dur = uniform(&s, 1, 2, 0);
    weft_trace t;
    weft_eval e;
    assert_fails(weft_simulate(&s, &(weft_costs){.dur = dur}, &t, &e),
                 WEFT_E_INFEASIBLE, "deadlock");
    assert_null(t.entry);
    weft_schedule_clear(&s);
    free(dur);
}

/* p=8, m=32: a teaching tool draws 1F1B in 71 slots: every rank begins as soon as the one
 * before it and never waits. */
static void case34_a_1f1b_drawn_in_71_slots_is_refused(void **state)
{
    weft_schedule s = made("1f1b", 8, 32, 1);
    weft_trace t;
    weft_trace_init(&t, 8, "", "71 slots");
    for (int r = 0; r < 8; r++) {
        for (int64_t i = s.first[r]; i < s.first[r + 1]; i++) {
            double start = r + (double)(i - s.first[r]);
            assert_ok(weft_trace_add(
                &t, &(weft_trace_entry){
                        .start = start, .end = start + 1, .op = s.op[i], .rank = r}));
        }
    }
    assert_near(t.entry[t.n - 1].end, 71);
    assert_fails(weft_simulate_check(&s, &t, 0, 0), WEFT_E_INFEASIBLE,
                 "rank 0 starts B0.0 at 8, before its input from rank 1 is ready at 9");
    weft_trace_clear(&t);
    weft_schedule_clear(&s);
}

static void a_timeline_that_leaves_its_schedule_is_refused(void **state)
{
    weft_schedule s = made("1f1b", 2, 3, 1), other = made("gpipe", 2, 3, 1);
    weft_schedule wide = made("1f1b", 3, 3, 1);
    double *dur = uniform(&s, 1, 2, 0);
    weft_trace t = simulated(&s, dur, 0);
    assert_fails(weft_simulate_check(&other, &t, 0, 0), WEFT_E_INFEASIBLE,
                 "runs B0.0 where its list has");
    assert_fails(weft_simulate_check(&wide, &t, 0, 0), WEFT_E_MISMATCH, "has 2 ranks");
    assert_fails(weft_simulate_check(&s, &t, 1, 0), WEFT_E_INFEASIBLE,
                 "never runs F0.0");
    for (int64_t i = 0; i < t.n; i++) {
        double kept = t.entry[i].start;
        t.entry[i].start -=
            0.5; /* each waits for its rank, its input or the beginning */
        assert_int_equal(weft_simulate_check(&s, &t, 0, 0), WEFT_E_INFEASIBLE);
        assert_ok(weft_simulate_check(&s, &t, 0, 0.5));
        t.entry[i].start = kept;
    }
    assert_ok(weft_simulate_check(&s, &t, 0, 0));
    t.n--;
    assert_fails(weft_simulate_check(&s, &t, 0, 0), WEFT_E_INFEASIBLE, "never runs");
    weft_trace_clear(&t);
    weft_schedule_clear(&s);
    weft_schedule_clear(&other);
    weft_schedule_clear(&wide);
    free(dur);
}

static void an_op_costs_its_part_of_a_full_stage(void **state)
{
    static const struct {
        weft_placement_kind placement;
        int v;
        double part;
    } row[] = {{WEFT_PLACE_SINGLE, 1, 1},
               {WEFT_PLACE_LOOP, 4, 0.25},
               {WEFT_PLACE_V, 2, 0.5},
               {WEFT_PLACE_BIDIR, 2, 1}, /* two copies of full stages */
               {WEFT_PLACE_BIDIRV, 4, 0.5}};
    for (int i = 0; i < 5; i++) {
        weft_schedule s = {
            .p = 3, .m = 2, .v = row[i].v, .placement = row[i].placement};
        for (int per_op = 0; per_op < 2; per_op++) {
            double *dur = uniform(&s, 1, 4, per_op), part = per_op ? 1 : row[i].part;
            const double *last = dur + (3 * s.v - 1) * WEFT_OP_N_COMPUTE;
            assert_near(last[WEFT_OP_F], part);
            assert_near(last[WEFT_OP_B], 4 * part);
            assert_near(last[WEFT_OP_I], part);
            assert_near(last[WEFT_OP_W], 3 * part);
            assert_near(last[WEFT_OP_R], part); /* a forward again */
            free(dur);
        }
    }
}

static void times_are_given_by_stage_or_by_rank(void **state)
{
    weft_schedule s = {.p = 2, .m = 2, .v = 2, .placement = WEFT_PLACE_V};
    double dur[4][WEFT_OP_N_COMPUTE];
    double tf[] = {1, 2, 3, 4}, tb[] = {10, 20, 30, 40}, ti[] = {1, 1, 1, 1};
    assert_ok(weft_costs_by_stage(&s, 4, tf, tb, ti, NULL, dur[0]));
    assert_near(dur[0][WEFT_OP_F], 1); /* rank 0: stages 0 and 3 */
    assert_near(dur[1][WEFT_OP_F], 4);
    assert_near(dur[2][WEFT_OP_B], 20); /* rank 1: stages 1 and 2 */
    assert_near(dur[3][WEFT_OP_B], 30);
    assert_near(dur[3][WEFT_OP_I], 1);
    assert_near(dur[3][WEFT_OP_W], 15);
    assert_ok(weft_costs_by_stage(&s, 2, tf, tb, NULL, NULL, dur[0]));
    assert_near(dur[0][WEFT_OP_F], 0.5); /* half of rank 0's full stage */
    assert_near(dur[3][WEFT_OP_F], 1);
    assert_near(dur[3][WEFT_OP_I], 5);
    assert_fails(weft_costs_by_stage(&s, 3, tf, tb, NULL, NULL, dur[0]),
                 WEFT_E_MISMATCH,
                 "3 times per stage, 4 (one per stage) or 2 (one per rank)");
    s = (weft_schedule){.p = 4, .m = 2, .v = 1};
    assert_fails(weft_costs_by_stage(&s, 3, tf, tb, NULL, NULL, dur[0]),
                 WEFT_E_MISMATCH, "3 times per stage, 4 are needed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_holds_each_op_once_in_the_order_of_its_rank),
        cmocka_unit_test(each_message_is_a_send_of_one_latency_after_its_op),
        cmocka_unit_test(a_summary_needs_no_trace),
        cmocka_unit_test(a_failed_simulation_leaves_no_trace_behind),
        cmocka_unit_test(case34_a_1f1b_drawn_in_71_slots_is_refused),
        cmocka_unit_test(a_timeline_that_leaves_its_schedule_is_refused),
        cmocka_unit_test(an_op_costs_its_part_of_a_full_stage),
        cmocka_unit_test(times_are_given_by_stage_or_by_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
