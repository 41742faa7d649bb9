/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/ir.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"

static const char *const placement_names[] = {"single", "loop", "v", "bidir", "bidirv"};
enum { N_PLACEMENTS = sizeof placement_names / sizeof *placement_names };

const char *weft_placement_name(weft_placement_kind placement)
{
    return (unsigned)placement < N_PLACEMENTS ? placement_names[placement] : NULL;
}

weft_status weft_placement_find(const char *name, weft_placement_kind *out)
{
    for (int i = 0; i < N_PLACEMENTS; i++) {
        if (wf_distance(name, placement_names[i]) == 0) {
            *out = (weft_placement_kind)i;
            return WEFT_OK;
        }
    }
    const char *near = wf_nearest_in(name, N_PLACEMENTS, placement_names);
    return WF_FAIL(
        WEFT_E_INVALID,
        "placement \"%s\" is unknown%s%s; there are single loop v bidir bidirv", name,
        near ? ", nearest is " : "", near ? near : "");
}

static const char *kind_word(int kind)
{
    switch (kind) {
    case WEFT_OP_F: return "F";
    case WEFT_OP_B: return "B";
    case WEFT_OP_I: return "I";
    case WEFT_OP_W: return "W";
    case WEFT_OP_R: return "R";
    case WEFT_OP_POST_RECV: return "POST_RECV ";
    case WEFT_OP_SEND: return "SEND ";
    case WEFT_OP_WAIT: return "WAIT ";
    case WEFT_OP_REDUCE: return "REDUCE ";
    case WEFT_OP_UNSHARD: return "UNSHARD ";
    case WEFT_OP_RESHARD: return "RESHARD ";
    case WEFT_OP_STEP: return "STEP ";
    }
    return "?";
}

void wf_op_text(const weft_op *op, char text[WF_OP_TEXT])
{
    const char *value = "";
    if (op->kind >= WEFT_OP_POST_RECV && op->kind <= WEFT_OP_WAIT)
        value = op->flags & WEFT_OPF_GRAD ? "B" : "F";
    snprintf(text, WF_OP_TEXT, "%s%s%u.%u", kind_word(op->kind), value,
             (unsigned)op->micro, (unsigned)op->chunk);
}

static weft_status check_placement(const weft_schedule *s)
{
    int need = s->placement == WEFT_PLACE_SINGLE   ? 1
               : s->placement == WEFT_PLACE_BIDIR  ? 2
               : s->placement == WEFT_PLACE_BIDIRV ? 4
                                                   : s->v;
    if (!weft_placement_name(s->placement))
        return WF_FAIL(WEFT_E_INVALID, "placement number %d is unknown",
                       (int)s->placement);
    if (s->v != need)
        return WF_FAIL(WEFT_E_INVALID,
                       "placement %s has %d chunk%s on a rank, the schedule has %d",
                       weft_placement_name(s->placement), need, need == 1 ? "" : "s",
                       s->v);
    return WEFT_OK;
}

weft_status wf_shape_check(const weft_schedule *s)
{
    if (s->p < 1 || s->p > WF_MAX_P)
        return WF_FAIL(WEFT_E_INVALID, "%d ranks, 1 to %d are possible", s->p,
                       WF_MAX_P);
    if (s->v < 1 || s->v > WF_MAX_V)
        return WF_FAIL(WEFT_E_INVALID, "%d chunks per rank, 1 to %d are possible", s->v,
                       WF_MAX_V);
    if (s->m < 1)
        return WF_FAIL(WEFT_E_INVALID, "%d micro-batches, at least 1 is needed", s->m);
    WF_TRY(check_placement(s));
    if (!s->first || !s->op || s->first[0] != 0)
        return WF_FAIL(WEFT_E_INVALID, "the schedule has no lists of ops");
    for (int r = 0; r < s->p; r++)
        if (s->first[r + 1] < s->first[r])
            return WF_FAIL(WEFT_E_INVALID, "the list of rank %d ends before it begins",
                           r);
    return WEFT_OK;
}

weft_status wf_cells(const weft_schedule *s, int64_t *out)
{
    int64_t cells = (int64_t)s->p * s->v * s->m; /* at most 2^12 * 2^8 * 2^31 */
    int64_t used = wf_bidirectional(s) ? cells / 2 : cells;
    int64_t ops = s->first[s->p];
    if (ops < used)
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "once: %lld ops in all, but %d micro-batches through %d chunks of "
            "%d ranks need at least %lld",
            (long long)ops, s->m, s->v, s->p, (long long)used);
    *out = cells;
    return WEFT_OK;
}

int weft_schedule_stages(const weft_schedule *s)
{
    switch (s->placement) {
    case WEFT_PLACE_LOOP:
    case WEFT_PLACE_V: return s->p * s->v;
    case WEFT_PLACE_BIDIRV: return 2 * s->p;
    case WEFT_PLACE_SINGLE:
    case WEFT_PLACE_BIDIR: break;
    }
    return s->p;
}

