/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up of one rank: groups, schedule, chunks. */
#include <string.h>

#include "base/alloc.h"
#include "train/engine.h"

void weft_train_defaults(weft_train_config *c)
{
    *c = (weft_train_config){
        .dtype = WEFT_F32,
        .threads = 1,
        .seed = 1234,
        .optimizer = WEFT_ADAMW,
        .lr = {.lr = 3e-4, .min_lr = 3e-5, .style = WEFT_DECAY_COSINE},
        .weight_decay = 0.1,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8,
        .clip_grad = 1,
        .bucket_bytes = 25000000};
    weft_layout_defaults(&c->layout);
}

static weft_status axis_group(weft_engine *e, unsigned axes, const char *name,
                              weft_group **out)
{
    int rank = weft_comm_rank(e->comm), n = weft_mesh_group_size(&e->mesh, axes);
    int *ranks = NULL;

    if (n == 1) return WEFT_OK; /* NULL is a group of one */
    WF_TRY(WF_ALLOC(n, &ranks));
    weft_status st = weft_mesh_group(&e->mesh, rank, axes, &n, ranks);
    if (st == WEFT_OK) st = weft_group_create(e->comm, n, ranks, name, out);
    wf_free(ranks);
    return st;
}

static weft_status make_groups(weft_engine *e)
{
    unsigned tp = 1u << WEFT_TP, pp = 1u << WEFT_PP, dp = 1u << WEFT_DP;

    WF_TRY(axis_group(e, tp, "tp", &e->tp));
    WF_TRY(axis_group(e, dp, "dp", &e->dp));
    WF_TRY(axis_group(e, tp | pp, "tp,pp", &e->model));
    return axis_group(e, pp | dp, "pp,dp", &e->replicas);
}

static weft_status place(weft_engine *e)
{
    int rank = weft_comm_rank(e->comm), pp = e->cfg.layout.pp, n;

    WF_TRY(weft_layout_mesh(&e->cfg.layout, &e->mesh));
    if (weft_mesh_world(&e->mesh) != weft_comm_size(e->comm))
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the layout needs %d ranks, the communicator has %d",
                       weft_mesh_world(&e->mesh), weft_comm_size(e->comm));
    for (int a = 0; a < WEFT_N_AXES; a++)
        e->coord[a] = weft_mesh_coord_of(&e->mesh, rank, (weft_axis)a);
    WF_TRY(WF_ALLOC(pp, &e->pp_rank_of));
    return weft_mesh_group(&e->mesh, rank, 1u << WEFT_PP, &n, e->pp_rank_of);
}

static weft_status make_chunk(weft_engine *e, int i)
{
    const weft_train_config *g = &e->cfg;
    int stage = weft_schedule_stage(&e->schedule, e->coord[WEFT_PP], i);
    weft_chunk_config c = {.arch = &e->cfg.arch,
                           .has_embed = stage == 0,
                           .has_head = stage == weft_schedule_stages(&e->schedule) - 1,
                           .padded_vocab =
                               weft_layout_padded_vocab(&g->layout, &g->arch),
                           .batch = g->layout.micro_batch,
                           .seq = g->layout.seq,
                           .n_micro = e->schedule.m,
                           .seed = g->seed,
                           .exact = g->exact,
                           .random_all = g->random_all};
    weft_shard sh = {
        .k = e->k, .comm = e->comm, .arena = e->arena, .tp = e->tp, .t = g->dtype};

    weft_layout_stage_layers(&g->layout, &g->arch, stage, &c.first_layer, &c.n_layers);
    return weft_chunk_create(&c, &sh, &e->chunk[i]);
}

