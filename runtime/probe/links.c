/* SPDX-License-Identifier: Apache-2.0 */
/* Latency and bandwidth of each collective and of messages, on each tier of links, all
 * groups of the tier at once. */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "probe/probe_impl.h"

/* One short message for the latency, and long ones. What lies between goes through buffers of
 * sockets, and the bursts that a shaped link lets pass, at a speed that no long message
 * and no row of them keeps up. */
static const int64_t sizes[] = {1 << 10, 1 << 18, 1 << 19, 1 << 20, 1 << 22, 1 << 24};
enum { N_SIZES = sizeof sizes / sizeof *sizes, QUICK_SIZES = 4 };

/* The groups of one tier, and what is timed on them. */
typedef struct link_test {
    weft_group *group;
    int peer; /* the other end of this rank's messages, -1: none */
    weft_collective what;
    int64_t bytes; /* of the whole tensor */
} link_test;

static weft_status collective(wf_probe *p, void *ctx)
{
    link_test *x = ctx;
    int64_t k = weft_group_size(x->group), part = x->bytes / k / 8 * 8;
    void *a = wf_probe_operand(p, x->bytes), *b = wf_probe_operand(p, x->bytes);
    weft_event ev = {0};

    switch (x->what) {
    case WEFT_COLL_ALL_REDUCE:
        WF_TRY(weft_all_reduce(x->group, WEFT_FOR_CONTROL, a, x->bytes / 4, WEFT_F32,
                               WEFT_MAX, &ev));
        break;
    case WEFT_COLL_ALL_GATHER:
        WF_TRY(weft_all_gather(x->group, WEFT_FOR_CONTROL, a, part, b, &ev));
        break;
    case WEFT_COLL_REDUCE_SCATTER:
        WF_TRY(weft_reduce_scatter(x->group, WEFT_FOR_CONTROL, a, part / 4, WEFT_F32, b,
                                   &ev));
        break;
    default: WF_TRY(weft_all_to_all(x->group, WEFT_FOR_CONTROL, a, part, b, &ev));
    }
    return weft_wait(p->comm, &ev);
}

static weft_status send_block(wf_probe *p, const link_test *x, void *block,
                              weft_event *ev)
{
    return weft_send_block(p->comm, WEFT_FOR_CONTROL, x->peer, 0, p->arena, block,
                           x->bytes, ev);
}

static weft_status recv_block(wf_probe *p, const link_test *x, void **block)
{
    weft_event ev = {0};
    WF_TRY(weft_recv_block(p->comm, WEFT_FOR_CONTROL, x->peer, 0, p->arena, WEFT_TEMP,
                           x->bytes, &ev));
    WF_TRY(weft_wait(p->comm, &ev));
    *block = ev.block;
    return WEFT_OK;
}

/* There and back, as a pipeline sends: blocks that change hands. */
static weft_status bounce(wf_probe *p, void *ctx)
{
    const link_test *x = ctx;
    weft_event sent = {0};
    void *block;

    if (x->peer < 0) return WEFT_OK;
    if (weft_comm_rank(p->comm) > x->peer) {
        WF_TRY(recv_block(p, x, &block));
        WF_TRY(send_block(p, x, block, &sent));
        return weft_wait(p->comm, &sent);
    }
    WF_TRY(weft_arena_take(p->arena, WEFT_TEMP, x->bytes, &block));
    WF_TRY(send_block(p, x, block, &sent));
    WF_TRY(recv_block(p, x, &block));
    weft_arena_give(p->arena, block);
    return weft_wait(p->comm, &sent);
}

/* Steps and bytes as weft_machine_collective_s() counts them. */
static weft_timing timing_of(const link_test *x, int k, double seconds)
{
    double ring = k - 1, tree = k > 2 ? 2 * ceil(log2(k)) : ring;
    double passes = x->what == WEFT_COLL_ALL_REDUCE ? 2 : 1;

    if (x->what == WEFT_COLL_P2P)
        return (weft_timing){1, (double)x->bytes, seconds / 2};
    return (weft_timing){passes * fmin(ring, tree),
                         passes * ring / k * (double)x->bytes, seconds};
}

static weft_status measure(wf_probe *p, link_test *x, int k, weft_alpha_beta *out)
{
    weft_timing t[N_SIZES];
    int n = p->o->quick ? QUICK_SIZES : N_SIZES;

    for (int i = 0; i < n; i++) {
        double s;
        x->bytes = sizes[i];
        WF_TRY(wf_probe_time_together(p, x->what == WEFT_COLL_P2P ? bounce : collective,
                                      x, &s));
        t[i] = timing_of(x, k, s);
        p->report->messages++;
    }
    weft_alpha_beta fit = {.alpha_s = t[0].seconds / t[0].steps};
    WF_TRY(weft_fit_bandwidth(n - 1, t + 1, fit.alpha_s, &fit.bytes_per_s));
    *out = fit;
    return WEFT_OK;
}

/* Ranks `stride` apart, `size` of them, are a group. */
static weft_status open_groups(wf_probe *p, int stride, int size, link_test *x)
{
    int me = weft_comm_rank(p->comm), at = me / stride % size, first = me - at * stride;
    int *ranks = NULL;

    *x = (link_test){.peer =
                         at == size - 1 && size % 2 ? -1 : first + (at ^ 1) * stride};
    WF_TRY(WF_ALLOC(size, &ranks));
    for (int i = 0; i < size; i++)
        ranks[i] = first + i * stride;
    weft_status st = weft_group_create(p->comm, size, ranks, "tier", &x->group);
    wf_free(ranks);
    return st;
}

static weft_status measure_tier(wf_probe *p, int stride, int size, weft_tier *tier)
{
    link_test x;

    WF_TRY(open_groups(p, stride, size, &x));
    weft_status st = WEFT_OK;
    for (int c = 0; c < WEFT_N_COLLS && st == WEFT_OK; c++) {
        x.what = (weft_collective)c;
        st = measure(p, &x, size, &tier->measured[c]);
    }
    weft_group_destroy(x.group);
    tier->switched = 1;
    tier->efficiency = 1;
    tier->alpha_s = tier->measured[WEFT_COLL_P2P].alpha_s;
    tier->bytes_per_s = tier->measured[WEFT_COLL_ALL_REDUCE].bytes_per_s;
    return st;
}

weft_status wf_probe_links(wf_probe *p)
{
    weft_machine *m = p->m;
    int per = m->ranks_per_node, inside = per > 1, outside = m->nodes > 1;
    weft_tier *t = m->tier;

    m->n_tiers = inside + outside ? inside + outside : 1;
    if (!inside && !outside) { /* no link: what a rank copies within itself */
        snprintf(t->name, sizeof t->name, "one rank");
        t->bytes_per_s = m->memory_bytes_per_s;
    }
    if (inside) {
        snprintf(t->name, sizeof t->name, "%s, one host", weft_comm_name(p->comm));
        t->ranks = outside ? per : 0;
        WF_TRY(measure_tier(p, 1, per, t++));
    }
    if (outside) {
        snprintf(t->name, sizeof t->name, "%s, between hosts", weft_comm_name(p->comm));
        WF_TRY(measure_tier(p, per, m->nodes, t));
    }
    return WEFT_OK;
}
