/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer has partial schedules with the same number of F's and I's; their W's differ.
 *
 * One of them, B, is needless if there is another, A, that has done as many F and as many I
 * of each stage, is no later in anything, and is as far in W's. That is: on each rank A has
 * done every W that B has; or it is behind in the W's of one stage, and ahead in those of
 * another one by no fewer, which take no less time and, where memory is limited, free no
 * less in all. For then A can end as B does: where B still does one of the W's that A has
 * done, A does one of those in which it is behind (B has done it, so it needs no wait), or
 * nothing. At no time does it hold more than B.
 */
#include "schedule/kinds/optimal-layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    BUCKETS = 1 << 14,
    MOST_COMPARED = 64, /* of those as far in F and I: the last ones       */
    NOBODY = -1
};

static int lanes(const wf_layer *l)
{
    return WF_LANES * l->x->n;
}

weft_status wf_layer_init(const wf_problem *x, wf_layer *out)
{
    wf_layer l = {.x = x};
    weft_status st = WF_ALLOC(BUCKETS, &l.bucket);
    if (st == WEFT_OK) st = WF_ALLOC(x->p + x->p * x->len, &l.scratch);
    if (st != WEFT_OK) {
        wf_layer_clear(&l);
        return st;
    }
    wf_layer_empty(&l);
    *out = l;
    return WEFT_OK;
}

void wf_layer_clear(wf_layer *l)
{
    wf_free(l->entry);
    wf_free(l->count);
    wf_free(l->time);
    wf_free(l->bucket);
    wf_free(l->scratch);
    *l = (wf_layer){.x = NULL};
}

void wf_layer_empty(wf_layer *l)
{
    l->n = l->n_counts = 0;
    l->n_times = 0;
    for (int i = 0; i < BUCKETS; i++)
        l->bucket[i] = NOBODY;
}

static const unsigned char *count_of(const wf_layer *l, const wf_entry *e)
{
    return l->count + (int64_t)e->count * lanes(l);
}

void wf_layer_read(const wf_layer *l, int i, wf_partial *out)
{
    const wf_entry *e = &l->entry[i];
    wf_partial_read(out, count_of(l, e), l->time + e->time);
}

int wf_layer_is_whole(const wf_layer *l, int i)
{
    const unsigned char *count = count_of(l, &l->entry[i]);
    for (int lane = 0; lane < lanes(l); lane++)
        if (count[lane] < l->x->m) return 0;
    return 1;
}

/* ---- which ones are needless ---------------------------------------------------- */

static int no_later(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] > b[i]) return 0;
    return 1;
}

static int same_stages(const wf_layer *l, const unsigned char *a,
                       const unsigned char *b)
{
    for (int s = 0; s < l->x->n; s++)
        if (a[wf_lane(s, WF_LANE_F)] != b[wf_lane(s, WF_LANE_F)] ||
            a[wf_lane(s, WF_LANE_I)] != b[wf_lane(s, WF_LANE_I)])
            return 0;
    return 1;
}

static int rank_is_as_far(const wf_problem *x, int r, const unsigned char *a,
                          const unsigned char *b)
{
    int behind = -1, ahead = -1;
    for (int c = 0; c < x->v; c++) {
        int lane = wf_lane(x->stage[(int64_t)r * x->v + c], WF_LANE_W);
        if (a[lane] < b[lane] && behind >= 0) return 0;
        if (a[lane] < b[lane]) behind = lane;
        if (a[lane] > b[lane] && (ahead < 0 || x->dur[lane] > x->dur[ahead]))
            ahead = lane;
    }
    if (behind < 0) return 1;
    if (ahead < 0 || x->dur[behind] > x->dur[ahead]) return 0;
    int less = b[behind] - a[behind], more = a[ahead] - b[ahead];
    if (less > more) return 0;
    return !(x->limit[r] < INFINITY) ||
           more * x->hold[ahead] <= less * x->hold[behind]; /* what a W adds is < 0 */
}

static int is_as_far(const wf_layer *l, const unsigned char *a, const unsigned char *b)
{
    if (!same_stages(l, a, b)) return 0;
    for (int r = 0; r < l->x->p; r++)
        if (!rank_is_as_far(l->x, r, a, b)) return 0;
    return 1;
}

