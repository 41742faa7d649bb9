/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of `weft schedule list` trains as one rank does, in f64: on 2, 3 and 4 ranks,
 * with every number of chunks up to 4 on every placement that it takes, from its least
 * number of micro-batches to 2p+1.
 * --every N: only each N-th of these, for the short run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/lab.h"

#define MODEL "layers=16,hidden=8,heads=2,ffn=16,vocab=21,positions=4"

enum { LEAST_P = 2, MOST_P = 4, MOST_V = 4, STEPS = 2 };
static int every = 1;

typedef struct lab {
    lab_verify v;
    weft_data *data;
    weft_reference *ref[64], *delayed; /* by global batch; of the last pipedream */
    double worst;
    int n, met, all; /* layouts that ran; that are legal, on this p; in all */
} lab;

static void lab_open(lab *l, const char *model)
{
    *l = (lab){.n = 0};
    lab_base(&l->v.cfg, model);
    MUST(weft_data_random(l->v.cfg.arch.vocab, l->v.cfg.arch.positions, 600, 7, 1,
                          &l->data));
    l->v.data = l->data;
}

static void lab_close(lab *l)
{
    for (int i = 0; i < 64; i++)
        weft_reference_destroy(l->ref[i]);
    weft_reference_destroy(l->delayed);
    weft_data_destroy(l->data);
}

static int is_delayed(const char *kind)
{
    return weft_schedule_kind_asynchronous(weft_schedule_kind_find(kind));
}

static const weft_reference *reference(lab *l)
{
    const weft_layout *x = &l->v.cfg.layout;
    weft_reference **slot =
        is_delayed(x->schedule) ? &l->delayed : &l->ref[x->global_batch];

    if (*slot && weft_reference_check(*slot, x) != WEFT_OK) {
        weft_reference_destroy(*slot);
        *slot = NULL;
    }
    if (!*slot) MUST(weft_reference_create(&l->v.cfg, l->data, STEPS, slot));
    return *slot;
}

/* The layout in l->v.cfg. */
static void trains_alike(lab *l)
{
    int tied = l->v.cfg.arch.tied;

    if (is_delayed(l->v.cfg.layout.schedule)) l->v.cfg.arch.tied = 0;
    l->v.ref = reference(l);
    if (lab_verify_run(&l->v))
        fail_msg("%s: %s", lab_text(&l->v.cfg.layout), weft_status_message());
    if (!l->v.report.equal)
        fail_msg("%s: %s differs by %.3g of what is allowed",
                 lab_text(&l->v.cfg.layout), l->v.report.worst_at, l->v.report.worst);
    l->worst = fmax(l->worst, l->v.report.worst);
    l->n++;
    weft_verify_report_clear(&l->v.report);
    l->v.cfg.arch.tied = tied;
}

static weft_layout layout_of(const char *kind, const char *placement, int p, int v,
                             int m, int group)
{
    weft_layout x;

    weft_layout_defaults(&x);
    x.tp = x.cp = x.dp = 1;
    x.pp = p;
    x.vpp = v;
    x.group = group;
    x.seq = 4;
    x.vocab_multiple = 2;
    x.global_batch = m;
    snprintf(x.schedule, sizeof x.schedule, "%s", kind);
    snprintf(x.placement, sizeof x.placement, "%s", placement);
    strcpy(x.stage_layers, "balanced");
    return x;
}

/* Numbers of micro-batches up to 2p+1 that each kind takes, stated again: those from
 * `least` that are a multiple of `unit`. A number of chunks that is not here: none. */
typedef struct range {
    const char *kind, *placement, *chunks; /* which of 1 2 3 4 */
    int even_p, least_in_p, unit_in_p, unit;
} range;

