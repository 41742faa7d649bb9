/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of every kernel but the products at the shapes of one GPT-2 124M micro-batch
 * (2 sequences of 512, hidden 768, 12 heads, vocabulary 50257 padded to 50304): per call,
 * per step of one micro-batch, and the bytes it moves per second.
 *
 *   kernels [threads]         default: 2
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/run/kernel.h>

enum { B = 2, S = 512, H = 12, D = 64, HIDDEN = H * D, FFN = 4 * HIDDEN, ROWS = B * S };
enum { VOCAB = 50257, PADDED = 50304, LAYERS = 12 };
static const int64_t PARAMS = 124475904;

typedef struct lab {
    weft_kctx *k;
    weft_dtype t;
    void *x, *y, *z; /* activations, logits fit */
    float *stat, *grad, *m, *v, *master;
    int32_t *index;
} lab;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(void)
{
    fprintf(stderr, "kernels: %s\n", weft_status_message());
    exit(3);
}

static void layernorm(lab *l)
{
    weft_k_layernorm(l->k, l->t, ROWS, HIDDEN, 1e-5, l->x, l->z, l->z, l->y, l->stat,
                     l->stat + ROWS);
}

static void layernorm_dx(lab *l)
{
    weft_k_layernorm_dx(l->k, l->t, ROWS, HIDDEN, l->x, l->z, l->stat, l->stat, l->z, 1,
                        l->y);
}

static void layernorm_dw(lab *l)
{
    weft_k_layernorm_dw(l->k, l->t, ROWS, HIDDEN, l->x, l->stat, l->stat, l->z, l->grad,
                        l->m);
}

static void bias_gelu(lab *l)
{
    weft_k_bias_gelu(l->k, l->t, ROWS, FFN, l->z, l->x, l->y);
}

static void gelu_dx(lab *l)
{
    weft_k_gelu_dx(l->k, l->t, ROWS * FFN, l->x, l->y, l->y);
}

static void bias_residual(lab *l)
{
    weft_k_bias_residual(l->k, l->t, l->t, ROWS, HIDDEN, l->x, l->y, l->z, l->y);
}

static void bias_dw_ffn(lab *l)
{
    weft_k_bias_dw(l->k, l->t, ROWS, FFN, l->x, l->grad);
}

static void pack_qkv(lab *l)
{
    char *q = l->y;
    const int64_t part = (int64_t)ROWS * HIDDEN * weft_dtype_bytes(l->t);
    weft_k_pack_qkv(l->k, l->t, B, S, H, D, l->x, l->z, q, q + part, q + 2 * part);
}

static void unpack_qkv(lab *l)
{
    weft_k_unpack_qkv(l->k, l->t, B, S, H, D, l->x, l->x, l->x, l->y);
}

static void merge_heads(lab *l)
{
    weft_k_merge_heads(l->k, l->t, B, S, H, D, l->x, l->y);
}

static void softmax(lab *l)
{
    weft_k_softmax_causal(l->k, l->t, B * H, S, 0.125, l->y);
}

static void softmax_dx(lab *l)
{
    weft_k_softmax_causal_dx(l->k, l->t, B * H, S, 0.125, l->x, l->y);
}

static void embed(lab *l)
{
    weft_k_embed(l->k, l->t, l->t, ROWS, HIDDEN, 0, VOCAB, l->index, l->x, l->y);
}

static void embed_dw(lab *l)
{
    weft_k_embed_dw(l->k, l->t, ROWS, HIDDEN, 0, VOCAB, l->index, l->x, l->grad);
}

static void ce_max(lab *l)
{
    weft_k_ce_max(l->k, l->t, ROWS, PADDED, VOCAB, l->x, l->stat);
}

static void ce_sum(lab *l)
{
    weft_k_ce_sum(l->k, l->t, ROWS, PADDED, 0, VOCAB, l->index, l->x, l->stat,
                  l->stat + ROWS, l->stat + 2 * ROWS);
}

static void ce_dx(lab *l)
{
    weft_k_ce_dx(l->k, l->t, ROWS, PADDED, 0, VOCAB, l->index, l->stat, l->stat + ROWS,
                 1e-3, l->x);
}

static void sumsq(lab *l)
{
    if (!(weft_k_sumsq(l->k, WEFT_F32, PARAMS, l->grad) >= 0)) exit(3);
}

static void adamw(lab *l)
{
    const weft_adamw o = {.lr = 1e-4,
                          .beta1 = 0.9,
                          .beta2 = 0.95,
                          .eps = 1e-8,
                          .decay = 0.1,
                          .grad_scale = 1,
                          .step = 10};
    weft_k_adamw(l->k, l->t, PARAMS, &o, l->grad, l->m, l->v, l->master,
                 l->t == WEFT_F32 ? (void *)l->master : l->x);
}

