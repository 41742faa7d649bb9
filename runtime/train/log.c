/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <weft/run/log.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

struct weft_log {
    int fd;
    int64_t lines, size; /* bytes of whole lines */
    int pipe;            /* cannot be cut back */
    char *path;
    weft_text line;
    weft_writer writer;
};

static void release(weft_log *log)
{
    weft_text_clear(&log->line);
    wf_free(log->path);
    wf_free(log);
}

static weft_status open_file(weft_log *log, const char *path)
{
    int64_t n = (int64_t)strlen(path) + 1;

    WF_TRY(WF_ALLOC(n, &log->path));
    memcpy(log->path, path, (size_t)n);
    log->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (log->fd < 0)
        return WF_FAIL(WEFT_E_IO, "--log %s: cannot open: %s", path, strerror(errno));
    log->pipe = lseek(log->fd, 0, SEEK_CUR) < 0;
    return WEFT_OK;
}

weft_status weft_log_open(const char *path, weft_log **out)
{
    weft_log *log;

    WF_TRY(WF_ALLOC(1, &log));
    weft_status st = open_file(log, path);
    if (st == WEFT_OK)
        *out = log;
    else
        release(log);
    return st;
}

weft_writer *weft_log_begin(weft_log *log)
{
    log->line.n = 0;
    log->writer = weft_text_writer(&log->line);
    return &log->writer;
}

/* All n bytes; a regular file takes them in one write, a pipe may take several. */
static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t got = write(fd, p, n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        p += got;
        n -= (size_t)got;
    }
    return 0;
}

static weft_status write_line(weft_log *log)
{
    int err = write_all(log->fd, log->line.s, log->line.n);

    if (err) {
        int cut = log->pipe ? -1 : ftruncate(log->fd, (off_t)log->size);
        return WF_FAIL(WEFT_E_IO, "--log %s: cannot write line %lld: %s%s", log->path,
                       (long long)log->lines + 1, strerror(err),
                       cut ? "; part of it may be there" : "");
    }
    log->size += log->line.n;
    log->lines++;
    return WEFT_OK;
}

weft_status weft_log_end(weft_log *log)
{
    if (!log->line.n || memchr(log->line.s, '\n', log->line.n))
        return WF_FAIL(WEFT_E_INVALID, "--log %s: line %lld is %s", log->path,
                       (long long)log->lines + 1,
                       log->line.n ? "more than one line" : "empty");
    weft_print(&log->writer, "\n");
    WF_TRY(weft_writer_status(&log->writer));
    weft_status st = write_line(log);
    log->line.n = 0;
    return st;
}

int64_t weft_log_lines(const weft_log *log)
{
    return log->lines;
}

weft_status weft_log_close(weft_log *log)
{
    weft_status st = WEFT_OK;

    if (!log) return st;
    if (close(log->fd))
        st = WF_FAIL(WEFT_E_IO, "--log %s: cannot close: %s", log->path,
                     strerror(errno));
    release(log);
    return st;
}
