/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds share that take micro-batches in groups over v looped chunks. */
#ifndef WF_SCHEDULE_KINDS_ROWS_H
#define WF_SCHEDULE_KINDS_ROWS_H
#include "schedule/kind.h"

/* No group shorter than `least`, unless there is one only. */
static inline int wf_group_fits(int64_t least, int64_t m, int64_t group)
{
    int64_t rest = m % group;
    return (group >= least || group == m) && (rest == 0 || rest >= least);
}

/* Refuses a group that does not fit, with what it would cost where `cost` asks for it (a
 * simulation). Group 0 becomes the default: p where it divides m, else m in as many equal
 * groups as hold p; refused where there are none. */
weft_status wf_check_group(const weft_schedule_kind *k, weft_schedule *q, int cost);

/* Walks the rows (micro, chunk) of the interleaved table: for each group of
 * micro-batches, for each chunk, for each micro-batch of the group. `size` of the
 * running group. */
typedef struct wf_rows {
    int m, v, group;
    int base, size, chunk, i;
} wf_rows;

static inline wf_rows wf_rows_start(const weft_schedule *q, int group)
{
    return (wf_rows){
        .m = q->m, .v = q->v, .group = group, .size = group < q->m ? group : q->m};
}

static inline int wf_rows_micro(const wf_rows *t)
{
    return t->base + t->i;
}

static inline void wf_rows_next(wf_rows *t)
{
    if (++t->i < t->size) return;
    t->i = 0;
    if (++t->chunk < t->v) return;
    t->chunk = 0;
    t->base += t->size;
    t->size = t->m - t->base < t->group ? t->m - t->base : t->group;
}

/* The op of a row: a forward, or a backward (B, I) of the mirrored chunk. */
static inline weft_op *wf_put_row_f(weft_op *o, wf_rows *t)
{
    o = wf_put(o, WEFT_OP_F, wf_rows_micro(t), t->chunk);
    wf_rows_next(t);
    return o;
}

static inline weft_op *wf_put_row_back(weft_op *o, int kind, wf_rows *t)
{
    o = wf_put(o, kind, wf_rows_micro(t), t->v - 1 - t->chunk);
    wf_rows_next(t);
    return o;
}
#endif
