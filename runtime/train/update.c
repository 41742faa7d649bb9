/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer state and update. */
#include "train/engine.h"

weft_status wf_state_create(weft_engine *e)
{
    weft_dtype t = e->cfg.dtype, acc = weft_dtype_acc(t);

    for (int i = 0; i < e->cfg.layout.vpp; i++) {
        weft_chunk *c = &e->chunk[i];
        wf_state *s = &e->state[i];
        int64_t bytes = c->n_elems * weft_dtype_bytes(acc);
        if (e->cfg.optimizer == WEFT_ADAMW) {
            WF_TRY(weft_arena_zero(e->arena, WEFT_OPTIM, bytes, &s->m));
            WF_TRY(weft_arena_zero(e->arena, WEFT_OPTIM, bytes, &s->v));
        }
        if (t == acc) continue;
        WF_TRY(weft_arena_take(e->arena, WEFT_OPTIM, bytes, &s->master));
        weft_k_cast(e->k, t, acc, c->n_elems, c->w_all, s->master);
    }
    return WEFT_OK;
}

static void *at(void *buffer, int64_t i, weft_dtype t)
{
    return buffer ? (char *)buffer + i * weft_dtype_bytes(t) : NULL;
}

static void update_param(weft_engine *e, const wf_state *s, const weft_param *p,
                         const wf_rate *r)
{
    weft_dtype t = e->cfg.dtype, acc = weft_dtype_acc(t);
    void *master = s->master ? at(s->master, p->at, acc) : p->w;

    if (e->cfg.optimizer == WEFT_SGD) {
        weft_k_sgd(e->k, t, p->count, r->lr, r->grad_scale, p->g, master, p->w);
        return;
    }
    weft_adamw o = {.lr = r->lr,
                    .beta1 = e->cfg.beta1,
                    .beta2 = e->cfg.beta2,
                    .eps = e->cfg.eps,
                    .decay = p->info.decay ? e->cfg.weight_decay : 0,
                    .grad_scale = r->grad_scale,
                    .step = r->number};
    weft_k_adamw(e->k, t, p->count, &o, p->g, at(s->m, p->at, acc),
                 at(s->v, p->at, acc), master, p->w);
}

void wf_update_chunk(weft_engine *e, int chunk, const wf_rate *r)
{
    for (int j = 0; j < e->chunk[chunk].n_params; j++)
        update_param(e, &e->state[chunk], &e->chunk[chunk].param[j], r);
}
