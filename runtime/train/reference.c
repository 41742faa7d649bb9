/* SPDX-License-Identifier: Apache-2.0 */
/* The unsplit run, kept whole in double. */
#include "train/reference.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

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

static weft_status run_steps(weft_engine *e, weft_reference *r)
{
    for (int s = 0; s < r->steps; s++) {
        weft_step_result step;
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
    out->op_s = NULL;
    out->trace = 0;
}

static weft_status build(const weft_train_config *cfg, const weft_data *data,
                         weft_reference *r)
{
    weft_train_config one;
    weft_comm *self = NULL;
    weft_engine *e = NULL;

    WF_TRY(wf_logical_create(&cfg->arch, &r->map));
    WF_TRY(WF_ALLOC(r->steps, &r->loss));
    WF_TRY(WF_ALLOC(r->steps, &r->norm));
    WF_TRY(WF_ALLOC(r->steps, &r->grad));
    unsplit(cfg, &one);
    WF_TRY(weft_comm_self(NULL, &self));
    weft_status st = weft_engine_create(self, &one, data, &e);
    if (st == WEFT_OK) st = run_steps(e, r);
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
    r->global_batch = cfg->layout.global_batch;
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

int64_t weft_reference_global_batch(const weft_reference *r)
{
    return r->global_batch;
}
