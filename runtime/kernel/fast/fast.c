/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the vector kernels this CPU can run. */
#include "kernel/fast/fast.h"

typedef struct set {
    const char *name;
    const wf_kernels *tables;
    int runs;
} set;

const wf_kernels *wf_fast_set(int i, const char **name)
{
    const set sets[] = {
#ifdef WF_HAVE_X86_SETS
        {"avx512", wf_fast_avx512,
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("fma")},
        {"avx2", wf_fast_avx2,
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
        {"base", wf_fast_base, 1},
    };
    for (int s = 0; s < (int)(sizeof sets / sizeof *sets); s++)
        if (sets[s].runs && i-- == 0) {
            *name = sets[s].name;
            return sets[s].tables;
        }
    return NULL;
}

weft_status wf_fast_install(weft_kctx *k)
{
    const char *name;
    const wf_kernels *tables = wf_fast_set(0, &name);
    const wf_kernels *const over[WEFT_N_DTYPES] = {
        [WEFT_F32] = &tables[0], [WEFT_BF16] = &tables[1]};
    wf_kernels_overlay(k, over);
    wf_kctx_note(k, "%s loops", name);
    return WEFT_OK;
}
