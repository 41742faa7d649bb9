/* SPDX-License-Identifier: Apache-2.0 */
/* Makes matmul primitives and keeps them by shape. */
#include <string.h>

#include "base/error.h"
#include "kernel/onednn/onednn.h"

static dnnl_data_type_t type_of(weft_dtype t)
{
    return t == WEFT_BF16 ? dnnl_bf16 : dnnl_f32;
}

static wf_matmul_key key_of(const weft_gemm *g, int threads)
{
    wf_matmul_key key;
    memset(&key, 0, sizeof key);
    key = (wf_matmul_key){.ta = g->ta != 0,
                          .tb = g->tb != 0,
                          .m = g->m,
                          .n = g->n,
                          .k = g->k,
                          .lda = g->lda,
                          .ldb = g->ldb,
                          .ldc = g->ldc,
                          .batch = g->batch,
                          .sa = g->sa,
                          .sb = g->sb,
                          .sc = g->sc,
                          .add = g->beta != 0,
                          .in = g->in,
                          .out = g->out,
                          .threads = threads,
                          .alpha = g->alpha};
    return key;
}

/* FNV-1a over 64-bit words. */
static uint64_t hash(const wf_matmul_key *key)
{
    uint64_t word, h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof *key; i += sizeof word) {
        memcpy(&word, (const char *)key + i, sizeof word);
        h = (h ^ word) * 0x100000001b3u;
    }
    return h ^ h >> 32;
}

/* rows x cols, transposed in memory or not; a batch adds a first dimension, of length 1
 * where the stride says that all share one matrix. */
static dnnl_status_t describe(dnnl_memory_desc_t *md, weft_dtype t, int64_t batch,
                              int64_t stride, int64_t rows, int64_t cols,
                              int transposed, int64_t ld)
{
    const int skip = batch == 1;
    const dnnl_dims_t dims = {stride ? batch : 1, rows, cols};
    const dnnl_dims_t strides = {stride, transposed ? 1 : ld, transposed ? ld : 1};
    return dnnl_memory_desc_init_by_strides(md, 3 - skip, dims + skip, type_of(t),
                                            strides + skip);
}

/* alpha is a scale of the result before the old C is added, known when it is made. */
static weft_status make_attr(dnnl_primitive_attr_t attr, const weft_gemm *g)
{
    WF_DNNL(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    if (g->alpha != 1) {
        const float alpha = (float)g->alpha;
        WF_DNNL(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &alpha));
    }
    if (g->beta != 0) {
        dnnl_post_ops_t ops;
        WF_DNNL(dnnl_post_ops_create(&ops));
        dnnl_status_t st = dnnl_post_ops_append_sum(ops, 1.0f);
        if (st == dnnl_success) st = dnnl_primitive_attr_set_post_ops(attr, ops);
        dnnl_post_ops_destroy(ops);
        WF_DNNL(st);
    }
    return WEFT_OK;
}

/* The library's own first choice for bf16 copies a transposed A, and a long one, at half
 * the speed of its other one (measured on AMX: 0.58 and 1.0 TFLOP/s for a weight gradient
 * of 768 x 2304 from 1024 rows). */
static int prefers_gemm(const weft_gemm *g)
{
    enum { LONG = 1536 };
    return g->in == WEFT_BF16 && g->batch == 1 && (g->ta || g->k > LONG);
}

/* The first implementation, or the first whose name starts with `name`. */
static weft_status pick(dnnl_primitive_desc_iterator_t it, const char *name,
                        dnnl_primitive_desc_t *out)
{
    dnnl_primitive_desc_t first = dnnl_primitive_desc_iterator_fetch(it), pd = first;
    while (name && pd) {
        const char *info;
        WF_DNNL(
            dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&info));
        if (strncmp(info, name, strlen(name)) == 0) break;
        if (pd != first) dnnl_primitive_desc_destroy(pd);
        pd = dnnl_primitive_desc_iterator_next(it) == dnnl_success
                 ? dnnl_primitive_desc_iterator_fetch(it)
                 : NULL;
    }
    if (pd && pd != first) dnnl_primitive_desc_destroy(first);
    *out = pd ? pd : first;
    return WEFT_OK;
}

