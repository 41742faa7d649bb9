/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collective's data movement, cut into units that any member may do in any order: every
 * element is computed by one unit, in group rank order, so the bits depend on nothing else.
 */
#include <string.h>

#include "comm/loop/loop.h"

enum {
    UNIT_BYTES = 64 << 10, /* of one member's buffer: eight of them stay in cache */
    FOLD = 512             /* elements folded in one go, on the stack */
};

/* acc[i] = acc[i] (op) x[i]. NaN wins a maximum: a rank's NaN must not be lost. */
#define DEFINE_FOLD(T, name, expr)                                                     \
    static void name(T *restrict acc, const T *restrict x, int64_t n)                  \
    {                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                \
            acc[i] = (expr);                                                           \
    }
DEFINE_FOLD(float, sum_f32, acc[i] + x[i])
DEFINE_FOLD(double, sum_f64, acc[i] + x[i])
DEFINE_FOLD(float, max_f32, x[i] > acc[i] || x[i] != x[i] ? x[i] : acc[i])
DEFINE_FOLD(double, max_f64, x[i] > acc[i] || x[i] != x[i] ? x[i] : acc[i])

static void fold(const wf_op *d, void *acc, const void *x, int64_t n)
{
    if (d->dtype == WEFT_F64)
        (d->reduce == WEFT_SUM ? sum_f64 : max_f64)(acc, x, n);
    else
        (d->reduce == WEFT_SUM ? sum_f32 : max_f32)(acc, x, n);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements lo .. lo+n of every member's `in` (offset by `skip` elements) folded into acc. */
static void fold_members(const loop_coll *k, int64_t at, int64_t n, void *acc)
{
    const wf_op *d = &k->op[0]->base;
    size_t es = (size_t)weft_dtype_bytes(d->dtype);

    memcpy(acc, (const char *)d->in + (size_t)at * es, (size_t)n * es);
    for (int m = 1; m < k->n; m++)
        fold(d, acc, (const char *)k->op[m]->base.in + (size_t)at * es, n);
}

static void all_reduce(const loop_coll *k, int64_t lo, int64_t hi)
{
    double acc[FOLD]; /* aligned for both types */
    size_t es = (size_t)weft_dtype_bytes(k->op[0]->base.dtype);

    for (int64_t n, at = lo; at < hi; at += n) {
        n = least(FOLD, hi - at);
        fold_members(k, at, n, acc);
        for (int m = 0; m < k->n; m++)
            memcpy((char *)k->op[m]->base.out + (size_t)at * es, acc, (size_t)n * es);
    }
}

static void reduce_scatter(const loop_coll *k, int part, int64_t lo, int64_t hi)
{
    const wf_op *d = &k->op[part]->base;
    double acc[FOLD];
    size_t es = (size_t)weft_dtype_bytes(d->dtype);

    for (int64_t n, at = lo; at < hi; at += n) {
        n = least(FOLD, hi - at);
        fold_members(k, part * d->count + at, n, acc);
        memcpy((char *)d->out + (size_t)at * es, acc, (size_t)n * es);
    }
}

/* Bytes lo .. hi of part `from` of member src's `in` to part `to` of member dst's `out`. */
static void copy(const loop_coll *k, int src, int64_t from, int dst, int64_t to,
                 int64_t lo, int64_t hi)
{
    int64_t part = k->op[src]->base.bytes;
    const char *in = (const char *)k->op[src]->base.in + from * part + lo;
    char *out = (char *)k->op[dst]->base.out + to * part + lo;
    if (in != out) memcpy(out, in, (size_t)(hi - lo));
}

/* Bytes of one part and how many parts the work is divided over. */
static int parts_of(const loop_coll *k)
{
    switch (k->op[0]->base.kind) {
    case WF_ALL_REDUCE: return 1;
    case WF_BARRIER: return 0;
    default: return k->n; /* parts of the result, or members that receive */
    }
}

void wf_loop_cut(loop_coll *k)
{
    k->chunks = (k->op[0]->base.bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    k->n_units = k->chunks * parts_of(k);
}

void wf_loop_unit(const loop_coll *k, int64_t unit)
{
    const wf_op *d = &k->op[0]->base;
    int part = (int)(unit / k->chunks);
    int64_t lo = unit % k->chunks * UNIT_BYTES, hi = least(d->bytes, lo + UNIT_BYTES);
    int64_t es = d->count ? d->bytes / d->count : 1;

    switch (d->kind) {
    case WF_ALL_REDUCE: all_reduce(k, lo / es, hi / es); break;
    case WF_REDUCE_SCATTER: reduce_scatter(k, part, lo / es, hi / es); break;
    case WF_BROADCAST: copy(k, d->peer, 0, part, 0, lo, hi); break;
    case WF_ALL_GATHER:
        for (int dst = 0; dst < k->n; dst++)
            copy(k, part, 0, dst, part, lo, hi);
        break;
    case WF_ALL_TO_ALL:
        for (int src = 0; src < k->n; src++)
            copy(k, src, part, part, src, lo, hi);
        break;
    default: break;
    }
}
