/* SPDX-License-Identifier: Apache-2.0 */
/* The table of started operations: a weft_event names one by index and serial number, so
 * that an event that was already waited for is told from a live one. */
#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm_impl.h"

enum { INDEX_BITS = 24 };

static int64_t index_of(int64_t id)
{
    return id & ((1 << INDEX_BITS) - 1);
}

static weft_status add_slot(weft_comm *c)
{
    if (c->n_slots >> INDEX_BITS)
        return WF_FAIL(WEFT_E_NOMEM,
                       "more than %lld operations were started and none "
                       "waited for",
                       (long long)c->n_slots);
    WF_TRY(
        wf_grow((void **)&c->slots, &c->cap_slots, c->n_slots + 1, sizeof *c->slots));
    void *op;
    WF_TRY(wf_alloc(1, c->back->op_bytes, &op));
    c->slots[c->n_slots] = op;
    c->slots[c->n_slots]->id = c->n_slots;
    c->slots[c->n_slots++]->next_free = c->free_ops;
    c->free_ops = op;
    return WEFT_OK;
}

weft_status wf_op_take(weft_comm *c, wf_op **out)
{
    if (!c->free_ops) WF_TRY(add_slot(c));
    wf_op *op = c->free_ops;
    c->free_ops = op->next_free;
    op->id = (++c->serial << INDEX_BITS) | index_of(op->id);
    op->lost = 0;
    op->block = NULL;
    atomic_store_explicit(&op->done, 0, memory_order_relaxed);
    *out = op;
    return WEFT_OK;
}

weft_status wf_op_find(weft_comm *c, const weft_event *ev, wf_op **out)
{
    int64_t i = index_of(ev->id);
    if (i >= c->n_slots || c->slots[i]->id != ev->id)
        return WF_FAIL(WEFT_E_INVALID,
                       "rank %d waits for an event (%s) that is finished or of another "
                       "communicator",
                       c->rank, weft_purpose_name(ev->purpose));
    *out = c->slots[i];
    return WEFT_OK;
}

void wf_op_give(weft_comm *c, wf_op *op)
{
    op->id = index_of(op->id);
    op->next_free = c->free_ops;
    c->free_ops = op;
}

int64_t wf_payload(const wf_op *op)
{
    int parts =
        op->kind == WF_REDUCE_SCATTER || op->kind == WF_ALL_TO_ALL ? op->group->n : 1;
    return parts * op->bytes;
}

void wf_op_done(wf_op *op)
{
    op->done_s = wf_now_s();
    atomic_store_explicit(&op->done, 1, memory_order_release);
}
