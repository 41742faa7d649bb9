/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an op can start, where links have tiers and bandwidth, messages hold up their ranks,
 * pairs run serially in a length of their own, or weights change after each backward.
 * eval.c has the case without any of these, and is three times as fast.
 *
 * Ranks are neighbours around the ring in every placement, so a rank has two links out:
 * to the next rank and to the one before (for p = 2 the same: the next).
 */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/eval.h"

enum { NEXT, BEFORE };

int wf_timing_is_plain(const wf_timing *t)
{
    const weft_costs *c = t->costs;
    int serial = c->overlap == WEFT_OVERLAP_SERIAL;
    int pairs = c->overlap_cost > 0 || c->overlap_by_rank;
    return !c->n_tiers && c->messages == WEFT_MESSAGES_OVERLAPPED &&
           !(serial && pairs) && !(t->message && c->latency > 0) && !t->update_time;
}

/* ---- links ---------------------------------------------------------------------- */

static weft_status check_tier(const weft_costs *c, int k)
{
    const weft_link_tier *t = &c->tier[k];
    int last = k == c->n_tiers - 1, before = k ? t[-1].ranks : 0;
    if (!wf_is_duration(t->latency))
        return WF_FAIL(WEFT_E_INVALID, "latency %g of link tier %d is not 0 or more",
                       t->latency, k);
    if (!wf_is_duration(t->bandwidth))
        return WF_FAIL(WEFT_E_INVALID, "bandwidth %g of link tier %d is not 0 or more",
                       t->bandwidth, k);
    if (last ? t->ranks != 0 : t->ranks <= before)
        return WF_FAIL(WEFT_E_INVALID,
                       "link tier %d has domains of %d ranks; each tier has more than "
                       "the one before, the last has 0, all",
                       k, t->ranks);
    return WEFT_OK;
}

weft_status wf_check_links(const weft_schedule *s, const weft_costs *c)
{
    if (!wf_is_duration(c->latency))
        return WF_FAIL(WEFT_E_INVALID, "latency %g is not 0 or more", c->latency);
    if (!wf_is_duration(c->message_bytes))
        return WF_FAIL(WEFT_E_INVALID, "a message of %g bytes is not 0 or more",
                       c->message_bytes);
    if (c->messages != WEFT_MESSAGES_OVERLAPPED &&
        c->messages != WEFT_MESSAGES_BLOCKING)
        return WF_FAIL(WEFT_E_INVALID, "messages number %d is unknown",
                       (int)c->messages);
    for (int k = 0; k < c->n_tiers; k++)
        WF_TRY(check_tier(c, k));
    return WEFT_OK;
}

wf_wire wf_wire_between(const weft_costs *c, int from, int to)
{
    if (!c->n_tiers) return (wf_wire){c->latency, 0};
    const weft_link_tier *k = c->tier;
    while (k->ranks && from / k->ranks != to / k->ranks)
        k++;
    return (wf_wire){k->latency,
                     k->bandwidth > 0 ? c->message_bytes / k->bandwidth : 0};
}

weft_status wf_timing_open_links(wf_timing *t)
{
    int p = t->s->p;
    WF_TRY(WF_ALLOC(p, &t->wire));
    WF_TRY(WF_ALLOC(p, &t->port));
    WF_TRY(WF_ALLOC(p, &t->mate));
    for (int r = 0; r < p; r++) {
        t->mate[r] = -1;
        t->wire[r][NEXT] = wf_wire_between(t->costs, r, (r + 1) % p);
        t->wire[r][BEFORE] = wf_wire_between(t->costs, r, (r + p - 1) % p);
    }
    return WEFT_OK;
}

static int port_of(const wf_timing *t, int from, int to)
{
    return to == (from + 1) % t->s->p ? NEXT : BEFORE;
}

static void tell(const wf_timing *t, int rank, int receives, const weft_op *op,
                 double start, double end)
{
    if (t->message && end > start) t->message(t->ctx, rank, receives, op, start, end);
}

/* ---- before and after an op ----------------------------------------------------- */

/* When the input of the op is on its rank. A blocking receive keeps the rank until then. */
static double receive(wf_timing *t, const wf_step *step)
{
    if (step->input < 0) return 0;
    double ready = t->end[step->input];
    if (!step->remote) return ready;
    t->messages++;
    if (t->costs->messages == WEFT_MESSAGES_OVERLAPPED) return ready;
    int r = step->rank, from = (int)(step->input / t->s->m / t->s->v);
    wf_wire w = t->wire[from][port_of(t, from, r)];
    double start = t->free[r] > ready ? t->free[r] : ready;
    t->free[r] = start + w.gap + w.latency;
    tell(t, r, 1, step->op, start, t->free[r]);
    return t->free[r];
}

