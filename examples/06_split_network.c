/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network cut in two, each half on its own rank: the first half hands its output over,
 * and the gradient comes back the same way.
 *
 *     rank 0: h = relu(x W1^T)  [2, 32]   ->   rank 1: loss = sum(h W2^T)  [2, 4]
 *
 *     cc 06_split_network.c $(pkg-config --cflags --libs weft-run) && ./a.out
 */
#include <stdio.h>
#include <string.h>
#include <weft/run/comm.h>
#include <weft/run/kernel.h>
#include <weft/run/random.h>

enum { BATCH = 2, IN = 16, MIDDLE = 32, OUT = 4, SEED = 0 };
static const int64_t HANDED_OVER = sizeof(double) * BATCH * MIDDLE;

#define TRY(call)                                                                      \
    do {                                                                               \
        weft_status try_st = (call);                                                   \
        if (try_st != WEFT_OK) return try_st;                                          \
    } while (0)

static void draw(const char *name, double *x, int64_t n)
{
    weft_random_block all = {.stride = n, .rows = 1, .cols = n};
    weft_random_fill_normal(SEED, weft_random_key(name), all, 1, WEFT_F64, x);
}

/* c [m, n] = op(a) op(b); ta: a is stored [k, m]; tb: b is stored [n, k]. */
static weft_status product(weft_kctx *k, int64_t m, int64_t n, int64_t inner, int ta,
                           const double *a, int tb, const double *b, double *c)
{
    weft_gemm g = {.ta = ta, .tb = tb, .m = m, .n = n, .k = inner, .alpha = 1};
    g.in = g.out = WEFT_F64;
    g.a = a;
    g.b = b;
    g.c = c;
    return weft_k_gemm(k, &g);
}

static weft_status first_forward(weft_kctx *k, const double *x, double *h)
{
    double w1[MIDDLE * IN];
    draw("W1", w1, MIDDLE * IN);
    TRY(product(k, BATCH, MIDDLE, IN, 0, x, 1, w1, h));
    for (int i = 0; i < BATCH * MIDDLE; i++)
        if (!(h[i] > 0)) h[i] = 0;
    return WEFT_OK;
}

/* dh [2, 32] of loss = sum(h W2^T): the gradient of every output is 1. */
static weft_status second_half(weft_kctx *k, const double *h, double *loss, double *dh)
{
    double w2[OUT * MIDDLE], y[BATCH * OUT], dy[BATCH * OUT];
    draw("W2", w2, OUT * MIDDLE);
    TRY(product(k, BATCH, OUT, MIDDLE, 0, h, 1, w2, y));
    *loss = 0;
    for (int i = 0; i < BATCH * OUT; i++) {
        *loss += y[i];
        dy[i] = 1;
    }
    return product(k, BATCH, MIDDLE, OUT, 0, dy, 0, w2, dh);
}

static weft_status first_backward(weft_kctx *k, const double *x, const double *h,
                                  double *dh, double *dw1)
{
    for (int i = 0; i < BATCH * MIDDLE; i++)
        if (!(h[i] > 0)) dh[i] = 0;
    return product(k, MIDDLE, IN, BATCH, 1, dh, 0, x, dw1);
}

/* The block is given away with the message: ranks of one process hand over the memory. */
static weft_status rank_0(weft_comm *c, weft_arena *arena, weft_kctx *k)
{
    double x[BATCH * IN], h[BATCH * MIDDLE], dh[BATCH * MIDDLE], loss, most = 0;
    double dw1[MIDDLE * IN], unsplit[MIDDLE * IN];
    void *block;
    weft_event sent, got;

    draw("x", x, BATCH * IN);
    TRY(first_forward(k, x, h));
    TRY(weft_arena_take(arena, WEFT_ACT, HANDED_OVER, &block));
    memcpy(block, h, (size_t)HANDED_OVER);
    TRY(weft_recv_block(c, WEFT_FOR_ACT_GRAD, 1, 1, arena, WEFT_ACT, HANDED_OVER,
                        &got));
    TRY(weft_send_block(c, WEFT_FOR_ACT, 1, 0, arena, block, HANDED_OVER, &sent));
    TRY(weft_wait(c, &sent));
    TRY(weft_wait(c, &got));
    TRY(first_backward(k, x, h, got.block, dw1));
    weft_arena_give(arena, got.block);

    TRY(second_half(k, h, &loss, dh)); /* the same on one rank */
    TRY(first_backward(k, x, h, dh, unsplit));
    for (int i = 0; i < MIDDLE * IN; i++)
        if (dw1[i] * dw1[i] > most) most = dw1[i] * dw1[i];
    printf("gradient reached the first half? %s\n", most > 0 ? "True" : "False");
    printf("same as on one device? %s\n",
           memcmp(dw1, unsplit, sizeof dw1) ? "False" : "True");
    return WEFT_OK;
}

static weft_status rank_1(weft_comm *c, weft_arena *arena, weft_kctx *k)
{
    void *dh;
    double loss;
    weft_event got, sent;

    TRY(weft_recv_block(c, WEFT_FOR_ACT, 0, 0, arena, WEFT_ACT, HANDED_OVER, &got));
    TRY(weft_wait(c, &got));
    TRY(weft_arena_take(arena, WEFT_ACT, HANDED_OVER, &dh));
    TRY(second_half(k, got.block, &loss, dh));
    weft_arena_give(arena, got.block);
    TRY(weft_send_block(c, WEFT_FOR_ACT_GRAD, 0, 1, arena, dh, HANDED_OVER, &sent));
    return weft_wait(c, &sent);
}

static weft_status rank_main(weft_comm *c, void *ctx)
{
    static const int ranks[] = {0, 1};
    weft_arena *arena = NULL;
    weft_kctx *k = NULL;
    weft_group *both = NULL;

    weft_status st = weft_arena_create(0, &arena);
    if (st == WEFT_OK) st = weft_kctx_create(WEFT_BACKEND_AUTO, 1, arena, &k);
    if (st == WEFT_OK) st = weft_group_create(c, 2, ranks, "pp", &both);
    if (st == WEFT_OK)
        st = weft_comm_rank(c) ? rank_1(c, arena, k) : rank_0(c, arena, k);
    /* an arena outlives the blocks that it gave away: leave together */
    if (st == WEFT_OK) st = weft_barrier(both);
    if (both) weft_group_destroy(both);
    if (k) weft_kctx_destroy(k);
    if (arena) weft_arena_destroy(arena);
    return st;
}

int main(void)
{
    if (weft_loop_run(2, NULL, rank_main, NULL) == WEFT_OK) return 0;
    fprintf(stderr, "%s\n", weft_status_message());
    return 1;
}
