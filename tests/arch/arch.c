/* SPDX-License-Identifier: Apache-2.0 */
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

static void refused(const char *text, const char *words)
{
    weft_arch a, before;
    memset(&a, 0x5a, sizeof a);
    before = a;
    if (!weft_arch_parse(text, &a)) fail_msg("'%s' was taken", text);
    if (!strstr(weft_status_message(), words))
        fail_msg("%s: '%s' lacks '%s'", text, weft_status_message(), words);
    assert_memory_equal(&a, &before, sizeof a);
}

/* The published checkpoints, counted by their own files. */
static void presets_have_the_published_parameter_counts(void **state)
{
    static const struct {
        const char *name;
        int64_t params;
    } known[] = {{"gpt2", 124439808},
                 {"gpt2-medium", 354823168},
                 {"gpt2-large", 774030080},
                 {"gpt2-xl", 1557611200}};
    for (int i = 0; i < 4; i++) {
        weft_arch a = parse(known[i].name);
        assert_int_equal(weft_arch_params(&a), known[i].params);
    }
}

static void every_preset_passes_its_own_check_and_parses_by_name(void **state)
{
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        const weft_arch *p = weft_arch_preset_at(i);
        assert_int_equal(weft_arch_check(p), WEFT_OK);
        weft_arch a = parse(p->name);
        assert_memory_equal(&a, p, sizeof a);
    }
}

static void counts_are_the_sum_of_the_table(void **state)
{
    for (int layers = 1; layers <= 5; layers++)
        for (int heads = 1; heads <= 4; heads++)
            for (int tied = 0; tied < 2; tied++) {
                char text[128];
                snprintf(
                    text, sizeof text,
                    "layers=%d,hidden=%d,heads=%d,vocab=%d,positions=7,ffn=%d,tied=%d",
                    layers, heads * 6, heads, 11 + heads, 5 * heads, tied);
                weft_arch a = parse(text);
                int64_t h = a.hidden, f = a.ffn, sum = 0;
                for (int i = 0; i < weft_arch_tensor_count(&a); i++) {
                    weft_tensor_info t;
                    weft_arch_tensor(&a, i, &t);
                    sum += t.size[0] * t.size[1];
                }
                int64_t block =
                    4 * h + 3 * h * h + 3 * h + h * h + h + 2 * f * h + f + h;
                int64_t all = a.vocab * h * (2 - tied) + 7 * h + layers * block + 2 * h;
                assert_int_equal(sum, all);
                assert_int_equal(weft_arch_params(&a), all);
            }
}

static weft_tensor_info find(const weft_arch *a, const char *name)
{
    weft_tensor_info t;
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_arch_tensor(a, i, &t);
        if (!strcmp(t.name, name)) return t;
    }
    fail_msg("no tensor %s", name);
    return t;
}

static void rows_come_in_forward_order_with_global_layer_numbers(void **state)
{
    static const char *const names[] = {"wte",
                                        "wpe",
                                        "h.0.ln_1.weight",
                                        "h.0.ln_1.bias",
                                        "h.0.attn.qkv.weight",
                                        "h.0.attn.qkv.bias",
                                        "h.0.attn.out.weight",
                                        "h.0.attn.out.bias",
                                        "h.0.ln_2.weight",
                                        "h.0.ln_2.bias",
                                        "h.0.mlp.fc.weight",
                                        "h.0.mlp.fc.bias",
                                        "h.0.mlp.proj.weight",
                                        "h.0.mlp.proj.bias",
                                        "h.1.ln_1.weight"};
    weft_arch a = parse("gpt2-tiny,layers=12,tied=0");
    weft_tensor_info t;
    int n = weft_arch_tensor_count(&a), last = -1;
    assert_int_equal(n, 2 + 12 * 12 + 3);
    for (int i = 0; i < 15; i++) {
        weft_arch_tensor(&a, i, &t);
        assert_string_equal(t.name, names[i]);
    }
    for (int i = 0; i < n; i++) {
        weft_arch_tensor(&a, i, &t);
        assert_true(t.layer >= last && t.layer <= 12);
        last = t.layer;
    }
    assert_string_equal(t.name, "lm_head.weight");
    assert_int_equal(find(&a, "h.11.mlp.proj.bias").layer, 11);
    assert_int_equal(find(&a, "ln_f.weight").layer, 12);
}

static void a_tied_output_layer_has_no_row(void **state)
{
    weft_arch a = parse("gpt2-tiny");
    for (int i = 0; i < weft_arch_tensor_count(&a); i++) {
        weft_tensor_info t;
        weft_arch_tensor(&a, i, &t);
        assert_int_not_equal(t.role, WEFT_HEAD_W);
        assert_int_equal(t.tied_to, -1);
    }
}

