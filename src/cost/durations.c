/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cost/rank.h"

/* Pipeline ranks that share a domain of each tier of links; those with fewer than two are
 * passed over. */
static int links(const wf_place *p, weft_link_tier tier[WEFT_MAX_TIERS])
{
    const weft_machine *m = &p->q->machine;
    double gather = wf_p2p_gather_s(p);
    int n = 0, before = 1;

    for (int i = 0; i < m->n_tiers; i++) {
        const weft_tier *t = &m->tier[i];
        int last = i == m->n_tiers - 1;
        int64_t ranks = last ? 0 : t->ranks / p->stride[WEFT_PP];
        if (!last && ranks <= before) continue;
        const weft_alpha_beta *at = &t->measured[WEFT_COLL_P2P];
        double beta =
            at->bytes_per_s > 0 ? at->bytes_per_s : t->bytes_per_s * t->efficiency;
        double alpha = at->bytes_per_s > 0 ? at->alpha_s : t->alpha_s;
        tier[n++] = (weft_link_tier){(int)ranks, alpha + gather, beta};
        before = last ? before : (int)ranks;
    }
    return n;
}

void wf_cost_durations(const weft_cost_model *q, const weft_layout *l, wf_prices *cache,
                       const weft_schedule *shape, double *dur,
                       weft_link_tier tier[WEFT_MAX_TIERS], weft_costs *out)
{
    wf_line x;

    memset(out, 0, sizeof *out);
    if (wf_line_make(q, l, cache, NULL, &x) != WEFT_OK) return;
    for (int r = 0; r < shape->p; r++)
        for (int c = 0; c < shape->v; c++) {
            const weft_stage_cost *s =
                wf_line_stage(&x, weft_schedule_stage(shape, r, c), NULL);
            double *d = dur + ((int64_t)r * shape->v + c) * WEFT_OP_N_COMPUTE;
            d[WEFT_OP_F] = s->f.total;
            d[WEFT_OP_B] = s->b.total + s->r.total;
            d[WEFT_OP_I] = s->i.total + s->r.total;
            d[WEFT_OP_W] = s->w.total;
            d[WEFT_OP_R] = 0; /* stands in B and I: no kind here lists R */
        }
    out->dur = dur;
    out->n_tiers = l->pp > 1 ? links(&x.p, tier) : 0;
    out->tier = tier;
    out->message_bytes = wf_p2p_bytes(&x.p);
    out->messages =
        q->options.overlap_pp ? WEFT_MESSAGES_OVERLAPPED : WEFT_MESSAGES_BLOCKING;
}

void weft_cost_durations(const weft_cost_model *q, const weft_layout *l,
                         const weft_schedule *shape, double *dur,
                         weft_link_tier tier[WEFT_MAX_TIERS], weft_costs *out)
{
    wf_cost_durations(q, l, NULL, shape, dur, tier, out);
}
