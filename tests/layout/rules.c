/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* strtok_r */
#include <weft/layout.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>

#include "layout/given.h"
#include "layout/rule.h"

/* One broken layout per row: the rule that it breaks, the words (flag, both numbers, legal
 * values), and flags from those words that make it legal. */
typedef struct row {
    const char *rule, *model, *flags, *words, *fix;
} row;

#define L12 "layers=12,hidden=768,heads=12"
#define MAX "layers=12,hidden=768,heads=12,positions=2147483647"

static const row rows[] = {
    {"world", L12, "--tp 65536 --pp 65536",
     "--tp 65536 * --cp 1 * --pp 65536 * --dp 1 are more than 2147483647 ranks",
     "--tp 1 --pp 1"},
    {"order", L12, "--dp 2 --order tp,pp",
     "--dp 2 needs a place in the order; --order tp,pp does not name dp; tp,cp,pp,dp "
     "is the "
     "usual one",
     "--order tp,cp,pp,dp"},
    {"order", L12, "--order tp,tp,pp,dp",
     "--order tp,tp,pp,dp: the order names tp twice; tp,cp,pp,dp is the usual one",
     "--order tp,cp,pp,dp"},
    {"tp-heads", L12, "--tp 5", "--tp 5 does not divide 12 heads; 1 2 3 4 6 12 do",
     "--tp 6"},
    {"tp-heads", "layers=1,hidden=5120,heads=40", "--tp 16",
     "--tp 16 does not divide 40 heads; 1 2 4 5 8 10 20 40 do", "--tp 20"},
    {"tp-heads", L12, "--tp 24", "--tp 24 does not divide 12 heads; 1 2 3 4 6 12 do",
     "--tp 12"},
    {"tp-ffn", L12 ",ffn=1000", "--tp 3",
     "--tp 3 does not divide 1000 columns of the MLP (ffn); 1 2 4 do", "--tp 4"},
    {"pp-layers", "layers=30,hidden=8,heads=1", "--pp 4", /* case 1 */
     "--pp 4 does not divide 30 layers; --pp 1 2 3 5 6 10 15 30 do; --stage-layers "
     "balanced does with ",
     "--stage-layers balanced"},
    {"pp-layers", "layers=3,hidden=8,heads=1", "--pp 4 --stage-layers balanced",
     "--pp 4 needs more than 3 layers; --pp 1 2 3 do", "--pp 3"},
    {"stage-layers", "layers=30,hidden=768,heads=12", "--pp 4 --stage-layers 7,8,8,6",
     "--stage-layers 7,8,8,6 has 29 layers, the model has 30; --stage-layers balanced "
     "does with 9*3,3",
     "--stage-layers 7,8,8,7"},
    {"stage-layers", L12, "--pp 3 --stage-layers Et*6|t*6L",
     "--stage-layers Et*6|t*6L has 2 stages, --pp 3 * --vpp 1 needs 3", "--pp 2"},
    {"stage-layers", L12, "--pp 2 --stage-layers Et*6|t*5|mL",
     "--stage-layers Et*6|t*5|mL: m, multi-token prediction, is no part",
     "--stage-layers Et*6|t*6L"},
    {"pp-layers", L12, "--pp 24",
     "--pp 24 needs more than 12 layers; --pp 1 2 3 4 6 12 do", "--pp 12"},
    {"pp-layers", L12, "--schedule interleaved --pp 4 --vpp 2",
     "--pp 4 * --vpp 2 = 8 stages: does not divide 12 layers; with --vpp 2, --pp 1 2 "
     "3 6 do; with --pp 4, --vpp 3 does",
     "--vpp 3"},
    {"pp-layers", L12, "--schedule interleaved --pp 6 --vpp 4 --global-batch 12",
     "--pp 6 * --vpp 4 = 24 stages: needs more than 12 layers; with --vpp 4, --pp 1 3 "
     "do; with --pp 6, --vpp 2 does",
     "--pp 3"},
    {"pp-layers", "layers=5,hidden=8,heads=1", "--schedule interleaved --pp 2 --vpp 2",
     "--pp 2 * --vpp 2 = 4 stages: does not divide 5 layers; with --vpp 2, no --pp "
     "does; with "
     "--pp 2, no --vpp does",
     "--pp 1 --vpp 5"},
    {"schedule", L12, "--schedule 1f1c",
     "--schedule: schedule \"1f1c\" is unknown, nearest is 1f1b", "--schedule 1f1b"},
    {"schedule", L12, "--schedule forward",
     "--schedule forward has no backward passes and cannot train; 1f1b does",
     "--schedule 1f1b"},
    {"placement-schedule", L12, "--schedule optimal --pp 2 --vpp 3 --placement lop",
     "--placement: placement \"lop\" is unknown, nearest is loop; there are single "
     "loop v "
     "bidir bidirv, and auto, the schedule's own",
     "--placement loop"},
    {"placement-schedule", L12, "--pp 3 --vpp 2 --schedule zb-v --placement loop",
     "--placement loop: --schedule zb-v with --vpp 2 has its own, v; --placement auto "
     "is "
     "right for it (zb-auto and optimal take one)",
     "--placement auto"},
    {"placement-schedule", L12, "--pp 3 --vpp 2 --schedule zb-auto --placement loop",
     "--placement loop: --schedule zb-auto takes single, v, and auto", "--placement v"},
    {"placement-schedule", L12, "--pp 3 --vpp 2 --schedule optimal --placement bidir",
     "--placement bidir: --schedule optimal takes single, loop, v, and auto",
     "--placement loop"},
    {"vpp-schedule", L12, "--pp 2 --vpp 3 --schedule optimal --placement v",
     "--schedule optimal with --pp 2 --vpp 3: -v 3: a V comes back to its first rank",
     "--placement auto"},
    {"vpp-schedule", L12, "--pp 2 --vpp 2 --schedule optimal --placement single",
     "optimal holds one stage per rank with --placement single", "--vpp 1"},
    {"vpp-schedule", L12, "--pp 4 --vpp 3",
     "--schedule 1f1b with --pp 4 --vpp 3: -v 3: 1f1b holds one stage per rank, -v 1 "
     "is "
     "needed (interleaved takes -v 3); legal here: --vpp 1; with this --vpp: "
     "--schedule "
     "interleaved",
     "--schedule interleaved"},
    {"vpp-schedule", L12, "--pp 4 --vpp 1 --schedule interleaved",
     "--schedule interleaved with --pp 4 --vpp 1: -v 1: interleaving needs at least 2 "
     "chunks "
     "per rank; 1f1b is the case of 1; legal here: --vpp 3; with this --vpp: "
     "--schedule gpipe "
     "1f1b",
     "--vpp 3"},
    {"group-schedule", L12, "--pp 4 --group 4",
     "--group 4: --schedule 1f1b has no groups of micro-batches; --group 0 does",
     "--group 0"},
    {"batch", L12, "--global-batch 256 --micro-batch 2 --dp 7", /* case 11 */
     "--global-batch 256 is not a multiple of --micro-batch 2 * --dp 7 = 14; legal "
     "here: "
     "--global-batch 252 (18 per replica) or 266 (19)",
     "--global-batch 266"},
    {"batch", L12, "--global-batch 4 --dp 8",
     "--global-batch 4 is not a multiple of --micro-batch 1 * --dp 8 = 8; legal here: "
     "--global-batch 8 (1 per replica)",
     "--global-batch 8"},
    {"batch", L12,
     "--pp 4 --vpp 3 --schedule interleaved --global-batch 19 --micro-batch 2",
     "legal here: --global-batch 16 (8 per replica) or 20 (10)", "--global-batch 20"},
    {"micro-schedule", L12,
     "--pp 4 --vpp 3 --schedule interleaved --global-batch 18 --micro-batch 2",
     "--global-batch 18 / (--micro-batch 2 * --dp 1) = 9 micro-batches for --schedule "
     "interleaved: -m 9 with -p 4: 9 micro-batches do not split into 2 equal groups of "
     "at "
     "least 4; nearest -m are 8 and 10; legal here: --global-batch 16 (8 per replica) "
     "or 20 "
     "(10)",
     "--global-batch 20"},
    {"micro-schedule", L12, "--pp 4 --vpp 3 --schedule interleaved --group 3",
     "= 8 micro-batches for --schedule interleaved: --group 3: a group of 3 is smaller "
     "than "
     "-p 4",
     "--group 4"},
    {"micro-schedule", L12, "--global-batch 4294967297", /* 2^32 + 1 = 641 * 6700417 */
     "--global-batch 4294967297 makes 4294967297 micro-batches, more than 2147483647",
     "--micro-batch 641"},
    {"seq", L12, "--seq 2048",
     "--seq 2048 is longer than the model's 1024 positions; --seq 1024 is the most",
     "--seq 1024"},
    {"sizes", MAX, "--global-batch 1e15 --micro-batch 1e9 --seq 1e5",
     "--micro-batch 1000000000 needs matrices whose bytes pass 64 bits (--seq 100000); "
     "--micro-batch 9607679 is the most",
     "--global-batch 9607679 --micro-batch 9607679"},
    {"sizes", MAX, "--global-batch 1e15 --micro-batch 1e6 --seq 1e5",
     "--global-batch 1000000000000000 * --seq 100000 tokens pass 64 bits; "
     "--global-batch "
     "92233720368547 is the most",
     "--global-batch 92233720000000"},
    {"sizes", MAX, "--seq 2147483647",
     "--seq 2147483647 needs matrices whose bytes pass 64 bits; --seq 1024 is usual",
     "--seq 1024"},
    {"sizes", "layers=1,hidden=2097152,heads=1048576,ffn=1048576",
     "--tp 1048576 --vocab-multiple 2147483647",
     "--vocab-multiple 2147483647 * --tp 1048576 pads 50257 rows to 2251799812636672, "
     "whose "
     "bytes pass 64 bits; --vocab-multiple 128 is usual",
     "--vocab-multiple 128"},
    {"cp-comm", L12, "--cp 2 --cp-comm rings",
     "--cp-comm 'rings' is none of ring, allgather, ulysses; did you mean ring?",
     "--cp-comm ring"},
    {"cp-heads", L12, "--cp 8 --cp-comm ulysses",
     "--cp-comm ulysses: --tp 1 * --cp 8 does not divide 12 heads; --cp-comm ring has "
     "no such need",
     "--cp-comm ring --seq 16"},
    {"cp-seq", L12, "--cp 4 --seq 999", /* case 9 */
     "--seq 999 is not a multiple of 8 (two pieces for each of --cp); legal here: "
     "--seq "
     "992 1000",
     "--seq 1000"},
    {"cp-seq", L12, "--cp 3 --seq 10 --cp-comm ulysses",
     "--seq 10 is not a multiple of 3 (one piece for each of --cp); legal here: --seq "
     "9 "
     "12",
     "--seq 12"},
    {"sp-seq", "layers=1,hidden=64,heads=8,positions=4096", /* case 10 */
     "--tp 8 --sp true --seq 2049",
     "--seq 2049 is not a multiple of 8 (--sp: one piece for each of --tp and --cp); "
     "legal here: --seq 2048 2056",
     "--sp false"},
    {"ep", L12, "--dp 2 --ep 2", "--ep 2: the model has no experts; --ep 1 does",
     "--ep 1"},
    {"replicate", L12, "--dp 8 --replicate 2",
     "--replicate 2 with --zero 0: nothing is sharded", "--zero 3"},
    {"replicate", L12, "--dp 8 --replicate 3 --zero 3",
     "--replicate 3 does not divide --dp 8; 1 2 4 8 do", "--replicate 4"},
    {"recompute", L12, "--recompute ful",
     "--recompute: 'ful' is none of none, selective, full; did you mean full?",
     "--recompute full"},
    {"recompute", L12, "--pp 4 --recompute full*2,none",
     "--recompute full*2,none lists 3 stages, but there are 4 (--pp 4 * --vpp 1)",
     "--recompute full*2,none*2"},
    {"recompute", L12, "--pp 2 --recompute full*0,none",
     "a number of stages in 1 .. 1048576 is needed after *", "--recompute full,none"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void every_rule_says_flag_numbers_and_a_way_out_that_works(void **state)
{
    for (int i = 0; i < N_ROWS; i++) {
        weft_arch a = given_arch(rows[i].model);
        weft_layout l = given_layout(rows[i].flags);
        if (!weft_layout_plan_check(&l, &a)) fail_msg("%s: accepted", rows[i].flags);
        if (!strstr(weft_status_message(), rows[i].words))
            fail_msg("%s\nsays  %s\nlacks %s", rows[i].flags, weft_status_message(),
                     rows[i].words);
        assert_int_equal(given_set(&l, rows[i].fix), WEFT_OK);
        if (weft_layout_plan_check(&l, &a))
            fail_msg("%s, then %s: %s", rows[i].flags, rows[i].fix,
                     weft_status_message());
    }
}

/* kv_heads differ from heads in no model of this version, so that rule has its own. */
static void tp_is_held_against_kv_heads(void **state) /* case 5 */
{
    weft_arch a = given_arch("layers=1,hidden=1024,heads=8");
    weft_layout l = given_layout("--tp 8");
    a.kv_heads = 4;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(),
                        "--tp 8 does not divide 4 kv_heads (they are "
                        "not replicated); 1 2 4 do");
    l.tp = 4;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_OK);
}

