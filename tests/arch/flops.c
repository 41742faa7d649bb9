/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs and the shapes they come from, against papers and against sums by hand. */
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

static double total(const weft_arch *a, int64_t seq, int causal, weft_recompute r)
{
    weft_flops f;
    weft_arch_flops(a, seq, (weft_flops_rule){causal, r}, &f);
    return f.total;
}

static void close_to(double x, double y)
{
    if (!(fabs(x - y) <= 1e-12 * fabs(y))) fail_msg("%.17g is not %.17g", x, y);
}

/* Narayanan et al. 2021, equation 3, a token of it: with full recompute, full square,
 * 96 l h^2 (1 + s/6h + V/16lh); Korthikanti et al. 2022, equation 7: without, 72 and 12. */
static void dense_models_agree_with_the_papers_formulas(void **state)
{
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        const weft_arch *a = weft_arch_preset_at(i);
        if (strncmp(a->name, "megatron", 8) != 0) continue;
        double l = (double)a->layers, h = (double)a->hidden, V = (double)a->vocab;
        double s = 2048;
        close_to(total(a, 2048, 0, WEFT_RECOMPUTE_FULL),
                 96 * l * h * h * (1 + s / (6 * h) + V / (16 * l * h)));
        close_to(total(a, 2048, 0, WEFT_RECOMPUTE_NONE),
                 72 * l * h * h * (1 + s / (6 * h) + V / (12 * l * h)));
        /* selective: the scores, 4 s h a layer and token forward, once more */
        close_to(total(a, 2048, 0, WEFT_RECOMPUTE_SELECTIVE),
                 72 * l * h * h * (1 + s / (6 * h) + V / (12 * l * h)) + 4 * l * s * h);
    }
}

/* The shared case on utilization above 100 %: training GFLOP a token of Llama-3-8B at
 * 8,192 tokens. */
static void the_conventions_of_llama_3_8b_are_told_apart(void **state)
{
    weft_arch a = parse("llama3-8b");
    assert_true(fabs(total(&a, 8192, 1, WEFT_RECOMPUTE_NONE) / 1e9 - 51.47) < 0.005);
    assert_true(fabs(total(&a, 8192, 0, WEFT_RECOMPUTE_NONE) / 1e9 - 57.91) < 0.005);
    assert_true(fabs(6e-9 * (double)weft_arch_params(&a) - 48.18) < 0.005);
    close_to(weft_arch_flops_per_token(&a, 8192, 1), total(&a, 8192, 1, 0));
}

static void a_rule_is_told_in_words(void **state)
{
    char buf[64];
    assert_string_equal(weft_flops_rule_text((weft_flops_rule){1, 0}, buf),
                        "model FLOPs, causal");
    assert_string_equal(
        weft_flops_rule_text((weft_flops_rule){0, WEFT_RECOMPUTE_SELECTIVE}, buf),
        "hardware FLOPs with selective recompute, full square");
}

/* Weights of matmuls are the tensors with two dimensions: of a layer, all. */
static void gemms_are_the_two_dimensional_tensors_of_the_layer(void **state)
{
    for (int p = 0; p < weft_arch_preset_count(); p++) {
        weft_arch a = *weft_arch_preset_at(p);
        if (a.layers > 5) a.layers = 5;
        if (a.experts) a.mtp = 1;
        int layers = (int)a.layers + 2 * (int)a.mtp;
        for (int l = 0; l < layers; l++) {
            weft_layer_gemm g[WEFT_MAX_LAYER_GEMMS];
            if (l == a.layers) continue; /* no layer: what follows the blocks */
            int n = weft_arch_layer_gemms(&a, l, g), k = 0;
            for (int i = 0; i < weft_arch_tensor_count(&a); i++) {
                weft_tensor_info t;
                weft_arch_tensor(&a, i, &t);
                if (t.layer != l || t.n_dims != 2) continue;
                assert_true(k < n);
                assert_int_equal(g[k].role, t.role);
                assert_int_equal(g[k].n, t.size[0]);
                assert_int_equal(g[k].k, t.size[1]);
                assert_int_equal(g[k].experts, t.experts);
                assert_int_equal(g[k].split, t.tp_dim < 0    ? WEFT_GEMM_WHOLE
                                             : t.tp_dim == 0 ? WEFT_GEMM_COLUMN
                                                             : WEFT_GEMM_ROW);
                assert_true(g[k].rows ==
                            (t.experts > 1 ? (double)a.experts_per_token : 1));
                k++;
            }
            assert_int_equal(k, n);
        }
    }
}

/* The whole is the sum of its layers, whatever the mixture of kinds and windows. */
static void flops_are_the_sum_over_layers(void **state)
{
    for (int p = 0; p < weft_arch_preset_count(); p++)
        for (int causal = 0; causal < 2; causal++) {
            const weft_arch *a = weft_arch_preset_at(p);
            double layers = 0, scores = 0;
            weft_flops f;
            for (int64_t l = 0; l < a->layers; l++) {
                layers += weft_arch_layer_flops(a, l, 8192, causal);
                scores += weft_arch_score_flops(a, l, 8192, causal);
            }
            weft_arch_flops(a, 8192, (weft_flops_rule){causal, 0}, &f);
            close_to(f.matmul + f.scores, 3 * layers);
            close_to(f.scores, 3 * scores);
            close_to(f.head, 3 * weft_arch_head_flops(a));
            assert_true(f.mtp == 0);
            close_to(f.total, f.matmul + f.scores + f.embed + f.head);
            close_to(total(a, 8192, causal, WEFT_RECOMPUTE_FULL), f.total + layers);
            close_to(total(a, 8192, causal, WEFT_RECOMPUTE_SELECTIVE),
                     f.total + scores);
        }
}

