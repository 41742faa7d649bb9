/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of a logical tensor a TP rank holds. */
#include <weft/run/nn.h>

#include "base/error.h"

/* The tensor as [rows, cols] with the split dimension as rows (dim 0) or cols (dim 1). */
typedef struct shape {
    int64_t rows, cols;
} shape;

static shape shape_of(const weft_tensor_info *info)
{
    return (shape){info->size[0], info->n_dims == 2 ? info->size[1] : 1};
}

/* Rows split: each segment contributes its own share, one after the other. */
static weft_status split_rows(const weft_tensor_info *info, int tp, int r,
                              weft_shard_run_fn *fn, void *ctx)
{
    shape sh = shape_of(info);
    int64_t local = 0, start = 0;

    for (int s = 0; s < info->n_segments; s++) {
        int64_t share = info->segment[s] / tp;
        WF_TRY(
            fn(ctx, local * sh.cols, (start + r * share) * sh.cols, share * sh.cols));
        local += share;
        start += info->segment[s];
    }
    return WEFT_OK;
}

static weft_status split_vocab(const weft_tensor_info *info, int tp, int r,
                               int64_t padded, weft_shard_run_fn *fn, void *ctx)
{
    shape sh = shape_of(info);
    int64_t share = padded / tp, first = r * share, n = sh.rows - first;

    if (n > share) n = share;
    return n > 0 ? fn(ctx, 0, first * sh.cols, n * sh.cols) : WEFT_OK;
}

static weft_status split_cols(const weft_tensor_info *info, int tp, int r,
                              weft_shard_run_fn *fn, void *ctx)
{
    shape sh = shape_of(info);
    int64_t share = sh.cols / tp;

    for (int64_t i = 0; i < sh.rows; i++)
        WF_TRY(fn(ctx, i * share, i * sh.cols + r * share, share));
    return WEFT_OK;
}

weft_status weft_shard_runs(const weft_tensor_info *info, int tp_size, int tp_rank,
                            int64_t padded_vocab, weft_shard_run_fn *fn, void *ctx)
{
    shape sh = shape_of(info);

    if (info->is_vocab)
        return split_vocab(info, tp_size, tp_rank, padded_vocab, fn, ctx);
    if (info->tp_dim < 0 || tp_size == 1) return fn(ctx, 0, 0, sh.rows * sh.cols);
    if (info->tp_dim == 0) return split_rows(info, tp_size, tp_rank, fn, ctx);
    return split_cols(info, tp_size, tp_rank, fn, ctx);
}
