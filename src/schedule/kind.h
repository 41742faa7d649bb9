/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_KIND_H
#define WF_SCHEDULE_KIND_H
#include <stdint.h>
#include <weft/schedule.h>

#include "base/error.h"

/* One kind of schedule: a file in kinds/ that ends with its descriptor, and a line in
 * kinds/table.c. The functions see a schedule whose p, m, v are in range. */
struct weft_schedule_kind {
    const char *name, *summary, *source;
    int takes_group;  /* --group means something */
    int forward_only; /* one op per (chunk, micro) */

    /* Can it run (p, m, v)? Sets placement and group (0 on entry: the default). */
    weft_status (*applicable)(weft_schedule *q);
    /* Ops of one rank. */
    int64_t (*count)(const weft_schedule *q, int rank);
    /* Fill the ops of all ranks; first[] and room for count() ops are there. */
    weft_status (*generate)(const weft_schedule *s);
    /* Closed forms; NULL where none is known. */
    int64_t (*peak)(const weft_schedule *q, int rank);
    double (*makespan)(const weft_schedule *q, double tf, double tb);
};

extern const weft_schedule_kind *const wf_schedule_kinds[];
extern const int wf_schedule_n_kinds;

/* Rule shared by kinds with one stage per rank. */
weft_status wf_need_one_chunk(const weft_schedule *q);

/* Allocate and generate a shape that applicable() has completed, whatever the group. */
weft_status wf_schedule_generate(const weft_schedule_kind *k,
                                 const weft_schedule *shape, weft_schedule *out);

static inline weft_op *wf_put(weft_op *o, int kind, int64_t micro, int chunk)
{
    *o = (weft_op){
        .kind = (uint8_t)kind, .chunk = (uint8_t)chunk, .micro = (uint32_t)micro};
    return o + 1;
}

/* Walks the rows (micro, chunk) of the interleaved table: for each group of micro-batches,
 * for each chunk, for each micro-batch of the group. `size` of the running group. */
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
#endif
