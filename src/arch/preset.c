/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/arch.h>

#define GPT2(NAME, LAYERS, HIDDEN, HEADS, VOCAB, POSITIONS)                            \
    {                                                                                  \
        .name = NAME, .family = "gpt2", .layers = LAYERS, .hidden = HIDDEN,            \
        .heads = HEADS, .kv_heads = HEADS, .head_dim = (HIDDEN) / (HEADS),             \
        .ffn = 4 * (HIDDEN), .vocab = VOCAB, .positions = POSITIONS, .tied = 1,        \
        .norm_eps = 1e-5, .init_std = 0.02                                             \
    }

/* Radford et al. 2019, table 2 (parameter counts there are off; ours are exact), and a
 * small one over bytes for tests and quick runs. */
static const weft_arch presets[] = {
    GPT2("gpt2", 12, 768, 12, 50257, 1024),
    GPT2("gpt2-medium", 24, 1024, 16, 50257, 1024),
    GPT2("gpt2-large", 36, 1280, 20, 50257, 1024),
    GPT2("gpt2-xl", 48, 1600, 25, 50257, 1024),
    GPT2("gpt2-tiny", 4, 128, 4, 256, 256),
};

int weft_arch_preset_count(void)
{
    return sizeof presets / sizeof *presets;
}

const weft_arch *weft_arch_preset_at(int i)
{
    return &presets[i];
}
