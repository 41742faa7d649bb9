/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comm/cases.h"

/* ---- soup: every rank draws the same list of messages ------------------------------- */

enum { SOUP = 400, MAX_BYTES = 5000, BIG_BYTES = 300000 };

typedef struct message {
    int src, dst, block, number;
    int64_t tag, bytes;
} message;

/* Tags of every kind: the smallest, any up to 62 bits, neighbours that differ in one high
 * bit, and now and then one that is in use. */
static int64_t draw_tag(dice *d, const message *before, int n)
{
    switch (roll(d, 4)) {
    case 0: return (int64_t)roll(d, 64);
    case 1: return (int64_t)(roll(d, 1u << 31) << 31 | roll(d, 1u << 31));
    case 2: return (int64_t)(5 + (roll(d, 8) << 15) + (roll(d, 8) << 40));
    default: return n ? before[roll(d, (uint64_t)n)].tag : 7;
    }
}

static void draw_soup(dice *d, int n_ranks, message *m)
{
    for (int i = 0; i < SOUP; i++) {
        m[i].number = i;
        m[i].src = (int)roll(d, (uint64_t)n_ranks);
        m[i].dst = (int)roll(d, (uint64_t)n_ranks);
        m[i].tag = draw_tag(d, m, i);
        m[i].bytes = (int64_t)roll(d, roll(d, 20) ? MAX_BYTES : BIG_BYTES);
        m[i].block = (int)roll(d, 2);
        /* Equal keys pair in order, so both ends must agree on the form. */
        for (int k = 0; k < i; k++)
            if (m[k].src == m[i].src && m[k].dst == m[i].dst && m[k].tag == m[i].tag) {
                m[i].block = m[k].block;
                m[i].bytes = m[k].bytes;
            }
    }
}

static unsigned char soup_byte(const message *m, int64_t i)
{
    return (unsigned char)(m->number * 101 + i * 13 + (i >> 8));
}

typedef struct bowl {
    weft_comm *c;
    weft_arena *arena;
    message m[SOUP];
    weft_event sent[SOUP], got[SOUP];
    unsigned char *out[SOUP], *in[SOUP];
} bowl;

static weft_status send_one(bowl *b, int i)
{
    const message *m = &b->m[i];
    void *p;
    WF_TRY(weft_arena_take(b->arena, WEFT_COMM, m->bytes, &p));
    for (int64_t k = 0; k < m->bytes; k++)
        ((unsigned char *)p)[k] = soup_byte(m, k);
    if (m->block)
        return weft_send_block(b->c, WEFT_FOR_ACT, m->dst, m->tag, b->arena, p,
                               m->bytes, &b->sent[i]);
    b->out[i] = p;
    return weft_send(b->c, WEFT_FOR_ACT, m->dst, m->tag, p, m->bytes, &b->sent[i]);
}

static weft_status recv_one(bowl *b, int i)
{
    const message *m = &b->m[i];
    void *p;
    if (m->block)
        return weft_recv_block(b->c, WEFT_FOR_ACT, m->src, m->tag, b->arena, WEFT_ACT,
                               m->bytes, &b->got[i]);
    WF_TRY(weft_arena_take(b->arena, WEFT_COMM, m->bytes, &p));
    b->in[i] = p;
    return weft_recv(b->c, WEFT_FOR_ACT, m->src, m->tag, p, m->bytes, &b->got[i]);
}

static weft_status check_one(bowl *b, int i)
{
    const message *m = &b->m[i];
    WF_TRY(weft_wait(b->c, &b->got[i]));
    unsigned char *p = m->block ? b->got[i].block : b->in[i];
    for (int64_t k = 0; k < m->bytes; k++)
        CLAIM(p[k] == soup_byte(m, k),
              "message %d (rank %d to %d, tag %lld): byte %lld of %lld", i, m->src,
              m->dst, (long long)m->tag, (long long)k, (long long)m->bytes);
    weft_arena_give(b->arena, p);
    return WEFT_OK;
}

static weft_status finish_send(bowl *b, int i)
{
    WF_TRY(weft_wait(b->c, &b->sent[i]));
    weft_arena_give(b->arena, b->out[i]);
    return WEFT_OK;
}

static int same_key(const message *a, const message *b)
{
    return a->src == b->src && a->dst == b->dst && a->tag == b->tag;
}