static void every_rule_of_the_table_has_a_row(void **state)
{
    for (int r = 0; r < weft_layout_rule_count(); r++) {
        const char *name = weft_layout_rule_name(r);
        int found = !strcmp(name, "tp-kv-heads") || !strcmp(name, "range"); /* below */
        assert_true(strlen(weft_layout_rule_text(r)) > 0);
        for (int i = 0; i < N_ROWS; i++)
            found |= !strcmp(rows[i].rule, name);
        if (!found) fail_msg("rule %s has no row", name);
    }
}

static void options_are_refused_where_they_are_set(void **state)
{
    static const struct {
        const char *flag, *value, *words;
    } bad[] = {
        {"--tp", "0", "--tp 0 is outside 1 .. 1048576"},
        {"--pp", "-2", "--pp -2 is outside 1 .. 1048576"},
        {"--dp", "1.5", "--dp: 1.5 is not a whole number"},
        {"--vpp", "256", "--vpp 256 is outside 1 .. 255"},
        {"--micro-batch", "0", "--micro-batch 0 is outside"},
        {"--global-batch", "nan", "--global-batch: 'nan' is not a number"},
        {"--seq", "", "--seq: a value is missing"},
        {"--micro-bach", "1", "did you mean --micro-batch?"},
        {"--schedule", "a-name-of-many-letters", "is longer than 15 characters"},
        {"--zero", "1", "--zero 1 is not in this version; 0 is"},
        {"--zero", "4", "--zero 4 is outside 0 .. 3"},
        {"--sp", "1", "--sp 1 is not in this version; false is"},
        {"--sequence-parallel", "true", "--sp true is not in this version; false is"},
        {"--cp", "2", "--cp 2 is not in this version; 1 is"},
        {"--context-parallel-size", "2", "--cp 2 is not in this version; 1 is"},
        {"--ep", "2", "--ep 2 is not in this version; 1 is"},
        {"--recompute", "full", "--recompute full is not in this version; none is"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_layout l, before;
        weft_layout_defaults(&l);
        before = l;
        assert_int_equal(weft_layout_set(&l, bad[i].flag, bad[i].value),
                         WEFT_E_INVALID);
        if (!strstr(weft_status_message(), bad[i].words))
            fail_msg("'%s' lacks '%s'", weft_status_message(), bad[i].words);
        assert_memory_equal(&l, &before, sizeof l);
    }
}

static void what_this_version_lacks_is_refused_in_a_struct_too(void **state)
{
    weft_arch a = given_arch(L12);
    weft_layout l = given_layout("");
    l.cp = 2;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "--cp 2 is not in this version; 1 is");
    l.cp = 1;
    l.sp = 1;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(),
                        "--sp true is not in this version; false is");
    l.sp = 0;
    l.zero = 3;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "--zero 3 is not in this version; 0 is");
}

