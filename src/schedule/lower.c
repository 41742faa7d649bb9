/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds communication ops. The compute ops are run under the strictest rendezvous: a rank
 * stands in each send until its receive is posted. Receives are posted one op ahead; when
 * no rank can go on, one that stands in a send gets its receive posted where the receiver
 * stands. Each op is written when it is passed, so the run itself shows that the result
 * does not deadlock. Receives of a channel are posted in the order of its sends.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/channel.h"
#include "schedule/ring.h"

/* What a rank does with an op, in this order. */
typedef enum phase { POST_AHEAD, AWAIT, COMPUTE, HAND_ON } phase;

enum { POSTED = 1, ARRIVED = 4 }; /* per cell of the receiver; shifted by 1: gradient */

typedef struct lowering {
    const weft_schedule *in;
    weft_schedule out;
    wf_link *link;
    wf_channels c;
    uint8_t *mail;  /* [cells] POSTED, ARRIVED */
    int64_t *at;    /* [p] op of `in` the rank is at */
    int64_t *write; /* [p] next free op of `out` */
    uint8_t *phase; /* [p] */
    wf_ring ready;
} lowering;

static void emit(lowering *x, int rank, int kind, const weft_op *op, int chunk)
{
    x->out.op[x->write[rank]++] =
        (weft_op){.kind = (uint8_t)kind,
                  .flags = wf_is_backward(op->kind) ? WEFT_OPF_GRAD : 0,
                  .chunk = (uint8_t)chunk,
                  .micro = op->micro};
}

/* Mail slot and chunk of the op on another rank that takes the result of `op`. */
static uint8_t *slot_of_target(const lowering *x, int rank, const weft_op *op,
                               int *chunk)
{
    int to = wf_target(op, &x->link[rank * x->in->v + op->chunk], chunk);
    return &x->mail[wf_cell(x->in, to, *chunk, op->micro)];
}

/* Post the next receive of a channel: that of its source's next op with a result for it. */
static void post_next(lowering *x, int id)
{
    wf_channel *ch = &x->c.ch[id];
    const weft_op *op = &x->in->op[ch->send_at];
    int chunk = 0;
    while (wf_channel_out(&x->c, x->in, ch->from, op) != id)
        op++;
    ch->send_at = op - x->in->op + 1;
    *slot_of_target(x, ch->from, op, &chunk) |= (uint8_t)(POSTED << (id & 1));
    emit(x, ch->to, WEFT_OP_POST_RECV, op, chunk);
    wf_ring_push(&x->ready, ch->from);
}

static void post_for(lowering *x, int rank, int64_t i)
{
    if (i >= x->in->first[rank + 1]) return;
    const weft_op *op = &x->in->op[i];
    int id = wf_channel_in(&x->c, x->in, rank, op);
    if (id < 0) return;
    const uint8_t *slot = &x->mail[wf_cell(x->in, rank, op->chunk, op->micro)];
    while (!(*slot & POSTED << (id & 1)))
        post_next(x, id);
}

/* 1 when the input has come (or none is sent). */
static int await(lowering *x, int rank, const weft_op *op)
{
    int id = wf_channel_in(&x->c, x->in, rank, op);
    if (id < 0) return 1;
    if (!(x->mail[wf_cell(x->in, rank, op->chunk, op->micro)] & ARRIVED << (id & 1)))
        return 0;
    emit(x, rank, WEFT_OP_WAIT, op, op->chunk);
    return 1;
}

/* 1 when the receive was posted (or nothing is sent). */
static int hand_on(lowering *x, int rank, const weft_op *op)
{
    int id = wf_channel_out(&x->c, x->in, rank, op), chunk = 0;
    if (id < 0) return 1;
    uint8_t *slot = slot_of_target(x, rank, op, &chunk);
    if (!(*slot & POSTED << (id & 1))) return 0;
    *slot |= (uint8_t)(ARRIVED << (id & 1));
    emit(x, rank, WEFT_OP_SEND, op, op->chunk);
    wf_ring_push(&x->ready, x->c.ch[id].to);
    return 1;
}

