/* SPDX-License-Identifier: Apache-2.0 */
/* The partial schedules that the complete search has at hand. */
#ifndef WF_SCHEDULE_KINDS_OPTIMAL_LAYER_H
#define WF_SCHEDULE_KINDS_OPTIMAL_LAYER_H
#include "schedule/kinds/optimal-partial.h"

typedef struct wf_entry {
    double bound;
    double sum;     /* of its times                                        */
    double left;    /* work of the W's that are left                       */
    double late;    /* its ranks, if they did those now: what breaks ties  */
    int64_t time;   /* its place in time[]                                 */
    int count;      /* its place in count[]                                */
    int step;       /* of the search: how it came about                    */
    int next;       /* of the same bucket; -1: none                        */
    uint32_t hash;  /* of its counts of F and I                            */
    int is_dropped; /* another one makes it needless                       */
} wf_entry;

typedef struct wf_layer {
    const wf_problem *x;
    wf_entry *entry;
    unsigned char *count; /* [][3n]                       */
    double *time;
    int *bucket;     /* first entry; -1: none        */
    double *scratch; /* times of the one that is put */
    int n;
    int n_counts;
    int64_t n_times, entries, counts, times; /* and how many there is room for */
} wf_layer;

weft_status wf_layer_init(const wf_problem *x, wf_layer *out);
void wf_layer_clear(wf_layer *l);
void wf_layer_empty(wf_layer *l);

/* Puts `a` at the end, unless one that is there makes it needless (optimal-layer.c); those
 * which it makes needless are dropped. */
weft_status wf_layer_put(wf_layer *l, const wf_partial *a, double bound, int step);
void wf_layer_read(const wf_layer *l, int i, wf_partial *out);
int wf_layer_is_whole(const wf_layer *l, int i); /* no op is left */

/* Keeps the best ones, best first. Returns how many that were not dropped are gone. */
int wf_layer_cut(wf_layer *l, int width);
#endif
