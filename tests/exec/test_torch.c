/* SPDX-License-Identifier: Apache-2.0 */
/* The executor over pipeline and tensor-parallel ranks against the recorded float64 run of
 * PyTorch: nothing between the schedule and the gradients is compared with ourselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <weft/run/exec.h>

#include "nn/torch.h"

static const double tolerance = 1e-10;
enum { STAGES = 2 }; /* the recorded model has two layers */

typedef struct trial {
    torch_run *torch;
    const char *kind;
    int tp, pp, v;
    double loss;
    lab_shards grad;
} trial;

/* Rank of the comm = tp rank + tp * pp rank. */
typedef struct rank_state {
    trial *t;
    weft_comm *comm;
    weft_arena *arena;
    weft_kctx *k;
    weft_group *tp, *tied;
    weft_arch arch;
    weft_schedule schedule;
    weft_chunk chunk[STAGES];
    weft_exec *exec;
    int pp_rank;
    int column[STAGES]; /* comm ranks of this pipeline */
} rank_state;

static void read_batch(void *ctx, int64_t micro, int32_t *tokens, int32_t *targets)
{
    const torch_run *r = ctx;
    size_t bytes = (size_t)r->seq * sizeof *tokens;
    memcpy(tokens, r->tokens + micro * r->seq, bytes);
    memcpy(targets, r->targets + micro * r->seq, bytes);
}

static weft_status make_groups(rank_state *s)
{
    int tp = s->t->tp, rank = weft_comm_rank(s->comm), row[8];

    s->pp_rank = rank / tp;
    for (int i = 0; i < tp; i++)
        row[i] = s->pp_rank * tp + i;
    for (int i = 0; i < s->t->pp; i++)
        s->column[i] = i * tp + rank % tp;
    if (tp > 1) WF_TRY(weft_group_create(s->comm, tp, row, "tp", &s->tp));
    return s->t->pp > 1
               ? weft_group_create(s->comm, s->t->pp, s->column, "tied", &s->tied)
               : WEFT_OK;
}

static weft_status make_chunk(rank_state *s, int i)
{
    int stage = i * s->t->pp + s->pp_rank, tp = s->t->tp;
    weft_chunk_config c = {.arch = &s->arch,
                           .first_layer = stage,
                           .n_layers = 1,
                           .has_embed = stage == 0,
                           .has_head = stage == STAGES - 1,
                           .padded_vocab = (s->arch.vocab + tp - 1) / tp * tp,
                           .batch = 1,
                           .seq = s->t->torch->seq,
                           .n_micro = s->t->torch->batch};
    weft_shard sh = {.k = s->k, .comm = s->comm, .arena = s->arena, .tp = s->tp};

    WF_TRY(weft_chunk_create(&c, &sh, &s->chunk[i]));
    return lab_write(&s->chunk[i], &s->t->torch->map, s->t->torch->weight);
}

static weft_status make(rank_state *s)
{
    const trial *t = s->t;

    WF_TRY(weft_arch_parse(t->torch->arch, &s->arch));
    WF_TRY(weft_arena_create(0, &s->arena));
    WF_TRY(weft_kctx_create(WEFT_BACKEND_AUTO, 1, s->arena, &s->k));
    WF_TRY(make_groups(s));
    for (int i = 0; i < t->v; i++)
        WF_TRY(make_chunk(s, i));
    WF_TRY(weft_schedule_make(t->kind, t->pp, (int)t->torch->batch, t->v, NULL,
                              &s->schedule));
    weft_exec_config x = {.schedule = &s->schedule,
                          .comm = s->comm,
                          .arena = s->arena,
                          .chunk = s->chunk,
                          .pp_rank = s->pp_rank,
                          .comm_rank = s->column};
    return weft_exec_create(&x, &s->exec);
}

