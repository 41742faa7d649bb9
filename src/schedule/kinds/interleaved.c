/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved 1F1B: a rank holds v chunks, stages rank, p + rank, 2p + rank, ...
 *
 *     p = 2, m = 4, v = 2, tf = tb = 1   (chunk 0: 0123, backward abcd; chunk 1: 4567, efgh)
 *
 *     0 1 4 5 . e 2 f 3 a 6 b 7 g . h c d
 *     . 0 1 4 e 5 f 2 a 3 b 6 g 7 h c d .
 *
 * Micro-batches go in groups of N: for each group, for each chunk, for each micro-batch of
 * the group; backwards the same with the chunks in reverse. Rank r starts with
 * (v-1)N + 2(p-1-r) forwards, then one forward, one backward in turn, then the rest.
 *
 * makespan (v*max(m,p) + min(m,p) - 1)(tf + tb)/v when no group is shorter than p (or
 * there is one); peak min(mv, (v-1)N + 2(p-1-r) + 1) chunk activations.
 * A shorter group makes rank 0 wait for its own first chunk's way round the ring, and
 * often for a value that it would make only after that wait: a deadlock.
 */
#include "schedule/kind.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "schedule/ir.h"

extern const weft_schedule_kind wf_kind_interleaved;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Default group size, 0 when m has none: p where it divides m, else m in as many equal
 * groups as hold p. */
static int64_t default_group(int64_t p, int64_t m)
{
    int64_t groups = m / p > 1 ? m / p : 1;
    return m % p == 0 ? p : m % groups == 0 ? m / groups : 0;
}

static int group_fits(int64_t p, int64_t m, int64_t n)
{
    int64_t rest = m % n;
    return (n >= p || n == m) && (rest == 0 || rest >= p);
}

static weft_status set_default_group(weft_schedule *q)
{
    int64_t group = default_group(q->p, q->m), below = q->m, above = q->m;
    if (group) {
        q->group = (int)group;
        return WEFT_OK;
    }
    while (!default_group(q->p, --below))
        ;
    while (!default_group(q->p, ++above))
        ;
    return WF_FAIL(
        WEFT_E_INVALID,
        "-m %d with -p %d: %d micro-batches do not split into %d equal groups "
        "of at least %d; nearest -m are %lld and %lld",
        q->m, q->p, q->m, q->m / q->p, q->p, (long long)below, (long long)above);
}

/* What a group that does not fit would cost: its makespan in chunk ops of 1 and 2, NaN
 * for a deadlock whose words are then the last message. */
static weft_status try_group(const weft_schedule *q, double *units)
{
    weft_schedule s;
    weft_eval e;
    double *dur = NULL;
    WF_TRY(wf_schedule_generate(&wf_kind_interleaved, q, &s));
    int64_t n = (int64_t)q->p * q->v;
    weft_status st = WF_ALLOC(n * WEFT_OP_N_COMPUTE, &dur);
    if (st == WEFT_OK) {
        for (int64_t i = 0; i < n; i++) {
            dur[i * WEFT_OP_N_COMPUTE + WEFT_OP_F] = 1;
            dur[i * WEFT_OP_N_COMPUTE + WEFT_OP_B] = 2;
        }
        st = weft_schedule_eval(&s, &(weft_costs){.dur = dur}, NULL, NULL, &e);
    }
    wf_free(dur);
    weft_schedule_clear(&s);
    if (st == WEFT_E_INFEASIBLE) {
        *units = NAN;
        return WEFT_OK;
    }
    if (st == WEFT_OK) {
        *units = e.makespan;
        weft_eval_clear(&e);
    }
    return st;
}

static double makespan(const weft_schedule *q, double tf, double tb)
{
    double longer = q->m > q->p ? q->m : q->p, shorter = q->m > q->p ? q->p : q->m;
    return (q->v * longer + shorter - 1) * (tf + tb) / q->v;
}

