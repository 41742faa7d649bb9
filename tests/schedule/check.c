/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that a rank's list shows by itself, and random mutations. */
#include "support.h"

static void assert_broken(const char *ops, weft_placement_kind placement,
                          const char *words)
{
    weft_schedule s = parsed(ops, placement);
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE, words);
    weft_schedule_clear(&s);
}

static void assert_good(const char *ops, weft_placement_kind placement)
{
    weft_schedule s = parsed(ops, placement);
    assert_ok(weft_schedule_check(&s, 0, NULL));
    weft_schedule_clear(&s);
}

static void each_op_is_there_once(void **state)
{
    assert_good("F0.0 F1.0 B0.0 B1.0\n", WEFT_PLACE_SINGLE);
    assert_broken("F0.0 F0.0 B0.0 F1.0 B1.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 0 op 1 (F0.0) was in the list before");
    assert_broken("F0.0 F1.0 B0.0 B1.0 B0.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 0 op 4 (B0.0) was");
    assert_broken("F0.0 F1.0 B0.0 I0.0 W0.0 B1.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 0 op 3 (I0.0) was");
    assert_broken("F0.0 F1.0 B1.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 0 has no backward of micro-batch 0, chunk 0");
    assert_broken("F0.0 B0.0 F2.0 B2.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 0 has no F of micro-batch 1, chunk 0");
    assert_broken("F0.0 I0.0 F1.0 I1.0 W1.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 0 has no W of micro-batch 0");
    assert_broken("F0.0 F0.1 B0.1\n", WEFT_PLACE_LOOP,
                  "once: rank 0 has no backward of micro-batch 0, chunk 0");
}

static void forward_only_means_no_backward_anywhere(void **state)
{
    assert_good("F0.0 F1.0\nF0.0 F1.0\n", WEFT_PLACE_SINGLE);
    assert_broken("F0.0 B0.0\nF0.0\n", WEFT_PLACE_SINGLE,
                  "once: rank 1 has no backward of micro-batch 0");
    weft_schedule s = made("forward", 2, 7, 3);
    weft_schedule_report report;
    assert_ok(weft_schedule_check(&s, 0, &report));
    assert_int_equal(report.peak_in_flight[0], 1);
    assert_int_equal(report.peak_in_flight_w[1], 1);
    weft_schedule_report_clear(&report);
    weft_schedule_clear(&s);
}

static void a_split_backward_frees_at_I_or_at_W_as_one_counts(void **state)
{
    weft_schedule s =
        parsed("F0.0 I0.0 F1.0 I1.0 W0.0 F2.0 B2.0 W1.0\n", WEFT_PLACE_SINGLE);
    weft_schedule_report report;
    assert_ok(weft_schedule_check(&s, 0, &report));
    assert_int_equal(report.peak_in_flight[0], 1);
    assert_int_equal(report.peak_in_flight_w[0], 2);
    assert_int_equal(report.n_compute, 8);
    weft_schedule_report_clear(&report);
    weft_schedule_clear(&s);
}

static void ops_of_a_cell_come_in_order(void **state)
{
    assert_good("F0.0 R0.0 I0.0 W0.0\n", WEFT_PLACE_SINGLE);
    assert_broken("B0.0 F0.0\n", WEFT_PLACE_SINGLE,
                  "order: rank 0 op 0 (B0.0) comes before");
    assert_broken("F0.0 W0.0 I0.0\n", WEFT_PLACE_SINGLE,
                  "order: rank 0 op 1 (W0.0) comes before its I");
    assert_broken("F0.0 B0.0 W0.0\n", WEFT_PLACE_SINGLE, "or there is none");
    assert_broken("R0.0 F0.0 B0.0\n", WEFT_PLACE_SINGLE, "(R0.0) comes before its F");
    assert_broken("F0.0 B0.0 R0.0\n", WEFT_PLACE_SINGLE,
                  "(R0.0) comes after its backward");
}

