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

#include "claim.h"
#include "layout/given.h"
#include "layout/rule.h"

/* ---- resolve ---------------------------------------------------------------------- */

static void the_missing_degree_is_derived_for_every_world(void **state)
{
    for (int tp = 1; tp <= 4; tp++)
        for (int pp = 1; pp <= 4; pp++)
            for (int dp = 1; dp <= 4; dp++)
                for (int missing = 0; missing < 3; missing++) {
                    static const char *const names[] = {"tp", "pp", "dp"};
                    const char *derived = NULL;
                    weft_layout l;
                    weft_layout_defaults(&l);
                    l.tp = missing == 0 ? 0 : tp;
                    l.pp = missing == 1 ? 0 : pp;
                    l.dp = missing == 2 ? 0 : dp;
                    assert_int_equal(weft_layout_resolve(&l, tp * pp * dp, &derived),
                                     WEFT_OK);
                    assert_string_equal(derived, names[missing]);
                    assert_true(l.tp == tp && l.pp == pp && l.dp == dp && l.cp == 1);
                }
}

static void without_a_world_it_is_the_product(void **state)
{
    const char *derived = "x";
    weft_layout l;
    weft_layout_defaults(&l);
    l.tp = 2;
    l.dp = 3;
    assert_int_equal(weft_layout_resolve(&l, 0, &derived), WEFT_OK);
    assert_null(derived);
    assert_int_equal(l.pp, 1);
    assert_int_equal(weft_layout_world(&l), 6);
}

static void alone_dp_takes_the_whole_world(void **state)
{
    const char *derived;
    weft_layout l;
    weft_layout_defaults(&l);
    assert_int_equal(weft_layout_resolve(&l, 8, &derived), WEFT_OK);
    assert_string_equal(derived, "dp");
    assert_true(l.tp == 1 && l.pp == 1 && l.dp == 8);
    weft_layout_defaults(&l);
    l.dp = 8; /* leaves one rank a replica, which tp and pp can only be 1 for */
    assert_int_equal(weft_layout_resolve(&l, 8, &derived), WEFT_OK);
    assert_true(l.tp == 1 && l.pp == 1 && l.dp == 8);
}

static void unresolved(const char *flags, int world, const char *words)
{
    weft_layout l, before;
    weft_layout_defaults(&l);
    assert_int_equal(given_set(&l, flags), WEFT_OK);
    before = l;
    assert_int_not_equal(weft_layout_resolve(&l, world, NULL), WEFT_OK);
    assert_string_equal(weft_status_message(), words);
    assert_memory_equal(&l, &before, sizeof l);
}

static void a_world_that_does_not_fit_is_refused_in_numbers(void **state)
{
    unresolved("--tp 3", 8,
               "--tp 3 does not divide the 8 ranks; 6 and 9 ranks would do");
    unresolved("--tp 2 --pp 8", 8,
               "--tp 2 * --pp 8 = 16 does not divide the 8 ranks; 16 ranks would do");
    unresolved("--tp 2 --pp 2 --dp 1", 8,
               "--tp 2 * --pp 2 * --dp 1 = 4 ranks, but there are 8; --dp 2 fits");
    unresolved("--tp 3 --pp 1 --dp 2", 8,
               "--tp 3 * --pp 1 * --dp 2 = 6 ranks, but there are 8");
    unresolved(
        "--dp 2", 8,
        "--tp and --pp are both missing: 4 ranks per replica (--dp 2) can be shared in "
        "several ways; give one of them");
}

/* ---- shares ----------------------------------------------------------------------- */

static void check(const weft_layout *l, const weft_arch *a)
{
    if (weft_layout_check(l, a)) fail_msg("%s", weft_status_message());
}

static int64_t product(const int64_t size[2])
{
    return size[0] * size[1];
}

