/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB automatic: a zero-bubble schedule found for given times of F, I, W and a message on
 * each link, and a limit of what a rank may hold.
 *
 *     p = 3, m = 6, tf = ti = tw = 1   (F as digits, I as a b c, W as A B C)
 *
 *     0 1 2 3 4 a A 5 b B c C d D e E f F . .
 *     . 0 1 2 a 3 b 4 c A 5 d B e C f D E F .
 *     . . 0 a 1 b 2 c 3 d 4 e A 5 f B C D E F
 *
 * Runs of squeeze.h along several blocks, of which the best is taken:
 *
 *   one stage per rank  1F1B with the warm-up of 1F1B, of ZB-H2, and one more
 *   a V                 the steady part of ZB-V, and the blocks of V-Half and V-Min
 *
 * each with the W's in every wait, in waits that leave room for half of one, or for all
 * of it; and with an activation counted half or whole from I to W. Where a written-out
 * kind (zb-h1, zb-h2, zb-v, v-half, v-min) keeps the limit and is better, it is taken.
 * The search of the paper's authors has other rules to the same end.
 *
 * The limit counts an activation whole until I and half from there to W, in forwards of
 * a full stage; a chunk of a V is half of one. 2m(p-1) messages, twice that on a V; no
 * closed forms.
 */
#include <limits.h>
#include <stdio.h>

#include "base/alloc.h"
#include "schedule/eval.h"
#include "schedule/kinds/vblock.h"

extern const weft_schedule_kind wf_kind_zb_h1, wf_kind_zb_h2, wf_kind_zb_v,
    wf_kind_v_half, wf_kind_v_min;

/* The limit in halves of a chunk activation; by itself that of ZB-H2 or ZB-V. */
static int64_t limit_of(const weft_schedule *q, const weft_schedule_options *opt)
{
    double own = q->v == 1 ? 2 * (double)q->p : q->p;
    double forwards = opt->mem_limit > 0 ? opt->mem_limit : own;
    double halves = 2 * forwards * q->v, most = 2.0 * q->m * q->v;
    return (int64_t)(halves < most ? halves * (1 + 1e-12) : most);
}

/* Least limit in chunk activations. */
static int64_t least_of(const weft_schedule *q)
{
    return q->v == 1 ? 1 : wf_least(wf_v_min_peak(q->p), (int64_t)q->m * q->v);
}

static weft_status check_times(const weft_schedule_options *opt)
{
    const struct {
        const char *flag;
        double t;
    } all[] = {{"--tf", opt->tf},
               {"--ti", opt->ti},
               {"--tw", opt->tw},
               {"--latency", opt->latency}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(all[i].t >= 0 && all[i].t < 1e300))
            return WF_FAIL(WEFT_E_INVALID, "%s %g: a time is at least 0", all[i].flag,
                           all[i].t);
    return WEFT_OK;
}

static weft_status applicable(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = opt->placement;
    if (opt->placement != WEFT_PLACE_SINGLE && opt->placement != WEFT_PLACE_V)
        return WF_FAIL(WEFT_E_INVALID, "--placement %s: zb-auto knows single and v",
                       weft_placement_name(opt->placement));
    WF_TRY(opt->placement == WEFT_PLACE_V
               ? wf_need_chunks(q, 2, "two chunks per rank with --placement v")
               : wf_need_chunks(q, 1, "one stage per rank with --placement single"));
    WF_TRY(check_times(opt));
    WF_TRY(wf_check_links(q, &(weft_costs){.n_tiers = opt->n_tiers,
                                           .tier = opt->tier,
                                           .message_bytes = opt->message_bytes}));
    if (!(opt->mem_limit >= 0))
        return WF_FAIL(WEFT_E_INVALID, "--mem-limit %g: forwards that a rank may hold",
                       opt->mem_limit);
    if (limit_of(q, opt) >= 2 * least_of(q)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "--mem-limit %g: zb-auto needs room for %g forwards of a full stage "
                   "with -p %d%s",
                   opt->mem_limit, (double)least_of(q) / q->v, q->p,
                   q->v == 2 ? " on a V (that of v-min)" : "");
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 3 * (int64_t)q->m * q->v;
}

/* ---- blocks --------------------------------------------------------------------- */

enum { SINGLE_PERIOD = 2, ZB_V_PERIOD = 4, SINGLE_BLOCKS = 2, MOST_BLOCKS = 3 };

/* F(i), then I of w micro-batches before. */
static void single_block(const weft_schedule *s, int rank, int warm_up, int64_t limit,
                         wf_block *b)
{
    int64_t w[] = {s->p - rank, 2 * (s->p - rank) - 1};
    int64_t back = 2 * wf_least(w[warm_up], limit) - 1;
    *b = (wf_block){.slot = {{0, back, back}}};
}

