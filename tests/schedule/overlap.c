/* SPDX-License-Identifier: Apache-2.0 */
/* Ops marked '&': one after the other, or as one block. */
#include "support.h"

static weft_eval evaluated(const weft_schedule *s, double tf, double ti, double tw,
                           weft_overlap overlap, double cost)
{
    weft_eval e;
    double *dur = malloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE * sizeof *dur);
    weft_costs_uniform(s, tf, ti + tw, ti, tw, 1, dur);
    assert_ok(weft_schedule_eval(
        s, &(weft_costs){.dur = dur, .overlap = overlap, .overlap_cost = cost}, NULL,
        NULL, &e));
    free(dur);
    return e;
}

static double total(const weft_schedule *s, weft_overlap overlap, double cost)
{
    weft_eval e = evaluated(s, 1, 2, 0, overlap, cost);
    double t = e.makespan;
    weft_eval_clear(&e);
    return t;
}

/* Rank 0 has B1 only when rank 1 is through with it; F2 of the block waits with it. */
static void a_block_starts_with_the_later_input_and_gives_both_results_at_its_end(
    void **state)
{
    weft_schedule s = parsed("F0.0 F1.0 B0.0 F2.0& B1.0 B2.0\n"
                             "F0.0 B0.0 F1.0 B1.0 F2.0 B2.0\n",
                             WEFT_PLACE_SINGLE);
    assert_near(total(&s, WEFT_OVERLAP_SERIAL, 0), 12);
    /* rank 1: F0 1-2 B0 2-4 F1 4-5 B1 5-7; block 7-10, rank 1: F2 10-11 B2 11-13; B2
     * 13-15 */
    assert_near(total(&s, WEFT_OVERLAP_ATOMIC, 0), 15);
    assert_near(total(&s, WEFT_OVERLAP_ATOMIC, 2), 14);
    weft_eval e = evaluated(&s, 1, 2, 0, WEFT_OVERLAP_ATOMIC, 2);
    assert_near(e.busy[0], 1 + 1 + 2 + 2 + 2);
    assert_near(e.busy[1], 9);
    weft_eval_clear(&e);
    weft_schedule_clear(&s);
}

/* The formula of the DualPipe README, which is right for tf = ti >= tw. */
static void dualpipe_in_blocks_idles_as_its_authors_say(void **state)
{
    uint64_t seed = 21;
    for (int i = 0; i < 1000; i++) {
        int fold = i & 1, p = fold ? 1 + (int)random_below(&seed, 7)
                                   : 2 + 2 * (int)random_below(&seed, 4);
        int m = 2 * p + 2 * (int)random_below(&seed, 6);
        double tf = random_below(&seed, 20), tw = tf * random_below(&seed, 9) / 8;
        weft_schedule s = made(fold ? "dualpipev" : "dualpipe", p, m, 0);
        weft_eval e = evaluated(&s, tf, tf, tw, WEFT_OVERLAP_ATOMIC, 0);
        double pair = tf + tf + tw, turns = fold ? p - 1 : p / 2 - 1;
        assert_near(e.makespan, e.ideal + turns * (pair + tf - 2 * tw));
        weft_eval_clear(&e);
        weft_schedule_clear(&s);
    }
}

static weft_status eval_atomic(const weft_schedule *s)
{
    weft_eval e;
    double *dur = calloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE, sizeof *dur);
    weft_status st = weft_schedule_eval(
        s, &(weft_costs){.dur = dur, .overlap = WEFT_OVERLAP_ATOMIC}, NULL, NULL, &e);
    if (st == WEFT_OK) weft_eval_clear(&e);
    free(dur);
    return st;
}

static void a_block_that_waits_for_itself_is_refused(void **state)
{
    weft_schedule s = parsed("F0.0& B0.0\n", WEFT_PLACE_SINGLE);
    assert_fails(
        eval_atomic(&s), WEFT_E_INFEASIBLE,
        "overlap: rank 0 runs F0.0 and B0.0 as one block, but the second takes "
        "what the first makes");
    assert_near(total(&s, WEFT_OVERLAP_SERIAL, 0), 3);
    weft_schedule_clear(&s);
    /* the way round by another rank */
    s = parsed("F0.0 F1.0& B0.0 B1.0\nF0.0 F1.0 B0.0 B1.0\n", WEFT_PLACE_SINGLE);
    assert_fails(
        eval_atomic(&s), WEFT_E_INFEASIBLE,
        "rank 0 at B0.0 waits for B0.0 of rank 1; rank 1 at F1.0 waits for F1.0 "
        "of rank 0 (a cycle of 2 ranks)");
    assert_near(total(&s, WEFT_OVERLAP_SERIAL, 0), 9);
    weft_schedule_clear(&s);
}

