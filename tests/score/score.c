/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables of runs, what counts of them, and how far off the model is on those that
 * are published. */
#include <weft/score.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the headers that it needs */
#include <cmocka.h>

#include "claim.h"
#include "skip.h"

#define HEADER                                                                         \
    "id,source,model,params_b,layers,hidden,heads,kv_heads,ffn_hidden,mlp_type,vocab," \
    "seq,gpu,gpu_mem_gb,peak_bf16_tflops,nvlink_gbps_per_dir,internode_gbps_per_gpu,"  \
    "precision,gpus,tp,cp,pp,vpp,dp,ep,zero_stage,sequence_parallel,recompute,"        \
    "micro_batch,global_batch,schedule,tflops_per_gpu,tflops_kind,mfu_pct,"            \
    "step_time_s,step_time_derived_s,tokens_s_gpu,memory_gb,confidence,notes\n"
#define MODEL                                                                          \
    "GPT 7B,7,32,4096,32,32,16384,gelu,51200,2048,A100 80GB SXM,80,312,300,25,"
#define LAYOUT   "64,8,1,4,1,2,1,1,no,full,2,128,1F1B,"
#define MEASURED ",,,10.5,,,40,read,\n"

static weft_runs read_text(const char *text)
{
    weft_runs r;
    MUST(weft_runs_read(text, (int64_t)strlen(text), &r));
    return r;
}

/* ---- reading --------------------------------------------------------------------- */

static void a_row_becomes_model_machine_and_layout(void **state)
{
    weft_runs r =
        read_text(HEADER "a1,\"paper, \"\"two\"\"\"," MODEL "fp16," LAYOUT MEASURED);
    const weft_run *x = &r.run[0];
    assert_int_equal(r.n, 1);
    assert_string_equal(x->source, "paper, \"two\"");
    assert_string_equal(x->skip, "");
    assert_int_equal(x->arch.hidden, 4096);
    assert_string_equal(x->machine.name, "a100-80");
    assert_int_equal(weft_machine_ranks(&x->machine), 64);
    assert_int_equal(x->layout.tp, 8);
    assert_int_equal(x->layout.pp, 4);
    assert_int_equal(weft_layout_n_micro(&x->layout), 32);
    assert_string_equal(x->layout.recompute, "full");
    assert_int_equal(x->layout.zero, 1);
    assert_int_equal(x->options.fused_attention, 0);
    assert_true(x->measured_s == 10.5 && x->measured_bytes == 40e9);
    weft_runs_clear(&r);
}

/* Who ran it, and what they wrote of it, changes nothing. */
static void names_do_not_enter_the_prediction(void **state)
{
    weft_runs r = read_text(
        HEADER "a1,paper," MODEL "fp16," LAYOUT MEASURED "b2,NVIDIA Megatron,Llama 9,"
               "7,32,4096,32,32,16384,"
               "gelu,51200,2048,A100 80GB SXM,80,312,300,25,fp16," LAYOUT
               ",,,99,,,,remembered,flash attention\n");
    MUST(weft_runs_predict(&r));
    assert_true(r.run[0].predicted_s > 0);
    assert_true(r.run[0].predicted_s == r.run[1].predicted_s);
    weft_runs_clear(&r);
}

