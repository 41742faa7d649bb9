/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "%s\n", weft_status_message());
    abort();
}

/* 0.8 to 1.2 */
static double near_one(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 0.8 + 0.02 * (double)((*seed >> 33) % 21);
}

void set_up(problem *a, weft_placement_kind place, int p, int m, stage_times times,
            uint64_t *seed)
{
    *a = (problem){.p = p, .m = m, .v = place == WEFT_PLACE_SINGLE ? 1 : 2};
    int n = p * a->v, has_ends = times == STAGES_THIRDS || times == STAGES_RANDOM;
    for (int s = 0; s < n; s++) {
        double x = 1.0 / a->v;
        if (times == STAGES_THIRDS && s % 3 == 1) x *= 1.2;
        if (times == STAGES_RANDOM) x *= near_one(seed);
        a->f[s] = x;
        a->i[s] = (times == STAGES_EQUAL ? 1 : 1.1) * x;
        a->w[s] = (times == STAGES_EQUAL ? 1 : 0.9) * x;
    }
    double embedding = has_ends ? 0.1 : 0, head = has_ends ? 0.2 : 0;
    a->f[0] += embedding;
    a->w[0] += embedding;
    a->f[n - 1] += head;
    a->i[n - 1] += head;
    a->w[n - 1] += head;
    a->opt.placement = place;
    a->opt.n_stages = n;
    a->opt.stage_f = a->f;
    a->opt.stage_i = a->i;
    a->opt.stage_w = a->w;
}

/* Domains of so many ranks start at their multiples: a link belongs to the smallest that has
 * both of its ends. */
double delay_of(const weft_schedule_options *o, int from, int to)
{
    for (int k = 0; k < o->n_tiers; k++) {
        const weft_link_tier *t = &o->tier[k];
        int start = t->ranks ? from - from % t->ranks : 0;
        if (t->ranks && (to < start || to >= start + t->ranks)) continue;
        return t->latency + (t->bandwidth > 0 ? o->message_bytes / t->bandwidth : 0);
    }
    return o->latency;
}

double time_of(const weft_schedule *s, const weft_schedule_options *o)
{
    double *dur = calloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE, sizeof *dur);
    if (!dur) abort();
    for (int r = 0; r < s->p; r++)
        for (int c = 0; c < s->v; c++) {
            double *d = dur + (r * s->v + c) * WEFT_OP_N_COMPUTE;
            int k = weft_schedule_stage(s, r, c);
            d[WEFT_OP_F] = o->stage_f[k];
            d[WEFT_OP_I] = o->stage_i[k];
            d[WEFT_OP_W] = o->stage_w[k];
            d[WEFT_OP_B] = o->stage_i[k] + o->stage_w[k];
        }
    weft_eval e;
    weft_costs costs = {.dur = dur,
                        .latency = o->latency,
                        .n_tiers = o->n_tiers,
                        .tier = o->tier,
                        .message_bytes = o->message_bytes};
    need(weft_schedule_eval(s, &costs, NULL, NULL, &e));
    double t = e.makespan;
    weft_eval_clear(&e);
    free(dur);
    return t;
}

double held_at_most(const weft_schedule *s, int rank, const weft_schedule_options *o)
{
    int own_unit = o->stage_free_i || o->stage_free_w;
    double now = 0, most = 0, half = own_unit ? 0 : 0.5 / s->v;
    for (int64_t k = s->first[rank]; k < s->first[rank + 1]; k++) {
        const weft_op *op = &s->op[k];
        int stage = weft_schedule_stage(s, rank, op->chunk);
        double i = o->stage_free_i ? o->stage_free_i[stage] : half;
        double w = o->stage_free_w ? o->stage_free_w[stage] : half;
        if (op->kind == WEFT_OP_F) now += i + w;
        if (op->kind == WEFT_OP_I || op->kind == WEFT_OP_B) now -= i;
        if (op->kind == WEFT_OP_W || op->kind == WEFT_OP_B) now -= w;
        most = fmax(most, now);
    }
    return most;
}

int keeps_limits(const weft_schedule *s, const weft_schedule_options *o)
{
    for (int r = 0; r < s->p; r++) {
        double limit = o->rank_limit ? o->rank_limit[r] : o->mem_limit;
        if (limit > 0 && held_at_most(s, r, o) > limit * (1 + 1e-9)) return 0;
    }
    return 1;
}

/* ---- the other kinds ------------------------------------------------------------ */

int make_other(const char *kind, const problem *a, weft_schedule *out)
{
    weft_schedule_options o = {.group = 0};
    weft_schedule s;
    const weft_schedule_kind *k = weft_schedule_kind_find(kind);
    if (!weft_schedule_kind_trains(k) || weft_schedule_kind_asynchronous(k) ||
        !strcmp(kind, "optimal"))
        return 0;
    if (!strcmp(kind, "zb-auto")) {
        o.placement = a->opt.placement;
        o.mem_limit = a->opt.mem_limit;
        o.latency = a->opt.latency;
        o.n_tiers = a->opt.n_tiers;
        o.tier = a->opt.tier;
        o.message_bytes = a->opt.message_bytes;
        for (int n = 0; n < a->p * a->v; n++) {
            o.tf += a->f[n] / a->p;
            o.ti += a->i[n] / a->p;
            o.tw += a->w[n] / a->p;
        }
    }
    if (weft_schedule_make(kind, a->p, a->m, a->v, &o, &s) != WEFT_OK) return 0;
    if (s.placement != a->opt.placement) {
        weft_schedule_clear(&s);
        return 0;
    }
    *out = s;
    return 1;
}

double time_of_other(const char *kind, const problem *a)
{
    weft_schedule s;
    if (!make_other(kind, a, &s)) return NAN;
    double t = keeps_limits(&s, &a->opt) ? time_of(&s, &a->opt) : NAN;
    weft_schedule_clear(&s);
    return t;
}

double best_other(const problem *a, const char **name)
{
    double best = INFINITY;
    *name = "none fits";
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const char *kind = weft_schedule_kind_name(weft_schedule_kind_at(i));
        double t = time_of_other(kind, a);
        if (!(t < best)) continue;
        best = t;
        *name = kind;
    }
    return best;
}

/* ---- the grid ------------------------------------------------------------------- */

static void in_memory_of_each(problem *a, void (*visit)(const problem *a, void *ctx),
                              void *ctx)
{
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        weft_schedule s;
        if (!make_other(weft_schedule_kind_name(weft_schedule_kind_at(i)), a, &s))
            continue;
        for (int r = 0; r < a->p; r++)
            a->limit[r] = held_at_most(&s, r, &a->opt);
        weft_schedule_clear(&s);
        a->opt.rank_limit = a->limit;
        visit(a, ctx);
        a->opt.rank_limit = NULL;
    }
}

void each_cell(const grid *g, void (*visit)(const problem *a, void *ctx), void *ctx)
{
    static const int ps[] = {2, 3, 4, 6, 8, 11, 16};
    uint64_t seed = g->seed;
    int cell = 0;
    for (int k = 0, p; k < 7 && (p = ps[k]) <= g->most_p; k++)
        for (int m = 2; m <= 64; m *= 2)
            for (int place = 0; place <= WEFT_PLACE_V; place++)
                for (int latency = 0; latency <= 2; latency++) {
                    problem a;
                    set_up(&a, (weft_placement_kind)place, p, m, g->times, &seed);
                    a.opt.latency = 0.25 * latency;
                    if (cell++ % g->every == 0) in_memory_of_each(&a, visit, ctx);
                }
}
