/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of the memory of every layout, and what bug reports got wrong. */
#include <weft/predict.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the headers that it needs */
#include <cmocka.h>

#include "cost/given.h"

static void equal(double x, double expected)
{
    if (!(fabs(x - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g is not %.17g", x, expected);
}

static void more_memory_never_makes_a_layout_infeasible(void **state)
{
    unsigned seed = 41;
    int grew = 0;
    weft_cost_model q = given_model(GIVEN_LLAMA, "a100-80:64x8", NULL);
    for (int i = 0; i < 400; i++) {
        weft_layout l = given_random(&q.arch, &seed, 512);
        weft_cost small, large;
        q.machine.memory_bytes = 1e9 * (1 + given_next(&seed, 160));
        MUST(weft_cost_evaluate(&q, &l, &small));
        q.machine.memory_bytes *= 1 + given_next(&seed, 4);
        MUST(weft_cost_evaluate(&q, &l, &large));
        assert_true(large.fits >= small.fits);
        assert_true(large.memory.total == small.memory.total);
        grew += large.fits > small.fits;
    }
    assert_true(grew > 20);
}

static void parts_sum_to_the_total_and_the_fullest_rank_is_found(void **state)
{
    unsigned seed = 43;
    weft_cost_model q = given_model(GIVEN_GPT, "a100-80:64x8", NULL);
    for (int i = 0; i < 100; i++) {
        weft_layout l = given_random(&q.arch, &seed, 128);
        weft_memory m[8];
        weft_cost c;
        double most = 0;
        MUST(weft_predict(&q, &l, NULL, m, &c));
        for (int r = 0; r < l.pp; r++) {
            equal(m[r].params + m[r].grads + m[r].optimizer + m[r].activations +
                      m[r].logits + m[r].comm + m[r].temporaries + m[r].reserve,
                  m[r].total);
            assert_int_equal(m[r].stage, r);
            if (m[r].total > most) most = m[r].total;
        }
        assert_true(c.memory.total == most);
    }
}

/* Every parameter is on some rank once, a tied embedding on two stages. */
static void parameters_of_all_ranks_are_those_of_the_model(void **state)
{
    static const char *const models[] = {"llama3-8b", GIVEN_GPT, "qwen3-4b"};
    for (int k = 0; k < 3; k++) {
        weft_cost_model q = given_model(models[k], "h100:64x8", NULL);
        for (int pp = 1; pp <= 4; pp *= 2) {
            char text[64];
            double sum = 0;
            snprintf(text, sizeof text, "pp=%d vocab_multiple=1", pp);
            weft_layout l = given_layout(&q.arch, text);
            for (int s = 0; s < pp; s++) {
                weft_stage_cost c;
                weft_cost_stage(&q, &l, s, &c);
                sum += c.params;
            }
            double copy = q.arch.tied && pp > 1
                              ? (double)q.arch.vocab * (double)q.arch.hidden
                              : 0;
            equal(sum, (double)weft_arch_params(&q.arch) + copy); /* case 24 */
        }
    }
}

/* Experts are shared by ep; of the ranks that share them each has its own, of everything else
 * all of it. */
static void experts_of_all_ranks_are_those_of_the_model(void **state)
{
    weft_cost_model q = given_model("mixtral-8x7b", "h100:8x8", NULL);
    weft_arch_parts parts;
    weft_arch_params_by_part(&q.arch, &parts);
    for (int ep = 1; ep <= 8; ep *= 2) {
        char text[80];
        snprintf(text, sizeof text, "dp=8 ep=%d global_batch=8 vocab_multiple=1", ep);
        weft_layout l = given_layout(&q.arch, text);
        weft_stage_cost c;
        weft_cost_stage(&q, &l, 0, &c);
        equal(c.params, (double)(weft_arch_params(&q.arch) - parts.experts) +
                            (double)parts.experts / ep);
    }
}

/* HSDP: of 8 replicas, 2 copies of what 4 ranks share. */
static void copies_are_not_shared(void **state)
{
    weft_cost_model q = given_model(GIVEN_GPT, "h100:1x8", NULL);
    weft_layout all = given_layout(&q.arch, "dp=8 zero=1 global_batch=8"), half = all;
    weft_cost a, b;
    half.replicate = 2;
    MUST(weft_cost_evaluate(&q, &all, &a));
    MUST(weft_cost_evaluate(&q, &half, &b));
    equal(b.memory.optimizer, 2 * a.memory.optimizer);
    equal(b.memory.grads, a.memory.grads);
    assert_true(b.dp_s > a.dp_s); /* and the sum over the copies is one more */
}

/* Korthikanti et al. 2022, table 2, in bytes over s b h. */
static void activations_are_those_of_the_paper(void **state)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    o.fused_attention = 0;
    o.dropout = 1;
    weft_cost_model q =
        given_model("layers=24,hidden=6144,heads=64,positions=2048", "a100-80:1x8", &o);
    static const struct {
        const char *layout;
        double t, outside, scores;
    } rows[] = {{"tp=1 global_batch=4 micro_batch=4 pp=8", 1, 10, 5},
                {"tp=8 global_batch=4 micro_batch=4", 8, 10, 5},
                {"tp=8 sp=true global_batch=4 micro_batch=4", 8, 10.0 / 8, 5},
                {"tp=8 sp=true recompute=selective global_batch=4 micro_batch=4", 8,
                 10.0 / 8, 0}};
    for (int i = 0; i < 4; i++) {
        weft_layout l = given_layout(&q.arch, rows[i].layout);
        weft_stage_cost c;
        double s = 2048, h = 6144, a = 64, sbh = s * 4 * h;
        weft_cost_stage(&q, &l, l.pp / 2, &c); /* a stage of layers alone, or all */
        double own = sbh / (l.sp ? rows[i].t : 1);
        double ends = l.pp > 1 ? 0 : own + 4 * own; /* mask; into and out of the norm */
        equal((c.act_bytes - ends) / (double)c.n_layers,
              sbh * (rows[i].outside + 24 / rows[i].t +
                     rows[i].scores * a * s / (h * rows[i].t)));
    }
    weft_layout full = given_layout(&q.arch, "pp=8 recompute=full");
    weft_stage_cost c;
    weft_cost_stage(&q, &full, 4, &c);
    equal(c.act_bytes / (double)c.n_layers, 2.0 * 2048 * 6144);
}

/* L24: 4,096 tokens, h = 8192, TP 8, flash attention, no SP. */
static void L24_a_layer_keeps_436_million_bytes(void **state)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    o.dropout = 1;
    weft_cost_model q =
        given_model("layers=80,hidden=8192,heads=64,positions=4096", "h100:8x8", &o);
    weft_layout l = given_layout(&q.arch, "tp=8 pp=8 seq=4096 global_batch=64");
    weft_stage_cost c;
    weft_cost_stage(&q, &l, 3, &c);
    /* and the log of the sum of each row of scores, 4 bytes for a head and token */
    double lse = 4.0 * 4096 * 64 / 8;
    equal(c.act_bytes / 10 - lse, 436207616);
}

static void case_15_logits_of_gpt2_large(void **state)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    weft_cost_model q = given_model("gpt2-large", "v100:1x8", &o);
    weft_layout l = given_layout(&q.arch, "seq=1024 micro_batch=4 global_batch=4");
    weft_stage_cost c;
    weft_cost_stage(&q, &l, 0, &c);
    double one = 4.0 * 1024 * 50304 * 4;
    equal(one, 786.0 * 1048576);
    /* the 2-byte logits, their fp32 copy, and its gradient */
    equal(c.logits_bytes, one / 2 + one + one);
    q.options.fused_loss = 1;
    weft_cost_stage(&q, &l, 0, &c);
    equal(c.logits_bytes, one);
}

