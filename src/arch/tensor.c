/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tensor table by number. Layers of one kind have the same rows, so that the
 * place of a row is found without walking the table. */
#include <weft/arch.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch/rows.h"

/* Rows of a part that have their features. */
static int count(wf_part part, uint32_t features)
{
    int all, n = 0;
    const wf_row *r = wf_rows(part, &all);
    for (int i = 0; i < all; i++)
        n += !(r[i].need & ~features);
    return n;
}

/* The i-th of them. */
static const wf_row *pick(wf_part part, uint32_t features, int i)
{
    int all;
    const wf_row *r = wf_rows(part, &all);
    for (;; r++)
        if (!(r->need & ~features) && i-- == 0) return r;
}

/* ---- MoE layers ------------------------------------------------------------------ */

int64_t weft_arch_moe_layers_before(const weft_arch *a, int64_t layer)
{
    if (!a->experts || layer <= a->dense_layers) return 0;
    return (layer - a->dense_layers) / a->moe_every;
}

/* An MTP module has a block like the model's last. */
int weft_arch_layer_is_moe(const weft_arch *a, int64_t layer)
{
    if (layer >= a->layers) layer = a->layers - 1;
    return weft_arch_moe_layers_before(a, layer + 1) >
           weft_arch_moe_layers_before(a, layer);
}

/* ---- where a row is -------------------------------------------------------------- */

typedef struct table {
    const weft_arch *a;
    uint32_t model, dense, moe; /* features */
    int before, after, n_dense, n_moe, mtp_in, mtp_out;
} table;

/* A model with layers of both kinds begins with a dense one. */
static table table_of(const weft_arch *a)
{
    table t = {.a = a, .model = wf_features(a, -1)};
    int64_t moe = weft_arch_moe_layers_before(a, a->layers);
    if (moe < a->layers) {
        t.dense = wf_features(a, 0);
        t.n_dense = count(WF_BLOCK, t.dense);
    }
    if (moe > 0) {
        t.moe = wf_features(a, a->dense_layers + a->moe_every - 1);
        t.n_moe = count(WF_BLOCK, t.moe);
    }
    t.before = count(WF_BEFORE, t.model);
    t.after = count(WF_AFTER, t.model);
    t.mtp_in = count(WF_MTP_IN, t.model);
    t.mtp_out = count(WF_MTP_OUT, t.model);
    return t;
}

/* Rows of layers 0..layer-1. */
static int64_t rows_before(const table *t, int64_t layer)
{
    int64_t moe = weft_arch_moe_layers_before(t->a, layer);
    return (layer - moe) * t->n_dense + moe * t->n_moe;
}

static int mtp_block(const table *t)
{
    return weft_arch_layer_is_moe(t->a, t->a->layers) ? t->n_moe : t->n_dense;
}

static int mtp_rows(const table *t)
{
    return t->mtp_in + mtp_block(t) + t->mtp_out;
}

int weft_arch_tensor_count(const weft_arch *a)
{
    table t = table_of(a);
    return t.before + (int)rows_before(&t, a->layers) + t.after +
           (int)a->mtp * mtp_rows(&t);
}

