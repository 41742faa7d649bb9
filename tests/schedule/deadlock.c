/* SPDX-License-Identifier: Apache-2.0 */
/* Lowered schedules: rendezvous, outstanding sends, tagless pairing, and the words of a
 * deadlock. */
#include <stdio.h>

#include "support.h"

enum { F = WEFT_OP_F, B = WEFT_OP_B, POST = WEFT_OP_POST_RECV, SEND = WEFT_OP_SEND };
enum { WAIT = WEFT_OP_WAIT, GRAD = WEFT_OPF_GRAD };

#define OP(k, i)                                                                       \
    {                                                                                  \
        .kind = (k), .micro = (i)                                                      \
    }
#define GRAD_OP(k, i)                                                                  \
    {                                                                                  \
        .kind = (k), .flags = GRAD, .micro = (i)                                       \
    }

/* Two ranks, one chunk. */
static weft_schedule by_hand(weft_op *op, int64_t *first, int m)
{
    return (weft_schedule){
        .kind = "user", .p = 2, .m = m, .v = 1, .lowered = 1, .first = first, .op = op};
}

/* A = activation 0, B = activation 1, C = gradient 0, which needs A only. */
static void case40_crossing_sends_deadlock_under_rendezvous_and_complete_buffered(
    void **state)
{
    weft_op op[] = {
        OP(F, 0),
        OP(SEND, 0),
        OP(F, 1),
        OP(SEND, 1), /* send A, send B */
        GRAD_OP(POST, 0),
        GRAD_OP(WAIT, 0),
        OP(B, 0), /* recv C */
        GRAD_OP(POST, 1),
        GRAD_OP(WAIT, 1),
        OP(B, 1),
        /* rank 1 */
        OP(POST, 0),
        OP(WAIT, 0),
        OP(F, 0), /* recv A */
        OP(B, 0),
        GRAD_OP(SEND, 0), /* send C */
        OP(POST, 1),
        OP(WAIT, 1),
        OP(F, 1), /* recv B */
        OP(B, 1),
        GRAD_OP(SEND, 1),
    };
    int64_t first[] = {0, 10, 20};
    weft_schedule s = by_hand(op, first, 2);
    assert_fails(weft_schedule_check(&s, 1, NULL), WEFT_E_INFEASIBLE,
                 "deadlock: rank 0 at SEND F1.0 waits for POST_RECV F1.0 of rank 1; "
                 "rank 1 at SEND B0.0 waits for POST_RECV B0.0 of rank 0 "
                 "(a cycle of 2 ranks)");
    assert_ok(weft_schedule_check(&s, 2, NULL));
    assert_ok(weft_schedule_check(&s, 0, NULL)); /* the default is 2 */
    assert_ok(weft_schedule_check(&s, 1000, NULL));
}

/* Rank 0 sends all activations before its first receive; rank 1 answers each with its
 * gradient before it posts the next. */
static weft_schedule crossing(int m)
{
    weft_schedule s = {.kind = "user", .p = 2, .m = m, .v = 1, .lowered = 1};
    s.first = calloc(3, sizeof *s.first);
    s.op = calloc((size_t)m * 10, sizeof *s.op);
    weft_op *o = s.op;
    for (uint32_t i = 0; i < (uint32_t)m; i++) {
        *o++ = (weft_op)OP(F, i);
        *o++ = (weft_op)OP(SEND, i);
    }
    for (uint32_t i = 0; i < (uint32_t)m; i++) {
        *o++ = (weft_op)GRAD_OP(POST, i);
        *o++ = (weft_op)GRAD_OP(WAIT, i);
        *o++ = (weft_op)OP(B, i);
    }
    s.first[1] = o - s.op;
    for (uint32_t i = 0; i < (uint32_t)m; i++) {
        *o++ = (weft_op)OP(POST, i);
        *o++ = (weft_op)OP(WAIT, i);
        *o++ = (weft_op)OP(F, i);
        *o++ = (weft_op)OP(B, i);
        *o++ = (weft_op)GRAD_OP(SEND, i);
    }
    s.first[2] = o - s.op;
    return s;
}

/* Rank 1 stands in its k-th gradient, k receives posted; rank 0 gets k - 1 sends further. */
static void the_limit_of_sends_in_flight_decides_between_deadlock_and_completion(
    void **state)
{
    for (int m = 1; m <= 12; m++) {
        weft_schedule s = crossing(m);
        for (int k = 1; k <= 7; k++) {
            if (m <= 2 * k - 1)
                assert_ok(weft_schedule_check(&s, k, NULL));
            else
                assert_fails(weft_schedule_check(&s, k, NULL), WEFT_E_INFEASIBLE,
                             "a cycle of 2 ranks");
        }
        free(s.first);
        free(s.op);
    }
}

