/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: what the published files say, and every way to break them. */
#include "cmd/config_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run.h"

/* The keys that matter of the files beside published checkpoints, and the preset that
 * they are. */
static const struct {
    const char *preset, *text;
} files[] = {
    {"gpt2",
     "{\"model_type\":\"gpt2\",\"n_layer\":12,\"n_embd\":768,\"n_head\":12,"
     "\"n_positions\":1024,\"n_ctx\":1024,\"vocab_size\":50257,\"n_inner\":null,"
     "\"activation_function\":\"gelu_new\",\"layer_norm_epsilon\":1e-05,"
     "\"initializer_range\":0.02,\"resid_pdrop\":0.1}"},
    {"bloom-176b",
     "{\"model_type\":\"bloom\",\"n_layer\":70,\"n_embed\":14336,"
     "\"num_attention_heads\":112,\"vocab_size\":250880,\"seq_length\":2048,"
     "\"layer_norm_epsilon\":1e-05}"},
    {"opt-175b",
     "{\"model_type\":\"opt\",\"num_hidden_layers\":96,\"hidden_size\":12288,"
     "\"num_attention_heads\":96,\"ffn_dim\":49152,\"vocab_size\":50272,"
     "\"max_position_embeddings\":2048,\"do_layer_norm_before\":true,"
     "\"word_embed_proj_dim\":12288,\"activation_function\":\"relu\"}"},
    {"mpt-7b",
     "{\"model_type\":\"mpt\",\"n_layers\":32,\"d_model\":4096,\"n_heads\":32,"
     "\"vocab_size\":50432,\"max_seq_len\":2048,\"expansion_ratio\":4,"
     "\"no_bias\":true,\"attn_config\":{\"alibi\":true}}"},
    {"llama3-70b",
     "{\"model_type\":\"llama\",\"num_hidden_layers\":80,\"hidden_size\":8192,"
     "\"num_attention_heads\":64,\"num_key_value_heads\":8,"
     "\"intermediate_size\":28672,\"vocab_size\":128256,"
     "\"max_position_embeddings\":8192,\"rms_norm_eps\":1e-05,"
     "\"hidden_act\":\"silu\",\"tie_word_embeddings\":false,"
     "\"attention_bias\":false,\"mlp_bias\":false,\"head_dim\":null,"
     "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":500000.0},"
     "\"eos_token_id\":[128001,128009]}"},
    {"mistral-7b",
     "{\"model_type\":\"mistral\",\"num_hidden_layers\":32,"
     "\"hidden_size\":4096,\"num_attention_heads\":32,"
     "\"num_key_value_heads\":8,\"intermediate_size\":14336,"
     "\"vocab_size\":32000,\"max_position_embeddings\":32768,"
     "\"rms_norm_eps\":1e-05,\"rope_theta\":10000.0,\"sliding_window\":4096,"
     "\"hidden_act\":\"silu\",\"tie_word_embeddings\":false}"},
    {"mixtral-8x7b", "{\"model_type\":\"mixtral\",\"num_hidden_layers\":32,"
                     "\"hidden_size\":4096,\"num_attention_heads\":32,"
                     "\"num_key_value_heads\":8,\"intermediate_size\":14336,"
                     "\"vocab_size\":32000,\"max_position_embeddings\":32768,"
                     "\"rope_theta\":1000000.0,\"sliding_window\":null,"
                     "\"num_local_experts\":8,\"num_experts_per_tok\":2}"},
    {"qwen2.5-72b",
     "{\"model_type\":\"qwen2\",\"num_hidden_layers\":80,\"hidden_size\":8192,"
     "\"num_attention_heads\":64,\"num_key_value_heads\":8,"
     "\"intermediate_size\":29568,\"vocab_size\":152064,"
     "\"max_position_embeddings\":32768,\"rms_norm_eps\":1e-06,"
     "\"rope_theta\":1000000.0,\"sliding_window\":131072,"
     "\"max_window_layers\":80,\"use_sliding_window\":false,"
     "\"tie_word_embeddings\":false}"},
    {"qwen3-4b",
     "{\"model_type\":\"qwen3\",\"num_hidden_layers\":36,\"hidden_size\":2560,"
     "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"head_dim\":128,"
     "\"intermediate_size\":9728,\"vocab_size\":151936,"
     "\"max_position_embeddings\":40960,\"rms_norm_eps\":1e-06,"
     "\"rope_theta\":1000000,\"attention_bias\":false,\"sliding_window\":null,"
     "\"max_window_layers\":36,\"use_sliding_window\":false,"
     "\"tie_word_embeddings\":true}"},
    {"qwen3-30b-a3b", "{\"model_type\":\"qwen3_moe\",\"num_hidden_layers\":48,"
                      "\"hidden_size\":2048,\"num_attention_heads\":32,"
                      "\"num_key_value_heads\":4,\"head_dim\":128,"
                      "\"intermediate_size\":6144,\"moe_intermediate_size\":768,"
                      "\"num_experts\":128,\"num_experts_per_tok\":8,"
                      "\"decoder_sparse_step\":1,\"mlp_only_layers\":[],"
                      "\"vocab_size\":151936,\"max_position_embeddings\":40960,"
                      "\"rope_theta\":1000000.0,\"tie_word_embeddings\":false}"},
    {"gemma-7b",
     "{\"model_type\":\"gemma\",\"num_hidden_layers\":28,\"hidden_size\":3072,"
     "\"num_attention_heads\":16,\"num_key_value_heads\":16,\"head_dim\":256,"
     "\"intermediate_size\":24576,\"vocab_size\":256000,"
     "\"max_position_embeddings\":8192,\"rms_norm_eps\":1e-06,"
     "\"hidden_activation\":null,\"hidden_act\":\"gelu\"}"},
    {"gemma2-9b",
     "{\"model_type\":\"gemma2\",\"num_hidden_layers\":42,\"hidden_size\":3584,"
     "\"num_attention_heads\":16,\"num_key_value_heads\":8,\"head_dim\":256,"
     "\"intermediate_size\":14336,\"vocab_size\":256000,"
     "\"max_position_embeddings\":8192,\"sliding_window\":4096,"
     "\"hidden_activation\":\"gelu_pytorch_tanh\"}"},
    {"gemma3-4b",
     "{\"model_type\":\"gemma3\",\"vision_config\":{\"hidden_size\":1152},"
     "\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
     "\"intermediate_size\":10240,\"num_hidden_layers\":34,"
     "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"},"
     "\"sliding_window\":1024}}"},
    {"phi-2", "{\"model_type\":\"phi\",\"num_hidden_layers\":32,\"hidden_size\":2560,"
              "\"num_attention_heads\":32,\"num_key_value_heads\":32,"
              "\"intermediate_size\":10240,\"vocab_size\":51200,"
              "\"max_position_embeddings\":2048,\"hidden_act\":\"gelu_new\","
              "\"qk_layernorm\":false,\"partial_rotary_factor\":0.4}"},
    {"phi3-mini",
     "{\"model_type\":\"phi3\",\"num_hidden_layers\":32,\"hidden_size\":3072,"
     "\"num_attention_heads\":32,\"num_key_value_heads\":32,"
     "\"intermediate_size\":8192,\"vocab_size\":32064,"
     "\"max_position_embeddings\":4096,\"sliding_window\":2047}"},
    {"olmoe-1b-7b", "{\"model_type\":\"olmoe\",\"num_hidden_layers\":16,"
                    "\"hidden_size\":2048,\"num_attention_heads\":16,"
                    "\"num_key_value_heads\":16,\"intermediate_size\":1024,"
                    "\"num_experts\":64,\"num_experts_per_tok\":8,\"vocab_size\":50304,"
                    "\"max_position_embeddings\":4096}"},
    {"gpt-oss-20b",
     "{\"model_type\":\"gpt_oss\",\"num_hidden_layers\":24,\"hidden_size\":2880,"
     "\"num_attention_heads\":64,\"num_key_value_heads\":8,\"head_dim\":64,"
     "\"intermediate_size\":2880,\"num_local_experts\":32,\"num_experts_per_tok\":4,"
     "\"vocab_size\":201088,\"max_position_embeddings\":131072,\"rope_theta\":150000,"
     "\"sliding_window\":128,\"layer_types\":["
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_"
     "attention\","
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_"
     "attention\","
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_"
     "attention\","
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_"
     "attention\","
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_"
     "attention\","
     "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_"
     "attention\"]}"},
    {"deepseek-v2-lite",
     "{\"model_type\":\"deepseek_v2\",\"num_hidden_layers\":27,\"hidden_size\":2048,"
     "\"num_attention_heads\":16,\"num_key_value_heads\":16,\"intermediate_size\":"
     "10944,"
     "\"vocab_size\":102400,\"max_position_embeddings\":163840,\"kv_lora_rank\":512,"
     "\"q_lora_rank\":null,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,"
     "\"v_head_dim\":128,\"n_routed_experts\":64,\"num_experts_per_tok\":6,"
     "\"moe_intermediate_size\":1408,\"n_shared_experts\":2,\"first_k_dense_replace\":"
     "1,"
     "\"moe_layer_freq\":1,\"topk_method\":\"greedy\",\"tie_word_embeddings\":false}"},
    {"deepseek-v3,mtp=1",
     "{\"model_type\":\"deepseek_v3\",\"num_hidden_layers\":61,\"hidden_size\":7168,"
     "\"num_attention_heads\":128,\"num_key_value_heads\":128,"
     "\"intermediate_size\":18432,\"vocab_size\":129280,"
     "\"max_position_embeddings\":163840,\"kv_lora_rank\":512,\"q_lora_rank\":1536,"
     "\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128,"
     "\"n_routed_experts\":256,\"num_experts_per_tok\":8,\"moe_intermediate_size\":"
     "2048,"
     "\"n_shared_experts\":1,\"first_k_dense_replace\":3,\"moe_layer_freq\":1,"
     "\"topk_method\":\"noaux_tc\",\"num_nextn_predict_layers\":1,\"head_dim\":64}"},
    {"vit-b16",
     "{\"model_type\":\"vit\",\"num_hidden_layers\":12,\"hidden_size\":768,"
     "\"num_attention_heads\":12,\"intermediate_size\":3072,\"patch_size\":16,"
     "\"image_size\":224,\"num_channels\":3,\"qkv_bias\":true,"
     "\"num_labels\":1000,\"layer_norm_eps\":1e-06,\"hidden_act\":\"gelu\"}"},
};
enum { N_FILES = sizeof files / sizeof *files };

