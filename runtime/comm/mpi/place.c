/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the status files of a job are that was given no place for them. Rank 0 makes a new
 * folder; when every rank is on its host and sees that very folder it is the job's, and the
 * last rank takes it away. After a fault it stays, for whoever looks into it.
 */
#define _GNU_SOURCE /* gethostname, mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

typedef struct offer {
    char host[64], dir[512]; /* dir "": none could be made */
    int64_t dev, ino;
} offer;

static void make_offer(offer *o)
{
    const char *tmp = getenv("TMPDIR");
    struct stat s;

    gethostname(o->host, sizeof o->host - 1);
    int n = snprintf(o->dir, sizeof o->dir, "%s/weft-job-%d-XXXXXX",
                     tmp && *tmp ? tmp : "/tmp", (int)getpid());
    if (n >= (int)sizeof o->dir || !mkdtemp(o->dir) || stat(o->dir, &s)) {
        o->dir[0] = '\0';
        return;
    }
    o->dev = (int64_t)s.st_dev;
    o->ino = (int64_t)s.st_ino;
}

/* Two hosts may have folders of one name, and one host two names. */
static int is_here(const offer *o)
{
    char host[sizeof o->host] = "";
    struct stat s;

    gethostname(host, sizeof host - 1);
    return !strcmp(host, o->host) && *o->dir && !stat(o->dir, &s) &&
           (int64_t)s.st_dev == o->dev && (int64_t)s.st_ino == o->ino;
}

static weft_status keep_place(mpi_world *w, const char *dir)
{
    int64_t n = (int64_t)strlen(dir) + 1;
    WF_TRY(WF_ALLOC(n, &w->status_dir));
    memcpy(w->status_dir, dir, (size_t)n);
    w->temporary = 1;
    return WEFT_OK;
}

weft_status wf_mpi_make_place(mpi_world *w)
{
    offer o = {.dev = 0};
    int all;

    if (w->rank == 0) make_offer(&o);
    WF_MPI(MPI_Bcast(&o, sizeof o, MPI_BYTE, 0, w->control));
    all = is_here(&o);
    WF_MPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, w->control));
    if (all) return keep_place(w, o.dir);
    if (w->rank == 0 && *o.dir) rmdir(o.dir);
    return WEFT_OK;
}
