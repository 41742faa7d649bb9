/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "cmd/stdio_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

static int to_stdio(void *ctx, const char *bytes, unsigned n)
{
    return fwrite(bytes, 1, n, ctx) != n;
}

weft_writer wf_stdout_writer(void)
{
    return (weft_writer){to_stdio, stdout, 0};
}

weft_writer wf_stderr_writer(void)
{
    return (weft_writer){to_stdio, stderr, 0};
}

static int told; /* that the standard output failed: once is enough */

int wf_stdout_finish(const char *command, int exit_code)
{
    if (told) return 3;
    errno = 0; /* an earlier write may be what failed: its reason is gone */
    if (!fflush(stdout) && !ferror(stdout)) return exit_code;
    told = 1;
    fprintf(stderr, "weft %s: the output could not be written%s%s\n", command,
            errno ? ": " : "", errno ? strerror(errno) : "");
    return 3;
}

/* ---- files out ------------------------------------------------------------------ */

static weft_status cannot(const char *what, const char *path)
{
    return WF_FAIL(WEFT_E_IO, "%s cannot be %s: %s", path, what, strerror(errno));
}

/* Renaming would replace a device or a pipe by a file: those are written to
 * directly. */
static int is_special(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static int is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* 0, or why the folder that holds `path` takes no new name. */
static int names_refused(const char *path)
{
    enum { MOST_PATH = 4096 };
    char dir[MOST_PATH] = ".";
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    if (n >= sizeof dir) return ENAMETOOLONG;
    if (n) snprintf(dir, sizeof dir, "%.*s", (int)n, path);
    return access(dir, W_OK | X_OK) ? errno : 0;
}

int wf_out_refused(const char *path)
{
    if (!strcmp(path, "-")) return 0;
    if (is_folder(path)) return EISDIR;
    if (!is_special(path)) return names_refused(path);
    return access(path, W_OK) ? errno : 0;
}

int wf_out_folder_refused(const char *path)
{
    struct stat st;
    if (stat(path, &st)) return errno == ENOENT ? names_refused(path) : errno;
    if (!S_ISDIR(st.st_mode)) return ENOTDIR;
    return access(path, W_OK | X_OK) ? errno : 0;
}

static weft_status open_temp(const char *path, wf_out_file *file)
{
    int64_t n = (int64_t)strlen(path) + 8;
    mode_t mask = umask(0);
    umask(mask);
    WF_TRY(WF_ALLOC(n, &file->temp));
    snprintf(file->temp, (size_t)n, "%s.XXXXXX", path);
    int fd = mkstemp(file->temp);
    if (fd < 0 || fchmod(fd, 0666 & ~mask) || !(file->f = fdopen(fd, "wb"))) {
        weft_status st = cannot("written", path);
        if (fd >= 0) {
            close(fd);
            unlink(file->temp);
        }
        wf_free(file->temp);
        file->temp = NULL;
        return st;
    }
    return WEFT_OK;
}

weft_status wf_out_file_open(const char *path, wf_out_file *file)
{
    wf_out_file f = {.path = path};
    if (!strcmp(path, "-"))
        f.f = stdout;
    else if (!is_special(path))
        WF_TRY(open_temp(path, &f));
    else if (!(f.f = fopen(path, "wb")))
        return cannot("written", path);
    f.out = (weft_writer){to_stdio, f.f, 0};
    *file = f;
    return WEFT_OK;
}

static int close_file(wf_out_file *file)
{
    if (file->f == stdout) return fflush(stdout);
    int bad = fflush(file->f) || ferror(file->f);
    if (file->temp) bad |= fsync(fileno(file->f));
    return fclose(file->f) | bad;
}

static int lost;

int wf_out_lost(void)
{
    return lost;
}

weft_status wf_out_file_commit(wf_out_file *file)
{
    weft_status st = WEFT_OK;
    int bad = close_file(file) | file->out.failed;

    told |= bad && file->f == stdout;
    if (bad)
        st = cannot("written", file->path);
    else if (file->temp && rename(file->temp, file->path))
        st = cannot("put in place", file->path);
    lost |= st != WEFT_OK;
    if (st != WEFT_OK && file->temp) unlink(file->temp);
    wf_free(file->temp);
    *file = (wf_out_file){0};
    return st;
}

void wf_out_file_drop(wf_out_file *file)
{
    if (file->f && file->f != stdout) fclose(file->f);
    if (file->temp) unlink(file->temp);
    wf_free(file->temp);
    *file = (wf_out_file){0};
}

/* ---- files in ------------------------------------------------------------------- */

static weft_status read_all(FILE *f, const char *path, int64_t max, char **text,
                            int64_t *n)
{
    void *block = NULL;
    int64_t cap = 0, have = 0;
    size_t got;

    do {
        weft_status st = wf_grow(&block, &cap, have + 65536, 1);
        if (st != WEFT_OK) {
            wf_free(block);
            return st;
        }
        got = fread((char *)block + have, 1, (size_t)(cap - have - 1), f);
        have += (int64_t)got;
    } while (got && have <= max);
    if (ferror(f) || have > max) {
        weft_status st = ferror(f) ? cannot("read", path)
                                   : WF_FAIL(WEFT_E_IO, "%s is larger than %lld bytes",
                                             path, (long long)max);
        wf_free(block);
        return st;
    }
    ((char *)block)[have] = 0;
    *text = block;
    *n = have;
    return WEFT_OK;
}

weft_status wf_read_file(const char *path, int64_t max, char **text, int64_t *n)
{
    if (!strcmp(path, "-")) return read_all(stdin, "the standard input", max, text, n);
    FILE *f = fopen(path, "rb");
    if (!f) return cannot("read", path);
    weft_status st = read_all(f, path, max, text, n);
    fclose(f);
    return st;
}

void wf_plain(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if ((*c < 0x20 && *c != '\t') || *c == 0x7f) *c = '?';
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) c[0] = c[1] = '?';
    }
}