static weft_status make_exec(weft_engine *e)
{
    const weft_layout *l = &e->cfg.layout;
    int64_t per_rank = (int64_t)l->vpp * WEFT_OP_N_COMPUTE;
    weft_exec_config x = {.schedule = &e->schedule,
                          .comm = e->comm,
                          .arena = e->arena,
                          .chunk = e->chunk,
                          .pp_rank = e->coord[WEFT_PP],
                          .comm_rank = e->pp_rank_of,
                          .trace_rank = weft_comm_rank(e->comm)};

    if (e->cfg.op_s) x.op_s = e->cfg.op_s + per_rank * e->coord[WEFT_PP];
    weft_trace_init(&e->trace, weft_comm_size(e->comm), "s", l->schedule);
    e->trace.measured = 1;
    if (e->cfg.trace_last > 0) WF_TRY(WF_ALLOC(2 * e->cfg.trace_last, &e->began));
    return weft_exec_create(&x, &e->exec);
}

static weft_status build(weft_engine *e)
{
    const weft_layout *l = &e->cfg.layout;
    weft_schedule_options opt = weft_layout_schedule_options(l);

    WF_TRY(weft_train_check(&e->cfg));
    WF_TRY(place(e));
    WF_TRY(weft_schedule_make(l->schedule, l->pp, (int)weft_layout_n_micro(l), l->vpp,
                              &opt, &e->schedule));
    WF_TRY(weft_schedule_check(&e->schedule, 0, NULL));
    e->asynchronous =
        weft_schedule_kind_asynchronous(weft_schedule_kind_find(l->schedule));
    WF_TRY(WF_ALLOC(e->schedule.m, &e->micro_scale));
    WF_TRY(weft_arena_create(e->cfg.memory_limit_bytes, &e->arena));
    WF_TRY(weft_kctx_create(e->cfg.backend, e->cfg.threads, e->arena, &e->k));
    WF_TRY(make_groups(e));
    WF_TRY(WF_ALLOC(l->vpp, &e->chunk));
    WF_TRY(WF_ALLOC(l->vpp, &e->state));
    for (int i = 0; i < l->vpp; i++)
        WF_TRY(make_chunk(e, i));
    WF_TRY(wf_replicas_create(e));
    WF_TRY(wf_state_create(e));
    WF_TRY(wf_buckets_create(e));
    return make_exec(e);
}

weft_status weft_engine_create(weft_comm *comm, const weft_train_config *cfg,
                               const weft_data *data, weft_engine **out)
{
    weft_engine *e = NULL;

    WF_TRY(WF_ALLOC(1, &e));
    e->cfg = *cfg;
    e->comm = comm;
    e->data = data;
    weft_status st = build(e);
    if (st != WEFT_OK) {
        weft_engine_destroy(e);
        return st;
    }
    *out = e;
    return WEFT_OK;
}

void weft_engine_destroy(weft_engine *e)
{
    if (!e) return;
    weft_exec_destroy(e->exec);
    for (int i = 0; e->chunk && i < e->cfg.layout.vpp; i++)
        if (e->chunk[i].param) weft_chunk_clear(&e->chunk[i]);
    weft_group_destroy(e->tp);
    weft_group_destroy(e->dp);
    wf_replicas_destroy(e);
    weft_group_destroy(e->model);
    weft_group_destroy(e->replicas);
    weft_kctx_destroy(e->k);
    weft_arena_destroy(e->arena);
    weft_schedule_clear(&e->schedule);
    weft_trace_clear(&e->trace);
    wf_free(e->pp_rank_of);
    wf_free(e->chunk);
    wf_free(e->state);
    wf_free(e->bucket);
    wf_free(e->micro_scale);
    wf_free(e->began);
    wf_free(e);
}

int weft_engine_n_chunks(const weft_engine *e)
{
    return e->cfg.layout.vpp;
}

weft_chunk *weft_engine_chunk(const weft_engine *e, int chunk)
{
    return &e->chunk[chunk];
}

weft_arena *weft_engine_arena(const weft_engine *e)
{
    return e->arena;
}

const weft_schedule *weft_engine_schedule(const weft_engine *e)
{
    return &e->schedule;
}

const weft_mesh *weft_engine_mesh(const weft_engine *e)
{
    return &e->mesh;
}

weft_kctx *weft_engine_kctx(const weft_engine *e)
{
    return e->k;
}
