/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_KERNEL_BLAS_H
#define WF_KERNEL_BLAS_H
#include "kernel/table.h"

weft_status wf_blas_gemm(weft_kctx *k, const weft_gemm *g);      /* f64, f32 */
weft_status wf_blas_gemm_bf16(weft_kctx *k, const weft_gemm *g); /* to bf16 or f32 */
#endif
