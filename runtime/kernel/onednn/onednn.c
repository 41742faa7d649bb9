/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of f32 and bf16 by oneDNN's matmul. Its threads are OpenMP's: the
 * number is the calling thread's own setting, both when a primitive is made and when it
 * runs, so it is set before either.
 */
#include <omp.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/onednn/onednn.h"

const char *wf_onednn_status(dnnl_status_t st)
{
    switch (st) {
    case dnnl_out_of_memory: return "out of memory";
    case dnnl_invalid_arguments: return "invalid arguments";
    case dnnl_unimplemented: return "not implemented";
    case dnnl_not_required: return "not required";
    case dnnl_runtime_error: return "failed at run time";
    default: return "failed";
    }
}

static weft_status execute(weft_kctx *k, const wf_matmul *p, const weft_gemm *g,
                           void *scratch)
{
    struct wf_onednn *d = k->onednn;
    WF_DNNL(dnnl_memory_set_data_handle_v2(p->src, (void *)g->a, d->stream));
    WF_DNNL(dnnl_memory_set_data_handle_v2(p->weights, (void *)g->b, d->stream));
    WF_DNNL(dnnl_memory_set_data_handle_v2(p->dst, g->c, d->stream));
    WF_DNNL(dnnl_memory_set_data_handle_v2(p->scratch, scratch, d->stream));
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->src},
                                    {DNNL_ARG_WEIGHTS, p->weights},
                                    {DNNL_ARG_DST, p->dst},
                                    {DNNL_ARG_SCRATCHPAD, p->scratch}};
    WF_DNNL(dnnl_primitive_execute(p->primitive, d->stream, 4, args));
    WF_DNNL(dnnl_stream_wait(d->stream));
    return WEFT_OK;
}

static weft_status gemm(weft_kctx *k, const weft_gemm *g)
{
    wf_matmul *p;
    void *scratch;
    if (g->in == WEFT_F32 && g->batch == 1 && k->onednn->single_f32)
        return k->onednn->single_f32(k, g);
    omp_set_num_threads(k->threads);
    WF_TRY(wf_matmul_get(k, g, &p));
    WF_TRY(weft_arena_take(k->arena, WEFT_TEMP, p->scratch_bytes, &scratch));
    weft_status st = execute(k, p, g, scratch);
    weft_arena_give(k->arena, scratch);
    return st;
}

static const char *best_isa(void)
{
    switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_avx512_core_amx: return "amx_bf16";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_bf16";
    case dnnl_cpu_isa_avx512_core_vnni:
    case dnnl_cpu_isa_avx512_core: return "avx512";
    case dnnl_cpu_isa_avx2_vnni:
    case dnnl_cpu_isa_avx2: return "avx2";
    default: return "no vectors";
    }
}

/* Before avx512 the library has no bf16 product at all; the tables below stay then. */
static int has_bf16(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
           dnnl_cpu_isa_avx512_core;
}

/* The library does not pack B for f32: where a row of it is a multiple of 4096 bytes (768 x
 * 3072) it ran at half the speed of OpenBLAS, nowhere faster but in batches of small ones.
 * So AUTO leaves single products to the back end below, unless that is the oracle. */
static __typeof__(weft_k_gemm) *pick_single_f32(const weft_kctx *k)
{
    __typeof__(weft_k_gemm) *below = k->table[WEFT_F32].gemm;
    return k->asked == WEFT_BACKEND_AUTO && below != wf_ref_f32.gemm ? below : NULL;
}

weft_status wf_onednn_install(weft_kctx *k)
{
    static const wf_kernels product = {.gemm = gemm};
    const wf_kernels *const over[WEFT_N_DTYPES] = {
        [WEFT_F32] = &product, [WEFT_BF16] = has_bf16() ? &product : NULL};
    WF_TRY(WF_ALLOC(1, &k->onednn));
    WF_DNNL(dnnl_engine_create(&k->onednn->engine, dnnl_cpu, 0));
    WF_DNNL(dnnl_stream_create(&k->onednn->stream, k->onednn->engine,
                               dnnl_stream_default_flags));
    k->onednn->single_f32 = pick_single_f32(k);
    wf_kernels_overlay(k, over);
    const dnnl_version_t *v = dnnl_version();
    wf_kctx_note(k, "onednn %d.%d.%d (%s)", v->major, v->minor, v->patch, best_isa());
    return WEFT_OK;
}

void wf_onednn_remove(weft_kctx *k)
{
    struct wf_onednn *d = k->onednn;
    if (!d) return;
    wf_matmul_drop_all(d);
    if (d->stream) dnnl_stream_destroy(d->stream);
    if (d->engine) dnnl_engine_destroy(d->engine);
    wf_free(d);
    k->onednn = NULL;
}
