/* SPDX-License-Identifier: Apache-2.0 */
/* Families, the tensors of each piece, and who may compute what. */
#include <weft/arch.h>

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

/* Equal in every field, as text. */
static void same(const weft_arch *a, const weft_arch *b)
{
    weft_text x = {0}, y = {0};
    weft_writer out = weft_text_writer(&x), other = weft_text_writer(&y);
    weft_arch_write_json(a, &out);
    weft_arch_write_json(b, &other);
    assert_string_equal(x.s, y.s);
    weft_text_clear(&x);
    weft_text_clear(&y);
}

static int find(const weft_arch *a, const char *name, weft_tensor_info *out)
{
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_arch_tensor(a, i, out);
        if (!strcmp(out->name, name)) return 1;
    }
    return 0;
}

static void family_counts_first_wherever_it_stands(void **state)
{
    weft_arch a = parse("mlp=gelu,layers=2,hidden=64,heads=4,tied=1,family=llama");
    weft_arch b = parse("family=llama,layers=2,hidden=64,heads=4,mlp=gelu,tied=1");
    same(&a, &b);
    assert_int_equal(a.mlp, WEFT_MLP_GELU);
    assert_int_equal(a.norm, WEFT_RMSNORM);
    assert_int_equal(a.tied, 1);
}

/* Every family but the named ones goes to another and back without a trace. */
static void changing_the_family_leaves_nothing_of_the_old_one(void **state)
{
    for (int i = 0; i < weft_arch_family_count(); i++)
        for (int k = 0; k < weft_arch_family_count(); k++) {
            weft_arch a, b;
            weft_arch_defaults(&a);
            weft_arch_defaults(&b);
            assert_int_equal(weft_arch_set(&a, "family", weft_arch_family_at(i)), 0);
            assert_int_equal(weft_arch_set(&a, "family", weft_arch_family_at(k)), 0);
            assert_int_equal(weft_arch_set(&b, "family", weft_arch_family_at(k)), 0);
            same(&a, &b);
        }
}

static void a_preset_has_the_pieces_of_its_family(void **state)
{
    for (int i = 0; i < weft_arch_preset_count(); i++) {
        weft_arch a = *weft_arch_preset_at(i), b = a;
        if (!strcmp(a.family, "mistral") || !strcmp(a.family, "phi3") || a.patch)
            continue;
        assert_int_equal(weft_arch_set(&b, "family", a.family), 0);
        b.tied = a.tied, b.norm_eps = a.norm_eps, b.rope_theta = a.rope_theta;
        if (strstr(a.name, "gemma3-1b")) b.window = a.window;
        same(&a, &b);
    }
}

static void code_for_one_family_refuses_the_others_by_name(void **state)
{
    static const struct {
        const char *model, *words;
    } not_gpt2[] = {
        {"llama3-8b", "family 'llama' is not in this version; gpt2 is"},
        {"gpt2,mlp=swiglu", "mlp swiglu is not in this version; gelu is"},
        {"gpt2,norm_bias=0", "norm_bias false is not in this version; true is"},
        {"gpt2,position=alibi", "position alibi is not in this version; learned is"},
        {"gpt2,window=64", "window 64 is not in this version; 0 is"},
        {"gpt2,kv_heads=4",
         "grouped-query attention is not in this version; kv_heads 12"},
        {"gpt2,head_dim=65", "head_dim 65 times heads 12 is not hidden 768"},
        {"gpt2,v_head_dim=65", "v_head_dim 65 is not in this version; head_dim 64 is"},
        {"gpt2,experts=4,experts_per_token=1", "experts 4 are not in this version"},
        {"gpt2,mtp=1", "mtp is not in this version"},
        {"gpt2,kv_lora=8,qk_nope=8,qkv_bias=0,head_dim=8", "qkv_bias false"},
    };
    for (size_t i = 0; i < sizeof not_gpt2 / sizeof *not_gpt2; i++) {
        weft_arch a = parse(not_gpt2[i].model);
        assert_int_equal(weft_arch_require_family(&a, "gpt2"), WEFT_E_INVALID);
        if (!strstr(weft_status_message(), not_gpt2[i].words))
            fail_msg("%s: '%s' lacks '%s'", not_gpt2[i].model, weft_status_message(),
                     not_gpt2[i].words);
    }
    weft_arch a = parse("gpt2-xl,tied=0,norm_eps=1e-6,ffn=100,vocab=9,layers=3");
    assert_int_equal(weft_arch_require_family(&a, "gpt2"), WEFT_OK);
    for (int i = 0; i < weft_arch_preset_count(); i++)
        assert_int_equal(weft_arch_require_family(weft_arch_preset_at(i), "gpt2") == 0,
                         !strcmp(weft_arch_preset_at(i)->family, "gpt2"));
}

