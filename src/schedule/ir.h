/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_IR_H
#define WF_SCHEDULE_IR_H
#include <stddef.h>
#include <stdint.h>
#include <weft/schedule.h>

/* A value is what an op hands on: the activation of F, or the gradient of B or I, of one
 * (rank, chunk, micro) cell. Its id is 2*cell + (1 for a gradient). */

/* Neighbours of a (rank, chunk) along its pipeline; rank -1 past either end. F takes its
 * input from `up` and hands on to `down`; B and I the other way round. */
typedef struct wf_link {
    int32_t up_rank, up_chunk, down_rank, down_chunk;
} wf_link;

enum {
    WF_MAX_P = 4096,
    WF_MAX_V = 255,
};

/* Longest text of an op: "POST_RECV B4294967295.255" */
enum { WF_OP_TEXT = 32 };
void wf_op_text(const weft_op *op, char text[WF_OP_TEXT]);

/* Shape rules: p, m, v, placement, first[]. WEFT_E_INVALID. */
weft_status wf_shape_check(const weft_schedule *s);

/* Items of an array over all (rank, chunk, micro) cells. A schedule with fewer ops than
 * cells is incomplete and fails here, so that no text of a few bytes asks for gigabytes. */
weft_status wf_cells(const weft_schedule *s, int64_t *out);

/* [p*v], index rank*v + chunk; free with wf_free(). */
weft_status wf_links(const weft_schedule *s, wf_link **out);

/* Copies p m v group placement kind, with room for n[r] ops per rank. */
weft_status wf_schedule_alloc(const weft_schedule *shape, const int64_t *n,
                              weft_schedule *out);

/* Range rules of op i: WEFT_E_INFEASIBLE that says which one. */
weft_status wf_op_fail(const weft_schedule *s, int rank, int64_t i);

/* Direction (0 down, 1 up) of a chunk and of a micro-batch; 0 unless bidir or bidirv. */
static inline int wf_bidirectional(const weft_schedule *s)
{
    return s->placement == WEFT_PLACE_BIDIR || s->placement == WEFT_PLACE_BIDIRV;
}

static inline int wf_micro_direction(const weft_schedule *s, int64_t micro)
{
    return wf_bidirectional(s) && micro >= s->m - s->m / 2;
}

static inline int wf_chunk_direction(const weft_schedule *s, int chunk)
{
    return wf_bidirectional(s) && (chunk & 1);
}

/* Micro-batches that pass through a chunk. */
static inline int64_t wf_chunk_micros(const weft_schedule *s, int chunk)
{
    if (!wf_bidirectional(s)) return s->m;
    return (chunk & 1) ? s->m / 2 : s->m - s->m / 2;
}

/* Range rules of a compute op, as fast as they get. */
static inline int wf_op_in_range(const weft_schedule *s, const weft_op *op)
{
    return op->kind < WEFT_OP_N_COMPUTE && !(op->flags & ~WEFT_OPF_PAIR) &&
           !op->slice && op->chunk < s->v && op->micro < (uint32_t)s->m &&
           (!wf_bidirectional(s) ||
            wf_micro_direction(s, op->micro) == wf_chunk_direction(s, op->chunk));
}

static inline int64_t wf_cell(const weft_schedule *s, int rank, int chunk,
                              int64_t micro)
{
    return ((int64_t)rank * s->v + chunk) * s->m + micro;
}

/* Does the op hand on a gradient (and free the activation, unless W does)? */
static inline int wf_is_backward(int kind)
{
    return kind == WEFT_OP_B || kind == WEFT_OP_I;
}

/* Where the input of a compute op comes from, and where its result goes; -1 = nowhere. */
static inline int wf_source(const weft_op *op, const wf_link *l, int *chunk)
{
    if (op->kind == WEFT_OP_F) return *chunk = l->up_chunk, l->up_rank;
    if (wf_is_backward(op->kind)) return *chunk = l->down_chunk, l->down_rank;
    return -1;
}

static inline int wf_target(const weft_op *op, const wf_link *l, int *chunk)
{
    if (op->kind == WEFT_OP_F) return *chunk = l->down_chunk, l->down_rank;
    if (wf_is_backward(op->kind)) return *chunk = l->up_chunk, l->up_rank;
    return -1;
}
#endif
