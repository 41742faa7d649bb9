/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many messages of a rank can be on their way at once, by the order of the ops alone.
 *
 * A result is on its way from its SEND until the receiver's WAIT for it. Times are unknown,
 * so for each rank all others are as late as they can be: they do no more than what the
 * rank's next WAIT needs, directly or not. That is itself a run of the schedule, so the
 * number is reached, and no run exceeds it: whatever else happens, this much was done.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/ir.h"
#include "schedule/ring.h"

/* SENDs and WAITs of the same message. */
typedef struct mail {
    const weft_schedule *s;
    wf_link *link;
    int64_t *other; /* [ops] the WAIT of a SEND, the SEND of a WAIT */
} mail;

static void mail_clear(mail *x)
{
    wf_free(x->link);
    wf_free(x->other);
}

static int is_grad(const weft_op *op)
{
    return !!(op->flags & WEFT_OPF_GRAD);
}

/* The rank at the other end of a SEND or WAIT of `rank`. */
static int peer_of(const mail *x, int rank, const weft_op *op)
{
    const wf_link *l = &x->link[rank * x->s->v + op->chunk];
    int down = (op->kind == WEFT_OP_SEND) != is_grad(op);
    return down ? l->down_rank : l->up_rank;
}

/* A number for the message: that of the cell which takes it. */
static int64_t message_of(const mail *x, int rank, const weft_op *op)
{
    const wf_link *l = &x->link[rank * x->s->v + op->chunk];
    int chunk = op->chunk, at = rank;

    if (op->kind == WEFT_OP_SEND) {
        at = peer_of(x, rank, op);
        chunk = is_grad(op) ? l->up_chunk : l->down_chunk;
    }
    return 2 * wf_cell(x->s, at, chunk, op->micro) + is_grad(op);
}

static void pair_up(mail *x, int64_t *first)
{
    for (int r = 0; r < x->s->p; r++)
        for (int64_t i = x->s->first[r]; i < x->s->first[r + 1]; i++) {
            const weft_op *op = &x->s->op[i];
            if (op->kind != WEFT_OP_SEND && op->kind != WEFT_OP_WAIT) continue;
            int64_t *seen = &first[message_of(x, r, op)];
            if (*seen) {
                x->other[i] = *seen - 1;
                x->other[*seen - 1] = i;
            }
            *seen = i + 1;
        }
}

static weft_status mail_make(const weft_schedule *s, mail *out)
{
    mail x = {.s = s};
    int64_t cells, *first = NULL;

    if (!s->lowered)
        return WF_FAIL(WEFT_E_INVALID, "buffers are of a schedule that is lowered");
    WF_TRY(weft_schedule_check(s, 0, NULL));
    WF_TRY(wf_cells(s, &cells));
    weft_status st = wf_links(s, &x.link);
    if (st == WEFT_OK) st = WF_ALLOC(s->first[s->p], &x.other);
    if (st == WEFT_OK) st = WF_ALLOC(2 * cells, &first);
    if (st == WEFT_OK) pair_up(&x, first);
    wf_free(first);
    if (st == WEFT_OK)
        *out = x;
    else
        mail_clear(&x);
    return st;
}

/* ---- posted and not waited for: one list tells ---------------------------------------- */

static void count_receives(const weft_schedule *s, weft_buffers *out)
{
    for (int r = 0; r < s->p; r++) {
        int64_t n = 0;
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            n += s->op[i].kind == WEFT_OP_POST_RECV;
            n -= s->op[i].kind == WEFT_OP_WAIT;
            if (n > out[r].receives) out[r].receives = n;
        }
    }
}

/* ---- sent and not taken: all others as late as they can be ------------------------------ */

/* A rank that has to get to an op, for the one below it in the stack. */
typedef struct errand {
    int rank;
    int64_t to;
} errand;

