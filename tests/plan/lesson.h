/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the lessons' worked example, priced. After cmocka.h. */
#ifndef PLAN_LESSON_H
#define PLAN_LESSON_H

#include <weft/cost.h>

#define LESSON "layers=80,hidden=8192,heads=64,positions=4096"

static weft_cost_model model_of(const char *arch, double params, const char *machine,
                                double flops)
{
    weft_arch a;
    weft_machine m;
    weft_cost_options o;
    weft_cost_model q;

    weft_cost_defaults(&o);
    o.achieved_flops_per_s = flops;
    o.params = params;
    if (weft_arch_parse(arch, &a) || weft_machine_parse(machine, &m) ||
        weft_cost_prepare(&a, &m, &o, &q))
        fail_msg("%s", weft_status_message());
    return q;
}

#endif
