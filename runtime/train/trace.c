/* SPDX-License-Identifier: Apache-2.0 */
/* The measured traces of all ranks in one. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "train/engine.h"

const weft_trace *weft_engine_trace(const weft_engine *e)
{
    return e->cfg.trace ? &e->trace : NULL;
}

/* ---- the last steps only ------------------------------------------------------------ */

/* Entries stand in the order of their steps. */
static void forget_before(weft_engine *e, int64_t step)
{
    weft_trace *t = &e->trace;
    int64_t n = 0;

    while (n < t->n && t->entry[n].step < step)
        n++;
    if (!n) return;
    t->n -= n;
    memmove(t->entry, t->entry + n, (size_t)t->n * sizeof *t->entry);
    e->t0 = e->began[step % (2 * e->cfg.trace_last)];
}

/* Every trace_last steps the trace is cut to that many, so it holds at most twice as
 * many. */
void wf_trace_begin(weft_engine *e, double start_s)
{
    int64_t last = e->cfg.trace_last, n = e->step - e->cfg.trace_from;

    if (n == 0) e->t0 = start_s;
    if (last <= 0) return;
    e->began[e->step % (2 * last)] = start_s;
    if (n % last == 0) forget_before(e, e->step - last);
}

/* ---- all ranks in one --------------------------------------------------------------- */

/* Labels are fixed strings; across processes they travel as numbers. */
static const char *const labels[] = {"",         "wait",      "dp bucket", "dp wait",
                                     "tied sum", "grad norm", "optimizer"};
enum { N_LABELS = sizeof labels / sizeof *labels };

static int label_number(const char *label)
{
    for (int i = 1; label && i < N_LABELS; i++)
        if (!strcmp(label, labels[i])) return i;
    return 0;
}

/* An entry as it travels: the label as a number in `bytes`' neighbour. */
typedef struct wire {
    weft_trace_entry e;
    int64_t label;
} wire;

static weft_status pack(const weft_engine *e, wire **out)
{
    WF_TRY(WF_ALLOC(e->trace.n, out));
    for (int64_t i = 0; i < e->trace.n; i++) {
        wire *w = &(*out)[i];
        w->e = e->trace.entry[i];
        w->label = label_number(w->e.label);
        w->e.label = NULL;
    }
    return WEFT_OK;
}

static weft_status unpack(const wire *w, int64_t n, double origin_s, weft_trace *out)
{
    for (int64_t i = 0; i < n; i++) {
        weft_trace_entry entry = w[i].e;
        entry.start -= origin_s;
        entry.end -= origin_s;
        if (w[i].label > 0 && w[i].label < N_LABELS) entry.label = labels[w[i].label];
        WF_TRY(weft_trace_add(out, &entry));
    }
    return WEFT_OK;
}

static weft_status transfer(weft_engine *e, int from, void *buf, int64_t bytes,
                            int64_t tag)
{
    weft_event ev = {0};

    if (weft_comm_rank(e->comm) == 0)
        WF_TRY(weft_recv(e->comm, WEFT_FOR_CONTROL, from, tag, buf, bytes, &ev));
    else
        WF_TRY(weft_send(e->comm, WEFT_FOR_CONTROL, 0, tag, buf, bytes, &ev));
    return weft_wait(e->comm, &ev);
}

/* On rank 0: when the trace begins, by the clock of each rank. Ranks whose first step began
 * within a second of rank 0's read the same clock (that of one machine) and share the
 * earliest beginning, so that their entries can be compared; others have their own. */
static weft_status origins(weft_engine *e, double *origin)
{
    int n = weft_comm_size(e->comm);
    double first = e->t0;

    if (weft_comm_rank(e->comm) != 0) return transfer(e, 0, &e->t0, sizeof e->t0, 2);
    origin[0] = e->t0;
    for (int r = 1; r < n; r++) {
        WF_TRY(transfer(e, r, &origin[r], sizeof *origin, 2));
        if (fabs(origin[r] - e->t0) < 1) first = fmin(first, origin[r]);
    }
    for (int r = 0; r < n; r++)
        if (fabs(origin[r] - e->t0) < 1) origin[r] = first;
    return WEFT_OK;
}

static weft_status receive(weft_engine *e, int from, double origin_s, weft_trace *out)
{
    int64_t n = 0;
    wire *w = NULL;

    WF_TRY(transfer(e, from, &n, sizeof n, 0));
    WF_TRY(WF_ALLOC(n, &w));
    weft_status st = transfer(e, from, w, n * (int64_t)sizeof *w, 1);
    if (st == WEFT_OK) st = unpack(w, n, origin_s, out);
    wf_free(w);
    return st;
}

static weft_status collect(weft_engine *e, wire *mine, const double *origin,
                           weft_trace *out)
{
    int64_t n = e->trace.n;

    if (weft_comm_rank(e->comm) != 0) {
        WF_TRY(transfer(e, 0, &n, sizeof n, 0));
        return transfer(e, 0, mine, n * (int64_t)sizeof *mine, 1);
    }
    WF_TRY(unpack(mine, n, origin[0], out));
    for (int r = 1; r < weft_comm_size(e->comm); r++)
        WF_TRY(receive(e, r, origin[r], out));
    return WEFT_OK;
}

weft_status weft_engine_gather_trace(weft_engine *e, weft_trace *out)
{
    wire *mine = NULL;
    double *origin = NULL;
    weft_trace all;

    weft_trace_init(&all, weft_comm_size(e->comm), "s", e->schedule.kind);
    all.measured = 1;
    if (e->cfg.trace_last > 0) forget_before(e, e->step - e->cfg.trace_last);
    weft_status st = pack(e, &mine);
    if (st == WEFT_OK) st = WF_ALLOC(weft_comm_size(e->comm), &origin);
    if (st == WEFT_OK) st = origins(e, origin);
    if (st == WEFT_OK) st = collect(e, mine, origin, &all);
    wf_free(mine);
    wf_free(origin);
    if (st != WEFT_OK) {
        weft_trace_clear(&all);
        return st;
    }
    *out = all;
    return WEFT_OK;
}
