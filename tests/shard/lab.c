/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct job {
    weft_dtype t;
    shard_fn *fn;
    void *ctx;
} job;

static weft_status with_arena(weft_comm *comm, const job *j, weft_shard *s)
{
    int ranks[64], n = weft_comm_size(comm);

    for (int i = 0; i < n; i++)
        ranks[i] = i;
    WF_TRY(weft_kctx_create(WEFT_BACKEND_AUTO, 1, s->arena, &s->k));
    if (n > 1) WF_TRY(weft_group_create(comm, n, ranks, "tp", &s->tp));
    return j->fn(s, j->ctx);
}

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    const job *j = ctx;
    weft_shard s = {.comm = comm, .t = j->t};

    WF_TRY(weft_arena_create(0, &s.arena));
    weft_status st = with_arena(comm, j, &s);
    weft_group_destroy(s.tp);
    weft_kctx_destroy(s.k);
    weft_arena_destroy(s.arena);
    return st;
}

void on_shards(int n, weft_dtype t, shard_fn *fn, void *ctx)
{
    weft_comm_options o = {.timeout_s = 60};
    job j = {t, fn, ctx};

    if (weft_loop_run(n, &o, on_rank, &j))
        fail_msg("tp %d, %s: %s", n, weft_dtype_name(t), weft_status_message());
}

double small_integer(int64_t i, int salt)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)salt * 977;
    return (double)((x >> 33) % 7) - 3;
}
