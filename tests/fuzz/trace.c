/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines in files: cmd/trace_file.c. */
#define _GNU_SOURCE
#include "cmd/trace_file.h"

#include <sys/mman.h>
#include <unistd.h>
#include <weft/draw.h>

#include "fuzz.h"

/* Drawn as a file again. */
static void write_again(const weft_trace *t)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    PROMISE(weft_draw_trace_event(t, &out) == WEFT_OK);
    PROMISE(weft_writer_status(&out) == WEFT_OK);
    weft_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int fd = -1;
    char path[32];
    weft_trace t;

    if (fd < 0) fd = memfd_create("trace", 0);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (wf_trace_read(path, &t) != WEFT_OK) {
        REFUSED();
        return 0;
    }
    write_again(&t);
    weft_trace_clear(&t);
    return 0;
}
