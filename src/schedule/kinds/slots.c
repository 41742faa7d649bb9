/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Micro-batches go in units of p, all one way, or half of them down and half up. In
 * slots of one op, the j-th of a direction enters its S stages at slot 2j, moves on by
 * a stage in each slot, turns at slot 2j + S and is back at slot 2j + 2S - 1: F of
 * stage s at 2j + s, B at 2j + 2S-1 - s. Where a rank holds stages r and p-1-r (and
 * these plus multiples of 2p), one half of its ops falls into even slots and the other
 * into odd ones, each without a gap; a unit begins every 2S slots, so that each slot in
 * between holds exactly one op.
 */
#include "schedule/kinds/slots.h"

#include "base/alloc.h"
#include "schedule/ir.h"

weft_status wf_slots_two_ways(const weft_schedule *q)
{
    if (q->p % 2)
        return WF_FAIL(WEFT_E_INVALID,
                       "-p %d: the two directions of %s meet between two ranks, so -p "
                       "must be even; nearest are %d and %d",
                       q->p, q->kind, q->p > 1 ? q->p - 1 : 2, q->p > 1 ? q->p + 1 : 4);
    if (q->m % q->p == 0) return WEFT_OK;
    int64_t below = q->m - q->m % q->p;
    if (below)
        return WF_FAIL(WEFT_E_INVALID,
                       "-m %d with -p %d: %s goes in units of p micro-batches, so -m "
                       "must be a multiple of p; nearest are %lld and %lld",
                       q->m, q->p, q->kind, (long long)below, (long long)below + q->p);
    return WF_FAIL(WEFT_E_INVALID,
                   "-m %d with -p %d: %s goes in units of p micro-batches, so -m must "
                   "be a multiple of p; -m %d is the least",
                   q->m, q->p, q->kind, q->p);
}

/* What a rank does in one slot of a unit's 2S: an op of this unit, or (late) of the one
 * before. */
typedef struct slot {
    uint8_t kind, chunk, late;
    int32_t j;
} slot;

/* Micro-batches of a unit in one direction. */
static int per_unit(const weft_schedule *s)
{
    return wf_bidirectional(s) ? s->p / 2 : s->p;
}

static void set(slot *table, int slots, int at, int kind, int chunk, int j)
{
    table[at % slots] = (slot){
        .kind = (uint8_t)kind, .chunk = (uint8_t)chunk, .late = at >= slots, .j = j};
}

static void fill(const weft_schedule *s, int rank, slot *table)
{
    int slots = 2 * weft_schedule_stages(s);
    for (int chunk = 0; chunk < s->v; chunk++) {
        int stage = weft_schedule_stage(s, rank, chunk);
        for (int j = 0; j < per_unit(s); j++) {
            set(table, slots, 2 * j + stage, WEFT_OP_F, chunk, j);
            set(table, slots, 2 * j + slots - 1 - stage, WEFT_OP_B, chunk, j);
        }
    }
}

static void put_rank(const weft_schedule *s, int rank, const slot *table)
{
    weft_op *o = &s->op[s->first[rank]];
    int slots = 2 * weft_schedule_stages(s);
    int64_t units = (s->m + (int64_t)s->p - 1) / s->p; /* the last may be a part */
    for (int64_t u = 0; u <= units; u++) {
        for (int i = 0; i < slots; i++) {
            const slot *t = &table[i];
            int64_t micro = (u - t->late) * per_unit(s) + t->j;
            if (u < t->late || micro >= wf_chunk_micros(s, t->chunk)) continue;
            int64_t base = wf_chunk_direction(s, t->chunk) ? s->m / 2 : 0;
            o = wf_put(o, t->kind, base + micro, t->chunk);
        }
    }
}

weft_status wf_slots_generate(const weft_schedule *s)
{
    slot *table = NULL;
    WF_TRY(WF_ALLOC(2 * (int64_t)weft_schedule_stages(s), &table));
    for (int r = 0; r < s->p; r++) {
        fill(s, r, table);
        put_rank(s, r, table);
    }
    wf_free(table);
    return WEFT_OK;
}
