/* SPDX-License-Identifier: Apache-2.0 */
#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/fast/fast.h"

weft_kctx *lab_context(int set, int threads, const char **name)
{
    weft_arena *a;
    weft_kctx *k;
    const wf_kernels *tables = set >= 0 ? wf_fast_set(set, name) : NULL;
    if (set < 0)
        *name = "ref";
    else if (!tables)
        return NULL;
    assert_int_equal(weft_arena_create(0, &a), WEFT_OK);
    assert_int_equal(weft_kctx_create(WEFT_BACKEND_REF, threads, a, &k), WEFT_OK);
    const wf_kernels *const over[WEFT_N_DTYPES] = {
        [WEFT_F32] = tables, [WEFT_BF16] = tables ? tables + 1 : NULL};
    wf_kernels_overlay(k, over);
    return k;
}

void lab_free_context(weft_kctx *k)
{
    weft_arena *a = k->arena;
    weft_kctx_destroy(k);
    weft_arena_destroy(a);
}

uint32_t lab_random(lab *l)
{
    l->seed = l->seed * 1664525u + 1013904223u;
    uint32_t x = l->seed;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

int64_t lab_below(lab *l, int64_t n)
{
    return (int64_t)((uint64_t)lab_random(l) * (uint64_t)n >> 32);
}

double lab_value(lab *l, double scale)
{
    const double x = ((double)lab_random(l) / 4294967296.0 - 0.5) * 2 * scale;
    return (double)weft_bf16_to_f32(weft_bf16_from_f32((float)x));
}

double lab_get(const void *x, weft_dtype t, int64_t i)
{
    if (t == WEFT_F64) return ((const double *)x)[i];
    if (t == WEFT_F32) return (double)((const float *)x)[i];
    return (double)weft_bf16_to_f32(((const uint16_t *)x)[i]);
}

void lab_set(void *x, weft_dtype t, int64_t i, double value)
{
    if (t == WEFT_F64)
        ((double *)x)[i] = value;
    else if (t == WEFT_F32)
        ((float *)x)[i] = (float)value;
    else
        ((uint16_t *)x)[i] = weft_bf16_from_f32((float)value);
}

static void *block(lab *l, int64_t bytes)
{
    assert_true(l->n_blocks < LAB_INPUTS);
    void *p =
        malloc(bytes ? (size_t)bytes : 1); /* exact: a sanitizer sees an overrun */
    assert_non_null(p);
    l->block[l->n_blocks++] = p;
    return p;
}

void *lab_input(lab *l, weft_dtype t, int64_t n, double scale)
{
    void *p = block(l, n * weft_dtype_bytes(t));
    for (int64_t i = 0; i < n; i++)
        lab_set(p, t, i, lab_value(l, scale));
    return p;
}

void *lab_zeros(lab *l, weft_dtype t, int64_t n)
{
    return memset(block(l, n * weft_dtype_bytes(t)), 0,
                  (size_t)(n * weft_dtype_bytes(t)));
}

int32_t *lab_integers(lab *l, int64_t n, int64_t low, int64_t high)
{
    int32_t *p = block(l, n * (int64_t)sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (int32_t)(low + lab_below(l, high - low));
    return p;
}

void lab_keep_number(lab *l, double x)
{
    assert_true(l->n_out < LAB_OUTPUTS);
    l->out[l->n_out++] = x;
}

void lab_keep(lab *l, const void *x, weft_dtype t, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        lab_keep_number(l, lab_get(x, t, i));
}

double *lab_run(const lab_kernel *kernel, weft_kctx *k, weft_dtype t, int64_t rows,
                int64_t cols, uint32_t seed, int64_t *n)
{
    lab l = {.k = k,
             .t = t,
             .acc = weft_dtype_acc(t),
             .rows = rows,
             .cols = cols,
             .seed = seed};
    l.out = malloc(LAB_OUTPUTS * sizeof *l.out);
    assert_non_null(l.out);
    kernel->run(&l);
    while (l.n_blocks)
        free(l.block[--l.n_blocks]);
    *n = l.n_out;
    return l.out;
}
