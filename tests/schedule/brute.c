/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All lists of F, I and W of each of two ranks that have an op after the op of the same
 * chunk and micro-batch which it needs, and a forward of a chunk before those of the later
 * chunks of its rank, and that keep the limit; then the time of every pair of lists, by
 * sweeps until nothing changes.
 */
#include "brute.h"
#include "problems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 24, MOST_LISTS = 1 << 20 };

typedef struct lists {
    const weft_schedule *q;
    const weft_schedule_options *o;
    int rank, n_ops;
    unsigned char done[MOST_OPS]; /* of a (chunk, micro): F, then I, then W */
    unsigned char list[MOST_OPS]; /* (chunk*m + micro)*3 + part             */
    unsigned char *all;           /* [n][n_ops] */
    int64_t n;
} lists;

static double holds(const lists *l, int op)
{
    const weft_schedule_options *o = l->o;
    int stage = weft_schedule_stage(l->q, l->rank, op / 3 / l->q->m);
    double half = o->stage_free_i || o->stage_free_w ? 0 : 0.5 / l->q->v;
    double i = o->stage_free_i ? o->stage_free_i[stage] : half;
    double w = o->stage_free_w ? o->stage_free_w[stage] : half;
    return op % 3 == 0 ? i + w : op % 3 == 1 ? -i : -w;
}

/* Is it after what the same rank does before it? */
static int can_be_next(const lists *l, int chunk, int micro)
{
    int m = l->q->m, part = l->done[chunk * m + micro];
    if (part == 3) return 0;
    if (part == 0) return !chunk || l->done[(chunk - 1) * m + micro] > 0;
    return part != 1 || chunk == l->q->v - 1 || l->done[(chunk + 1) * m + micro] > 1;
}

static void extend(lists *l, int n, double held)
{
    double limit = l->o->rank_limit ? l->o->rank_limit[l->rank] : l->o->mem_limit;
    if (l->n == MOST_LISTS || (limit > 0 && held > limit * (1 + 1e-9))) return;
    if (n == l->n_ops) {
        memcpy(l->all + l->n++ * l->n_ops, l->list, (size_t)n);
        return;
    }
    for (int k = 0; k < l->q->m * l->q->v; k++) {
        if (!can_be_next(l, k / l->q->m, k % l->q->m)) continue;
        int op = k * 3 + l->done[k]++;
        l->list[n] = (unsigned char)op;
        extend(l, n + 1, held + holds(l, op));
        l->done[k]--;
    }
}

/* Rank and op whose result an op takes; 0: none. */
static int input_of(const weft_schedule *q, int rank, int op, int *in_rank, int *in_op)
{
    int chunk = op / 3 / q->m, micro = op / 3 % q->m, part = op % 3;
    int stage = weft_schedule_stage(q, rank, chunk), last = weft_schedule_stages(q) - 1;
    int from = part == 0 ? stage - 1 : part == 1 && stage < last ? stage + 1 : stage;
    int from_part = part == 0 ? 0 : part == 1 && stage < last ? 1 : part - 1;
    if (from < 0) return 0;
    weft_schedule_holder(q, from, micro, in_rank, &chunk);
    *in_op = (chunk * q->m + micro) * 3 + from_part;
    return 1;
}

typedef struct link {
    int rank, op; /* -1: none */
    double dur, delay;
} link;

static double time_of_pair(int n, const unsigned char *const list[2],
                           link in[2][MOST_OPS])
{
    double end[2][MOST_OPS], free[2] = {0};
    int at[2] = {0}, moved = 1;
    for (int k = 0; k < 2 * MOST_OPS; k++)
        end[k / MOST_OPS][k % MOST_OPS] = INFINITY;
    while (moved) {
        moved = 0;
        for (int r = 0; r < 2; r++)
            while (at[r] < n) {
                int op = list[r][at[r]];
                const link *l = &in[r][op];
                double t = l->rank < 0 ? 0 : end[l->rank][l->op] + l->delay;
                if (!(t < INFINITY)) break;
                free[r] = end[r][op] = fmax(t, free[r]) + l->dur;
                at[r]++;
                moved = 1;
            }
    }
    return at[0] == n && at[1] == n ? fmax(free[0], free[1]) : INFINITY;
}

double brute_optimum(const weft_schedule *q, const weft_schedule_options *o,
                     int64_t most_pairs)
{
    lists l[2];
    link in[2][MOST_OPS];
    int n = 3 * q->m * q->v;
    double best = NAN;
    if (q->p != 2 || n > MOST_OPS) return NAN;
    for (int r = 0; r < 2; r++) {
        l[r] = (lists){.q = q, .o = o, .rank = r, .n_ops = n};
        l[r].all = malloc((size_t)MOST_LISTS * (size_t)n);
        if (!l[r].all) abort();
        extend(&l[r], 0, 0);
        for (int op = 0; op < n; op++) {
            int stage = weft_schedule_stage(q, r, op / 3 / q->m);
            const double *dur[] = {o->stage_f, o->stage_i, o->stage_w};
            link *k = &in[r][op];
            *k = (link){-1, -1, dur[op % 3][stage], 0};
            if (input_of(q, r, op, &k->rank, &k->op) && k->rank != r)
                k->delay = delay_of(o, k->rank, r);
        }
    }
    int is_all = l[0].n < MOST_LISTS && l[1].n < MOST_LISTS;
    if (is_all && l[0].n * l[1].n <= most_pairs) {
        best = INFINITY;
        for (int64_t a = 0; a < l[0].n; a++)
            for (int64_t b = 0; b < l[1].n; b++) {
                const unsigned char *pair[] = {l[0].all + a * n, l[1].all + b * n};
                best = fmin(best, time_of_pair(n, pair, in));
            }
    }
    free(l[0].all);
    free(l[1].all);
    return best;
}
