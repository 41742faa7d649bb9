/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comm/mpi/launch.h"

static int number(const char *name, int *out)
{
    const char *s = getenv(name);
    char *end;
    if (!s || !*s) return 0;
    long v = strtol(s, &end, 10);
    if (*end || v < 0 || v > 1 << 30) return 0;
    *out = (int)v;
    return 1;
}

/* The nearest launcher first: under Slurm, mpirun starts its own ranks inside a step and
 * their Slurm variables describe its daemons. */
static int by_slurm(wf_launch *l)
{
    if (!getenv("SLURM_STEP_ID") || !number("SLURM_PROCID", &l->rank)) return 0;
    l->name = "srun";
    /* Of the step; SLURM_NTASKS may be the whole job's. */
    if (!number("SLURM_STEP_NUM_TASKS", &l->size)) number("SLURM_NTASKS", &l->size);
    return 1;
}

int wf_launched(wf_launch *out)
{
    wf_launch l = {.name = "", .size = 0, .rank = 0};
    int launched = 0;

    if (number("OMPI_COMM_WORLD_SIZE", &l.size)) {
        l.name = "Open MPI's mpirun";
        number("OMPI_COMM_WORLD_RANK", &l.rank);
        launched = 1;
    } else if (by_slurm(&l)) {
        launched = 1;
    } else if (number("PMI_SIZE", &l.size)) {
        l.name = "MPICH's mpiexec (PMI)";
        number("PMI_RANK", &l.rank);
        launched = 1;
    } else if (number("PMIX_RANK", &l.rank)) {
        l.name = "a PMIx launcher";
        launched = 1;
    }
    *out = l;
    return launched;
}

int weft_mpi_launched(int *size)
{
    wf_launch l;
    int launched = wf_launched(&l);
    if (size) *size = l.size;
    return launched;
}