static void what_cannot_be_modelled_has_a_reason(void **state)
{
    static const struct {
        const char *row, *reason;
    } rows[] = {
        {"a,s,M,7,,4096,32,32,16384,gelu,51200,2048,A100 80GB SXM,80,312,300,25,"
         "fp16," LAYOUT MEASURED,
         "layers is not given"},
        {"a,s," MODEL "fp16,64,8,1,4,1,4,1,1,no,full,2,128,1F1B," MEASURED,
         "tp 8 * cp 1 * pp 4 * dp 4 = 128 ranks, but gpus is 64"},
        {"a,s," MODEL "fp16,64,8,1,4,1,2,1,1,no,full,,128,1F1B," MEASURED,
         "micro_batch is not given"},
        {"a,s," MODEL "fp16,3e38,8,1,4,1,2,1,1,no,full,2,128,1F1B," MEASURED,
         "gpus: 3e38 is not a whole number"},
        {"a,s," MODEL "fp16,64,8,1,4,1,2,1,1,no,full,2.5,128,1F1B," MEASURED,
         "micro_batch: 2.5 is not a whole number"},
        {"a,s," MODEL "fp8," LAYOUT MEASURED, "A100 SXM 80GB has no fp8"},
        {"a,s,M,7,32,4096,32,32,16384,gelu,51200,2048,TPU v4,32,275,50,25,bf16," LAYOUT
             MEASURED,
         "has no preset"},
        {"a,s," MODEL "fp16," LAYOUT ",,,,,,OOM,read,\n", "no step time or rate"},
        {"a,s," MODEL "fp16,64,8,1,4,1,2,1,1,no,full,3,128,1F1B," MEASURED,
         "--global-batch 128 is not a multiple"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", HEADER, rows[i].row);
        weft_runs r = read_text(text);
        if (!strstr(r.run[0].skip, rows[i].reason))
            fail_msg("row %d: '%s' lacks '%s'", (int)i, r.run[0].skip, rows[i].reason);
        MUST(weft_runs_predict(&r));
        weft_score_line all;
        weft_score_source(&r, NULL, WEFT_HALF_ALL, &all);
        assert_int_equal(all.rows, 0);
        assert_true(isnan(all.step_time_mape));
        weft_runs_clear(&r);
    }
}

static void a_broken_table_is_refused_by_line_and_column(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "there is no header line"},
        {"id,source\n", "the header has no column model"},
        {"id,id,source\n", "column id stands twice"},
        {HEADER "a,s\n", "line 2 has 2 fields, the header has 40"},
        {HEADER "a,\"s\n", "line 2, field 2: a quote is not closed"},
        {HEADER "a,s," MODEL "fp16," LAYOUT ",,,1x,,,,,\n",
         "line 2, column step_time_s"},
        {HEADER "a,s," MODEL "fp16," LAYOUT ",,,-1,,,,,\n", "-1 is below 0"},
        {HEADER ",s," MODEL "fp16," LAYOUT MEASURED, "line 2: the id is empty"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_runs r;
        assert_int_equal(weft_runs_read(bad[i].text, (int64_t)strlen(bad[i].text), &r),
                         WEFT_E_INVALID);
        if (!strstr(weft_status_message(), bad[i].words))
            fail_msg("'%s' lacks '%s'", weft_status_message(), bad[i].words);
    }
}

/* ---- counting -------------------------------------------------------------------- */

/* FNV-1a of "" and "a": draft-eastlake-fnv, appendix C. */
static void the_halves_are_even_and_odd_hashes(void **state)
{
    assert_false(weft_run_in_fit_half(""));      /* cbf29ce484222325 */
    assert_true(weft_run_in_fit_half("a"));      /* af63dc4c8601ec8c */
    assert_true(weft_run_in_fit_half("foobar")); /* 85944171f73967e8 */
}

static weft_run run_of(const char *id, double measured, double predicted, int tp)
{
    weft_run r;
    memset(&r, 0, sizeof r);
    snprintf(r.id, sizeof r.id, "%s", id);
    snprintf(r.group, sizeof r.group, "g");
    r.measured_s = measured;
    r.predicted_s = predicted;
    weft_layout_defaults(&r.layout);
    r.layout.tp = tp;
    r.layout.pp = r.layout.cp = 1;
    return r;
}

static void errors_ranks_and_regret_are_counted(void **state)
{
    weft_run run[] = {run_of("a", 10, 10.8, 2), run_of("b", 12, 9, 2),
                      run_of("c", 20, 21, 2), run_of("d", 11, 9.1, 1)};
    weft_runs r = {4, run};
    weft_score_line x;
    weft_score_group g;
    weft_score_source(&r, NULL, WEFT_HALF_ALL, &x);
    assert_int_equal(x.rows, 4);
    assert_true(fabs(x.step_time_mape - (0.08 + 0.25 + 0.05 + 1.9 / 11) / 4) < 1e-12);
    assert_true(fabs(x.within_10 - 0.5) < 1e-12);
    weft_score_group_of(&r, "g", &g);
    assert_int_equal(g.layouts, 4);
    /* wrong: a against b, a against d, b against d */
    assert_true(fabs(g.pair_agreement - 0.5) < 1e-12);
    assert_true(fabs(g.regret - 0.2) < 1e-12); /* b is chosen, a is best */
}

