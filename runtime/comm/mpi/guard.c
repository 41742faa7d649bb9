/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher may outlive the job. Open MPI 4's mpirun, told to abort while a host cannot
 * be reached, waits for that host for ever, and crashes on SIGTERM. So the rank
 * that ends the job leaves a small process behind that looks after the launcher (mpirun or
 * its daemon on this host, the rank's parent) for some seconds and then ends it.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "comm/mpi/mpi_impl.h"

enum { LOOKS = 50, STAT_BYTES = 512 };
static const struct timespec look_every = {.tv_nsec = 100000000};

/* Only calls that are safe between fork and exec below: other threads may have held locks. */

static size_t read_stat(const char *path, char *buf)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, buf, STAT_BYTES - 1);
    close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* When the process began, as text; NULL when it is gone. A pid may be given anew. */
static const char *birth(const char *path, char *buf)
{
    if (!read_stat(path, buf)) return NULL;
    char *at = strrchr(buf, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at) return NULL;
    at[strcspn(at + 1, " ") + 1] = '\0';
    return at;
}

static void close_all(void)
{
    long most = sysconf(_SC_OPEN_MAX);
    if (most < 0 || most > 4096) most = 4096;
    for (int fd = 0; fd < (int)most; fd++)
        close(fd); /* a launcher waits until nobody holds its pipes */
}

/* 1 when the process went away within so many looks. */
static int goes(const char *path, const char *born, int looks)
{
    char buf[STAT_BYTES];
    for (int i = 0; i < looks; i++) {
        const char *b = birth(path, buf);
        if (!b || strcmp(b, born) != 0) return 1;
        nanosleep(&look_every, NULL);
    }
    return 0;
}

static void look_after(pid_t launcher, const char *path, const char *born)
{
    setsid(); /* not in the group the launcher ends */
    close_all();
    if (!goes(path, born, LOOKS)) kill(launcher, SIGKILL);
}

void wf_mpi_guard_launcher(void)
{
    pid_t launcher = getppid();
    char path[32], buf[STAT_BYTES];
    if (launcher <= 1) return;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)launcher);
    const char *born = birth(path, buf);
    if (!born || fork() != 0) return;
    look_after(launcher, path, born);
    _exit(0);
}