static weft_status read(const char *text, weft_arch *out)
{
    return wf_config_parse("a/config.json", text, strlen(text), out);
}

static char *json_of(const weft_arch *a)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_arch b = *a;
    strcpy(b.name, "x");
    weft_arch_write_json(&b, &out);
    return text.s;
}

static void published_files_are_the_presets_in_every_field(void **state)
{
    for (int i = 0; i < N_FILES; i++) {
        weft_arch a, b;
        if (read(files[i].text, &a))
            fail_msg("%s: %s", files[i].preset, weft_status_message());
        assert_int_equal(weft_arch_parse(files[i].preset, &b), WEFT_OK);
        char *x = json_of(&a), *y = json_of(&b);
        assert_string_equal(x, y);
        assert_string_equal(a.name, "a"); /* the folder's */
        free(x);
        free(y);
    }
}

/* Fails; the file is named first and `words` are there; nothing was written. */
static void refused(const char *text, const char *words)
{
    weft_arch a, before;
    memset(&a, 0x5a, sizeof a);
    before = a;
    if (!read(text, &a)) fail_msg("%s was taken", text);
    if (strncmp(weft_status_message(), "a/config.json:", 14) != 0 ||
        !strstr(weft_status_message(), words))
        fail_msg("'%s' lacks '%s' of %s", weft_status_message(), words, text);
    assert_memory_equal(&a, &before, sizeof a);
}

