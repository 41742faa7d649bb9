/* SPDX-License-Identifier: Apache-2.0 */
/* Who else holds the same logical tensors, from the mesh and the schedule's placement: the
 * data-parallel replicas of a stage; where two pipelines go in opposite directions also
 * the rank, and its replicas, that has the stage in the other one; and the two ends of the
 * model, if they share the embedding. */
#include <stdlib.h>

#include "base/alloc.h"
#include "train/engine.h"

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Pipeline ranks and chunks of the copies of a stage; how many. Micro-batches go down from
 * the first on, up to the last. */
static int copies_of(const weft_engine *e, int stage, int rank[2], int chunk[2])
{
    const weft_schedule *s = &e->schedule;

    weft_schedule_holder(s, stage, 0, &rank[0], &chunk[0]);
    weft_schedule_holder(s, stage, s->m - 1, &rank[1], &chunk[1]);
    return chunk[0] == chunk[1] ? 1 : 2;
}

/* The ranks that sum the gradient of a stage, in one order on all of them. */
static weft_status make_sum(weft_engine *e, const int copy[2], weft_group **out)
{
    int n = 0, all = 0, *ranks = NULL;

    WF_TRY(WF_ALLOC(2 * (int64_t)e->cfg.layout.dp, &ranks));
    weft_status st = WEFT_OK;
    for (int i = 0; i < 2 && st == WEFT_OK; i++) {
        int comm_rank = e->pp_rank_of[copy[i]];
        st = weft_mesh_group(&e->mesh, comm_rank, 1u << WEFT_DP, &n, ranks + all);
        all += n;
    }
    qsort(ranks, (size_t)all, sizeof *ranks, ascending);
    if (st == WEFT_OK) st = weft_group_create(e->comm, all, ranks, "copies,dp", out);
    wf_free(ranks);
    return st;
}

/* Two ranks hold the same two or four stages, and finish them in different orders: so each
 * stage has a group of its own. In the order of the stages, which is that of all ranks. */
static weft_status make_sums(weft_engine *e)
{
    int here = e->coord[WEFT_PP];

    for (int stage = 0; stage < weft_schedule_stages(&e->schedule); stage++) {
        int rank[2], chunk[2];
        if (copies_of(e, stage, rank, chunk) < 2) continue;
        for (int i = 0; i < 2; i++)
            if (rank[i] == here) WF_TRY(make_sum(e, rank, &e->copies[chunk[i]]));
    }
    return WEFT_OK;
}

/* The copy that a logical tensor is counted by is that of the pipeline that goes down. */
static void mark_second_copies(weft_engine *e)
{
    for (int i = 0; i < e->cfg.layout.vpp; i++) {
        int stage = weft_schedule_stage(&e->schedule, e->coord[WEFT_PP], i);
        int rank[2], chunk[2];
        if (copies_of(e, stage, rank, chunk) < 2 || chunk[0] == i) continue;
        for (int j = 0; j < e->chunk[i].n_params; j++)
            e->chunk[i].param[j].first_copy = 0;
    }
}

/* The first and the last stage of this (tp, dp) column hold the tied embedding: on two
 * ranks, on one (a V, or both directions of two pipelines), or in one chunk. */
static weft_status tied_copies(weft_engine *e)
{
    int stage[2] = {0, weft_schedule_stages(&e->schedule) - 1}, rank, chunk, ranks[2];

    if (!e->cfg.arch.tied || stage[1] == 0) return WEFT_OK;
    for (int i = 0; i < 2; i++) {
        for (int c = 0; c < e->cfg.layout.vpp; c++)
            if (weft_schedule_stage(&e->schedule, e->coord[WEFT_PP], c) == stage[i])
                e->tied_copy[i] = weft_chunk_param(&e->chunk[c], WEFT_WTE, 0);
        weft_schedule_holder(&e->schedule, stage[i], 0, &rank, &chunk);
        ranks[i] = e->pp_rank_of[rank];
    }
    if (!e->tied_copy[0] == !e->tied_copy[1]) return WEFT_OK;
    return weft_group_create(e->comm, 2, ranks, "tied", &e->tied);
}

weft_status wf_replicas_create(weft_engine *e)
{
    WF_TRY(WF_ALLOC(e->cfg.layout.vpp, &e->copies));
    WF_TRY(make_sums(e));
    mark_second_copies(e);
    return tied_copies(e);
}

void wf_replicas_destroy(weft_engine *e)
{
    for (int i = 0; e->copies && i < e->cfg.layout.vpp; i++)
        weft_group_destroy(e->copies[i]);
    wf_free(e->copies);
    weft_group_destroy(e->tied);
}

weft_group *wf_sum_group(const weft_engine *e, int chunk)
{
    return e->copies[chunk] ? e->copies[chunk] : e->dp;
}
