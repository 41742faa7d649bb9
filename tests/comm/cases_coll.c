/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cases.h"

/* What rank r holds at i: small integers, so that sums are exact in both types. */
static double held(int r, int64_t i)
{
    return (double)((r * 31 + i * 7) % 97 - 40);
}

static double expected(int n, int64_t i, weft_reduce op)
{
    double v = held(0, i);
    for (int r = 1; r < n; r++)
        v = op == WEFT_SUM ? v + held(r, i) : fmax(v, held(r, i));
    return v;
}

static void put(void *buf, weft_dtype t, int64_t i, double v)
{
    if (t == WEFT_F64)
        ((double *)buf)[i] = v;
    else
        ((float *)buf)[i] = (float)v;
}

static double get(const void *buf, weft_dtype t, int64_t i)
{
    return t == WEFT_F64 ? ((const double *)buf)[i] : (double)((const float *)buf)[i];
}

static weft_status reduce_once(weft_comm *c, weft_group *g, void *buf, int64_t n,
                               weft_dtype t, weft_reduce op)
{
    weft_event ev;
    for (int64_t i = 0; i < n; i++)
        put(buf, t, i, held(weft_comm_rank(c), i));
    WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, buf, n, t, op, &ev));
    WF_TRY(weft_wait(c, &ev));
    for (int64_t i = 0; i < n; i++)
        CLAIM(get(buf, t, i) == expected(weft_comm_size(c), i, op),
              "element %lld of %lld is %g", (long long)i, (long long)n, get(buf, t, i));
    return WEFT_OK;
}

weft_status case_all_reduce(weft_comm *c, void *ctx)
{
    static const int64_t sizes[] = {0, 1, 3, 511, 512, 513, 16384, 16385, 100003};
    weft_group *g;
    void *buf = malloc(100003 * sizeof(double));
    weft_status st = WEFT_OK;
    (void)ctx;

    WF_TRY(everyone(c, "dp", &g));
    for (int k = 0; k < 9 && !st; k++)
        for (int v = 0; v < 4 && !st; v++)
            st = reduce_once(c, g, buf, sizes[k], v & 1 ? WEFT_F32 : WEFT_F64,
                             v & 2 ? WEFT_MAX : WEFT_SUM);
    free(buf);
    weft_group_destroy(g);
    return st;
}

static unsigned char at(int rank, int part, int64_t i)
{
    return (unsigned char)(rank * 53 + part * 17 + i * 3);
}

static void fill(unsigned char *p, int rank, int parts, int64_t bytes)
{
    for (int k = 0; k < parts; k++)
        for (int64_t i = 0; i < bytes; i++)
            p[k * bytes + i] = at(rank, k, i);
}

static weft_status same(const unsigned char *p, int rank, int part, int64_t bytes,
                        const char *what)
{
    for (int64_t i = 0; i < bytes; i++)
        CLAIM(p[i] == at(rank, part, i), "%s: byte %lld of %lld is wrong", what,
              (long long)i, (long long)bytes);
    return WEFT_OK;
}

static weft_status broadcasts(weft_comm *c, weft_group *g, unsigned char *buf,
                              int64_t bytes)
{
    for (int root = 0; root < weft_comm_size(c); root++) {
        weft_event ev;
        fill(buf, weft_comm_rank(c), 1, bytes);
        WF_TRY(weft_broadcast(g, WEFT_FOR_LOSS, buf, bytes, root, &ev));
        WF_TRY(weft_wait(c, &ev));
        WF_TRY(same(buf, root, 0, bytes, "broadcast"));
    }
    return WEFT_OK;
}

static weft_status gather(weft_comm *c, weft_group *g, unsigned char *in,
                          unsigned char *out, int64_t bytes)
{
    weft_event ev;
    fill(in, weft_comm_rank(c), 1, bytes);
    WF_TRY(weft_all_gather(g, WEFT_FOR_CONTROL, in, bytes, out, &ev));
    WF_TRY(weft_wait(c, &ev));
    for (int r = 0; r < weft_comm_size(c); r++)
        WF_TRY(same(out + r * bytes, r, 0, bytes, "all-gather"));
    return WEFT_OK;
}

static weft_status exchange(weft_comm *c, weft_group *g, unsigned char *in,
                            unsigned char *out, int64_t bytes)
{
    weft_event ev;
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    fill(in, me, n, bytes);
    WF_TRY(weft_all_to_all(g, WEFT_FOR_CONTROL, in, bytes, out, &ev));
    WF_TRY(weft_wait(c, &ev));
    for (int r = 0; r < n; r++)
        WF_TRY(same(out + r * bytes, r, me, bytes, "all-to-all"));
    return WEFT_OK;
}

static weft_status scatter(weft_comm *c, weft_group *g, void *in, void *out,
                           int64_t count, weft_dtype t)
{
    weft_event ev;
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    for (int64_t i = 0; i < n * count; i++)
        put(in, t, i, held(me, i));
    WF_TRY(weft_reduce_scatter(g, WEFT_FOR_DP_GRAD, in, count, t, out, &ev));
    WF_TRY(weft_wait(c, &ev));
    for (int64_t i = 0; i < count; i++)
        CLAIM(get(out, t, i) == expected(n, me * count + i, WEFT_SUM),
              "reduce-scatter: element %lld of %lld", (long long)i, (long long)count);
    return WEFT_OK;
}

static weft_status all_moves(weft_comm *c, weft_group *g, void *in, void *out)
{
    static const int64_t sizes[] = {0, 1, 1000, 65536, 65537, 200001};
    for (int k = 0; k < 6; k++) {
        WF_TRY(broadcasts(c, g, out, sizes[k]));
        WF_TRY(gather(c, g, in, out, sizes[k]));
        WF_TRY(exchange(c, g, in, out, sizes[k]));
        WF_TRY(scatter(c, g, in, out, sizes[k] / 8, WEFT_F64));
        WF_TRY(scatter(c, g, in, out, sizes[k] / 8, WEFT_F32));
        WF_TRY(weft_barrier(g));
    }
    return WEFT_OK;
}