/* Legal group sizes nearest to n, and why n is not one of them. */
static weft_status refuse_group(const weft_schedule *q)
{
    int64_t n = q->group, below = n, above = n;
    while (--below >= 1 && !group_fits(q->p, q->m, below))
        ;
    while (!group_fits(q->p, q->m, ++above))
        ;
    char near[64]; /* the group of all m fits, so there is one above */
    if (below >= 1)
        snprintf(near, sizeof near, "nearest are %lld and %lld", (long long)below,
                 (long long)above);
    else
        snprintf(near, sizeof near, "nearest is %lld", (long long)above);

    char why[96];
    if (n < q->p)
        snprintf(why, sizeof why, "a group of %lld is smaller than -p %d", (long long)n,
                 q->p);
    else
        snprintf(why, sizeof why,
                 "-m %d leaves a last group of %lld, smaller than -p %d", q->m,
                 (long long)(q->m % n), q->p);

    enum { TRY_OPS = 1 << 22 }; /* an error message may cost this much */
    double units;
    if (2 * (int64_t)q->p * q->m * q->v > TRY_OPS)
        return WF_FAIL(WEFT_E_INVALID,
                       "--group %lld: %s, which is slow or a deadlock; %s",
                       (long long)n, why, near);
    WF_TRY(try_group(q, &units));
    if (isnan(units))
        return WF_FAIL(WEFT_E_INVALID, "--group %lld: %s, which ends in a %s; %s",
                       (long long)n, why, weft_status_message(), near);
    return WF_FAIL(
        WEFT_E_INVALID,
        "--group %lld: %s, which is slow: %g instead of %g (chunk ops of 1 and "
        "2); %s",
        (long long)n, why, units, makespan(q, q->v, 2 * q->v), near);
}

static weft_status applicable(weft_schedule *q)
{
    q->placement = WEFT_PLACE_LOOP;
    if (q->v < 2)
        return WF_FAIL(
            WEFT_E_INVALID,
            "-v %d: interleaving needs at least 2 chunks per rank; 1f1b is the "
            "case of 1",
            q->v);
    if (!q->group) return set_default_group(q);
    return group_fits(q->p, q->m, q->group) ? WEFT_OK : refuse_group(q);
}

static int64_t count(const weft_schedule *q, int rank)
{
    return 2 * (int64_t)q->m * q->v;
}

static int64_t warm_up(const weft_schedule *q, int rank)
{
    int64_t w = (int64_t)(q->v - 1) * q->group + 2 * (int64_t)(q->p - 1 - rank);
    return least((int64_t)q->m * q->v, w);
}

static weft_op *put_f(weft_op *o, wf_rows *f)
{
    o = wf_put(o, WEFT_OP_F, wf_rows_micro(f), f->chunk);
    wf_rows_next(f);
    return o;
}

static weft_op *put_b(weft_op *o, wf_rows *b)
{
    o = wf_put(o, WEFT_OP_B, wf_rows_micro(b), b->v - 1 - b->chunk);
    wf_rows_next(b);
    return o;
}

static weft_status generate(const weft_schedule *s)
{
    int64_t all = (int64_t)s->m * s->v;
    for (int r = 0; r < s->p; r++) {
        weft_op *o = &s->op[s->first[r]];
        wf_rows f = wf_rows_start(s, s->group), b = f;
        int64_t w = warm_up(s, r);
        for (int64_t k = 0; k < w; k++)
            o = put_f(o, &f);
        for (int64_t k = w; k < all; k++)
            o = put_b(put_f(o, &f), &b);
        for (int64_t k = 0; k < w; k++)
            o = put_b(o, &b);
    }
    return WEFT_OK;
}

static int64_t peak(const weft_schedule *q, int rank)
{
    return least((int64_t)q->m * q->v, warm_up(q, rank) + 1);
}

const weft_schedule_kind wf_kind_interleaved = {
    .name = "interleaved",
    .summary =
        "1f1b over v chunks per rank: bubble time divided by v, v times the messages",
    .source = "Narayanan et al. 2021, Efficient Large-Scale LM Training, section 2.2.2",
    .takes_group = 1,
    .applicable = applicable,
    .count = count,
    .generate = generate,
    .peak = peak,
    .makespan = makespan,
};
