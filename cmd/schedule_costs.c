/* SPDX-License-Identifier: Apache-2.0 */
/* Costs as users type them: full-stage times, lists per stage, with or without a
 * unit. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/schedule.h"

/* The scalar, else what stands for it. A default counts as typed without a unit. */
static weft_status scalar(const char *flag, const char *text, const char *preset,
                          wf_schedule_units *u, double *out)
{
    return wf_schedule_time(flag, text ? text : preset, u, out);
}

typedef struct times {
    double f, b, i, w;
} times;

static weft_status read_times(const wf_schedule_args *a, wf_schedule_units *u, times *t)
{
    WF_TRY(scalar("--tf", a->tf, "1", u, &t->f));
    if (a->ti) WF_TRY(wf_schedule_time("--ti", a->ti, u, &t->i));
    if (a->tw) WF_TRY(wf_schedule_time("--tw", a->tw, u, &t->w));
    if (!a->tb && a->ti && a->tw) {
        t->b = t->i + t->w; /* an unsplit backward is both halves */
        return WEFT_OK;
    }
    WF_TRY(scalar("--tb", a->tb, "2", u, &t->b));
    if (!a->ti) t->i = t->b / 2;
    if (!a->tw) t->w = t->b / 2;
    return WEFT_OK;
}

/* ---- lists per stage ------------------------------------------------------------ */

typedef struct lists {
    wf_schedule_numbers f, b, i, w;
} lists;

static weft_status read_lists(const wf_schedule_args *a, wf_schedule_units *u, lists *l)
{
    WF_TRY(wf_schedule_numbers_read("--stage-tf", a->stage_tf, WF_SECONDS, u, &l->f));
    WF_TRY(wf_schedule_numbers_read("--stage-tb", a->stage_tb, WF_SECONDS, u, &l->b));
    WF_TRY(wf_schedule_numbers_read("--stage-ti", a->stage_ti, WF_SECONDS, u, &l->i));
    return wf_schedule_numbers_read("--stage-tw", a->stage_tw, WF_SECONDS, u, &l->w);
}

/* A list that was not given follows one that was, in the proportion of the scalars. */
static weft_status follow(wf_schedule_numbers *l, const wf_schedule_numbers *from,
                          double mine, double its, const char *flag)
{
    if (l->n || !from->n) return WEFT_OK;
    if (!(its > 0))
        return WF_FAIL(WEFT_E_INVALID,
                       "%s is needed: there is no proportion to a cost of 0", flag);
    for (int64_t k = 0; k < from->n; k++)
        WF_TRY(wf_schedule_push(l, from->x[k] * mine / its));
    return WEFT_OK;
}

static weft_status same_length(const char *flag, const wf_schedule_numbers *l,
                               int64_t n)
{
    if (l->n == n) return WEFT_OK;
    return WF_FAIL(WEFT_E_MISMATCH, "%s has %lld times, another list has %lld", flag,
                   (long long)l->n, (long long)n);
}

static weft_status complete(lists *l, const times *t)
{
    if (!l->f.n && !l->b.n)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--stage-ti and --stage-tw need --stage-tf or --stage-tb beside them");
    WF_TRY(follow(&l->b, &l->f, t->b, t->f, "--stage-tb"));
    WF_TRY(follow(&l->f, &l->b, t->f, t->b, "--stage-tf"));
    WF_TRY(follow(&l->i, &l->b, t->i, t->b, "--stage-ti"));
    WF_TRY(follow(&l->w, &l->b, t->w, t->b, "--stage-tw"));
    WF_TRY(same_length("--stage-tb", &l->b, l->f.n));
    WF_TRY(same_length("--stage-ti", &l->i, l->f.n));
    return same_length("--stage-tw", &l->w, l->f.n);
}

/* A list by ranks where a rank has several stages is shared out by the library: undo
 * it. */
static void undo_share(lists *l, double parts)
{
    wf_schedule_numbers *all[] = {&l->f, &l->b, &l->i, &l->w};
    for (int k = 0; k < 4; k++)
        for (int64_t i = 0; i < all[k]->n; i++)
            all[k]->x[i] *= parts;
}