/* ---- published runs -------------------------------------------------------------- */

static char *shared_text(int64_t *n)
{
    FILE *f = fopen(WEFT_SHARED_DIR "/published_runs/published_runs.csv", "rb");
    if (!f) return NULL;
    char *text = malloc(1 << 20);
    assert_non_null(text);
    *n = (int64_t)fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static double weighted(const weft_runs *r, weft_half half, int memory)
{
    static const char *const starts[] = {"Narayanan", "Korthikanti", "Qi et al.",
                                         "VIA"};
    double sum = 0;
    int rows = 0;
    for (int64_t i = 0; i < r->n; i++) {
        int dense = 0, first = 1;
        for (int k = 0; k < 4; k++)
            dense |= !strncmp(r->run[i].source, starts[k], strlen(starts[k]));
        for (int64_t j = 0; j < i; j++)
            first &= strcmp(r->run[j].source, r->run[i].source) != 0;
        if (!dense || !first) continue;
        weft_score_line x;
        weft_score_source(r, r->run[i].source, half, &x);
        int n = memory ? x.memory_rows : x.rows;
        if (n) sum += n * (memory ? x.memory_mape : x.step_time_mape);
        rows += n;
    }
    assert_true(rows > (memory ? 10 : 35));
    return sum / rows;
}

static void check_published(const weft_runs *r)
{
    double agree = 0, regret = 0;
    int groups = 0;

    for (int half = 0; half < 3; half++) {
        double e = weighted(r, (weft_half)half, 0), m = weighted(r, (weft_half)half, 1);
        print_message("half %d: step time %.3f, memory %.3f\n", half, e, m);
        assert_true(e <= 0.08);
        assert_true(m <= 0.06);
    }
    for (int64_t i = 0; i < r->n; i++) {
        const weft_run *x = &r->run[i];
        int first = !*x->skip && !strncmp(x->source, "VIA", 3);
        for (int64_t j = 0; j < i && first; j++)
            first = *r->run[j].skip || strcmp(r->run[j].group, x->group) != 0;
        weft_score_group g;
        if (!first) continue;
        weft_score_group_of(r, x->group, &g);
        assert_true(g.layouts >= 3);
        agree += g.pair_agreement;
        regret += g.regret;
        groups++;
    }
    assert_int_equal(groups, 2);
    print_message("vTrain: pairs %.3f, regret %.3f\n", agree / groups, regret / groups);
    assert_true(agree / groups >= 0.80);
    assert_true(regret / groups <= 0.03);
}

static void published_runs_of_dense_models_are_within_the_promised_error(void **state)
{
    int64_t n = 0;
    weft_runs r;
    char *text = shared_text(&n);
    if (!text) SKIP_NEEDS("shared", "no table of published runs");
    MUST(weft_runs_read(text, n, &r));
    free(text);
    MUST(weft_runs_predict(&r));
    check_published(&r);
    weft_runs_clear(&r);
}

/* No published text, cut or changed anywhere, is more than refused. */
static void any_text_is_read_or_refused(void **state)
{
    static const char text[] = HEADER "a1,paper," MODEL "fp16," LAYOUT MEASURED;
    unsigned seed = 1;
    for (int i = 0; i < 4000; i++) {
        char copy[sizeof text];
        weft_runs r;
        memcpy(copy, text, sizeof text);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            copy[(seed >> 8) % (sizeof text - 1)] = (char)(seed >> 24);
        }
        int64_t n = (int64_t)((seed >> 4) % sizeof text);
        if (weft_runs_read(copy, i % 2 ? n : (int64_t)sizeof text - 1, &r)) continue;
        MUST(weft_runs_predict(&r));
        weft_runs_clear(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_becomes_model_machine_and_layout),
        cmocka_unit_test(names_do_not_enter_the_prediction),
        cmocka_unit_test(what_cannot_be_modelled_has_a_reason),
        cmocka_unit_test(a_broken_table_is_refused_by_line_and_column),
        cmocka_unit_test(the_halves_are_even_and_odd_hashes),
        cmocka_unit_test(errors_ranks_and_regret_are_counted),
        cmocka_unit_test(any_text_is_read_or_refused),
        cmocka_unit_test(published_runs_of_dense_models_are_within_the_promised_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
