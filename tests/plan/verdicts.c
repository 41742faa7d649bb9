/* SPDX-License-Identifier: Apache-2.0 */
/* What the lessons say of layouts, and what bug reports ask for, as warnings and verdicts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>
#include <weft/envelope.h>
#include <weft/plan.h>

#include "plan/lesson.h"

#define NARROW "layers=32,hidden=4096,heads=32,positions=4096"

typedef struct said {
    char rules[256]; /* blank-separated */
    char text[2048];
} said;

static void hear(void *ctx, const char *rule, const char *text)
{
    said *s = ctx;
    strncat(s->rules, *s->rules ? " " : "", sizeof s->rules - strlen(s->rules) - 1);
    strncat(s->rules, rule, sizeof s->rules - strlen(s->rules) - 1);
    strncat(s->text, text, sizeof s->text - strlen(s->text) - 1);
}

/* flags: blank-separated name=value. */
static said verdict(const weft_cost_model *q, const char *flags, weft_cost *c)
{
    weft_layout l;
    char text[256];
    said s = {"", ""};

    weft_layout_defaults(&l);
    l.global_batch = 256;
    l.seq = 4096;
    snprintf(text, sizeof text, "%s", flags);
    for (char *at = text; *at;) {
        size_t n = strcspn(at, " "), k = strcspn(at, "=");
        char *next = at + n + (at[n] == ' ');
        at[n] = at[k] = 0;
        if (weft_layout_plan_set(&l, at, at + k + 1))
            fail_msg("%s", weft_status_message());
        at = next;
    }
    if (weft_layout_resolve(&l, weft_machine_ranks(&q->machine), NULL) ||
        weft_layout_plan_check(&l, &q->arch) || weft_plan_price(q, &l, c))
        fail_msg("%s: %s", flags, weft_status_message());
    weft_plan_warnings(q, &l, c, hear, &s);
    return s;
}

/* ---- section 4c -------------------------------------------------------------------------- */

static void both_good_choices_have_no_warning(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_cost c;
    assert_string_equal(verdict(&q, "tp=8 pp=8", &c).rules, "");
    assert_true(c.fits && fabs(c.memory.total - 52396609280.0) < 1);
    assert_string_equal(verdict(&q, "tp=8 pp=4 zero=1", &c).rules, "");
    assert_true(c.fits && fabs(c.memory.total / 1e9 - 56.8) < 0.05);
}

static void zero3_is_communication_bound(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_cost c;
    said s = verdict(&q, "tp=8 pp=1 zero=3", &c);
    assert_string_equal(s.rules, "few-tokens");
    assert_non_null(strstr(s.text,
                           "4096 tokens of a rank a micro-batch are fewer than F/W "
                           "= 8000"));
    /* and so slower than the pipelines */
    weft_cost pipeline;
    verdict(&q, "tp=8 pp=8", &pipeline);
    assert_true(c.step_time_s > 1.5 * pipeline.step_time_s);
}

static void tp_16_leaves_the_node(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_cost c;
    said s = verdict(&q, "tp=16 pp=4", &c);
    assert_non_null(strstr(s.rules, "tp-across-nodes"));
    assert_non_null(strstr(s.text, "--tp 16 leaves the node of 8 ranks"));
    /* and its all-reduces take longer than all the compute */
    assert_true(c.time.tp_comm > 2 * c.time.compute);
}

static void gpipe_holds_all_micro_batches(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_cost c;
    said s = verdict(&q, "tp=8 pp=8 schedule=gpipe", &c);
    assert_int_equal(c.fits, 0);
    assert_non_null(strstr(s.text, "needs 1134.2 GB of 80.0 GB"));
}

static void a_7B_model_is_too_narrow_for_tp_8(void **state)
{
    weft_cost_model q = model_of(NARROW, 7e9, "h100:8x8", 400e12);
    weft_cost c;
    said s = verdict(&q, "tp=8 pp=1", &c);
    assert_non_null(strstr(s.rules, "tp-narrow"));
    assert_non_null(strstr(s.text, "1.25 times"));
    assert_non_null(strstr(s.text, "--tp 4 0.54 times"));
    assert_null(strstr(verdict(&q, "tp=4 pp=1", &c).rules, "tp-narrow"));
}

/* L45: of all layouts of 64 GPUs on the envelope. The lesson's two stay within a few percent
 * of the best. */