static weft_status by_stage(const wf_schedule_args *a, const weft_schedule *s,
                            wf_schedule_units *u, const times *t, wf_schedule_costs *c)
{
    lists l = {0};
    double parts = (double)weft_schedule_stages(s) / s->p;
    weft_status st = read_lists(a, u, &l);
    if (st == WEFT_OK) st = complete(&l, t);
    if (st == WEFT_OK && l.f.n == s->p) {
        undo_share(&l, parts);
        if (!a->per_op) c->parts = parts;
    }
    if (st == WEFT_OK)
        st = weft_costs_by_stage(s, (int)l.f.n, l.f.x, l.b.x, l.i.x, l.w.x, c->dur);
    wf_free(l.f.x);
    wf_free(l.b.x);
    wf_free(l.i.x);
    wf_free(l.w.x);
    return st;
}

/* ---- all ------------------------------------------------------------------------ */

/* What is not the time of an op has its own, and ops are c->parts times too long. */
static void stretch(wf_schedule_costs *c)
{
    c->costs.latency *= c->parts;
    for (int k = 0; k < c->costs.n_tiers; k++) {
        c->tier[k].latency *= c->parts;
        c->tier[k].bandwidth /= c->parts;
    }
    for (int64_t k = 0; k < c->optimizer.n; k++)
        c->optimizer.x[k] *= c->parts;
}

static weft_status read_costs(const wf_schedule_args *a, const weft_schedule *s,
                              wf_schedule_costs *c)
{
    int lists_given = a->stage_tf || a->stage_tb || a->stage_ti || a->stage_tw;
    wf_schedule_units u = {0};
    times t = {0};

    if (!lists_given) {
        WF_TRY(read_times(a, &u, &t));
        weft_costs_uniform(s, t.f, t.b, t.i, t.w, 1, c->dur);
        if (!a->per_op) c->parts = (double)weft_schedule_stages(s) / s->p;
    } else {
        wf_schedule_units proportions = {
            0}; /* only ratios are taken from the scalars */
        WF_TRY(read_times(a, &proportions, &t));
        WF_TRY(by_stage(a, s, &u, &t, c));
    }
    WF_TRY(wf_schedule_links_read(a, s, &u, c));
    if (u.with && u.without)
        return WF_FAIL(WEFT_E_MISMATCH,
                       "%s has a unit of time and %s has none; give both or "
                       "neither (the defaults have none)",
                       u.with, u.without);
    stretch(c);
    c->unit = u.with ? "s" : "";
    return WEFT_OK;
}

weft_status wf_schedule_costs_read(const wf_schedule_args *a, const weft_schedule *s,
                                   wf_schedule_costs *out)
{
    wf_schedule_costs c = {.unit = "", .parts = 1};
    WF_TRY(WF_ALLOC((int64_t)s->p * s->v * WEFT_OP_N_COMPUTE, &c.dur));
    c.costs.dur = c.dur;
    weft_status st = read_costs(a, s, &c);
    if (st == WEFT_OK)
        *out = c;
    else
        wf_schedule_costs_clear(&c);
    return st;
}

weft_status wf_schedule_times_read(const wf_schedule_args *a, double parts,
                                   weft_schedule_options *opt, weft_link_tier **tier)
{
    const char *flag = a->stage_tf   ? "--stage-tf"
                       : a->stage_tb ? "--stage-tb"
                       : a->stage_ti ? "--stage-ti"
                       : a->stage_tw ? "--stage-tw"
                                     : NULL;
    wf_schedule_units u = {0};
    times t = {0};
    double scale = a->per_op ? parts : 1;

    if (flag)
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: %s is made for equal stages; write it with --ops, and weft "
                       "schedule sim takes %s",
                       flag, a->kind, flag);
    WF_TRY(read_times(a, &u, &t));
    WF_TRY(wf_schedule_search_links(a, &u, opt, tier));
    opt->tf = t.f * scale;
    opt->ti = t.i * scale;
    opt->tw = t.w * scale;
    return WEFT_OK;
}