static void what_has_no_default_must_be_given(void **state)
{
    weft_arch a = given_arch(L12);
    weft_layout l = given_layout("");
    l.global_batch = 0;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "--global-batch is not given");
    l.global_batch = 1;
    l.seq = 0;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "--seq is not given");
    l.seq = 1;
    l.tp = -1;
    assert_int_equal(weft_layout_check(&l, &a), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "--tp -1 is outside 1 .. 1048576");
}

/* An independent statement of what is legal, over all small layouts. */
static int legal(const weft_layout *l, const weft_arch *a)
{
    int64_t per = l->micro_batch * l->dp, m = l->global_batch / per;
    int interleaved = !strcmp(l->schedule, "interleaved");
    int64_t groups = m / l->pp > 1 ? m / l->pp : 1;
    if (a->heads % l->tp || a->ffn % l->tp || a->layers % (l->pp * l->vpp)) return 0;
    if (interleaved != (l->vpp > 1) || l->global_batch % per || l->seq > a->positions)
        return 0;
    return !interleaved || m % l->pp == 0 || m % groups == 0;
}

enum { TP = 7, PP = 5, VPP = 3, DP = 3, KINDS = 3, GLOBAL = 22, SEQ = 2 };

/* Number `i` of all small layouts. */
static weft_layout small_layout(int i)
{
    static const char *const kinds[KINDS] = {"gpipe", "1f1b", "interleaved"};
    weft_layout l = given_layout("");
    l.tp = 1 + i % TP;
    l.pp = 1 + (i /= TP) % PP;
    l.vpp = 1 + (i /= PP) % VPP;
    l.dp = 1 + (i /= VPP) % DP;
    strcpy(l.schedule, kinds[(i /= DP) % KINDS]);
    l.global_batch = 1 + (i /= KINDS) % GLOBAL;
    l.micro_batch = 1 + l.global_batch % 2;
    l.seq = 8 + i / GLOBAL;
    return l;
}

