/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_BASE_ALLOC_H
#define WF_BASE_ALLOC_H
#include <stdint.h>
#include <weft/status.h>

/* wf_ names are private to the project: exported for libweft-run, in no installed header. */

/* n items of `size` bytes, zeroed; the pointer that `out` points to, of whatever object
 * type, is unchanged on failure. The product is checked. */
WEFT_API weft_status wf_alloc(int64_t n, int64_t size, void *out) WEFT_MUST_CHECK;
/* Grow the block whose pointer `block` points to from *cap items to at least `need`
 * (doubling); new items are not zeroed. */
WEFT_API weft_status wf_grow(void *block, int64_t *cap, int64_t need,
                             int64_t size) WEFT_MUST_CHECK;
WEFT_API void wf_free(void *block);

#define WF_ALLOC(n, ptr) wf_alloc((n), (int64_t)sizeof **(ptr), (ptr))

/* Checked arithmetic: 0 and *out set, or 1 on overflow. */
WEFT_API int wf_mul_i64(int64_t a, int64_t b, int64_t *out);
WEFT_API int wf_add_i64(int64_t a, int64_t b, int64_t *out);
#endif
