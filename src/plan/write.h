/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_WRITE_H
#define WF_PLAN_WRITE_H
#include <weft/plan.h>

#include "base/json.h"

/* A layout with its cost as an object; memory [pp] or NULL. */
void wf_put_layout_cost(const weft_cost_model *q, const weft_layout *l,
                        const weft_cost *c, const weft_memory *memory, wf_json *j);
/* "tp 8 pp 4 dp 2, 1f1b, ZeRO-1": what is not as usual. */
void wf_put_layout_words(const weft_layout *l, weft_writer *out);
/* Are they one layout, in the words of its fields? */
int wf_same_layout(const weft_layout *a, const weft_layout *b);
/* Parts of a step, named. */
enum { WF_N_PARTS = 9 };
const char *wf_part_name(int i);
double wf_part(const weft_time_parts *t, int i);
#endif
