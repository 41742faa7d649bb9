/* SPDX-License-Identifier: Apache-2.0 */
/* A layout from lines "option value", through its field table, then its rules with a small
 * model; and the padded vocabulary, stages and shards of what they take. */
#include "layout/fields.h"

#include <weft/layout.h>

#include "fuzz.h"

static void set_lines(weft_layout *l, char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *value = strchr(line, ' ');
        if (!value) continue;
        *value++ = 0;
        if (wf_field_set(wf_layout_table(), l, line, value) != WEFT_OK) REFUSED();
    }
}

static void use(const weft_layout *l, const weft_arch *a)
{
    int64_t sum = 0;
    for (int s = 0; s < l->pp * l->vpp && s < 4096; s++) {
        int64_t first, count;
        weft_layout_stage_layers(l, a, s, &first, &count);
        PROMISE(first == sum && count >= 0);
        sum += count;
    }
    if (l->pp * l->vpp < 4096) PROMISE(sum == a->layers);
    PROMISE(weft_layout_padded_vocab(l, a) >= a->vocab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    weft_layout l;
    weft_arch a;

    PROMISE(weft_arch_parse("gpt2", &a) == WEFT_OK);
    weft_layout_defaults(&l);
    l.seq = 64;
    set_lines(&l, text);
    if (weft_layout_resolve(&l, 0, NULL) == WEFT_OK) {
        if (!l.global_batch) l.global_batch = l.micro_batch * l.dp;
        if (weft_layout_check(&l, &a) == WEFT_OK)
            use(&l, &a);
        else
            REFUSED();
    } else {
        REFUSED();
    }
    free(text);
    return 0;
}
