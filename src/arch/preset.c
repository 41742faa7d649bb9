/* SPDX-License-Identifier: Apache-2.0 */
/* Published models. Counts that their publishers or their files state are in
 * tests/arch/published.c. */
#include "arch/family.h"

/* Shape of attention and MLP: heads, kv_heads, head_dim. */
#define SHAPE(LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, VOCAB, POSITIONS)        \
    .layers = LAYERS, .hidden = HIDDEN, .heads = HEADS, .kv_heads = KV_HEADS,          \
    .head_dim = HEAD_DIM, .v_head_dim = HEAD_DIM, .ffn = FFN, .vocab = VOCAB,          \
    .positions = POSITIONS

/* Radford et al. 2019, table 2 (parameter counts there are off; ours are exact); and the
 * same blocks elsewhere. */
#define GPT(NAME, LAYERS, HIDDEN, HEADS, VOCAB, POSITIONS)                             \
    {                                                                                  \
        .name = NAME, WF_GPT2, WF_EPS_THETA(1e-5, 1e4),                                \
        SHAPE(LAYERS, HIDDEN, HEADS, HEADS, (HIDDEN) / (HEADS), 4 * (HIDDEN), VOCAB,   \
              POSITIONS)                                                               \
    }
#define LLAMA(NAME, LAYERS, HIDDEN, HEADS, KV, FFN, VOCAB, POSITIONS, EPS, THETA)      \
    {                                                                                  \
        .name = NAME, WF_LLAMA, WF_EPS_THETA(EPS, THETA),                              \
        SHAPE(LAYERS, HIDDEN, HEADS, KV, (HIDDEN) / (HEADS), FFN, VOCAB, POSITIONS)    \
    }
#define QWEN2(NAME, LAYERS, HIDDEN, HEADS, KV, FFN, VOCAB, TIED)                       \
    {                                                                                  \
        .name = NAME, WF_QWEN2, WF_EPS_THETA(1e-6, 1e6), .tied = TIED,                 \
        SHAPE(LAYERS, HIDDEN, HEADS, KV, (HIDDEN) / (HEADS), FFN, VOCAB, 32768)        \
    }
#define QWEN3(NAME, LAYERS, HIDDEN, HEADS, FFN, TIED)                                  \
    {                                                                                  \
        .name = NAME, WF_QWEN3, WF_EPS_THETA(1e-6, 1e6), .tied = TIED,                 \
        SHAPE(LAYERS, HIDDEN, HEADS, 8, 128, FFN, 151936, 40960)                       \
    }
#define EXPERTS(N, PER_TOKEN, FFN, SHARED)                                             \
    .experts = N, .experts_per_token = PER_TOKEN, .expert_ffn = FFN,                   \
    .shared_experts = SHARED
#define MLA(Q_LORA) .q_lora = Q_LORA, .kv_lora = 512, .qk_nope = 128, .qk_rope = 64
/* head_dim 128 + 64, v_head_dim 128 */
#define MLA_SHAPE(LAYERS, HIDDEN, HEADS, FFN, VOCAB)                                   \
    .layers = LAYERS, .hidden = HIDDEN, .heads = HEADS, .kv_heads = HEADS,             \
    .head_dim = 192, .v_head_dim = 128, .ffn = FFN, .vocab = VOCAB,                    \
    .positions = 163840
#define VIT(NAME, LAYERS, HIDDEN, HEADS, PATCH)                                        \
    {                                                                                  \
        .name = NAME, WF_VIT, WF_EPS_THETA(1e-6, 1e4), WF_IMAGE(PATCH, 224, 224, 3),   \
        .classes = 1000,                                                               \
        SHAPE(LAYERS, HIDDEN, HEADS, HEADS, (HIDDEN) / (HEADS), 4 * (HIDDEN), 0,       \
              (224 / (PATCH)) * (224 / (PATCH)) + 1)                                   \
    }

