/* SPDX-License-Identifier: Apache-2.0 */
/* What 1F1B, its eager form and PipeDream share: forwards ahead, then one backward and one
 * forward in turn, one stage per rank. They differ in how many go ahead. */
#ifndef WF_SCHEDULE_KINDS_TURNS_H
#define WF_SCHEDULE_KINDS_TURNS_H
#include "schedule/kind.h"

int64_t wf_turns_count(const weft_schedule *q, int rank);
/* `ahead` is also the peak, and m at most. */
void wf_turns_generate(const weft_schedule *s,
                       int64_t (*ahead)(const weft_schedule *q, int rank));
double wf_turns_makespan(const weft_schedule *q, const wf_times *t);
#endif
