/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/fields.h"

#define AT(member)   WF_AT(weft_machine, member)
#define TIER(member) WF_AT(weft_tier, member)
#define ALPHA(coll)  WF_AT(weft_tier, measured[coll].alpha_s)
#define BETA(coll)   WF_AT(weft_tier, measured[coll].bytes_per_s)
#define MAX_RANKS    16777216.0
#define MAX_RATE     1e21

static const wf_field fields[] = {
    {"name", NULL, WF_STRING, WF_PLAIN, AT(name), 0, 0, "custom", WF_NOW,
     "name in reports"},
    {"device", NULL, WF_STRING, WF_PLAIN, AT(device), 0, 0, "", WF_NOW,
     "the device as its maker calls it"},
    {"source", NULL, WF_STRING, WF_PLAIN, AT(source), 0, 0, "", WF_NOW,
     "where the facts come from"},
    {"fitted", NULL, WF_STRING, WF_PLAIN, AT(fitted), 0, 0, "", WF_NOW,
     "where the constants of efficiency come from"},
    {"nodes", NULL, WF_I32, WF_PLAIN, AT(nodes), 1, MAX_RANKS, "1", WF_NOW,
     "number of boxes"},
    {"ranks_per_node", "gpus_per_node", WF_I32, WF_PLAIN, AT(ranks_per_node), 1,
     MAX_RANKS, "1", WF_NOW, "devices in a box"},
    {"f64", NULL, WF_F64, WF_FLOPS_S, AT(flops_per_s[WEFT_MATH_F64]), 0, MAX_RATE, "0",
     WF_NOW, "dense peak of float64; 0: none"},
    {"f32", NULL, WF_F64, WF_FLOPS_S, AT(flops_per_s[WEFT_MATH_F32]), 0, MAX_RATE, "0",
     WF_NOW, "dense peak of float32"},
    {"bf16", "fp16", WF_F64, WF_FLOPS_S, AT(flops_per_s[WEFT_MATH_BF16]), 0, MAX_RATE,
     "0", WF_NOW, "dense peak of bf16 and fp16"},
    {"fp8", NULL, WF_F64, WF_FLOPS_S, AT(flops_per_s[WEFT_MATH_FP8]), 0, MAX_RATE, "0",
     WF_NOW, "dense peak of 8-bit floats"},
    {"fp4", NULL, WF_F64, WF_FLOPS_S, AT(flops_per_s[WEFT_MATH_FP4]), 0, MAX_RATE, "0",
     WF_NOW, "dense peak of 4-bit floats"},
    {"memory", NULL, WF_F64, WF_BYTES, AT(memory_bytes), 0, MAX_RATE, "0", WF_NOW,
     "memory of a device"},
    {"memory_bandwidth", NULL, WF_F64, WF_BYTES_S, AT(memory_bytes_per_s), 0, MAX_RATE,
     "0", WF_NOW, "of a device; above 0"},
    {"reserve", NULL, WF_F64, WF_BYTES, AT(reserve_bytes), 0, MAX_RATE, "0", WF_NOW,
     "memory for context, libraries, communicators and gaps"},
    {"units", NULL, WF_I32, WF_PLAIN, AT(units), 1, 1e6, "1", WF_NOW,
     "what tiles of a matmul are dealt to (SMs)"},
    {"tile_m", NULL, WF_I32, WF_PLAIN, AT(tile_m), 0, 4096, "0", WF_NOW,
     "rows of such a tile; 0: no quantisation"},
    {"tile_n", NULL, WF_I32, WF_PLAIN, AT(tile_n), 0, 4096, "0", WF_NOW,
     "columns of such a tile"},
    {"align", NULL, WF_I32, WF_PLAIN, AT(align), 0, 4096, "0", WF_NOW,
     "sizes of matmuls that are no multiple of it are slow; 0: none"},
    /* constants of efficiency: wf_machine_first_constant() */
    {"gemm_efficiency", NULL, WF_F64, WF_PLAIN, AT(gemm_efficiency), 0.01, 1, "1",
     WF_NOW, "share of the peak that a large matmul reaches"},
    {"gemm_half_k", NULL, WF_F64, WF_PLAIN, AT(gemm_half_k), 0, 65536, "0", WF_NOW,
     "inner size at which half of it is reached"},
    {"attention_efficiency", NULL, WF_F64, WF_PLAIN, AT(attention_efficiency), 0.01, 1,
     "1", WF_NOW, "share of the peak of a fused attention kernel"},
    {"memory_efficiency", NULL, WF_F64, WF_PLAIN, AT(memory_efficiency), 0.01, 1, "1",
     WF_NOW, "share of the memory bandwidth that other kernels reach"},
    {"op_overhead", NULL, WF_F64, WF_SECONDS, AT(op_overhead_s), 0, 1, "0", WF_NOW,
     "least time between the starts of two kernels"},
    {"overlap_tax", NULL, WF_F64, WF_PLAIN, AT(overlap_tax), 0, 1, "0", WF_NOW,
     "of a collective's time, what kernels beside it lose"},
};
static const wf_table table = {"machine field", "", sizeof fields / sizeof *fields,
                               fields};

