/* SPDX-License-Identifier: Apache-2.0 */
/* Context parallelism: how attention meets the keys and values of other ranks. */
#include <string.h>

#include "cost/cost.h"

static double beside(const wf_place *p, double comm, double work)
{
    double hidden = comm < work ? comm : work;
    return comm - hidden + p->q->machine.overlap_tax * hidden;
}

/* Ring (Liu et al. 2023, Ring Attention): cp - 1 times the keys and values of one rank go
 * to the next while attention works on those that came before; backward their gradients
 * travel with them. */
static void ring(const wf_place *p, double kv_bytes, const wf_scores *a,
                 wf_layer_comm *out)
{
    double n = p->l->cp - 1, part = n / p->l->cp;
    double one = weft_machine_collective_s(&p->q->machine, WEFT_COLL_P2P, kv_bytes,
                                           p->stride[WEFT_CP], p->l->cp);
    out->f = beside(p, n * one, part * a->f.s);
    out->i = out->b = beside(p, 2 * n * one, part * a->b.s);
}

/* All-gather (Dubey et al. 2024, Llama 3, section 3.3.2): of all keys and values before
 * attention; backward the same, and a reduce-scatter of their gradients. */
static void gather(const wf_place *p, double kv_bytes, wf_layer_comm *out)
{
    double all = kv_bytes * p->l->cp;
    out->f = wf_coll_s(p, WEFT_COLL_ALL_GATHER, all, WEFT_CP, p->l->cp);
    out->i = out->b =
        out->f + wf_coll_s(p, WEFT_COLL_REDUCE_SCATTER, all, WEFT_CP, p->l->cp);
}

/* Ulysses (Jacobs et al. 2023): all-to-all turns pieces of the sequence into heads for q, k
 * and v, and back for the output. */
static void ulysses(const wf_place *p, double bytes, wf_layer_comm *out)
{
    out->f = out->i = out->b =
        wf_coll_s(p, WEFT_COLL_ALL_TO_ALL, bytes, WEFT_CP, p->l->cp);
}

void wf_cp_price(const wf_place *p, int kind, const wf_scores *a, wf_layer_comm *out)
{
    const weft_attention *at = &p->q->derived.kind[kind].attention;
    double values = p->tokens * p->q->options.act_bytes / p->t;
    double kv = values * (double)at->kv_heads * (double)(at->qk_dim + at->v_dim);
    double qo = values * (double)at->heads * (double)(at->qk_dim + at->v_dim);

    memset(out, 0, sizeof *out);
    if (p->l->cp == 1) return;
    if (p->l->cp_comm[0] == 'r')
        ring(p, kv, a, out);
    else if (p->l->cp_comm[0] == 'a')
        gather(p, kv, out);
    else
        ulysses(p, kv + qo, out);
}
