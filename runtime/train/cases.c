/* SPDX-License-Identifier: Apache-2.0 */
/* All legal layouts up to a number of ranks, and a small set that covers all pairs. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "train/reference.h"

typedef struct list {
    weft_verify_case *item;
    int64_t n, cap;
} list;

static weft_status add(list *l, const weft_layout *layout)
{
    void *block = l->item;
    WF_TRY(wf_grow(&block, &l->cap, l->n + 1, sizeof *l->item));
    l->item = block;
    l->item[l->n++] = (weft_verify_case){*layout, weft_layout_world(layout)};
    return WEFT_OK;
}

/* Every kind of the schedule table trains but those without backward passes: NULL. */
static const char *runnable(int kind)
{
    const weft_schedule_kind *k = weft_schedule_kind_at(kind);
    return weft_schedule_kind_trains(k) ? weft_schedule_kind_name(k) : NULL;
}

static const char three[] = "1f1b,gpipe,interleaved";

/* Is the name in the list of names apart by commas? */
static int in_list(const char *names, const char *name)
{
    size_t n = strlen(name);

    if (!strcmp(names, "all")) return 1;
    for (const char *at = names; (at = strstr(at, name)); at++)
        if ((at == names || at[-1] == ',') && (at[n] == ',' || at[n] == 0)) return 1;
    return 0;
}

static const char *runnable_name(const void *ctx, int i)
{
    (void)ctx;
    return runnable(i) ? runnable(i) : "";
}

/* Every name of the list must be a kind that runs. */
static weft_status check_list(const char *names)
{
    const char *at = names;

    while (strcmp(names, "all") && *at) {
        char name[32];
        int n = (int)strcspn(at, ","), known = 0;
        snprintf(name, sizeof name, "%.*s", n, at);
        for (int k = 0; k < weft_schedule_kind_count(); k++)
            known |= runnable(k) && !strcmp(name, runnable(k));
        if (!known) {
            const char *near =
                wf_nearest(name, weft_schedule_kind_count(), runnable_name, NULL);
            return WF_FAIL(WEFT_E_INVALID, "--kinds: %s is no kind that runs%s%s", name,
                           near ? "; did you mean " : "", near ? near : "");
        }
        at += n + (at[n] == ',');
    }
    return WEFT_OK;
}

/* The layout with its schedule's own placement, and with every other that it takes. */
static weft_status add_placements(list *l, const weft_arch *a, weft_layout x)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(x.schedule);
    unsigned others = x.vpp > 1 ? weft_schedule_kind_placements(k) : 0;

    others &= ~(1u << weft_schedule_kind_placement(k, x.vpp));
    if (weft_layout_check(&x, a) == WEFT_OK) WF_TRY(add(l, &x));
    for (int i = 0; others >> i; i++) {
        if (!(others >> i & 1)) continue;
        snprintf(x.placement, sizeof x.placement, "%s",
                 weft_placement_name((weft_placement_kind)i));
        if (weft_layout_check(&x, a) == WEFT_OK) WF_TRY(add(l, &x));
    }
    return WEFT_OK;
}

/* All vpp, kinds, placements and m of one (tp, pp, dp). Legality is the layout table's to
 * say. */
static weft_status add_degrees(list *l, const char *kinds, const weft_arch *a,
                               weft_layout base, int max_micro)
{
    /* two pipelines in opposite directions hold each layer twice */
    for (int vpp = 1; vpp * base.pp <= 2 * a->layers; vpp++)
        for (int k = 0; k < weft_schedule_kind_count(); k++)
            for (int m = 1;
                 runnable(k) && in_list(kinds, runnable(k)) && m <= max_micro; m++) {
                weft_layout x = base;
                x.vpp = vpp;
                x.global_batch = (int64_t)m * x.dp * x.micro_batch;
                snprintf(x.schedule, sizeof x.schedule, "%s", runnable(k));
                WF_TRY(add_placements(l, a, x));
            }
    return WEFT_OK;
}

