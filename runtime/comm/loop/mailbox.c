/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point to point: a mailbox per rank with the messages nobody asked for yet and the
 * receives nothing came for yet. Equal (communicator, source, tag) pair in order.
 *
 * A block changes owner by its pointer, when the receiver waits: then it is charged to him
 * and the send is complete. A plain message is copied once, from the sender's buffer into
 * the receiver's, by whoever of the two comes second.
 */
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/loop/loop.h"

/* ---- lists ------------------------------------------------------------------------- */

static unsigned bucket_of(int ctx, int src, int64_t tag)
{
    uint64_t h = (uint64_t)tag * 31 + (uint64_t)src * 7 + (uint64_t)ctx;
    return (unsigned)((h * 0x9e3779b97f4a7c15u) >> 58) % LOOP_BUCKETS;
}

static void add(loop_list *l, loop_link *x)
{
    x->next = NULL;
    if (l->head)
        l->tail->next = x;
    else
        l->head = x;
    l->tail = x;
}

static void cut_after(loop_list *l, loop_link *prev, loop_link *x)
{
    if (prev)
        prev->next = x->next;
    else
        l->head = x->next;
    if (l->tail == x) l->tail = prev;
}

static loop_link *take(loop_list *l, const loop_link *key)
{
    for (loop_link *prev = NULL, *x = l->head; x; prev = x, x = x->next)
        if (x->ctx == key->ctx && x->src == key->src && x->tag == key->tag) {
            cut_after(l, prev, x);
            return x;
        }
    return NULL;
}

static void cut(loop_list *l, loop_link *x)
{
    loop_link *prev = NULL;
    for (loop_link *at = l->head; at != x; at = at->next)
        prev = at;
    cut_after(l, prev, x);
}

static loop_op *op_of(loop_link *x)
{
    return (loop_op *)((char *)x - offsetof(loop_op, link));
}

/* ---- matching: lock held ----------------------------------------------------------- */

/* A sender sleeps for something else as a rule: it is not woken then. */
static void sender_done(loop_world *w, loop_msg *m)
{
    loop_op *op = m->sender;
    if (!op) return;
    wf_op_done(&op->base);
    if (w->rank[m->link.src].waits == op) wf_loop_ring(w, m->link.src);
    m->sender = NULL;
}

/* Both ranks' buffers are pinned while the lock is away. */
static void copy_plain(loop_world *w, loop_msg *m, loop_op *r, int dst)
{
    int src = m->link.src;
    w->rank[src].pins++;
    w->rank[dst].pins++;
    pthread_mutex_unlock(&w->lock);
    if (m->bytes) memcpy(r->base.out, m->buf, (size_t)m->bytes);
    pthread_mutex_lock(&w->lock);
    wf_loop_unpin(w, src);
    wf_loop_unpin(w, dst);
}

static void match(loop_world *w, loop_msg *m, loop_op *r, int dst)
{
    int fits = m->bytes == r->base.bytes && m->is_block == (r->base.arena != NULL);

    r->came_bytes = m->bytes;
    r->came_block = m->is_block;
    if (fits && !m->is_block) copy_plain(w, m, r, dst);
    if (fits && m->is_block) {
        r->msg = m;
        add(&w->rank[dst].delivered, &m->link);
    } else {
        sender_done(w, m);
        wf_free(m);
    }
    wf_op_done(&r->base);
    wf_loop_ring(w, dst);
}

/* ---- the operations ---------------------------------------------------------------- */

static weft_status make_message(const loop_comm *c, loop_op *op, loop_msg **out)
{
    loop_msg *m;
    WF_TRY(WF_ALLOC(1, &m));
    *m = (loop_msg){.link = {.ctx = c->ctx, .src = c->base.rank, .tag = op->base.tag},
                    .bytes = op->base.bytes,
                    .buf = op->base.in,
                    .block = op->base.block,
                    .is_block = op->base.arena != NULL,
                    .sender = op};
    *out = m;
    return WEFT_OK;
}

