/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_RANK_H
#define WF_PLAN_RANK_H
#include <weft/plan.h>

/* Of rows[0 .. n-1] the one that wins: the fastest, or the simplest of those within `tie`
 * of it; equal ones by time, then by their text, so that it is always the same. */
int wf_winner(const weft_plan_row *row, int n, double tie);
/* The winner first, then the others by time. */
void wf_rank_rows(weft_plan_row *row, int n, double tie);
/* Would a come before b among equals? */
int wf_is_simpler(const weft_plan_row *a, const weft_plan_row *b);
#endif