/* Over the ranks of one replica, the pieces of every tensor make the whole. */
static void add_shards(const weft_layout *l, const weft_arch *a, int64_t *split,
                       int64_t *replicated)
{
    int64_t padding = (weft_layout_padded_vocab(l, a) - a->vocab) * a->hidden;
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_tensor_info t;
        int64_t size[2];
        weft_arch_tensor(a, i, &t);
        weft_layout_shard_size(l, a, &t, size);
        if (t.tp_dim < 0) {
            *replicated += product(size);
        } else {
            *split += l->tp * product(size) - (t.is_vocab ? padding : 0);
            for (int s = 0; s < t.n_segments && !t.is_vocab; s++)
                assert_int_equal(t.segment[s] % l->tp, 0);
        }
    }
}

static void shards_of_all_legal_layouts_sum_to_the_whole(void **state)
{
    int cases = 0;
    for (int layers = 1; layers <= 6; layers++)
        for (int heads = 1; heads <= 6; heads++)
            for (int tp = 1; tp <= 6; tp++)
                for (int pp = 1; pp <= 6; pp++)
                    for (int vpp = 1; vpp <= 3; vpp++) {
                        char text[96];
                        snprintf(
                            text, sizeof text,
                            "layers=%d,hidden=%d,heads=%d,vocab=37,positions=8,tied=%d",
                            layers, heads * 2, heads, layers % 2);
                        weft_arch a = given_arch(text);
                        weft_layout l = given_layout("");
                        l.tp = tp;
                        l.pp = pp;
                        l.vpp = vpp;
                        l.global_batch = pp;
                        l.vocab_multiple = 3;
                        if (vpp > 1) strcpy(l.schedule, "interleaved");
                        int legal = heads % tp == 0 && layers % (pp * vpp) == 0;
                        assert_int_equal(wf_rules_hold(&l, &a, -1), legal);
                        if (!legal) continue;
                        int64_t split = 0, replicated = 0;
                        add_shards(&l, &a, &split, &replicated);
                        assert_int_equal(split + replicated, weft_arch_params(&a));
                        cases++;
                    }
    assert_true(cases > 200);
}

/* Every layer on one stage, whatever L and p: none is lost (case 1). */
static void stages_hold_every_layer_once(void **state)
{
    weft_arch a = given_arch("gpt2-tiny");
    for (int layers = 1; layers <= 130; layers++)
        for (int pp = 1; pp <= 16; pp++)
            for (int vpp = 1; vpp <= 4; vpp++) {
                weft_layout l = given_layout("");
                int64_t next = 0;
                a.layers = layers;
                l.pp = pp;
                l.vpp = vpp;
                l.global_batch = pp;
                if (vpp > 1) strcpy(l.schedule, "interleaved");
                int legal = layers % (pp * vpp) == 0;
                assert_int_equal(wf_rules_hold(&l, &a, -1), legal);
                for (int s = 0; s < pp * vpp && legal; s++) {
                    int64_t first, count;
                    weft_layout_stage_layers(&l, &a, s, &first, &count);
                    assert_int_equal(first, next);
                    assert_int_equal(count, layers / (pp * vpp));
                    next += count;
                }
                if (legal) assert_int_equal(next, layers);
            }
}

static void case_71_vocabularies_are_padded_to_128_times_tp(void **state)
{
    static const struct {
        int64_t vocab;
        int tp;
        int64_t padded;
    } known[] = {{50257, 1, 50304}, {50257, 2, 50432},   {50257, 8, 51200},
                 {65535, 2, 65536}, {151669, 4, 152064}, {151552, 6, 152064}};
    weft_arch a = given_arch("gpt2");
    for (int i = 0; i < 6; i++) {
        weft_layout l = given_layout("");
        int64_t size[2];
        weft_tensor_info wte;
        a.vocab = known[i].vocab;
        l.tp = known[i].tp;
        assert_int_equal(weft_layout_padded_vocab(&l, &a), known[i].padded);
        weft_arch_tensor(&a, 0, &wte);
        weft_layout_shard_size(&l, &a, &wte, size);
        assert_int_equal(size[0] * l.tp, known[i].padded);
        assert_int_equal(size[1], a.hidden);
    }
}