static void L45_the_search_on_the_envelope(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_plan_options o;
    weft_plan p;
    weft_cost mine;
    weft_plan_defaults(&o);
    o.given.global_batch = 256;
    o.given.seq = 4096;
    o.fixed = 1u << WEFT_DIM_CP | 1u << WEFT_DIM_ORDER | 1u << WEFT_DIM_SP |
              1u << WEFT_DIM_RECOMPUTE;
    assert_int_equal(weft_plan_make(&q, &o, &p), WEFT_OK);
    assert_true(p.n_rows > 0);
    verdict(&q, "tp=8 pp=4 zero=1", &mine);
    assert_true(p.row[0].cost.step_time_s <= mine.step_time_s);
    assert_true(mine.step_time_s < 1.05 * p.row[0].cost.step_time_s);
    assert_true(*p.plain_dp.why_not != 0);
    weft_plan_clear(&p);
}

/* ---- cases of others ------------------------------------------------------------------- */

static void case_14_few_micro_batches(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:2x8", 400e12);
    weft_cost c;
    said s = verdict(&q, "tp=1 pp=16 global_batch=2", &c);
    assert_true(fabs(c.bubble_of_total - 15.0 / 17) < 1e-12);
    assert_non_null(strstr(s.text, "2 micro-batches for 16 stages: 88.2 %"));
    assert_non_null(strstr(s.text, "64"));
}

/* Case 31: one micro-batch takes as long on any number of stages. */
static void case_31_one_micro_batch_gains_nothing_from_stages(void **state)
{
    double one = 0;
    for (int p = 1; p <= 8; p *= 2) {
        char machine[32], flags[64];
        snprintf(machine, sizeof machine, "h100:1x%d", p);
        snprintf(flags, sizeof flags, "tp=1 pp=%d global_batch=1", p);
        weft_cost_model q = model_of(LESSON, 70e9, machine, 400e12);
        weft_cost c;
        verdict(&q, flags, &c);
        if (p == 1) one = c.step_time_s;
        assert_true(fabs(c.step_time_s / one - 1) < 1e-12);
        assert_true(fabs(c.bubble_of_total - (1 - 1.0 / p)) < 1e-12);
    }
}

/* Case 29: tokens of a step know nothing of tp, pp and cp. */
static void case_29_tokens_of_a_step(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 400e12);
    weft_cost c;
    verdict(&q, "tp=8 pp=4", &c);
    assert_true(fabs(c.tokens_per_s * c.step_time_s - 1048576) < 1e-3);
    verdict(&q, "tp=8 pp=4 cp=2 global_batch=128", &c);
    assert_true(fabs(c.tokens_per_s * c.step_time_s - 524288) < 1e-3);
}

/* Case 23: more than the peak is said. */
static void case_23_more_than_the_peak_is_a_wrong_peak(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8", 2000e12);
    weft_cost c;
    said s = verdict(&q, "tp=8 pp=8", &c);
    assert_true(c.mfu > 1);
    assert_non_null(strstr(s.text, "a wrong peak or a wrong count"));
}

static void memory_above_90_percent_is_said(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8,memory=56GB", 400e12);
    weft_cost c;
    assert_string_equal(verdict(&q, "tp=8 pp=8", &c).rules, "memory");
    assert_int_equal(c.fits, 1);
    q = model_of(LESSON, 70e9, "h100:8x8,memory=52GB", 400e12);
    verdict(&q, "tp=8 pp=8", &c);
    assert_int_equal(c.fits, 0);
}

/* Case 28: GB are 1e9 bytes, GiB 2^30. */
static void case_28_units_of_memory(void **state)
{
    weft_cost_model q = model_of(LESSON, 70e9, "h100:8x8,memory=79.14GiB", 400e12);
    assert_true(fabs(q.machine.memory_bytes - 79.14 * 1073741824.0) < 1);
    assert_true(80e9 < q.machine.memory_bytes &&
                80 * 1073741824.0 > q.machine.memory_bytes);
}

/* ---- published ---------------------------------------------------------------------------- */

/* L43: Llama 3 405B at TP 8 PP 16 DP 128 ran at about 400 TFLOP/s (41 % of the peak; the
 * report's table has 16 sequences a replica), interleaved, its optimizer sharded. */
static void L43_llama_405B_is_near_400_TFLOPS(void **state)
{
    weft_cost_model q = model_of("llama3-405b", 0, "h100:2048x8", 0);
    weft_cost c;
    verdict(
        &q,
        "tp=8 pp=16 sp=true zero=1 schedule=interleaved vpp=4 stage_layers=balanced "
        "global_batch=2048 seq=8192",
        &c);
    print_message("%.1f TFLOP/s, %.1f %% of the peak, %.1f GB\n", c.tflops_per_rank,
                  100 * c.mfu, c.memory.total / 1e9);
    assert_true(fabs(c.tflops_per_rank / 400 - 1) < 0.1);
    assert_int_equal(c.fits, 0); /* with all gradients whole, and in fp32 */
}

