/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "train/reference.h"

/* Largest |a - b| and |ref| per slot; NaN counts as infinitely far. */
typedef struct diff {
    const double *ref;
    double *far, *size; /* [n_slots] */
} diff;

static double distance(double a, double b)
{
    double d = fabs(a - b);
    return isnan(d) ? INFINITY : d;
}

static void compare(void *ctx, int slot, int64_t logical, int64_t n, const double *x)
{
    diff *d = ctx;

    for (int64_t i = 0; i < n; i++) {
        double far = distance(x[i], d->ref[logical + i]);
        if (far > d->far[slot]) d->far[slot] = far;
    }
}

static void sizes(const wf_logical *map, const double *ref, double *size)
{
    for (int t = 0; t < map->n_tensors; t++)
        for (int64_t i = 0, n = map->at[t + 1] - map->at[t]; i < n; i++) {
            int64_t run;
            int slot = wf_logical_slot(map, t, i, &run);
            double x = fabs(ref[map->at[t] + i]);
            if (x > size[slot]) size[slot] = x;
        }
}

/* What all ranks add up to. */
typedef struct state {
    const weft_reference *ref;
    weft_group *world;
    weft_comm *comm;
    double *grad_far, *grad_size, *weight_far, *weight_size; /* [n_slots] */
    double scalar[2];                                        /* loss, norm */
} state;

static weft_status all_max(state *s, double *x, int n)
{
    weft_event ev = {0};
    WF_TRY(weft_all_reduce(s->world, WEFT_FOR_CONTROL, x, n, WEFT_F64, WEFT_MAX, &ev));
    return weft_wait(s->comm, &ev);
}

static weft_status run_steps(state *s, weft_engine *e)
{
    const wf_logical *map = &s->ref->map;

    for (int i = 0; i < s->ref->steps; i++) {
        weft_step_result r;
        diff d = {s->ref->grad[i], s->grad_far, s->grad_size};
        wf_visit v = {map, compare, &d};
        WF_TRY(weft_engine_step(e, &r));
        s->scalar[0] = fmax(s->scalar[0], distance(r.loss, s->ref->loss[i]));
        s->scalar[1] = fmax(s->scalar[1], distance(r.grad_norm, s->ref->norm[i]));
        WF_TRY(wf_visit_params(e, &v, 1));
        sizes(map, s->ref->grad[i], s->grad_size);
    }
    diff d = {s->ref->weight, s->weight_far, s->weight_size};
    wf_visit v = {map, compare, &d};
    WF_TRY(wf_visit_params(e, &v, 0));
    sizes(map, s->ref->weight, s->weight_size);
    WF_TRY(all_max(s, s->grad_far, map->n_slots));
    WF_TRY(all_max(s, s->weight_far, map->n_slots));
    return all_max(s, s->scalar, 2);
}

static double default_tolerance(weft_dtype t)
{
    return t == WEFT_F64 ? 1e-11 : t == WEFT_F32 ? 2e-3 : 2e-1;
}

static void worse(weft_verify_report *r, double ratio, const char *what)
{
    if (isnan(ratio)) ratio = INFINITY;
    if (ratio <= r->worst) return;
    r->worst = ratio;
    snprintf(r->worst_at, sizeof r->worst_at, "%s", what);
}

/* diff / allowed */
static double ratio_of(double far, double size, double largest, double tolerance)
{
    double allowed = tolerance * fmax(size, 1e-3 * largest);
    return far == 0 ? 0 : far / allowed;
}

static double largest_of(int n, const double *x)
{
    double m = 0;
    for (int i = 0; i < n; i++)
        m = fmax(m, x[i]);
    return m;
}

static void judge_row(weft_verify_report *r, const wf_slot *slot, weft_verify_row *row,
                      double grad_ratio, double weight_ratio)
{
    char what[64];

    row->ok = grad_ratio <= 1 && weight_ratio <= 1;
    snprintf(what, sizeof what, "gradient of %.47s", slot->name);
    worse(r, grad_ratio, what);
    snprintf(what, sizeof what, "weight %.47s", slot->name);
    worse(r, weight_ratio, what);
}

