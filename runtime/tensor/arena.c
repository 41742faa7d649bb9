/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank's memory. A block that is given back waits in a list of its exact size, so the
 * second step of a training run takes what the first one left: no system call, no page
 * fault. A size class keeps at most as many blocks, taken and waiting, as were ever taken
 * at once; without that bound a rank that only receives (blocks handed over, never sent
 * back) would collect the blocks of its sender.
 *
 * Each block carries its header in the 64 bytes before it. The lock is there for
 * weft_arena_adopt(), the one call that works on the arena of another thread.
 */
#define _GNU_SOURCE /* madvise, MADV_HUGEPAGE */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <weft/run/tensor.h>

#include "base/alloc.h"
#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(p, n)   __asan_poison_memory_region((p), (size_t)(n))
#define REVEAL(p, n) __asan_unpoison_memory_region((p), (size_t)(n))
#else
#define HIDE(p, n)   ((void)(p), (void)(n))
#define REVEAL(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 64, HUGE_PAGE = 2 << 20 };

typedef struct block {
    _Alignas(ALIGN) struct block *prev;
    struct block *next; /* in the taken list, or in the waiting list of its class */
    weft_arena *owner;
    int64_t bytes;    /* as asked for: what is charged */
    int64_t capacity; /* rounded up to ALIGN: the size class */
    weft_tag tag;
} block;
_Static_assert(sizeof(block) == ALIGN, "the header takes one aligned unit");

typedef struct size_class {
    int64_t capacity;
    block *waiting;
    int64_t n_waiting, n_taken, most_taken;
} size_class;

struct weft_arena {
    pthread_mutex_t lock;
    int64_t limit;
    int64_t used[WEFT_N_TAGS], peak[WEFT_N_TAGS], used_total, peak_total;
    block *taken;
    size_class *classes; /* ascending by capacity */
    int64_t n_classes, cap_classes;
};

static void fill_nan(void *p, int64_t bytes)
{
#ifdef WF_FILL_NAN
    memset(p, 0xff, (size_t)bytes); /* all ones is a NaN in f64, f32 and bf16 */
#else
    (void)p;
    (void)bytes;
#endif
}

static void charge(weft_arena *a, weft_tag tag, int64_t bytes)
{
    a->used[tag] += bytes;
    a->used_total += bytes;
    if (a->used[tag] > a->peak[tag]) a->peak[tag] = a->used[tag];
    if (a->used_total > a->peak_total) a->peak_total = a->used_total;
}

static weft_status check_limit(const weft_arena *a, weft_tag tag, int64_t bytes)
{
    if (a->limit == 0 || bytes <= a->limit - a->used_total) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_NOMEM,
        "out of memory: %lld bytes asked for %s, %lld of the limit of %lld used",
        (long long)bytes, weft_tag_name(tag), (long long)a->used_total,
        (long long)a->limit);
}

/* ---- memory of the system ---------------------------------------------------------- */

static block *system_block(int64_t capacity)
{
    void *p;
    size_t bytes = sizeof(block) + (size_t)capacity;
    if (posix_memalign(&p, bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGN, bytes)) return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* a hint: may fail */
#endif
    return p;
}

static void system_free(block *b)
{
    REVEAL(b + 1, b->capacity);
    free(b);
}

/* ---- lists ------------------------------------------------------------------------- */

static void link_taken(weft_arena *a, block *b)
{
    b->owner = a;
    b->prev = NULL;
    b->next = a->taken;
    if (a->taken) a->taken->prev = b;
    a->taken = b;
}

static void unlink_taken(weft_arena *a, block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        a->taken = b->next;
    if (b->next) b->next->prev = b->prev;
}

