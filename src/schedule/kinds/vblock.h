/* SPDX-License-Identifier: Apache-2.0 */
/* What V-Half and V-Min share: a block of six slots on a V, whose W's go where the
 * slots are free. */
#ifndef WF_SCHEDULE_KINDS_VBLOCK_H
#define WF_SCHEDULE_KINDS_VBLOCK_H
#include "schedule/kinds/squeeze.h"

enum { WF_V_PERIOD = 6 };

/* Give the W's of a rank the two slots (mod 6) that its other ops leave free. */
void wf_v_place_w(wf_block *b);

/* Activations that a rank holds in slot order, freed at I or B. */
int64_t wf_v_peak(const wf_block *b, int back_slots);

/* The blocks, [p], and the activations that their schedules hold (kinds/v-half.c,
 * v-min.c). */
void wf_v_half_block(int64_t p, wf_block *block);
void wf_v_min_block(int64_t p, wf_block *block);
int64_t wf_v_half_peak(int64_t p);
int64_t wf_v_min_peak(int64_t p);

int64_t wf_v_count(const weft_schedule *q, int rank);

/* Fill s by squeezing the blocks in times of 1 with hardly any latency; at most `limit`
 * activations on a rank, held until W, and freed at I no more than its block has. */
weft_status wf_v_generate(const weft_schedule *s,
                          void (*fill)(int64_t p, wf_block *block), int64_t limit);
#endif
