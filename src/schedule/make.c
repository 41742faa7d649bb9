/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "schedule/ir.h"
#include "schedule/kind.h"
#include "schedule/kinds/rows.h"

int weft_schedule_kind_count(void)
{
    return wf_schedule_n_kinds;
}

const weft_schedule_kind *weft_schedule_kind_at(int i)
{
    return i >= 0 && i < wf_schedule_n_kinds ? wf_schedule_kinds[i] : NULL;
}

const weft_schedule_kind *weft_schedule_kind_find(const char *name)
{
    for (int i = 0; i < wf_schedule_n_kinds; i++)
        if (!strcmp(name, wf_schedule_kinds[i]->name)) return wf_schedule_kinds[i];
    return NULL;
}

static const char *name_at(const void *ctx, int i)
{
    return wf_schedule_kinds[i]->name;
}

weft_status weft_schedule_kind_require(const char *name, const weft_schedule_kind **out)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(name);
    if (k) {
        *out = k;
        return WEFT_OK;
    }
    char all[512] = "";
    for (int i = 0, n = 0; i < wf_schedule_n_kinds && n < (int)sizeof all; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, " %s",
                      wf_schedule_kinds[i]->name);
    const char *near = wf_nearest(name, wf_schedule_n_kinds, name_at, NULL);
    return WF_FAIL(WEFT_E_INVALID, "schedule \"%s\" is unknown%s%s; there are%s", name,
                   near ? ", nearest is " : "", near ? near : "", all);
}

const char *weft_schedule_kind_name(const weft_schedule_kind *k)
{
    return k->name;
}

const char *weft_schedule_kind_summary(const weft_schedule_kind *k)
{
    return k->summary;
}

const char *weft_schedule_kind_source(const weft_schedule_kind *k)
{
    return k->source;
}

int weft_schedule_kind_trains(const weft_schedule_kind *k)
{
    return k && !k->forward_only;
}

int weft_schedule_kind_splits(const weft_schedule_kind *k)
{
    return k && k->splits;
}

int weft_schedule_kind_asynchronous(const weft_schedule_kind *k)
{
    return k && k->asynchronous;
}

unsigned weft_schedule_kind_placements(const weft_schedule_kind *k)
{
    return k ? k->places : 0;
}

weft_placement_kind weft_schedule_kind_placement(const weft_schedule_kind *k, int v)
{
    if (!k || !k->places || v <= 1) return WEFT_PLACE_SINGLE;
    /* an odd number of chunks does not come back to its first rank */
    int loops = k->places >> WEFT_PLACE_LOOP & 1;
    return v % 2 && loops ? WEFT_PLACE_LOOP : WEFT_PLACE_V;
}

weft_status wf_on_single(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_SINGLE;
    if (q->v == 1) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID,
        "-v %d: %s holds one stage per rank, -v 1 is needed (interleaved takes "
        "-v %d)",
        q->v, q->kind, q->v);
}

weft_status wf_need_chunks(const weft_schedule *q, int chunks, const char *why)
{
    if (q->v == chunks) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "-v %d: %s holds %s, -v %d is needed", q->v, q->kind,
                   why, chunks);
}

weft_status wf_on_v(weft_schedule *q, const weft_schedule_options *opt)
{
    q->placement = WEFT_PLACE_V;
    return wf_need_chunks(q, 2, "two chunks per rank (a V)");
}

static weft_status check_ranges(int p, int m, int v)
{
    if (p < 1 || p > WF_MAX_P)
        return WF_FAIL(WEFT_E_INVALID, "-p %d: 1 to %d ranks are possible", p,
                       WF_MAX_P);
    if (m < 1)
        return WF_FAIL(WEFT_E_INVALID, "-m %d: at least 1 micro-batch is needed", m);
    if (v < 1 || v > WF_MAX_V)
        return WF_FAIL(WEFT_E_INVALID, "-v %d: 1 to %d chunks per rank are possible", v,
                       WF_MAX_V);
    return WEFT_OK;
}

static weft_status check_group(const weft_schedule_kind *k, int m,
                               const weft_schedule_options *opt)
{
    if (!opt->group) return WEFT_OK;
    long long group = opt->group;
    if (!k->least_group)
        return WF_FAIL(WEFT_E_INVALID,
                       "--group %lld: %s has no groups of micro-batches", group,
                       k->name);
    if (group < 0)
        return WF_FAIL(WEFT_E_INVALID, "--group %lld: at least 1 is needed", group);
    if (group > m)
        return WF_FAIL(WEFT_E_INVALID,
                       "--group %lld is more than -m %d; -m itself is the "
                       "largest",
                       group, m);
    return WEFT_OK;
}

/* Options that only a search looks at. */
static weft_status check_search(const weft_schedule_kind *k,
                                const weft_schedule_options *opt)
{
    if (!k->searched && opt->mem_limit != 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "--mem-limit %g: the order of %s is fixed, and so is its "
                       "memory; zb-auto takes a limit",
                       opt->mem_limit, k->name);
    return WEFT_OK;
}

