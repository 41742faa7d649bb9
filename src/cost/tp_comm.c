/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

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

/* ---- exposed in a layer ---------------------------------------------------------- */

double wf_reduce_s(const wf_place *p)
{
    const weft_cost_options *o = &p->q->options;
    double e = o->reduce_bytes > 0 ? o->reduce_bytes : o->act_bytes;
    return wf_coll_s(p, WEFT_COLL_ALL_REDUCE, p->tokens * (double)p->q->arch.hidden * e,
                     WEFT_TP, p->l->tp);
}

/* What is left of a collective beside `work`, and what the work loses to it meanwhile. */
static double beside(const wf_place *p, double comm, double work)
{
    double hidden = comm < work ? comm : work;
    return comm - hidden + p->q->machine.overlap_tax * hidden;
}

/* Sums of a layer: after attention and after the MLP; side by side they share one. */
static int halves(const wf_place *p)
{
    return p->q->arch.parallel ? 1 : 2;
}

/* With SP each all-reduce is a reduce-scatter and an all-gather of the same bytes, and the
 * backward gathers the input of the column-split matmuls again for their weight gradients
 * (Korthikanti et al. 2022, section 4.2.2). Without, f reduces the input gradient while the
 * weight gradient is computed. */
void wf_tp_price(const wf_place *p, int kind, const wf_matmuls *g, wf_layer_comm *out)
{
    const weft_cost_options *o = &p->q->options;
    double bytes = p->tokens * (double)p->q->arch.hidden * o->act_bytes, n = halves(p);
    wf_layer_comm x = {0};

    if (p->l->tp > 1 && p->l->sp) {
        double gather = wf_coll_s(p, WEFT_COLL_ALL_GATHER, bytes, WEFT_TP, p->l->tp);
        double scatter =
            wf_coll_s(p, WEFT_COLL_REDUCE_SCATTER, bytes, WEFT_TP, p->l->tp);
        x.f = n * (gather + scatter);
        x.i = n * (gather + scatter);
        x.w = n * gather;
        x.b = o->overlap_tp ? n * gather + beside(p, n * gather, g->column_i) +
                                  beside(p, n * scatter, g->column_w)
                            : x.i + x.w;
    } else if (p->l->tp > 1) {
        double reduce = wf_reduce_s(p);
        x.f = x.i = n * reduce;
        x.b = o->overlap_tp ? beside(p, n * reduce, g->column_w) : x.i;
    }
    *out = x;
}