static weft_status make_desc(const struct wf_onednn *d, const weft_gemm *g,
                             dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_iterator_t it;
    WF_DNNL(describe(&a, g->in, g->batch, g->sa, g->m, g->k, g->ta, g->lda));
    WF_DNNL(describe(&b, g->in, g->batch, g->sb, g->k, g->n, g->tb, g->ldb));
    WF_DNNL(describe(&c, g->out, g->batch, g->sc, g->m, g->n, 0, g->ldc));
    WF_DNNL(dnnl_matmul_desc_init(&op, &a, &b, NULL, &c));
    WF_DNNL(dnnl_primitive_desc_iterator_create(&it, &op, attr, d->engine, NULL));
    weft_status st = pick(it, prefers_gemm(g) ? "gemm" : NULL, out);
    dnnl_primitive_desc_iterator_destroy(it);
    return st;
}

static weft_status make_memory(const struct wf_onednn *d,
                               const_dnnl_primitive_desc_t pd, dnnl_query_t what,
                               dnnl_memory_t *out)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, what, 0);
    WF_DNNL(dnnl_memory_create(out, md, d->engine, DNNL_MEMORY_NONE));
    return WEFT_OK;
}

static weft_status fill(const struct wf_onednn *d, const_dnnl_primitive_desc_t pd,
                        wf_matmul *p)
{
    WF_TRY(make_memory(d, pd, dnnl_query_src_md, &p->src));
    WF_TRY(make_memory(d, pd, dnnl_query_weights_md, &p->weights));
    WF_TRY(make_memory(d, pd, dnnl_query_dst_md, &p->dst));
    WF_TRY(make_memory(d, pd, dnnl_query_scratchpad_md, &p->scratch));
    p->scratch_bytes = (int64_t)dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
    WF_DNNL(dnnl_primitive_create(&p->primitive, pd));
    return WEFT_OK;
}

static void drop(wf_matmul *p)
{
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    const dnnl_memory_t m[] = {p->src, p->weights, p->dst, p->scratch};
    for (int i = 0; i < 4; i++)
        if (m[i]) dnnl_memory_destroy(m[i]);
    memset(p, 0, sizeof *p);
}

static weft_status make(const struct wf_onednn *d, const weft_gemm *g, wf_matmul *out)
{
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd = NULL;
    wf_matmul made = {0};
    WF_DNNL(dnnl_primitive_attr_create(&attr));
    weft_status st = make_attr(attr, g);
    if (st == WEFT_OK) st = make_desc(d, g, attr, &pd);
    if (st == WEFT_OK) st = fill(d, pd, &made);
    if (pd) dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    if (st == WEFT_OK)
        *out = made;
    else
        drop(&made);
    return st;
}

void wf_matmul_drop_all(struct wf_onednn *d)
{
    for (int i = 0; i < WF_MATMUL_SLOTS; i++)
        drop(&d->matmuls[i]);
    d->n_matmuls = 0;
}

weft_status wf_matmul_get(weft_kctx *k, const weft_gemm *g, wf_matmul **out)
{
    struct wf_onednn *d = k->onednn;
    const wf_matmul_key key = key_of(g, k->threads);
    uint64_t at = hash(&key) % WF_MATMUL_SLOTS;
    while (d->matmuls[at].primitive && memcmp(&d->keys[at], &key, sizeof key) != 0)
        at = (at + 1) % WF_MATMUL_SLOTS;
    if (!d->matmuls[at].primitive) {
        if (d->n_matmuls == WF_MATMULS) {
            wf_matmul_drop_all(d);
            at = hash(&key) % WF_MATMUL_SLOTS;
        }
        WF_TRY(make(d, g, &d->matmuls[at]));
        d->keys[at] = key;
        d->n_matmuls++;
    }
    *out = &d->matmuls[at];
    return WEFT_OK;
}
