/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a schedule that each rank's list shows by itself. */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/check.h"

/* Bits of a cell's state. The first WEFT_OP_N_COMPUTE are 1 << kind: that op was there;
 * the others are shifted left by 1 for the gradient. */
enum {
    DID_F = 1 << WEFT_OP_F,
    DID_I = 1 << WEFT_OP_I,
    DID_W = 1 << WEFT_OP_W,
    DID_R = 1 << WEFT_OP_R,
    DID_BACKWARD = 1 << WEFT_OP_B | 1 << WEFT_OP_I,
    POSTED = 1 << WEFT_OP_N_COMPUTE,
    WAITED = POSTED << 2,
    SENT = WAITED << 2,
};

/* Per compute kind: what makes it a repetition, what has to be there, what must not. */
static const struct {
    uint16_t again, need, late;
    const char *need_words, *late_words;
} rule[WEFT_OP_N_COMPUTE] = {
    [WEFT_OP_F] = {.again = DID_F},
    [WEFT_OP_B] = {DID_BACKWARD, DID_F, 0, "comes before its F", NULL},
    [WEFT_OP_I] = {DID_BACKWARD, DID_F, 0, "comes before its F", NULL},
    [WEFT_OP_W] = {DID_W, DID_I, 0, "comes before its I, or there is none", NULL},
    [WEFT_OP_R] = {DID_R, DID_F, DID_BACKWARD, "comes before its F",
                   "comes after its backward"},
};

typedef struct scan {
    const weft_schedule *s;
    const wf_link *link;
    uint16_t *state; /* [v*m] of this rank */
    int rank, forward_only;
    int64_t n[WEFT_OP_N_COMPUTE];
    int64_t n_post, n_wait, n_send, n_in,
        n_out; /* comm ops; inputs and results that cross */
    int64_t held, peak, held_w, peak_w;
    const weft_op *last;
} scan;

static weft_status broken(const scan *c, int64_t i, const char *name, const char *words)
{
    char text[WF_OP_TEXT];
    wf_op_text(&c->s->op[i], text);
    return WF_FAIL(WEFT_E_INFEASIBLE, "%s: rank %d op %lld (%s) %s", name, c->rank,
                   (long long)(i - c->s->first[c->rank]), text, words);
}

static uint16_t *state_of(const scan *c, int chunk, int64_t micro)
{
    return &c->state[(int64_t)chunk * c->s->m + micro];
}

/* An input made on this rank must come earlier in the list; one from another rank must
 * have been waited for. */
static weft_status check_input(scan *c, int64_t i, uint16_t own)
{
    const weft_op *op = &c->s->op[i];
    int grad = wf_is_backward(op->kind), chunk;
    int source = wf_source(op, &c->link[c->rank * c->s->v + op->chunk], &chunk);
    if (source < 0) return WEFT_OK;
    if (source == c->rank) {
        if (*state_of(c, chunk, op->micro) & (grad ? DID_BACKWARD : DID_F))
            return WEFT_OK;
        return broken(c, i, "order",
                      grad ? "comes before the backward of the next stage on this rank"
                           : "comes before the F of the stage before on this rank");
    }
    c->n_in++;
    if (c->s->lowered && !(own & WAITED << grad))
        return broken(c, i, "messages", "has no WAIT before it");
    return WEFT_OK;
}

static void count_held(scan *c, int kind)
{
    if (kind == WEFT_OP_F) {
        if (++c->held > c->peak) c->peak = c->held;
        if (++c->held_w > c->peak_w) c->peak_w = c->held_w;
    }
    c->held -= wf_is_backward(kind);
    c->held_w -= kind == WEFT_OP_B || kind == WEFT_OP_W;
}

static weft_status scan_compute(scan *c, int64_t i)
{
    const weft_op *op = &c->s->op[i];
    int chunk, kind = op->kind;
    uint16_t *own = state_of(c, op->chunk, op->micro);

    if (op->flags & WEFT_OPF_PAIR && c->last && c->last->flags & WEFT_OPF_PAIR)
        return broken(c, i, "range", "is marked '&', and so is the op before it");
    if (*own & rule[kind].again) return broken(c, i, "once", "was in the list before");
    if ((*own & rule[kind].need) != rule[kind].need)
        return broken(c, i, "order", rule[kind].need_words);
    if (*own & rule[kind].late) return broken(c, i, "order", rule[kind].late_words);
    WF_TRY(check_input(c, i, *own));
    int target = wf_target(op, &c->link[c->rank * c->s->v + op->chunk], &chunk);
    c->n_out += target >= 0 && target != c->rank;
    *own |= (uint16_t)(1 << kind);
    c->n[kind]++;
    count_held(c, kind);
    c->last = op;
    return WEFT_OK;
}

static int comm_in_range(const weft_schedule *s, const weft_op *op)
{
    weft_op as_compute = *op;
    as_compute.kind = WEFT_OP_F;
    as_compute.flags = 0;
    return op->kind >= WEFT_OP_POST_RECV && op->kind <= WEFT_OP_WAIT &&
           !(op->flags & ~(WEFT_OPF_BATCH | WEFT_OPF_GRAD)) &&
           wf_op_in_range(s, &as_compute);
}

