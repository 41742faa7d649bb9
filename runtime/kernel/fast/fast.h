/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_KERNEL_FAST_H
#define WF_KERNEL_FAST_H
#include "kernel/table.h"

/* f32 and bf16, one pair of tables per instruction set that the compiler knows. */
extern const wf_kernels wf_fast_base[2], wf_fast_avx2[2], wf_fast_avx512[2];

/* One instruction set this CPU runs; NULL after the last. Best first. For the tests. */
const wf_kernels *wf_fast_set(int i, const char **name);
#endif
