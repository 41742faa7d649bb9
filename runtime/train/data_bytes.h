/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_TRAIN_DATA_BYTES_H
#define WF_TRAIN_DATA_BYTES_H
#include <stdint.h>
#include <weft/status.h>

/* A whole file, or borrowed text. */
typedef struct wf_bytes {
    void *p;
    int64_t n, cap;
    const char *name; /* for messages */
} wf_bytes;

/* The whole of the file or pipe at path; p is wf_free()d by the caller, also on failure. */
weft_status wf_bytes_read(const char *path, wf_bytes *b) WEFT_MUST_CHECK;
#endif