/* Bytes a parameter of weights, gradients and optimizer state. */
static double states(double grad, double optimizer, const char *zero, int d)
{
    weft_cost_options o;
    char text[96];
    weft_cost c;
    weft_cost_defaults(&o);
    o.grad_bytes = grad;
    o.optimizer_bytes = optimizer;
    if (grad == 4 && optimizer == 8) o.param_bytes = 4; /* all fp32: no master copy */
    weft_cost_model q = given_model(GIVEN_GPT, "h100:1x8", &o);
    snprintf(text, sizeof text, "dp=%d zero=%s global_batch=8 vocab_multiple=1", d,
             zero);
    weft_layout l = given_layout(&q.arch, text);
    MUST(weft_cost_evaluate(&q, &l, &c));
    double n = (double)weft_arch_params(&q.arch);
    double gathered = !strcmp(zero, "3") && d > 1 ? 2 * n / 24 * o.param_bytes : 0;
    return (c.memory.params - gathered + c.memory.grads + c.memory.optimizer) / n;
}

static void case_17_bytes_a_parameter(void **state)
{
    equal(states(4, 8, "0", 8), 16); /* all fp32 */
    equal(states(2, 12, "0", 8), 16);
    equal(states(4, 12, "0", 8), 18);
    static const struct {
        double grad;
        const char *zero;
        double fixed, shared, at_8;
    } rows[] = {{4, "1", 6, 12, 7.5},  {2, "1", 4, 12, 5.5},  {4, "2", 2, 16, 4},
                {2, "2", 2, 14, 3.75}, {4, "3", 0, 18, 2.25}, {2, "3", 0, 16, 2}};
    for (int i = 0; i < 6; i++) {
        equal(states(rows[i].grad, 12, rows[i].zero, 8), rows[i].at_8);
        for (int d = 1; d <= 8; d *= 2)
            equal(states(rows[i].grad, 12, rows[i].zero, d),
                  rows[i].fixed + rows[i].shared / d);
    }
}

