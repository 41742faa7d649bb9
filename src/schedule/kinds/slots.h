/* SPDX-License-Identifier: Apache-2.0 */
/* What Chimera and BitPipe share: two pipelines in opposite directions in slots. */
#ifndef WF_SCHEDULE_KINDS_SLOTS_H
#define WF_SCHEDULE_KINDS_SLOTS_H
#include "schedule/kind.h"

/* p even, m a multiple of p. */
weft_status wf_slots_applicable(const weft_schedule *q);
weft_status wf_slots_generate(const weft_schedule *s);
#endif