/* The steady part of ZB-V: F of chunk 0, I of chunk 0, F and I of chunk 1. */
static void zb_v_block(int64_t p, wf_block *block)
{
    for (int64_t r = 0; r < p; r++)
        block[r] = (wf_block){.slot = {{-4 * (2 * p - r - 1), 1, 1},
                                       {2 - 4 * p, 3 - 4 * (p - r), 3 - 4 * (p - r)}}};
}

/* ---- the search ----------------------------------------------------------------- */

/* How to run along a block. */
typedef struct rule {
    int block, ahead, keep;
    wf_fill fill;
} rule;

/* Those of all combinations that are the best somewhere, more often first: a late one ends
 * as soon as it is sure to be later. Of 1024 cases (p = 2..16, m = p..4p, eight sets of
 * times, four limits) the first list has the shortest schedule in all, the second in 96 %
 * and within 1.1 % in the others; keep = 2 holds less where the time is the same. */
static const rule single_rules[] = {
    {0, 1, 1, WF_FILL_HALF},   {1, 1, 1, WF_FILL_HALF},   {0, 1, 1, WF_FILL_FIT},
    {0, 0, 2, WF_FILL_FIT},    {1, 1, 1, WF_FILL_ALWAYS}, {0, 1, 1, WF_FILL_ALWAYS},
    {0, 1, 2, WF_FILL_FIT},    {1, 1, 2, WF_FILL_ALWAYS}, {1, 0, 1, WF_FILL_HALF},
    {0, 0, 1, WF_FILL_ALWAYS}, {0, 1, 2, WF_FILL_ALWAYS}, {1, 0, 1, WF_FILL_ALWAYS}};
static const rule v_rules[] = {
    {1, 8, 1, WF_FILL_ALWAYS}, {0, 8, 1, WF_FILL_FIT},    {0, 0, 1, WF_FILL_ALWAYS},
    {0, 8, 1, WF_FILL_ALWAYS}, {1, 8, 1, WF_FILL_FIT},    {0, 1, 1, WF_FILL_FIT},
    {0, 8, 2, WF_FILL_FIT},    {1, 4, 1, WF_FILL_FIT},    {0, 2, 1, WF_FILL_ALWAYS},
    {0, 2, 1, WF_FILL_FIT},    {0, 4, 1, WF_FILL_FIT},    {2, 8, 1, WF_FILL_ALWAYS},
    {1, 2, 1, WF_FILL_ALWAYS}, {0, 8, 2, WF_FILL_ALWAYS}, {1, 8, 2, WF_FILL_ALWAYS},
    {0, 0, 2, WF_FILL_ALWAYS}, {0, 0, 2, WF_FILL_FIT}};

enum {
    SINGLE_RULES = sizeof single_rules / sizeof *single_rules,
    V_RULES = sizeof v_rules / sizeof *v_rules
};

typedef struct plan {
    wf_block *block; /* [MOST_BLOCKS][p] */
    wf_try tries[SINGLE_RULES > V_RULES ? SINGLE_RULES : V_RULES];
    int n, v;
} plan;

static void add_tries(plan *x, int p, const rule *rules, int n)
{
    for (int i = 0; i < n; i++) {
        int steady = x->v == 2 && rules[i].block == 0;
        x->tries[x->n++] = (wf_try){.block = x->block + (int64_t)rules[i].block * p,
                                    .period = x->v == 1 ? SINGLE_PERIOD
                                              : steady  ? ZB_V_PERIOD
                                                        : WF_V_PERIOD,
                                    .ahead = rules[i].ahead,
                                    .start = INT_MAX,
                                    .keep = rules[i].keep,
                                    .fill = rules[i].fill};
    }
}

static void plan_single(const weft_schedule *s, int64_t limit, plan *x)
{
    for (int k = 0; k < SINGLE_BLOCKS; k++)
        for (int r = 0; r < s->p; r++)
            single_block(s, r, k, limit, &x->block[(int64_t)k * s->p + r]);
    add_tries(x, s->p, single_rules, SINGLE_RULES);
}

static void plan_v(const weft_schedule *s, plan *x)
{
    zb_v_block(s->p, x->block);
    wf_v_half_block(s->p, x->block + s->p);
    wf_v_min_block(s->p, x->block + 2 * (int64_t)s->p);
    add_tries(x, s->p, v_rules, V_RULES);
}