/* calls: in one micro-batch of the 12 layers; 0: once a step. t, a: elements of the tensor
 * type and f32 numbers moved in one call. */
static const struct job {
    const char *name;
    void (*run)(lab *l);
    int calls;
    double t, a;
} jobs[] = {
    {"layernorm", layernorm, 2 * LAYERS + 1, 2. * ROWS *HIDDEN, 0},
    {"layernorm_dx", layernorm_dx, 2 * LAYERS + 1, 4. * ROWS *HIDDEN, 0},
    {"layernorm_dw", layernorm_dw, 2 * LAYERS + 1, 2. * ROWS *HIDDEN, 0},
    {"bias_gelu", bias_gelu, LAYERS, 3. * ROWS *FFN, 0},
    {"gelu_dx", gelu_dx, LAYERS, 3. * ROWS *FFN, 0},
    {"bias_residual", bias_residual, 2 * LAYERS, 3. * ROWS *HIDDEN, 0},
    {"bias_dw (ffn)", bias_dw_ffn, 2 * LAYERS, 1. * ROWS *FFN,
     0}, /* all four: 2 of this */
    {"pack_qkv", pack_qkv, LAYERS, 6. * ROWS *HIDDEN, 0},
    {"unpack_qkv", unpack_qkv, LAYERS, 6. * ROWS *HIDDEN, 0},
    {"merge/split_heads", merge_heads, 2 * LAYERS, 2. * ROWS *HIDDEN, 0},
    {"softmax_causal", softmax, LAYERS, 2. * B *H *S *S, 0},
    {"softmax_causal_dx", softmax_dx, LAYERS, 3. * B *H *S *S, 0},
    {"embed", embed, 1, 2. * ROWS *HIDDEN, 0},
    {"embed_dw", embed_dw, 1, 1. * ROWS *HIDDEN, 2. * ROWS *HIDDEN},
    {"ce_max", ce_max, 1, 1. * ROWS *PADDED, 0},
    {"ce_sum", ce_sum, 1, 1. * ROWS *PADDED, 0},
    {"ce_dx", ce_dx, 1, 2. * ROWS *PADDED, 0},
    {"sumsq", sumsq, 0, 0, 124475904.},
    {"adamw", adamw, 0, 124475904., 7. * 124475904},
};

static void *room(weft_arena *a, int64_t bytes)
{
    void *p;
    if (weft_arena_zero(a, WEFT_ACT, bytes, &p) != WEFT_OK) stop();
    return p;
}

static double best_s(const struct job *j, lab *l)
{
    double best = 1e30;
    const double begin = now_s();
    j->run(l);
    for (int i = 0; i < 3 || now_s() - begin < 0.1; i++) {
        const double t0 = now_s();
        j->run(l);
        const double t = now_s() - t0;
        if (t < best) best = t;
    }
    return best;
}

static void table(weft_dtype t, int threads)
{
    const int64_t size = weft_dtype_bytes(t);
    double step = 0;
    weft_arena *a;
    lab l = {.t = t};
    if (weft_arena_create(0, &a) != WEFT_OK) stop();
    if (weft_kctx_create(WEFT_BACKEND_AUTO, threads, a, &l.k) != WEFT_OK) stop();
    l.x = room(a, PARAMS * size);
    l.y = room(a, (int64_t)B * H * S * S * size);
    l.z = room(a, (int64_t)ROWS * HIDDEN * size);
    l.stat = room(a, 3 * ROWS * 4);
    l.index = room(a, ROWS * 4);
    l.grad = room(a, PARAMS * 4);
    l.m = room(a, PARAMS * 4);
    l.v = room(a, PARAMS * 4);
    l.master = room(a, PARAMS * 4);
    for (int i = 0; i < ROWS; i++)
        l.index[i] = (int32_t)(i * 7919LL % VOCAB);
    printf("%s (%s)\n%-18s %10s %8s %12s %8s\n", weft_dtype_name(t),
           weft_kctx_describe(l.k), "kernel", "us/call", "GB/s", "calls", "ms");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const struct job *j = &jobs[i];
        const double s = best_s(j, &l), bytes = j->t * (double)size + j->a * 4;
        const double ms = s * 1e3 * (j->calls ? j->calls : 1);
        if (j->calls) step += ms;
        printf("%-18s %10.1f %8.1f %12d %8.2f%s\n", j->name, s * 1e6, bytes / s * 1e-9,
               j->calls, ms, j->calls ? "" : " once a step");
        fflush(stdout);
    }
    printf("%-18s %40.2f ms a micro-batch\n\n", "together", step);
    weft_kctx_destroy(l.k);
    weft_arena_destroy(a);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    table(WEFT_F32, threads);
    table(WEFT_BF16, threads);
    return 0;
}