static weft_status scan_comm(scan *c, int64_t i)
{
    const weft_op *op = &c->s->op[i];
    if (!c->s->lowered || !comm_in_range(c->s, op)) return wf_op_fail(c->s, c->rank, i);

    int grad = !!(op->flags & WEFT_OPF_GRAD), chunk;
    const wf_link *l = &c->link[c->rank * c->s->v + op->chunk];
    weft_op made = {.kind = grad ? WEFT_OP_B : WEFT_OP_F};
    int peer = op->kind == WEFT_OP_SEND ? wf_target(&made, l, &chunk)
                                        : wf_source(&made, l, &chunk);
    uint16_t *own = state_of(c, op->chunk, op->micro);
    if (peer < 0 || peer == c->rank)
        return broken(c, i, "messages", "has no other rank to talk to");
    uint16_t bit, need;
    switch (op->kind) {
    case WEFT_OP_POST_RECV: c->n_post++, bit = POSTED, need = 0; break;
    case WEFT_OP_WAIT:
        c->n_wait++, bit = WAITED, need = (uint16_t)(POSTED << grad);
        break;
    default: c->n_send++, bit = SENT, need = grad ? DID_BACKWARD : DID_F; break;
    }
    bit = (uint16_t)(bit << grad);
    if (*own & bit) return broken(c, i, "messages", "was in the list before");
    if (need && !(*own & need))
        return broken(c, i, "messages",
                      op->kind == WEFT_OP_WAIT
                          ? "comes before its POST_RECV"
                          : "comes before the op that makes its value");
    *own |= bit;
    return WEFT_OK;
}

/* Name the first (chunk, micro) that lacks something. */
static weft_status name_missing(const scan *c)
{
    const weft_schedule *s = c->s;
    for (int chunk = 0; chunk < s->v; chunk++) {
        for (int64_t i = 0; i < s->m; i++) {
            if (wf_micro_direction(s, i) != wf_chunk_direction(s, chunk)) continue;
            unsigned own = *state_of(c, chunk, i);
            const char *lacks = !(own & DID_F)                              ? "F"
                                : !c->forward_only && !(own & DID_BACKWARD) ? "backward"
                                : (own & (DID_I | DID_W)) == DID_I          ? "W"
                                                                            : NULL;
            if (lacks)
                return WF_FAIL(WEFT_E_INFEASIBLE,
                               "once: rank %d has no %s of micro-batch %lld, chunk %d",
                               c->rank, lacks, (long long)i, chunk);
        }
    }
    return WF_FAIL(WEFT_E_INFEASIBLE, "once: rank %d is not complete", c->rank);
}

/* Nothing was there twice, so the counts tell whether anything is missing. */
static weft_status check_counts(const scan *c)
{
    int64_t cells = 0, backward = c->n[WEFT_OP_B] + c->n[WEFT_OP_I];
    for (int chunk = 0; chunk < c->s->v; chunk++)
        cells += wf_chunk_micros(c->s, chunk);
    if (c->n[WEFT_OP_F] != cells || backward != (c->forward_only ? 0 : cells) ||
        c->n[WEFT_OP_I] != c->n[WEFT_OP_W])
        return name_missing(c);
    if (c->last && c->last->flags & WEFT_OPF_PAIR)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "range: the last op of rank %d is marked '&' but has no next op",
                       c->rank);
    if (!c->s->lowered) return WEFT_OK;
    if (c->n_post != c->n_in || c->n_wait != c->n_in || c->n_send != c->n_out)
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "messages: rank %d has %lld POST_RECV, %lld WAIT, %lld SEND for "
                       "%lld inputs from and %lld results to other ranks",
                       c->rank, (long long)c->n_post, (long long)c->n_wait,
                       (long long)c->n_send, (long long)c->n_in, (long long)c->n_out);
    return WEFT_OK;
}

static weft_status scan_rank(scan *c, weft_schedule_report *report)
{
    const weft_schedule *s = c->s;
    for (int64_t i = 0, n = (int64_t)s->v * s->m; i < n; i++)
        c->state[i] = 0;
    for (int64_t i = s->first[c->rank]; i < s->first[c->rank + 1]; i++) {
        if (s->op[i].kind >= WEFT_OP_N_COMPUTE)
            WF_TRY(scan_comm(c, i));
        else if (wf_op_in_range(s, &s->op[i]))
            WF_TRY(scan_compute(c, i));
        else
            return wf_op_fail(s, c->rank, i);
    }
    WF_TRY(check_counts(c));
    for (int k = 0; k < WEFT_OP_N_COMPUTE; k++)
        report->n_compute += c->n[k];
    report->p2p_messages += c->n_out;
    report->peak_in_flight[c->rank] = c->forward_only ? 1 : c->peak;
    report->peak_in_flight_w[c->rank] = c->forward_only ? 1 : c->peak_w;
    return WEFT_OK;
}

static int is_forward_only(const weft_schedule *s)
{
    for (int64_t i = 0; i < s->first[s->p]; i++)
        if (s->op[i].kind == WEFT_OP_B || s->op[i].kind == WEFT_OP_I ||
            s->op[i].kind == WEFT_OP_W)
            return 0;
    return 1;
}

weft_status wf_check_lists(const weft_schedule *s, const wf_link *link,
                           weft_schedule_report *report)
{
    int64_t cells;
    uint16_t *state = NULL;
    WF_TRY(wf_cells(s, &cells));
    WF_TRY(WF_ALLOC(cells / s->p, &state));
    weft_status st = WEFT_OK;
    int forward_only = is_forward_only(s);
    for (int r = 0; r < s->p && st == WEFT_OK; r++) {
        scan c = {.s = s, .link = link, .state = state, .rank = r};
        c.forward_only = forward_only;
        st = scan_rank(&c, report);
    }
    wf_free(state);
    return st;
}