/* Index of the first class whose capacity is not below. */
static int64_t class_at(const weft_arena *a, int64_t capacity)
{
    int64_t lo = 0, hi = a->n_classes;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (a->classes[mid].capacity < capacity)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static weft_status find_class(weft_arena *a, int64_t capacity, size_class **out)
{
    int64_t i = class_at(a, capacity);
    if (i == a->n_classes || a->classes[i].capacity != capacity) {
        WF_TRY(wf_grow((void **)&a->classes, &a->cap_classes, a->n_classes + 1,
                       sizeof *a->classes));
        memmove(a->classes + i + 1, a->classes + i,
                (size_t)(a->n_classes - i) * sizeof *a->classes);
        a->classes[i] = (size_class){.capacity = capacity};
        a->n_classes++;
    }
    *out = &a->classes[i];
    return WEFT_OK;
}

static void count_taken(size_class *c)
{
    if (++c->n_taken > c->most_taken) c->most_taken = c->n_taken;
}

static void trim(weft_arena *a)
{
    for (int64_t i = 0; i < a->n_classes; i++) {
        size_class *c = &a->classes[i];
        for (block *b = c->waiting, *next; b; b = next) {
            next = b->next;
            system_free(b);
        }
        *c = (size_class){
            .capacity = c->capacity, .n_taken = c->n_taken, .most_taken = c->n_taken};
    }
}

/* ---- the calls --------------------------------------------------------------------- */

weft_status weft_arena_create(int64_t limit_bytes, weft_arena **out)
{
    if (limit_bytes < 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "memory limit of %lld bytes: must be 0 (none) or more",
                       (long long)limit_bytes);
    weft_arena *a;
    WF_TRY(WF_ALLOC(1, &a));
    a->limit = limit_bytes;
    if (pthread_mutex_init(&a->lock, NULL)) {
        wf_free(a);
        return WF_FAIL(WEFT_E_NOMEM, "out of memory: no lock for an arena");
    }
    *out = a;
    return WEFT_OK;
}

void weft_arena_destroy(weft_arena *a)
{
    if (!a) return;
    trim(a);
    for (block *b = a->taken, *next; b; b = next) {
        next = b->next;
        system_free(b);
    }
    pthread_mutex_destroy(&a->lock);
    wf_free(a->classes);
    wf_free(a);
}

/* A block of the class, waiting or new; NULL when the system has no more. */
static block *obtain(weft_arena *a, size_class *c)
{
    block *b = c->waiting;
    if (b) {
        c->waiting = b->next;
        c->n_waiting--;
        REVEAL(b + 1, b->capacity);
        return b;
    }
    b = system_block(c->capacity);
    if (!b) {
        trim(a); /* what other sizes hold may be what is missing */
        b = system_block(c->capacity);
    }
    if (b) {
        b->capacity = c->capacity;
        fill_nan(b + 1, b->capacity);
    }
    return b;
}

static weft_status take_locked(weft_arena *a, weft_tag tag, int64_t bytes, void **out)
{
    size_class *c;
    WF_TRY(check_limit(a, tag, bytes));
    WF_TRY(find_class(a, (bytes + ALIGN - 1) / ALIGN * ALIGN, &c));
    block *b = obtain(a, c);
    if (!b)
        return WF_FAIL(
            WEFT_E_NOMEM,
            "out of memory: %lld bytes asked for %s, %lld used, the system has no more",
            (long long)bytes, weft_tag_name(tag), (long long)a->used_total);
    count_taken(c);
    b->bytes = bytes;
    b->tag = tag;
    link_taken(a, b);
    charge(a, tag, bytes);
    HIDE((char *)(b + 1) + bytes, b->capacity - bytes);
    *out = b + 1;
    return WEFT_OK;
}

weft_status weft_arena_take(weft_arena *a, weft_tag tag, int64_t bytes, void **out)
{
    if (bytes < 0 || bytes > INT64_MAX / 2)
        return WF_FAIL(WEFT_E_INVALID, "%lld bytes asked for %s: not a size",
                       (long long)bytes, weft_tag_name(tag));
    pthread_mutex_lock(&a->lock);
    weft_status st = take_locked(a, tag, bytes, out);
    pthread_mutex_unlock(&a->lock);
    return st;
}

weft_status weft_arena_zero(weft_arena *a, weft_tag tag, int64_t bytes, void **out)
{
    void *p;
    WF_TRY(weft_arena_take(a, tag, bytes, &p));
    memset(p, 0, (size_t)bytes);
    *out = p;
    return WEFT_OK;
}

/* Take a block off the books; the class it leaves. */
static size_class *release(weft_arena *a, block *b)
{
    size_class *c = &a->classes[class_at(a, b->capacity)];
    c->n_taken--;
    unlink_taken(a, b);
    a->used[b->tag] -= b->bytes;
    a->used_total -= b->bytes;
    return c;
}

void weft_arena_give(weft_arena *a, void *p)
{
    if (!p) return;
    block *b = (block *)p - 1;
    assert(b->owner ==
           a); /* given twice, or to the arena it came from before adoption */
    REVEAL(p, b->capacity);
    fill_nan(p, b->capacity);
    pthread_mutex_lock(&a->lock);
    size_class *c = release(a, b);
    int keep = c->n_waiting + c->n_taken < c->most_taken;
    if (keep) {
        b->owner = NULL;
        HIDE(p, b->capacity);
        b->next = c->waiting;
        c->waiting = b;
        c->n_waiting++;
    }
    pthread_mutex_unlock(&a->lock);
    if (!keep) system_free(b);
}

/* Room and charge first, so that a refusal leaves the block where it was. */
static weft_status admit(weft_arena *to, weft_tag tag, const block *b)
{
    size_class *c;
    WF_TRY(check_limit(to, tag, b->bytes));
    WF_TRY(find_class(to, b->capacity, &c));
    count_taken(c);
    charge(to, tag, b->bytes);
    return WEFT_OK;
}

static void retag(weft_arena *a, weft_tag tag, block *b)
{
    pthread_mutex_lock(&a->lock);
    a->used[b->tag] -= b->bytes;
    a->used_total -= b->bytes;
    charge(a, tag, b->bytes);
    b->tag = tag;
    pthread_mutex_unlock(&a->lock);
}

/* One lock at a time: two ranks that adopt from each other cannot deadlock. Between the
 * locks the block is charged to both and stands in no list; only the caller knows it. */
weft_status weft_arena_adopt(weft_arena *to, weft_tag tag, void *p)
{
    block *b = (block *)p - 1;
    weft_arena *from = b->owner;
    if (from == to) {
        retag(to, tag, b);
        return WEFT_OK;
    }
    pthread_mutex_lock(&to->lock);
    weft_status st = admit(to, tag, b);
    pthread_mutex_unlock(&to->lock);
    if (st != WEFT_OK) return st;
    pthread_mutex_lock(&from->lock);
    release(from, b);
    pthread_mutex_unlock(&from->lock);
    b->tag = tag;
    pthread_mutex_lock(&to->lock);
    link_taken(to, b);
    pthread_mutex_unlock(&to->lock);
    return WEFT_OK;
}

/* ---- accounts ---------------------------------------------------------------------- */

static int64_t read_locked(const weft_arena *a, const int64_t *value)
{
    pthread_mutex_t *lock =
        (pthread_mutex_t *)&a->lock; /* reading leaves it as it was */
    pthread_mutex_lock(lock);
    int64_t v = *value;
    pthread_mutex_unlock(lock);
    return v;
}

int64_t weft_arena_used(const weft_arena *a, weft_tag tag)
{
    return read_locked(a, &a->used[tag]);
}

int64_t weft_arena_peak(const weft_arena *a, weft_tag tag)
{
    return read_locked(a, &a->peak[tag]);
}

int64_t weft_arena_peak_total(const weft_arena *a)
{
    return read_locked(a, &a->peak_total);
}

void weft_arena_reset_peak(weft_arena *a)
{
    pthread_mutex_lock(&a->lock);
    memcpy(a->peak, a->used, sizeof a->peak);
    a->peak_total = a->used_total;
    pthread_mutex_unlock(&a->lock);
}

void weft_arena_trim(weft_arena *a)
{
    pthread_mutex_lock(&a->lock);
    trim(a);
    pthread_mutex_unlock(&a->lock);
}
