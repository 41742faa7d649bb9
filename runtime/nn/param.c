/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a chunk: which, in what order, where, and their first values. */
#include <string.h>
#include <weft/run/random.h>

#include "base/alloc.h"
#include "nn/nn.h"
#include "nn/param.h"

/* The order in which a backward finishes the gradients of a block. */
static const weft_role block_order[] = {
    WEFT_PROJ_W, WEFT_PROJ_B, WEFT_FC_W,  WEFT_FC_B,  WEFT_OUT_W, WEFT_OUT_B,
    WEFT_QKV_W,  WEFT_QKV_B,  WEFT_LN2_G, WEFT_LN2_B, WEFT_LN1_G, WEFT_LN1_B};
enum { BLOCK_PARAMS = sizeof block_order / sizeof *block_order };

/* Row of the tensor table for (role, layer); the table always has it. */
static weft_tensor_info find_info(const weft_arch *a, weft_role role, int64_t layer)
{
    weft_tensor_info info;
    int n = weft_arch_tensor_count(a);

    for (int i = 0; i < n; i++) {
        weft_arch_tensor(a, i, &info);
        if (info.role == role && (info.layer == layer || layer < 0)) break;
    }
    return info;
}

static int *slot(const weft_chunk *c, weft_role role, int64_t local)
{
    return &c->index[(local + 1) * WEFT_N_ROLES + (int)role];
}

static void local_size(const weft_chunk *c, weft_param *p)
{
    const weft_tensor_info *t = &p->info;
    int tp = weft_group_size(c->sh.tp);

    p->size[0] = t->is_vocab ? c->cfg.padded_vocab : t->size[0];
    p->size[1] = t->n_dims == 2 ? t->size[1] : 1;
    if (t->tp_dim >= 0) p->size[t->tp_dim] /= tp;
    p->count = p->size[0] * p->size[1];
}

/* Append a parameter; global layer -1 means "whichever" (unique roles). */
static void add(weft_chunk *c, weft_role role, int64_t local, int64_t layer)
{
    weft_param *p = &c->param[c->n_params];

    *p = (weft_param){.info = find_info(c->cfg.arch, role, layer), .first_copy = 1};
    local_size(c, p);
    p->at = c->n_elems;
    c->n_elems += p->count;
    *slot(c, role, local) = c->n_params++;
}

static void list_params(weft_chunk *c)
{
    const weft_chunk_config *g = &c->cfg;
    int64_t end = g->n_layers;

    if (g->has_head) {
        add(c, WEFT_LNF_G, end, -1);
        add(c, WEFT_LNF_B, end, -1);
        if (!g->arch->tied) add(c, WEFT_HEAD_W, end, -1);
        if (g->arch->tied && !g->has_embed) {
            add(c, WEFT_WTE, end, -1);
            c->param[c->n_params - 1].first_copy = 0;
        }
    }
    for (int64_t l = end - 1; l >= 0; l--)
        for (int i = 0; i < BLOCK_PARAMS; i++)
            add(c, block_order[i], l, g->first_layer + l);
    if (g->has_embed) {
        add(c, WEFT_WPE, -1, -1);
        add(c, WEFT_WTE, -1, -1);
        if (g->has_head && g->arch->tied)
            *slot(c, WEFT_WTE, end) = *slot(c, WEFT_WTE, -1);
    }
}

typedef struct filler {
    const weft_chunk *c;
    weft_param *p;
} filler;

static weft_status fill_run(void *ctx, int64_t local, int64_t logical, int64_t n)
{
    filler *f = ctx;
    const weft_chunk_config *g = &f->c->cfg;
    uint64_t key = weft_random_key(f->p->info.name);
    weft_random_block at = {.first = logical, .stride = n, .rows = 1, .cols = n};
    char *out = (char *)f->p->w + local * weft_dtype_bytes(f->c->sh.t);
    double std = f->p->info.init == WEFT_INIT_NORMAL ? f->p->info.std : 0.1;

    if (g->exact > 0)
        weft_random_fill_uniform(g->seed, key, at, 0, 1, f->c->sh.t, out);
    else
        weft_random_fill_normal(g->seed, key, at, g->random_all ? 5 * std : std,
                                f->c->sh.t, out);
    return WEFT_OK;
}

