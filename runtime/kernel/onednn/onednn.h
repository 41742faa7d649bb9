/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_KERNEL_ONEDNN_H
#define WF_KERNEL_ONEDNN_H
#include <dnnl.h>

#include "kernel/table.h"

/* One matrix product of one shape, ready to run. */
typedef struct wf_matmul {
    dnnl_primitive_t primitive;
    dnnl_memory_t src, weights, dst, scratch; /* handles are set for each call */
    int64_t scratch_bytes;
} wf_matmul;

/* All that makes two calls the same primitive; compared as bytes, so no padding. */
typedef struct wf_matmul_key {
    int64_t ta, tb, m, n, k, lda, ldb, ldc, batch, sa, sb, sc, add, in, out, threads;
    double alpha;
} wf_matmul_key;

enum { WF_MATMULS = 512, WF_MATMUL_SLOTS = 2 * WF_MATMULS };

/* State of one rank thread. Primitives are not shared between threads: two executions of
 * one at a time with a common scratchpad give wrong sums. */
struct wf_onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    __typeof__(weft_k_gemm)
        *single_f32; /* who serves one f32 product, or NULL: we do */
    int64_t n_matmuls;
    wf_matmul_key keys[WF_MATMUL_SLOTS];
    wf_matmul matmuls[WF_MATMUL_SLOTS]; /* primitive NULL: free slot */
};

/* The matmul of g, made at its first use; when WF_MATMULS are kept all are dropped first
 * (a growing context asks for a new shape at every token). */
weft_status wf_matmul_get(weft_kctx *k, const weft_gemm *g, wf_matmul **out);
void wf_matmul_drop_all(struct wf_onednn *d);

/* Words for a failure of the library. */
const char *wf_onednn_status(dnnl_status_t st);
#define WF_DNNL(call)                                                                  \
    do {                                                                               \
        dnnl_status_t dnnl_st_ = (call);                                               \
        if (dnnl_st_ != dnnl_success)                                                  \
            return WF_FAIL(dnnl_st_ == dnnl_out_of_memory ? WEFT_E_NOMEM               \
                                                          : WEFT_E_INVALID,            \
                           "onednn: %s in " #call, wf_onednn_status(dnnl_st_));        \
    } while (0)
#endif