static void tensors_of_the_pieces_have_their_shapes(void **state)
{
    static const struct {
        const char *model, *tensor;
        int64_t rows, columns, experts;
        int tp_dim, segments;
        int64_t second; /* length of segment 1 */
    } rows[] = {
        {"llama3-8b", "h.3.attn.qkv.weight", 6144, 4096, 1, 0, 3, 1024},
        {"llama3-8b", "h.3.mlp.fc.weight", 28672, 4096, 1, 0, 2, 14336},
        {"llama3-8b", "h.3.mlp.proj.weight", 4096, 14336, 1, 1, 1, 0},
        {"llama3-8b", "lm_head.weight", 128256, 4096, 1, 0, 1, 0},
        {"qwen2-7b", "h.0.attn.qkv.bias", 4608, 1, 1, 0, 3, 512},
        {"qwen3-4b", "h.0.attn.q_norm.weight", 128, 1, 1, -1, 1, 0},
        {"olmoe-1b-7b", "h.0.attn.q_norm.weight", 2048, 1, 1, 0, 1, 0},
        {"gemma2-9b", "h.0.ln_2_post.weight", 3584, 1, 1, -1, 1, 0},
        {"phi-2", "lm_head.bias", 51200, 1, 1, 0, 1, 0},
        {"mixtral-8x7b", "h.5.experts.fc.weight", 28672, 4096, 8, 0, 2, 14336},
        {"mixtral-8x7b", "h.5.router.weight", 8, 4096, 1, -1, 1, 0},
        {"gpt-oss-20b", "h.5.experts.proj.bias", 2880, 1, 32, -1, 1, 0},
        {"gpt-oss-20b", "h.5.attn.sinks", 64, 1, 1, 0, 1, 0},
        {"deepseek-v3", "h.2.mlp.fc.weight", 36864, 7168, 1, 0, 2, 18432},
        {"deepseek-v3", "h.3.experts.proj.weight", 7168, 2048, 256, 1, 1, 0},
        {"deepseek-v3", "h.3.shared.fc.weight", 4096, 7168, 1, 0, 2, 2048},
        {"deepseek-v3", "h.3.router.bias", 256, 1, 1, -1, 1, 0},
        {"deepseek-v3", "h.3.attn.q_up.weight", 24576, 1536, 1, 0, 1, 0},
        {"deepseek-v3", "h.3.attn.kv_down.weight", 576, 7168, 1, -1, 1, 0},
        {"deepseek-v3", "h.3.attn.kv_up.weight", 32768, 512, 1, 0, 1, 0},
        {"deepseek-v3", "h.3.attn.out.weight", 7168, 16384, 1, 1, 1, 0},
        {"deepseek-v2-lite", "h.3.attn.q.weight", 3072, 2048, 1, 0, 1, 0},
        {"deepseek-v3,mtp=2", "mtp.1.join.weight", 7168, 14336, 1, 0, 1, 0},
        {"deepseek-v3,mtp=2", "mtp.1.experts.fc.weight", 4096, 7168, 256, 0, 2, 2048},
        {"vit-b16", "patch.weight", 768, 768, 1, -1, 1, 0},
        {"vit-b16", "wpe", 197, 768, 1, -1, 1, 0},
        {"family=orbit,layers=8,hidden=1024,heads=16", "patch.weight", 49152, 16, 1, -1,
         1, 0},
        {"family=orbit,layers=8,hidden=1024,heads=16", "channel.qkv.weight", 3072, 1024,
         1, 0, 3, 1024},
        {"family=orbit,layers=8,hidden=1024,heads=16", "head.weight", 768, 1024, 1, -1,
         1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_arch a = parse(rows[i].model);
        weft_tensor_info t;
        if (!find(&a, rows[i].tensor, &t))
            fail_msg("%s has no %s", rows[i].model, rows[i].tensor);
        if (t.size[0] != rows[i].rows || t.size[1] != rows[i].columns ||
            t.experts != rows[i].experts || t.tp_dim != rows[i].tp_dim ||
            t.n_segments != rows[i].segments ||
            (t.n_segments > 1 && t.segment[1] != rows[i].second))
            fail_msg("%s %s: [%lld, %lld] x %lld, tp %d, %d segments", rows[i].model,
                     t.name, (long long)t.size[0], (long long)t.size[1],
                     (long long)t.experts, t.tp_dim, t.n_segments);
    }
}

static void tensors_that_a_model_lacks_have_no_row(void **state)
{
    static const char *const none[][2] = {{"llama3-8b", "wpe"},
                                          {"llama3-8b", "h.0.attn.qkv.bias"},
                                          {"llama3-8b", "h.0.ln_1.bias"},
                                          {"llama3.2-1b", "lm_head.weight"},
                                          {"qwen2-7b", "h.0.attn.out.bias"},
                                          {"phi-2", "h.0.ln_2.weight"},
                                          {"mixtral-8x7b", "h.0.mlp.fc.weight"},
                                          {"mixtral-8x7b", "h.0.router.bias"},
                                          {"deepseek-v3", "h.2.router.weight"},
                                          {"deepseek-v3", "h.3.mlp.fc.weight"},
                                          {"deepseek-v3", "h.3.attn.qkv.weight"},
                                          {"deepseek-v2-lite", "h.3.attn.q_up.weight"},
                                          {"deepseek-v3", "mtp.0.join.weight"},
                                          {"vit-b16", "wte"},
                                          {"mpt-7b", "wpe"}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        weft_arch a = parse(none[i][0]);
        weft_tensor_info t;
        if (find(&a, none[i][1], &t)) fail_msg("%s has %s", none[i][0], none[i][1]);
    }
}

/* Against the definition: after the dense ones, each n-th. */
static void moe_layers_are_where_they_are_said_to_be(void **state)
{
    for (int layers = 1; layers <= 12; layers++)
        for (int dense = 0; dense <= layers; dense++)
            for (int every = 1; every <= 5; every++) {
                char text[160];
                weft_arch a;
                int n = 0, rows = 2;
                snprintf(text, sizeof text,
                         "layers=%d,hidden=8,heads=1,experts=4,experts_per_token=2,"
                         "dense_layers=%d,moe_every=%d,tied=1,position=none",
                         layers, dense, every);
                int left = layers - dense >= every;
                assert_int_equal(weft_arch_parse(text, &a) == WEFT_OK, left);
                if (!left) continue;
                for (int l = 0; l < layers; l++) {
                    int moe = l >= dense && (l - dense + 1) % every == 0;
                    assert_int_equal(weft_arch_moe_layers_before(&a, l), n);
                    assert_int_equal(weft_arch_layer_is_moe(&a, l), moe);
                    n += moe;
                    rows += moe ? 13 : 12; /* router in, experts for mlp */
                }
                assert_int_equal(weft_arch_tensor_count(&a), rows + 1);
            }
}

/* Names, and that every dimension is split where it says. */
static void every_row_of_every_preset_is_sound(void **state)
{
    for (int p = 0; p < weft_arch_preset_count(); p++) {
        weft_arch a = *weft_arch_preset_at(p);
        int last = -1;
        if (a.layers > 8) a.layers = 8;
        if (a.experts) a.mtp = 2;
        for (int i = 0; i < weft_arch_tensor_count(&a); i++) {
            weft_tensor_info t, u;
            int64_t sum = 0;
            weft_arch_tensor(&a, i, &t);
            assert_true(t.layer >= last && t.layer <= a.layers + a.mtp);
            last = t.layer;
            assert_true(t.size[0] > 0 && t.size[1] > 0 && t.experts > 0);
            assert_int_equal(t.n_dims == 1, t.size[1] == 1);
            assert_int_equal(t.decay, t.n_dims == 2);
            for (int s = 0; s < t.n_segments; s++)
                sum += t.segment[s];
            assert_int_equal(sum, t.size[t.tp_dim < 0 ? 0 : t.tp_dim]);
            assert_true(t.role >= 0 && t.role < WEFT_N_ROLES);
            assert_true(find(&a, t.name, &u) && u.role == t.role && u.layer == t.layer);
        }
        assert_int_equal(last, a.mtp ? a.layers + a.mtp : a.layers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(family_counts_first_wherever_it_stands),
        cmocka_unit_test(changing_the_family_leaves_nothing_of_the_old_one),
        cmocka_unit_test(a_preset_has_the_pieces_of_its_family),
        cmocka_unit_test(code_for_one_family_refuses_the_others_by_name),
        cmocka_unit_test(tensors_of_the_pieces_have_their_shapes),
        cmocka_unit_test(tensors_that_a_model_lacks_have_no_row),
        cmocka_unit_test(moe_layers_are_where_they_are_said_to_be),
        cmocka_unit_test(every_row_of_every_preset_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