/* ---- optimal: all of it stage by stage ------------------------------------------ */

/* One for all ranks, or one for each. */
static weft_status read_limit(const wf_schedule_args *a, int p, wf_schedule_numbers *l)
{
    static const char flag[] = "--mem-limit";
    wf_unit unit = a->stage_free_i || a->stage_free_w ? WF_BYTES : WF_PLAIN;
    WF_TRY(wf_schedule_numbers_read(flag, a->mem_limit, unit, NULL, l));
    return wf_schedule_spread(flag, "a rank each", p, l);
}

/* Durations [p][v][kind] to lists of F, I, W by stage. */
static void spread(const weft_schedule *q, const double *dur, int n, double *item)
{
    static const int kind[] = {WEFT_OP_F, WEFT_OP_I, WEFT_OP_W};
    for (int r = 0; r < q->p; r++)
        for (int c = 0; c < q->v; c++)
            for (int k = 0; k < 3; k++)
                item[k * n + weft_schedule_stage(q, r, c)] =
                    dur[((int64_t)r * q->v + c) * WEFT_OP_N_COMPUTE + kind[k]];
}

/* One item for all stages, or one for each. */
static weft_status read_bytes(const char *flag, const char *text, int n, double *item)
{
    wf_schedule_numbers l = {0};
    weft_status st = WEFT_OK;
    if (text) st = wf_schedule_numbers_read(flag, text, WF_BYTES, NULL, &l);
    if (text && st == WEFT_OK) st = wf_schedule_spread(flag, "a stage each", n, &l);
    for (int64_t k = 0; st == WEFT_OK && k < l.n; k++)
        item[k] = l.x[k];
    wf_free(l.x);
    return st;
}

static weft_status read_stages(const wf_schedule_args *a, const weft_schedule *q,
                               weft_schedule_options *opt, wf_schedule_stages *l)
{
    int n = weft_schedule_stages(q);
    wf_schedule_costs c;
    WF_TRY(wf_schedule_costs_read(a, q, &c));
    spread(q, c.dur, n, l->item);
    l->parts = c.parts;
    opt->latency = c.costs.latency;
    opt->n_tiers = c.costs.n_tiers;
    opt->tier = l->tier = c.tier;
    opt->message_bytes = c.costs.message_bytes;
    c.tier = NULL;
    wf_schedule_costs_clear(&c);
    WF_TRY(read_bytes("--stage-free-i", a->stage_free_i, n, l->item + 3 * n));
    WF_TRY(read_bytes("--stage-free-w", a->stage_free_w, n, l->item + 4 * n));
    opt->n_stages = n;
    opt->stage_f = l->item;
    opt->stage_i = l->item + n;
    opt->stage_w = l->item + 2 * n;
    if (a->stage_free_i) opt->stage_free_i = l->item + 3 * n;
    if (a->stage_free_w) opt->stage_free_w = l->item + 4 * n;
    if (a->mem_limit) WF_TRY(read_limit(a, q->p, &l->limit));
    opt->rank_limit = l->limit.x;
    return WEFT_OK;
}

weft_status wf_schedule_stages_read(const wf_schedule_args *a, const weft_schedule *q,
                                    weft_schedule_options *opt, wf_schedule_stages *out)
{
    wf_schedule_stages l = {.parts = 1};
    WF_TRY(WF_ALLOC(5 * (int64_t)weft_schedule_stages(q), &l.item));
    weft_status st = read_stages(a, q, opt, &l);
    if (st == WEFT_OK)
        *out = l;
    else
        wf_schedule_stages_clear(&l);
    return st;
}

void wf_schedule_stages_clear(wf_schedule_stages *l)
{
    wf_free(l->item);
    wf_free(l->tier);
    wf_free(l->limit.x);
    *l = (wf_schedule_stages){0};
}

void wf_schedule_costs_clear(wf_schedule_costs *c)
{
    wf_free(c->dur);
    wf_free(c->tier);
    wf_free(c->pair.x);
    wf_free(c->optimizer.x);
    *c = (wf_schedule_costs){0};
}