static void case_19_the_fullest_stage_of_an_uneven_split_is_found(void **state)
{
    weft_cost_options o;
    weft_cost_defaults(&o);
    weft_cost_model q =
        given_model("layers=8,hidden=1024,heads=8,positions=2048", "h100:1x8", &o);
    static const struct {
        const char *split;
        int held[4], fullest;
    } rows[] = {{"1,2,2,3", {4, 6, 4, 3}, 1}, {"2,2,2,2", {8, 6, 4, 2}, 0}};
    for (int i = 0; i < 2; i++) {
        char text[96];
        weft_memory m[4];
        weft_cost c;
        snprintf(text, sizeof text, "pp=4 global_batch=8 stage_layers=%s",
                 rows[i].split);
        weft_layout l = given_layout(&q.arch, text);
        weft_stage_cost s;
        weft_cost_stage(&q, &l, 1, &s);
        double layer = s.act_bytes / (double)s.n_layers;
        MUST(weft_predict(&q, &l, NULL, m, &c));
        int most = 0;
        for (int r = 0; r < 4; r++) {
            double ends = r == 3 ? 2.0 * 2 * 2048 * 1024 : 0; /* of the last norm */
            equal(m[r].activations, rows[i].held[r] * layer + ends);
            if (m[r].activations > m[most].activations) most = r;
        }
        assert_int_equal(most, rows[i].fullest);
        /* closed forms agree */
        for (int r = 0; r < 4; r++) {
            weft_memory closed;
            weft_cost_memory(&q, &l, r, -1, -1, &closed);
            equal(closed.total, m[r].total);
        }
    }
}

static void case_28_eighty_gigabytes_are_not_eighty_gibibytes(void **state)
{
    weft_machine m;
    MUST(weft_machine_parse("h100,memory=79.14GiB", &m));
    assert_true(m.memory_bytes > 80e9);
    assert_true(m.memory_bytes < 80 * 1073741824.0);
    equal((m.memory_bytes - 80e9) / 1073741824.0, 79.14 - 80e9 / 1073741824.0);
    assert_true(m.reserve_bytes > 1073741824.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_memory_never_makes_a_layout_infeasible),
        cmocka_unit_test(parts_sum_to_the_total_and_the_fullest_rank_is_found),
        cmocka_unit_test(parameters_of_all_ranks_are_those_of_the_model),
        cmocka_unit_test(experts_of_all_ranks_are_those_of_the_model),
        cmocka_unit_test(copies_are_not_shared),
        cmocka_unit_test(activations_are_those_of_the_paper),
        cmocka_unit_test(L24_a_layer_keeps_436_million_bytes),
        cmocka_unit_test(case_15_logits_of_gpt2_large),
        cmocka_unit_test(case_17_bytes_a_parameter),
        cmocka_unit_test(case_19_the_fullest_stage_of_an_uneven_split_is_found),
        cmocka_unit_test(case_28_eighty_gigabytes_are_not_eighty_gibibytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
