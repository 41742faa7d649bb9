/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_CHECK_H
#define WF_SCHEDULE_CHECK_H
#include "schedule/ir.h"

/* Rules range, once, order and messages: what one rank's list shows by itself. Counts into
 * the report, whose arrays are there. */
weft_status wf_check_lists(const weft_schedule *s, const wf_link *link,
                           weft_schedule_report *report);

/* Rules pairing and deadlock of a lowered schedule that wf_check_lists() has passed. */
weft_status wf_check_rendezvous(const weft_schedule *s, const wf_link *link,
                                int outstanding);
#endif