/* A random order of posting receives that keeps the order of equal keys. */
static void shuffle(dice *d, const message *m, int *order)
{
    for (int i = 0; i < SOUP; i++)
        order[i] = i;
    for (int i = SOUP - 1; i > 0; i--) {
        int j = (int)roll(d, (uint64_t)i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int i = 0; i < SOUP; i++)
        for (int j = i + 1; j < SOUP; j++)
            if (order[j] < order[i] && same_key(&m[order[i]], &m[order[j]])) {
                int t = order[i];
                order[i] = order[j];
                order[j] = t;
            }
}

static weft_status one_bowl(bowl *b, dice *shared, dice *own)
{
    int order[SOUP], me = weft_comm_rank(b->c);
    draw_soup(shared, weft_comm_size(b->c), b->m);
    shuffle(own, b->m, order);
    /* Sends in list order and receives in any order, randomly mixed. */
    for (int s = 0, r = 0; s < SOUP || r < SOUP;) {
        if (s < SOUP && (r == SOUP || roll(own, 2))) {
            if (b->m[s].src == me) WF_TRY(send_one(b, s));
            s++;
        } else {
            if (b->m[order[r]].dst == me) WF_TRY(recv_one(b, order[r]));
            r++;
        }
    }
    for (int k = 0; k < SOUP; k++)
        if (b->m[order[k]].dst == me) WF_TRY(check_one(b, order[k]));
    for (int k = 0; k < SOUP; k++)
        if (b->m[k].src == me) WF_TRY(finish_send(b, k));
    return WEFT_OK;
}

static weft_status soup_in(bowl *b, weft_group *all)
{
    dice own = {.s = 77u + (uint64_t)weft_comm_rank(b->c)};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        dice shared = {.s = seed};
        memset(b->out, 0, sizeof b->out);
        WF_TRY(one_bowl(b, &shared, &own));
        WF_TRY(weft_barrier(all)); /* senders' arenas live until all was taken */
        CLAIM(weft_arena_used(b->arena, WEFT_ACT) == 0 &&
                  weft_arena_used(b->arena, WEFT_COMM) == 0,
              "blocks are left: %lld and %lld bytes",
              (long long)weft_arena_used(b->arena, WEFT_ACT),
              (long long)weft_arena_used(b->arena, WEFT_COMM));
    }
    return WEFT_OK;
}

weft_status case_soup(weft_comm *c, void *ctx)
{
    bowl *b = calloc(1, sizeof *b);
    weft_group *all;
    (void)ctx;
    b->c = c;
    WF_TRY(everyone(c, "all", &all));
    WF_TRY(weft_arena_create(0, &b->arena));
    weft_status st = soup_in(b, all);
    if (st != WEFT_OK) weft_comm_abort(c, st, weft_status_message(), 0);
    weft_arena_destroy(b->arena);
    weft_group_destroy(all);
    free(b);
    return st;
}

/* ---- smaller claims ---------------------------------------------------------------- */

weft_status case_same_tag_in_order(weft_comm *c, void *ctx)
{
    enum { N = 100 };
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    int64_t tags[] = {3, (int64_t)1 << 50}, out[N], in[N];
    weft_event s[N], r[N];
    (void)ctx;

    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < N; i++) {
            out[i] = me * N + i;
            WF_TRY(
                weft_send(c, WEFT_FOR_ACT, (me + 1) % n, tags[t], &out[i], 8, &s[i]));
        }
        for (int i = 0; i < N; i++)
            WF_TRY(weft_recv(c, WEFT_FOR_ACT, (me + n - 1) % n, tags[t], &in[i], 8,
                             &r[i]));
        for (int i = N - 1; i >= 0; i--)
            WF_TRY(weft_wait(c, &r[i]));
        for (int i = 0; i < N; i++) {
            WF_TRY(weft_wait(c, &s[i]));
            CLAIM(in[i] == (me + n - 1) % n * N + i, "message %d is %lld", i,
                  (long long)in[i]);
        }
    }
    return WEFT_OK;
}

weft_status case_to_myself(weft_comm *c, void *ctx)
{
    int me = weft_comm_rank(c), out = 5, in = 0;
    weft_event s, r;
    (void)ctx;
    WF_TRY(weft_send(c, WEFT_FOR_ACT, me, 9, &out, sizeof out, &s));
    WF_TRY(weft_recv(c, WEFT_FOR_ACT, me, 9, &in, sizeof in, &r));
    WF_TRY(weft_wait(c, &s));
    WF_TRY(weft_wait(c, &r));
    CLAIM(in == 5, "%d came back", in);
    return WEFT_OK;
}