/* The result of an op that ended is on its way; the rank may be free later than that. */
static void hand_on(wf_timing *t, const wf_step *step, double end)
{
    int r = step->rank, chunk;
    int to = wf_target(step->op, &t->link[r * t->s->v + step->op->chunk], &chunk);
    if (to < 0 || to == r) {
        if (to == r) t->end[step->cell] = end;
        return;
    }
    int k = port_of(t, r, to);
    wf_wire w = t->wire[r][k];
    if (t->costs->messages == WEFT_MESSAGES_BLOCKING) {
        double start = t->free[r];
        t->free[r] = start + w.gap + w.latency;
        t->end[step->cell] = start;
        tell(t, r, 0, step->op, start, t->free[r]);
    } else {
        double start = t->port[r][k] > end ? t->port[r][k] : end;
        t->port[r][k] = start + w.gap;
        t->end[step->cell] = t->port[r][k] + w.latency;
        tell(t, r, 0, step->op, start, t->end[step->cell]);
    }
}

static void update(wf_timing *t, const wf_step *step)
{
    int r = step->rank;
    if (!t->update_time || !wf_is_backward(step->op->kind)) return;
    double start = t->free[r], end = start + t->update_time[r];
    wf_occupy(t, r, start, end);
    if (t->update && end > start) t->update(t->ctx, r, step->op, start, end);
}

/* ---- ops ------------------------------------------------------------------------ */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static weft_status time_block(wf_timing *t, const wf_step *step)
{
    int r = step->rank;
    double ready = receive(t, step), second = receive(t, step->mate);
    double start = larger(t->free[r], larger(ready, second));
    double one = wf_duration(t, r, step->op), other = wf_duration(t, r, step->mate->op);
    if (!wf_is_duration(one)) return wf_refuse_duration(r, step->op, one);
    if (!wf_is_duration(other)) return wf_refuse_duration(r, step->mate->op, other);
    double cost = wf_pair_cost(t->costs, r), whole = cost > 0 ? cost : one + other;
    double end = start + whole, middle = start;
    if (one > 0) middle += whole * (one / (one + other));
    wf_occupy(t, r, start, end);
    if (t->visit) {
        t->visit(t->ctx, r, step->op, start, middle);
        t->visit(t->ctx, r, step->mate->op, middle, end);
    }
    hand_on(t, step, end);
    hand_on(t, step->mate, end);
    update(t, step);
    update(t, step->mate);
    return WEFT_OK;
}

/* The compute op after this one of its rank, NULL where it is none or out of range. */
static const weft_op *next_op(const wf_timing *t, const wf_step *step)
{
    const weft_op *o = step->op + 1, *end = t->s->op + t->s->first[step->rank + 1];
    while (o < end && o->kind >= WEFT_OP_N_COMPUTE)
        o++;
    return o < end && wf_op_in_range(t->s, o) ? o : NULL;
}

/* The part that an op of a serial pair has of the pair's own length. */
static weft_status share_pair(wf_timing *t, const wf_step *step, double *d)
{
    int r = step->rank;
    double cost = wf_pair_cost(t->costs, r);
    const weft_op *mate;
    if (t->mate[r] >= 0) {
        *d = t->mate[r];
        t->mate[r] = -1;
    } else if (cost > 0 && step->op->flags & WEFT_OPF_PAIR &&
               (mate = next_op(t, step)) != NULL) {
        double other = wf_duration(t, r, mate);
        if (!wf_is_duration(other)) return wf_refuse_duration(r, mate, other);
        *d = *d > 0 ? cost * (*d / (*d + other)) : 0;
        t->mate[r] = cost - *d;
    }
    return WEFT_OK;
}

weft_status wf_time_linked(void *ctx, const wf_step *step)
{
    wf_timing *t = ctx;
    if (step->mate) return time_block(t, step);
    int r = step->rank;
    double ready = receive(t, step), start = larger(t->free[r], ready);
    double d = wf_duration(t, r, step->op);
    if (!wf_is_duration(d)) return wf_refuse_duration(r, step->op, d);
    if (t->costs->overlap == WEFT_OVERLAP_SERIAL) WF_TRY(share_pair(t, step, &d));
    wf_occupy(t, r, start, start + d);
    if (t->visit) t->visit(t->ctx, r, step->op, start, start + d);
    hand_on(t, step, start + d);
    update(t, step);
    return WEFT_OK;
}
