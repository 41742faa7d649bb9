/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter counts of published models, to the parameter. */
#include <weft/arch.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>

static weft_arch parse(const char *text)
{
    weft_arch a;
    if (weft_arch_parse(text, &a)) fail_msg("%s: %s", text, weft_status_message());
    return a;
}

/* What the checkpoints on the Hugging Face Hub hold (metadata of their safetensors files,
 * without buffers and without copies of tied weights), and for GPT-3, Megatron and
 * DeepSeek-V3's total what the papers print. Llama 3, Qwen2.5-72B, Qwen3-4B and GPT-2 are
 * also in the shared cases. */
static const struct {
    const char *name;
    int64_t params;
} exact[] = {
    {"gpt2", 124439808},
    {"gpt2-medium", 354823168},
    {"gpt2-large", 774030080},
    {"gpt2-xl", 1557611200},
    {"bloom-176b", 176247271424},
    {"mpt-7b", 6649286656},
    {"llama-7b", 6738415616},
    {"llama-13b", 13015864320},
    {"llama-33b", 32528943616},
    {"llama-65b", 65285660672},
    {"llama2-7b", 6738415616},
    {"llama2-13b", 13015864320},
    {"llama2-70b", 68976648192},
    {"llama3-8b", 8030261248},
    {"llama3-70b", 70553706496},
    {"llama3-405b", 405853388800},
    {"llama3.2-1b", 1235814400},
    {"llama3.2-3b", 3212749824},
    {"mistral-7b", 7241732096},
    {"mistral-nemo-12b", 12247782400},
    {"mixtral-8x7b", 46702792704},
    {"mixtral-8x22b", 140620634112},
    {"qwen2-0.5b", 494032768},
    {"qwen2-1.5b", 1543714304},
    {"qwen2-7b", 7615616512},
    {"qwen2-72b", 72706203648},
    {"qwen2.5-3b", 3085938688},
    {"qwen2.5-14b", 14770033664},
    {"qwen2.5-32b", 32763876352},
    {"qwen2.5-72b", 72706203648},
    {"qwen3-0.6b", 596049920},
    {"qwen3-1.7b", 1720574976},
    {"qwen3-4b", 4022468096},
    {"qwen3-8b", 8190735360},
    {"qwen3-14b", 14768307200},
    {"qwen3-32b", 32762123264},
    {"qwen3-30b-a3b", 30532122624},
    {"qwen3-235b-a22b", 235093634560},
    {"gemma-2b", 2506172416},
    {"gemma-7b", 8537680896},
    {"gemma2-2b", 2614341888},
    {"gemma2-9b", 9241705984},
    {"gemma2-27b", 27227128320},
    {"gemma3-1b", 999885952},
    {"phi-1.5", 1418270720},
    {"phi-2", 2779683840},
    {"phi3-mini", 3821079552},
    {"phi3-medium", 13960238080},
    {"phi4", 14659507200},
    {"olmoe-1b-7b", 6919161856},
    {"gpt-oss-20b", 20914757184},
    {"gpt-oss-120b", 116829156672},
    {"deepseek-v2-lite", 15706484224},
    {"deepseek-v2", 235741434880},
    {"deepseek-v3", 671026419200},
    {"vit-b16", 86567656},
    {"vit-l16", 304326632},
    {"vit-h14", 632045800},
};

static void published_models_are_counted_to_the_parameter(void **state)
{
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        weft_arch a = parse(exact[i].name);
        if (weft_arch_params(&a) != exact[i].params)
            fail_msg("%s: %lld, published %lld", exact[i].name,
                     (long long)weft_arch_params(&a), (long long)exact[i].params);
    }
}

/* Counts that papers round: Brown et al. 2020, Zhang et al. 2022, Narayanan et al. 2021
 * table 1, Gemma Team 2025 table 1 (embedding and rest). */
static void rounded_counts_agree_with_the_papers(void **state)
{
    static const struct {
        const char *name;
        double billions, last_digit;
    } rounded[] = {
        {"gpt3-175b", 174.6, 0.1},     {"opt-175b", 175, 1},
        {"megatron-1.7b", 1.7, 0.1},   {"megatron-3.6b", 3.6, 0.1},
        {"megatron-7.5b", 7.5, 0.1},   {"megatron-18b", 18.4, 0.1},
        {"megatron-39b", 39.1, 0.1},   {"megatron-76b", 76.1, 0.1},
        {"megatron-145b", 145.6, 0.1}, {"megatron-310b", 310.1, 0.1},
        {"megatron-530b", 529.6, 0.1}, {"megatron-1t", 1008.0, 0.1},
        {"gemma3-4b", 3.88, 0.01},     {"gemma3-12b", 11.77, 0.01},
        {"gemma3-27b", 27.0, 0.1},
    };
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
        weft_arch a = parse(rounded[i].name);
        double b = (double)weft_arch_params(&a) / 1e9;
        if (!(fabs(b - rounded[i].billions) <= 0.51 * rounded[i].last_digit))
            fail_msg("%s: %.4f B, published %g", rounded[i].name, b,
                     rounded[i].billions);
    }
}