static void the_table_accepts_exactly_the_legal_layouts(void **state)
{
    enum { ALL = TP * PP * VPP * DP * KINDS * GLOBAL * SEQ };
    int accepted = 0;
    weft_arch a = given_arch("layers=12,hidden=48,heads=6,ffn=36,positions=8");
    for (int i = 0; i < ALL; i++) {
        weft_layout l = small_layout(i);
        int ok = wf_rules_hold(&l, &a, -1);
        if (ok != legal(&l, &a))
            fail_msg("tp %d pp %d vpp %d dp %d %s B %lld b %lld: %s", l.tp, l.pp, l.vpp,
                     l.dp, l.schedule, (long long)l.global_batch,
                     (long long)l.micro_batch, ok ? "accepted" : "refused");
        if (i % 97 == 0) assert_int_equal(weft_layout_check(&l, &a) == WEFT_OK, ok);
        accepted += ok;
    }
    assert_true(accepted > 500 && accepted < ALL / 2);
}

static uint64_t bits = 0x9e3779b97f4a7c15u;

/* Mostly small numbers, some at the ends of their type. */
static int64_t any_number(int64_t least, int64_t most)
{
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    switch (bits >> 60) {
    case 0: return least;
    case 1: return most;
    case 2: return (int64_t)(bits % (uint64_t)most);
    default: return (int64_t)(bits >> 20) % 17 - 1;
    }
}

