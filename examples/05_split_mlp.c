/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron's split of an MLP over two ranks: A by columns, B by rows. The forward pass
 * needs one sum (g), the backward pass one sum (f), and one rank's part alone is wrong.
 *
 *     Z = gelu(X A^T) B^T          X, Z, G [T, h]   A [f, h]   B [h, f]
 *
 *     cc 05_split_mlp.c $(pkg-config --cflags --libs weft-run) && ./a.out
 */
#include <stdio.h>
#include <weft/run/comm.h>
#include <weft/run/kernel.h>
#include <weft/run/random.h>

enum { T = 4, H = 8, F = 4 * H, RANKS = 2, SEED = 0 };

#define TRY(call)                                                                      \
    do {                                                                               \
        weft_status try_st = (call);                                                   \
        if (try_st != WEFT_OK) return try_st;                                          \
    } while (0)

/* c [m, n] = a [m, k] times b, stored [n, k] when tb; row strides lda, ldb. */
static weft_status product(weft_kctx *k, int64_t m, int64_t n, int64_t inner,
                           const double *a, const double *b, int tb, int64_t ldb,
                           double *c)
{
    weft_gemm g = {.m = m, .n = n, .k = inner, .a = a, .b = b, .c = c, .tb = tb};
    g.ldb = ldb;
    g.alpha = 1;
    g.in = g.out = WEFT_F64;
    return weft_k_gemm(k, &g);
}

/* Forward and backward with columns first .. first+width-1 of the inner dimension: the
 * whole MLP when that is all of them, else a part of the sums. */
static weft_status mlp(weft_kctx *k, const double *x, const double *grad,
                       const double *a, const double *b, int first, int width,
                       double *z, double *dx)
{
    double u[T * F], y[T * F], dy[T * F], no_bias[F] = {0};

    TRY(product(k, T, width, H, x, a + first * H, 1, H, u)); /* X A_i^T, local */
    weft_k_bias_gelu(k, WEFT_F64, T, width, no_bias, u, y);
    TRY(product(k, T, H, width, y, b + first, 1, F, z)); /* Y_i B_i^T: a part of Z */
    TRY(product(k, T, width, H, grad, b + first, 0, F, dy));
    weft_k_gelu_dx(k, WEFT_F64, (int64_t)T * width, u, dy, dy);
    return product(k, T, H, width, dy, a + first * H, 0, H, dx); /* a part of dX */
}

static double distance(const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < T * H; i++) {
        double d = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        if (d > most) most = d;
    }
    return most;
}

static void say(const char *what, double d)
{
    int equal = d < 1e-13;
    printf("%-45s %s\n", what, equal ? "True" : "False");
    fflush(stdout);
    fprintf(stderr, "  (the largest difference is %.1e: %s)\n", d,
            equal ? "rounding" : "a rank alone has its part of the sum, as it should");
}

static weft_status sum_up(weft_comm *c, weft_group *g, weft_purpose why, double *x)
{
    weft_event ev;
    TRY(weft_all_reduce(g, why, x, T * H, WEFT_F64, WEFT_SUM, &ev));
    return weft_wait(c, &ev);
}

static void draw(const char *name, double *x, int64_t n)
{
    weft_random_block all = {.stride = n, .rows = 1, .cols = n};
    weft_random_fill_normal(SEED, weft_random_key(name), all, 1, WEFT_F64, x);
}

static weft_status run(weft_comm *c, weft_group *g, weft_kctx *k)
{
    double x[T * H], grad[T * H], a[F * H], b[H * F];
    double z[T * H], dx[T * H], whole_z[T * H], whole_dx[T * H];
    int width = F / RANKS, first = weft_comm_rank(c) * width;

    draw("X", x, T * H);
    draw("G", grad, T * H);
    draw("A", a, F * H);
    draw("B", b, H * F);
    TRY(mlp(k, x, grad, a, b, 0, F, whole_z, whole_dx));

    TRY(mlp(k, x, grad, a, b, first, width, z, dx));
    double one_part = distance(dx, whole_dx);
    TRY(sum_up(c, g, WEFT_FOR_G_MLP, z));
    TRY(sum_up(c, g, WEFT_FOR_F_MLP, dx));
    if (weft_comm_rank(c)) return WEFT_OK;
    say("forward, summed, equals the unsplit Z:", distance(z, whole_z));
    say("backward, one rank alone, equals dX:", one_part);
    say("backward, summed, equals dX:", distance(dx, whole_dx));
    return WEFT_OK;
}

static weft_status rank_main(weft_comm *c, void *ctx)
{
    static const int ranks[RANKS] = {0, 1};
    weft_arena *arena = NULL;
    weft_kctx *k = NULL;
    weft_group *tp = NULL;

    weft_status st = weft_arena_create(0, &arena);
    if (st == WEFT_OK) st = weft_kctx_create(WEFT_BACKEND_AUTO, 1, arena, &k);
    if (st == WEFT_OK) st = weft_group_create(c, RANKS, ranks, "tp", &tp);
    if (st == WEFT_OK) st = run(c, tp, k);
    if (tp) weft_group_destroy(tp);
    if (k) weft_kctx_destroy(k);
    if (arena) weft_arena_destroy(arena);
    return st;
}

int main(void)
{
    if (weft_loop_run(RANKS, NULL, rank_main, NULL) == WEFT_OK) return 0;
    fprintf(stderr, "%s\n", weft_status_message());
    return 1;
}