/* The layer that row i of the blocks is in: the last one that begins at or before it. */
static int64_t layer_of(const table *t, int64_t i)
{
    int64_t low = 0, high = t->a->layers - 1;
    while (low < high) {
        int64_t mid = low + (high - low + 1) / 2;
        if (rows_before(t, mid) <= i)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

static uint32_t layer_features(const table *t, int64_t layer)
{
    return weft_arch_layer_is_moe(t->a, layer) ? t->moe : t->dense;
}

static const wf_row *mtp_row(const table *t, int i, int *layer)
{
    int module = i / mtp_rows(t);
    i %= mtp_rows(t);
    *layer = (int)t->a->layers + 1 + module;
    if (i < t->mtp_in) return pick(WF_MTP_IN, t->model, i);
    i -= t->mtp_in;
    if (i < mtp_block(t)) return pick(WF_BLOCK, layer_features(t, *layer), i);
    return pick(WF_MTP_OUT, t->model, i - mtp_block(t));
}

static const wf_row *row_at(const weft_arch *a, int i, int *layer)
{
    table t = table_of(a);
    int64_t blocks = rows_before(&t, a->layers);

    if (i < t.before) return *layer = -1, pick(WF_BEFORE, t.model, i);
    i -= t.before;
    if (i < blocks) {
        int64_t l = layer_of(&t, i);
        *layer = (int)l;
        return pick(WF_BLOCK, layer_features(&t, l), (int)(i - rows_before(&t, l)));
    }
    i -= (int)blocks;
    if (i < t.after) return *layer = (int)a->layers, pick(WF_AFTER, t.model, i);
    return mtp_row(&t, i - t.after, layer);
}

/* ---- what is in a row ------------------------------------------------------------ */

static int is_gated(const weft_arch *a)
{
    return a->mlp == WEFT_MLP_SWIGLU || a->mlp == WEFT_MLP_GEGLU;
}

static void set_segment_names(weft_tensor_info *t, int n, const char names[][8])
{
    t->n_segments = n;
    memcpy(t->segment_name, names, (size_t)n * sizeof *names);
}

/* q, k and v, or gate and up, are matrices in one: each is split over TP for itself. */
static void set_segments(const weft_arch *a, wf_dim first, weft_tensor_info *t)
{
    static const char qkv[3][8] = {"q", "k", "v"}, halves[2][8] = {"gate", "up"};

    t->n_segments = 1;
    t->segment[0] = t->size[t->tp_dim < 0 ? 0 : t->tp_dim];
    switch (first) {
    case WF_QKV:
        set_segment_names(t, 3, qkv);
        t->segment[0] = a->heads * a->head_dim;
        t->segment[1] = a->kv_heads * a->head_dim;
        t->segment[2] = a->kv_heads * a->v_head_dim;
        return;
    case WF_HIDDEN_3:
        set_segment_names(t, 3, qkv);
        t->segment[0] = t->segment[1] = t->segment[2] = a->hidden;
        return;
    case WF_FFN_IN:
    case WF_EXPERT_IN:
    case WF_SHARED_IN:
        if (!is_gated(a)) return;
        set_segment_names(t, 2, halves);
        t->segment[0] = t->segment[1] = t->size[0] / 2;
        return;
    default: return;
    }
}

/* Gains over all heads go with the heads; gains of one head are every head's. */
static int tp_dim_of(const weft_arch *a, const wf_row *r)
{
    int over_heads = r->size[0] == WF_Q_NORM || r->size[0] == WF_K_NORM;
    return over_heads && a->qk_norm == WEFT_QK_NORM_FULL ? 0 : r->tp_dim;
}

static void set_name(const weft_arch *a, const wf_row *r, weft_tensor_info *t)
{
    if (t->layer > a->layers)
        snprintf(t->name, sizeof t->name, "mtp.%d.%s", t->layer - (int)a->layers - 1,
                 r->name);
    else if (t->layer >= 0 && t->layer < a->layers)
        snprintf(t->name, sizeof t->name, "h.%d.%s", t->layer, r->name);
    else
        snprintf(t->name, sizeof t->name, "%s", r->name);
}

void weft_arch_tensor(const weft_arch *a, int i, weft_tensor_info *out)
{
    int layer;
    const wf_row *r = row_at(a, i, &layer);
    weft_tensor_info t = {
        .role = r->role, .layer = layer, .tp_dim = tp_dim_of(a, r), .tied_to = -1};

    set_name(a, r, &t);
    t.n_dims = r->size[1] == WF_ONE ? 1 : 2;
    t.size[0] = wf_dim_size(a, r->size[0]);
    t.size[1] = wf_dim_size(a, r->size[1]);
    t.experts = wf_row_experts(a, r);
    set_segments(a, r->size[0], &t);
    t.is_vocab = r->tp_dim >= 0 && r->size[r->tp_dim] == WF_VOCAB;
    t.init = r->init;
    if (r->init == WEFT_INIT_NORMAL)
        t.std = r->residual ? a->init_std / sqrt(2.0 * (double)a->layers) : a->init_std;
    t.decay = t.n_dims == 2;
    *out = t;
}
