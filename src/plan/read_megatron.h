/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_READ_MEGATRON_H
#define WF_PLAN_READ_MEGATRON_H
#include "plan/tool.h"

/* The given model, which the line must not contradict, or the one of the line. */
weft_status wf_megatron_model(const wf_flags *f, const weft_arch *given,
                              weft_launch *out) WEFT_MUST_CHECK;
/* pp, vpp, stage_layers, schedule and group. */
weft_status wf_megatron_stages(const wf_flags *f, weft_layout *l,
                               int64_t layers) WEFT_MUST_CHECK;
#endif