/* For the undefined-behaviour sanitizer: no struct makes the table or its words overflow. */
static void any_struct_is_accepted_or_refused_in_words(void **state)
{
    weft_arch a = given_arch("layers=12,hidden=96,heads=12,positions=2147483647");
    for (int i = 0; i < 3000; i++) {
        weft_layout l = given_layout("");
        int32_t *degree[] = {&l.tp, &l.pp, &l.dp, &l.vpp, &l.group};
        int64_t *number[] = {&l.micro_batch, &l.global_batch, &l.seq,
                             &l.vocab_multiple};
        for (int d = 0; d < 5; d++)
            if (any_number(0, 3) > 0)
                *degree[d] = (int32_t)any_number(INT32_MIN, INT32_MAX);
        for (int n = 0; n < 4; n++)
            if (any_number(0, 3) > 0) *number[n] = any_number(INT64_MIN, INT64_MAX);
        if (i % 3 == 0) strcpy(l.schedule, "interleaved");
        weft_layout before = l;
        if (weft_layout_check(&l, &a) != WEFT_OK)
            assert_true(strlen(weft_status_message()) > 10);
        assert_memory_equal(&l, &before, sizeof l);
        assert_true(weft_layout_world(&l) >= 1);
        if (l.global_batch > 0) assert_true(weft_layout_n_micro(&l) <= l.global_batch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_says_flag_numbers_and_a_way_out_that_works),
        cmocka_unit_test(tp_is_held_against_kv_heads),
        cmocka_unit_test(every_rule_of_the_table_has_a_row),
        cmocka_unit_test(options_are_refused_where_they_are_set),
        cmocka_unit_test(what_this_version_lacks_is_refused_in_a_struct_too),
        cmocka_unit_test(what_has_no_default_must_be_given),
        cmocka_unit_test(any_struct_is_accepted_or_refused_in_words),
        cmocka_unit_test(the_table_accepts_exactly_the_legal_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