weft_status wf_loop_send(loop_comm *c, loop_op *op)
{
    loop_world *w = c->world;
    loop_rank *dst = &w->rank[op->base.peer];
    loop_msg *m;

    WF_TRY(make_message(c, op, &m));
    unsigned b = bucket_of(m->link.ctx, m->link.src, m->link.tag);
    pthread_mutex_lock(&w->lock);
    loop_link *r = take(&dst->posted[b], &m->link);
    if (r)
        match(w, m, op_of(r), op->base.peer);
    else
        add(&dst->queued[b], &m->link);
    pthread_mutex_unlock(&w->lock);
    return WEFT_OK;
}

weft_status wf_loop_recv(loop_comm *c, loop_op *op)
{
    loop_world *w = c->world;
    loop_rank *me = &w->rank[c->base.rank];

    op->msg = NULL;
    op->link = (loop_link){.ctx = c->ctx, .src = op->base.peer, .tag = op->base.tag};
    unsigned b = bucket_of(op->link.ctx, op->link.src, op->link.tag);
    pthread_mutex_lock(&w->lock);
    loop_link *m = take(&me->queued[b], &op->link);
    if (m)
        match(w, (loop_msg *)m, op, c->base.rank);
    else
        add(&me->posted[b], &op->link);
    pthread_mutex_unlock(&w->lock);
    return WEFT_OK;
}

static weft_status check_came(const loop_comm *c, const loop_op *op)
{
    const wf_op *r = &op->base;
    if (op->came_block != (r->arena != NULL))
        return WF_FAIL(WEFT_E_MISMATCH,
                       "rank %d receives %s (%s, tag %lld), rank %d sent %s",
                       c->base.rank, r->arena ? "a block" : "into its buffer",
                       weft_purpose_name(r->why), (long long)r->tag, r->peer,
                       op->came_block ? "a block" : "from its buffer");
    if (op->came_bytes != r->bytes)
        return WF_FAIL(WEFT_E_MISMATCH,
                       "rank %d expects %lld bytes (%s, tag %lld), rank %d sent %lld",
                       c->base.rank, (long long)r->bytes, weft_purpose_name(r->why),
                       (long long)r->tag, r->peer, (long long)op->came_bytes);
    return WEFT_OK;
}

weft_status wf_loop_received(loop_comm *c, loop_op *op)
{
    loop_world *w = c->world;
    weft_status st = WEFT_OK;

    WF_TRY(check_came(c, op));
    if (!op->base.arena) return WEFT_OK;
    /* Under the lock: the sender cannot fail and free its arena meanwhile. */
    pthread_mutex_lock(&w->lock);
    loop_msg *m = op->msg;
    if (!m->block) {
        pthread_mutex_unlock(&w->lock);
        return wf_loop_failure(w); /* it was withdrawn, so there is one */
    }
    st = weft_arena_adopt(op->base.arena, op->base.charge, m->block);
    cut(&w->rank[c->base.rank].delivered, &m->link);
    sender_done(w, m);
    pthread_mutex_unlock(&w->lock);
    op->base.block = m->block;
    wf_free(m);
    return st;
}

/* ---- the end ----------------------------------------------------------------------- */

static void drop_from(loop_list *l, int src)
{
    for (loop_link *prev = NULL, *x = l->head, *next; x; x = next) {
        next = x->next;
        if (x->src != src) {
            prev = x;
            continue;
        }
        cut_after(l, prev, x);
        wf_free((loop_msg *)x);
    }
}

void wf_loop_withdraw_mail(loop_world *w, int rank)
{
    for (int b = 0; b < LOOP_BUCKETS; b++)
        w->rank[rank].posted[b] = (loop_list){0};
    for (int dst = 0; dst < w->n; dst++) {
        for (int b = 0; b < LOOP_BUCKETS; b++)
            drop_from(&w->rank[dst].queued[b], rank);
        for (loop_link *x = w->rank[dst].delivered.head; x; x = x->next)
            if (x->src == rank) {
                ((loop_msg *)x)->block = NULL;
                ((loop_msg *)x)->sender = NULL;
            }
    }
}

static void free_list(loop_list *l)
{
    for (loop_link *x = l->head, *next; x; x = next) {
        next = x->next;
        wf_free((loop_msg *)x);
    }
}

void wf_loop_free_mail(loop_world *w)
{
    for (int r = 0; r < w->n; r++) {
        for (int b = 0; b < LOOP_BUCKETS; b++)
            free_list(&w->rank[r].queued[b]);
        free_list(&w->rank[r].delivered);
    }
}
