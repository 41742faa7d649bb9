/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GFLOP/s of the matrix products of one GPT-2 124M step (hidden 768, 12 heads, vocabulary
 * 50304, 2 sequences of 512), per back end, dtype and thread count.
 *
 *   gemm [threads ...]        default: 1 2
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/run/kernel.h>

typedef struct shape {
    const char *name;
    int64_t batch, m, n, k;
    int ta, tb, grad; /* grad: C in f32, added to */
} shape;

static const shape shapes[] = {
    {"qkv", 1, 1024, 2304, 768, 0, 0, 0},
    {"attention out", 1, 1024, 768, 768, 0, 0, 0},
    {"mlp up", 1, 1024, 3072, 768, 0, 0, 0},
    {"mlp down", 1, 1024, 768, 3072, 0, 0, 0},
    {"logits", 1, 1024, 50304, 768, 0, 1, 0},
    {"scores q k'", 24, 512, 512, 64, 0, 1, 0},
    {"context p v", 24, 512, 64, 512, 0, 0, 0},
    {"d qkv", 1, 1024, 768, 2304, 0, 1, 0},
    {"d mlp up", 1, 1024, 768, 3072, 0, 1, 0},
    {"d mlp down", 1, 1024, 3072, 768, 0, 1, 0},
    {"d logits", 1, 1024, 768, 50304, 0, 0, 0},
    {"d scores", 24, 512, 512, 64, 0, 1, 0},
    {"d v", 24, 512, 64, 512, 1, 0, 0},
    {"d q", 24, 512, 64, 512, 0, 0, 0},
    {"w qkv", 1, 768, 2304, 1024, 1, 0, 1},
    {"w attention out", 1, 768, 768, 1024, 1, 0, 1},
    {"w mlp up", 1, 768, 3072, 1024, 1, 0, 1},
    {"w mlp down", 1, 3072, 768, 1024, 1, 0, 1},
    {"w logits", 1, 50304, 768, 1024, 1, 0, 1},
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(void)
{
    fprintf(stderr, "gemm: %s\n", weft_status_message());
    exit(3);
}

static void *matrix(weft_arena *a, weft_dtype t, int64_t n)
{
    void *p;
    if (weft_arena_take(a, WEFT_ACT, n * weft_dtype_bytes(t), &p) != WEFT_OK) stop();
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)(i * 2654435761u % 1000) / 1000 - 0.5;
        if (t == WEFT_F64) ((double *)p)[i] = x;
        if (t == WEFT_F32) ((float *)p)[i] = (float)x;
        if (t == WEFT_BF16) ((uint16_t *)p)[i] = weft_bf16_from_f32((float)x);
    }
    return p;
}

/* Best of the calls that fit in about 0.3 s, at least 3. */
static double gflops(weft_kctx *k, const weft_gemm *g, const shape *s)
{
    const double flops =
        2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
    double best = 1e30, begin = now_s();
    if (weft_k_gemm(k, g) != WEFT_OK)
        stop(); /* makes the primitive, touches the memory */
    for (int i = 0; i < 3 || now_s() - begin < 0.3; i++) {
        const double t0 = now_s();
        if (weft_k_gemm(k, g) != WEFT_OK) stop();
        const double t = now_s() - t0;
        if (t < best) best = t;
    }
    return flops / best * 1e-9;
}

static double measure(weft_kctx *k, weft_arena *a, const shape *s, weft_dtype t)
{
    weft_gemm g = {.ta = s->ta,
                   .tb = s->tb,
                   .m = s->m,
                   .n = s->n,
                   .k = s->k,
                   .batch = s->batch,
                   .sa = s->m * s->k,
                   .sb = s->k * s->n,
                   .sc = s->m * s->n,
                   .alpha = 1,
                   .beta = s->grad,
                   .in = t};
    g.out = s->grad ? weft_dtype_acc(t) : t;
    void *x = matrix(a, t, s->batch * g.sa), *y = matrix(a, t, s->batch * g.sb);
    void *z = matrix(a, g.out, s->batch * g.sc);
    g.a = x;
    g.b = y;
    g.c = z;
    const double rate = gflops(k, &g, s);
    weft_arena_give(a, x);
    weft_arena_give(a, y);
    weft_arena_give(a, z);
    return rate;
}

static void table(weft_backend b, const char *name, weft_dtype t, int n, char **threads)
{
    weft_arena *a;
    if (weft_arena_create(0, &a) != WEFT_OK) stop();
    printf("%s %s\n%-16s %5s %6s %6s %6s", name, weft_dtype_name(t), "GFLOP/s", "batch",
           "m", "n", "k");
    for (int i = 0; i < n; i++)
        printf("  %2s thread%s", threads[i], strcmp(threads[i], "1") ? "s" : " ");
    puts("");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        printf("%-16s %5lld %6lld %6lld %6lld", s->name, (long long)s->batch,
               (long long)s->m, (long long)s->n, (long long)s->k);
        for (int j = 0; j < n; j++) {
            weft_kctx *k;
            if (weft_kctx_create(b, atoi(threads[j]), a, &k) != WEFT_OK) stop();
            printf(" %10.0f", measure(k, a, s, t));
            fflush(stdout);
            weft_kctx_destroy(k);
        }
        puts("");
    }
    weft_arena_destroy(a);
}

int main(int argc, char **argv)
{
    char *usual[] = {"1", "2"};
    const int n = argc > 1 ? argc - 1 : 2;
    char **threads = argc > 1 ? argv + 1 : usual;
    table(WEFT_BACKEND_BLAS, "blas", WEFT_F64, n, threads);
    table(WEFT_BACKEND_BLAS, "blas", WEFT_F32, n, threads);
    table(WEFT_BACKEND_ONEDNN, "onednn", WEFT_F32, n, threads);
    table(WEFT_BACKEND_ONEDNN, "onednn", WEFT_BF16, n, threads);
    return 0;
}
