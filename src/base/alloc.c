/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <weft/alloc.h>

#include "base/error.h"

static void *(*hook_realloc)(void *, size_t) = realloc;
static void (*hook_free)(void *) = free;

void weft_set_allocator(void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *))
{
    hook_realloc = realloc_fn ? realloc_fn : realloc;
    hook_free = free_fn ? free_fn : free;
}

int wf_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

int wf_add_i64(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

static weft_status check_bytes(int64_t n, int64_t size, size_t *bytes)
{
    int64_t total;
    if (n < 0 || size < 0 || wf_mul_i64(n, size, &total) ||
        (uint64_t)total > (uint64_t)SIZE_MAX / 2)
        return WF_FAIL(WEFT_E_NOMEM,
                       "%lld items of %lld bytes are more than can be addressed",
                       (long long)n, (long long)size);
    *bytes = total ? (size_t)total : 1;
    return WEFT_OK;
}

weft_status wf_alloc(int64_t n, int64_t size, void *out)
{
    size_t bytes;
    WF_TRY(check_bytes(n, size, &bytes));
    char *p = hook_realloc(NULL, bytes);
    if (!p) return WF_FAIL(WEFT_E_NOMEM, "out of memory: %zu bytes asked", bytes);
    for (size_t i = 0; i < bytes; i++)
        p[i] = 0;
    memcpy(out, &p, sizeof p); /* out is a T ** for any T: no store of another type */
    return WEFT_OK;
}

weft_status wf_grow(void *block, int64_t *cap, int64_t need, int64_t size)
{
    size_t bytes;
    if (need <= *cap) return WEFT_OK;
    int64_t want = *cap < 8 ? 8 : *cap;
    while (want < need && !wf_mul_i64(want, 2, &want))
        ;
    WF_TRY(check_bytes(want, size, &bytes));
    void *p;
    memcpy(&p, block, sizeof p);
    p = hook_realloc(p, bytes);
    if (!p) return WF_FAIL(WEFT_E_NOMEM, "out of memory: %zu bytes asked", bytes);
    memcpy(block, &p, sizeof p);
    *cap = want;
    return WEFT_OK;
}

void wf_free(void *block)
{
    if (block) hook_free(block);
}
