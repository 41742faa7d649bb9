/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a lowered schedule without data: sends are complete when their receive is posted,
 * messages of a channel pair in order. */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/channel.h"
#include "schedule/check.h"
#include "schedule/ring.h"
#include "schedule/walk.h"

typedef struct run {
    const weft_schedule *s;
    const wf_link *link;
    wf_channels c;
    int outstanding;
    int64_t *at;       /* [p] op at which the rank stands */
    uint8_t *arrived;  /* [cells] of the receiver: 1 activation, 2 gradient */
    uint8_t *standing; /* [p] in a SEND that has begun */
    wf_ring ready;
} run;

static int table_index(const run *x, int rank, const weft_op *op)
{
    return 2 * (rank * x->s->v + op->chunk) + !!(op->flags & WEFT_OPF_GRAD);
}

/* Moves a cursor to the next SEND (or POST_RECV) of the channel. */
static const weft_op *next_of(const run *x, int rank, int kind, const int32_t *table,
                              int id, int64_t *cursor)
{
    const weft_op *op = &x->s->op[*cursor];
    while (op->kind != kind || table[table_index(x, rank, op)] != id)
        op++;
    *cursor = op - x->s->op;
    return op;
}

static void receiver_of(const run *x, int rank, const weft_op *send, weft_op *want)
{
    const wf_link *l = &x->link[rank * x->s->v + send->chunk];
    *want = *send;
    want->kind = WEFT_OP_POST_RECV;
    want->flags &= WEFT_OPF_GRAD;
    want->chunk = (uint8_t)(send->flags & WEFT_OPF_GRAD ? l->up_chunk : l->down_chunk);
}

static weft_status mispaired(const wf_channel *ch, const weft_op *send,
                             const weft_op *post)
{
    char sent[WF_OP_TEXT], posted[WF_OP_TEXT];
    wf_op_text(send, sent);
    wf_op_text(post, posted);
    return WF_FAIL(
        WEFT_E_INFEASIBLE,
        "pairing: message %lld from rank %d to rank %d on the %s channel is %s, "
        "but the receive posted for it is %s",
        (long long)ch->matched, ch->from, ch->to,
        send->flags & WEFT_OPF_GRAD ? "gradient" : "activation", sent, posted);
}

/* Pair what is sent with what is posted, in order. */
static weft_status match(run *x, int id)
{
    wf_channel *ch = &x->c.ch[id];
    while (ch->matched < ch->sent && ch->matched < ch->posted) {
        const weft_op *send =
            next_of(x, ch->from, WEFT_OP_SEND, x->c.out, id, &ch->send_at);
        const weft_op *post =
            next_of(x, ch->to, WEFT_OP_POST_RECV, x->c.in, id, &ch->post_at);
        weft_op want;
        receiver_of(x, ch->from, send, &want);
        if (want.chunk != post->chunk || want.micro != post->micro)
            return mispaired(ch, send, post);
        x->arrived[wf_cell(x->s, ch->to, post->chunk, post->micro)] |=
            (uint8_t)(1 << (id & 1));
        ch->matched++;
        ch->send_at++;
        ch->post_at++;
        wf_ring_push(&x->ready, ch->from);
        wf_ring_push(&x->ready, ch->to);
    }
    return WEFT_OK;
}

static int64_t incomplete(const run *x, int id)
{
    const wf_channel *pair = &x->c.ch[id & ~1];
    return pair[0].sent - pair[0].matched + pair[1].sent - pair[1].matched;
}

/* One op; *stands = 1 when the rank cannot go on past it yet. */
static weft_status step(run *x, int rank, const weft_op *op, int *stands)
{
    int i = table_index(x, rank, op), id;
    *stands = 0;
    switch (op->kind) {
    case WEFT_OP_POST_RECV:
        id = x->c.in[i];
        x->c.ch[id].posted++;
        return match(x, id);
    case WEFT_OP_SEND:
        id = x->c.out[i];
        x->c.ch[id].sent += !x->standing[rank];
        WF_TRY(match(x, id));
        *stands = x->standing[rank] = incomplete(x, id) >= x->outstanding;
        return WEFT_OK;
    case WEFT_OP_WAIT:
        *stands =
            !(x->arrived[wf_cell(x->s, rank, op->chunk, op->micro)] & 1 << (i & 1));
        return WEFT_OK;
    }
    return WEFT_OK;
}

static weft_status run_rank(run *x, int rank)
{
    int stands = 0;
    while (x->at[rank] < x->s->first[rank + 1]) {
        WF_TRY(step(x, rank, &x->s->op[x->at[rank]], &stands));
        if (stands) break;
        x->at[rank]++;
    }
    return WEFT_OK;
}

/* Whom a standing rank waits for, and for what. */
static void describe(run *x, int rank, wf_blocked *b)
{
    const weft_op *op = &x->s->op[x->at[rank]];
    int i = table_index(x, rank, op);
    b->at = *op;
    if (op->kind == WEFT_OP_WAIT) {
        const wf_link *l = &x->link[rank * x->s->v + op->chunk];
        b->on = x->c.ch[x->c.in[i]].from;
        b->want = *op;
        b->want.kind = WEFT_OP_SEND;
        b->want.chunk = (uint8_t)(i & 1 ? l->down_chunk : l->up_chunk);
        return;
    }
    int id = x->c.out[i];
    if (x->c.ch[id].sent == x->c.ch[id].matched) id ^= 1; /* the pair's other channel */
    wf_channel *ch = &x->c.ch[id];
    b->on = ch->to;
    receiver_of(x, rank, next_of(x, rank, WEFT_OP_SEND, x->c.out, id, &ch->send_at),
                &b->want);
}

static weft_status report(run *x)
{
    wf_blocked *b = NULL;
    int blocked = 0;
    WF_TRY(WF_ALLOC(x->s->p, &b));
    for (int r = 0; r < x->s->p; r++) {
        b[r].on = -1;
        if (x->at[r] == x->s->first[r + 1]) continue;
        describe(x, r, &b[r]);
        blocked = 1;
    }
    weft_status st = blocked ? wf_stall(b, x->s->p) : WEFT_OK;
    wf_free(b);
    return st;
}

static weft_status start(run *x)
{
    int p = x->s->p;
    int64_t cells;
    WF_TRY(wf_cells(x->s, &cells));
    WF_TRY(wf_channels_make(x->s, x->link, &x->c));
    WF_TRY(WF_ALLOC(p, &x->at));
    WF_TRY(WF_ALLOC(cells, &x->arrived));
    WF_TRY(WF_ALLOC(p, &x->standing));
    WF_TRY(wf_ring_fill(&x->ready, p));
    for (int r = 0; r < p; r++)
        x->at[r] = x->s->first[r];
    return WEFT_OK;
}

static weft_status go(run *x)
{
    WF_TRY(start(x));
    for (int r; (r = wf_ring_pop(&x->ready)) >= 0;)
        WF_TRY(run_rank(x, r));
    return report(x);
}

weft_status wf_check_rendezvous(const weft_schedule *s, const wf_link *link,
                                int outstanding)
{
    run x = {.s = s, .link = link, .outstanding = outstanding};
    weft_status st = go(&x);
    wf_channels_clear(&x.c);
    wf_free(x.at);
    wf_free(x.arrived);
    wf_free(x.standing);
    wf_ring_clear(&x.ready);
    return st;
}
