/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines of other tools: weft_launch_read(). The first byte is the tool. */
#include <weft/emit.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_launch l;
    if (!n) return 0;
    char *text = fuzz_text(data + 1, n - 1);
    weft_tool tool = data[0] % 2 ? WEFT_TOOL_TORCHTITAN : WEFT_TOOL_MEGATRON;

    if (weft_launch_read(tool, text, NULL, &l) == WEFT_OK) {
        PROMISE(!l.has_arch || weft_arch_check(&l.arch) == WEFT_OK);
        weft_launch_clear(&l);
    } else {
        REFUSED();
    }
    free(text);
    return 0;
}