static void inputs_from_the_rank_itself_come_earlier(void **state)
{
    assert_good("F0.0 F0.1 B0.1 B0.0\n", WEFT_PLACE_LOOP);
    assert_broken("F0.1 F0.0 B0.1 B0.0\n", WEFT_PLACE_LOOP,
                  "order: rank 0 op 0 (F0.1) comes before the F of the stage before");
    assert_broken(
        "F0.0 F0.1 B0.0 B0.1\n", WEFT_PLACE_LOOP,
        "order: rank 0 op 2 (B0.0) comes before the backward of the next stage");
    /* the turn of a V is on its last rank */
    assert_good("F0.0 F0.1 B0.1 B0.0\nF0.0 F0.1 B0.1 B0.0\n", WEFT_PLACE_V);
    assert_broken("F0.0 F0.1 B0.1 B0.0\nF0.1 F0.0 B0.1 B0.0\n", WEFT_PLACE_V,
                  "order: rank 1 op 0 (F0.1)");
}

static void case48_a_v_schedule_under_the_looped_placement_is_refused(void **state)
{
    const char *v = "F0.0 F0.1 B0.1 B0.0\nF0.0 F0.1 B0.1 B0.0\n";
    const char *zbv = "F0.0 F1.0 F1.1 F0.1\nF0.0 F0.1 F1.0 F1.1\n";
    assert_good(v, WEFT_PLACE_V);
    assert_broken(zbv, WEFT_PLACE_LOOP, "deadlock: ");
}

static void values_are_in_range(void **state)
{
    weft_schedule s = made("1f1b", 2, 3, 1);
    static const struct {
        weft_op op;
        const char *words;
    } row[] = {
        {{.kind = WEFT_OP_F, .micro = 3},
         "range: rank 1 op 0 (F3.0): micro-batch 3 of 3"},
        {{.kind = WEFT_OP_F, .micro = 0xffffffff}, "micro-batch 4294967295 of 3"},
        {{.kind = WEFT_OP_F, .chunk = 1}, "chunk 1, but a rank holds 1"},
        {{.kind = WEFT_OP_F, .slice = 2}, "slice 2, but sequences are not split"},
        {{.kind = WEFT_OP_F, .flags = WEFT_OPF_GRAD}, "flags 4"},
        {{.kind = WEFT_OP_SEND}, "an unlowered schedule holds F B I W R"},
        {{.kind = 200}, "kind 200"},
    };
    weft_op kept = s.op[s.first[1]];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        s.op[s.first[1]] = row[i].op;
        assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE, row[i].words);
    }
    s.op[s.first[1]] = kept;
    assert_ok(weft_schedule_check(&s, 0, NULL));
    s.op[s.first[2] - 1].flags = WEFT_OPF_PAIR;
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE,
                 "the last op of rank 1 is marked '&'");
    weft_schedule_clear(&s);
}

static void directions_of_two_way_schedules_share_the_micro_batches(void **state)
{
    const char *good = "F0.0 F1.1 B1.1 B0.0\nF1.1 F0.0 B0.0 B1.1\n";
    assert_good(good, WEFT_PLACE_BIDIR);
    assert_broken("F1.0 F0.1 B0.1 B1.0\nF0.1 F1.0 B1.0 B0.1\n", WEFT_PLACE_BIDIR,
                  "micro-batches 0 to 0 go down");
}

static void a_broken_shape_is_refused_before_anything_is_read(void **state)
{
    int64_t first[] = {0, 2, 1};
    weft_op op[2] = {{.kind = WEFT_OP_F}, {.kind = WEFT_OP_B}};
    weft_schedule s = {.p = 2, .m = 1, .v = 1, .first = first, .op = op};
    weft_eval e;
    double dur[2 * WEFT_OP_N_COMPUTE] = {0};
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INVALID,
                 "list of rank 1 ends");
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                 WEFT_E_INVALID, "list of rank 1 ends");
    first[2] = 2;
    s.v = 2;
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INVALID,
                 "placement single has 1 chunk on a rank, the schedule has 2");
    s.v = 1;
    s.m = INT32_MAX; /* two ops for 4e9 cells: refused, not allocated */
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INFEASIBLE, "2 ops in all");
    assert_fails(weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e),
                 WEFT_E_INFEASIBLE, "need at least 4294967294");
    s.m = 1;
    s.placement = (weft_placement_kind)9;
    assert_fails(weft_schedule_check(&s, 0, NULL), WEFT_E_INVALID,
                 "placement number 9");
    assert_fails(weft_schedule_check(&s, -1, NULL), WEFT_E_INVALID,
                 "-1 sends in flight");
}

/* Does every op run, and is each (rank, chunk, micro) complete? Written from the rules, with
 * none of the library's code. */