/* The object whose keys matter. */
static json_t *inner(json_t *root)
{
    json_t *text = json_object_get(root, "text_config");
    return text ? text : root;
}

/* file with `key` set to the JSON of `value`, or without it where that is NULL. */
static char *changed(const char *file, const char *key, const char *value)
{
    json_t *root = json_loads(file, 0, NULL);
    if (value)
        json_object_set_new(inner(root), key, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(inner(root), key);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

static int is_dimension(const char *key)
{
    static const char *const needed[] = {
        "num_hidden_layers", "n_layer",   "n_layers", "hidden_size", "n_embd",
        "n_embed",           "d_model",   "n_heads",  "n_head",      "vocab_size",
        "patch_size",        "image_size"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!strcmp(needed[i], key)) return 1;
    return 0;
}

/* Every key of every file, one at a time, missing and of each wrong kind: a dimension is
 * named in the refusal; whatever else is, is refused by its name or not read at all. */
static void each_key_may_be_missing_or_wrong_in_turn(void **state)
{
    static const char *const wrong[] = {
        NULL,   "-1",    "\"7\"",           "7.5", "[7]", "{}", "\"\"", "0",
        "true", "1e300", "9007199254740993"};
    for (int i = 0; i < N_FILES; i++) {
        json_t *root = json_loads(files[i].text, 0, NULL);
        const char *key;
        json_t *value;
        json_object_foreach(inner(root), key, value)
        {
            for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
                char *text = changed(files[i].text, key, wrong[w]);
                weft_arch a;
                if (is_dimension(key))
                    refused(text, key);
                else if (read(text, &a) == WEFT_OK)
                    assert_int_equal(weft_arch_check(&a), WEFT_OK);
                else
                    assert_true(strlen(weft_status_message()) > 20);
                free(text);
            }
        }
        json_decref(root);
    }
}

static void messages_name_file_field_found_and_needed(void **state)
{
    static const struct {
        int file;
        const char *key, *value, *words;
    } bad[] = {
        {4, "num_hidden_layers", NULL,
         "a/config.json: num_hidden_layers is missing, needed a whole number in 1 .. "
         "1000000 (transformer blocks)"},
        {4, "num_hidden_layers", "-80",
         "a/config.json: num_hidden_layers: found -80, needed a whole number in 1 .. "},
        {4, "num_hidden_layers", "80.0", "found 80, needed a whole number"},
        {4, "hidden_size", "\"8192\"",
         "a/config.json: hidden_size: found the text \"8192\", needed a whole number "
         "in"},
        {4, "hidden_size", "9007199254740993", "hidden_size: found 9007199254740993"},
        {4, "hidden_size", "8191", "heads 64 does not divide hidden 8191"},
        {4, "num_key_value_heads", "7", "kv_heads 7 does not divide heads 64"},
        {4, "tie_word_embeddings", "1",
         "tie_word_embeddings: found 1, needed true or false"},
        {4, "rms_norm_eps", "\"tiny\"", "rms_norm_eps: found the text \"tiny\""},
        {4, "rms_norm_eps", "0", "norm_eps 0 is not above 0"},
        {4, "hidden_act", "\"tanh\"",
         "hidden_act: found the text \"tanh\", needed silu or a gelu"},
        {4, "rope_parameters", "[]", "rope_parameters: found a list, needed an object"},
        {4, "rope_parameters", "{\"rope_theta\":\"x\"}",
         "rope_parameters.rope_theta: found the text \"x\", needed a number"},
        {4, "attention_bias", "\"no\"", "attention_bias: found the text \"no\""},
        {4, "model_type", "\"llamma\"",
         "model_type: found \"llamma\", the nearest known is llama, needed one of "
         "gpt2"},
        {4, "model_type", "\"rwkv9\"",
         "model_type: found \"rwkv9\", needed one of gpt2"},
        {4, "model_type", NULL, "a/config.json: model_type is missing, needed one of"},
        {4, "model_type", "[]", "model_type: found a list, needed a text"},
        {0, "scale_attn_by_inverse_layer_idx", "true",
         "scale_attn_by_inverse_layer_idx true is not in this version; false is"},
        {0, "activation_function", "\"silu\"",
         "needed relu or a gelu, such as gelu_new"},
        {2, "word_embed_proj_dim", "512",
         "word_embed_proj_dim 512 is not in this version"},
        {3, "expansion_ratio", "65",
         "expansion_ratio: found 65, needed a whole number in 1"},
        {3, "attn_config", "{\"alibi\":1}", "attn_config.alibi: found 1, needed true"},
        {6, "num_experts_per_tok", "9", "experts_per_token 9 is outside 1 .. 8"},
        {9, "mlp_only_layers", "[1]",
         "mlp_only_layers: found 1, needed the first layers: 0, 1, 2, ..."},
        {12, "num_hidden_layers", "0",
         "text_config.num_hidden_layers: found 0, needed"},
        {12, "model_type", "\"x\"", "text_config.model_type: found \"x\""},
        {16, "layer_types", "[\"full_attention\"]",
         "layer_types has 1 items, needed 24 (num_hidden_layers)"},
        {16, "layer_types", "\"full\"", "layer_types: found the text \"full\""},
        {18, "moe_layer_freq", "2", "moe_layer_freq 2 is not in this version; 1 is"},
        {18, "num_key_value_heads", "8", "num_key_value_heads: found 8, needed 128"},
        {18, "qk_rope_head_dim", "-64", "qk_rope_head_dim: found -64"},
        {18, "first_k_dense_replace", "61", "leave none of the 61 layers"},
        {19, "image_size", "225", "patch 16 does not divide image_height 225"},
        {19, "num_labels", NULL, "id2label and num_labels are missing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = changed(files[bad[i].file].text, bad[i].key, bad[i].value);
        refused(text, bad[i].words);
        free(text);
    }
    /* numbers that JSON can write and 64 bits cannot hold */
    refused("{\"model_type\":\"llama\",\n \"hidden_size\": 99999999999999999999}",
            "a/config.json:2:36: too big integer near '99999999999999999999' in the "
            "value of \"hidden_size\"");
    refused("{\"rms_norm_eps\": 1e999}", "in the value of \"rms_norm_eps\"");
    refused("{\"hidden_size\":1,\"hidden_size\":2}", "duplicate object key");
    refused("[1]", "a JSON object is needed");
    refused("{\"model_type\":\"gemma3\"}", "text_config is missing, needed an object");
}

static void layer_types_are_each_nth_or_refused(void **state)
{
    static const struct {
        const char *types;
        int64_t window, full_every; /* window -1: refused */
    } lists[] = {
        {"ssss", 128, 0}, {"sfsf", 128, 2}, {"ssfs", 128, 3}, {"sssf", 128, 4},
        {"ffff", 0, 0},   {"sffs", -1, 0},  {"fsfs", -1, 0},  {"ffsf", -1, 0},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char types[256] = "[";
        for (int k = 0; k < 4; k++)
            snprintf(types + strlen(types), sizeof types - strlen(types), "%s\"%s\"",
                     k ? "," : "",
                     lists[i].types[k] == 's' ? "sliding_attention" : "full_attention");
        strcat(types, "]");
        char *four = changed(files[16].text, "num_hidden_layers", "4");
        char *text = changed(four, "layer_types", types);
        weft_arch a;
        if (lists[i].window < 0) {
            refused(text, "breaks the pattern");
        } else {
            if (read(text, &a)) fail_msg("%s", weft_status_message());
            assert_int_equal(a.window, lists[i].window);
            assert_int_equal(a.full_every, lists[i].full_every);
        }
        free(text);
        free(four);
    }
}

/* Cut anywhere, a file is refused with its line and column. */
static void truncated_files_are_refused_with_line_and_column(void **state)
{
    for (int i = 0; i < N_FILES; i++)
        for (size_t n = 0; n < strlen(files[i].text); n++) {
            weft_arch a;
            int line, column;
            assert_int_equal(wf_config_parse("f", files[i].text, n, &a),
                             WEFT_E_INVALID);
            if (sscanf(weft_status_message(), "f:%d:%d: ", &line, &column) != 2)
                fail_msg("%s", weft_status_message());
            assert_int_equal(line, n ? 1 : line);
        }
}

/* ---- the program ----------------------------------------------------------------- */

static void a_model_is_named_by_file_folder_or_preset_with_changes(void **state)
{
    write_text("config.json", files[4].text);
    write_text("own.json",
               "{\"family\":\"llama\",\"layers\":2,\"hidden\":64,\"heads\":4,"
               "\"mlp\":\"geglu\",\"params\":1}");
    static const struct {
        const char *model;
        double params;
    } models[] = {{"llama3-70b", 70553706496},
                  {"config.json", 70553706496},
                  {"./config.json", 70553706496},
                  {"./", 70553706496},
                  {"config.json,tied=1", 70553706496 - 8192.0 * 128256},
                  {"./,tied=1", 70553706496 - 8192.0 * 128256},
                  {"own.json",
                   2 * (2 * 64 + 4 * 64 * 64 + 3 * 256 * 64) + 64 + 2 * 50257.0 * 64}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        json_t *j = weft_json("model %s --json --seq 4096", models[i].model);
        assert_true(number(j, "params") == models[i].params);
        assert_true(number(json_object_get(j, "model"), "params") == models[i].params);
        json_decref(j);
    }
}

/* What --json wrote can be named again. */
static void the_json_of_a_model_is_a_model(void **state)
{
    static const char *const names[] = {"deepseek-v3,mtp=1", "gemma3-1b", "vit-b16",
                                        "gpt-oss-120b"};
    for (int i = 0; i < 4; i++) {
        json_t *j = weft_json("model %s --json", names[i]);
        char *text = json_dumps(json_object_get(j, "model"), 0);
        write_text("again.json", text);
        json_t *again = weft_json("model again.json --json");
        assert_true(json_equal(j, again));
        free(text);
        json_decref(j);
        json_decref(again);
    }
}

static void a_small_model_has_small_units(void **state)
{
    result r = weft("model layers=1,hidden=16,heads=2,vocab=256,positions=16");
    assert_non_null(strstr(r.out, "44.544 kFLOP\n"));
    assert_null(strstr(r.out, "GFLOP"));
    done(&r);
}

static void a_name_that_is_a_file_is_pointed_to(void **state)
{
    result r = weft("--version; mkdir -p mym");
    done(&r);
    write_text("mym/config.json", "{}");
    refuses(2, "'mym' is no model; did you mean ./mym/config.json?", "model mym");
    write_text("other.json", "{}");
    refuses(2, "did you mean ./other.json?", "model other,layers=3");
    refuses(2, "`weft model list` names", "model another");
    r = weft("--version; rm -r mym other.json");
    done(&r);
}

static void the_report_has_counts_parts_tensors_and_conventions(void **state)
{
    result r = weft("model llama3-8b --seq 8192 --tensors");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "8030261248"));
    assert_non_null(strstr(r.out, "GQA: 32 heads of 128, 8 for k and v"));
    assert_non_null(strstr(r.out, "model FLOPs, causal"));
    assert_non_null(strstr(r.out, "51.47 GFLOP"));
    assert_non_null(strstr(r.out, "57.913 GFLOP"));
    assert_non_null(strstr(r.out, "h.31.mlp.fc.weight"));
    assert_non_null(strstr(r.out, "rows of gate 14336, up 14336"));
    done(&r);
    json_t *j = weft_json("model mixtral-8x7b --json --tensors");
    double sum = 0;
    size_t i, d;
    json_t *t, *n;
    json_array_foreach(json_object_get(j, "tensors"), i, t)
    {
        double x = 1;
        json_array_foreach(json_object_get(t, "shape"), d, n) x *= json_number_value(n);
        sum += x;
    }
    assert_true(sum == number(j, "params") && sum == 46702792704);
    assert_true(number(j, "active_params") == 12879925248);
    json_decref(j);
    r = weft("model qwen3-30b-a3b"); /* no dense layer, so no width of one */
    assert_non_null(strstr(r.out, "\n  SwiGLU, RMS norm"));
    assert_null(strstr(r.out, "6144"));
    done(&r);
    r = weft("model deepseek-v3");
    assert_non_null(strstr(r.out, "\n  SwiGLU of 18432, RMS norm"));
    done(&r);
    r = weft("model layers=1,hidden=8,heads=1,vocab=10,positions=4");
    assert_non_null(strstr(r.out, "\n  1 layer, hidden 8, MHA: 1 head of 8"));
    done(&r);
    r = weft("model list");
    assert_non_null(strstr(r.out, "deepseek-v3"));
    assert_non_null(strstr(r.out, "families: gpt2"));
    done(&r);
}

