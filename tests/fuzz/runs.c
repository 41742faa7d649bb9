/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured runs: weft_runs_read(). */
#include <weft/score.h>

#include "fuzz.h"

/* What can be modelled is a model, a machine and a layout; the rest says why not. */
static void sound(const weft_run *r)
{
    PROMISE(memchr(r->id, 0, sizeof r->id) && memchr(r->skip, 0, sizeof r->skip));
    if (*r->skip) return;
    PROMISE(weft_arch_check(&r->arch) == WEFT_OK);
    PROMISE(weft_machine_check(&r->machine) == WEFT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_runs r;
    if (weft_runs_read((const char *)data, (int64_t)n, &r) != WEFT_OK) {
        REFUSED();
        return 0;
    }
    for (int64_t i = 0; i < r.n; i++)
        sound(&r.run[i]);
    weft_runs_clear(&r);
    return 0;
}
