/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_TORCHTITAN_H
#define WF_PLAN_TORCHTITAN_H
#include "plan/tool.h"

/* "Interleaved1F1B" of "interleaved" and back; NULL: it has none. */
const char *wf_torchtitan_kind(const char *schedule);
const char *wf_torchtitan_schedule(const char *kind);
/* Layers of each stage when the embedding weighs `in` and the output layer `out` layers; 0
 * where torchtitan refuses. */
int wf_torchtitan_split(int64_t layers, int stages, int64_t in, int64_t out,
                        int64_t *count);
#endif
