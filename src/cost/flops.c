/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/cost.h>

/* Weights of a block's matmuls, from the table, so that any ffn and head_dim count. */
static double block_weights(const weft_arch *a)
{
    double n = 0;
    for (int i = 0; i < weft_arch_tensor_count(a); i++) {
        weft_tensor_info t;
        weft_arch_tensor(a, i, &t);
        if (t.layer > 0) break; /* rows come in forward order: block 0 is done */
        if (t.layer == 0 && t.n_dims == 2) n += (double)t.size[0] * (double)t.size[1];
    }
    return n;
}

double weft_cost_block_flops(const weft_arch *a, weft_pass pass, double tokens, int tp)
{
    double forward = 2.0 * tokens * block_weights(a) / tp;
    return pass == WEFT_FORWARD ? forward : 2.0 * forward;
}
