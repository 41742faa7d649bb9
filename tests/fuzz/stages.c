/* SPDX-License-Identifier: Apache-2.0 */
/* Layers per stage, as counts or as Megatron-LM's layout: weft_stages_read(). */
#include <weft/layout.h>

#include "fuzz.h"

enum { MOST_STAGES = 256 };

static void again(int n, const int64_t *count,
                  void (*put)(int, const int64_t *, weft_writer *))
{
    int m = 0;
    int64_t back[MOST_STAGES];
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);

    put(n, count, &out);
    PROMISE(weft_stages_read(text.s, MOST_STAGES, &m, back) == WEFT_OK);
    PROMISE(m == n && !memcmp(count, back, (size_t)n * sizeof *count));
    weft_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    int64_t count[MOST_STAGES], sum = 0;
    int stages = 0;

    if (weft_stages_read(text, MOST_STAGES, &stages, count) == WEFT_OK) {
        PROMISE(stages >= 1 && stages <= MOST_STAGES);
        for (int i = 0; i < stages; i++) {
            PROMISE(count[i] >= 0);
            sum += count[i];
        }
        again(stages, count, weft_stages_write_counts);
        if (sum < 4096) again(stages, count, weft_stages_write_megatron);
    } else {
        REFUSED();
    }
    free(text);
    return 0;
}
