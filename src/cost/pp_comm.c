/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

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

/* ---- a message of a layout ------------------------------------------------------- */

/* With tp the ranks of a stage send their share each; without SP the receivers gather it
 * inside their TP group (Narayanan et al. 2021, section 4.1). */
double wf_p2p_bytes(const wf_place *p)
{
    return weft_cost_pp_boundary_bytes(&p->q->arch, p->tokens, p->l->tp,
                                       p->q->options.act_bytes,
                                       p->q->options.scatter_gather);
}

double wf_p2p_gather_s(const wf_place *p)
{
    if (p->l->sp || p->l->tp == 1 || p->envelope || !p->q->options.scatter_gather)
        return 0;
    return wf_coll_s(p, WEFT_COLL_ALL_GATHER, wf_p2p_bytes(p) * p->t, WEFT_TP,
                     p->l->tp);
}

double wf_p2p_s(const wf_place *p)
{
    if (p->l->pp == 1) return 0;
    return wf_coll_s(p, WEFT_COLL_P2P, wf_p2p_bytes(p), WEFT_PP, p->l->pp) +
           wf_p2p_gather_s(p);
}
