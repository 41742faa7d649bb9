/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/writer.h
 * Where libweft writes text: a callback, so that the library opens no file.
 *
 * A writer remembers its first failure; later writes are dropped, so callers
 * check once at the end with weft_writer_status().
 */
#ifndef WEFT_WRITER_H
#define WEFT_WRITER_H

#include <weft/status.h>

WEFT_BEGIN

typedef struct weft_writer weft_writer;

/** Takes n bytes (not NUL-terminated); returns 0, or non-zero on failure. */
typedef int weft_write_fn(void *ctx, const char *bytes, unsigned n);

/** A sink by value: set write and ctx, zero the rest. */
struct weft_writer {
    weft_write_fn *write;
    void *ctx;
    int failed; /**< set by the first write that fails */
};

/** WEFT_OK, or WEFT_E_IO if any write failed. */
WEFT_API WEFT_MUST_CHECK weft_status weft_writer_status(const weft_writer *out);

/** printf into the writer; any length. Numbers print in the C locale. */
WEFT_API void weft_print(weft_writer *out, const char *fmt, ...) WEFT_PRINTF(2, 3);

/** A writer that appends to a growing string. */
typedef struct weft_text {
    char *s; /**< NUL-terminated; never NULL after init */
    unsigned n, cap;
} weft_text;

WEFT_API weft_writer weft_text_writer(weft_text *text); /**< text must be zeroed */
WEFT_API void weft_text_clear(weft_text *text);

WEFT_END
#endif