static void tp_splits_what_megatron_splits(void **state)
{
    weft_arch a = parse("gpt2,tied=0");
    static const struct {
        const char *name;
        int tp_dim, vocab, segments;
    } rows[] = {{"wte", 0, 1, 1},
                {"wpe", -1, 0, 1},
                {"h.3.ln_1.weight", -1, 0, 1},
                {"h.3.attn.qkv.weight", 0, 0, 3},
                {"h.3.attn.qkv.bias", 0, 0, 3},
                {"h.3.attn.out.weight", 1, 0, 1},
                {"h.3.attn.out.bias", -1, 0, 1},
                {"h.3.mlp.fc.weight", 0, 0, 1},
                {"h.3.mlp.fc.bias", 0, 0, 1},
                {"h.3.mlp.proj.weight", 1, 0, 1},
                {"h.3.mlp.proj.bias", -1, 0, 1},
                {"ln_f.bias", -1, 0, 1},
                {"lm_head.weight", 0, 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_tensor_info t = find(&a, rows[i].name);
        int64_t sum = 0;
        assert_int_equal(t.tp_dim, rows[i].tp_dim);
        assert_int_equal(t.is_vocab, rows[i].vocab);
        assert_int_equal(t.n_segments, rows[i].segments);
        for (int s = 0; s < t.n_segments; s++)
            sum += t.segment[s];
        assert_int_equal(sum, t.size[t.tp_dim < 0 ? 0 : t.tp_dim]);
    }
    weft_tensor_info qkv = find(&a, "h.0.attn.qkv.weight");
    assert_string_equal(qkv.segment_name[0], "q");
    assert_string_equal(qkv.segment_name[2], "v");
    assert_int_equal(qkv.size[0], 3 * 768);
}

/* Radford et al. 2019 section 2.3: residual layers scaled by 1/sqrt(N), two a block. */
static void residual_projections_start_smaller(void **state)
{
    weft_arch a = parse("gpt2");
    double scaled = 0.02 / sqrt(24);
    assert_true(find(&a, "wte").std == 0.02);
    assert_true(find(&a, "h.5.attn.qkv.weight").std == 0.02);
    assert_true(fabs(find(&a, "h.5.attn.out.weight").std - scaled) < 1e-17);
    assert_true(fabs(find(&a, "h.5.mlp.proj.weight").std - scaled) < 1e-17);
    assert_int_equal(find(&a, "h.5.ln_2.weight").init, WEFT_INIT_ONE);
    assert_int_equal(find(&a, "h.5.mlp.fc.bias").init, WEFT_INIT_ZERO);
}

static void decay_is_for_tensors_with_two_dimensions(void **state)
{
    weft_arch a = parse("gpt2-tiny,tied=0");
    for (int i = 0; i < weft_arch_tensor_count(&a); i++) {
        weft_tensor_info t;
        weft_arch_tensor(&a, i, &t);
        assert_int_equal(t.decay, t.n_dims == 2);
        assert_int_equal(t.n_dims == 1, t.size[1] == 1);
    }
}

/* nanoGPT's estimate for GPT-2 124M at 1024 tokens: 6N + 12*L*h*s with N without the
 * position table; its N counts norms and biases, which are no matmuls. */
static void flops_are_six_per_matmul_weight_and_the_scores(void **state)
{
    weft_arch a = parse("gpt2");
    double weights = 12.0 * 12 * 768 * 768 + 50257.0 * 768;
    double square = 12.0 * 12 * 768 * 1024;
    assert_true(weft_arch_flops_per_token(&a, 1024, 0) == 6 * weights + square);
    assert_true(weft_arch_flops_per_token(&a, 1024, 1) == 6 * weights + square / 2);
    weft_arch untied = parse("gpt2,tied=0");
    assert_true(weft_arch_flops_per_token(&untied, 1, 0) ==
                weft_arch_flops_per_token(&a, 1, 0));
}

static void dimensions_follow_hidden_and_heads_until_stated(void **state)
{
    weft_arch a = parse("layers=2,hidden=96,heads=8");
    assert_int_equal(a.head_dim, 12);
    assert_int_equal(a.ffn, 384);
    assert_int_equal(a.vocab, 50257);
    assert_int_equal(a.positions, 1024);
    assert_string_equal(a.name, "custom");
    a = parse("heads=8,layers=2,ffn=100,hidden=96"); /* any order */
    assert_int_equal(a.ffn, 100);
    assert_int_equal(a.head_dim, 12);
    a = parse("gpt2,hidden=96,heads=4");
    assert_int_equal(a.ffn, 384);
    assert_int_equal(a.kv_heads, 4);
    assert_int_equal(weft_arch_set(&a, "ffn", "7"), WEFT_OK);
    assert_int_equal(weft_arch_set(&a, "hidden", "128"), WEFT_OK);
    assert_int_equal(a.ffn, 7);
    assert_int_equal(a.head_dim, 32);
    assert_int_equal(weft_arch_check(&a), WEFT_OK);
}

static void megatron_and_hugging_face_names_are_known(void **state)
{
    static const char *const hf[][2] = {{"n_embd", "64"},
                                        {"n_layer", "3"},
                                        {"n_head", "4"},
                                        {"n_positions", "99"},
                                        {"vocab_size", "9"},
                                        {"layer_norm_epsilon", "1e-6"},
                                        {"initializer_range", "0.5"},
                                        {"tie_word_embeddings", "false"},
                                        {"n_inner", "17"}};
    weft_arch a = parse("num-layers=3,hidden-size=64,num-attention-heads=4,"
                        "max-position-embeddings=99,ffn-hidden-size=17,vocab_size=9");
    weft_arch b;
    weft_arch_defaults(&b);
    for (size_t i = 0; i < sizeof hf / sizeof *hf; i++)
        assert_int_equal(weft_arch_set(&b, hf[i][0], hf[i][1]), WEFT_OK);
    assert_int_equal(weft_arch_check(&b), WEFT_OK);
    assert_true(a.layers == b.layers && a.hidden == b.hidden && a.heads == b.heads &&
                a.positions == b.positions && a.ffn == b.ffn && a.vocab == b.vocab);
    assert_true(b.norm_eps == 1e-6 && b.init_std == 0.5 && !b.tied);
}

static void what_cannot_be_a_model_is_refused_in_words(void **state)
{
    refused("", "empty");
    refused("gpt3", "did you mean gpt3-6.7b?"); /* what begins so is nearest */
    refused("llama3-8", "did you mean llama3-8b?");
    refused("gpt2-medum", "did you mean gpt2-medium?");
    refused("nonesuch", "`weft model list` names those that are, such as gpt2");
    refused("gpt2,", "nothing follows the last comma");
    refused("gpt2,layers", "key=value is needed");
    refused("gpt2,layres=2", "did you mean layers?");
    refused("gpt2,layers=2,n_layer=2", "layers is given twice");
    refused("layers=2,hidden=8", "does not say heads");
    refused("gpt2,layers=0", "layers 0 is outside 1 .. 1000000");
    refused("gpt2,layers=-3", "layers -3 is outside");
    refused("gpt2,hidden=7x", "'x' after the number in '7x'");
    refused("gpt2,heads=10",
            "heads 10 does not divide hidden 768; the nearest that do are 8 "
            "and 12");
    refused("gpt2,heads=1000", "heads 1000 are more than hidden 768");
    refused("gpt2,kv_heads=5",
            "kv_heads 5 does not divide heads 12; the nearest that do are 4 and 6");
    refused("gpt2,kv_heads=13", "kv_heads 13 are more than heads 12");
    refused("gpt2,norm_eps=0", "norm_eps 0 is not above 0");
    refused("gpt2,norm_eps=nan", "norm_eps: nan is not finite");
    refused("gpt2,init_std=-0.1", "init_std -0.1 is outside");
    refused("gpt2,family=lama", "family 'lama' is not known; did you mean llama?");
    refused("gpt2,family=zzzzzzz", "such as gpt2, llama, mixtral");
    refused("gpt2,mlp=swigelu", "none of gelu|relu|swiglu|geglu; did you mean swiglu?");
    refused("gpt2,norm=rmsnorm", "norm_bias 1 does not go with norm=rmsnorm; 0 does");
    refused("gpt2,vocab=0", "vocab 0 is below 1");
    refused("gpt2,positions=0", "positions 0 is below 1");
    refused("gpt2,q_lora=8", "q_lora 8 needs kv_lora, which is 0");
    refused("gpt2,kv_lora=8", "kv_lora 8 needs qk_nope, which is 0");
    refused("gpt2,full_every=2", "full_every 2 needs window, which is 0");
    refused("gpt2,channels=3", "channels 3 needs patch, which is 0");
    refused("gpt2,experts_per_token=2", "experts_per_token 2 needs experts");
    refused("deepseek-v3,head_dim=128",
            "head_dim 128 is not qk_nope 128 + qk_rope 64, as kv_lora needs");
    refused("deepseek-v3,kv_heads=8", "kv_heads 8 is not heads 128, as kv_lora needs");
    refused("deepseek-v3,qkv_bias=1", "qkv_bias 1 does not go with kv_lora");
    refused("mixtral-8x7b,experts_per_token=9", "outside 1 .. 8, the experts");
    refused("mixtral-8x7b,dense_layers=32", "leave none of the 32 layers to them");
    refused("vit-b16,image_width=220",
            "patch 16 does not divide image_width 220; the nearest it does are 208 and "
            "224");
    refused("vit-b16,positions=9", "positions 9 are not the 197 tokens of an image");
    refused("vit-b16,vocab=9", "vocab 9 does not go with patch");
    refused("vit-b16,decoder_layers=2", "decoder_layers 2 does not go with classes");
    refused("phi-2,sandwich=1", "sandwich 1 does not go with parallel");
    refused("layers=1e6,hidden=5e8,heads=1,vocab=1", "more than 2^58 parameters");
    refused("gpt2,vocab=3e9", "vocab 3000000000 is outside");
}

/* The legal heads that the message offers are accepted. */
static void offered_heads_are_legal(void **state)
{
    for (int hidden = 1; hidden <= 60; hidden++)
        for (int heads = 1; heads <= hidden; heads++) {
            char text[96];
            weft_arch a;
            snprintf(text, sizeof text, "layers=1,hidden=%d,heads=%d", hidden, heads);
            weft_status st = weft_arch_parse(text, &a);
            assert_int_equal(st == WEFT_OK, hidden % heads == 0);
            if (st == WEFT_OK) continue;
            int below, above;
            const char *offer = strstr(weft_status_message(), "are ");
            assert_int_equal(sscanf(offer, "are %d and %d", &below, &above), 2);
            assert_true(below < heads && heads < above);
            assert_true(hidden % below == 0 && hidden % above == 0);
        }
}

/* Random texts from the words of the language: each is refused in words, or is a model
 * that passes its check and whose table counts what it says. */
static void any_text_is_a_sound_model_or_refused(void **state)
{
    static const char *const words[] = {
        "gpt2", "layers",   "hidden",   "heads",    "ffn",        "vocab",
        "tied", "kv_heads", "head_dim", "=",        "=",          "=",
        ",",    ",",        "1",        "2",        "12",         "96",
        "0",    "-1",       "1e9",      "9e99",     "2147483647", "nan",
        "",     "x",        "true",     "norm_eps", "."};
    enum { N = sizeof words / sizeof *words };
    unsigned seed = 12345;
    int taken = 0;
    for (int i = 0; i < 30000; i++) {
        char text[160] = "gpt2,";
        if (i % 3 == 0) text[0] = 0;
        for (int n = 0; n < 1 + i % 9; n++)
            strcat(text, words[(seed = seed * 1664525 + 1013904223) / 65536 % N]);
        weft_arch a;
        if (weft_arch_parse(text, &a)) {
            assert_true(strlen(weft_status_message()) > 10);
            continue;
        }
        taken++;
        assert_int_equal(weft_arch_check(&a), WEFT_OK);
        assert_true(weft_arch_params(&a) > 0 && weft_arch_tensor_count(&a) >= 16);
    }
    assert_true(taken > 100);
}

static void json_states_the_dimensions_and_the_count(void **state)
{
    weft_arch a = parse("gpt2");
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_arch_write_json(&a, &out);
    assert_non_null(strstr(
        text.s, "{\"name\":\"gpt2\",\"family\":\"gpt2\",\"layers\":12,\"hidden\":768,"
                "\"heads\":12,\"kv_heads\":12,\"head_dim\":64,\"ffn\":3072,"
                "\"vocab\":50257,\"positions\":1024,\"tied\":true,"
                "\"norm_eps\":1e-05,\"init_std\":0.02,\"position\":\"learned\","));
    assert_non_null(
        strstr(text.s, ",\"params\":124439808,\"active_params\":124439808}"));
    weft_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_the_published_parameter_counts),
        cmocka_unit_test(every_preset_passes_its_own_check_and_parses_by_name),
        cmocka_unit_test(counts_are_the_sum_of_the_table),
        cmocka_unit_test(rows_come_in_forward_order_with_global_layer_numbers),
        cmocka_unit_test(a_tied_output_layer_has_no_row),
        cmocka_unit_test(tp_splits_what_megatron_splits),
        cmocka_unit_test(residual_projections_start_smaller),
        cmocka_unit_test(decay_is_for_tensors_with_two_dimensions),
        cmocka_unit_test(flops_are_six_per_matmul_weight_and_the_scores),
        cmocka_unit_test(dimensions_follow_hidden_and_heads_until_stated),
        cmocka_unit_test(megatron_and_hugging_face_names_are_known),
        cmocka_unit_test(what_cannot_be_a_model_is_refused_in_words),
        cmocka_unit_test(offered_heads_are_legal),
        cmocka_unit_test(any_text_is_a_sound_model_or_refused),
        cmocka_unit_test(json_states_the_dimensions_and_the_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
