/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

/* Adam moves bytes and computes next to nothing: master weight and moments are read and
 * written, the gradient is read, scaled, measured for its norm and zeroed, the weight is
 * written. ZeRO leaves a rank its shard. */
double wf_optimizer_s(const wf_place *p, const wf_rank *r)
{
    const weft_cost_options *o = &p->q->options;
    double expert_shards = p->l->zero ? (double)p->shards / p->l->ep : 1;
    double n = (r->params - r->experts) / (double)p->shards +
               r->experts / (expert_shards < 1 ? 1 : expert_shards);
    double state = 2 * o->optimizer_bytes + o->param_bytes, grads = 4 * o->grad_bytes;

    if (p->envelope) return 0;
    return weft_machine_memory_s(&p->q->machine, n * (state + grads));
}