static void the_padded_vocabulary_is_the_least_multiple_that_holds_it(void **state)
{
    weft_arch a = given_arch("gpt2-tiny");
    weft_layout l = given_layout("");
    for (a.vocab = 1; a.vocab <= 60; a.vocab++)
        for (l.tp = 1; l.tp <= 6; l.tp++)
            for (l.vocab_multiple = 1; l.vocab_multiple <= 9; l.vocab_multiple++) {
                int64_t unit = l.tp * l.vocab_multiple, least = unit;
                while (least < a.vocab)
                    least += unit;
                assert_int_equal(weft_layout_padded_vocab(&l, &a), least);
            }
}

/* ---- batch and ranks -------------------------------------------------------------- */

static void case_29_tokens_per_step_come_from_dp_not_from_the_world(void **state)
{
    weft_arch a = given_arch("layers=80,hidden=8192,heads=64,positions=4096");
    weft_layout l =
        given_layout("--tp 8 --pp 4 --dp 2 --micro-batch 1 --global-batch 256 "
                     "--seq 4096");
    check(&l, &a);
    assert_int_equal(weft_layout_world(&l), 64);
    assert_int_equal(weft_layout_n_micro(&l), 128);
    assert_int_equal(l.dp * weft_layout_n_micro(&l) * l.micro_batch * l.seq, 1048576);
}

static void case_11_the_batch_that_fits_gives_its_micro_batches(void **state)
{
    weft_arch a = given_arch("gpt2");
    weft_layout l = given_layout("--global-batch 64 --micro-batch 4 --dp 2");
    check(&l, &a);
    assert_int_equal(weft_layout_n_micro(&l), 8);
}

static void the_mesh_has_the_degrees_in_the_order(void **state)
{
    weft_mesh mesh;
    int coord[WEFT_MAX_AXES];
    weft_layout l = given_layout("--tp 2 --pp 4 --dp 2");
    assert_int_equal(weft_layout_mesh(&l, &mesh), WEFT_OK);
    assert_int_equal(weft_mesh_coord(&mesh, 13, coord), WEFT_OK);
    assert_int_equal(weft_mesh_coord_of(&mesh, 13, WEFT_TP), 1);
    assert_int_equal(weft_mesh_coord_of(&mesh, 13, WEFT_PP), 2);
    assert_int_equal(weft_mesh_coord_of(&mesh, 13, WEFT_DP), 1);
    assert_int_equal(given_set(&l, "--order tp,cp,dp,pp"), WEFT_OK);
    assert_int_equal(weft_layout_mesh(&l, &mesh), WEFT_OK);
    assert_int_equal(weft_mesh_coord_of(&mesh, 13, WEFT_DP), 0);
    assert_int_equal(weft_mesh_coord_of(&mesh, 13, WEFT_PP), 3);
}

static void L52_the_world_is_the_product_of_the_degrees(void **state)
{
    for (int d = 1; d <= 5; d++)
        for (int t = 1; t <= 5; t++)
            for (int p = 1; p <= 5; p++) {
                weft_layout l = given_layout("");
                weft_mesh mesh;
                l.dp = d;
                l.tp = t;
                l.pp = p;
                assert_int_equal(weft_layout_world(&l), d * t * p);
                assert_int_equal(weft_layout_mesh(&l, &mesh), WEFT_OK);
                assert_int_equal(weft_mesh_world(&mesh), d * t * p);
            }
}

/* ---- text ------------------------------------------------------------------------- */