weft_status case_moves(weft_comm *c, void *ctx)
{
    size_t room = (size_t)weft_comm_size(c) * 200008;
    void *in = malloc(room), *out = malloc(room);
    weft_group *g;
    (void)ctx;

    WF_TRY(everyone(c, "tp", &g));
    weft_status st = all_moves(c, g, in, out);
    free(in);
    free(out);
    weft_group_destroy(g);
    return st;
}

/* ---- groups ------------------------------------------------------------------------ */

/* Rank numbers summed over the group; members are listed from the highest down. */
static weft_status sum_of_ranks(weft_comm *c, weft_group *g, int n, const int *ranks)
{
    double mine = weft_comm_rank(c), sum = 0;
    weft_event ev;
    int all[64];

    WF_TRY(weft_all_reduce(g, WEFT_FOR_G_MLP, &mine, 1, WEFT_F64, WEFT_SUM, &ev));
    WF_TRY(weft_wait(c, &ev));
    for (int i = 0; i < n; i++)
        sum += ranks[i];
    CLAIM(mine == sum, "the sum over the group is %g, not %g", mine, sum);
    int me = weft_comm_rank(c);
    WF_TRY(weft_all_gather(g, WEFT_FOR_CONTROL, &me, sizeof me, all, &ev));
    WF_TRY(weft_wait(c, &ev));
    CLAIM(!memcmp(all, ranks, (size_t)n * sizeof *ranks),
          "members are not gathered in group order");
    CLAIM(ranks[weft_group_rank(g)] == me, "rank %d is member %d", me,
          weft_group_rank(g));
    return WEFT_OK;
}

/* Ranks that agree with this one modulo k. */
static weft_status one_division(weft_comm *c, int k)
{
    int ranks[64], n = 0;
    weft_group *g;
    for (int r = weft_comm_size(c) - 1; r >= 0; r--)
        if (r % k == weft_comm_rank(c) % k) ranks[n++] = r;
    WF_TRY(weft_group_create(c, n, ranks, k & 1 ? "tp" : "tp,pp", &g));
    weft_status st = WEFT_OK;
    for (int times = 0; times < 20 && !st; times++)
        st = sum_of_ranks(c, g, n, ranks);
    weft_group_destroy(g);
    return st;
}

weft_status case_groups(weft_comm *c, void *ctx)
{
    (void)ctx;
    for (int times = 0; times < 3; times++)
        for (int k = 1; k <= weft_comm_size(c); k++)
            WF_TRY(one_division(c, k));
    return WEFT_OK;
}

/* ---- in flight --------------------------------------------------------------------- */

enum { BUCKETS = 6, ELEMENTS = 40000 };

static weft_status start_buckets(weft_comm *c, weft_group *g, float *buf,
                                 weft_event *ev)
{
    for (int b = 0; b < BUCKETS; b++) {
        for (int64_t i = 0; i < ELEMENTS; i++)
            buf[b * ELEMENTS + i] = (float)held(weft_comm_rank(c) + b, i);
        WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, buf + b * ELEMENTS, ELEMENTS,
                               WEFT_F32, WEFT_SUM, &ev[b]));
    }
    return WEFT_OK;
}

static weft_status ring(weft_comm *c, int times)
{
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    for (int k = 0; k < times; k++) {
        int64_t out = me * 1000 + k, in = -1;
        int left = (me + n - 1) % n;
        weft_event s, r;
        WF_TRY(weft_recv(c, WEFT_FOR_ACT, left, k, &in, sizeof in, &r));
        WF_TRY(weft_send(c, WEFT_FOR_ACT, (me + 1) % n, k, &out, sizeof out, &s));
        WF_TRY(weft_wait(c, &r));
        WF_TRY(weft_wait(c, &s));
        CLAIM(in == left * 1000 + k, "ring message %d is %lld", k, (long long)in);
    }
    return WEFT_OK;
}

static weft_status finish_bucket(weft_comm *c, float *buf, int b, weft_event *ev)
{
    int done = 0;
    for (int tries = 0; tries < 3 && !done; tries++)
        WF_TRY(weft_test(c, ev, &done));
    WF_TRY(weft_wait(c, ev));
    for (int64_t i = 0; i < ELEMENTS; i++) {
        double sum = 0;
        for (int r = 0; r < weft_comm_size(c); r++)
            sum += held(r + b, i);
        CLAIM(buf[b * ELEMENTS + i] == (float)sum, "bucket %d element %lld", b,
              (long long)i);
    }
    return WEFT_OK;
}

static weft_status flight(weft_comm *c, weft_group *g, float *buf)
{
    weft_event ev[BUCKETS];
    WF_TRY(start_buckets(c, g, buf, ev));
    WF_TRY(ring(c, 50));
    for (int b = BUCKETS - 1; b >= 0; b--) /* waits need not follow the starts */
        WF_TRY(finish_bucket(c, buf, b, &ev[b]));
    return WEFT_OK;
}

weft_status case_in_flight(weft_comm *c, void *ctx)
{
    float *buf = malloc(sizeof *buf * BUCKETS * ELEMENTS);
    weft_group *g;
    weft_status st = WEFT_OK;
    (void)ctx;
    WF_TRY(everyone(c, "dp", &g));
    for (int times = 0; times < 3 && !st; times++)
        st = flight(c, g, buf);
    free(buf);
    weft_group_destroy(g);
    return st;
}
