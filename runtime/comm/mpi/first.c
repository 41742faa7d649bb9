/* SPDX-License-Identifier: Apache-2.0 */
/* One cause makes several ranks fail at nearly the same time. A file in the status
 * directory decides who speaks: the first to create it. There is one per host even where
 * hosts share the directory: what a host that was cut off says, nobody may hear. */
#define _GNU_SOURCE /* gethostname */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/mpi/mpi_impl.h"

static void file_name(const char *dir, char *path, size_t cap)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(path, cap, "%s/failed-%s", dir, host);
}

void wf_mpi_forget_failure(const char *dir)
{
    char path[4096];
    if (!dir) return;
    file_name(dir, path, sizeof path);
    unlink(path);
}

int wf_mpi_speaks_first(const char *dir, const char *words)
{
    char path[4096];
    if (!dir) return 1;
    file_name(dir, path, sizeof path);
    mkdir(dir, 0777); /* it may be too early for anybody to have made it */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return errno != EEXIST;
    ssize_t n = write(fd, words, strlen(words));
    (void)n; /* what is printed tells as much */
    close(fd);
    return 1;
}