int weft_schedule_stage(const weft_schedule *s, int rank, int chunk)
{
    int p = s->p;
    switch (s->placement) {
    case WEFT_PLACE_SINGLE: return rank;
    case WEFT_PLACE_LOOP: return chunk * p + rank;
    case WEFT_PLACE_V: return chunk * p + (chunk & 1 ? p - 1 - rank : rank);
    case WEFT_PLACE_BIDIR: return chunk ? p - 1 - rank : rank;
    case WEFT_PLACE_BIDIRV: break;
    }
    switch (chunk) { /* bidirv: 0,2 a V down; 1,3 a V up */
    case 0: return rank;
    case 1: return p - 1 - rank;
    case 2: return 2 * p - 1 - rank;
    }
    return p + rank;
}

static int holder_rank(const weft_schedule *s, int stage, int direction, int *chunk)
{
    int p = s->p, lap = stage / p, place = stage % p;
    switch (s->placement) {
    case WEFT_PLACE_SINGLE: return *chunk = 0, stage;
    case WEFT_PLACE_LOOP: return *chunk = lap, place;
    case WEFT_PLACE_V: return *chunk = lap, lap & 1 ? p - 1 - place : place;
    case WEFT_PLACE_BIDIR: return *chunk = direction, direction ? p - 1 - stage : stage;
    case WEFT_PLACE_BIDIRV: break;
    }
    *chunk = 2 * lap + direction;
    return (lap ^ direction) & 1 ? p - 1 - place : place;
}

void weft_schedule_holder(const weft_schedule *s, int stage, int64_t micro, int *rank,
                          int *chunk)
{
    *rank = holder_rank(s, stage, wf_micro_direction(s, micro), chunk);
}

weft_status wf_links(const weft_schedule *s, wf_link **out)
{
    int last = weft_schedule_stages(s) - 1;
    wf_link *link = NULL;
    WF_TRY(WF_ALLOC((int64_t)s->p * s->v, &link));
    for (int r = 0; r < s->p; r++) {
        for (int c = 0; c < s->v; c++) {
            wf_link *l = &link[r * s->v + c];
            int stage = weft_schedule_stage(s, r, c), chunk = -1;
            int direction = wf_chunk_direction(s, c);
            l->up_rank = stage > 0 ? holder_rank(s, stage - 1, direction, &chunk) : -1;
            l->up_chunk = chunk;
            chunk = -1;
            l->down_rank =
                stage < last ? holder_rank(s, stage + 1, direction, &chunk) : -1;
            l->down_chunk = chunk;
        }
    }
    *out = link;
    return WEFT_OK;
}

weft_status wf_schedule_alloc(const weft_schedule *shape, const int64_t *n,
                              weft_schedule *out)
{
    weft_schedule s = *shape;
    s.first = NULL;
    s.op = NULL;
    WF_TRY(WF_ALLOC(s.p + 1, &s.first));
    for (int r = 0; r < s.p; r++)
        s.first[r + 1] = s.first[r] + n[r];
    weft_status st = WF_ALLOC(s.first[s.p], &s.op);
    if (st != WEFT_OK) {
        wf_free(s.first);
        return st;
    }
    *out = s;
    return WEFT_OK;
}

void weft_schedule_clear(weft_schedule *s)
{
    wf_free(s->first);
    wf_free(s->op);
    *s = (weft_schedule){.p = 0};
}

weft_status wf_op_fail(const weft_schedule *s, int rank, int64_t i)
{
    const weft_op *op = &s->op[i];
    char text[WF_OP_TEXT];
    long long at = i - s->first[rank];

    wf_op_text(op, text);
    if (op->kind >= WEFT_OP_N_COMPUTE &&
        !(s->lowered && op->kind >= WEFT_OP_POST_RECV && op->kind <= WEFT_OP_WAIT))
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "range: rank %d op %lld: kind %u (%s) is not one that can be "
                       "checked here%s",
                       rank, at, (unsigned)op->kind, text,
                       s->lowered ? "" : "; an unlowered schedule holds F B I W R");
    if (op->slice)
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "range: rank %d op %lld (%s): slice %u, but sequences are not split", rank,
            at, text, (unsigned)op->slice);
    if (op->chunk >= s->v)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "range: rank %d op %lld (%s): chunk %u, but a rank holds %d",
                       rank, at, text, (unsigned)op->chunk, s->v);
    if (op->micro >= (uint32_t)s->m)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "range: rank %d op %lld (%s): micro-batch %u of %d", rank, at,
                       text, (unsigned)op->micro, s->m);
    if (wf_micro_direction(s, op->micro) != wf_chunk_direction(s, op->chunk))
        return WF_FAIL(
            WEFT_E_INFEASIBLE,
            "range: rank %d op %lld (%s): micro-batches 0 to %d go down (even "
            "chunks), the rest up",
            rank, at, text, s->m - s->m / 2 - 1);
    return WF_FAIL(WEFT_E_INFEASIBLE, "range: rank %d op %lld (%s): flags %u", rank, at,
                   text, (unsigned)op->flags);
}
