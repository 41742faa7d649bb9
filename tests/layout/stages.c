/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a layout's stages: balanced, as written, and in its texts. */
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

enum { MANY = 256 };

/* The counts of all stages; contiguous, and all layers, or the test fails. */
static void counts_of(const weft_layout *l, const weft_arch *a, int64_t *count)
{
    int64_t next = 0;
    for (int s = 0; s < l->pp * l->vpp; s++) {
        int64_t first;
        weft_layout_stage_layers(l, a, s, &first, &count[s]);
        assert_int_equal(first, next);
        next += count[s];
    }
    assert_int_equal(next, a->layers);
}

/* FLOPs by hand: 24 h^2 + 4 h s a block, 2 h V the output layer, h the embedding. */
static void best_counts(const weft_layout *l, const weft_arch *a, int64_t *count)
{
    int64_t cost[MANY], h = a->hidden;
    weft_stage_problem q = {.n_layers = a->layers,
                            .n_stages = l->pp * l->vpp,
                            .layer_cost = cost,
                            .embed_cost = h,
                            .head_cost = 2 * h * weft_layout_padded_vocab(l, a)};
    for (int64_t i = 0; i < a->layers; i++)
        cost[i] = 24 * h * h + 4 * h * l->seq;
    MUST(weft_stages_balance(&q, count));
}

static void balanced_stages_are_the_best_split_of_their_flops(void **state)
{
    static const char *const models[] = {
        "gpt2", "gpt2-tiny", "layers=1,hidden=8,heads=1,vocab=3,positions=64",
        "layers=1,hidden=4,heads=1,vocab=1000,positions=8"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        weft_arch a = given_arch(models[k]);
        for (a.layers = 1; a.layers <= 130; a.layers++)
            for (int pp = 1; pp <= 16 && pp <= a.layers; pp++) {
                int64_t count[MANY], best[MANY];
                weft_layout l = given_layout("--stage-layers balanced");
                l.pp = pp;
                counts_of(&l, &a, count);
                best_counts(&l, &a, best);
                assert_memory_equal(count, best, (size_t)pp * sizeof *count);
                weft_layout_settle_stages(&l, &a);
                assert_null(strstr(l.stage_layers, "balanced"));
                MUST(weft_layout_check(&l, &a));
                counts_of(&l, &a, count);
                assert_memory_equal(count, best, (size_t)pp * sizeof *count);
            }
    }
}

static void stages_hold_what_is_written(void **state)
{
    static const char *const texts[] = {"7,8,8,7", "Et*7|(t*8|)*2t*7L", "0,30,0,0"};
    static const int64_t counts[][4] = {{7, 8, 8, 7}, {7, 8, 8, 7}, {0, 30, 0, 0}};
    weft_arch a = given_arch("layers=30,hidden=8,heads=1");
    (void)state;
    for (int i = 0; i < 3; i++) {
        int64_t count[4];
        weft_layout l = given_layout("--pp 4");
        MUST(weft_layout_set(&l, "--stage-layers", texts[i]));
        MUST(weft_layout_check(&l, &a));
        counts_of(&l, &a, count);
        assert_memory_equal(count, counts[i], sizeof count);
    }
}

/* Case 1: any number of layers on any number of stages, every layer on one of them. */
static void every_number_of_layers_can_be_balanced(void **state)
{
    weft_arch a = given_arch("gpt2-tiny");
    (void)state;
    for (a.layers = 1; a.layers <= 130; a.layers++)
        for (int pp = 1; pp <= 16; pp++)
            for (int vpp = 1; vpp <= 3; vpp++) {
                int64_t count[MANY];
                weft_layout l = given_layout("--stage-layers balanced");
                l.pp = pp;
                l.vpp = vpp;
                l.global_batch = pp;
                if (vpp > 1) strcpy(l.schedule, "interleaved");
                int legal = pp * vpp <= a.layers;
                assert_int_equal(wf_rules_hold(&l, &a, -1), legal);
                if (!legal) continue;
                counts_of(&l, &a, count);
                for (int s = 0; s < pp * vpp; s++)
                    assert_true(count[s] >= 1);
            }
}

static void text_and_json_show_the_counts(void **state)
{
    weft_arch a = given_arch("layers=30,hidden=64,heads=1,vocab=128,positions=8");
    weft_layout l = given_layout("--pp 4 --stage-layers balanced --vocab-multiple 1");
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    (void)state;
    MUST(weft_layout_check(&l, &a));
    weft_layout_settle_stages(&l, &a);
    weft_layout_write_text(&l, &out);
    assert_string_equal(text.s, "tp=1 pp=4 dp=1 vpp=1 1f1b m=8 stage-layers=7,8,8,7");
    weft_text_clear(&text);
    out = weft_text_writer(&text);
    weft_layout_write_json(&l, &out);
    assert_non_null(strstr(text.s, "\"stage_layers\":\"7,8,8,7\""));
    weft_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balanced_stages_are_the_best_split_of_their_flops),
        cmocka_unit_test(stages_hold_what_is_written),
        cmocka_unit_test(every_number_of_layers_can_be_balanced),
        cmocka_unit_test(text_and_json_show_the_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