static int oracle(const weft_schedule *s)
{
    int64_t n = s->first[s->p], backward = 0;
    double *dur = calloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE, sizeof *dur);
    double *end = swept_ends(s, dur, 0);
    int good = 1;
    for (int64_t i = 0; i < n; i++) {
        good &= !isnan(end[i]);
        backward += s->op[i].kind != WEFT_OP_F;
    }
    for (int r = 0; r < s->p && good; r++) {
        for (int c = 0; c < s->v; c++) {
            for (uint32_t m = 0; m < (uint32_t)s->m; m++) {
                int count[WEFT_OP_N_COMPUTE] = {0};
                for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
                    count[s->op[i].kind] += s->op[i].chunk == c && s->op[i].micro == m;
                int b = count[WEFT_OP_B], in = count[WEFT_OP_I], w = count[WEFT_OP_W];
                int there = count[WEFT_OP_F];
                if (s->placement == WEFT_PLACE_BIDIR &&
                    (m >= (uint32_t)s->m / 2) != c) {
                    good &= !there && !b && !in && !w;
                    continue;
                }
                good &= there == 1 && (!backward || (b == 1 && !in && !w) ||
                                       (!b && in == 1 && w == 1));
            }
        }
    }
    free(dur);
    free(end);
    return good;
}

/* Swap, move, delete, duplicate or rename ops; the lists stay in one block. */
static void mutate(weft_schedule *s, uint64_t *seed)
{
    int64_t n = s->first[s->p], i = random_below(seed, (uint32_t)n);
    int64_t j = random_below(seed, (uint32_t)n);
    int r = 0;
    while (s->first[r + 1] <= i)
        r++;
    weft_op o = s->op[i];
    switch (random_below(seed, 7)) {
    case 0: s->op[i] = s->op[j], s->op[j] = o; break; /* swap anywhere */
    case 1:                                           /* swap neighbours */
        if (i + 1 == n) break;
        s->op[i] = s->op[i + 1], s->op[i + 1] = o;
        break;
    case 2: /* delete */
        memmove(&s->op[i], &s->op[i + 1], (size_t)(n - i - 1) * sizeof o);
        for (r++; r <= s->p; r++)
            s->first[r]--;
        break;
    case 3: s->op[j] = o; break; /* duplicate over another */
    case 4: s->op[i].kind = (uint8_t)random_below(seed, 4); break;
    case 5: s->op[i].micro = random_below(seed, (uint32_t)s->m); break;
    case 6: s->op[i].chunk = (uint8_t)random_below(seed, (uint32_t)s->v); break;
    }
}

static weft_schedule mutant(uint64_t *seed)
{
    static const char *const fixed[] = {
        "F0.0 F1.0 F1.1 F0.1 B0.1 B0.0 B1.1 B1.0\nF0.0 F0.1 F1.0 F1.1 B0.1 B1.1 B0.0 "
        "B1.0\n",
        "F0.0 F1.1 I1.1 W1.1 B0.0\nF1.1 F0.0 B0.0 B1.1\n",
        "F0.0 I0.0 F1.0 W0.0 I1.0 W1.0\n",
    };
    switch (random_below(seed, 6)) {
    case 0: return parsed(fixed[0], WEFT_PLACE_V);
    case 1: return parsed(fixed[1], WEFT_PLACE_BIDIR);
    case 2: return parsed(fixed[2], WEFT_PLACE_SINGLE);
    case 3: return made("interleaved", 2, 4, 2);
    case 4: return made("forward", 3, 2, 2);
    }
    return made("1f1b", 3, 4, 1);
}

static void a_mutant_is_refused_exactly_where_it_breaks_a_rule(void **state)
{
    uint64_t seed = 7;
    int good = 0, bad = 0, deadlocks = 0;
    for (int i = 0; i < 6000; i++) {
        weft_schedule s = mutant(&seed), low = {.p = 0};
        for (int k = 1 + (int)random_below(&seed, 3); k > 0 && s.first[s.p] > 0; k--)
            mutate(&s, &seed);
        int expected = oracle(&s);
        weft_status st = weft_schedule_check(&s, 0, NULL);
        if ((st == WEFT_OK) != expected) {
            char *text = ops_text(&s);
            fail_msg("check says %s, the oracle %d:\n%s", weft_status_message(),
                     expected, text);
        }
        if (st != WEFT_OK && strstr(weft_status_message(), "deadlock")) deadlocks++;
        assert_int_equal(weft_schedule_lower(&s, &low), st);
        if (st == WEFT_OK) assert_ok(weft_schedule_check(&low, 1, NULL));
        expected ? good++ : bad++;
        weft_schedule_clear(&low);
        weft_schedule_clear(&s);
    }
    assert_true(good > 300 && bad > 3000 && deadlocks > 100);
}

