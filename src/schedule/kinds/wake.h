/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank is next: a tournament of eight at a time, so that up to eight ranks need one
 * round, and that of values which nobody has just written. */
#ifndef WF_SCHEDULE_KINDS_WAKE_H
#define WF_SCHEDULE_KINDS_WAKE_H
#include <math.h>

#include "base/alloc.h"

enum { WF_WAKE_FAN = 8 };

typedef struct wf_wake {
    double *at; /* children of node i from 8i + 1 on; a node is the least of its own */
    int leaf;   /* first one: that of rank 0 */
} wf_wake;

static inline weft_status wf_wake_open(int p, wf_wake *w)
{
    int leaves = 1, above = 0;
    while (leaves < p || leaves == 1) {
        above += leaves;
        leaves *= WF_WAKE_FAN;
    }
    w->leaf = above;
    WF_TRY(WF_ALLOC(above + leaves, &w->at));
    for (int i = 0; i < above + leaves; i++)
        w->at[i] = INFINITY;
    return WEFT_OK;
}

/* Index of the least of eight, the first of equals; compiles without a branch. */
static inline int wf_wake_least(const double *w)
{
    int a = w[1] < w[0], b = 2 + (w[3] < w[2]);
    int c = 4 + (w[5] < w[4]), d = 6 + (w[7] < w[6]);
    int low = w[b] < w[a] ? b : a, high = w[d] < w[c] ? d : c;
    return w[high] < w[low] ? high : low;
}

static inline double wf_wake_time(const wf_wake *w, int rank)
{
    return w->at[w->leaf + rank];
}

static inline void wf_wake_set(const wf_wake *w, int rank, double t)
{
    int i = w->leaf + rank;
    w->at[i] = t;
    while (i > WF_WAKE_FAN) {
        i = (i - 1) / WF_WAKE_FAN;
        const double *own = &w->at[WF_WAKE_FAN * i + 1];
        w->at[i] = own[wf_wake_least(own)];
    }
}

static inline int wf_wake_first(const wf_wake *w)
{
    int i = 0;
    while (i < w->leaf)
        i = WF_WAKE_FAN * i + 1 + wf_wake_least(&w->at[WF_WAKE_FAN * i + 1]);
    return i - w->leaf;
}
#endif
