/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: cmd/config_reader.c. */
#include "cmd/config_reader.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_arch a, before;
    memset(&a, 0x5a, sizeof a);
    before = a;
    if (wf_config_parse("f", (const char *)data, n, &a) != WEFT_OK) {
        REFUSED();
        PROMISE(!strncmp(weft_status_message(), "f:", 2) ||
                !strncmp(weft_status_message(), "f begins", 8));
        PROMISE(!memcmp(&a, &before, sizeof a));
        return 0;
    }
    PROMISE(weft_arch_check(&a) == WEFT_OK);
    PROMISE(weft_arch_params(&a) > 0);
    PROMISE(weft_arch_active_params(&a) > 0);
    PROMISE(weft_arch_active_params(&a) <= weft_arch_params(&a));
    return 0;
}
