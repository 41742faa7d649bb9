/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/alloc.h  Replace the allocator of libweft. */
#ifndef WEFT_ALLOC_H
#define WEFT_ALLOC_H

#include <stddef.h>
#include <weft/export.h>

WEFT_BEGIN

/** realloc_fn(NULL, n) allocates. NULL restores the default. Call before anything else;
 *  not thread-safe. */
WEFT_API void weft_set_allocator(void *(*realloc_fn)(void *, size_t),
                                 void (*free_fn)(void *));

WEFT_END
#endif
