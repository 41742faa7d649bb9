/* SPDX-License-Identifier: Apache-2.0 */
/* Links, pairs and updates of the weights as users type them. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/schedule.h"

/* ---- tiers of links ------------------------------------------------------------- */

typedef struct tiers {
    wf_schedule_numbers latency, bandwidth, ranks;
    double message_bytes;
} tiers;

static void clear(tiers *t)
{
    wf_free(t->latency.x);
    wf_free(t->bandwidth.x);
    wf_free(t->ranks.x);
}

static weft_status check_ranks(const wf_schedule_args *a, const wf_schedule_numbers *l)
{
    for (int64_t k = 0; k < l->n; k++) {
        double before = k ? l->x[k - 1] : 0;
        if (l->x[k] > before && l->x[k] <= 1 << 20 && l->x[k] == (int)l->x[k]) continue;
        return WF_FAIL(
            WEFT_E_INVALID,
            "--ranks-per-node %s: whole numbers of pipeline ranks, each above "
            "the one before",
            a->ranks_per_node);
    }
    return WEFT_OK;
}

static weft_status read_bandwidth(const wf_schedule_args *a, int64_t n,
                                  wf_schedule_units *u, tiers *t)
{
    if (!a->bandwidth != !a->message_bytes)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s needs %s beside it: a message takes its bytes / bandwidth",
                       a->bandwidth ? "--bandwidth" : "--message-bytes",
                       a->bandwidth ? "--message-bytes" : "--bandwidth");
    if (!a->bandwidth) return WEFT_OK;
    wf_schedule_numbers bytes = {0};
    WF_TRY(wf_schedule_numbers_read("--bandwidth", a->bandwidth, WF_BYTES_S, u,
                                    &t->bandwidth));
    WF_TRY(wf_schedule_spread("--bandwidth", "a kind of link each", n, &t->bandwidth));
    weft_status st = wf_schedule_numbers_read("--message-bytes", a->message_bytes,
                                              WF_BYTES, u, &bytes);
    if (st == WEFT_OK)
        st = wf_schedule_spread("--message-bytes", "for all messages", 1, &bytes);
    if (st == WEFT_OK) t->message_bytes = bytes.x[0];
    wf_free(bytes.x);
    return st;
}

/* All lists with one item a tier; the last tier is what --ranks-per-node leaves. */
static weft_status read_tiers(const wf_schedule_args *a, wf_schedule_units *u, tiers *t)
{
    WF_TRY(wf_schedule_numbers_read("--ranks-per-node", a->ranks_per_node, WF_PLAIN,
                                    NULL, &t->ranks));
    WF_TRY(check_ranks(a, &t->ranks));
    if (t->ranks.n && !a->latency && !a->bandwidth)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--ranks-per-node %s: with neither --latency nor --bandwidth all "
            "links are the same",
            a->ranks_per_node);
    WF_TRY(
        wf_schedule_numbers_read("--latency", a->latency, WF_SECONDS, u, &t->latency));
    if (!a->latency) WF_TRY(wf_schedule_push(&t->latency, 0));
    WF_TRY(wf_schedule_spread("--latency", "a kind of link each", t->ranks.n + 1,
                              &t->latency));
    return read_bandwidth(a, t->ranks.n + 1, u, t);
}

static weft_status set_tiers(const tiers *t, wf_schedule_costs *c)
{
    int n = (int)t->latency.n;
    c->costs.latency = t->latency.x[0];
    c->costs.message_bytes = t->message_bytes;
    if (n == 1 && !t->bandwidth.n) return WEFT_OK; /* the short way */
    WF_TRY(WF_ALLOC(n, &c->tier));
    for (int k = 0; k < n; k++)
        c->tier[k] =
            (weft_link_tier){.ranks = k < n - 1 ? (int)t->ranks.x[k] : 0,
                             .latency = t->latency.x[k],
                             .bandwidth = t->bandwidth.n ? t->bandwidth.x[k] : 0};
    c->costs.tier = c->tier;
    c->costs.n_tiers = n;
    return WEFT_OK;
}

weft_status wf_schedule_search_links(const wf_schedule_args *a, wf_schedule_units *u,
                                     weft_schedule_options *opt, weft_link_tier **tier)
{
    tiers t = {.message_bytes = 0};
    wf_schedule_costs c = {.parts = 1};
    weft_status st = read_tiers(a, u, &t);
    if (st == WEFT_OK) st = set_tiers(&t, &c);
    clear(&t);
    WF_TRY(st);
    opt->latency = c.costs.latency;
    opt->n_tiers = c.costs.n_tiers;
    opt->tier = *tier = c.tier;
    opt->message_bytes = c.costs.message_bytes;
    return WEFT_OK;
}

/* ---- pairs and updates ---------------------------------------------------------- */

/* Like the times of ops, that of a pair is of a full stage or of one op. */
static weft_status read_overlap(const wf_schedule_args *a, int p, wf_schedule_units *u,
                                wf_schedule_costs *c)
{
    wf_schedule_numbers *l = &c->pair;
    int atomic = a->overlap ? !strcmp(a->overlap, "atomic") : a->overlap_cost != NULL;
    c->costs.overlap = atomic ? WEFT_OVERLAP_ATOMIC : WEFT_OVERLAP_SERIAL;
    if (!a->overlap_cost) return WEFT_OK;
    WF_TRY(
        wf_schedule_numbers_read("--overlap-cost", a->overlap_cost, WF_SECONDS, u, l));
    WF_TRY(wf_schedule_spread("--overlap-cost", "a rank each", p, l));
    for (int64_t k = 0; k < l->n; k++)
        if (!(l->x[k] > 0))
            return WF_FAIL(WEFT_E_INVALID, "--overlap-cost %s: a pair takes some time",
                           a->overlap_cost);
    c->costs.overlap_by_rank = l->x;
    return WEFT_OK;
}

static weft_status read_optimizer(const wf_schedule_args *a, int p,
                                  wf_schedule_units *u, wf_schedule_costs *c)
{
    if (!a->optimizer) return WEFT_OK;
    WF_TRY(wf_schedule_numbers_read("--optimizer", a->optimizer, WF_SECONDS, u,
                                    &c->optimizer));
    return wf_schedule_spread("--optimizer", "a rank each", p, &c->optimizer);
}

weft_status wf_schedule_links_read(const wf_schedule_args *a, const weft_schedule *s,
                                   wf_schedule_units *u, wf_schedule_costs *out)
{
    tiers t = {.message_bytes = 0};
    weft_status st = read_tiers(a, u, &t);
    if (st == WEFT_OK) st = set_tiers(&t, out);
    clear(&t);
    WF_TRY(st);
    if (a->messages && !strcmp(a->messages, "blocking"))
        out->costs.messages = WEFT_MESSAGES_BLOCKING;
    WF_TRY(read_overlap(a, s->p, u, out));
    return read_optimizer(a, s->p, u, out);
}
