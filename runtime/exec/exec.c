/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/run/exec.h>

#include "base/alloc.h"
#include "exec/impl.h"

weft_status weft_exec_check(const weft_schedule *s)
{
    int split = 0;

    for (int64_t i = 0; s->first && i < s->first[s->p]; i++) {
        if (s->op[i].kind > WEFT_OP_W)
            return WF_FAIL(WEFT_E_INVALID,
                           "schedule %s has an op %c; this version runs F, B, I and W",
                           s->kind, "FBIWR"[s->op[i].kind]);
        split |= s->op[i].kind == WEFT_OP_I;
    }
    if (split && weft_schedule_kind_asynchronous(weft_schedule_kind_find(s->kind)))
        return WF_FAIL(
            WEFT_E_INVALID,
            "schedule %s updates after each backward, which must not be split "
            "into I and W",
            s->kind);
    return WEFT_OK;
}

static weft_status lower_forwards(const weft_schedule *s, weft_schedule *out)
{
    weft_schedule f;

    WF_TRY(weft_schedule_forwards(s, &f));
    weft_status st = weft_schedule_lower(&f, out);
    weft_schedule_clear(&f);
    return st;
}

/* Buffers for messages, in memory that is the run's from here on. A schedule without
 * backwards has no step. */
static weft_status make_outbox(weft_exec *e, int trains)
{
    const weft_schedule *s = e->cfg.schedule;
    weft_buffers *all = NULL;

    if (s->p == 1) return WEFT_OK; /* nothing is sent */
    WF_TRY(WF_ALLOC(e->low.first[s->p], &e->buffer));
    WF_TRY(WF_ALLOC(s->p, &all));
    weft_status st =
        weft_schedule_buffers(trains ? &e->low : NULL, &e->forward, all, e->buffer);
    if (st == WEFT_OK)
        st = wf_outbox_init(&e->out, e->cfg.comm, e->cfg.arena, wf_message_bytes(e),
                            &all[e->cfg.pp_rank]);
    wf_free(all);
    return st;
}

static weft_status make_stashes(weft_exec *e)
{
    const weft_schedule *s = e->cfg.schedule;
    int copies = weft_schedule_weight_copies(s, e->cfg.pp_rank);

    WF_TRY(WF_ALLOC(s->v, &e->stash));
    for (int i = 0; i < s->v; i++)
        WF_TRY(wf_stash_init(&e->stash[i], &e->cfg.chunk[i], copies));
    return WEFT_OK;
}

static void count_backwards(weft_exec *e)
{
    const weft_schedule *s = e->cfg.schedule;
    int r = e->cfg.pp_rank;

    for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
        e->n_backwards[s->op[i].chunk] +=
            s->op[i].kind == WEFT_OP_B || s->op[i].kind == WEFT_OP_W;
}

static weft_status build(weft_exec *e)
{
    const weft_schedule *s = e->cfg.schedule;
    int64_t tokens = e->cfg.chunk->cfg.batch * e->cfg.chunk->cfg.seq;

    WF_TRY(weft_exec_check(s));
    e->stages = weft_schedule_stages(s);
    e->asynchronous = weft_schedule_kind_asynchronous(weft_schedule_kind_find(s->kind));
    WF_TRY(weft_schedule_lower(s, &e->low));
    WF_TRY(lower_forwards(s, &e->forward));
    WF_TRY(WF_ALLOC((int64_t)s->v * s->m * 2, &e->in));
    WF_TRY(WF_ALLOC(s->v, &e->n_backwards));
    WF_TRY(WF_ALLOC(s->v, &e->backwards));
    WF_TRY(WF_ALLOC(tokens, &e->tokens));
    WF_TRY(WF_ALLOC(tokens, &e->targets));
    count_backwards(e);
    WF_TRY(make_outbox(e, e->n_backwards[0] > 0));
    return e->asynchronous ? make_stashes(e) : WEFT_OK;
}

weft_status weft_exec_create(const weft_exec_config *cfg, weft_exec **out)
{
    weft_exec *e = NULL;

    WF_TRY(WF_ALLOC(1, &e));
    e->cfg = *cfg;
    weft_status st = build(e);
    if (st != WEFT_OK) {
        weft_exec_destroy(e);
        return st;
    }
    *out = e;
    return WEFT_OK;
}

void weft_exec_destroy(weft_exec *e)
{
    if (!e) return;
    for (int i = 0; e->stash && i < e->cfg.schedule->v; i++)
        wf_stash_clear(&e->stash[i]);
    weft_schedule_clear(&e->low);
    weft_schedule_clear(&e->forward);
    wf_free(e->in);
    wf_free(e->stash);
    wf_free(e->n_backwards);
    wf_free(e->backwards);
    wf_outbox_clear(&e->out);
    wf_free(e->buffer);
    wf_free(e->tokens);
    wf_free(e->targets);
    wf_free(e);
}

void weft_exec_set_trace(weft_exec *e, weft_trace *trace)
{
    e->cfg.trace = trace;
}

static weft_status run_op(wf_walk *w, const weft_op *op)
{
    const weft_exec *e = w->e;

    switch (op->kind) {
    case WEFT_OP_POST_RECV: return wf_post_recv(w, op);
    case WEFT_OP_WAIT: return wf_wait_recv(w, op);
    case WEFT_OP_SEND:
        return wf_send_result(w, op, w->train ? e->buffer[op - e->low.op] : -1);
    default: return wf_run_compute(w, op);
    }
}

static weft_status run_list(wf_walk *w, const weft_schedule *s, int64_t n_micro)
{
    int r = w->e->cfg.pp_rank;

    for (int64_t i = s->first[r]; i < s->first[r + 1]; i++)
        if (s->op[i].micro < n_micro) WF_TRY(run_op(w, &s->op[i]));
    return wf_outbox_drain(&w->e->out);
}

weft_status weft_exec_train(weft_exec *e, const weft_exec_step *s, weft_exec_result *r)
{
    wf_walk w = {.e = e, .s = s, .r = r, .train = 1};

    *r = (weft_exec_result){0};
    for (int c = 0; c < e->cfg.schedule->v; c++) {
        if (!e->n_backwards[c])
            return WF_FAIL(WEFT_E_INVALID,
                           "schedule %s has no backward passes and cannot train",
                           e->cfg.schedule->kind);
        e->backwards[c] = 0;
    }
    return run_list(&w, &e->low, e->cfg.schedule->m);
}

weft_status weft_exec_forward(weft_exec *e, const weft_exec_step *s, int64_t n_micro,
                              void **logits, weft_exec_result *r)
{
    wf_walk w = {.e = e, .s = s, .r = r, .logits = logits};

    *r = (weft_exec_result){0};
    return run_list(&w, &e->forward, n_micro);
}