static void an_op_is_in_one_pair_at_most(void **state)
{
    weft_schedule s = parsed("F0.0 F1.0& B0.0& F2.0 B1.0 B2.0\n", WEFT_PLACE_SINGLE);
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE,
                 "range: rank 0 op 2 (B0.0) is marked '&', and so is the op before it");
    weft_schedule_clear(&s);
    s = parsed("F0.0 B0.0&\n", WEFT_PLACE_SINGLE);
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE, "no next op");
    assert_int_equal(eval_atomic(&s), WEFT_E_INFEASIBLE);
    weft_schedule_clear(&s);
}

/* Lowered: the mate is found behind the communication. */
static void a_lowered_schedule_takes_as_long_in_blocks(void **state)
{
    for (int fold = 0; fold < 2; fold++) {
        weft_schedule s = made(fold ? "dualpipev" : "dualpipe", 4, 8, 0), low;
        assert_ok(weft_schedule_lower(&s, &low));
        assert_near(total(&low, WEFT_OVERLAP_ATOMIC, 0),
                    total(&s, WEFT_OVERLAP_ATOMIC, 0));
        weft_schedule_clear(&s);
        weft_schedule_clear(&low);
    }
}

static void the_cost_of_a_block_is_checked(void **state)
{
    weft_schedule s = made("dualpipev", 2, 4, 0);
    weft_eval e;
    double dur[4 * WEFT_OP_N_COMPUTE] = {0};
    weft_costs c = {.dur = dur, .overlap = WEFT_OVERLAP_ATOMIC, .overlap_cost = -1};
    assert_fails(weft_schedule_eval(&s, &c, NULL, NULL, &e), WEFT_E_INVALID,
                 "overlap cost -1 is not 0 or more");
    c.overlap = (weft_overlap)7;
    assert_fails(weft_schedule_eval(&s, &c, NULL, NULL, &e), WEFT_E_INVALID,
                 "overlap number 7");
    weft_schedule_clear(&s);
}

/* The two share the block; what they make is sent at its end. */
static void a_trace_sends_both_results_at_the_end_of_the_block(void **state)
{
    weft_schedule s = parsed("F0.0 F1.0 B0.0 F2.0& B1.0 B2.0\n"
                             "F0.0 B0.0 F1.0 B1.0 F2.0 B2.0\n",
                             WEFT_PLACE_SINGLE);
    double dur[2 * WEFT_OP_N_COMPUTE];
    weft_costs_uniform(&s, 1, 2, 1, 1, 1, dur);
    weft_trace t;
    weft_eval e;
    weft_costs c = {.dur = dur, .latency = 0.5, .overlap = WEFT_OVERLAP_ATOMIC};
    assert_ok(weft_simulate(&s, &c, &t, &e));
    const weft_trace_entry *f = NULL, *b = NULL, *send = NULL;
    for (int64_t i = 0; i < t.n; i++) {
        const weft_trace_entry *x = &t.entry[i];
        if (x->rank) continue;
        if (x->op.micro == 2 && x->op.kind == WEFT_OP_F) f = x;
        if (x->op.micro == 1 && x->op.kind == WEFT_OP_B) b = x;
        if (x->op.micro == 2 && x->lane == WEFT_LANE_SEND) send = x;
    }
    assert_non_null(f);
    assert_non_null(b);
    assert_non_null(send);
    assert_near(f->end, b->start);
    assert_near(f->end - f->start, 1);
    assert_near(b->end - b->start, 2);
    assert_near(send->start, b->end);
    assert_ok(weft_trace_check(&t));
    assert_ok(weft_simulate_check(&s, &t, 0, 0));
    weft_eval_clear(&e);
    weft_trace_clear(&t);
    weft_schedule_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_block_starts_with_the_later_input_and_gives_both_results_at_its_end),
        cmocka_unit_test(dualpipe_in_blocks_idles_as_its_authors_say),
        cmocka_unit_test(a_block_that_waits_for_itself_is_refused),
        cmocka_unit_test(an_op_is_in_one_pair_at_most),
        cmocka_unit_test(a_lowered_schedule_takes_as_long_in_blocks),
        cmocka_unit_test(the_cost_of_a_block_is_checked),
        cmocka_unit_test(a_trace_sends_both_results_at_the_end_of_the_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
