/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank holds while its ops run. Only the order of its list matters, and the times
 * say when. */
#include "base/alloc.h"
#include "base/error.h"
#include "sim/record.h"

int wf_is_forward_only(const weft_schedule *s)
{
    for (int64_t i = s->first[0]; i < s->first[1]; i++)
        if (wf_is_backward(s->op[i].kind)) return 0;
    return 1;
}

static weft_status check_list(const double *list, int n, const char *what)
{
    for (int k = 0; list && k < n; k++)
        if (!wf_is_duration(list[k]))
            return WF_FAIL(WEFT_E_INVALID, "%s of stage %d is %g bytes, not 0 or more",
                           what, k, list[k]);
    return WEFT_OK;
}

static double limit_of(const weft_sim_bytes *b, int rank)
{
    return b->rank_limit ? b->rank_limit[rank] : b->limit;
}

static weft_status check_bytes(const weft_schedule *s, const weft_sim_bytes *b)
{
    int n = weft_schedule_stages(s);
    for (int r = 0; r < s->p; r++)
        if (!wf_is_duration(limit_of(b, r)))
            return WF_FAIL(WEFT_E_INVALID,
                           "the limit of memory is %g bytes, not 0 or more",
                           limit_of(b, r));
    WF_TRY(check_list(b->free_i, n, "what I frees"));
    WF_TRY(check_list(b->free_w, n, "what W frees"));
    for (int kind = 0; kind < WEFT_OP_N_COMPUTE; kind++)
        WF_TRY(check_list(b->temp[kind], n, "what an op needs"));
    return WEFT_OK;
}

weft_status wf_memory_open(const weft_schedule *s, const weft_costs *costs,
                           const weft_sim_bytes *bytes, weft_trace *trace,
                           wf_memory *out)
{
    wf_memory m = {.s = s, .bytes = bytes, .trace = trace};
    m.forward_only = wf_is_forward_only(s);
    m.atomic = costs->overlap == WEFT_OVERLAP_ATOMIC;
    WF_TRY(check_bytes(s, bytes));
    weft_status st = WF_ALLOC(s->p, &m.now);
    if (st == WEFT_OK) st = WF_ALLOC(s->p, &m.peak);
    if (st == WEFT_OK) st = WF_ALLOC(s->p, &m.first_over);
    if (st == WEFT_OK)
        *out = m;
    else
        wf_memory_clear(&m);
    return st;
}

void wf_memory_clear(wf_memory *m)
{
    wf_free(m->now);
    wf_free(m->peak);
    wf_free(m->first_over);
    m->now = NULL;
    m->peak = m->first_over = NULL;
}

static double of(const double *list, int stage)
{
    return list ? list[stage] : 0;
}

static weft_status level(wf_memory *m, int rank, double at)
{
    if (!m->trace) return WEFT_OK;
    return weft_trace_add_level(
        m->trace, &(weft_trace_level){.at = at, .bytes = m->now[rank], .rank = rank});
}

static void take(wf_memory *m, int rank, const weft_op *op)
{
    int stage = weft_schedule_stage(m->s, rank, op->chunk);
    if (op->kind == WEFT_OP_F)
        m->now[rank] += of(m->bytes->free_i, stage) + of(m->bytes->free_w, stage);
    m->now[rank] += of(m->bytes->temp[op->kind], stage);
}

static void give(wf_memory *m, int rank, const weft_op *op)
{
    int stage = weft_schedule_stage(m->s, rank, op->chunk), k = op->kind;
    int lonely = m->forward_only && k == WEFT_OP_F;
    m->now[rank] -= of(m->bytes->temp[k], stage);
    if (wf_is_backward(k) || lonely) m->now[rank] -= of(m->bytes->free_i, stage);
    if (k == WEFT_OP_B || k == WEFT_OP_W || lonely)
        m->now[rank] -= of(m->bytes->free_w, stage);
}

static void note_peak(wf_memory *m, int rank, const weft_op *op, double at)
{
    weft_sim_held held = {m->now[rank], at, *op};
    double limit = limit_of(m->bytes, rank);
    if (held.bytes > m->peak[rank].bytes) m->peak[rank] = held;
    if (limit > 0 && held.bytes > limit && !(m->first_over[rank].bytes > 0))
        m->first_over[rank] = held;
}

weft_status wf_memory_visit(wf_memory *m, int rank, const weft_op *op, double start,
                            double end)
{
    const weft_op *mate = m->first;
    if (!mate && m->atomic && op->flags & WEFT_OPF_PAIR) {
        m->first = op; /* both are there from the beginning of the block to its end */
        m->since = start;
        return WEFT_OK;
    }
    m->first = NULL;
    if (mate) start = m->since;
    if (mate) take(m, rank, mate);
    take(m, rank, op);
    note_peak(m, rank, mate ? mate : op, start);
    WF_TRY(level(m, rank, start));
    if (mate) give(m, rank, mate);
    give(m, rank, op);
    return level(m, rank, end);
}
