/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tests share. A run calls one kernel on inputs made from a seed and writes
 * every result as double. Inputs are bf16 values whatever the dtype, so that runs of f64,
 * f32 and bf16 start from the same numbers and the f64 oracle judges them all.
 */
#ifndef WEFT_TESTS_KERNEL_LAB_H
#define WEFT_TESTS_KERNEL_LAB_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <weft/run/kernel.h>

enum { LAB_INPUTS = 16, LAB_OUTPUTS = 1 << 20 };

typedef struct lab {
    weft_kctx *k;
    weft_dtype t, acc; /* T and A of kernel.h */
    int64_t rows, cols;
    uint32_t seed;
    int n_blocks;
    void *block[LAB_INPUTS];
    double *out; /* [n_out] results, in the order they were kept */
    int64_t n_out;
} lab;

/* A context of REF whose f32 and bf16 tables are those of vector set `set`; -1: REF as it
 * is. NULL when this CPU has no such set; *name is its name. */
weft_kctx *lab_context(int set, int threads, const char **name);
void lab_free_context(weft_kctx *k);

uint32_t lab_random(lab *l);            /* 32 bits */
int64_t lab_below(lab *l, int64_t n);   /* 0 .. n-1 */
double lab_value(lab *l, double scale); /* a bf16 value within +-scale */
/* n random values within +-scale, as type t; freed by lab_end(). */
void *lab_input(lab *l, weft_dtype t, int64_t n, double scale);
void *lab_zeros(lab *l, weft_dtype t, int64_t n);
int32_t *lab_integers(lab *l, int64_t n, int64_t low, int64_t high); /* low .. high-1 */
/* Append n results of type t. */
void lab_keep(lab *l, const void *x, weft_dtype t, int64_t n);
void lab_keep_number(lab *l, double x);

double lab_get(const void *x, weft_dtype t, int64_t i);
void lab_set(void *x, weft_dtype t, int64_t i, double value);

/* One kernel: what it is called, and a run of it. */
typedef struct lab_kernel {
    const char *name;
    void (*run)(lab *l);
} lab_kernel;
extern const lab_kernel lab_kernels[];
extern const int lab_n_kernels;

/* Run and return the results, to be freed; *n how many. */
double *lab_run(const lab_kernel *kernel, weft_kctx *k, weft_dtype t, int64_t rows,
                int64_t cols, uint32_t seed, int64_t *n);
#endif