static const range ranges[] = {
    {"gpipe", "auto", "1", 0, 0, 0, 1},
    {"1f1b", "auto", "1", 0, 0, 0, 1},
    {"eager-1f1b", "auto", "1", 0, 0, 0, 1},
    {"interleaved", "auto", "234", 0, 0, 0, 1},
    {"looped-bfs", "auto", "1234", 0, 0, 0, 1},
    {"zb-h1", "auto", "1", 0, 0, 0, 1},
    {"zb-h2", "auto", "1", 0, 0, 0, 1},
    {"zb-v", "auto", "2", 0, 0, 0, 1},
    {"zb-auto", "auto", "12", 0, 0, 0, 1},
    {"zb-auto", "loop", "", 0, 0, 0, 1},
    {"zb-auto", "v", "2", 0, 0, 0, 1},
    {"interleaved-zb", "auto", "1234", 0, 0, 0, 1},
    {"v-half", "auto", "2", 0, 0, 0, 1},
    {"v-min", "auto", "2", 0, 0, 0, 1},
    {"1f1b-v", "auto", "2", 0, 0, 0, 1},
    {"dualpipe", "auto", "2", 1, 2, 0, 2},
    {"dualpipev", "auto", "2", 0, 2, 0, 1},
    {"chimera", "auto", "2", 1, 1, 1, 0},
    {"bitpipe", "auto", "4", 1, 1, 1, 0},
    {"hanayo", "auto", "24", 0, 0, 0, 1},
    {"pipedream", "auto", "1", 0, 0, 0, 1},
    {"optimal", "auto", "1234", 0, 0, 0, 1},
    {"optimal", "single", "1", 0, 0, 0, 1},
    {"optimal", "loop", "1234", 0, 0, 0, 1},
    {"optimal", "v", "24", 0, 0, 0, 1},
};
enum { N_RANGES = sizeof ranges / sizeof *ranges };

/* Does the layout say what its schedule would do by itself? That is tried without. */
static int says_nothing(const weft_layout *x)
{
    weft_layout own = *x;
    strcpy(own.placement, "auto");
    return strcmp(x->placement, "auto") &&
           weft_layout_schedule_options(x).placement ==
               weft_layout_schedule_options(&own).placement;
}

/* 1: legal, and tried unless it is not its turn. */
static int try_one(lab *l, const range *r, int p, int v, int m, int group)
{
    l->v.cfg.layout = layout_of(r->kind, r->placement, p, v, m, group);
    if (weft_layout_check(&l->v.cfg.layout, &l->v.cfg.arch) != WEFT_OK) return 0;
    if (!says_nothing(&l->v.cfg.layout) && l->met++ % every == 0) trains_alike(l);
    return 1;
}

/* From 1 to 2p+1 micro-batches. Returns how many numbers are legal. */
static int try_all_m(lab *l, const range *r, int p, int v)
{
    int n = 0;

    for (int m = 1; m <= 2 * p + 1; m++) {
        int legal = try_one(l, r, p, v, m, 0);
        for (int group = 1; group <= m; group++)
            legal |= try_one(l, r, p, v, m, group);
        n += legal;
    }
    return n;
}

static int numbers(const range *r, int p, int v)
{
    int n = 0, unit = r->unit + r->unit_in_p * p;

    if (!strchr(r->chunks, '0' + v) || (r->even_p && p % 2)) return 0;
    for (int m = 1; m <= 2 * p + 1; m++)
        n += m >= r->least_in_p * p && m % unit == 0;
    return n;
}

static void try_kind(lab *l, const range *r)
{
    double before = l->worst;
    int n = l->n;

    l->worst = 0;
    for (int p = LEAST_P; p <= MOST_P; p++, l->all += l->met, l->met = 0)
        for (int v = 1; v <= MOST_V; v++) {
            int found = try_all_m(l, r, p, v);
            if (found != numbers(r, p, v))
                fail_msg("%s, placement %s, on %d ranks of %d chunks: %d numbers of "
                         "micro-batches run, not %d",
                         r->kind, r->placement, p, v, found, numbers(r, p, v));
        }
    if (l->n > n)
        print_message("%-14s %-5s %4d layouts, largest difference %.3g of what is "
                      "allowed\n",
                      r->kind, r->placement, l->n - n, l->worst);
    l->worst = fmax(l->worst, before);
}

static void every_kind_trains_as_one_rank_does(void **state)
{
    lab l;
    (void)state;
    lab_open(&l, MODEL);
    for (int i = 0; i < N_RANGES; i++)
        try_kind(&l, &ranges[i]);
    print_message("%d of %d layouts, largest difference %.3g of what is allowed\n", l.n,
                  l.all, l.worst);
    lab_close(&l);
}

static void the_table_of_kinds_has_no_other_kind_or_placement_that_trains(void **state)
{
    int n = 0;
    (void)state;
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        unsigned left = weft_schedule_kind_placements(k);
        int known = !weft_schedule_kind_trains(k);
        for (int j = 0; j < N_RANGES; j++) {
            weft_placement_kind place;
            if (strcmp(ranges[j].kind, weft_schedule_kind_name(k))) continue;
            known = 1;
            n++;
            if (weft_placement_find(ranges[j].placement, &place) == WEFT_OK)
                left &= ~(1u << place);
        }
        left &= ~1u; /* single: auto with one chunk */
        if (!known || left)
            fail_msg("%s is not tried, or a placement of it",
                     weft_schedule_kind_name(k));
    }
    assert_int_equal(n, N_RANGES);
}

