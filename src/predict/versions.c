/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of its weights that a stage keeps under an asynchronous schedule, as the run
 * stashes them (runtime/exec/stash.c): a forward sees the newest, a backward makes a newer
 * one, and beside the newest those are kept that some backward still needs. Short steps do
 * not get to weft_schedule_weight_copies(). */
#include "base/alloc.h"
#include "base/error.h"
#include "predict/predict.h"

typedef struct stash {
    int64_t *seen;  /* [m] version that a micro-batch saw           */
    int64_t *users; /* [m + 1] micro-batches between F and B, of each */
    int64_t newest, n, most;
} stash;

static void see(stash *x, int64_t micro)
{
    x->seen[micro] = x->newest;
    x->users[x->newest]++;
}

static void renew(stash *x, int64_t micro)
{
    int64_t old = x->seen[micro];

    if (--x->users[old] == 0 && old != x->newest) x->n--;
    if (!x->users[x->newest]) return; /* it is written over */
    x->newest++;
    if (++x->n > x->most) x->most = x->n;
}

static void walk(const weft_schedule *s, int rank, stash *x)
{
    x->n = x->most = 1;
    for (int64_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        const weft_op *op = &s->op[i];
        if (op->kind == WEFT_OP_F) see(x, op->micro);
        if (op->kind == WEFT_OP_B) renew(x, op->micro);
    }
}

weft_status wf_predict_versions(const weft_schedule *s, int rank, int64_t *most)
{
    stash x = {.newest = 0};

    weft_status st = WF_ALLOC(s->m, &x.seen);
    if (st == WEFT_OK) st = WF_ALLOC((int64_t)s->m + 1, &x.users);
    if (st == WEFT_OK) {
        walk(s, rank, &x);
        *most = x.most;
    }
    wf_free(x.seen);
    wf_free(x.users);
    return st;
}
