/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/ir.h"

static void copy_forwards(const weft_schedule *s, weft_schedule *out)
{
    int64_t n = 0;

    for (int r = 0; r < s->p; r++) {
        out->first[r] = n;
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
            if (s->op[i].kind == WEFT_OP_F) {
                out->op[n] = s->op[i];
                out->op[n++].flags &= (uint8_t)~WEFT_OPF_PAIR; /* its partner is gone */
            }
    }
    out->first[s->p] = n;
}

weft_status weft_schedule_forwards(const weft_schedule *s, weft_schedule *out)
{
    weft_schedule f = *s;

    if (s->placement == WEFT_PLACE_SINGLE || s->placement == WEFT_PLACE_LOOP)
        return weft_schedule_make("forward", s->p, s->m, s->v, NULL, out);
    f.first = NULL;
    f.op = NULL;
    f.lowered = 0;
    weft_status st = WF_ALLOC(s->p + 1, &f.first);
    if (st == WEFT_OK) st = WF_ALLOC(s->first[s->p], &f.op);
    if (st != WEFT_OK) {
        weft_schedule_clear(&f);
        return st;
    }
    copy_forwards(s, &f);
    *out = f;
    return WEFT_OK;
}
