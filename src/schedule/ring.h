/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_RING_H
#define WF_SCHEDULE_RING_H
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

/* Ranks that may be able to go on, first in first out; a rank is in it once. */
typedef struct wf_ring {
    int p, head, n;
    int *rank;       /* [p] */
    uint8_t *inside; /* [p] */
} wf_ring;

static inline void wf_ring_push(wf_ring *q, int rank)
{
    if (q->inside[rank]) return;
    int at = q->head + q->n++;
    q->rank[at < q->p ? at : at - q->p] = rank;
    q->inside[rank] = 1;
}

/* -1 when empty. */
static inline int wf_ring_pop(wf_ring *q)
{
    if (!q->n) return -1;
    int rank = q->rank[q->head];
    q->head = q->head + 1 < q->p ? q->head + 1 : 0;
    q->n--;
    q->inside[rank] = 0;
    return rank;
}

/* All ranks, in order. Clear it also after a failure. */
static inline weft_status wf_ring_fill(wf_ring *q, int p)
{
    *q = (wf_ring){.p = p};
    WF_TRY(WF_ALLOC(p, &q->rank));
    WF_TRY(WF_ALLOC(p, &q->inside));
    for (int r = 0; r < p; r++)
        wf_ring_push(q, r);
    return WEFT_OK;
}

static inline void wf_ring_clear(wf_ring *q)
{
    wf_free(q->rank);
    wf_free(q->inside);
}
#endif