static weft_status pass_block(weft_comm *c, weft_arena *a)
{
    enum { BYTES = 1000 };
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    weft_event s, r;
    void *p;
    WF_TRY(weft_arena_take(a, WEFT_COMM, BYTES, &p));
    memset(p, me, BYTES);
    WF_TRY(weft_send_block(c, WEFT_FOR_ACT, (me + 1) % n, 1, a, p, BYTES, &s));
    WF_TRY(
        weft_recv_block(c, WEFT_FOR_ACT, (me + n - 1) % n, 1, a, WEFT_ACT, BYTES, &r));
    WF_TRY(weft_wait(c, &r));
    WF_TRY(weft_wait(c, &s));
    CLAIM(((char *)r.block)[BYTES - 1] == (me + n - 1) % n, "wrong content");
    CLAIM(weft_arena_used(a, WEFT_ACT) == BYTES, "%lld bytes are charged",
          (long long)weft_arena_used(a, WEFT_ACT));
    weft_arena_give(a, r.block);
    return WEFT_OK;
}

weft_status case_block_is_charged_to_receiver(weft_comm *c, void *ctx)
{
    weft_arena *a;
    weft_group *all;
    (void)ctx;
    WF_TRY(everyone(c, "all", &all));
    WF_TRY(weft_arena_create(0, &a));
    weft_status st = WEFT_OK;
    for (int i = 0; i < 50 && !st; i++)
        st = pass_block(c, a);
    if (st == WEFT_OK) st = weft_barrier(all);
    if (st != WEFT_OK) weft_comm_abort(c, st, weft_status_message(), 0);
    weft_arena_destroy(a);
    weft_group_destroy(all);
    return st;
}

/* ---- many: a window of outstanding messages with any tags, asked for in any order ---- */

enum { WINDOW = 1000, WINDOWS = 25, FEW_WINDOWS = 3 };

typedef struct window {
    int64_t out[WINDOW], in[WINDOW];
    weft_event sent[WINDOW], got[WINDOW];
} window;

/* Different for every message between two ranks, and anything modulo 2^15. */
static int64_t many_tag(int src, int64_t number)
{
    dice d = {.s = (uint64_t)(src * 1000003 + number)};
    return (int64_t)(roll(&d, 1u << 20) << 40) + number * 32768 + (int64_t)roll(&d, 3);
}

static weft_status one_window(weft_comm *c, window *w, int64_t first, dice *d)
{
    int n = weft_comm_size(c), me = weft_comm_rank(c), left = (me + n - 1) % n;
    int64_t step = 1 + 2 * (int64_t)roll(d, 200); /* with no factor of WINDOW but 5 */
    while (step % 5 == 0)
        step += 2;
    for (int i = 0; i < WINDOW; i++) {
        w->out[i] = me * 1000000 + first + i;
        WF_TRY(weft_send(c, WEFT_FOR_ACT, (me + 1) % n, many_tag(me, first + i),
                         &w->out[i], 8, &w->sent[i]));
    }
    for (int64_t k = 0; k < WINDOW; k++) {
        int64_t i = (k * step + 17) % WINDOW;
        WF_TRY(weft_recv(c, WEFT_FOR_ACT, left, many_tag(left, first + i), &w->in[i], 8,
                         &w->got[i]));
    }
    for (int i = 0; i < WINDOW; i++) {
        WF_TRY(weft_wait(c, &w->got[i]));
        WF_TRY(weft_wait(c, &w->sent[i]));
        CLAIM(w->in[i] == left * 1000000 + first + i, "message %lld is %lld",
              (long long)(first + i), (long long)w->in[i]);
    }
    return WEFT_OK;
}

/* ctx: anything, for a long run. */
weft_status case_many(weft_comm *c, void *ctx)
{
    window *w = calloc(1, sizeof *w);
    dice d = {.s = 5u + (uint64_t)weft_comm_rank(c)};
    weft_status st = WEFT_OK;
    for (int k = 0; k < (ctx ? WINDOWS : FEW_WINDOWS) && !st; k++)
        st = one_window(c, w, k * WINDOW, &d);
    free(w);
    return st;
}
