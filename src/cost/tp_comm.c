/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/cost.h>

double weft_cost_ring_all_reduce_bytes(double bytes, int ranks)
{
    return 2.0 * (ranks - 1) / ranks * bytes;
}

/* f is the identity forward and an all-reduce backward, g the reverse; a block has one of
 * each around attention and one of each around the MLP: two all-reduces in either pass. */
int weft_cost_tp_all_reduces(weft_pass pass)
{
    return 2;
}

double weft_cost_tp_block_bytes(const weft_arch *a, weft_pass pass, double tokens,
                                int tp, double value_bytes)
{
    double tensor = tokens * (double)a->hidden * value_bytes;
    return weft_cost_tp_all_reduces(pass) * weft_cost_ring_all_reduce_bytes(tensor, tp);
}

double weft_cost_tp_ratio(const weft_arch *a, weft_pass pass, int tp,
                          double value_bytes, double flops_per_s,
                          double link_bytes_per_s)
{
    double comm =
        weft_cost_tp_block_bytes(a, pass, 1, tp, value_bytes) / link_bytes_per_s;
    return comm / (weft_cost_block_flops(a, pass, 1, tp) / flops_per_s);
}
