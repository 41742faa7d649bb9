/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linear layer 8 -> 6 split by its outputs over two ranks: each computes half of the
 * columns, an all-gather stitches them together.
 *
 *     cc 07_column_linear.c $(pkg-config --cflags --libs weft-run) && ./a.out
 */
#include <stdio.h>
#include <weft/run/comm.h>
#include <weft/run/kernel.h>
#include <weft/run/random.h>

enum { BATCH = 2, IN = 8, OUT = 6, RANKS = 2, MINE = OUT / RANKS, SEED = 0 };

#define TRY(call)                                                                      \
    do {                                                                               \
        weft_status try_st = (call);                                                   \
        if (try_st != WEFT_OK) return try_st;                                          \
    } while (0)

/* y [2, n] = x w^T with n rows of the weight [., 8]. */
static weft_status linear(weft_kctx *k, const double *x, const double *w, int64_t n,
                          double *y)
{
    weft_gemm g = {.tb = 1, .m = BATCH, .n = n, .k = IN, .alpha = 1};
    g.in = g.out = WEFT_F64;
    g.a = x;
    g.b = w;
    g.c = y;
    return weft_k_gemm(k, &g);
}

/* A rank draws its rows of the weight only: the values are those of the whole matrix. */
static void draw(const char *name, int64_t first_row, int64_t rows, double std,
                 double *x)
{
    weft_random_block at = {first_row * IN, IN, rows, IN};
    weft_random_fill_normal(SEED, weft_random_key(name), at, std, WEFT_F64, x);
}

static void print_row(const char *what, const double *y)
{
    printf("%s: [", what);
    for (int i = 0; i < OUT; i++)
        printf("%s%.4f", i ? ", " : "", y[i]);
    printf("]\n");
}

static weft_status run(weft_comm *c, weft_group *g, weft_kctx *k)
{
    double x[BATCH * IN], w[MINE * IN], part[BATCH * MINE], parts[RANKS][BATCH][MINE];
    double whole_w[OUT * IN], whole[BATCH * OUT], stitched[BATCH * OUT], most = 0;
    int rank = weft_comm_rank(c);
    weft_event ev;

    draw("x", 0, BATCH, 1, x); /* every rank has the same input */
    draw("weight", rank * MINE, MINE, 0.35, w);
    TRY(linear(k, x, w, MINE, part));
    for (int r = 0; r < RANKS;
         r++) { /* one after the other, so that lines do not mix */
        if (r == rank)
            printf("rank %d: my weight slice (%d, %d), my output (%d, %d)\n", r, MINE,
                   IN, BATCH, MINE);
        TRY(weft_barrier(g));
    }
    TRY(weft_all_gather(g, WEFT_FOR_CONTROL, part, sizeof part, parts, &ev));
    TRY(weft_wait(c, &ev));
    for (int i = 0; i < BATCH * OUT; i++)
        stitched[i] = parts[i % OUT / MINE][i / OUT][i % MINE];
    if (rank) return WEFT_OK;

    draw("weight", 0, OUT, 0.35, whole_w);
    TRY(linear(k, x, whole_w, OUT, whole));
    for (int i = 0; i < BATCH * OUT; i++) {
        double d =
            whole[i] > stitched[i] ? whole[i] - stitched[i] : stitched[i] - whole[i];
        if (d > most) most = d;
    }
    print_row("unsplit layer output ", whole);
    print_row("stitched from shards ", stitched);
    printf("same answer? %s\n", most < 1e-14 ? "True" : "False");
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
