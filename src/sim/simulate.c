/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <weft/sim.h>

#include "base/error.h"

weft_status weft_simulate(const weft_schedule *s, const weft_costs *costs,
                          weft_trace *trace, weft_eval *out)
{
    weft_sim r;
    if (!trace) return weft_schedule_eval(s, costs, NULL, NULL, out);
    WF_TRY(weft_simulate_steps(s, costs, NULL, trace, &r));
    *out = r.eval;
    r.eval = (weft_eval){.makespan = 0};
    weft_sim_clear(&r);
    return WEFT_OK;
}
