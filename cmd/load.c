/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* getloadavg */
#include "cmd/load.h"

#include <stdlib.h>
#include <unistd.h>

#include "cmd/options.h"

int wf_busy(wf_load *out)
{
    *out = (wf_load){-1, (int)sysconf(_SC_NPROCESSORS_ONLN)};
    if (getloadavg(&out->average, 1) < 1) out->average = -1;
    return out->average > out->cpus / 2.0;
}

void wf_note_load(const char *command, const char *what)
{
    wf_load now;

    if (!wf_busy(&now)) return;
    wf_cmd_note(
        command,
        "the load average is %.2f on %d CPU%s: something else runs here, and %s",
        now.average, now.cpus, now.cpus == 1 ? "" : "s", what);
}