static const wf_field tier_fields[] = {
    {"name", NULL, WF_STRING, WF_PLAIN, TIER(name), 0, 0, "", WF_NOW,
     "the link's name"},
    {"ranks", NULL, WF_I32, WF_PLAIN, TIER(ranks), 0, MAX_RANKS, "0", WF_NOW,
     "ranks of one domain; 0: all of the machine"},
    {"switched", NULL, WF_BOOL, WF_PLAIN, TIER(switched), 0, 1, "true", WF_NOW,
     "a group of any size has the whole bandwidth"},
    {"bandwidth", NULL, WF_F64, WF_BYTES_S, TIER(bytes_per_s), 1, MAX_RATE, NULL,
     WF_NOW, "in one direction, of one rank"},
    {"efficiency", NULL, WF_F64, WF_PLAIN, TIER(efficiency), 0.01, 2, "1", WF_NOW,
     "share of it that a long collective reaches"},
    {"alpha", "latency", WF_F64, WF_SECONDS, TIER(alpha_s), 0, 1, "0", WF_NOW,
     "of one step of a collective, or one message"},
    {"all_reduce_alpha", NULL, WF_F64, WF_SECONDS, ALPHA(WEFT_COLL_ALL_REDUCE), 0, 1,
     "0", WF_NOW, "measured; 0 with a bandwidth of 0: not measured"},
    {"all_reduce_bandwidth", NULL, WF_F64, WF_BYTES_S, BETA(WEFT_COLL_ALL_REDUCE), 0,
     MAX_RATE, "0", WF_NOW, "measured, bytes a rank sends"},
    {"all_gather_alpha", NULL, WF_F64, WF_SECONDS, ALPHA(WEFT_COLL_ALL_GATHER), 0, 1,
     "0", WF_NOW, "measured"},
    {"all_gather_bandwidth", NULL, WF_F64, WF_BYTES_S, BETA(WEFT_COLL_ALL_GATHER), 0,
     MAX_RATE, "0", WF_NOW, "measured"},
    {"reduce_scatter_alpha", NULL, WF_F64, WF_SECONDS, ALPHA(WEFT_COLL_REDUCE_SCATTER),
     0, 1, "0", WF_NOW, "measured"},
    {"reduce_scatter_bandwidth", NULL, WF_F64, WF_BYTES_S,
     BETA(WEFT_COLL_REDUCE_SCATTER), 0, MAX_RATE, "0", WF_NOW, "measured"},
    {"all_to_all_alpha", NULL, WF_F64, WF_SECONDS, ALPHA(WEFT_COLL_ALL_TO_ALL), 0, 1,
     "0", WF_NOW, "measured"},
    {"all_to_all_bandwidth", NULL, WF_F64, WF_BYTES_S, BETA(WEFT_COLL_ALL_TO_ALL), 0,
     MAX_RATE, "0", WF_NOW, "measured"},
    {"p2p_alpha", NULL, WF_F64, WF_SECONDS, ALPHA(WEFT_COLL_P2P), 0, 1, "0", WF_NOW,
     "measured"},
    {"p2p_bandwidth", NULL, WF_F64, WF_BYTES_S, BETA(WEFT_COLL_P2P), 0, MAX_RATE, "0",
     WF_NOW, "measured"},
};
static const wf_table tier_table = {
    "link field", "", sizeof tier_fields / sizeof *tier_fields, tier_fields};

const wf_table *wf_machine_table(void)
{
    return &table;
}

const wf_table *wf_tier_table(void)
{
    return &tier_table;
}

int wf_machine_first_constant(void)
{
    return wf_field_find(&table, "gemm_efficiency");
}
