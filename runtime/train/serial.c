/* SPDX-License-Identifier: Apache-2.0 */
#include "train/serial.h"

#include <string.h>

#include "base/alloc.h"

static int stage_of(const weft_layout *l, const weft_arch *a, int stages, int layer)
{
    int64_t first, count;
    int s = 0;

    if (layer < 0) return 0;
    for (; s < stages - 1; s++) {
        weft_layout_stage_layers(l, a, s, &first, &count);
        if (layer < first + count) break;
    }
    return s;
}

/* A stage holds so many versions of its weights because its updates are so late. */
static weft_status find_delays(wf_serial *s)
{
    const weft_chunk *c = &s->e->chunk[0];
    weft_schedule shape;

    WF_TRY(weft_layout_shape(s->split, &shape));
    for (int i = 0; i < c->n_params; i++) {
        int rank, chunk,
            stage =
                stage_of(s->split, &s->e->cfg.arch, shape.p, c->param[i].info.layer);
        weft_schedule_holder(&shape, stage, 0, &rank, &chunk);
        s->delay[i] = weft_schedule_weight_copies(&shape, rank) - 1;
    }
    return WEFT_OK;
}

static size_t weight_bytes(const weft_chunk *c)
{
    return (size_t)(c->n_elems * weft_dtype_bytes(c->sh.t));
}

weft_status wf_serial_init(wf_serial *s, weft_engine *one, const weft_layout *split)
{
    const weft_chunk *c = &one->chunk[0];

    *s = (wf_serial){.e = one, .split = split, .m = (int)weft_layout_n_micro(split)};
    WF_TRY(WF_ALLOC(c->n_params, &s->delay));
    WF_TRY(WF_ALLOC(s->m + 1, &s->weights));
    for (int i = 0; i <= s->m; i++)
        WF_TRY(wf_alloc((int64_t)weight_bytes(c), 1, &s->weights[i]));
    return find_delays(s);
}

void wf_serial_clear(wf_serial *s)
{
    for (int i = 0; s->weights && i <= s->m; i++)
        wf_free(s->weights[i]);
    wf_free(s->weights);
    wf_free(s->delay);
    *s = (wf_serial){0};
}

/* Each stage's weights as mini-batch i sees them. */
static void assemble(const wf_serial *s, int i)
{
    const weft_chunk *c = &s->e->chunk[0];

    for (int j = 0; j < c->n_params; j++) {
        const weft_param *p = &c->param[j];
        int version = i > s->delay[j] ? i - s->delay[j] : 0;
        int64_t each = weft_dtype_bytes(c->sh.t);
        memcpy(p->w, (char *)s->weights[version] + p->at * each,
               (size_t)(p->count * each));
    }
}

/* Forward and backward of the micro-batches that the replicas have of mini-batch i. */
static weft_status gradient(wf_serial *s, int i, const wf_batch *batch, double *loss)
{
    weft_chunk *c = &s->e->chunk[0];
    const weft_layout *l = &s->e->cfg.layout;
    int64_t tokens = l->micro_batch * l->seq, each = l->micro_batch * s->split->dp;
    int64_t valid =
        weft_data_valid(s->e->data, WEFT_TRAIN, batch->first + i * each, each);
    double scale = s->e->cfg.exact > 0 ? 1 : 1 / (double)(valid ? valid : 1);
    int32_t *ids = NULL;
    weft_status st;

    WF_TRY(WF_ALLOC(2 * tokens, &ids));
    weft_chunk_zero_grads(c);
    for (int d = st = 0; d < s->split->dp && st == WEFT_OK; d++) {
        int64_t micro = (int64_t)i * s->split->dp + d;
        wf_batch_read((void *)batch, micro, ids, ids + tokens);
        st = weft_chunk_forward(c, 0, ids, ids + tokens, NULL, NULL, loss);
        if (st == WEFT_OK)
            st = weft_chunk_backward(c, 0, scale, NULL, NULL, NULL, NULL);
    }
    wf_free(ids);
    return st;
}

static weft_status mini_batch(wf_serial *s, int i, const wf_batch *batch, double *loss)
{
    weft_engine *e = s->e;
    weft_chunk *c = &e->chunk[0];
    wf_rate rate = {.lr = weft_lr_at(&e->cfg.lr, e->step),
                    .grad_scale = 1,
                    .number = e->step * s->m + i + 1};

    assemble(s, i);
    WF_TRY(gradient(s, i, batch, loss));
    memcpy(c->w_all, s->weights[i], weight_bytes(c));
    wf_update_chunk(e, 0, &rate);
    memcpy(s->weights[i + 1], c->w_all, weight_bytes(c));
    return WEFT_OK;
}

weft_status wf_serial_step(wf_serial *s, weft_step_result *r)
{
    weft_engine *e = s->e;
    int64_t n = e->cfg.layout.global_batch;
    double loss = 0,
           valid = (double)weft_data_valid(e->data, WEFT_TRAIN, e->consumed, n);
    wf_batch batch = {e, WEFT_TRAIN, e->consumed};
    weft_step_result out = {.step = e->step, .lr = weft_lr_at(&e->cfg.lr, e->step)};

    e->bad = -1;
    memcpy(s->weights[0], e->chunk[0].w_all, weight_bytes(&e->chunk[0]));
    for (int i = 0; i < s->m; i++)
        WF_TRY(mini_batch(s, i, &batch, &loss));
    out.loss = e->cfg.exact > 0 ? loss : loss / valid;
    WF_TRY(wf_grad_norm(e, &out.grad_norm));
    e->step++;
    e->consumed += n;
    *r = out;
    return WEFT_OK;
}
