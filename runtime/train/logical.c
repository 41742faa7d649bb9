/* SPDX-License-Identifier: Apache-2.0 */
/* Logical (unsplit) elements of a model in one order, and what a rank holds of them. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "train/engine.h"
#include "train/reference.h"

static int64_t count_of(const weft_tensor_info *t)
{
    return t->size[0] * (t->n_dims == 2 ? t->size[1] : 1);
}

static weft_status allocate(const weft_arch *a, wf_logical *l)
{
    l->n_tensors = weft_arch_tensor_count(a);
    WF_TRY(WF_ALLOC(l->n_tensors + 1, &l->at));
    WF_TRY(WF_ALLOC(l->n_tensors, &l->first_slot));
    WF_TRY(WF_ALLOC(l->n_tensors, &l->info));
    return WF_ALLOC(l->n_tensors * 3, &l->slot);
}

weft_status wf_logical_create(const weft_arch *a, wf_logical *out)
{
    wf_logical l = {0};
    weft_status st = allocate(a, &l);

    if (st != WEFT_OK) {
        wf_logical_clear(&l);
        return st;
    }
    for (int i = 0; i < l.n_tensors; i++) {
        weft_tensor_info *t = &l.info[i];
        weft_arch_tensor(a, i, t);
        l.at[i + 1] = l.at[i] + count_of(t);
        l.first_slot[i] = l.n_slots;
        for (int s = 0; s < t->n_segments; s++) {
            wf_slot *slot = &l.slot[l.n_slots++];
            *slot = (wf_slot){.tensor = i, .segment = s};
            snprintf(slot->name, sizeof slot->name, "%s%s%s", t->name,
                     t->n_segments > 1 ? " " : "",
                     t->n_segments > 1 ? t->segment_name[s] : "");
        }
    }
    *out = l;
    return WEFT_OK;
}

void wf_logical_clear(wf_logical *l)
{
    wf_free(l->at);
    wf_free(l->first_slot);
    wf_free(l->info);
    wf_free(l->slot);
    *l = (wf_logical){0};
}

int wf_logical_tensor(const wf_logical *l, const weft_tensor_info *t)
{
    for (int i = 0; i < l->n_tensors; i++)
        if (l->info[i].role == t->role && l->info[i].layer == t->layer) return i;
    return -1;
}

/* Segments lie along dimension 0 of every segmented tensor. */
int wf_logical_slot(const wf_logical *l, int tensor, int64_t element, int64_t *run)
{
    const weft_tensor_info *t = &l->info[tensor];
    int64_t cols = t->n_dims == 2 ? t->size[1] : 1, end = 0;
    int s = 0;

    if (t->n_segments == 1) {
        *run = count_of(t) - element;
        return l->first_slot[tensor];
    }
    for (; s < t->n_segments; s++) {
        end += t->segment[s] * cols;
        if (element < end) break;
    }
    *run = end - element;
    return l->first_slot[tensor] + s;
}

typedef struct walk {
    const wf_visit *v;
    int tensor;
    weft_dtype type;
    const void *local;
} walk;

static double value(weft_dtype t, const void *x, int64_t i)
{
    if (t == WEFT_F64) return ((const double *)x)[i];
    if (t == WEFT_F32) return ((const float *)x)[i];
    return weft_bf16_to_f32(((const uint16_t *)x)[i]);
}

enum { CHUNK = 256 };

static weft_status visit_run(void *ctx, int64_t local, int64_t logical, int64_t n)
{
    walk *w = ctx;
    double x[CHUNK];

    while (n > 0) {
        int64_t run, base = w->v->map->at[w->tensor];
        int slot = wf_logical_slot(w->v->map, w->tensor, logical, &run);
        if (run > n) run = n;
        if (run > CHUNK) run = CHUNK;
        for (int64_t i = 0; i < run; i++)
            x[i] = value(w->type, w->local, local + i);
        w->v->fn(w->v->ctx, slot, base + logical, run, x);
        local += run;
        logical += run;
        n -= run;
    }
    return WEFT_OK;
}

weft_status wf_visit_params(weft_engine *e, const wf_visit *v, int grads)
{
    weft_dtype acc = weft_dtype_acc(e->cfg.dtype);

    for (int c = 0; c < e->cfg.layout.vpp; c++)
        for (int i = 0; i < e->chunk[c].n_params; i++) {
            const weft_param *p = &e->chunk[c].param[i];
            walk w = {v, wf_logical_tensor(v->map, &p->info),
                      grads ? acc : e->cfg.dtype, grads ? p->g : p->w};
            WF_TRY(weft_shard_runs(&p->info, weft_group_size(e->tp),
                                   weft_group_rank(e->tp), e->chunk[c].cfg.padded_vocab,
                                   visit_run, &w));
        }
    return WEFT_OK;
}
