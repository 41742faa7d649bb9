/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by CBLAS: f64 and f32 as they are, bf16 by way of f32 copies.
 *
 * OpenBLAS keeps one pool of threads for the whole process, of no use when every rank is a
 * thread itself: it is told once to use none, and a product is cut over the OpenMP threads
 * of its rank here. Each element of C is the work of one thread, whatever their number.
 */
#define _DEFAULT_SOURCE
#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "kernel/blas/blas.h"

enum { TILE = 16 }; /* cuts fall on multiples: whole vectors on both sides */
#define WORTH_CUTTING                                                                  \
    200000. /* multiply-adds; below, a team costs more than it saves */

static void set_one_thread(void)
{
    openblas_set_num_threads(1);
}

static void product(const weft_gemm *g)
{
    const CBLAS_TRANSPOSE ta = g->ta ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE tb = g->tb ? CblasTrans : CblasNoTrans;
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    const int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
    if (g->in == WEFT_F64)
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, g->alpha, g->a, lda, g->b, ldb,
                    g->beta, g->c, ldc);
    else
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, (float)g->alpha, g->a, lda, g->b,
                    ldb, (float)g->beta, g->c, ldc);
}

/* Matrix q of the batch, rows i0..i1 and columns j0..j1 of C. */
static weft_gemm part(const weft_gemm *g, int64_t q, int64_t i0, int64_t i1, int64_t j0,
                      int64_t j1)
{
    const int64_t size = weft_dtype_bytes(g->in);
    weft_gemm p = *g;
    p.m = i1 - i0;
    p.n = j1 - j0;
    p.a = (const char *)g->a + (q * g->sa + i0 * (g->ta ? 1 : g->lda)) * size;
    p.b = (const char *)g->b + (q * g->sb + j0 * (g->tb ? g->ldb : 1)) * size;
    p.c = (char *)g->c + (q * g->sc + i0 * g->ldc + j0) * size;
    return p;
}

/* Start of piece i of n pieces of `length`, on a multiple of TILE. */
static int64_t cut(int64_t length, int64_t i, int64_t n)
{
    const int64_t tiles = (length + TILE - 1) / TILE;
    const int64_t at = tiles * i / n * TILE;
    return at < length ? at : length;
}

/* The interface has 32-bit integers. */
static weft_status check_range(const weft_gemm *g)
{
    const int64_t all[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc};
    for (int i = 0; i < 6; i++)
        if (all[i] > INT32_MAX)
            return WF_FAIL(WEFT_E_INVALID,
                           "gemm by blas with a length of %lld: at most %d",
                           (long long)all[i], INT32_MAX);
    return WEFT_OK;
}

/* The batch over the threads where it is long enough, else the longer side of C. */
weft_status wf_blas_gemm(weft_kctx *k, const weft_gemm *g)
{
    WF_TRY(check_range(g));
    const double work = (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    const int threads = work < WORTH_CUTTING ? 1 : k->threads;
    const int64_t pieces = g->batch >= threads ? 1 : threads;
    const int by_rows = g->m >= g->n;

#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < g->batch * pieces; i++) {
        const int64_t q = i / pieces, r = i % pieces;
        const weft_gemm p =
            by_rows
                ? part(g, q, cut(g->m, r, pieces), cut(g->m, r + 1, pieces), 0, g->n)
                : part(g, q, 0, g->m, cut(g->n, r, pieces), cut(g->n, r + 1, pieces));
        if (p.m > 0 && p.n > 0) product(&p);
    }
    return WEFT_OK;
}

/* OpenBLAS takes a work area for every thread that calls it. Where the system has none to
 * give, it asks again and again and never returns: so ask first. */
static weft_status check_work_area(int threads)
{
    enum { MIB_A_THREAD = 128 };
    const size_t bytes = (size_t)threads * MIB_A_THREAD << 20;
    void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return WF_FAIL(WEFT_E_NOMEM,
                       "out of memory: OpenBLAS needs %d MiB for each of %d threads; "
                       "a higher ulimit -v or --backend ref is needed",
                       MIB_A_THREAD, threads);
    munmap(area, bytes);
    return WEFT_OK;
}

weft_status wf_blas_install(weft_kctx *k)
{
    static const wf_kernels straight = {.gemm = wf_blas_gemm};
    static const wf_kernels widened = {.gemm = wf_blas_gemm_bf16};
    static const wf_kernels *const over[WEFT_N_DTYPES] = {
        [WEFT_F64] = &straight, [WEFT_F32] = &straight, [WEFT_BF16] = &widened};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char version[16] = "";
    WF_TRY(check_work_area(k->threads));
    pthread_once(&once, set_one_thread);
    wf_kernels_overlay(k, over);
    sscanf(openblas_get_config(), "OpenBLAS %15s", version);
    wf_kctx_note(k, "openblas %s", version);
    return WEFT_OK;
}
