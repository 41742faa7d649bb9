/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/cost.h>

double weft_cost_pp_boundary_bytes(const weft_arch *a, double tokens, int tp,
                                   double value_bytes, int scatter_gather)
{
    double tensor = tokens * (double)a->hidden * value_bytes;
    return scatter_gather ? tensor / tp : tensor;
}

double weft_cost_pp_ratio(const weft_arch *a, int tp, int pp, double value_bytes,
                          int scatter_gather, double flops_per_s,
                          double link_bytes_per_s)
{
    double comm = weft_cost_pp_boundary_bytes(a, 1, tp, value_bytes, scatter_gather) /
                  link_bytes_per_s;
    double stage =
        (double)a->layers / pp * weft_cost_block_flops(a, WEFT_FORWARD, 1, tp);
    return comm / (stage / flops_per_s);
}