static weft_status enumerate(list *l, const char *kinds, const weft_arch *a,
                             int64_t seq, int max_world, int max_micro)
{
    weft_layout base;

    weft_layout_defaults(&base);
    base.cp = 1;
    base.micro_batch = 1;
    base.seq = seq;
    base.vocab_multiple =
        2; /* some padding at every tp, a shard of padding only at some */
    for (base.tp = 1; base.tp <= max_world; base.tp++)
        for (base.pp = 1; base.tp * base.pp <= max_world; base.pp++)
            for (base.dp = 1; base.tp * base.pp * base.dp <= max_world; base.dp++)
                WF_TRY(add_degrees(l, kinds, a, base, max_micro));
    return WEFT_OK;
}

/* The values of a case, each below 64, that pairs are formed of. */
enum { N_VALUES = 7, RANGE = 64 };

static void values(const weft_verify_case *c, int v[N_VALUES])
{
    int kind = 0;
    while (weft_schedule_kind_at(kind) != weft_schedule_kind_find(c->layout.schedule))
        kind++;
    int all[N_VALUES] = {c->layout.tp,
                         c->layout.pp,
                         c->layout.dp,
                         kind,
                         c->layout.vpp,
                         (int)weft_layout_n_micro(&c->layout),
                         weft_layout_schedule_options(&c->layout).placement};
    for (int i = 0; i < N_VALUES; i++)
        v[i] = all[i] % RANGE;
}

typedef unsigned char pair_table[N_VALUES][N_VALUES][RANGE][RANGE];

/* Marks the pairs of a case; returns how many were new. */
static int cover(pair_table seen, const weft_verify_case *c, int mark)
{
    int v[N_VALUES], fresh = 0;

    values(c, v);
    for (int i = 0; i < N_VALUES; i++)
        for (int j = i + 1; j < N_VALUES; j++) {
            fresh += !seen[i][j][v[i]][v[j]];
            if (mark) seen[i][j][v[i]][v[j]] = 1;
        }
    return fresh;
}

/* Greedy: always the case that covers most pairs not yet covered. */
static weft_status choose_covering(list *l)
{
    pair_table *seen = NULL;
    int64_t kept = 0;

    WF_TRY(wf_alloc(1, sizeof *seen, (void **)&seen));
    for (;;) {
        int64_t best = -1;
        int gain = 0;
        for (int64_t i = kept; i < l->n; i++) {
            int fresh = cover(*seen, &l->item[i], 0);
            if (fresh > gain) {
                gain = fresh;
                best = i;
            }
        }
        if (best < 0) break;
        cover(*seen, &l->item[best], 1);
        weft_verify_case t = l->item[kept];
        l->item[kept++] = l->item[best];
        l->item[best] = t;
    }
    l->n = kept;
    wf_free(seen);
    return WEFT_OK;
}

weft_status weft_verify_cases_of(const char *kinds, const weft_arch *arch, int64_t seq,
                                 int max_world, int max_micro, int covering,
                                 weft_verify_case **cases, int *n)
{
    list l = {0};

    if (!kinds) kinds = three;
    WF_TRY(check_list(kinds));
    weft_status st = enumerate(&l, kinds, arch, seq, max_world, max_micro);
    if (st == WEFT_OK && covering) st = choose_covering(&l);
    if (st != WEFT_OK) {
        wf_free(l.item);
        return st;
    }
    *cases = l.item;
    *n = (int)l.n;
    return WEFT_OK;
}

weft_status weft_verify_cases(const weft_arch *arch, int64_t seq, int max_world,
                              int max_micro, int covering, weft_verify_case **cases,
                              int *n)
{
    return weft_verify_cases_of(NULL, arch, seq, max_world, max_micro, covering, cases,
                                n);
}

void weft_verify_cases_free(weft_verify_case *cases)
{
    wf_free(cases);
}
