/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator refuses a view whose placement over TP is not the one it needs, and says
 * which it needs and which it found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "shard/lab.h"

enum { N = 4 }; /* every matrix is 4 x 4 */

typedef struct matrices {
    double a[N * N], b[N * N], c[N * N];
} matrices;

/* An operator as it is called with one input of a given placement, the others right. */
typedef struct op {
    const char *needs; /* in the message; the only placement that passes */
    int right;         /* see views */
    weft_status (*call)(const weft_shard *s, matrices *m, weft_view v);
} op;

enum { SAME, ROWS, COLS, SUM, MAX, N_VIEWS };
static const char *const found[N_VIEWS] = {"", "/tp", "/tp", "+tp", "tp"};

static weft_view view_of(double *x, int how)
{
    weft_view v = weft_view_of(x, WEFT_F64, N, N);
    if (how == ROWS) return weft_view_split(x, WEFT_F64, N, N, 0);
    if (how == COLS) return weft_view_split(x, WEFT_F64, N, N, 1);
    if (how == SUM) return weft_view_partial(x, WEFT_F64, N, N);
    if (how == MAX) v.at[WEFT_TP].how = WEFT_PARTIAL_MAX;
    return v;
}

static weft_status column_input(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view y = view_of(m->c, SAME);
    return weft_column_forward(s, &v, m->b, &y);
}

static weft_status column_gradient(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view dx = view_of(m->c, SAME);
    return weft_column_backward_input(s, &v, m->b, &dx);
}

static weft_status column_weight_x(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view dy = view_of(m->b, COLS);
    return weft_column_backward_weight(s, &v, &dy, m->c, NULL);
}

static weft_status column_weight_dy(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view x = view_of(m->b, SAME);
    return weft_column_backward_weight(s, &x, &v, m->c, NULL);
}

static weft_status row_input(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view z = view_of(m->c, SAME);
    return weft_row_forward(s, &v, m->b, &z);
}

static weft_status row_gradient(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view dy = view_of(m->c, SAME);
    return weft_row_backward_input(s, &v, m->b, &dy);
}

static weft_status row_weight_y(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view dz = view_of(m->b, SAME);
    return weft_row_backward_weight(s, &v, &dz, m->c, NULL);
}

static weft_status row_weight_dz(const weft_shard *s, matrices *m, weft_view v)
{
    weft_view y = view_of(m->b, COLS);
    return weft_row_backward_weight(s, &y, &v, m->c, NULL);
}

static weft_status reduction(const weft_shard *s, matrices *m, weft_view v)
{
    weft_event ev = {0};
    (void)m;
    WF_TRY(weft_reduce_start(s, WEFT_FOR_G_MLP, &v, &ev));
    WF_TRY(weft_reduce_finish(s, &v, &ev));
    return weft_reduce_start(s, WEFT_FOR_G_MLP, &v, &ev) == WEFT_E_MISMATCH
               ? WEFT_OK
               : WF_FAIL(WEFT_E_INFEASIBLE, "a second reduction of one view passes");
}

static weft_status end_of_reduction(const weft_shard *s, matrices *m, weft_view v)
{
    weft_event ev = {0};
    (void)m;
    return weft_reduce_finish(s, &v, &ev);
}

static weft_status loss_of(const weft_shard *s, matrices *m, weft_view v)
{
    static const int32_t targets[N] = {0, 1, 2, 3};
    weft_ce saved = {0};
    double loss;
    (void)m;
    WF_TRY(weft_ce_forward(s, weft_vocab_shard_of(s, 2 * N, 2 * N), &v, targets, &saved,
                           &loss));
    weft_arena_give(s->arena, saved.max);
    weft_arena_give(s->arena, saved.sum);
    return WEFT_OK;
}

