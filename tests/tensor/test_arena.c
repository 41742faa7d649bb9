/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/run/tensor.h>

static weft_arena *arena(int64_t limit)
{
    weft_arena *a = NULL;
    assert_int_equal(weft_arena_create(limit, &a), WEFT_OK);
    return a;
}

static void *take(weft_arena *a, weft_tag tag, int64_t bytes)
{
    void *p = NULL;
    assert_int_equal(weft_arena_take(a, tag, bytes, &p), WEFT_OK);
    return p;
}

static void blocks_are_aligned_writable_and_apart_at_every_size(void **state)
{
    const int64_t sizes[] = {0, 1, 63, 64, 65, 4096, 2 << 20, (2 << 20) + 1, 5 << 20};
    enum { N = sizeof sizes / sizeof *sizes };
    weft_arena *a = arena(0);
    unsigned char *p[N];
    for (int i = 0; i < N; i++) {
        p[i] = take(a, WEFT_TEMP, sizes[i]);
        assert_int_equal((uintptr_t)p[i] % 64, 0);
        memset(p[i], i + 1, (size_t)sizes[i]);
    }
    for (int i = 0; i < N; i++)
        if (sizes[i])
            assert_int_equal(p[i][0], i + 1),
                assert_int_equal(p[i][sizes[i] - 1], i + 1);
    weft_arena_destroy(a);
}

static void a_block_given_back_serves_the_next_of_its_size_only(void **state)
{
    weft_arena *a = arena(0);
    void *p = take(a, WEFT_ACT, 1000), *other;
    weft_arena_give(a, p);
    other = take(a, WEFT_ACT, 2000);
    assert_ptr_not_equal(other, p);
    assert_ptr_equal(take(a, WEFT_TEMP, 990), p); /* same 64 bytes more or less */
    weft_arena_destroy(a);
}

static void zero_clears_a_block_used_before(void **state)
{
    weft_arena *a = arena(0);
    unsigned char *p = take(a, WEFT_GRAD, 300);
    memset(p, 9, 300);
    weft_arena_give(a, p);
    void *again;
    assert_int_equal(weft_arena_zero(a, WEFT_GRAD, 300, &again), WEFT_OK);
    for (int i = 0; i < 300; i++)
        assert_int_equal(((unsigned char *)again)[i], 0);
    weft_arena_destroy(a);
}

/* Against a plain count over 20000 random calls. */
static void used_and_peak_are_exact_in_bytes_asked_for(void **state)
{
    enum { SLOTS = 40 };
    weft_arena *a = arena(0);
    struct {
        void *p;
        int64_t bytes;
        weft_tag tag;
    } slot[SLOTS] = {{0}};
    int64_t used[WEFT_N_TAGS] = {0}, peak[WEFT_N_TAGS] = {0}, total = 0, peak_total = 0;
    uint32_t r = 1;
    for (int i = 0; i < 20000; i++) {
        r = r * 1664525u + 1013904223u;
        const int s = (int)(r >> 8) % SLOTS;
        const weft_tag tag =
            slot[s].p ? slot[s].tag : (weft_tag)((r >> 16) % WEFT_N_TAGS);
        if (slot[s].p) {
            weft_arena_give(a, slot[s].p);
            used[tag] -= slot[s].bytes;
            total -= slot[s].bytes;
            slot[s].p = NULL;
        } else {
            slot[s].bytes = (int64_t)(r >> 20);
            slot[s].tag = tag;
            slot[s].p = take(a, tag, slot[s].bytes);
            used[tag] += slot[s].bytes;
            total += slot[s].bytes;
        }
        if (used[tag] > peak[tag]) peak[tag] = used[tag];
        if (total > peak_total) peak_total = total;
        assert_int_equal(weft_arena_used(a, tag), used[tag]);
        assert_int_equal(weft_arena_peak(a, tag), peak[tag]);
        if (i == 10000) {
            weft_arena_reset_peak(a);
            memcpy(peak, used, sizeof peak);
            peak_total = total;
        }
    }
    assert_int_equal(weft_arena_peak_total(a), peak_total);
    weft_arena_destroy(a);
}

static void past_the_limit_the_message_has_tag_and_bytes(void **state)
{
    weft_arena *a = arena(1000);
    void *p = take(a, WEFT_PARAM, 600), *q = &q;
    assert_int_equal(weft_arena_take(a, WEFT_LOGITS, 401, &q), WEFT_E_NOMEM);
    assert_string_equal(
        weft_status_message(),
        "out of memory: 401 bytes asked for logits, 600 of the limit of 1000 used");
    assert_ptr_equal(q, &q);
    weft_arena_give(a, p);
    take(a, WEFT_LOGITS, 1000);
    weft_arena_destroy(a);
}

static void sizes_that_are_none_are_refused(void **state)
{
    weft_arena *a = NULL;
    void *p = NULL;
    assert_int_equal(weft_arena_create(-1, &a), WEFT_E_INVALID);
    a = arena(0);
    assert_int_equal(weft_arena_take(a, WEFT_ACT, -1, &p), WEFT_E_INVALID);
    assert_int_equal(weft_arena_take(a, WEFT_ACT, INT64_MAX, &p), WEFT_E_INVALID);
    assert_null(p);
    weft_arena_give(a, NULL);
    weft_arena_destroy(a);
    weft_arena_destroy(NULL);
}