static void what_cannot_be_read_ends_with_status_2(void **state)
{
    write_text("cut.json", "{\"model_type\":\"llama\",\n\"hidden_size\":");
    refuses(2, "cut.json:2:", "model cut.json");
    write_text("bom.json", "\xef\xbb\xbf{\"model_type\":\"llama\"}");
    refuses(2, "bom.json begins with a byte order mark", "model bom.json");
    refuses(2, "no-such.json", "model no-such.json");
    refuses(2, "no/config.json", "model no/config.json");
    refuses(2, "MODEL is missing", "model");
    refuses(2, "unexpected word 'b'", "model gpt2 b");
    refuses(2, "an image of this model has 197 tokens", "model vit-b16 --seq 5");
    refuses(2, "did you mean llama3-8b?", "model llama3-8");
#ifdef WEFT_HAVE_RUN
    write_text("config.json", files[4].text);
    refuses(2, "family 'llama' is not in this version; gpt2 is",
            "train --model config.json --dry-run");
    refuses(2, "family 'mixtral' is not in this version; gpt2 is",
            "verify --model mixtral-8x7b --tp 2");
    write_text("config.json", files[0].text);
    result r = weft("train --model config.json --dry-run");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "124439808 parameters"));
    done(&r);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_files_are_the_presets_in_every_field),
        cmocka_unit_test(each_key_may_be_missing_or_wrong_in_turn),
        cmocka_unit_test(messages_name_file_field_found_and_needed),
        cmocka_unit_test(layer_types_are_each_nth_or_refused),
        cmocka_unit_test(truncated_files_are_refused_with_line_and_column),
        cmocka_unit_test(a_model_is_named_by_file_folder_or_preset_with_changes),
        cmocka_unit_test(the_json_of_a_model_is_a_model),
        cmocka_unit_test(the_report_has_counts_parts_tensors_and_conventions),
        cmocka_unit_test(a_small_model_has_small_units),
        cmocka_unit_test(a_name_that_is_a_file_is_pointed_to),
        cmocka_unit_test(what_cannot_be_read_ends_with_status_2),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
