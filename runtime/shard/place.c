/* SPDX-License-Identifier: Apache-2.0 */
#include "shard/place.h"

#include "base/error.h"

weft_dtype weft_partial_type(const weft_shard *s)
{
    return weft_group_size(s->tp) > 1 ? weft_dtype_acc(s->t) : s->t;
}

weft_view weft_view_of(void *data, weft_dtype t, int64_t rows, int64_t cols)
{
    return (weft_view){.data = data, .dtype = t, .rows = rows, .cols = cols};
}

weft_view weft_view_split(void *data, weft_dtype t, int64_t rows, int64_t cols, int dim)
{
    weft_view v = weft_view_of(data, t, rows, cols);
    v.at[WEFT_TP] = (weft_placement){WEFT_SPLIT, (uint8_t)dim};
    return v;
}

weft_view weft_view_partial(void *data, weft_dtype t, int64_t rows, int64_t cols)
{
    weft_view v = weft_view_of(data, t, rows, cols);
    v.at[WEFT_TP] = (weft_placement){WEFT_PARTIAL_SUM, 0};
    return v;
}

static const char *how_text(int how)
{
    switch (how) {
    case WEFT_SAME: return "the same on every rank";
    case WEFT_SPLIT: return "split";
    case WEFT_PARTIAL_SUM: return "a partial sum";
    }
    return "a partial maximum";
}

weft_status wf_expect(const weft_shard *s, const char *op, const weft_view *v, int how,
                      int dim)
{
    char text[96];
    weft_placement at = v->at[WEFT_TP];

    if (weft_group_size(s->tp) == 1) return WEFT_OK;
    if (at.how == how && (how != WEFT_SPLIT || at.dim == dim)) return WEFT_OK;
    return WF_FAIL(WEFT_E_MISMATCH, "%s needs a view that is %s over tp, found %s", op,
                   how_text(how), weft_view_text(v, text));
}

weft_status weft_reduce_start(const weft_shard *s, weft_purpose why, weft_view *partial,
                              weft_event *ev)
{
    WF_TRY(wf_expect(s, weft_purpose_name(why), partial, WEFT_PARTIAL_SUM, 0));
    if (weft_group_size(s->tp) == 1) return WEFT_OK; /* any type: nothing is added */
    return weft_all_reduce(s->tp, why, partial->data, partial->rows * partial->cols,
                           partial->dtype, WEFT_SUM, ev);
}

weft_status weft_reduce_finish(const weft_shard *s, weft_view *partial, weft_event *ev)
{
    WF_TRY(wf_expect(s, "the end of a reduction", partial, WEFT_PARTIAL_SUM, 0));
    WF_TRY(weft_wait(s->comm, ev));
    partial->at[WEFT_TP] = (weft_placement){WEFT_SAME, 0};
    return WEFT_OK;
}
