/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/turns.h"

int64_t wf_turns_count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m;
}

void wf_turns_generate(const weft_schedule *s,
                       int64_t (*ahead)(const weft_schedule *q, int rank))
{
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        int64_t w = ahead(s, r);
        for (int64_t i = 0; i < w; i++)
            o = wf_put(o, WEFT_OP_F, i, 0);
        for (int64_t i = 0; i < s->m; i++) {
            o = wf_put(o, WEFT_OP_B, i, 0);
            if (w + i < s->m) o = wf_put(o, WEFT_OP_F, w + i, 0);
        }
    }
}

double wf_turns_makespan(const weft_schedule *q, const wf_times *t)
{
    return ((double)q->m + q->p - 1) * (t->f + t->b);
}
