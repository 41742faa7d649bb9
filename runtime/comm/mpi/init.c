/* SPDX-License-Identifier: Apache-2.0 */
/* From MPI_Init to the communicator of all ranks. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

#ifdef OPEN_MPI
#define VERSION                                                                        \
    "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(        \
        OMPI_RELEASE_VERSION)
#define REMEDY "mpirun of Open MPI (Debian: mpirun.openmpi) or srun --mpi=pmix"
#else
#define VERSION "MPICH " MPICH_VERSION
#define REMEDY  "mpiexec of MPICH (Debian: mpiexec.hydra) or srun --mpi=pmi2"
#endif

const char *weft_mpi_version(void)
{
    return VERSION;
}

/* A launcher of another MPI starts n processes that each see themselves alone. Only the
 * one that the launcher calls rank 0 says so: the others' message is empty. */
static weft_status check_launcher(int size)
{
    wf_launch l;
    if (!wf_launched(&l) || l.size == 0 || l.size == size) return WEFT_OK;
    if (l.rank > 0) {
        wf_sleep_s(WF_SPEAK_FIRST_S);
        return WF_FAIL(WEFT_E_MISMATCH, "%s", "");
    }
    return WF_FAIL(WEFT_E_MISMATCH,
                   "this weft is built with " VERSION
                   ", but %s started it: %d processes "
                   "were started and MPI sees %d; use " REMEDY,
                   l.name, l.size, size);
}

static wf_watch *watch(const weft_comm_options *o, int rank, const char *what)
{
    if (!o) return NULL;
    return wf_watch_start(&(wf_watch_rule){o->on_stuck, wf_timeout_of(o), rank,
                                           o->status_dir, o->program},
                          what);
}

static weft_status init_mpi(const weft_comm_options *o)
{
    int before, provided;
    wf_launch l;
    WF_MPI(MPI_Initialized(&before));
    if (before)
        return WF_FAIL(WEFT_E_INVALID,
                       "MPI was initialised before; it can be only once");
    wf_launched(&l);
    wf_mpi_forget_failure(o ? o->status_dir : NULL);
    wf_watch *w = watch(o, l.rank, "MPI_Init");
    int rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    wf_watch_stop(w);
    if (rc != MPI_SUCCESS) return wf_mpi_fail(rc, "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (provided < MPI_THREAD_FUNNELED)
        return WF_FAIL(WEFT_E_INFEASIBLE, "this " VERSION " has no thread support "
                                          "(MPI_THREAD_FUNNELED is needed)");
    return WEFT_OK;
}

/* ---- the communicators -------------------------------------------------------------- */

static weft_status make_world(const weft_comm_options *o, mpi_world *w)
{
    w->incoming = MPI_REQUEST_NULL;
    WF_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &w->rank));
    WF_MPI(MPI_Comm_size(MPI_COMM_WORLD, &w->size));
    WF_TRY(check_launcher(w->size));
    if (o && o->status_dir) {
        int64_t n = (int64_t)strlen(o->status_dir) + 1;
        WF_TRY(WF_ALLOC(n, &w->status_dir));
        memcpy(w->status_dir, o->status_dir, (size_t)n);
    }
    return WEFT_OK;
}

static weft_status connect_ranks(mpi_world *w, mpi_comm *c)
{
    MPI_Comm comm;
    WF_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &w->control));
    WF_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (!w->status_dir) WF_TRY(wf_mpi_make_place(w));
    WF_TRY(wf_board_open(&c->base.board, w->status_dir, w->rank));
    c->base.board.temporary = w->temporary;
    WF_TRY(wf_mpi_fill_comm(c, w, comm));
    return wf_mpi_listen(w);
}

static weft_status make_all(const weft_comm_options *o, mpi_world *w, mpi_comm *c)
{
    WF_TRY(make_world(o, w));
    WF_TRY(wf_comm_init(&c->base, &wf_mpi_backend, w->rank, w->size, o));
    wf_watch *watched = watch(o, w->rank, "MPI_Comm_dup");
    weft_status st = connect_ranks(w, c);
    wf_watch_stop(watched);
    return st;
}

static void free_all(mpi_world *w, mpi_comm *c)
{
    wf_comm_clear(&c->base);
    wf_free(c->next_seq);
    wf_free(c);
    wf_free(w->status_dir);
    wf_free(w);
}

weft_status weft_comm_mpi(const weft_comm_options *o, weft_comm **out)
{
    mpi_world *w;
    mpi_comm *c;
    WF_TRY(init_mpi(o));
    WF_TRY(WF_ALLOC(1, &w));
    weft_status st = WF_ALLOC(1, &c);
    if (st != WEFT_OK) {
        wf_free(w);
        return st;
    }
    st = make_all(o, w, c);
    if (st != WEFT_OK) {
        free_all(w, c);
        /* Alone under a wrong launcher, ending in order keeps MPI's own words away. Any
         * other failure is one rank's: ending without MPI_Finalize ends the job. */
        if (st == WEFT_E_MISMATCH) MPI_Finalize();
        return st;
    }
    *out = &c->base;
    return WEFT_OK;
}