static void fill_constant(const weft_chunk *c, weft_param *p, double x)
{
    for (int64_t i = 0; i < p->count; i++) {
        if (c->sh.t == WEFT_F64) ((double *)p->w)[i] = x;
        if (c->sh.t == WEFT_F32) ((float *)p->w)[i] = (float)x;
        if (c->sh.t == WEFT_BF16) ((uint16_t *)p->w)[i] = weft_bf16_from_f32((float)x);
    }
}

static void add_one(const weft_chunk *c, weft_param *p)
{
    uint16_t *half = p->w;

    for (int64_t i = 0; i < p->count; i++) {
        if (c->sh.t == WEFT_F64) ((double *)p->w)[i] += 1;
        if (c->sh.t == WEFT_F32) ((float *)p->w)[i] += 1;
        if (c->sh.t == WEFT_BF16)
            half[i] = weft_bf16_from_f32(weft_bf16_to_f32(half[i]) + 1);
    }
}

/* Values from (seed, name, logical index) alone: the same model under every layout. */
static weft_status init_param(weft_chunk *c, weft_param *p)
{
    filler f = {c, p};
    int drawn =
        p->info.init == WEFT_INIT_NORMAL || c->cfg.random_all || c->cfg.exact > 0;

    if (!drawn) {
        fill_constant(c, p, p->info.init == WEFT_INIT_ONE);
        return WEFT_OK;
    }
    WF_TRY(weft_shard_runs(&p->info, weft_group_size(c->sh.tp),
                           weft_group_rank(c->sh.tp), c->cfg.padded_vocab, fill_run,
                           &f));
    if (c->cfg.exact > 0)
        wf_exact_init(c, p);
    else if (p->info.init == WEFT_INIT_ONE)
        add_one(c, p);
    return WEFT_OK;
}

weft_status wf_params_create(weft_chunk *c)
{
    int64_t n_index = (c->cfg.n_layers + 2) * WEFT_N_ROLES;
    weft_dtype acc = weft_dtype_acc(c->sh.t);

    WF_TRY(WF_ALLOC(n_index, &c->index));
    WF_TRY(WF_ALLOC(c->cfg.n_layers * BLOCK_PARAMS + 8, &c->param));
    memset(c->index, -1, (size_t)n_index * sizeof *c->index);
    list_params(c);
    WF_TRY(weft_arena_zero(c->sh.arena, WEFT_PARAM,
                           c->n_elems * weft_dtype_bytes(c->sh.t), &c->w_all));
    WF_TRY(weft_arena_zero(c->sh.arena, WEFT_GRAD, c->n_elems * weft_dtype_bytes(acc),
                           &c->g_all));
    weft_chunk_use_weights(c, c->w_all);
    for (int i = 0; i < c->n_params; i++) {
        weft_param *p = &c->param[i];
        p->g = (char *)c->g_all + p->at * weft_dtype_bytes(acc);
        WF_TRY(init_param(c, p));
    }
    return WEFT_OK;
}

void weft_chunk_use_weights(weft_chunk *c, void *w_all)
{
    c->w_all = w_all;
    for (int i = 0; i < c->n_params; i++)
        c->param[i].w = (char *)w_all + c->param[i].at * weft_dtype_bytes(c->sh.t);
}

void weft_chunk_zero_grads(weft_chunk *c)
{
    int64_t bytes = c->n_elems * weft_dtype_bytes(weft_dtype_acc(c->sh.t));
    memset(c->g_all, 0, (size_t)bytes);
}

int wf_params_of_block(void)
{
    return BLOCK_PARAMS;
}

weft_param *weft_chunk_param(const weft_chunk *c, weft_role role, int64_t layer)
{
    int64_t local = layer - c->cfg.first_layer;

    if (role == WEFT_WTE || role == WEFT_WPE)
        local = c->cfg.has_embed ? -1 : c->cfg.n_layers;
    else if (role >= WEFT_LNF_G)
        local = c->cfg.n_layers;
    if (local < -1 || local > c->cfg.n_layers) return NULL;
    int i = *slot(c, role, local);
    return i < 0 ? NULL : &c->param[i];
}

const void *wf_weight(const weft_chunk *c, weft_role role, int64_t local)
{
    return c->param[*slot(c, role, local)].w;
}

void *wf_grad(const weft_chunk *c, weft_role role, int64_t local)
{
    return c->param[*slot(c, role, local)].g;
}