/* Bit-exact mode demands the very bits of every sum of integers below 2^53. The squares in
 * the norm add up to more in all but small models, and then round as their order has it. */
static double norm_tolerance(int exact, double norm, double tolerance)
{
    int rounds = exact && norm * norm >= 0x1p53;
    return rounds ? fmax(tolerance, default_tolerance(WEFT_F64)) : tolerance;
}

static void judge(const state *s, int exact, double tolerance, weft_verify_report *r)
{
    const wf_logical *map = &s->ref->map;
    double grads = largest_of(map->n_slots, s->grad_size);
    double weights = largest_of(map->n_slots, s->weight_size);

    for (int i = 0; i < map->n_slots; i++) {
        const wf_slot *slot = &map->slot[i];
        const weft_tensor_info *t = &map->info[slot->tensor];
        weft_verify_row *row = &r->row[i];
        *row = (weft_verify_row){.grad_diff = s->grad_far[i],
                                 .grad_ref = s->grad_size[i],
                                 .weight_diff = s->weight_far[i],
                                 .weight_ref = s->weight_size[i]};
        memcpy(row->tensor, t->name, sizeof row->tensor);
        if (t->n_segments > 1) memcpy(row->segment, t->segment_name[slot->segment], 4);
        judge_row(r, slot, row,
                  ratio_of(row->grad_diff, row->grad_ref, grads, tolerance),
                  ratio_of(row->weight_diff, row->weight_ref, weights, tolerance));
    }
    r->loss_diff = s->scalar[0];
    r->norm_diff = s->scalar[1];
    r->loss_ref = fabs(s->ref->loss[0]);
    r->norm_ref = s->ref->norm[0];
    worse(r, ratio_of(r->loss_diff, r->loss_ref, r->loss_ref, tolerance), "loss");
    worse(r,
          ratio_of(r->norm_diff, r->norm_ref, r->norm_ref,
                   norm_tolerance(exact, r->norm_ref, tolerance)),
          "gradient norm");
    r->equal = r->worst <= 1;
}

static weft_status run(state *s, const weft_train_config *cfg, const weft_data *data,
                       double tolerance, weft_verify_report *r)
{
    int n = s->ref->map.n_slots;
    weft_engine *e = NULL;

    WF_TRY(WF_ALLOC(n, &s->grad_far));
    WF_TRY(WF_ALLOC(n, &s->grad_size));
    WF_TRY(WF_ALLOC(n, &s->weight_far));
    WF_TRY(WF_ALLOC(n, &s->weight_size));
    WF_TRY(WF_ALLOC(n, &r->row));
    r->n_rows = n;
    WF_TRY(weft_group_world(s->comm, &s->world));
    WF_TRY(weft_engine_create(s->comm, cfg, data, &e));
    weft_status st = run_steps(s, e);
    if (st != WEFT_OK) weft_comm_abort(s->comm, st, weft_status_message(), 0);
    weft_engine_destroy(e);
    if (st == WEFT_OK)
        judge(s, cfg->exact, tolerance > 0 ? tolerance : default_tolerance(cfg->dtype),
              r);
    return st;
}

weft_status weft_verify_layout(weft_comm *comm, const weft_train_config *cfg,
                               const weft_data *data, const weft_reference *ref,
                               double tolerance, weft_verify_report *report)
{
    state s = {.ref = ref, .comm = comm};
    weft_verify_report r = {0};

    WF_TRY(weft_reference_check(ref, &cfg->layout));
    weft_status st = run(&s, cfg, data, tolerance, &r);
    weft_group_destroy(s.world);
    wf_free(s.grad_far);
    wf_free(s.grad_size);
    wf_free(s.weight_far);
    wf_free(s.weight_size);
    if (st != WEFT_OK) {
        weft_verify_report_clear(&r);
        return st;
    }
    *report = r;
    return WEFT_OK;
}

void weft_verify_report_clear(weft_verify_report *r)
{
    wf_free(r->row);
    *r = (weft_verify_report){0};
}
