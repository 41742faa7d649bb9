/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "probe/probe_impl.h"

/* Beyond the last level of caches, as the states of a training run are; quick: beyond the
 * one of a core. */
enum { POOL = 640 << 20, QUICK_POOL = 24 << 20, LEAST_POOL = 160 << 20 };

static int64_t pool_bytes(const wf_probe *p)
{
    if (p->o->quick) return QUICK_POOL;
    double share = p->m->memory_bytes / 8;
    return share > POOL ? POOL : share < LEAST_POOL ? LEAST_POOL : (int64_t)share;
}

static weft_status check_options(const weft_probe_options *o)
{
    if (o->threads < 1 || o->n_dtypes < 1 || o->n_dtypes > WEFT_N_DTYPES)
        return WF_FAIL(WEFT_E_INVALID,
                       "%d threads and %d types; 1 or more, and 1 .. %d are needed",
                       o->threads, o->n_dtypes, WEFT_N_DTYPES);
    if (!(o->seconds > 0 && o->seconds <= 3600))
        return WF_FAIL(WEFT_E_INVALID, "%g s to measure in; above 0, at most 3600",
                       o->seconds);
    return WEFT_OK;
}

/* Benchmarks in all, so that each gets its part of the time. */
static int benchmarks(const weft_probe_options *o, const weft_machine *m)
{
    int forms = o->quick ? 30 : 72, kernels = 17;
    int tiers = (m->ranks_per_node > 1) + (m->nodes > 1), sizes = o->quick ? 4 : 6;
    return o->n_dtypes * forms + kernels + tiers * WEFT_N_COLLS * sizes;
}

static weft_status measure(wf_probe *p)
{
    const weft_probe_options *o = p->o;
    weft_dtype last = o->dtype[o->n_dtypes - 1];

    WF_TRY(weft_group_world(p->comm, &p->world));
    WF_TRY(wf_probe_hosts(p));
    p->each_s = o->seconds / benchmarks(o, p->m);
    WF_TRY(weft_arena_create(0, &p->arena));
    WF_TRY(weft_kctx_create(o->backend, o->threads, p->arena, &p->k));
    snprintf(p->report->kernel, sizeof p->report->kernel, "%s",
             weft_kctx_describe(p->k));
    p->pool_bytes = pool_bytes(p);
    void *pool;
    WF_TRY(weft_arena_take(p->arena, WEFT_TEMP, p->pool_bytes, &pool));
    p->pool = pool;
    for (int i = 0; i < o->n_dtypes; i++) {
        wf_probe_fill(p, o->dtype[i]);
        WF_TRY(wf_probe_matmuls(p, o->dtype[i]));
        WF_TRY(wf_probe_matmul_constants(p, o->dtype[i]));
    }
    wf_probe_fill(p, last);
    WF_TRY(wf_probe_kernels(p, last));
    wf_probe_fill(p, WEFT_F32);
    return wf_probe_links(p);
}

/* Blocks that this rank gave away are in use until all are through. */
static weft_status finish(wf_probe *p, weft_status st)
{
    if (st == WEFT_OK) st = weft_barrier(p->world);
    /* the others hear of it before this rank's memory goes */
    if (st != WEFT_OK) weft_comm_abort(p->comm, st, weft_status_message(), 0);
    weft_group_destroy(p->world);
    weft_kctx_destroy(p->k);
    weft_arena_destroy(p->arena);
    return st;
}

weft_status weft_probe_machine(weft_comm *comm, const weft_probe_options *o,
                               weft_machine *out, weft_probe_report *report)
{
    weft_machine m;
    weft_probe_report r = {0};
    wf_probe p = {.o = o, .comm = comm, .m = &m, .report = &r};
    double start = wf_probe_now_s();

    WF_TRY(check_options(o));
    weft_machine_defaults(&m);
    m.units = o->threads;
    WF_TRY(finish(&p, measure(&p)));
    WF_TRY(weft_machine_check(&m));
    r.seconds = wf_probe_now_s() - start;
    *out = m;
    if (report) *report = r;
    return WEFT_OK;
}