static weft_status loss_gradient(const weft_shard *s, matrices *m, weft_view v)
{
    static const int32_t targets[N] = {0, 1, 2, 3};
    double max[N] = {0}, sum[2 * N] = {1, 1, 1, 1};
    weft_ce saved = {0};
    void *block;

    WF_TRY(weft_arena_take(s->arena, WEFT_LOGITS, sizeof max, &block));
    saved.max = memcpy(block, max, sizeof max);
    WF_TRY(weft_arena_take(s->arena, WEFT_LOGITS, sizeof sum, &block));
    saved.sum = memcpy(block, sum, sizeof sum);
    (void)m;
    return weft_ce_backward(s, weft_vocab_shard_of(s, 2 * N, 2 * N), targets, 1, &saved,
                            &v);
}

static const op ops[] = {
    {"column-parallel input needs a view that is the same on every rank", SAME,
     column_input},
    {"column-parallel output gradient needs a view that is split", COLS,
     column_gradient},
    {"column-parallel input needs a view that is the same on every rank", SAME,
     column_weight_x},
    {"column-parallel output gradient needs a view that is split", COLS,
     column_weight_dy},
    {"row-parallel input needs a view that is split", COLS, row_input},
    {"row-parallel output gradient needs a view that is the same on every rank", SAME,
     row_gradient},
    {"row-parallel input needs a view that is split", COLS, row_weight_y},
    {"row-parallel output gradient needs a view that is the same on every rank", SAME,
     row_weight_dz},
    {"g_mlp needs a view that is a partial sum", SUM, reduction},
    {"the end of a reduction needs a view that is a partial sum", SUM,
     end_of_reduction},
    {"cross-entropy needs a view that is split", COLS, loss_of},
    {"cross-entropy gradient needs a view that is split", COLS, loss_gradient}};

static weft_status try_all(const weft_shard *s, void *ctx)
{
    const op *o = ctx;
    matrices m = {{0}, {0}, {0}};

    for (int how = 0; how < N_VIEWS; how++) {
        weft_status st = o->call(s, &m, view_of(m.a, how));
        const char *words = weft_status_message();
        int fits = how == o->right || weft_group_size(s->tp) == 1;
        CLAIM(fits == (st == WEFT_OK), "%s: placement %d gives %s: %s", o->needs, how,
              weft_status_name(st), words);
        if (fits) continue;
        CLAIM(st == WEFT_E_MISMATCH && strstr(words, o->needs) &&
                  strstr(words, found[how]),
              "\"%s\" lacks \"%s\" or \"%s\"", words, o->needs, found[how]);
    }
    return WEFT_OK;
}

static void each_operator_refuses_every_placement_but_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        on_shards(2, WEFT_F64, try_all, (void *)&ops[i]);
}

static weft_status chain(const weft_shard *s, void *ctx)
{
    matrices m = {{0}, {0}, {0}};
    weft_view x = view_of(m.a, SAME), y = view_of(m.b, SAME), z = view_of(m.c, SAME);
    weft_event ev = {0};

    (void)ctx;
    WF_TRY(weft_column_forward(s, &x, m.c, &y));
    CLAIM(weft_column_forward(s, &y, m.c, &z) == WEFT_E_MISMATCH,
          "a split output is taken for the same");
    WF_TRY(weft_row_forward(s, &y, m.a, &z));
    CLAIM(weft_column_forward(s, &z, m.a, &y) == WEFT_E_MISMATCH,
          "g was forgotten and nobody said so");
    WF_TRY(weft_reduce_start(s, WEFT_FOR_G_MLP, &z, &ev));
    CLAIM(weft_column_forward(s, &z, m.a, &y) == WEFT_E_MISMATCH,
          "a sum that is still on its way is taken for done");
    WF_TRY(weft_reduce_finish(s, &z, &ev));
    return weft_column_forward(s, &z, m.a, &y);
}

static void a_result_carries_its_placement_to_the_next_operator(void **state)
{
    (void)state;
    on_shards(2, WEFT_F64, chain, NULL);
}

static void over_one_rank_every_placement_is_the_same_thing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].call != reduction) on_shards(1, WEFT_F64, try_all, (void *)&ops[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operator_refuses_every_placement_but_its_own),
        cmocka_unit_test(a_result_carries_its_placement_to_the_next_operator),
        cmocka_unit_test(over_one_rank_every_placement_is_the_same_thing)};
    return cmocka_run_group_tests_name("placements", tests, NULL, NULL);
}