static void try_texts(const char *model, int n, const char *const *layouts)
{
    lab l;

    lab_open(&l, model);
    for (int i = 0; i<n; i += every> 10 ? 3 : 1) { /* slow builds: some */
        lab_layout(&l.v.cfg, layouts[i]);
        trains_alike(&l);
    }
    print_message("%d layouts, largest difference %.3g of what is allowed\n", l.n,
                  l.worst);
    lab_close(&l);
}

/* Sums over copies and replicas at once, shards beside them, axes in other orders. */
static void two_copies_and_versions_go_with_tensor_and_data_parallelism(void **state)
{
    static const char *const layouts[] = {
        "pp=2 dp=3 vpp=2 m=2 schedule=chimera",
        "pp=4 dp=2 vpp=2 m=4 schedule=chimera",
        "pp=4 dp=2 vpp=2 m=8 schedule=dualpipe order=dp,pp,tp,cp",
        "tp=2 pp=4 vpp=2 m=8 schedule=dualpipe",
        "tp=2 pp=2 dp=2 vpp=2 m=4 schedule=chimera order=pp,dp,tp,cp",
        "tp=2 pp=2 dp=2 vpp=4 m=4 schedule=bitpipe micro_batch=2",
        "pp=4 dp=2 vpp=4 m=8 schedule=bitpipe order=pp,tp,cp,dp",
        "tp=2 pp=2 dp=2 vpp=2 m=5 schedule=dualpipev",
        "tp=2 pp=2 dp=2 m=5 schedule=pipedream",
        "pp=4 dp=2 m=9 schedule=pipedream order=dp,pp,tp,cp micro_batch=2",
        "tp=2 pp=3 m=7 schedule=pipedream stage_layers=9,3,4",
        "pp=2 vpp=2 m=4 schedule=chimera stage_layers=0,16",
        "tp=2 pp=2 dp=2 vpp=3 m=4 schedule=optimal stage_layers=balanced",
        "pp=3 dp=2 vpp=2 m=5 schedule=optimal placement=loop stage_layers=balanced",
        "tp=2 pp=3 vpp=2 m=4 schedule=zb-auto placement=v stage_layers=balanced"};
    (void)state;
    try_texts(MODEL, sizeof layouts / sizeof *layouts, layouts);
}

/* The embedding is held by both ends: on one rank under a V, on two ranks twice where two
 * pipelines meet; nothing but its sum makes the difference to a model without. */
static void tied_or_not_the_ends_agree(void **state)
{
    static const char *const layouts[] = {
        "pp=2 vpp=2 m=3 schedule=zb-v",
        "pp=4 vpp=2 m=5 schedule=v-half",
        "pp=4 vpp=2 m=8 schedule=dualpipev",
        "pp=2 vpp=4 m=3 schedule=hanayo",
        "pp=2 vpp=2 m=2 schedule=chimera",
        "pp=4 vpp=2 m=4 schedule=chimera",
        "pp=4 vpp=2 m=8 schedule=dualpipe",
        "pp=2 vpp=4 m=2 schedule=bitpipe",
        "pp=4 vpp=4 dp=2 m=4 schedule=bitpipe",
        "pp=2 vpp=2 m=3 schedule=optimal",
        "pp=2 vpp=2 m=3 schedule=optimal placement=loop",
        "pp=3 vpp=3 m=4 schedule=optimal stage_layers=balanced"};
    (void)state;
    try_texts(MODEL, sizeof layouts / sizeof *layouts, layouts);
    try_texts(MODEL ",tied=0", sizeof layouts / sizeof *layouts, layouts);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_kinds_has_no_other_kind_or_placement_that_trains),
        cmocka_unit_test(every_kind_trains_as_one_rank_does),
        cmocka_unit_test(two_copies_and_versions_go_with_tensor_and_data_parallelism),
        cmocka_unit_test(tied_or_not_the_ends_agree)};

    if (argc == 3 && !strcmp(argv[1], "--every")) every = atoi(argv[2]);
    return cmocka_run_group_tests_name("kinds of schedules", tests, NULL, NULL);
}
