/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank will hold, before anything is allocated: from the tensor table alone. */
#include "train/engine.h"

static int64_t elems(const weft_train_config *c, const weft_tensor_info *t)
{
    int64_t size[2];
    weft_layout_shard_size(&c->layout, &c->arch, t, size);
    return t->n_dims == 2 ? size[0] * size[1] : size[0];
}

/* Is tensor t held by a stage that has these layers? The tied embedding is held twice. */
static int held(const weft_train_config *c, const weft_tensor_info *t, int stage,
                int stages, int64_t first, int64_t count)
{
    if (t->layer >= 0 && t->layer < c->arch.layers)
        return t->layer >= first && t->layer < first + count;
    if (t->role == WEFT_WTE && c->arch.tied) return stage == 0 || stage == stages - 1;
    return t->layer < 0 ? stage == 0 : stage == stages - 1;
}

static int64_t stage_elems(const weft_train_config *c, int stage, int stages)
{
    int64_t first, count, n = 0;
    int rows = weft_arch_tensor_count(&c->arch);

    weft_layout_stage_layers(&c->layout, &c->arch, stage, &first, &count);
    for (int i = 0; i < rows; i++) {
        weft_tensor_info t;
        weft_arch_tensor(&c->arch, i, &t);
        if (held(c, &t, stage, stages, first, count)) n += elems(c, &t);
    }
    return n;
}

void weft_train_rank_bytes(const weft_train_config *c, int rank, weft_rank_bytes *out)
{
    weft_mesh mesh;
    weft_schedule shape;
    int64_t acc = weft_dtype_bytes(weft_dtype_acc(c->dtype)), n = 0;
    int copies =
        (c->optimizer == WEFT_ADAMW ? 2 : 0) + (weft_dtype_acc(c->dtype) != c->dtype);

    *out = (weft_rank_bytes){0};
    if (weft_layout_mesh(&c->layout, &mesh) != WEFT_OK) return;
    if (weft_layout_shape(&c->layout, &shape) != WEFT_OK) return;
    int pp = weft_mesh_coord_of(&mesh, rank, WEFT_PP);
    for (int v = 0; v < c->layout.vpp; v++)
        n += stage_elems(c, weft_schedule_stage(&shape, pp, v),
                         weft_schedule_stages(&shape));
    const weft_schedule_kind *k = weft_schedule_kind_find(c->layout.schedule);
    int versions = weft_schedule_kind_asynchronous(k)
                       ? weft_schedule_weight_copies(&shape, pp)
                       : 1; /* two copies are chunks of their own */
    *out = (weft_rank_bytes){.params = n * versions * weft_dtype_bytes(c->dtype),
                             .grads = n * acc,
                             .optimizer = n * acc * copies,
                             .n_params = n};
}
