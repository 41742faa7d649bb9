/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "predict/predict.h"

/* Bytes of activations at the fullest instant of one rank. */
static double fullest(const weft_cost_model *q, const weft_layout *l,
                      const weft_schedule *s, int rank, const weft_stage_cost *chunk)
{
    double held = 0, most = 0;

    for (int64_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        const weft_op *o = &s->op[i];
        const weft_stage_cost *c = &chunk[o->chunk];
        if (o->kind == WEFT_OP_F) held += c->act_bytes;
        most = fmax(most, held);
        if (o->kind == WEFT_OP_B) held -= c->act_bytes;
        if (o->kind == WEFT_OP_I) held -= c->act_bytes - c->act_w_bytes;
        if (o->kind == WEFT_OP_W) held -= c->act_w_bytes;
    }
    return most;
}

weft_status wf_predict_held(const weft_cost_model *q, const weft_layout *l,
                            const weft_schedule *s, weft_memory *memory)
{
    weft_stage_cost chunk[255]; /* v is at most that */

    for (int r = 0; r < s->p; r++) {
        for (int c = 0; c < s->v; c++)
            weft_cost_stage(q, l, weft_schedule_stage(s, r, c), &chunk[c]);
        double act = fullest(q, l, s, r, chunk);
        weft_cost_memory(q, l, r, 0, 0, &memory[r]);
        memory[r].activations += act;
        memory[r].total += act;
    }
    return WEFT_OK;
}