static const weft_arch presets[] = {
    GPT("gpt2", 12, 768, 12, 50257, 1024),
    GPT("gpt2-medium", 24, 1024, 16, 50257, 1024),
    GPT("gpt2-large", 36, 1280, 20, 50257, 1024),
    GPT("gpt2-xl", 48, 1600, 25, 50257, 1024),
    GPT("gpt2-tiny", 4, 128, 4, 256, 256), /* over bytes, for tests and quick runs */
    /* Brown et al. 2020, table 2.1 (its 2.7B and 13B have heads * head_dim that is not
     * hidden; 6.7B and 175B are as printed). */
    GPT("gpt3-6.7b", 32, 4096, 32, 50257, 2048),
    GPT("gpt3-175b", 96, 12288, 96, 50257, 2048),
    /* Narayanan et al. 2021, table 1: vocabulary 51,200, sequence 2,048 */
    GPT("megatron-1.7b", 24, 2304, 24, 51200, 2048),
    GPT("megatron-3.6b", 30, 3072, 32, 51200, 2048),
    GPT("megatron-7.5b", 36, 4096, 32, 51200, 2048),
    GPT("megatron-18b", 40, 6144, 48, 51200, 2048),
    GPT("megatron-39b", 48, 8192, 64, 51200, 2048),
    GPT("megatron-76b", 60, 10240, 80, 51200, 2048),
    GPT("megatron-145b", 80, 12288, 96, 51200, 2048),
    GPT("megatron-310b", 96, 16384, 128, 51200, 2048),
    GPT("megatron-530b", 105, 20480, 128, 51200, 2048),
    GPT("megatron-1t", 128, 25600, 160, 51200, 2048),
    {.name = "opt-175b",
     WF_OPT,
     WF_EPS_THETA(1e-5, 1e4),
     SHAPE(96, 12288, 96, 96, 128, 49152, 50272, 2050)},
    {.name = "bloom-176b",
     WF_BLOOM,
     WF_EPS_THETA(1e-5, 1e4),
     SHAPE(70, 14336, 112, 112, 128, 57344, 250880, 2048)},
    {.name = "mpt-7b",
     WF_MPT,
     WF_EPS_THETA(1e-5, 1e4),
     SHAPE(32, 4096, 32, 32, 128, 16384, 50432, 2048)},

    /* Touvron et al. 2023 (both), Grattafiori et al. 2024, and their config.json files */
    LLAMA("llama-7b", 32, 4096, 32, 32, 11008, 32000, 2048, 1e-6, 1e4),
    LLAMA("llama-13b", 40, 5120, 40, 40, 13824, 32000, 2048, 1e-6, 1e4),
    LLAMA("llama-33b", 60, 6656, 52, 52, 17920, 32000, 2048, 1e-6, 1e4),
    LLAMA("llama-65b", 80, 8192, 64, 64, 22016, 32000, 2048, 1e-5, 1e4),
    LLAMA("llama2-7b", 32, 4096, 32, 32, 11008, 32000, 4096, 1e-5, 1e4),
    LLAMA("llama2-13b", 40, 5120, 40, 40, 13824, 32000, 4096, 1e-5, 1e4),
    LLAMA("llama2-70b", 80, 8192, 64, 8, 28672, 32000, 4096, 1e-5, 1e4),
    LLAMA("llama3-8b", 32, 4096, 32, 8, 14336, 128256, 8192, 1e-5, 5e5),
    LLAMA("llama3-70b", 80, 8192, 64, 8, 28672, 128256, 8192, 1e-5, 5e5),
    LLAMA("llama3-405b", 126, 16384, 128, 8, 53248, 128256, 131072, 1e-5, 5e5),
    LLAMA("llama3.1-8b", 32, 4096, 32, 8, 14336, 128256, 131072, 1e-5, 5e5),
    LLAMA("llama3.1-70b", 80, 8192, 64, 8, 28672, 128256, 131072, 1e-5, 5e5),
    LLAMA("llama3.1-405b", 126, 16384, 128, 8, 53248, 128256, 131072, 1e-5, 5e5),
    {.name = "llama3.2-1b",
     WF_LLAMA,
     WF_EPS_THETA(1e-5, 5e5),
     .tied = 1,
     SHAPE(16, 2048, 32, 8, 64, 8192, 128256, 131072)},
    {.name = "llama3.2-3b",
     WF_LLAMA,
     WF_EPS_THETA(1e-5, 5e5),
     .tied = 1,
     SHAPE(28, 3072, 24, 8, 128, 8192, 128256, 131072)},

    /* Jiang et al. 2023 and 2024 */
    {.name = "mistral-7b",
     WF_MISTRAL,
     WF_EPS_THETA(1e-5, 1e4),
     .window = 4096,
     SHAPE(32, 4096, 32, 8, 128, 14336, 32000, 32768)},
    {.name = "mistral-nemo-12b",
     WF_MISTRAL,
     WF_EPS_THETA(1e-5, 1e6),
     SHAPE(40, 5120, 32, 8, 128, 14336, 131072, 131072)},
    {.name = "mixtral-8x7b",
     WF_MIXTRAL,
     WF_EPS_THETA(1e-5, 1e6),
     SHAPE(32, 4096, 32, 8, 128, 14336, 32000, 32768),
     EXPERTS(8, 2, 14336, 0)},
    {.name = "mixtral-8x22b",
     WF_MIXTRAL,
     WF_EPS_THETA(1e-5, 1e6),
     SHAPE(56, 6144, 48, 8, 128, 16384, 32000, 65536),
     EXPERTS(8, 2, 16384, 0)},

    /* Qwen2, Qwen2.5 and Qwen3 technical reports and config.json files */
    QWEN2("qwen2-0.5b", 24, 896, 14, 2, 4864, 151936, 1),
    QWEN2("qwen2-1.5b", 28, 1536, 12, 2, 8960, 151936, 1),
    QWEN2("qwen2-7b", 28, 3584, 28, 4, 18944, 152064, 0),
    QWEN2("qwen2-72b", 80, 8192, 64, 8, 29568, 152064, 0),
    QWEN2("qwen2.5-3b", 36, 2048, 16, 2, 11008, 151936, 1),
    QWEN2("qwen2.5-7b", 28, 3584, 28, 4, 18944, 152064, 0),
    QWEN2("qwen2.5-14b", 48, 5120, 40, 8, 13824, 152064, 0),
    QWEN2("qwen2.5-32b", 64, 5120, 40, 8, 27648, 152064, 0),
    QWEN2("qwen2.5-72b", 80, 8192, 64, 8, 29568, 152064, 0),
    QWEN3("qwen3-0.6b", 28, 1024, 16, 3072, 1),
    QWEN3("qwen3-1.7b", 28, 2048, 16, 6144, 1),
    QWEN3("qwen3-4b", 36, 2560, 32, 9728, 1),
    QWEN3("qwen3-8b", 36, 4096, 32, 12288, 0),
    QWEN3("qwen3-14b", 40, 5120, 40, 17408, 0),
    QWEN3("qwen3-32b", 64, 5120, 64, 25600, 0),
    {.name = "qwen3-30b-a3b",
     WF_QWEN3_MOE,
     WF_EPS_THETA(1e-6, 1e6),
     SHAPE(48, 2048, 32, 4, 128, 6144, 151936, 40960),
     EXPERTS(128, 8, 768, 0)},
    {.name = "qwen3-235b-a22b",
     WF_QWEN3_MOE,
     WF_EPS_THETA(1e-6, 1e6),
     SHAPE(94, 4096, 64, 4, 128, 12288, 151936, 40960),
     EXPERTS(128, 8, 1536, 0)},

    /* Gemma Team 2024 (both) and 2025; of Gemma 3 the text model */
    {.name = "gemma-2b",
     WF_GEMMA,
     WF_EPS_THETA(1e-6, 1e4),
     SHAPE(18, 2048, 8, 1, 256, 16384, 256000, 8192)},
    {.name = "gemma-7b",
     WF_GEMMA,
     WF_EPS_THETA(1e-6, 1e4),
     SHAPE(28, 3072, 16, 16, 256, 24576, 256000, 8192)},
    {.name = "gemma2-2b",
     WF_GEMMA2,
     WF_EPS_THETA(1e-6, 1e4),
     SHAPE(26, 2304, 8, 4, 256, 9216, 256000, 8192)},
    {.name = "gemma2-9b",
     WF_GEMMA2,
     WF_EPS_THETA(1e-6, 1e4),
     SHAPE(42, 3584, 16, 8, 256, 14336, 256000, 8192)},
    {.name = "gemma2-27b",
     WF_GEMMA2,
     WF_EPS_THETA(1e-6, 1e4),
     SHAPE(46, 4608, 32, 16, 128, 36864, 256000, 8192)},
    {.name = "gemma3-1b",
     WF_GEMMA3(512),
     WF_EPS_THETA(1e-6, 1e6),
     SHAPE(26, 1152, 4, 1, 256, 6912, 262144, 32768)},
    {.name = "gemma3-4b",
     WF_GEMMA3(1024),
     WF_EPS_THETA(1e-6, 1e6),
     SHAPE(34, 2560, 8, 4, 256, 10240, 262208, 131072)},
    {.name = "gemma3-12b",
     WF_GEMMA3(1024),
     WF_EPS_THETA(1e-6, 1e6),
     SHAPE(48, 3840, 16, 8, 256, 15360, 262208, 131072)},
    {.name = "gemma3-27b",
     WF_GEMMA3(1024),
     WF_EPS_THETA(1e-6, 1e6),
     SHAPE(62, 5376, 32, 16, 128, 21504, 262208, 131072)},

    /* Li et al. 2023, Abdin et al. 2024 */
    {.name = "phi-1.5",
     WF_PHI,
     WF_EPS_THETA(1e-5, 1e4),
     SHAPE(24, 2048, 32, 32, 64, 8192, 51200, 2048)},
    {.name = "phi-2",
     WF_PHI,
     WF_EPS_THETA(1e-5, 1e4),
     SHAPE(32, 2560, 32, 32, 80, 10240, 51200, 2048)},
    {.name = "phi3-mini",
     WF_PHI3,
     WF_EPS_THETA(1e-5, 1e4),
     .window = 2047,
     SHAPE(32, 3072, 32, 32, 96, 8192, 32064, 4096)},
    {.name = "phi3-medium",
     WF_PHI3,
     WF_EPS_THETA(1e-5, 1e4),
     .window = 2047,
     SHAPE(40, 5120, 40, 10, 128, 17920, 32064, 4096)},
    {.name = "phi4",
     WF_PHI3,
     WF_EPS_THETA(1e-5, 250000),
     SHAPE(40, 5120, 40, 10, 128, 17920, 100352, 16384)},

    /* Muennighoff et al. 2024; OpenAI 2025 */
    {.name = "olmoe-1b-7b",
     WF_OLMOE,
     WF_EPS_THETA(1e-5, 1e4),
     SHAPE(16, 2048, 16, 16, 128, 1024, 50304, 4096),
     EXPERTS(64, 8, 1024, 0)},
    {.name = "gpt-oss-20b",
     WF_GPT_OSS,
     WF_EPS_THETA(1e-5, 150000),
     SHAPE(24, 2880, 64, 8, 64, 2880, 201088, 131072),
     EXPERTS(32, 4, 2880, 0)},
    {.name = "gpt-oss-120b",
     WF_GPT_OSS,
     WF_EPS_THETA(1e-5, 150000),
     SHAPE(36, 2880, 64, 8, 64, 2880, 201088, 131072),
     EXPERTS(128, 4, 2880, 0)},

    /* DeepSeek-AI 2024 (both): the main models; mtp=1 adds V3's prediction module */
    {.name = "deepseek-v2-lite",
     WF_DEEPSEEK_V2,
     WF_EPS_THETA(1e-6, 1e4),
     MLA_SHAPE(27, 2048, 16, 10944, 102400),
     MLA(0),
     EXPERTS(64, 6, 1408, 2),
     .dense_layers = 1},
    {.name = "deepseek-v2",
     WF_DEEPSEEK_V2,
     WF_EPS_THETA(1e-6, 1e4),
     MLA_SHAPE(60, 5120, 128, 12288, 102400),
     MLA(1536),
     EXPERTS(160, 6, 1536, 2),
     .dense_layers = 1},
    {.name = "deepseek-v3",
     WF_DEEPSEEK_V3,
     WF_EPS_THETA(1e-6, 1e4),
     MLA_SHAPE(61, 7168, 128, 18432, 129280),
     MLA(1536),
     EXPERTS(256, 8, 2048, 1),
     .dense_layers = 3},

    /* Dosovitskiy et al. 2021, 224 x 224, 1,000 classes */
    VIT("vit-b16", 12, 768, 12, 16),
    VIT("vit-l16", 24, 1024, 16, 16),
    VIT("vit-h14", 32, 1280, 16, 14),
};

int weft_arch_preset_count(void)
{
    return sizeof presets / sizeof *presets;
}

const weft_arch *weft_arch_preset_at(int i)
{
    return &presets[i];
}