/* "Active" as published. Mixtral (section 2.1) and Qwen3 count embedding and output layer,
 * as ours; DeepSeek-V2 and V3 count both too and print 21 and 37; gpt-oss (model card, table
 * 1) leaves out the embedding, OLMoE counts all. */
static void active_counts_agree_with_what_is_published(void **state)
{
    static const struct {
        const char *name;
        double billions, last_digit;
        int without_embedding;
    } active[] = {
        {"mixtral-8x7b", 12.9, 0.1, 0},     {"mixtral-8x22b", 39, 1, 0},
        {"qwen3-30b-a3b", 3.3, 0.11, 0},    {"qwen3-235b-a22b", 22, 1, 0},
        {"olmoe-1b-7b", 1.3, 0.1, 0},       {"gpt-oss-120b", 5.13, 0.01, 1},
        {"gpt-oss-20b", 3.61, 0.01, 1},     {"deepseek-v2", 21, 1, 0},
        {"deepseek-v2-lite", 2.4, 0.11, 1}, {"deepseek-v3", 37, 1, 1},
    };
    for (size_t i = 0; i < sizeof active / sizeof *active; i++) {
        weft_arch a = parse(active[i].name);
        weft_arch_parts p;
        weft_arch_params_by_part(&a, &p);
        double b = (double)weft_arch_active_params(&a);
        if (active[i].without_embedding) b -= (double)p.embedding;
        if (!(fabs(b / 1e9 - active[i].billions) <= 0.51 * active[i].last_digit))
            fail_msg("%s: %.4f B, published %g", active[i].name, b / 1e9,
                     active[i].billions);
    }
    weft_arch mixtral = parse("mixtral-8x7b");
    assert_int_equal(weft_arch_active_params(&mixtral), 12879925248);
}

/* DeepSeek-V3, README_WEIGHTS: the module adds 11.5 B of its own ("unique") parameters;
 * by its tensors: a layer, the joining matrix and three norms. */
static void a_prediction_module_is_a_layer_and_what_joins_it(void **state)
{
    weft_arch main = parse("deepseek-v3"), with = parse("deepseek-v3,mtp=1");
    weft_arch_parts p;
    int64_t h = main.hidden;
    int64_t own = weft_arch_layer_params(&main, 60, 0) + 2 * h * h + 3 * h;

    weft_arch_params_by_part(&with, &p);
    assert_int_equal(p.mtp, own);
    assert_int_equal(weft_arch_params(&with), 671026419200 + own);
    assert_int_equal(weft_arch_layer_params(&with, 62, 0), own);
    assert_int_equal(weft_arch_active_params(&with), weft_arch_active_params(&main));
    assert_true(fabs((double)own / 1e9 - 11.5) < 0.12);
}

/* Case: a tied table counts once, whoever holds copies. */
static void tying_saves_one_vocabulary_table(void **state)
{
    weft_arch tied = parse("qwen3-4b"), untied = parse("qwen3-4b,tied=0");
    assert_int_equal(weft_arch_params(&untied) - weft_arch_params(&tied), 388956160);
}

static int64_t table_sum(const weft_arch *a, int layer)
{
    int64_t sum = 0;
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_tensor_info t;
        weft_arch_tensor(a, i, &t);
        if (layer == -2 || t.layer == layer) sum += t.size[0] * t.size[1] * t.experts;
    }
    return sum;
}

static void parts_layers_and_the_table_sum_to_the_count(void **state)
{
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        weft_arch a = *weft_arch_preset_at(i);
        weft_arch_parts p;
        if (a.layers > 62) a.layers = 62; /* the table is walked a layer at a time */
        int64_t all = weft_arch_params(&a);
        weft_arch_params_by_part(&a, &p);
        assert_int_equal(table_sum(&a, -2), all);
        assert_int_equal(p.embedding + p.attention + p.mlp + p.experts + p.router +
                             p.norms + p.head + p.mtp,
                         all);
        int64_t layers = table_sum(&a, -1) + table_sum(&a, (int)a.layers);
        for (int l = 0; l < a.layers; l++)
            layers += weft_arch_layer_params(&a, l, 0);
        assert_int_equal(layers, all);
        assert_int_equal(table_sum(&a, (int)a.layers / 2),
                         weft_arch_layer_params(&a, a.layers / 2, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_models_are_counted_to_the_parameter),
        cmocka_unit_test(rounded_counts_agree_with_the_papers),
        cmocka_unit_test(active_counts_agree_with_what_is_published),
        cmocka_unit_test(a_prediction_module_is_a_layer_and_what_joins_it),
        cmocka_unit_test(tying_saves_one_vocabulary_table),
        cmocka_unit_test(parts_layers_and_the_table_sum_to_the_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