/* Both copies of the tied embedding get the sum of their gradients. */
static weft_status sum_tied(rank_state *s)
{
    weft_param *a = weft_chunk_param(&s->chunk[0], WEFT_WTE, -1), *b;
    weft_event ev = {0};

    if (s->tied) {
        WF_TRY(weft_all_reduce(s->tied, WEFT_FOR_TIED, a->g, a->count, WEFT_F64,
                               WEFT_SUM, &ev));
        return weft_wait(s->comm, &ev);
    }
    b = weft_chunk_param(&s->chunk[1], WEFT_WTE, -1);
    weft_k_add(s->k, WEFT_F64, a->count, a->g, b->g, a->g);
    memcpy(b->g, a->g, (size_t)a->count * sizeof(double));
    return WEFT_OK;
}

static weft_status step(rank_state *s)
{
    const torch_run *r = s->t->torch;
    double valid = 0, *x = s->t->grad.x + weft_comm_rank(s->comm) * s->t->grad.len;
    weft_exec_result done;

    for (int64_t i = 0; i < r->batch * r->seq; i++)
        valid += r->targets[i] >= 0;
    weft_exec_step e = {
        .batch = read_batch, .batch_ctx = (void *)r, .scale = 1 / valid};
    WF_TRY(weft_exec_train(s->exec, &e, &done));
    WF_TRY(sum_tied(s));
    if (weft_comm_rank(s->comm) == weft_comm_size(s->comm) - 1)
        s->t->loss = done.loss_sum / valid;
    for (int i = 0; i < s->t->v; i++)
        WF_TRY(lab_read(&s->chunk[i], &r->map, LAB_GRADS, x));
    return WEFT_OK;
}

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    rank_state s = {.t = ctx, .comm = comm};

    weft_status st = make(&s);
    if (st == WEFT_OK) st = step(&s);
    weft_exec_destroy(s.exec);
    for (int i = 0; i < s.t->v; i++)
        if (s.chunk[i].param) weft_chunk_clear(&s.chunk[i]);
    weft_schedule_clear(&s.schedule);
    weft_group_destroy(s.tp);
    weft_group_destroy(s.tied);
    weft_kctx_destroy(s.k);
    weft_arena_destroy(s.arena);
    return st;
}

static void compare(const char *kind, int tp, int pp, int v)
{
    static double grad[8192];
    weft_comm_options o = {.timeout_s = 60};
    torch_run r;
    trial t = {.torch = &r, .kind = kind, .tp = tp, .pp = pp, .v = v};

    MUST(torch_read(&r));
    int64_t n = r.map.at[r.map.n_tensors];
    assert_true(n <= 8192);
    MUST(lab_shards_create(tp * pp, n, &t.grad));
    MUST(weft_loop_run(tp * pp, &o, on_rank, &t));
    MUST(lab_merge(&t.grad, grad));
    if (!(fabs(t.loss - r.loss[0]) <= tolerance * r.loss[0]))
        fail_msg("%s tp %d pp %d: loss %.15g", kind, tp, pp, t.loss);
    for (int i = 0; i < r.map.n_tensors; i++) {
        double far = lab_far(grad, r.grad, r.map.at[i], r.map.at[i + 1]);
        if (!(far <= tolerance))
            fail_msg("%s tp %d pp %d: gradient of tensor %d: %.3g", kind, tp, pp, i,
                     far);
    }
    lab_shards_clear(&t.grad);
    torch_clear(&r);
}

static void two_pipeline_ranks_give_pytorchs_gradients(void **state)
{
    (void)state;
    compare("1f1b", 1, 2, 1);
    compare("gpipe", 1, 2, 1);
}

static void so_do_two_by_three_ranks(void **state)
{
    (void)state;
    compare("1f1b", 3, 2, 1);
}

static void so_do_two_chunks_on_one_rank(void **state)
{
    (void)state;
    compare("interleaved", 1, 1, 2);
    compare("interleaved", 3, 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_pipeline_ranks_give_pytorchs_gradients),
        cmocka_unit_test(so_do_two_by_three_ranks),
        cmocka_unit_test(so_do_two_chunks_on_one_rank)};
    return cmocka_run_group_tests_name("the executor beside PyTorch", tests, NULL,
                                       NULL);
}
