/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/comm_impl.h"

const char *weft_purpose_name(weft_purpose p)
{
    static const char *const names[WEFT_N_PURPOSES] = {
        [WEFT_FOR_F_ATTN] = "f_attn",   [WEFT_FOR_G_ATTN] = "g_attn",
        [WEFT_FOR_F_MLP] = "f_mlp",     [WEFT_FOR_G_MLP] = "g_mlp",
        [WEFT_FOR_EMBED] = "embed",     [WEFT_FOR_HEAD] = "head",
        [WEFT_FOR_CE_MAX] = "ce_max",   [WEFT_FOR_CE_SUM] = "ce_sum",
        [WEFT_FOR_TIED] = "tied",       [WEFT_FOR_DP_GRAD] = "dp_grad",
        [WEFT_FOR_NORM] = "norm",       [WEFT_FOR_LOSS] = "loss",
        [WEFT_FOR_ACT] = "act",         [WEFT_FOR_ACT_GRAD] = "act_grad",
        [WEFT_FOR_CONTROL] = "control",
    };
    return (unsigned)p < WEFT_N_PURPOSES ? names[p] : "unknown purpose";
}

const char *wf_kind_name(wf_kind k)
{
    static const char *const names[] = {"nothing",    "all-reduce",     "broadcast",
                                        "all-gather", "reduce-scatter", "all-to-all",
                                        "barrier",    "send",           "receive"};
    return names[k];
}
