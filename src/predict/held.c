/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "base/error.h"
#include "cost/rank.h"
#include "predict/predict.h"

enum { MOST_CHUNKS = 255 }; /* of a rank */

typedef struct bytes {
    double act, act_w; /* until B or I; of it until W */
} bytes;

/* Bytes of activations at the fullest instant of one rank. */
static double fullest(const weft_schedule *s, int rank, const bytes *chunk)
{
    double held = 0, most = 0;

    for (int64_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        const weft_op *o = &s->op[i];
        const bytes *c = &chunk[o->chunk];
        switch (o->kind) {
        case WEFT_OP_F:
            held += c->act;
            if (held > most) most = held;
            break;
        case WEFT_OP_B: held -= c->act; break;
        case WEFT_OP_I: held -= c->act - c->act_w; break;
        case WEFT_OP_W: held -= c->act_w; break;
        default: break;
        }
    }
    return most;
}

static void hold(wf_line *x, const weft_schedule *s, int rank, const wf_rank *r,
                 weft_memory *out)
{
    bytes chunk[MOST_CHUNKS];

    for (int c = 0; c < s->v; c++) {
        const weft_stage_cost *cost =
            wf_line_stage(x, weft_schedule_stage(s, rank, c), NULL);
        chunk[c] = (bytes){cost->act_bytes, cost->act_w_bytes};
    }
    wf_rank_memory(&x->p, r, fullest(s, rank, chunk), wf_line_copies(x, rank), out);
    out->stage = rank;
}

weft_status wf_predict_held(const weft_cost_model *q, const weft_layout *l,
                            wf_prices *prices, const weft_schedule *s,
                            weft_memory *memory, weft_memory *out)
{
    wf_line x;

    WF_TRY(wf_line_make(q, l, prices, NULL, &x));
    out->total = -1;
    for (int r = 0; r < s->p; r++) {
        wf_rank rank;
        weft_memory m;
        wf_line_rank(&x, r, &rank);
        hold(&x, s, r, &rank, &m);
        if (m.total > out->total) *out = m;
        if (memory) memory[r] = m;
    }
    return WEFT_OK;
}

weft_status wf_predict_fits(const weft_cost_model *q, const weft_layout *l,
                            wf_prices *prices, const weft_schedule *s, weft_memory *out)
{
    double room = q->machine.memory_bytes;
    wf_line own, *x;

    /* strides mean nothing to memory */
    WF_TRY(wf_line_get(q, l, prices, wf_all_near, &own, &x));
    out->total = -1;
    for (int r = 0; r < s->p && out->total <= room; r++) {
        wf_rank rank;
        weft_memory m;
        int closed;
        wf_line_rank(x, r, &rank);
        wf_line_memory(x, r, &rank, &m, &closed);
        if (!closed || m.total > room) hold(x, s, r, &rank, &m);
        if (m.total > out->total) *out = m;
    }
    return WEFT_OK;
}
