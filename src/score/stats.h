/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCORE_STATS_H
#define WF_SCORE_STATS_H
#include <weft/score.h>

/* Is the row modelled, and of this half? */
int wf_run_counts(const weft_run *r, weft_half half);
/* Does a row before i have the same source; is a modelled one of the same group? */
int wf_run_seen_source(const weft_runs *r, int64_t i);
int wf_run_seen_group(const weft_runs *r, int64_t i);
/* Fewest layouts of a group that is reported. */
enum { WF_GROUP_LEAST = 3 };
#endif