static void megatron_flags_mean_the_same(void **state)
{
    weft_layout a =
        given_layout("--tp 2 --pp 3 --micro-batch 4 --global-batch 48 --seq 64 "
                     "--vocab-multiple 64 --vpp 2 --group 3");
    weft_layout b =
        given_layout("--tensor-model-parallel-size 2 "
                     "--pipeline-model-parallel-size 3 --micro-batch-size 4 "
                     "--global-batch-size 48 --seq-length 64 "
                     "--make-vocab-size-divisible-by 64 "
                     "--num-virtual-stages-per-pipeline-rank 2 "
                     "--microbatch-group-size-per-virtual-pipeline-stage 3");
    assert_memory_equal(&a, &b, sizeof a);
}

static void text_and_json_state_the_layout(void **state)
{
    weft_layout l =
        given_layout("--tp 2 --pp 2 --dp 2 --micro-batch 2 --global-batch 16");
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_layout_write_text(&l, &out);
    assert_string_equal(text.s, "tp=2 pp=2 dp=2 vpp=1 1f1b m=4");
    weft_text_clear(&text);
    out = weft_text_writer(&text);
    weft_layout_write_json(&l, &out);
    assert_string_equal(
        text.s,
        "{\"tp\":2,\"cp\":1,\"cp_comm\":\"ring\",\"pp\":2,\"dp\":2,\"ep\":1,\"vpp\":1,"
        "\"stage_layers\":\"even\",\"schedule\":\"1f1b\",\"placement\":\"auto\","
        "\"group\":0,\"micro_batch\":2,"
        "\"global_batch\":16,\"seq\":8,\"zero\":0,\"replicate\":1,"
        "\"sp\":false,\"recompute\":\"none\","
        "\"vocab_multiple\":128,\"order\":\"tp,cp,pp,dp\","
        "\"world\":8,\"n_micro\":4}");
    weft_text_clear(&text);
    assert_int_equal(given_set(&l,
                               "--sp true --cp 2 --zero 3 --replicate 2 --recompute "
                               "full"),
                     WEFT_OK);
    out = weft_text_writer(&text);
    weft_layout_write_text(&l, &out);
    assert_string_equal(text.s, "tp=2+sp cp=2 ring pp=2 dp=2 zero=3 replicate=2 vpp=1 "
                                "1f1b m=4 recompute=full");
    weft_text_clear(&text);
}

/* ---- placement -------------------------------------------------------------------- */

/* With auto, what the kind has by itself; a word is legal where it is that, or the schedule
 * itself can be made so; and then nobody sees another. */
static void check_word(const weft_layout *base, const weft_arch *a, const char *word,
                       int own_legal, const weft_schedule *own)
{
    weft_layout l = *base;
    weft_schedule_options opt = {.group = 0};
    weft_schedule shape;

    snprintf(l.placement, sizeof l.placement, "%s", word);
    int is_taken =
        weft_schedule_kind_placements(weft_schedule_kind_find(l.schedule)) != 0;
    assert_int_equal(weft_placement_find(word, &opt.placement), WEFT_OK);
    int can = weft_schedule_applicable(l.schedule, l.pp, 2 * l.pp, l.vpp, &opt) == 0;
    int legal = weft_layout_check(&l, a) == WEFT_OK;
    int should = is_taken
                     ? can
                     : own_legal && own->placement == opt.placement; /* single: auto */
    if (legal != should)
        fail_msg("%s pp %d vpp %d %s: legal %d, %s", l.schedule, l.pp, l.vpp, word,
                 legal, weft_status_message());
    if (!legal) return;
    assert_int_equal(weft_layout_shape(&l, &shape), WEFT_OK);
    assert_int_equal(shape.placement, opt.placement);
}

