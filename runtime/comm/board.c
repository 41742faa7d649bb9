/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* gethostname, MAP_SHARED files of every system we run on */
#include "comm/board.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

static const char magic[8] = "weftst1";

/* Data words: release after the odd sequence number, acquire before the second look. */
#define PUT(field, value) atomic_store_explicit(&(field), (value), memory_order_release)
#define GET(field)        atomic_load_explicit(&(field), memory_order_acquire)

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void put_text(_Atomic uint64_t *words, int cap, const char *text)
{
    char buf[WF_OP_TEXT] = {0};
    _Static_assert(WF_OP_TEXT == WF_AXES_TEXT, "one buffer serves both");
    snprintf(buf, sizeof buf, "%s", text ? text : "");
    for (int i = 0; i < cap / 8; i++) {
        uint64_t w;
        memcpy(&w, buf + 8 * i, 8);
        PUT(words[i], w);
    }
}

static void get_text(const _Atomic uint64_t *words, int cap, char *text)
{
    for (int i = 0; i < cap / 8; i++) {
        uint64_t w = GET(words[i]);
        memcpy(text + 8 * i, &w, 8);
    }
    text[cap - 1] = '\0';
}

/* ---- a record and its file --------------------------------------------------------- */

static void file_name(const char *dir, int rank, char *path, size_t cap)
{
    snprintf(path, cap, "%s/rank-%d.status", dir, rank);
}

static weft_status map_file(const char *dir, int rank, wf_record **out)
{
    char path[4096];
    if (mkdir(dir, 0777) && errno != EEXIST)
        return WF_FAIL(WEFT_E_IO, "status directory %s: %s", dir, strerror(errno));
    file_name(dir, rank, path, sizeof path);
    /* A new file: a reader of an old run's file must not see it change under him. */
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return WF_FAIL(WEFT_E_IO, "status file %s: %s", path, strerror(errno));
    void *p = MAP_FAILED;
    /* Blocks are reserved now: a full disk is told here, not by SIGBUS in a write. */
    int err = posix_fallocate(fd, 0, sizeof **out);
    if (!err) {
        p = mmap(NULL, sizeof **out, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) err = errno;
    }
    close(fd);
    if (err) return WF_FAIL(WEFT_E_IO, "status file %s: %s", path, strerror(err));
    *out = p;
    return WEFT_OK;
}

weft_status wf_record_open(const char *dir, int rank, wf_record **out)
{
    wf_record *r;
    if (dir)
        WF_TRY(map_file(dir, rank, &r));
    else
        WF_TRY(WF_ALLOC(1, &r));
    r->rank = rank;
    r->pid = getpid();
    gethostname(r->host, sizeof r->host - 1);
    PUT(r->since_ns, clock_ns(CLOCK_MONOTONIC));
    PUT(r->since_wall_ns, clock_ns(CLOCK_REALTIME));
    memcpy(r->magic, magic, sizeof magic); /* last: from here on it is a record */
    *out = r;
    return WEFT_OK;
}

void wf_record_close(wf_record *r, const char *dir, int keep)
{
    char path[4096];
    if (!r) return;
    if (!dir) {
        wf_free(r);
        return;
    }
    file_name(dir, (int)r->rank, path, sizeof path);
    munmap(r, sizeof *r);
    if (!keep) unlink(path);
}

/* ---- boards ------------------------------------------------------------------------ */

weft_status wf_board_open(wf_board *b, const char *dir, int rank)
{
    wf_board made = {.rank = rank};
    if (dir) {
        int64_t n = (int64_t)strlen(dir) + 1;
        WF_TRY(WF_ALLOC(n, &made.dir));
        memcpy(made.dir, dir, (size_t)n);
    }
    weft_status st = wf_record_open(made.dir, rank, &made.own);
    if (st != WEFT_OK) {
        wf_free(made.dir);
        return st;
    }
    *b = made;
    return WEFT_OK;
}

void wf_board_share(wf_board *b, wf_record **records, int rank)
{
    *b =
        (wf_board){.own = records[rank], .peers = records, .rank = rank, .borrowed = 1};
}

void wf_board_close(wf_board *b, int keep)
{
    if (b->borrowed || !b->own) return;
    wf_board_ended(b);
    wf_record_close(b->own, b->dir, keep);
    /* Every rank tries after its own file went: the last one finds it empty. */
    if (b->temporary && !keep) rmdir(b->dir);
    wf_free(b->dir);
    *b = (wf_board){0};
}

static void begin(wf_record *r)
{
    uint64_t s = atomic_load_explicit(&r->seq, memory_order_relaxed);
    atomic_store_explicit(&r->seq, s + 1, memory_order_relaxed);
}

static void end(wf_record *r)
{
    uint64_t s = atomic_load_explicit(&r->seq, memory_order_relaxed);
    PUT(r->seq, s + 1);
}

static void enter(wf_record *r, wf_state state)
{
    PUT(r->state, state);
    PUT(r->since_ns, clock_ns(CLOCK_MONOTONIC));
    PUT(r->since_wall_ns, clock_ns(CLOCK_REALTIME));
}

void wf_board_note(wf_board *b, int64_t step, const char *op)
{
    begin(b->own);
    PUT(b->own->step, step);
    put_text(b->own->op, WF_OP_TEXT, op);
    enter(b->own, WF_COMPUTING);
    end(b->own);
}

void wf_board_waiting(wf_board *b, int peer, weft_purpose why, int64_t tag,
                      const char *axes)
{
    begin(b->own);
    PUT(b->own->peer, peer);
    PUT(b->own->purpose, why);
    PUT(b->own->tag, tag);
    put_text(b->own->axes, WF_AXES_TEXT, axes);
    enter(b->own, WF_WAITING);
    end(b->own);
}

