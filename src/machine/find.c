/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

/* The family at the start of a device's name, "A100" or "MI250X", as lower-case letters and
 * digits up to the first other character. */
static void family(const char *device, char buf[24])
{
    int n = 0;
    while (isalnum((unsigned char)device[n]) && n < 23) {
        buf[n] = (char)tolower((unsigned char)device[n]);
        n++;
    }
    buf[n] = 0;
}

weft_status weft_machine_find(const char *device, double memory_bytes,
                              weft_machine *out)
{
    char want[24], have[24];
    const weft_machine *best = NULL;

    family(device, want);
    for (int i = 0; i < weft_machine_preset_count(); i++) {
        const weft_machine *m = weft_machine_preset_at(i);
        family(m->name, have);
        if (strcmp(want, have)) continue;
        /* without a size, the largest of the family: it is the one that is not in its
         * name */
        double wish = memory_bytes > 0 ? memory_bytes : 1e15;
        if (!best || fabs(m->memory_bytes - wish) < fabs(best->memory_bytes - wish))
            best = m;
    }
    if (!best)
        return WF_FAIL(WEFT_E_INVALID,
                       "device '%.40s' has no preset; `weft machine list` has them",
                       device);
    *out = *best;
    return WEFT_OK;
}
