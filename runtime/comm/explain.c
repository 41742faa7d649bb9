/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a wait that took too long: what was waited for, and where those ranks are. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "comm/comm_impl.h"

enum { MAX_NAMED = 16, MAX_HOPS = 4 };

/* Ranks of one host have a status directory without being told; others need one that all
 * hosts see. */
static const char no_status_hint[] =
    " (--status-dir DIR, in a folder that all hosts share, makes it so)";

typedef struct text {
    char s[WF_WORDS];
    size_t n;
} text;

static void add(text *t, const char *fmt, ...) WEFT_PRINTF(2, 3);

static void add(text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    t->n += n < 0 ? 0 : (size_t)n;
    if (t->n >= sizeof t->s) t->n = sizeof t->s - 1;
}

static void add_ranks(text *t, const int *ranks, int n)
{
    add(t, n == 1 ? "rank" : "ranks");
    for (int i = 0; i < n && i < MAX_NAMED; i++)
        add(t, "%s %d", i ? "," : "", ranks[i]);
    if (n > MAX_NAMED) add(t, " and %d more", n - MAX_NAMED);
}

const char *wf_what(const wf_op *op, char *buf, int cap)
{
    const char *why = weft_purpose_name(op->why);
    if (op->group)
        snprintf(buf, (size_t)cap, "%s over %s", why, op->group->axes);
    else
        snprintf(buf, (size_t)cap, "%s, tag %lld", why, (long long)op->tag);
    return buf;
}

static int in_same_wait(const wf_place *p, const wf_op *op)
{
    return p->state == WF_WAITING && !*p->process && p->peer < 0 &&
           p->purpose == op->why && !strcmp(p->axes, op->group->axes);
}

/* From the boards: members that are not in the same wait, first those that wait for nobody
 * or cannot go on: one of them is where it began. -1: a member has no board. */
static int absent_by_board(weft_comm *c, const wf_op *op, int *ranks, int max)
{
    int n = 0, n_first = 0;
    for (int i = 0; i < op->group->n && n < max; i++) {
        wf_place p;
        int rank = op->group->ranks[i];
        if (i == op->group->me) continue;
        if (!wf_board_look(&c->board, rank, &p)) return -1;
        if (in_same_wait(&p, op)) continue;
        ranks[n++] = rank;
        if (p.state == WF_WAITING && !*p.process) continue;
        memmove(ranks + n_first + 1, ranks + n_first,
                (size_t)(n - 1 - n_first) * sizeof *ranks);
        ranks[n_first++] = rank;
    }
    return n;
}

/* The ranks waited for; 0 when nobody can be named. */
static int culprits(weft_comm *c, wf_op *op, int *ranks, int max)
{
    if (!op->group) {
        ranks[0] = op->peer;
        return 1;
    }
    int n = c->back->missing(c, op, ranks, max);
    return n < 0 ? absent_by_board(c, op, ranks, max) : n;
}

/* Ranks already spoken of. */
typedef struct named {
    int n, rank[MAX_NAMED];
} named;

static int name_once(named *k, int rank)
{
    for (int i = 0; i < k->n; i++)
        if (k->rank[i] == rank) return 0;
    if (k->n == MAX_NAMED) return 0;
    k->rank[k->n++] = rank;
    return 1;
}

/* Where a rank is, and if it waits for one rank, where that one is. */
static void add_chain(weft_comm *c, text *t, named *k, int rank)
{
    for (int hop = 0; hop < MAX_HOPS && name_once(k, rank); hop++) {
        wf_place p;
        char where[256];
        if (!wf_board_look(&c->board, rank, &p)) {
            add(t, "; no status of rank %d can be read here%s", rank, no_status_hint);
            return;
        }
        wf_place_text(&p, where, sizeof where);
        add(t, "; rank %d %s", rank, where);
        if (p.state != WF_WAITING || p.peer < 0) return;
        rank = p.peer;
    }
}

/* Waits lead on to waits in collectives, whose members may be many. Where the chain has not
 * come to a rank that waits for nobody, that rank is looked for among all: it is where
 * things began. */
static void add_cause(weft_comm *c, text *t, named *k)
{
    wf_place p;

    for (int i = 1; i < k->n; i++)
        if (wf_board_look(&c->board, k->rank[i], &p) && p.state != WF_WAITING) return;
    for (int rank = 0; rank < c->size; rank++)
        if (rank != c->rank && wf_board_look(&c->board, rank, &p) &&
            p.state != WF_WAITING)
            add_chain(c, t, k, rank);
}

weft_status wf_fail_timeout(weft_comm *c, wf_op *op, double since_s)
{
    int ranks[MAX_NAMED], max = MAX_NAMED, n = culprits(c, op, ranks, max);
    char what[96];
    text t = {.n = 0};
    named spoken = {.n = 1, .rank = {c->rank}};
    wf_place me;

    wf_board_look(&c->board, c->rank, &me);
    add(&t, "rank %d, step %lld%s%s: waited %.1f s", c->rank, (long long)me.step,
        *me.op ? ", op " : "", me.op, wf_now_s() - since_s);
    if (n > 0) {
        add(&t, " for ");
        add_ranks(&t, ranks, n);
    }
    add(&t, " (%s)", wf_what(op, what, sizeof what));
    if (op->group) {
        add(&t, " of ");
        add_ranks(&t, op->group->ranks, op->group->n);
    }
    if (op->group && n == 0) add(&t, "; all of them wait there");
    if (op->group && n < 0)
        add(&t, "; their status cannot be read here%s", no_status_hint);
    for (int i = 0; i < n && i < 2; i++)
        add_chain(c, &t, &spoken, ranks[i]);
    add_cause(c, &t, &spoken);
    return WF_FAIL(WEFT_E_TIMEOUT, "%s", t.s);
}

weft_status wf_check_lost(weft_comm *c)
{
    wf_place p;
    char where[256];
    int rank = wf_board_lost(&c->board, c->size, &p);

    if (rank < 0) return WEFT_OK;
    wf_place_text(&p, where, sizeof where);
    return WF_FAIL(WEFT_E_PEER, "lost rank %d (pid %lld): it %s", rank,
                   (long long)p.pid, where);
}
