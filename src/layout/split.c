/* SPDX-License-Identifier: Apache-2.0 */
/* The best contiguous split of layers into stages, over suffixes: what stages s .. p-1
 * make of layers i .. L-1 depends on nothing before them. Once for the smallest possible
 * largest cost, once more below that for the least sum of squares, which spreads the rest
 * evenly too. Costs are integers and squares are summed in 128 bits, so ties are ties. */
#include <weft/layout.h>

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"

/* Sums from the left: layers i .. j-1 cost cost[j] - cost[i]. */
typedef struct sums {
    const weft_stage_problem *q;
    int64_t *cost, *fixed, *live; /* [n_layers + 1] */
} sums;

static int64_t ends(const weft_stage_problem *q, int s, int64_t embed, int64_t head)
{
    return (s == 0 ? embed : 0) + (s == q->n_stages - 1 ? head : 0);
}

static int64_t cost_of(const sums *x, int s, int64_t i, int64_t j)
{
    return x->cost[j] - x->cost[i] + ends(x->q, s, x->q->embed_cost, x->q->head_cost);
}

static int64_t bytes_of(const sums *x, int s, int64_t i, int64_t j)
{
    const weft_stage_problem *q = x->q;
    int64_t flight = q->in_flight ? q->in_flight[s] : 1;
    return x->fixed[j] - x->fixed[i] + flight * (x->live[j] - x->live[i]) +
           ends(q, s, q->embed_bytes, q->head_bytes);
}

static int fits(const sums *x, int s, int64_t i, int64_t j)
{
    return !x->q->limit_bytes || bytes_of(x, s, i, j) <= x->q->limit_bytes;
}

/* ---- what is asked --------------------------------------------------------------- */

static int64_t least_layers(const weft_stage_problem *q, int s)
{
    return q->empty_ends && (s == 0 || s == q->n_stages - 1) ? 0 : 1;
}

static weft_status check_counts(const weft_stage_problem *q)
{
    if (q->n_layers < 1 || q->n_layers > WEFT_BALANCE_MAX_LAYERS || q->n_stages < 1 ||
        q->n_stages > WEFT_BALANCE_MAX_STAGES)
        return WF_FAIL(
            WEFT_E_INVALID,
            "%lld layers in %d stages: 1 .. %d layers and 1 .. %d stages are "
            "balanced",
            (long long)q->n_layers, q->n_stages, WEFT_BALANCE_MAX_LAYERS,
            WEFT_BALANCE_MAX_STAGES);
    int64_t most = q->n_layers + (q->empty_ends ? 2 : 0);
    if (q->n_stages > most)
        return WF_FAIL(WEFT_E_INVALID,
                       "%lld layers make at most %lld stages%s, %d are asked",
                       (long long)q->n_layers, (long long)most,
                       q->empty_ends ? " with both ends empty" : "", q->n_stages);
    return WEFT_OK;
}

/* out[j] = sum of value[0 .. j-1]; a NULL value is all zeros. What the ends add must fit
 * as well. */
static weft_status sum_up(const int64_t *value, int64_t n, const char *what,
                          int64_t embed, int64_t head, int64_t *out)
{
    int64_t sum;

    if (embed < 0 || head < 0)
        return WF_FAIL(WEFT_E_INVALID, "a %s of the ends is negative", what);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = value ? value[i] : 0;
        if (x < 0)
            return WF_FAIL(WEFT_E_INVALID, "%s %lld of layer %lld is negative", what,
                           (long long)x, (long long)i);
        if (wf_add_i64(out[i], x, &out[i + 1]))
            return WF_FAIL(WEFT_E_INVALID, "the sum of every %s passes 64 bits", what);
    }
    if (wf_add_i64(out[n], embed, &sum) || wf_add_i64(sum, head, &sum))
        return WF_FAIL(WEFT_E_INVALID, "the sum of every %s passes 64 bits", what);
    return WEFT_OK;
}

static weft_status check_flight(const sums *x)
{
    const weft_stage_problem *q = x->q;
    int64_t whole, sum;

    for (int s = 0; q->in_flight && s < q->n_stages; s++) {
        if (q->in_flight[s] < 0)
            return WF_FAIL(WEFT_E_INVALID,
                           "%d micro-batches in flight on stage %d: at least 0",
                           q->in_flight[s], s);
        if (wf_mul_i64(q->in_flight[s], x->live[q->n_layers], &whole) ||
            wf_add_i64(whole, x->fixed[q->n_layers], &sum) ||
            wf_add_i64(sum, q->embed_bytes, &sum) ||
            wf_add_i64(sum, q->head_bytes, &sum))
            return WF_FAIL(WEFT_E_INVALID, "the bytes of stage %d pass 64 bits", s);
    }
    return WEFT_OK;
}

static weft_status prepare(const weft_stage_problem *q, sums *x)
{
    int64_t n = q->n_layers;

    x->q = q;
    WF_TRY(WF_ALLOC(n + 1, &x->cost));
    WF_TRY(WF_ALLOC(n + 1, &x->fixed));
    WF_TRY(WF_ALLOC(n + 1, &x->live));
    WF_TRY(sum_up(q->layer_cost, n, "cost", q->embed_cost, q->head_cost, x->cost));
    if (!q->limit_bytes) return WEFT_OK;
    WF_TRY(sum_up(q->layer_bytes, n, "memory need", q->embed_bytes, q->head_bytes,
                  x->fixed));
    WF_TRY(sum_up(q->live_bytes, n, "memory need", 0, 0, x->live));
    return check_flight(x);
}

/* ---- the smallest largest -------------------------------------------------------- */