static weft_status compare_kind(const weft_schedule_kind *k, const wf_search *x,
                                const weft_schedule *s, wf_score *own)
{
    const wf_times t = {x->dur[WF_FORWARD] * s->v, 0, x->dur[WF_BACK] * s->v,
                        x->dur[WF_WEIGHT] * s->v};
    weft_schedule other;
    /* A closed form is without latency, so the least that it takes. NaN: not known. */
    if (k->makespan && k->makespan(s, &t) > own->makespan + wf_rounding(x))
        return WEFT_OK;
    WF_TRY(wf_schedule_generate(k, s, NULL, &other));
    weft_status st = wf_search_take(x, &other, s, own);
    weft_schedule_clear(&other);
    return st;
}

/* No written-out kind that keeps the limit is better. V-Half and V-Min, searched
 * themselves, are not where ZB-V keeps it too: not in 4320 cases (p = 2..32, m = p..8p). */
static weft_status compare_kinds(const wf_search *x, const weft_schedule *s,
                                 wf_score *own)
{
    if (s->v == 1) {
        WF_TRY(compare_kind(&wf_kind_zb_h1, x, s, own));
        return compare_kind(&wf_kind_zb_h2, x, s, own);
    }
    WF_TRY(compare_kind(&wf_kind_zb_v, x, s, own));
    if (x->limit >= 4 * wf_least(s->p, s->m)) return WEFT_OK;
    WF_TRY(compare_kind(&wf_kind_v_half, x, s, own));
    return compare_kind(&wf_kind_v_min, x, s, own);
}

/* Links of several kinds, in times v as long as those of a chunk, as the others. */
typedef struct links {
    weft_costs costs;
    weft_link_tier *tier;
    double *hop;
} links;

static weft_status links_of(const weft_schedule *s, const weft_schedule_options *opt,
                            links *x)
{
    x->costs =
        (weft_costs){.n_tiers = opt->n_tiers, .message_bytes = opt->message_bytes};
    WF_TRY(WF_ALLOC(opt->n_tiers, &x->tier));
    WF_TRY(WF_ALLOC(s->p, &x->hop));
    for (int k = 0; k < opt->n_tiers; k++)
        x->tier[k] = (weft_link_tier){.ranks = opt->tier[k].ranks,
                                      .latency = opt->tier[k].latency * s->v,
                                      .bandwidth = opt->tier[k].bandwidth / s->v};
    x->costs.tier = x->tier;
    for (int r = 0; r + 1 < s->p; r++) {
        wf_wire w = wf_wire_between(&x->costs, r, r + 1);
        x->hop[r] = w.latency + w.gap;
    }
    return WEFT_OK;
}

static weft_status search_blocks(const weft_schedule *s, wf_search *search)
{
    plan x = {.v = s->v};
    wf_score own;
    WF_TRY(WF_ALLOC(MOST_BLOCKS * (int64_t)s->p, &x.block));
    if (s->v == 1)
        plan_single(s, search->limit / 2, &x);
    else
        plan_v(s, &x);
    search->tries = x.tries;
    search->n_tries = x.n;
    weft_status st = wf_search_run(search, s, &own);
    wf_free(x.block);
    return st == WEFT_OK ? compare_kinds(search, s, &own) : st;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    links own = {.hop = NULL};
    int given = opt->tf > 0 || opt->ti > 0 || opt->tw > 0;
    wf_search search = {.split = 1,
                        .latency = opt->latency * s->v,
                        .judged_latency = opt->latency * s->v,
                        .limit = limit_of(s, opt),
                        .sample = (s->v == 1 ? 4 : 3) * (int64_t)s->p};
    const double dur[] = {opt->tf, opt->ti, opt->tw};
    for (int i = 0; i < WF_N_PARTS; i++) /* in times v as long as those of a chunk */
        search.dur[i] = given ? dur[i] : 1;
    weft_status st = opt->n_tiers ? links_of(s, opt, &own) : WEFT_OK;
    if (opt->n_tiers) {
        search.hop = own.hop;
        search.links = &own.costs;
    }
    if (st == WEFT_OK) st = search_blocks(s, &search);
    wf_free(own.tier);
    wf_free(own.hop);
    return st;
}

const weft_schedule_kind wf_kind_zb_auto = {
    .name = "zb-auto",
    .summary =
        "zero bubble found for given times and --mem-limit, --placement single or v",
    .source = "Qi et al. 2024, Zero Bubble Pipeline Parallelism",
    .splits = 1,
    .searched = 1,
    .places = 1 << WEFT_PLACE_SINGLE | 1 << WEFT_PLACE_V,
    .applicable = applicable,
    .count = count,
    .generate = generate,
};