/* Without tags the second receive of a channel gets the second message. */
static void receives_posted_out_of_order_are_mispaired(void **state)
{
    weft_op op[] = {
        OP(F, 0),    OP(SEND, 0), OP(F, 1), OP(SEND, 1), OP(POST, 1),
        OP(POST, 0), OP(WAIT, 0), OP(F, 0), OP(WAIT, 1), OP(F, 1),
    };
    int64_t first[] = {0, 4, 10};
    weft_schedule s = by_hand(op, first, 2);
    assert_fails(
        weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE,
        "pairing: message 0 from rank 0 to rank 1 on the activation channel is "
        "SEND F0.0, but the receive posted for it is POST_RECV F1.0");
    weft_op fixed[] = {OP(POST, 0), OP(POST, 1), OP(WAIT, 1),
                       OP(F, 1),    OP(WAIT, 0), OP(F, 0)};
    memcpy(op + 4, fixed, sizeof fixed); /* waiting out of order is no harm */
    assert_ok(weft_schedule_check(&s, 0, NULL));
}

static void comm_ops_stand_around_their_op(void **state)
{
    static const struct {
        int swap[2];
        const char *words;
    } row[] = {
        {{2, 3}, "messages: rank 1 op 0 (WAIT F0.0) comes before its POST_RECV"},
        {{3, 4}, "messages: rank 1 op 1 (F0.0) has no WAIT before it"},
        {{0, 1}, "messages: rank 0 op 0 (SEND F0.0) comes before the op that makes"},
    };
    for (int i = 0; i < 3; i++) {
        weft_op op[] = {OP(F, 0), OP(SEND, 0), OP(POST, 0), OP(WAIT, 0), OP(F, 0)};
        int64_t first[] = {0, 2, 5};
        weft_schedule s = by_hand(op, first, 1);
        assert_ok(weft_schedule_check(&s, 1, NULL));
        weft_op o = op[row[i].swap[0]];
        op[row[i].swap[0]] = op[row[i].swap[1]];
        op[row[i].swap[1]] = o;
        assert_fails(weft_schedule_check(&s, 1, NULL), WEFT_E_INFEASIBLE, row[i].words);
    }
}

static void lost_doubled_and_pointless_messages_are_refused(void **state)
{
    weft_op lost[] = {OP(F, 0), OP(POST, 0), OP(WAIT, 0), OP(F, 0)};
    int64_t lost_first[] = {0, 1, 4};
    weft_schedule s = by_hand(lost, lost_first, 1);
    assert_fails(
        weft_schedule_check(&s, 1, NULL), WEFT_E_INFEASIBLE,
        "messages: rank 0 has 0 POST_RECV, 0 WAIT, 0 SEND for 0 inputs from and 1 "
        "results to other ranks");
    weft_op twice[] = {OP(F, 0),    OP(SEND, 0), OP(SEND, 0),
                       OP(POST, 0), OP(WAIT, 0), OP(F, 0)};
    int64_t twice_first[] = {0, 3, 6};
    s = by_hand(twice, twice_first, 1);
    assert_fails(weft_schedule_check(&s, 1, NULL), WEFT_E_INFEASIBLE,
                 "messages: rank 0 op 2 (SEND F0.0) was in the list before");
    weft_op end[] = {OP(F, 0),    OP(SEND, 0), OP(POST, 0),
                     OP(WAIT, 0), OP(F, 0),    OP(SEND, 0)};
    int64_t end_first[] = {0, 2, 6};
    s = by_hand(end, end_first, 1);
    assert_fails(weft_schedule_check(&s, 1, NULL), WEFT_E_INFEASIBLE,
                 "messages: rank 1 op 3 (SEND F0.0) has no other rank to talk to");
    weft_op odd[] = {OP(F, 0), OP(WEFT_OP_STEP, 0)};
    int64_t odd_first[] = {0, 2, 2};
    s = by_hand(odd, odd_first, 1);
    assert_fails(weft_schedule_check(&s, 1, NULL), WEFT_E_INFEASIBLE,
                 "range: rank 0 op 1: kind 14 (STEP 0.0)");
}

