/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving an MPICH job of several hosts without MPI_Finalize.
 *
 * MPICH 4.0 on UCX over TCP: in MPI_Finalize a rank that still closes its connections needs
 * its peers' progress, and those that are done wait in a barrier that makes none. On a busy
 * machine one run in five hangs there, after all work is done. So where hydra has started
 * the ranks on several hosts, they meet by messages of ours, each takes leave of hydra in
 * the words MPI_Finalize would use (PMI 1: Balaji et al., "PMI: A Scalable Parallel
 * Process-Management Interface for Extreme-Scale Systems", 2010), and ends.
 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/mpi/mpi_impl.h"

#ifdef MPICH_VERSION

static const double linger_s = 0.05;
enum { ANSWER_MS = 2000 };

/* What the last messages still need of this rank (answers, unsent bytes) gets done. */
static void linger(mpi_world *w)
{
    int flag;
    for (double end = wf_now_s() + linger_s; wf_now_s() < end; sched_yield())
        MPI_Test(&w->incoming, &flag, MPI_STATUS_IGNORE);
}

static int takes_leave(int fd)
{
    static const char words[] = "cmd=finalize\n", answer[] = "cmd=finalize_ack";
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char buf[64] = "";
    if (write(fd, words, sizeof words - 1) != (ssize_t)sizeof words - 1) return 0;
    if (poll(&p, 1, ANSWER_MS) != 1) return 0;
    return read(fd, buf, sizeof buf - 1) > 0 &&
           !strncmp(buf, answer, sizeof answer - 1);
}

int wf_mpi_leave(mpi_world *w)
{
    const char *local = getenv("MPI_LOCALNRANKS"),
               *fd = getenv("PMI_FD"); /* of hydra */
    if (!local || !fd || atoi(local) >= w->size) return 0;
    linger(w);
    return takes_leave(atoi(fd));
}

#else

int wf_mpi_leave(mpi_world *w)
{
    (void)w;
    return 0;
}

#endif
