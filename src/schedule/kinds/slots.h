/* SPDX-License-Identifier: Apache-2.0 */
/* What Chimera, BitPipe and Hanayo share: micro-batches that pass in slots of one
 * op. */
#ifndef WF_SCHEDULE_KINDS_SLOTS_H
#define WF_SCHEDULE_KINDS_SLOTS_H
#include "schedule/kind.h"

/* Two directions: p even, m a multiple of p. */
weft_status wf_slots_two_ways(const weft_schedule *q);
weft_status wf_slots_generate(const weft_schedule *s);
#endif