static void a_layout_is_placed_as_it_says_or_refused(void **state)
{
    weft_arch a = given_arch("layers=144,hidden=8,heads=1");
    for (int k = 0; k < weft_schedule_kind_count(); k++)
        for (int pp = 1; pp <= 4; pp++)
            for (int vpp = 1; vpp <= 4; vpp++) {
                weft_schedule own = {.placement = WEFT_PLACE_SINGLE};
                weft_layout l = given_layout("");
                l.pp = pp;
                l.vpp = vpp;
                l.global_batch = 2 * pp;
                snprintf(l.schedule, sizeof l.schedule, "%s",
                         weft_schedule_kind_name(weft_schedule_kind_at(k)));
                int legal = weft_layout_check(&l, &a) == WEFT_OK;
                if (legal) assert_int_equal(weft_layout_shape(&l, &own), WEFT_OK);
                for (int i = 0; i <= WEFT_PLACE_BIDIRV; i++)
                    check_word(&l, &a, weft_placement_name((weft_placement_kind)i),
                               legal, &own);
            }
}

/* The text names what the schedule would not have by itself. */
static void text_of(const char *flags, const char *words)
{
    weft_layout l = given_layout(flags);
    weft_text text = {NULL, 0, 0};
    weft_writer out = weft_text_writer(&text);

    weft_layout_write_text(&l, &out);
    assert_string_equal(text.s, words);
    weft_text_clear(&text);
}

static void only_a_placement_of_choice_is_in_the_text(void **state)
{
    text_of("--pp 2 --vpp 2 --schedule optimal", "tp=1 pp=2 dp=1 vpp=2 optimal m=8");
    text_of("--pp 2 --vpp 2 --schedule optimal --placement v",
            "tp=1 pp=2 dp=1 vpp=2 optimal m=8");
    text_of("--pp 2 --vpp 2 --schedule optimal --placement loop",
            "tp=1 pp=2 dp=1 vpp=2 optimal placement=loop m=8");
    text_of("--pp 2 --schedule optimal --placement loop",
            "tp=1 pp=2 dp=1 vpp=1 optimal m=8");
    text_of("--pp 2 --vpp 3 --schedule optimal --placement loop",
            "tp=1 pp=2 dp=1 vpp=3 optimal m=8");
    text_of("--pp 2 --vpp 2 --schedule zb-v --placement v",
            "tp=1 pp=2 dp=1 vpp=2 zb-v m=8");
}

static void recompute_is_one_word_or_one_for_each_stage(void **state)
{
    static const struct {
        const char *text;
        int want[4];
    } rows[] = {{"none", {0, 0, 0, 0}},
                {"full", {2, 2, 2, 2}},
                {"selective*4", {1, 1, 1, 1}},
                {"full*2,selective,none", {2, 2, 1, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_layout l = given_layout("--pp 4");
        MUST(weft_layout_plan_set(&l, "recompute", rows[i].text));
        for (int stage = 0; stage < 4; stage++)
            assert_int_equal(weft_layout_recompute(&l, stage), rows[i].want[stage]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_missing_degree_is_derived_for_every_world),
        cmocka_unit_test(without_a_world_it_is_the_product),
        cmocka_unit_test(alone_dp_takes_the_whole_world),
        cmocka_unit_test(a_world_that_does_not_fit_is_refused_in_numbers),
        cmocka_unit_test(shards_of_all_legal_layouts_sum_to_the_whole),
        cmocka_unit_test(stages_hold_every_layer_once),
        cmocka_unit_test(case_71_vocabularies_are_padded_to_128_times_tp),
        cmocka_unit_test(the_padded_vocabulary_is_the_least_multiple_that_holds_it),
        cmocka_unit_test(case_29_tokens_per_step_come_from_dp_not_from_the_world),
        cmocka_unit_test(case_11_the_batch_that_fits_gives_its_micro_batches),
        cmocka_unit_test(the_mesh_has_the_degrees_in_the_order),
        cmocka_unit_test(L52_the_world_is_the_product_of_the_degrees),
        cmocka_unit_test(megatron_flags_mean_the_same),
        cmocka_unit_test(text_and_json_state_the_layout),
        cmocka_unit_test(a_layout_is_placed_as_it_says_or_refused),
        cmocka_unit_test(only_a_placement_of_choice_is_in_the_text),
        cmocka_unit_test(recompute_is_one_word_or_one_for_each_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
