/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_WALK_H
#define WF_SCHEDULE_WALK_H
#include "schedule/ir.h"

/* One compute op whose inputs have all been visited. */
typedef struct wf_step {
    const weft_op *op;
    int64_t cell;  /* of the op                                          */
    int64_t input; /* cell whose value it takes, -1 = none but its own   */
    int rank;
    int remote;                 /* the input crosses ranks */
    const struct wf_step *mate; /* the other op of an atomic pair */
} wf_step;

typedef weft_status wf_step_fn(void *ctx, const wf_step *step);

/*
 * Visit every compute op after its inputs: F(s) after F(s-1), B and I(s) after F(s) and
 * B or I(s+1), W after I, R after F; ranks run their lists in order. A rank runs until
 * it has to wait and is woken by the op it waits for: O(1) per op. fn may be NULL; it
 * ends the walk by a status that is not WEFT_OK. link as from wf_links(). atomic: a
 * pair ('&') is one step, after the inputs of both ops; fn sees the first of them with
 * its mate. WEFT_E_INFEASIBLE for an op out of range or a deadlock. Comm ops are passed
 * over.
 */
weft_status wf_walk(const weft_schedule *s, const wf_link *link, int atomic,
                    wf_step_fn *fn, void *ctx);

/* Why a rank stands. */
typedef struct wf_blocked {
    weft_op at;   /* the op it stands at                             */
    weft_op want; /* the op that has to come first                   */
    int on;       /* rank that has to do it; -1: this rank is through */
} wf_blocked;

/* Finds the cycle of ranks (or the rank that is through without doing what another
 * waits for) and fails with it: WEFT_E_INFEASIBLE. At least one rank of b[p] is
 * blocked. */
weft_status wf_stall(const wf_blocked *b, int p);
#endif