static void adoption_moves_the_charge_and_keeps_the_contents(void **state)
{
    weft_arena *from = arena(0), *to = arena(500);
    char *p = take(from, WEFT_COMM, 400);
    strcpy(p, "kept");
    assert_int_equal(weft_arena_adopt(to, WEFT_ACT, p), WEFT_OK);
    assert_int_equal(weft_arena_used(from, WEFT_COMM), 0);
    assert_int_equal(weft_arena_used(to, WEFT_ACT), 400);
    assert_int_equal(weft_arena_peak_total(to), 400);
    weft_arena_destroy(from);
    assert_string_equal(p, "kept");
    assert_int_equal(weft_arena_adopt(to, WEFT_GRAD, p),
                     WEFT_OK); /* its own: other tag */
    assert_int_equal(weft_arena_used(to, WEFT_ACT), 0);
    assert_int_equal(weft_arena_used(to, WEFT_GRAD), 400);
    weft_arena_destroy(to);
}

static void a_refused_adoption_leaves_the_block_with_its_owner(void **state)
{
    weft_arena *from = arena(0), *to = arena(100);
    void *p = take(from, WEFT_COMM, 400);
    assert_int_equal(weft_arena_adopt(to, WEFT_ACT, p), WEFT_E_NOMEM);
    assert_int_equal(weft_arena_used(from, WEFT_COMM), 400);
    assert_int_equal(weft_arena_used(to, WEFT_ACT), 0);
    weft_arena_give(from, p);
    weft_arena_destroy(from);
    weft_arena_destroy(to);
}

/* Pages of address space this process has. */
static int64_t pages(void)
{
    long n = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &n), 1);
    fclose(f);
    return n;
}

/* One sends and never receives: a receiver that kept all it was given would hold 600 MiB
 * at the end (and sanitizers hold 256 MiB of what was freed). */
static void a_receiver_keeps_no_more_blocks_than_it_held_at_once(void **state)
{
    weft_arena *from = arena(0), *to = arena(0);
    const int64_t before = pages();
    for (int i = 0; i < 600; i++) {
        char *p = take(from, WEFT_COMM, 1 << 20);
        p[0] = 1;
        assert_int_equal(weft_arena_adopt(to, WEFT_ACT, p), WEFT_OK);
        weft_arena_give(to, p);
    }
    assert_in_range(pages() - before, 0, (400 << 20) / 4096);
    weft_arena_destroy(from);
    weft_arena_destroy(to);
}

static void trim_returns_what_waits_and_leaves_what_is_taken(void **state)
{
    weft_arena *a = arena(0);
    char *held = take(a, WEFT_ACT, 100);
    strcpy(held, "held");
    const int64_t before = pages();
    weft_arena_give(a, take(a, WEFT_ACT, 300 << 20));
    assert_true(pages() - before >= (300 << 20) / 4096);
    weft_arena_trim(a);
    assert_true(pages() - before < (200 << 20) / 4096);
    assert_string_equal(held, "held");
    weft_arena_destroy(a);
}

/* A slot between two threads; each sends to the other and works on its own arena. */
enum { ROUNDS = 3000 };
typedef struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t *block;
} mailbox;

typedef struct peer {
    weft_arena *own;
    mailbox *in, *out;
    int failed;
} peer;

static void post(mailbox *m, int64_t *block)
{
    pthread_mutex_lock(&m->lock);
    while (m->block)
        pthread_cond_wait(&m->changed, &m->lock);
    m->block = block;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

static int64_t *fetch(mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    while (!m->block)
        pthread_cond_wait(&m->changed, &m->lock);
    int64_t *block = m->block;
    m->block = NULL;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return block;
}

static void *exchange(void *arg)
{
    peer *me = arg;
    for (int64_t i = 0; i < ROUNDS; i++) {
        void *p, *scratch;
        if (weft_arena_take(me->own, WEFT_COMM, 256, &p)) me->failed = 1;
        *(int64_t *)p = i;
        post(me->out, p);
        if (weft_arena_take(me->own, WEFT_TEMP, 64 + i % 7 * 64, &scratch))
            me->failed = 1;
        weft_arena_give(me->own, scratch);
        int64_t *got = fetch(me->in);
        if (weft_arena_adopt(me->own, WEFT_ACT, got) || *got != i) me->failed = 1;
        weft_arena_give(me->own, got);
    }
    return NULL;
}

static void two_threads_adopt_from_each_other_while_both_take(void **state)
{
    mailbox box[2] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL},
                      {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL}};
    peer peers[2] = {{arena(0), &box[0], &box[1], 0}, {arena(0), &box[1], &box[0], 0}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, exchange, &peers[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_false(peers[i].failed);
        for (int t = 0; t < WEFT_N_TAGS; t++)
            assert_int_equal(weft_arena_used(peers[i].own, (weft_tag)t), 0);
        weft_arena_destroy(peers[i].own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_writable_and_apart_at_every_size),
        cmocka_unit_test(a_block_given_back_serves_the_next_of_its_size_only),
        cmocka_unit_test(zero_clears_a_block_used_before),
        cmocka_unit_test(used_and_peak_are_exact_in_bytes_asked_for),
        cmocka_unit_test(past_the_limit_the_message_has_tag_and_bytes),
        cmocka_unit_test(sizes_that_are_none_are_refused),
        cmocka_unit_test(adoption_moves_the_charge_and_keeps_the_contents),
        cmocka_unit_test(a_refused_adoption_leaves_the_block_with_its_owner),
        cmocka_unit_test(a_receiver_keeps_no_more_blocks_than_it_held_at_once),
        cmocka_unit_test(trim_returns_what_waits_and_leaves_what_is_taken),
        cmocka_unit_test(two_threads_adopt_from_each_other_while_both_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