/* The same as section 3.3.2 tells it: gradients are sharded, weights are not; 16 micro-batches
 * are one group of 16 stages, so each chunk reduces once. One layer a stage (126 and the two
 * ends are 16 times 8), and 79.1 GiB, as these devices have. */
static void L43_gradients_in_shards_make_it_fit(void **state)
{
    weft_cost_model q =
        model_of("llama3-405b", 0, "h100:2048x8,memory=79.1GiB,reserve=1.6GB", 0);
    weft_cost whole, shards;
    static const char run[] =
        "tp=8 pp=16 sp=true schedule=interleaved vpp=8 stage_layers=0,1*126,0 "
        "global_batch=2048 seq=8192 zero=%d";
    char flags[160];

    snprintf(flags, sizeof flags, run, 1);
    verdict(&q, flags, &whole);
    snprintf(flags, sizeof flags, run, 2);
    said s = verdict(&q, flags, &shards);
    print_message("%.1f TFLOP/s, %.1f GB; whole %.1f TFLOP/s, %.1f GB\n",
                  shards.tflops_per_rank, shards.memory.total / 1e9,
                  whole.tflops_per_rank, whole.memory.total / 1e9);
    assert_true(shards.fits && !whole.fits);
    assert_true(fabs(shards.tflops_per_rank / 400 - 1) < 0.1);
    assert_true(fabs(shards.step_time_s / whole.step_time_s - 1) < 1e-12);
    assert_null(strstr(s.rules, "zero-pipeline"));
}

/* L44: Narayanan et al. 2021, the 1T model on 3,072 A100: 502 petaFLOP/s in all, full
 * recompute, 512 sequences a replica of 3072. Hardware FLOPs there: 4/3 of the model's. */
static void L44_one_trillion_parameters_are_near_502_petaflops(void **state)
{
    weft_cost_model q = model_of("layers=128,hidden=25600,heads=160,positions=2048", 0,
                                 "a100-80:384x8", 0);
    weft_cost c;
    verdict(&q, "tp=8 pp=64 recompute=full global_batch=3072 seq=2048", &c);
    double petaflops = c.tflops_per_rank * 4 / 3 * 3072 / 1000;
    print_message("%.0f petaFLOP/s\n", petaflops);
    assert_true(fabs(petaflops / 502 - 1) < 0.15);
}

/* A price is of a layout that is one. */
static void a_layout_that_breaks_a_rule_has_no_price(void **state)
{
    weft_cost_model q =
        model_of("layers=80,hidden=8192,heads=64,positions=4096", 0, "h100:8x8", 0);
    weft_layout l;
    weft_cost c = {.step_time_s = -1};
    weft_layout_defaults(&l);
    l.tp = 8;
    l.pp = 4;
    l.dp = 2;
    l.global_batch = 256;
    l.seq = 4096;
    assert_int_equal(weft_plan_price(&q, &l, &c), WEFT_OK);
    assert_true(c.step_time_s > 0);
    c.step_time_s = -1;
    l.tp = 7;
    assert_int_equal(weft_plan_price(&q, &l, &c), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "--tp 7"));
    l.tp = 8;
    l.dp = 4;
    assert_int_equal(weft_plan_price(&q, &l, &c), WEFT_E_MISMATCH);
    assert_true(c.step_time_s == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_good_choices_have_no_warning),
        cmocka_unit_test(zero3_is_communication_bound),
        cmocka_unit_test(tp_16_leaves_the_node),
        cmocka_unit_test(gpipe_holds_all_micro_batches),
        cmocka_unit_test(a_7B_model_is_too_narrow_for_tp_8),
        cmocka_unit_test(L45_the_search_on_the_envelope),
        cmocka_unit_test(case_14_few_micro_batches),
        cmocka_unit_test(case_31_one_micro_batch_gains_nothing_from_stages),
        cmocka_unit_test(case_29_tokens_of_a_step),
        cmocka_unit_test(case_23_more_than_the_peak_is_a_wrong_peak),
        cmocka_unit_test(memory_above_90_percent_is_said),
        cmocka_unit_test(case_28_units_of_memory),
        cmocka_unit_test(L43_llama_405B_is_near_400_TFLOPS),
        cmocka_unit_test(L43_gradients_in_shards_make_it_fit),
        cmocka_unit_test(L44_one_trillion_parameters_are_near_502_petaflops),
        cmocka_unit_test(a_layout_that_breaks_a_rule_has_no_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