typedef struct late {
    const mail *x;
    int me;
    int64_t *at;     /* [p] next op of each rank                            */
    errand *stack;   /* [p] no rank is in it twice: there is no cycle       */
    int32_t *spare;  /* buffers whose message was taken                     */
    int32_t *buffer; /* [ops] of a SEND                                     */
    int64_t n, n_spare;
} late;

static void pass(late *y, int rank, const weft_op *op)
{
    if (op->kind == WEFT_OP_WAIT && peer_of(y->x, rank, op) == y->me)
        y->spare[y->n_spare++] = y->buffer[y->x->other[y->at[rank]]];
    y->at[rank]++;
}

/* The rank another one has to wait for at this op: until it is past the SEND. Where ranks
 * talk to the next and the one before only, what a neighbour needs from further away says
 * nothing more of this rank's neighbours: each list is run by these two alone. */
static int lacks(const late *y, int rank, const weft_op *op, errand *out)
{
    int in_a_row = y->x->s->placement != WEFT_PLACE_LOOP;

    if (op->kind != WEFT_OP_WAIT || (in_a_row && rank != y->me)) return 0;
    *out = (errand){peer_of(y->x, rank, op), y->x->other[y->at[rank]] + 1};
    return y->at[out->rank] < out->to;
}

static void run_to(late *y, errand e)
{
    int depth = 0;

    y->stack[depth++] = e;
    while (depth > 0) {
        errand top = y->stack[depth - 1], more;
        const weft_op *op = &y->x->s->op[y->at[top.rank]];
        if (y->at[top.rank] >= top.to)
            depth--;
        else if (lacks(y, top.rank, op, &more))
            y->stack[depth++] = more;
        else
            pass(y, top.rank, op);
    }
}

static void run_late(late *y, int me)
{
    const weft_schedule *s = y->x->s;
    errand need;

    y->me = me;
    y->n = y->n_spare = 0;
    for (int r = 0; r < s->p; r++)
        y->at[r] = s->first[r];
    for (; y->at[me] < s->first[me + 1]; y->at[me]++) {
        const weft_op *op = &s->op[y->at[me]];
        if (lacks(y, me, op, &need)) run_to(y, need);
        if (op->kind != WEFT_OP_SEND) continue;
        y->buffer[y->at[me]] = y->n_spare ? y->spare[--y->n_spare] : (int32_t)y->n++;
    }
}

static weft_status count_sends(const mail *x, weft_buffers *out, int32_t *of_send)
{
    const weft_schedule *s = x->s;
    int64_t n_ops = s->first[s->p];
    late y = {.x = x, .buffer = of_send};
    int32_t *own = NULL;

    weft_status st = WF_ALLOC(s->p, &y.at);
    if (st == WEFT_OK) st = WF_ALLOC(s->p, &y.stack);
    if (st == WEFT_OK) st = WF_ALLOC(n_ops, &y.spare);
    if (st == WEFT_OK && !of_send) st = WF_ALLOC(n_ops, &own);
    if (own) y.buffer = own;
    for (int r = 0; st == WEFT_OK && r < s->p; r++) {
        run_late(&y, r);
        if (y.n > out[r].sends) out[r].sends = y.n;
    }
    wf_free(y.at);
    wf_free(y.stack);
    wf_free(y.spare);
    wf_free(own);
    return st;
}

/* ---- buffers in turn, each waited for --------------------------------------------------- */

typedef struct turns {
    const mail *x;
    weft_buffers *out;
    int64_t *at;   /* [p] next op of each rank                          */
    int64_t *sent; /* [p] messages                                      */
    int64_t *send; /* the SENDs, rank after rank: those of r at from[r] */
    int64_t *from; /* [p] */
    wf_ring ready;
} turns;