/* Any bytes whatever as ops: no crash, no endless loop. The sanitizers watch. */
static void random_bytes_as_ops_neither_crash_nor_hang(void **state)
{
    uint64_t seed = 8;
    double dur[4 * 4 * WEFT_OP_N_COMPUTE] = {0};
    for (int i = 0; i < 20000; i++) {
        weft_op op[12];
        int64_t first[5] = {0};
        weft_schedule s = {.p = 1 + (int)random_below(&seed, 4), .v = 4, .op = op};
        s.first = first;
        s.m = 1 + (int)random_below(&seed, 3);
        s.placement = (weft_placement_kind)random_below(&seed, 5);
        s.lowered = (int)random_below(&seed, 2);
        if (s.placement == WEFT_PLACE_SINGLE) s.v = 1;
        if (s.placement == WEFT_PLACE_BIDIR) s.v = 2;
        for (int r = 1; r <= s.p; r++)
            first[r] = first[r - 1] + random_below(&seed, 4);
        for (int64_t j = 0; j < 12; j++) {
            int wild = random_below(&seed, 8) == 0;
            op[j] = (weft_op){
                .kind = (uint8_t)random_below(&seed, wild        ? 256
                                                     : s.lowered ? 11
                                                                 : 5),
                .flags = (uint8_t)random_below(&seed, wild ? 8 : 2),
                .chunk = (uint8_t)random_below(&seed, wild ? 256 : (uint32_t)s.v),
                .micro = random_below(&seed, wild ? 1u << 31 : (uint32_t)s.m)};
        }
        weft_eval e = {.makespan = 0};
        weft_schedule low = {.p = 0};
        weft_status st = weft_schedule_check(&s, 1, NULL);
        if (weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e) !=
            WEFT_OK)
            assert_int_not_equal(st, WEFT_OK);
        if (!s.lowered) assert_int_equal(weft_schedule_lower(&s, &low), st);
        weft_eval_clear(&e);
        weft_schedule_clear(&low);
    }
}

static void a_copy_of_a_schedule_is_checked_like_the_schedule(void **state)
{
    weft_schedule s = made("interleaved", 3, 6, 2), t = copied(&s);
    weft_schedule_report a, b;
    assert_ok(weft_schedule_check(&s, 0, &a));
    assert_ok(weft_schedule_check(&t, 0, &b));
    assert_int_equal(a.n_ops, 3 * 6 * 2 * 2);
    assert_int_equal(a.n_compute, b.n_compute);
    assert_int_equal(a.p2p_messages, b.p2p_messages);
    assert_memory_equal(a.peak_in_flight, b.peak_in_flight, 3 * sizeof(int64_t));
    assert_true(isnan(weft_schedule_closed_makespan(&t, 1, 2))); /* kind "user" */
    assert_int_equal(weft_schedule_closed_peak(&t, 0), -1);
    weft_schedule_report_clear(&a);
    weft_schedule_report_clear(&b);
    weft_schedule_clear(&s);
    weft_schedule_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_op_is_there_once),
        cmocka_unit_test(forward_only_means_no_backward_anywhere),
        cmocka_unit_test(a_split_backward_frees_at_I_or_at_W_as_one_counts),
        cmocka_unit_test(ops_of_a_cell_come_in_order),
        cmocka_unit_test(inputs_from_the_rank_itself_come_earlier),
        cmocka_unit_test(case48_a_v_schedule_under_the_looped_placement_is_refused),
        cmocka_unit_test(values_are_in_range),
        cmocka_unit_test(directions_of_two_way_schedules_share_the_micro_batches),
        cmocka_unit_test(a_broken_shape_is_refused_before_anything_is_read),
        cmocka_unit_test(a_mutant_is_refused_exactly_where_it_breaks_a_rule),
        cmocka_unit_test(random_bytes_as_ops_neither_crash_nor_hang),
        cmocka_unit_test(a_copy_of_a_schedule_is_checked_like_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
