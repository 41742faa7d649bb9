/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "train/data_bytes.h"

static weft_status io_failure(const char *verb, const char *path)
{
    return WF_FAIL(WEFT_E_IO, "--data %s: cannot %s: %s", path, verb, strerror(errno));
}

/* Regular files and pipes, so that `--data <(zcat x.gz)` works; a device never ends. */
static weft_status check_type(FILE *f, const char *path, int64_t *size_hint)
{
    struct stat st;

    if (fstat(fileno(f), &st)) return io_failure("read", path);
    if (S_ISDIR(st.st_mode))
        return WF_FAIL(WEFT_E_INVALID, "--data %s: a directory; name the files in it",
                       path);
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        return WF_FAIL(WEFT_E_INVALID, "--data %s: neither a file nor a pipe", path);
    *size_hint = st.st_size;
    return WEFT_OK;
}

/* To the end, whatever the size said: a pipe has none, and a file may grow meanwhile. */
static weft_status read_all(FILE *f, const char *path, wf_bytes *b)
{
    int64_t size = 0;

    WF_TRY(check_type(f, path, &size));
    WF_TRY(wf_grow(&b->p, &b->cap, size + 1, 1));
    for (;;) {
        size_t got = fread((char *)b->p + b->n, 1, (size_t)(b->cap - b->n), f);
        b->n += (int64_t)got;
        if (ferror(f)) return io_failure("read", path);
        if (b->n < b->cap) return WEFT_OK;
        WF_TRY(wf_grow(&b->p, &b->cap, b->cap + 1, 1));
    }
}

weft_status wf_bytes_read(const char *path, wf_bytes *b)
{
    FILE *f = fopen(path, "rb");

    if (!f) return io_failure("open", path);
    weft_status st = read_all(f, path, b);
    fclose(f);
    return st;
}