static void an_order_with_a_cycle_is_named_by_check_eval_and_lower(void **state)
{
    /* each rank wants the other's micro-batch first */
    weft_schedule s =
        parsed("F0.0 B0.0 F1.0 B1.0\nF1.0 B1.0 F0.0 B0.0\n", WEFT_PLACE_SINGLE);
    const char *words = "deadlock: rank 0 at B0.0 waits for B0.0 of rank 1; "
                        "rank 1 at F1.0 waits for F1.0 of rank 0 (a cycle of 2 ranks)";
    double dur[2 * WEFT_OP_N_COMPUTE] = {0};
    weft_eval e;
    weft_schedule low;
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE, words);
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                 WEFT_E_INFEASIBLE, words);
    assert_fails(weft_schedule_lower(&s, &low), WEFT_E_INFEASIBLE, words);
    weft_schedule_clear(&s);
}

static void eval_names_an_input_that_never_comes(void **state)
{
    double dur[2 * WEFT_OP_N_COMPUTE] = {0};
    weft_costs costs = {.dur = dur};
    weft_eval e;
    weft_schedule s =
        parsed("F0.0 B0.0 B1.0\nF0.0 F1.0 B0.0 B1.0\n", WEFT_PLACE_SINGLE);
    assert_fails(weft_schedule_eval(&s, &costs, NULL, NULL, &e), WEFT_E_INFEASIBLE,
                 "waits for ");
    weft_schedule_clear(&s);
    s = parsed("F0.0 F1.0\nF0.0 B0.0 F1.0 B1.0 F2.0\n", WEFT_PLACE_SINGLE);
    assert_fails(
        weft_schedule_eval(&s, &costs, NULL, NULL, &e), WEFT_E_INFEASIBLE,
        "deadlock: rank 1 at F2.0 waits for F2.0 of rank 0, which never comes to it");
    weft_schedule_clear(&s);
    s = parsed("B0.0 F0.0\n", WEFT_PLACE_SINGLE);
    assert_fails(weft_schedule_eval(&s, &costs, NULL, NULL, &e), WEFT_E_INFEASIBLE,
                 "deadlock: rank 0 at B0.0 waits for F0.0 of rank 0 itself");
    weft_schedule_clear(&s);
}

static void eval_wants_each_input_whatever_the_list_says(void **state)
{
    static const struct {
        const char *ops, *words;
    } row[] = {
        {"F0.0 W0.0 I0.0\n", "rank 0 at W0.0 waits for I0.0 of rank 0 itself"},
        {"F0.0 B0.0 W0.0\n", "rank 0 at W0.0 waits for B0.0 of rank 0 itself"},
        {"R0.0 F0.0 B0.0\n", "rank 0 at R0.0 waits for F0.0 of rank 0 itself"},
        {"F0.0 I0.0 F1.0 I2.0\n", "rank 0 at I2.0 waits for F2.0 of rank 0 itself"}};
    double dur[WEFT_OP_N_COMPUTE] = {0};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        weft_schedule s = parsed(row[i].ops, WEFT_PLACE_SINGLE);
        weft_eval e;
        assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                     WEFT_E_INFEASIBLE, row[i].words);
        weft_schedule_clear(&s);
    }
}

static void a_long_cycle_is_cut_short_but_counted(void **state)
{
    /* 40 ranks on a ring of chunks: each does chunk 1 first */
    char *text = malloc(40 * 16 + 1), *at = text;
    for (int r = 0; r < 40; r++)
        at += sprintf(at, "F0.1 F0.0\n");
    weft_schedule s = parsed(text, WEFT_PLACE_LOOP);
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE,
                 "; and so on round (a cycle of 40 ranks)");
    weft_schedule_clear(&s);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            case40_crossing_sends_deadlock_under_rendezvous_and_complete_buffered),
        cmocka_unit_test(
            the_limit_of_sends_in_flight_decides_between_deadlock_and_completion),
        cmocka_unit_test(receives_posted_out_of_order_are_mispaired),
        cmocka_unit_test(comm_ops_stand_around_their_op),
        cmocka_unit_test(lost_doubled_and_pointless_messages_are_refused),
        cmocka_unit_test(an_order_with_a_cycle_is_named_by_check_eval_and_lower),
        cmocka_unit_test(eval_names_an_input_that_never_comes),
        cmocka_unit_test(eval_wants_each_input_whatever_the_list_says),
        cmocka_unit_test(a_long_cycle_is_cut_short_but_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
