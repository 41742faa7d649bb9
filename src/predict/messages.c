/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between ranks that are under way at once, in simulated time. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "predict/predict.h"

/* A value that goes to another rank. */
typedef struct message {
    double sent, taken;
    int from; /* rank; -1: none goes there */
} message;

typedef struct post {
    const weft_schedule *s;
    message *
        to; /* [stages][m][2]: into a stage, of a micro-batch, activation or gradient */
} post;

static message *slot(const post *x, int stage, int64_t micro, int grad)
{
    return &x->to[((int64_t)stage * x->s->m + micro) * 2 + grad];
}

static void visit(void *ctx, int rank, const weft_op *op, double start, double end)
{
    const post *x = ctx;
    int grad = op->kind == WEFT_OP_B || op->kind == WEFT_OP_I;
    int stage = weft_schedule_stage(x->s, rank, op->chunk), next, to, chunk;

    if (!grad && op->kind != WEFT_OP_F) return;
    slot(x, stage, op->micro, grad)->taken = start;
    next = grad ? stage - 1 : stage + 1;
    if (next < 0 || next >= weft_schedule_stages(x->s)) return;
    weft_schedule_holder(x->s, next, op->micro, &to, &chunk);
    if (to == rank) return;
    message *m = slot(x, next, op->micro, grad);
    m->from = rank;
    m->sent = end;
}

typedef struct event {
    double at;
    int change;
} event;

/* What is sent and what is taken at one time overlap: the block is there for both. */
static int in_order(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return y->change - x->change;
}

static int64_t most_of(const message *to, int64_t n, int rank, event *e)
{
    int64_t count = 0, now = 0, most = 0;

    for (int64_t i = 0; i < n; i++)
        if (to[i].from == rank) {
            e[count++] = (event){to[i].sent, 1};
            e[count++] = (event){to[i].taken, -1};
        }
    qsort(e, (size_t)count, sizeof *e, in_order);
    for (int64_t i = 0; i < count; i++) {
        now += e[i].change;
        if (now > most) most = now;
    }
    return most;
}

weft_status wf_predict_messages(const weft_schedule *s, const weft_costs *costs,
                                int64_t *most)
{
    int64_t n = (int64_t)weft_schedule_stages(s) * s->m * 2;
    post x = {.s = s};
    event *e = NULL;
    weft_eval eval;

    WF_TRY(WF_ALLOC(n, &x.to));
    for (int64_t i = 0; i < n; i++)
        x.to[i].from = -1;
    weft_status st = WF_ALLOC(2 * n, &e);
    if (st == WEFT_OK) st = weft_schedule_eval(s, costs, visit, &x, &eval);
    if (st == WEFT_OK) {
        for (int r = 0; r < s->p; r++)
            most[r] = most_of(x.to, n, r, e);
        weft_eval_clear(&eval);
    }
    wf_free(e);
    wf_free(x.to);
    return st;
}
