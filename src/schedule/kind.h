/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCHEDULE_KIND_H
#define WF_SCHEDULE_KIND_H
#include <stddef.h>
#include <stdint.h>
#include <weft/schedule.h>

#include "base/error.h"

/* Times of a full stage: F, B (unsplit), I, W. */
typedef struct wf_times {
    double f, b, i, w;
} wf_times;

/* One kind of schedule: a file in kinds/ that ends with its descriptor, and a line in
 * kinds/table.c. The functions see a schedule whose p, m, v are in range. */
struct weft_schedule_kind {
    const char *name, *summary, *source;
    int chunks;       /* v where the user says none; 0: 1 */
    int searched;     /* mem_limit, times and placement of the options mean something */
    unsigned places;  /* placements that it takes, bits 1 << weft_placement_kind; 0: its
                         own alone */
    int forward_only; /* one op per (chunk, micro) */
    int splits;       /* backwards in two pieces, I and W, or some of them */
    int two_ways;     /* half of the chunks are of a pipeline in the other direction */
    int asynchronous; /* a stage updates its weights after each of its backwards */

    /* Can it run (p, m, v)? Sets the placement. */
    weft_status (*applicable)(weft_schedule *q, const weft_schedule_options *opt);
    /* The shortest group of micro-batches that it runs well, and that in words; NULL:
     * --group means nothing. */
    int64_t (*least_group)(const weft_schedule *q);
    const char *least_group_is;
    /* Ops of one rank. */
    int64_t (*count)(const weft_schedule *q, int rank);
    /* Fill the ops of all ranks; first[] and room for count() ops are there. */
    weft_status (*generate)(const weft_schedule *s, const weft_schedule_options *opt);
    /* Closed forms; NULL where none is known, NaN or -1 outside their range. */
    int64_t (*peak)(const weft_schedule *q, int rank);
    double (*makespan)(const weft_schedule *q, const wf_times *t);
    /* Versions of a rank's weights; NULL: one for each direction. */
    int (*weight_copies)(const weft_schedule *q, int rank);
};

extern const weft_schedule_kind *const wf_schedule_kinds[];
extern const int wf_schedule_n_kinds;

/* Rules shared by kinds: a fixed number of chunks, and why. */
weft_status wf_need_chunks(const weft_schedule *q, int chunks, const char *why);
/* As applicable(): one stage per rank; two chunks on a V. */
weft_status wf_on_single(weft_schedule *q, const weft_schedule_options *opt);
weft_status wf_on_v(weft_schedule *q, const weft_schedule_options *opt);

/* Allocate and generate a shape that applicable() has completed, whatever the group. */
weft_status wf_schedule_generate(const weft_schedule_kind *k,
                                 const weft_schedule *shape,
                                 const weft_schedule_options *opt, weft_schedule *out);

static inline weft_op *wf_put(weft_op *o, int kind, int64_t micro, int chunk)
{
    *o = (weft_op){
        .kind = (uint8_t)kind, .chunk = (uint8_t)chunk, .micro = (uint32_t)micro};
    return o + 1;
}

/* The W of the oldest I that has none yet; *at walks along the rank's list. */
static inline weft_op *wf_put_oldest_w(weft_op *o, const weft_op **at)
{
    while ((*at)->kind != WEFT_OP_I)
        ++*at;
    o = wf_put(o, WEFT_OP_W, (*at)->micro, (*at)->chunk);
    ++*at;
    return o;
}

static inline int64_t wf_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t wf_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Distance of a rank to the nearer end of the pipeline. */
static inline int wf_to_end(const weft_schedule *q, int rank)
{
    return (int)wf_least(rank, q->p - 1 - rank);
}
#endif