/* Of a kind that takes none: its own may be said. */
static weft_status check_placement(const weft_schedule_kind *k, const weft_schedule *q,
                                   const weft_schedule_options *opt)
{
    const char *said = weft_placement_name(opt->placement);
    if (opt->placement == WEFT_PLACE_SINGLE || opt->placement == q->placement)
        return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "--placement %s: %s has its own, %s; zb-auto and optimal take one",
                   said ? said : "?", k->name, weft_placement_name(q->placement));
}

static weft_status check_size(const weft_schedule_kind *k, const weft_schedule *q)
{
    int64_t n = 0, limit = (int64_t)1 << 31;
    for (int r = 0; r < q->p; r++)
        n += k->count(q, r);
    if (n <= limit) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID,
        "-m %d: %s with -p %d -v %d has more than 2^31 ops; -m %lld is the most", q->m,
        k->name, q->p, q->v, (long long)(q->m * ((double)limit / (double)n)));
}

static int own_chunks(const weft_schedule_kind *k, const weft_schedule_options *opt)
{
    int folded = opt->placement == WEFT_PLACE_V || opt->placement == WEFT_PLACE_LOOP;
    if (k->places && folded) return 2;
    return k->chunks ? k->chunks : 1;
}

static const weft_schedule_options no_options = {.group = 0};

/* cost: a refusal may take a simulation to say what it spares the user. */
static weft_status shape(const char *kind, int p, int m, int v,
                         const weft_schedule_options *opt, int cost,
                         const weft_schedule_kind **k, weft_schedule *q)
{
    WF_TRY(weft_schedule_kind_require(kind, k));
    WF_TRY(check_search(*k, opt));
    if (v == 0) v = own_chunks(*k, opt);
    WF_TRY(check_ranges(p, m, v));
    WF_TRY(check_group(*k, m, opt));
    *q = (weft_schedule){.p = p, .m = m, .v = v, .group = (int)opt->group};
    snprintf(q->kind, sizeof q->kind, "%s", (*k)->name);
    WF_TRY((*k)->applicable(q, opt));
    if ((*k)->least_group) WF_TRY(wf_check_group(*k, q, cost));
    WF_TRY(check_placement(*k, q, opt));
    return check_size(*k, q);
}

weft_status weft_schedule_applicable(const char *kind, int p, int m, int v,
                                     const weft_schedule_options *opt)
{
    const weft_schedule_kind *k;
    weft_schedule q;
    return shape(kind, p, m, v, opt ? opt : &no_options, 0, &k, &q);
}

weft_status weft_schedule_shape(const char *kind, int p, int m, int v,
                                const weft_schedule_options *opt, weft_schedule *out)
{
    const weft_schedule_kind *k;
    weft_schedule q;
    WF_TRY(shape(kind, p, m, v, opt ? opt : &no_options, 0, &k, &q));
    *out = q;
    return WEFT_OK;
}

weft_status wf_schedule_generate(const weft_schedule_kind *k,
                                 const weft_schedule *shape_in,
                                 const weft_schedule_options *opt, weft_schedule *out)
{
    weft_schedule s;
    int64_t *n = NULL;
    WF_TRY(WF_ALLOC(shape_in->p, &n));
    for (int r = 0; r < shape_in->p; r++)
        n[r] = k->count(shape_in, r);
    weft_status st = wf_schedule_alloc(shape_in, n, &s);
    wf_free(n);
    if (st != WEFT_OK) return st;
    st = k->generate(&s, opt);
    if (st != WEFT_OK) {
        weft_schedule_clear(&s);
        return st;
    }
    *out = s;
    return WEFT_OK;
}

weft_status weft_schedule_make(const char *kind, int p, int m, int v,
                               const weft_schedule_options *opt, weft_schedule *out)
{
    const weft_schedule_kind *k;
    weft_schedule q;
    if (!opt) opt = &no_options;
    WF_TRY(shape(kind, p, m, v, opt, 1, &k, &q));
    return wf_schedule_generate(k, &q, opt, out);
}

static double closed_makespan(const weft_schedule *s, wf_times t)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(s->kind);
    return k && k->makespan ? k->makespan(s, &t) : NAN;
}

double weft_schedule_closed_makespan(const weft_schedule *s, double tf, double tb)
{
    return closed_makespan(s, (wf_times){tf, tb, tb / 2, tb / 2});
}

double weft_schedule_closed_makespan_split(const weft_schedule *s, double tf, double ti,
                                           double tw)
{
    return closed_makespan(s, (wf_times){tf, ti + tw, ti, tw});
}

int64_t weft_schedule_closed_peak(const weft_schedule *s, int rank)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(s->kind);
    return k && k->peak ? k->peak(s, rank) : -1;
}

int weft_schedule_weight_copies(const weft_schedule *s, int rank)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(s->kind);
    return k && k->weight_copies ? k->weight_copies(s, rank) : 1 + wf_bidirectional(s);
}
