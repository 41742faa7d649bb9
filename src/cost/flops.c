/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/cost.h>

/* Weights of the first block's matmuls that a token meets, so that any ffn and head_dim
 * count. */
static double block_weights(const weft_arch *a)
{
    weft_layer_gemm g[WEFT_MAX_LAYER_GEMMS];
    int n = weft_arch_layer_gemms(a, 0, g);
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)g[i].n * (double)g[i].k * g[i].rows;
    return sum;
}

double weft_cost_block_flops(const weft_arch *a, weft_pass pass, double tokens, int tp)
{
    double forward = 2.0 * tokens * block_weights(a) / tp;
    return pass == WEFT_FORWARD ? forward : 2.0 * forward;
}
