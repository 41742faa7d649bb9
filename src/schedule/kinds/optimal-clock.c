/* SPDX-License-Identifier: Apache-2.0 */
/* The time of an order: weft_schedule_eval() for lanes, many thousand times a second. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/optimal.h"

weft_status wf_clock_init(const wf_problem *x, wf_clock *out)
{
    int64_t lanes = (int64_t)WF_LANES * x->n, ops = x->p * x->len;
    wf_clock c = {0};
    weft_status st = WF_ALLOC(ops, &c.end);
    if (st == WEFT_OK) st = WF_ALLOC(ops, &c.start);
    if (st == WEFT_OK) st = WF_ALLOC(ops, &c.place);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &c.free);
    if (st == WEFT_OK) st = WF_ALLOC(lanes, &c.count);
    if (st == WEFT_OK) st = WF_ALLOC(lanes, &c.wait);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &c.todo);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &c.at);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &c.next);
    if (st == WEFT_OK) st = WF_ALLOC(x->p, &c.when);
    if (st == WEFT_OK)
        *out = c;
    else
        wf_clock_clear(&c);
    return st;
}

void wf_clock_clear(wf_clock *c)
{
    wf_free(c->end);
    wf_free(c->start);
    wf_free(c->place);
    wf_free(c->free);
    wf_free(c->count);
    wf_free(c->wait);
    wf_free(c->todo);
    wf_free(c->at);
    wf_free(c->next);
    wf_free(c->when);
    *c = (wf_clock){0};
}

/* The rank goes on until its next input is not made yet. Returns the ranks that now
 * stand in todo[]. */
static int run_rank(const wf_problem *x, int r, const int *list, wf_clock *c, int n)
{
    int64_t i = c->at[r];
    double t = c->free[r];
    for (; i < x->len; i++) {
        int lane = list[i], in = x->input[lane], k = c->count[lane];
        if (in >= 0) {
            if (c->count[in] <= k) {
                c->wait[in] = r + 1;
                break;
            }
            double ready = c->end[(int64_t)in * x->m + k] + x->delay[lane];
            if (ready > t) t = ready;
        }
        c->start[r * x->len + i] = t;
        t += x->dur[lane];
        c->end[(int64_t)lane * x->m + k] = t;
        c->place[(int64_t)lane * x->m + k] = i;
        c->count[lane] = k + 1;
        if (c->wait[lane]) {
            c->todo[n++] = c->wait[lane] - 1;
            c->wait[lane] = 0;
        }
    }
    c->at[r] = i;
    c->free[r] = t;
    return n;
}

double wf_clock_run(const wf_problem *x, const int *order, wf_clock *c)
{
    int lanes = WF_LANES * x->n, n = 0;
    memset(c->count, 0, (size_t)lanes * sizeof *c->count);
    memset(c->wait, 0, (size_t)lanes * sizeof *c->wait);
    for (int r = x->p - 1; r >= 0; r--) {
        c->at[r] = 0;
        c->free[r] = 0;
        c->todo[n++] = r;
    }
    while (n) {
        int r = c->todo[--n];
        n = run_rank(x, r, order + r * x->len, c, n);
    }
    double last = 0;
    for (int r = 0; r < x->p; r++) {
        if (c->at[r] < x->len) return INFINITY;
        if (c->free[r] > last) last = c->free[r];
    }
    return last;
}

int wf_order_fits(const wf_problem *x, int rank, const int *list)
{
    double held = 0, most = wf_most_held(x, rank);
    for (int64_t i = 0; i < x->len; i++) {
        held += x->hold[list[i]];
        if (held > most) return 0;
    }
    return 1;
}