/* Runs a rank as far as it goes. */
static void run_rank(lowering *x, int rank)
{
    while (x->at[rank] < x->in->first[rank + 1]) {
        const weft_op *op = &x->in->op[x->at[rank]];
        switch ((phase)x->phase[rank]) {
        case POST_AHEAD:
            if (x->at[rank] == x->in->first[rank]) post_for(x, rank, x->at[rank]);
            post_for(x, rank, x->at[rank] + 1);
            break;
        case AWAIT:
            if (!await(x, rank, op)) return;
            break;
        case COMPUTE: x->out.op[x->write[rank]++] = *op; break;
        case HAND_ON:
            if (!hand_on(x, rank, op)) return;
            x->at[rank]++;
            break;
        }
        x->phase[rank] = x->phase[rank] == HAND_ON ? POST_AHEAD : x->phase[rank] + 1;
    }
}

/* All ranks stand. Post the receive of the first that stands in a send; 0 if none does:
 * all are through. (A cycle of waits was refused before.) */
static int post_one(lowering *x)
{
    for (int r = 0; r < x->in->p; r++) {
        if (x->phase[r] != HAND_ON) continue;
        post_next(x, wf_channel_out(&x->c, x->in, r, &x->in->op[x->at[r]]));
        return 1;
    }
    return 0;
}

static void run(lowering *x)
{
    do {
        for (int r; (r = wf_ring_pop(&x->ready)) >= 0;)
            run_rank(x, r);
    } while (post_one(x));
}

static weft_status make_room(lowering *x)
{
    int64_t *n = NULL;
    WF_TRY(WF_ALLOC(x->in->p, &n));
    for (int r = 0; r < x->in->p; r++) {
        for (int64_t i = x->in->first[r]; i < x->in->first[r + 1]; i++) {
            const weft_op *op = &x->in->op[i];
            n[r] += 1 + 2 * (wf_channel_in(&x->c, x->in, r, op) >= 0) +
                    (wf_channel_out(&x->c, x->in, r, op) >= 0);
        }
    }
    weft_status st = wf_schedule_alloc(x->in, n, &x->out);
    wf_free(n);
    return st;
}

static weft_status start(lowering *x)
{
    int64_t cells;
    int p = x->in->p;
    WF_TRY(wf_cells(x->in, &cells));
    WF_TRY(wf_links(x->in, &x->link));
    WF_TRY(wf_channels_make(x->in, x->link, &x->c));
    WF_TRY(make_room(x));
    WF_TRY(WF_ALLOC(cells, &x->mail));
    WF_TRY(WF_ALLOC(p, &x->at));
    WF_TRY(WF_ALLOC(p, &x->write));
    WF_TRY(WF_ALLOC(p, &x->phase));
    WF_TRY(wf_ring_fill(&x->ready, p));
    for (int r = 0; r < p; r++) {
        x->at[r] = x->in->first[r];
        x->write[r] = x->out.first[r];
    }
    x->out.lowered = 1;
    return WEFT_OK;
}

weft_status weft_schedule_lower(const weft_schedule *in, weft_schedule *out)
{
    if (in->lowered) return WF_FAIL(WEFT_E_INVALID, "the schedule is lowered already");
    WF_TRY(weft_schedule_check(in, 0, NULL));
    lowering x = {.in = in};
    weft_status st = start(&x);
    if (st == WEFT_OK) {
        run(&x);
        *out = x.out;
    } else {
        weft_schedule_clear(&x.out);
    }
    wf_free(x.link);
    wf_channels_clear(&x.c);
    wf_free(x.mail);
    wf_free(x.at);
    wf_free(x.write);
    wf_free(x.phase);
    wf_ring_clear(&x.ready);
    return st;
}