/* Is a new one needless? Drops those which it makes so. Its sums tell most of them apart;
 * rounding makes them no more than a hint, hence the slack. */
static int settle(wf_layer *l, const wf_entry *new, const unsigned char *count, int n)
{
    double slack = 1e-9 * (fabs(new->sum) + new->left);
    int *at = &l->bucket[new->hash % BUCKETS];
    for (int looked = 0; *at != NOBODY && looked < MOST_COMPARED;) {
        wf_entry *e = &l->entry[*at];
        const double *time = l->time + e->time;
        int *next = &e->next;
        if (e->hash != new->hash) {
            at = next;
            continue;
        }
        looked++;
        if (e->sum <= new->sum + slack &&
            e->left <= new->left + slack &&no_later(time, l->scratch, n) &&
            is_as_far(l, count_of(l, e), count))
            return 1;
        if (new->sum <= e->sum + slack &&new->left <= e->left + slack &&
            no_later(l->scratch, time, n) && is_as_far(l, count, count_of(l, e)))
            e->is_dropped = 1;
        if (e->is_dropped)
            *at = *next;
        else
            at = next;
    }
    return 0;
}

/* ---- putting one in ------------------------------------------------------------- */

static wf_entry describe(const wf_layer *l, const wf_partial *a, int n)
{
    const wf_problem *x = l->x;
    wf_entry e = {.time = l->n_times, .count = l->n_counts};
    uint64_t hash = 14695981039346656037u;
    for (int lane = 0; lane < lanes(l); lane++)
        if (lane % WF_LANES == WF_LANE_W)
            e.left += (x->m - a->count[lane]) * x->dur[lane];
        else
            hash = (hash ^ a->count[lane]) * 1099511628211u;
    e.hash = (uint32_t)(hash >> 20);
    for (int i = 0; i < n; i++)
        e.sum += l->scratch[i];
    e.late = e.left;
    for (int r = 0; r < x->p; r++)
        e.late += a->free[r];
    return e;
}

static void link(wf_layer *l, int i)
{
    int *first = &l->bucket[l->entry[i].hash % BUCKETS];
    l->entry[i].next = *first;
    *first = i;
}

weft_status wf_layer_put(wf_layer *l, const wf_partial *a, double bound, int step)
{
    int n = wf_partial_times(a, l->scratch);
    wf_entry new = describe(l, a, n);
    if (settle(l, &new, a->count, n)) return WEFT_OK;
    new.bound = bound;
    new.step = step;
    WF_TRY(wf_grow(&l->entry, &l->entries, l->n + 1, sizeof *l->entry));
    WF_TRY(wf_grow(&l->count, &l->counts, (l->n_counts + 1) * (int64_t)lanes(l), 1));
    WF_TRY(wf_grow(&l->time, &l->times, l->n_times + n, sizeof *l->time));
    memcpy(l->count + (int64_t) new.count *lanes(l), a->count, (size_t)lanes(l));
    memcpy(l->time + new.time, l->scratch, (size_t)n * sizeof *l->time);
    l->entry[l->n] = new;
    link(l, l->n++);
    l->n_counts++;
    l->n_times += n;
    return WEFT_OK;
}

/* ---- the best ones -------------------------------------------------------------- */

static int by_bound(const void *a, const void *b)
{
    const wf_entry *x = a, *y = b;
    if (x->bound != y->bound) return x->bound < y->bound ? -1 : 1;
    if (x->late != y->late) return x->late < y->late ? -1 : 1;
    return x->step - y->step;
}

/* Their counts and times stay where they are. */
int wf_layer_cut(wf_layer *l, int width)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        if (!l->entry[i].is_dropped) l->entry[n++] = l->entry[i];
    if (n > width) qsort(l->entry, (size_t)n, sizeof *l->entry, by_bound);
    l->n = n < width ? n : width;
    for (int i = 0; i < BUCKETS; i++)
        l->bucket[i] = NOBODY;
    for (int i = 0; i < l->n; i++)
        link(l, i);
    return n - l->n;
}