typedef int64_t measure(const sums *x, int s, int64_t i, int64_t j);

/* Best of stage s that begins at layer i, the stages after it in next[]. A stage grows
 * with j, so the first one that is no better alone ends the walk. */
static int64_t best_from(const sums *x, measure *of, int limited, int s, int64_t i,
                         const int64_t *next)
{
    int64_t n = x->q->n_layers, best = INT64_MAX;
    int64_t from = s == x->q->n_stages - 1 ? n : i + least_layers(x->q, s);

    if (i + least_layers(x->q, s) > n) return best;
    for (int64_t j = from; j <= n; j++) {
        int64_t own = of(x, s, i, j);
        if (own >= best || (limited && !fits(x, s, i, j))) break;
        int64_t all = own > next[j] ? own : next[j];
        if (all < best) best = all;
    }
    return best;
}

/* INT64_MAX: no split fits. */
static weft_status smallest_largest(const sums *x, measure *of, int limited,
                                    int64_t *out)
{
    int64_t n = x->q->n_layers, *row = NULL;
    WF_TRY(WF_ALLOC(2 * (n + 1), &row));
    int64_t *next = row, *now = row + n + 1;

    for (int64_t i = 0; i < n; i++)
        next[i] = INT64_MAX; /* layers that no stage is left for; next[n] is 0 */
    for (int s = x->q->n_stages - 1; s >= 0; s--) {
        for (int64_t i = 0; i <= (s ? n : 0); i++)
            now[i] = best_from(x, of, limited, s, i, next);
        int64_t *t = next;
        next = now;
        now = t;
    }
    *out = next[0];
    wf_free(row);
    return WEFT_OK;
}

/* ---- the least sum of squares ---------------------------------------------------- */

typedef struct wide {
    uint64_t hi, lo;
} wide;

static const wide none = {UINT64_MAX, UINT64_MAX};

static int less_or_equal(wide a, wide b)
{
    return a.hi < b.hi || (a.hi == b.hi && a.lo <= b.lo);
}

/* x*x + y; the sum of all squares is at most the square of the sum, below 2^126. */
static wide plus_square(wide y, int64_t x)
{
    uint64_t a = (uint64_t)x >> 32, b = (uint64_t)x & UINT32_MAX;
    uint64_t cross = a * b, low = b * b, add = cross << 33; /* 2ab * 2^32 */
    wide r = {a * a + (cross >> 31), low + add};

    r.hi += r.lo < low;
    r.lo += y.lo;
    r.hi += y.hi + (r.lo < y.lo);
    return r;
}

/* The largest of the best ends, so that early stages take the layer where all is equal. */
static wide squares_from(const sums *x, int64_t most, int s, int64_t i,
                         const wide *next, int32_t *end)
{
    int64_t n = x->q->n_layers;
    int64_t from = s == x->q->n_stages - 1 ? n : i + least_layers(x->q, s);
    wide best = none;

    if (i + least_layers(x->q, s) > n) return best;
    for (int64_t j = from; j <= n; j++) {
        int64_t own = cost_of(x, s, i, j);
        if (own > most || !fits(x, s, i, j)) break;
        if (next[j].hi == UINT64_MAX) continue;
        wide all = plus_square(next[j], own);
        if (!less_or_equal(all, best)) continue;
        best = all;
        *end = (int32_t)j;
    }
    return best;
}

/* end[s * (n + 1) + i]: where stage s ends that begins at layer i. */
static void least_squares(const sums *x, int64_t most, wide *row, int32_t *end)
{
    int64_t n = x->q->n_layers;
    wide *next = row, *now = row + n + 1;

    for (int64_t i = 0; i < n; i++)
        next[i] = none;
    for (int s = x->q->n_stages - 1; s >= 0; s--) {
        for (int64_t i = 0; i <= (s ? n : 0); i++)
            now[i] = squares_from(x, most, s, i, next, &end[s * (n + 1) + i]);
        wide *t = next;
        next = now;
        now = t;
    }
}

static weft_status spread(const sums *x, int64_t most, int64_t *count)
{
    int64_t n = x->q->n_layers, at = 0;
    int32_t *end = NULL;
    wide *row = NULL;

    weft_status st = WF_ALLOC(2 * (n + 1), &row);
    if (st == WEFT_OK) st = WF_ALLOC(x->q->n_stages * (n + 1), &end);
    if (st == WEFT_OK) {
        least_squares(x, most, row, end);
        for (int s = 0; s < x->q->n_stages; s++) {
            int64_t to = end[s * (n + 1) + at];
            count[s] = to - at;
            at = to;
        }
    }
    wf_free(row);
    wf_free(end);
    return st;
}

static weft_status too_little_memory(const sums *x)
{
    int64_t needed = 0;
    WF_TRY(smallest_largest(x, bytes_of, 0, &needed));
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "no split of %lld layers into %d stages keeps each within %lld "
                   "bytes; %lld are the least that do",
                   (long long)x->q->n_layers, x->q->n_stages,
                   (long long)x->q->limit_bytes, (long long)needed);
}

weft_status weft_stages_balance(const weft_stage_problem *q, int64_t *count)
{
    sums x = {0};
    int64_t most = 0;

    WF_TRY(check_counts(q));
    weft_status st = prepare(q, &x);
    if (st == WEFT_OK) st = smallest_largest(&x, cost_of, 1, &most);
    if (st == WEFT_OK && most == INT64_MAX) st = too_little_memory(&x);
    if (st == WEFT_OK) st = spread(&x, most, count);
    wf_free(x.cost);
    wf_free(x.fixed);
    wf_free(x.live);
    return st;
}
