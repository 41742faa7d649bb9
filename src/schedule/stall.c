/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "schedule/walk.h"

enum { LINKS_SHOWN = 8 };

typedef struct text {
    char s[900];
    size_t n;
} text;

static void add(text *t, const char *piece)
{
    size_t len = strlen(piece);
    if (t->n + len >= sizeof t->s) return;
    memcpy(t->s + t->n, piece, len + 1);
    t->n += len;
}

static void add_link(text *t, const wf_blocked *b, int rank, int first)
{
    char at[WF_OP_TEXT], want[WF_OP_TEXT], line[128];
    wf_op_text(&b[rank].at, at);
    wf_op_text(&b[rank].want, want);
    snprintf(line, sizeof line, "%srank %d at %s waits for %s of rank %d",
             first ? "" : "; ", rank, at, want, b[rank].on);
    add(t, line);
}

/* The cycle that the chain of waits from `rank` runs into, or the rank where it ends. */
static int chain_end(const wf_blocked *b, int rank, int p)
{
    for (int i = 0; i < p && b[rank].on >= 0 && b[b[rank].on].on >= 0; i++)
        rank = b[rank].on;
    return rank;
}

static int cycle_length(const wf_blocked *b, int start)
{
    int n = 0, r = start;
    do {
        r = b[r].on;
        n++;
    } while (r != start);
    return n;
}

weft_status wf_stall(const wf_blocked *b, int p)
{
    text t = {"", 0};
    int start = 0;
    while (b[start].on < 0)
        start++;
    start = chain_end(b, start, p);
    if (b[start].on == start) {
        add_link(&t, b, start, 1);
        return WF_FAIL(WEFT_E_INFEASIBLE,
                       "deadlock: %s itself, whose list has it later or never", t.s);
    }
    if (b[b[start].on].on < 0) {
        add_link(&t, b, start, 1);
        return WF_FAIL(WEFT_E_INFEASIBLE, "deadlock: %s, which never comes to it", t.s);
    }
    int n = cycle_length(b, start), shown = n < LINKS_SHOWN ? n : LINKS_SHOWN;
    for (int i = 0, r = start; i < shown; i++, r = b[r].on)
        add_link(&t, b, r, i == 0);
    if (shown < n) add(&t, "; and so on round");
    return WF_FAIL(WEFT_E_INFEASIBLE, "deadlock: %s (a cycle of %d ranks)", t.s, n);
}
