/* SPDX-License-Identifier: Apache-2.0 */
/* A model as text: weft_arch_parse(). */
#include <math.h>
#include <weft/arch.h>

#include "fuzz.h"

/* What counts, lists and costs of any model rely on. */
static void use(const weft_arch *a)
{
    weft_arch_parts p;
    weft_tensor_info t;
    weft_layer_gemm g[WEFT_MAX_LAYER_GEMMS];
    int rows = weft_arch_tensor_count(a);
    int64_t layer[] = {0, a->layers / 2, a->layers - 1, a->layers + 1};

    weft_arch_params_by_part(a, &p);
    PROMISE(p.embedding + p.attention + p.mlp + p.experts + p.router + p.norms +
                p.head + p.mtp ==
            weft_arch_params(a));
    for (int i = 0; i < rows; i += 1 + rows / 50) {
        weft_arch_tensor(a, i, &t);
        PROMISE(t.size[0] > 0 && t.size[1] > 0 && t.experts > 0);
        PROMISE(t.layer >= -1 && t.layer <= a->layers + a->mtp);
    }
    for (int i = 0; i < (a->mtp ? 4 : 3); i++) {
        int n = weft_arch_layer_gemms(a, layer[i], g);
        PROMISE(n > 0 && n <= WEFT_MAX_LAYER_GEMMS);
        PROMISE(weft_arch_layer_params(a, layer[i], 1) > 0);
    }
    for (int causal = 0; causal < 2; causal++) {
        double f = weft_arch_flops_per_token(a, 4096, causal);
        PROMISE(isfinite(f) && f > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    weft_arch a;
    if (weft_arch_parse(text, &a) == WEFT_OK) {
        PROMISE(weft_arch_check(&a) == WEFT_OK);
        use(&a);
    } else {
        REFUSED();
    }
    free(text);
    return 0;
}
