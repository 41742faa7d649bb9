/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cost/cost.h"

/* Tokens go to the ranks of their experts and back: an all-to-all each way, in both passes
 * (Lepikhin et al. 2020, GShard, section 3). With SP each TP rank sends its part. */
void wf_ep_price(const wf_place *p, int kind, wf_layer_comm *out)
{
    const weft_arch *a = &p->q->arch;
    double bytes = p->tokens * (double)a->experts_per_token * (double)a->hidden *
                   p->q->options.act_bytes / (p->l->sp ? p->t : 1);

    memset(out, 0, sizeof *out);
    if (!kind || p->l->ep == 1) return;
    out->f = out->i = out->b =
        2 * wf_coll_s(p, WEFT_COLL_ALL_TO_ALL, bytes, WEFT_EP, p->l->ep);
}