/* Keys that a query meets, counted one by one; the formula takes sums as integrals, so
 * that a causal mask halves the square: off by less than 1/2. */
static void windows_count_the_keys_that_a_query_meets(void **state)
{
    for (int window = 0; window <= 20; window += 4)
        for (int64_t seq = 1; seq <= 64; seq++) {
            char text[96];
            double keys = 0;
            snprintf(text, sizeof text,
                     "layers=6,hidden=8,heads=1,window=%d,full_every=%d", window,
                     window ? 3 : 0);
            weft_arch a = parse(text);
            for (int64_t i = 1; i <= seq; i++)
                keys += (double)(window && i > window ? window : i);
            double is = weft_arch_attention_keys(&a, 0, seq, 1);
            assert_true(is <= keys / (double)seq && is >= keys / (double)seq - 0.5);
            assert_true(weft_arch_attention_keys(&a, 0, seq, 0) == (double)seq);
            assert_true(weft_arch_attention_keys(&a, 2, seq, 1) == (double)seq / 2);
            assert_true(weft_arch_attention_keys(&a, 3, seq, 1) == is);
        }
}

/* DeepSeek-V3, by hand: heads of 192 for scores and 128 for values. */
static void latent_attention_has_two_head_sizes(void **state)
{
    weft_arch a = parse("deepseek-v3");
    weft_attention t;
    weft_arch_attention(&a, 5, &t);
    assert_int_equal(t.heads, 128);
    assert_int_equal(t.qk_dim, 192);
    assert_int_equal(t.v_dim, 128);
    close_to(weft_arch_score_flops(&a, 5, 4096, 0), 2.0 * 128 * (192 + 128) * 4096);
    double token =
        2.0 * (1536.0 * 7168 + 24576.0 * 1536 + 576.0 * 7168 + 32768.0 * 512 +
               7168.0 * 16384 + 256.0 * 7168 + 9 * 3 * 7168.0 * 2048);
    close_to(weft_arch_layer_flops(&a, 5, 4096, 0) -
                 weft_arch_score_flops(&a, 5, 4096, 0),
             token);
}

static void widths_are_those_of_the_pieces(void **state)
{
    weft_layer_width w;
    weft_arch a = parse("llama3-8b");
    weft_arch_layer_width(&a, 0, &w);
    assert_int_equal(w.norm, 2 * 4096);
    assert_int_equal(w.inner_norm, 0);
    assert_int_equal(w.rotary, 40 * 128);
    assert_int_equal(w.qkv, 48 * 128);
    assert_int_equal(w.attn_out, 4096);
    assert_int_equal(w.act_in, 2 * 14336);
    assert_int_equal(w.act_out, 14336);
    assert_int_equal(w.residual, 2 * 4096);
    a = parse("gemma3-4b");
    weft_arch_layer_width(&a, 0, &w);
    assert_int_equal(w.norm, 4 * 2560);
    assert_int_equal(w.inner_norm, 12 * 256);
    a = parse("phi-2");
    weft_arch_layer_width(&a, 0, &w);
    assert_int_equal(w.norm, 2560);
    a = parse("deepseek-v3,mtp=1");
    weft_arch_layer_width(&a, 2, &w);
    assert_int_equal(w.act_out, 18432);
    weft_arch_layer_width(&a, 3, &w);
    assert_int_equal(w.act_out, 9 * 2048);
    assert_int_equal(w.inner_norm, 1536 + 512);
    assert_int_equal(w.rotary, 129 * 64);
    weft_arch_layer_width(&a, 62, &w);
    assert_int_equal(w.norm, 5 * 7168);
}

/* Dosovitskiy et al. 2021; ViT-B/16 forward is known as 17.6 GFLOP (multiply-adds 2). */
static void images_have_patches_and_one_output_each(void **state)
{
    weft_arch a = parse("vit-b16");
    weft_flops f;
    assert_int_equal(weft_arch_image_tokens(&a), 197);
    weft_arch_flops(&a, 197, (weft_flops_rule){1, 0}, &f);
    double forward = f.total / 3 * 197 / 1e9;
    assert_true(fabs(forward - 35.13) < 0.1); /* 17.56 GMAC */
    close_to(f.head, 3 * 2.0 * 768 * 1000 / 197);
    close_to(f.scores, 3 * 4.0 * 12 * 768 * 197); /* never causal */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_models_agree_with_the_papers_formulas),
        cmocka_unit_test(the_conventions_of_llama_3_8b_are_told_apart),
        cmocka_unit_test(a_rule_is_told_in_words),
        cmocka_unit_test(gemms_are_the_two_dimensional_tensors_of_the_layer),
        cmocka_unit_test(flops_are_the_sum_over_layers),
        cmocka_unit_test(windows_count_the_keys_that_a_query_meets),
        cmocka_unit_test(latent_attention_has_two_head_sizes),
        cmocka_unit_test(widths_are_those_of_the_pieces),
        cmocka_unit_test(images_have_patches_and_one_output_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