void wf_board_computing(wf_board *b)
{
    begin(b->own);
    enter(b->own, WF_COMPUTING);
    end(b->own);
}

void wf_board_ended(wf_board *b)
{
    begin(b->own);
    enter(b->own, WF_ENDED);
    end(b->own);
}

/* ---- looking ----------------------------------------------------------------------- */

/* 1 when the copy is consistent. A writer that was killed inside a write leaves an odd
 * number for ever: the last try takes what is there. */
static int copy_once(const wf_record *r, wf_place *p, int64_t *mono, int64_t *wall)
{
    uint64_t before = GET(r->seq);
    p->step = GET(r->step);
    get_text(r->op, WF_OP_TEXT, p->op);
    p->state = (wf_state)GET(r->state);
    p->peer = (int)GET(r->peer);
    p->purpose = (weft_purpose)GET(r->purpose);
    p->tag = GET(r->tag);
    get_text(r->axes, WF_AXES_TEXT, p->axes);
    *mono = GET(r->since_ns);
    *wall = GET(r->since_wall_ns);
    return !(before & 1) &&
           before == atomic_load_explicit(&r->seq, memory_order_relaxed);
}

/* The letter after the name in /proc/PID/stat; 0 when the process is gone, '?' when the
 * system has no such file. */
static char process_state(int64_t pid)
{
    char path[64], line[512];
    if (kill((pid_t)pid, 0) && errno == ESRCH) return 0;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return '?';
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

static void look_at_process(wf_place *p)
{
    p->gone = 0;
    p->process = "";
    if (!p->same_host || p->pid == getpid()) return;
    switch (process_state(p->pid)) {
    case 0:
    case 'Z':
    case 'X':
        p->gone = 1;
        p->process = ", its process is gone";
        break;
    case 'T':
    case 't': p->process = ", its process is stopped by a signal"; break;
    default: break;
    }
}

static void copy_place(const wf_record *r, wf_place *p)
{
    char here[sizeof r->host] = {0};
    int64_t mono, wall;

    for (int tries = 0; tries < 100 && !copy_once(r, p, &mono, &wall); tries++)
        ;
    p->rank = (int)r->rank;
    p->pid = r->pid;
    memcpy(p->host, r->host, sizeof p->host);
    p->host[sizeof p->host - 1] = '\0';
    gethostname(here, sizeof here - 1);
    p->same_host = strcmp(here, p->host) == 0;
    /* Monotonic clocks of two hosts have nothing in common. */
    int64_t ns = p->same_host ? clock_ns(CLOCK_MONOTONIC) - mono
                              : clock_ns(CLOCK_REALTIME) - wall;
    p->since_s = ns > 0 ? 1e-9 * (double)ns : 0;
    look_at_process(p);
}

static int look_at_file(const char *dir, int rank, wf_place *out)
{
    char path[4096];
    struct stat s;
    file_name(dir, rank, path, sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int whole = fstat(fd, &s) == 0 && s.st_size >= (off_t)sizeof(wf_record);
    const wf_record *r =
        whole ? mmap(NULL, sizeof *r, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (r == MAP_FAILED) return 0;
    int known = memcmp(r->magic, magic, sizeof magic) == 0;
    if (known) copy_place(r, out);
    munmap((void *)r, sizeof *r);
    return known;
}

int wf_board_look(const wf_board *b, int rank, wf_place *out)
{
    if (b->peers) {
        copy_place(b->peers[rank], out);
        return 1;
    }
    if (rank == b->rank) {
        copy_place(b->own, out);
        return 1;
    }
    return b->dir ? look_at_file(b->dir, rank, out) : 0;
}

/* A rank that ends in order takes its file away before its process ends. */
int wf_board_lost(const wf_board *b, int n, wf_place *out)
{
    if (!b->dir) return -1;
    for (int rank = 0; rank < n; rank++) {
        wf_place p;
        if (rank == b->rank || !look_at_file(b->dir, rank, &p) || !p.gone) continue;
        *out = p;
        return rank;
    }
    return -1;
}

void wf_place_text(const wf_place *p, char *text, int cap)
{
    char doing[128], host[80] = "";
    const char *why = weft_purpose_name(p->purpose);

    if (p->state == WF_WAITING && p->peer < 0)
        snprintf(doing, sizeof doing, "waiting in %s over %s for %.1f s", why, p->axes,
                 p->since_s);
    else if (p->state == WF_WAITING)
        snprintf(doing, sizeof doing, "waiting for rank %d (%s, tag %lld) for %.1f s",
                 p->peer, why, (long long)p->tag, p->since_s);
    else if (p->state == WF_ENDED)
        snprintf(doing, sizeof doing, "ended %.1f s ago", p->since_s);
    else
        snprintf(doing, sizeof doing, "computing for %.1f s", p->since_s);
    if (!p->same_host) snprintf(host, sizeof host, " on host %s", p->host);
    if (!*p->op && p->state != WF_ENDED)
        snprintf(text, (size_t)cap, "has noted no op yet, %s%s%s", doing, host,
                 p->process);
    else
        snprintf(text, (size_t)cap, "is at step %lld%s%s, %s%s%s", (long long)p->step,
                 *p->op ? ", op " : "", p->op, doing, host, p->process);
}

weft_status weft_board_read(const char *status_dir, int rank, char *text, int cap)
{
    wf_place p;
    char where[256];
    if (!look_at_file(status_dir, rank, &p))
        return WF_FAIL(WEFT_E_IO, "%s: no status of rank %d", status_dir, rank);
    wf_place_text(&p, where, sizeof where);
    snprintf(text, (size_t)cap, "rank %d (pid %lld on %s) %s", p.rank, (long long)p.pid,
             p.host, where);
    return WEFT_OK;
}
