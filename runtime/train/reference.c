/* SPDX-License-Identifier: Apache-2.0 */
/* The unsplit run, kept whole in double. */
#include "train/reference.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "train/serial.h"

static void store(void *ctx, int slot, int64_t logical, int64_t n, const double *x)
{
    (void)slot;
    memcpy((double *)ctx + logical, x, (size_t)n * sizeof *x);
}

static weft_status keep(weft_engine *e, const wf_logical *map, int grads, double **out)
{
    WF_TRY(WF_ALLOC(map->at[map->n_tensors], out));
    wf_visit v = {map, store, *out};
    return wf_visit_params(e, &v, grads);
}

/* serial: NULL but for an asynchronous schedule */
static weft_status run_steps(weft_engine *e, wf_serial *serial, weft_reference *r)
{
    for (int s = 0; s < r->steps; s++) {
        weft_step_result step;
        if (serial)
            WF_TRY(wf_serial_step(serial, &step));
        else
            WF_TRY(weft_engine_step(e, &step));
        r->loss[s] = step.loss;
        r->norm[s] = step.grad_norm;
        WF_TRY(keep(e, &r->map, 1, &r->grad[s]));
    }
    const weft_chunk *c = weft_engine_chunk(e, 0);
    r->saturated = c->clampable ? (double)c->clamped / (double)c->clampable : 0;
    r->largest = c->largest;
    for (int i = 0; i < r->steps; i++) /* the norm is a sum too, of squares */
        r->largest = fmax(r->largest, r->norm[i] * r->norm[i]);
    return keep(e, &r->map, 0, &r->weight);
}

/* One rank, the same micro-batches. */
static void unsplit(const weft_train_config *cfg, weft_train_config *out)
{
    *out = *cfg;
    out->layout.tp = out->layout.pp = out->layout.dp = out->layout.cp =
        out->layout.vpp = 1;
    out->layout.group = 0;
    strcpy(out->layout.stage_layers, "even");
    strcpy(out->layout.schedule, "1f1b");
    strcpy(out->layout.placement, "auto");
    out->op_s = NULL;
    out->trace = 0;
}

/* With the delays of the split layout's stages. */
static weft_status run_delayed(weft_engine *e, weft_reference *r)
{
    wf_serial s;
    weft_status st = wf_serial_init(&s, e, &r->layout);

    if (st == WEFT_OK) st = run_steps(e, &s, r);
    wf_serial_clear(&s);
    return st;
}

static weft_status build(const weft_train_config *cfg, const weft_data *data,
                         weft_reference *r)
{
    weft_train_config one;
    weft_comm *self = NULL;
    weft_engine *e = NULL;

    WF_TRY(weft_train_check(cfg));
    WF_TRY(wf_logical_create(&cfg->arch, &r->map));
    WF_TRY(WF_ALLOC(r->steps, &r->loss));
    WF_TRY(WF_ALLOC(r->steps, &r->norm));
    WF_TRY(WF_ALLOC(r->steps, &r->grad));
    unsplit(cfg, &one);
    WF_TRY(weft_comm_self(NULL, &self));
    weft_status st = weft_engine_create(self, &one, data, &e);
    if (st == WEFT_OK) st = r->asynchronous ? run_delayed(e, r) : run_steps(e, NULL, r);
    weft_engine_destroy(e);
    weft_comm_destroy(self);
    return st;
}

weft_status weft_reference_create(const weft_train_config *cfg, const weft_data *data,
                                  int steps, weft_reference **out)
{
    weft_reference *r = NULL;

    WF_TRY(WF_ALLOC(1, &r));
    r->steps = steps;
    r->layout = cfg->layout;
    r->asynchronous =
        weft_schedule_kind_asynchronous(weft_schedule_kind_find(cfg->layout.schedule));
    weft_status st = build(cfg, data, r);
    if (st != WEFT_OK) {
        weft_reference_destroy(r);
        return st;
    }
    *out = r;
    return WEFT_OK;
}

void weft_reference_destroy(weft_reference *r)
{
    if (!r) return;
    for (int s = 0; r->grad && s < r->steps; s++)
        wf_free(r->grad[s]);
    wf_free(r->grad);
    wf_free(r->loss);
    wf_free(r->norm);
    wf_free(r->weight);
    wf_logical_clear(&r->map);
    wf_free(r);
}

void weft_reference_exactness(const weft_reference *r, double *saturated,
                              double *largest)
{
    *saturated = r->saturated;
    *largest = r->largest;
}

weft_status weft_reference_check(const weft_reference *r, const weft_layout *l)
{
    const weft_layout *own = &r->layout;
    int other = strcmp(own->schedule, l->schedule) || own->pp != l->pp ||
                own->dp != l->dp || own->micro_batch != l->micro_batch ||
                strcmp(own->stage_layers, l->stage_layers);

    if (own->global_batch != l->global_batch)
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the unsplit run has global batch %lld, the layout %lld",
                       (long long)own->global_batch, (long long)l->global_batch);
    if ((r->asynchronous ||
         weft_schedule_kind_asynchronous(weft_schedule_kind_find(l->schedule))) &&
        other)
        return WF_FAIL(WEFT_E_MISMATCH,
                       "the unsplit run was made for %s of %d stages, %d replicas; the "
                       "delays of %s of %d stages, %d replicas are others",
                       own->schedule, own->pp, own->dp, l->schedule, l->pp, l->dp);
    return WEFT_OK;
}
