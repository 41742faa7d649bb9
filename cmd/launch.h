/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_LAUNCH_H
#define WF_CMD_LAUNCH_H
#include <weft/layout.h>
#include <weft/run/comm.h>

#include "cmd/options.h"

/* One job on many ranks: threads of this process, or the processes of an MPI launcher. */
typedef struct wf_job {
    const char *command;
    char program[32]; /* "weft train", for the comm's own words */
    const char *comm; /* --comm: auto, loop, mpi */
    double timeout_s;
    const char *status_dir;
    weft_comm *world; /* MPI: open between wf_job_open and wf_job_run */
    int hung;         /* a rank thread may still run */
} wf_job;

/* Option rows that every job has: --comm, --timeout, --status-dir. */
enum { WF_JOB_ROWS = 3 };
void wf_job_options(wf_job *job, wf_option rows[WF_JOB_ROWS]);

/* Find out where we run. *world: ranks that the launcher started, 0 when this process
 * alone decides. Returns 0, or 1 with the exit status set. */
int wf_job_open(wf_job *job, int *world, int *exit_code);

/* Every rank comes here after its own preparation, with what came of it. Ranks agree, the
 * lowest rank that failed prints its message, and all return the same exit status; 0 = go. */
int wf_job_agree(wf_job *job, weft_status st, int *exit_code);

/* Run rank() on n ranks (MPI: the first n) and return the exit status. */
int wf_job_run(wf_job *job, int n, weft_status (*rank)(weft_comm *comm, void *ctx),
               void *ctx);

/* Make OpenMP's threads sleep, not spin, where the user has not chosen: starts the program
 * over with the environment that says so. First thing in main(), with its argv. */
void wf_job_calm(char **argv);

/* Is this the process that may write to stdout? */
int wf_job_speaks(const wf_job *job);
/* The last call of a command. After a rank that hung it ends the program, with status 3:
 * the libraries' own exit handlers are not for threads that are still inside them. */
void wf_job_close(wf_job *job);

/* SIGINT and SIGTERM ask for a clean end; 1 once one has come. The process that speaks
 * says so: at once, or under MPI, whose launchers end failing jobs by them too, after the
 * time that those have left. A second signal ends it at once. */
void wf_catch_signals(const wf_job *job);
int wf_signalled(void);
/* Other words have told of it: those of the signal are not needed any more. */
void wf_signal_answered(void);
/* From here on they end the process at once: nothing is left to be kept whole. */
void wf_let_signals_end(void);
#endif