static weft_status turns_make(turns *t)
{
    const weft_schedule *s = t->x->s;
    int64_t n = 0;

    WF_TRY(WF_ALLOC(s->p, &t->at));
    WF_TRY(WF_ALLOC(s->p, &t->sent));
    WF_TRY(WF_ALLOC(s->p, &t->from));
    WF_TRY(WF_ALLOC(s->first[s->p], &t->send));
    for (int r = 0; r < s->p; r++) {
        t->from[r] = n;
        t->at[r] = s->first[r];
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
            if (s->op[i].kind == WEFT_OP_SEND) t->send[n++] = i;
        if (n > t->from[r] && !t->out[r].sends) t->out[r].sends = 1;
    }
    return wf_ring_fill(&t->ready, s->p);
}

static void turns_clear(turns *t)
{
    wf_free(t->at);
    wf_free(t->sent);
    wf_free(t->from);
    wf_free(t->send);
    wf_ring_clear(&t->ready);
}

/* Was the message taken that had the buffer before? */
static int has_room(const turns *t, int rank)
{
    int64_t before = t->sent[rank] - t->out[rank].sends;
    if (before < 0) return 1;
    int64_t i = t->send[t->from[rank] + before];
    return t->at[peer_of(t->x, rank, &t->x->s->op[i])] > t->x->other[i];
}

static int stands(const turns *t, int rank, const weft_op *op)
{
    if (op->kind == WEFT_OP_SEND) return !has_room(t, rank);
    return op->kind == WEFT_OP_WAIT &&
           t->at[peer_of(t->x, rank, op)] <= t->x->other[t->at[rank]];
}

static void run_rank(turns *t, int rank)
{
    const weft_schedule *s = t->x->s;

    for (; t->at[rank] < s->first[rank + 1]; t->at[rank]++) {
        const weft_op *op = &s->op[t->at[rank]];
        if (stands(t, rank, op)) return;
        t->sent[rank] += op->kind == WEFT_OP_SEND;
        if (op->kind == WEFT_OP_SEND || op->kind == WEFT_OP_WAIT)
            wf_ring_push(&t->ready, peer_of(t->x, rank, op));
    }
}

/* All ranks stand. Those that stand in a SEND could go on with one more buffer: the rank
 * with the fewest gets it (Parks 1995, section 4.2). 0: all are through. */
static int grow_one(turns *t)
{
    const weft_schedule *s = t->x->s;
    int least = -1;

    for (int r = 0; r < s->p; r++) {
        if (t->at[r] == s->first[r + 1] || s->op[t->at[r]].kind != WEFT_OP_SEND)
            continue;
        if (least < 0 || t->out[r].sends < t->out[least].sends) least = r;
    }
    if (least < 0) return 0;
    t->out[least].sends++;
    wf_ring_push(&t->ready, least);
    return 1;
}

static weft_status grow_sends(const mail *x, weft_buffers *out)
{
    turns t = {.x = x, .out = out};
    weft_status st = turns_make(&t);

    if (st == WEFT_OK) do {
            for (int r; (r = wf_ring_pop(&t.ready)) >= 0;)
                run_rank(&t, r);
        } while (grow_one(&t));
    turns_clear(&t);
    return st;
}

/* ---- both ------------------------------------------------------------------------------- */

static weft_status of_step(const weft_schedule *s, weft_buffers *out, int32_t *of_send)
{
    mail x;

    WF_TRY(mail_make(s, &x));
    weft_status st = count_sends(&x, out, of_send);
    mail_clear(&x);
    count_receives(s, out);
    return st;
}

static weft_status of_forward(const weft_schedule *s, weft_buffers *out)
{
    mail x;

    WF_TRY(mail_make(s, &x));
    weft_status st = grow_sends(&x, out);
    mail_clear(&x);
    count_receives(s, out);
    return st;
}

weft_status weft_schedule_buffers(const weft_schedule *step,
                                  const weft_schedule *forward, weft_buffers *out,
                                  int32_t *of_send)
{
    const weft_schedule *s = step ? step : forward;

    for (int r = 0; r < s->p; r++)
        out[r] = (weft_buffers){0};
    if (step) WF_TRY(of_step(step, out, of_send));
    return forward ? of_forward(forward, out) : WEFT_OK;
}
