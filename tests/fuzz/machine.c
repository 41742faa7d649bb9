/* SPDX-License-Identifier: Apache-2.0 */
/* Machines: text (weft_machine_parse()) and machine files (cmd/machine_file.c). */
#include "cmd/machine_file.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    weft_machine m;

    if (wf_machine_parse_file("f", text, n, &m) == WEFT_OK)
        PROMISE(weft_machine_check(&m) == WEFT_OK);
    else
        REFUSED();
    if (weft_machine_parse(text, &m) == WEFT_OK)
        PROMISE(weft_machine_check(&m) == WEFT_OK);
    else
        REFUSED();
    free(text);
    return 0;
}
