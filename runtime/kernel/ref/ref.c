/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/table.h"

weft_status wf_ref_install(weft_kctx *k)
{
    static const wf_kernels *const all[WEFT_N_DTYPES] = {
        [WEFT_F64] = &wf_ref_f64, [WEFT_F32] = &wf_ref_f32, [WEFT_BF16] = &wf_ref_bf16};
    wf_kernels_overlay(k, all);
    return WEFT_OK;
}
