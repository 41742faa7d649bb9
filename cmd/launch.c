/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "cmd/launch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/run/exec.h>

#include "base/error.h"

/* OpenMP's threads spin at the end of every parallel loop by default: ten times slower as
 * soon as one core is busy with something else. The run-time reads its environment when
 * the program is loaded, so the only way to ask for sleep is to start over, once. */
void wf_job_calm(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    if (setenv("OMP_WAIT_POLICY", "passive", 1)) return;
    execv("/proc/self/exe", argv); /* on failure: go on as we are */
}

static volatile sig_atomic_t caught;
static char asked[96]; /* what the first signal is answered with */
static size_t n_asked;

/* A launcher ends a failing job by the same signals, and kills what is left of it a second
 * later: its ranks answer when that time is over. */
enum { LAUNCHER_S = 2 };
static int answer_late;

static void answer(int sig)
{
    int kept = errno;
    ssize_t n = write(STDERR_FILENO, asked, n_asked);
    (void)sig;
    (void)n; /* nobody listens */
    errno = kept;
}

static void on_signal(int sig)
{
    if (caught) _exit(128 + sig); /* a second one does not wait */
    caught = sig;
    if (answer_late)
        alarm(LAUNCHER_S);
    else
        answer(sig);
}

static void handle_signals(void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

void wf_catch_signals(const wf_job *job)
{
    n_asked = 0;
    if (wf_job_speaks(job))
        n_asked = (size_t)snprintf(asked, sizeof asked,
                                   "weft %s: stopping after this step; a second signal "
                                   "ends it at once\n",
                                   job->command);
    answer_late = job->world && n_asked;
    if (answer_late) {
        struct sigaction late = {.sa_handler = answer, .sa_flags = SA_RESTART};
        sigemptyset(&late.sa_mask);
        sigaction(SIGALRM, &late, NULL);
    }
    handle_signals(on_signal);
}

void wf_signal_answered(void)
{
    if (answer_late) alarm(0);
}

void wf_let_signals_end(void)
{
    wf_signal_answered();
    handle_signals(SIG_DFL);
}

int wf_signalled(void)
{
    return caught != 0;
}

void wf_job_options(wf_job *job, wf_option rows[WF_JOB_ROWS])
{
    job->comm = "auto";
    job->timeout_s = 300;
    rows[0] = (wf_option){
        "comm",
        .type = WF_OPT_CHOICE,
        .out = &job->comm,
        .arg = "NAME",
        .choices = "auto loop mpi",
        .help = "ranks are threads (loop) or MPI processes; auto: mpi under "
                "mpirun or srun"};
    rows[1] = (wf_option){"timeout",
                          .type = WF_OPT_NUMBER,
                          .out = &job->timeout_s,
                          .arg = "S",
                          .unit = WF_SECONDS,
                          .min = 0.1,
                          .max = 1e6,
                          .help = "longest wait for another rank before the job ends"};
    rows[2] = (wf_option){
        "status-dir", .type = WF_OPT_TEXT, .out = &job->status_dir, .arg = "DIR",
        .help = "keep a status file per rank here: step, op, what it waits for (MPI on "
                "one host: a folder in TMPDIR)"};
}

/* A call of MPI that cannot be polled did not come back. One rank has the words; the
 * others let it speak first. */
static void on_stuck(const char *message)
{
    if (*message)
        fprintf(stderr, "%s\n", message);
    else
        sleep(1);
    _exit(WF_EXIT_FAULT);
}

static weft_comm_options options(wf_job *job)
{
    snprintf(job->program, sizeof job->program, "weft %s", job->command);
    return (weft_comm_options){.timeout_s = job->timeout_s,
                               .status_dir = job->status_dir,
                               .program = job->program,
                               .on_stuck = on_stuck};
}

int wf_job_open(wf_job *job, int *world, int *exit_code)
{
    int launched = weft_mpi_launched(NULL);
    weft_comm_options o = options(job);

    *world = 0;
    if (!strcmp(job->comm, "loop") || (!strcmp(job->comm, "auto") && !launched))
        return 0;
    weft_status st = weft_comm_mpi(&o, &job->world);
    if (st != WEFT_OK) {
        *exit_code =
            *weft_status_message() ? wf_cmd_fail(job->command, st) : WF_EXIT_USAGE;
        return 1;
    }
    *world = weft_comm_size(job->world);
    return 0;
}

/* The lowest rank that failed, or -1. */
static weft_status first_failed(weft_comm *c, int failed, int *rank)
{
    double key = failed ? -(double)weft_comm_rank(c) : -INFINITY;
    weft_group *world;
    weft_event ev = {0};

    WF_TRY(weft_group_world(c, &world));
    weft_status st =
        weft_all_reduce(world, WEFT_FOR_CONTROL, &key, 1, WEFT_F64, WEFT_MAX, &ev);
    if (st == WEFT_OK) st = weft_wait(c, &ev);
    weft_group_destroy(world);
    *rank = isinf(key) ? -1 : (int)-key;
    return st;
}

int wf_job_agree(wf_job *job, weft_status st, int *exit_code)
{
    int rank;

    if (!job->world) {
        if (st == WEFT_OK) return 0;
        *exit_code = wf_cmd_fail(job->command, st);
        return 1;
    }
    char message[1024];
    snprintf(message, sizeof message, "%s", weft_status_message());
    if (first_failed(job->world, st != WEFT_OK, &rank) != WEFT_OK) {
        *exit_code = WF_EXIT_FAULT;
        weft_comm_abort(job->world, WEFT_E_TIMEOUT, weft_status_message(), 1);
        return 1; /* not reached where the back end can end the job */
    }
    if (rank < 0) return 0;
    *exit_code = WF_EXIT_USAGE;
    if (rank == weft_comm_rank(job->world)) {
        st = WF_FAIL(st, "%s", message);
        *exit_code = wf_cmd_fail(job->command, st);
    }
    return 1;
}

static int run_mpi(wf_job *job, int n, weft_status (*rank)(weft_comm *comm, void *ctx),
                   void *ctx)
{
    weft_comm *c = NULL;
    weft_status st = weft_comm_first(job->world, n, &c);

    if (st == WEFT_OK && c) st = rank(c, ctx);
    if (st == WEFT_OK) {
        weft_comm_destroy(c);
        return WF_EXIT_OK;
    }
    char message[1024];
    snprintf(message, sizeof message, "%s", weft_status_message());
    n_asked = 0; /* no step follows */
    weft_comm_abort(job->world, st, message, 1);
    return WF_EXIT_FAULT; /* not reached where the back end can end the job */
}

int wf_job_run(wf_job *job, int n, weft_status (*rank)(weft_comm *comm, void *ctx),
               void *ctx)
{
    weft_comm_options o = options(job);

    if (job->world) return run_mpi(job, n, rank, ctx);
    o.yield = sysconf(_SC_NPROCESSORS_ONLN) < n;
    weft_status st = weft_loop_run(n, &o, rank, ctx);
    if (st == WEFT_OK) return WF_EXIT_OK;
    job->hung = st == WEFT_E_TIMEOUT;
    wf_cmd_fail(job->command, st);
    /* Files were opened before: one that fails now is a fault of the machine. */
    return st == WEFT_E_INVALID ? WF_EXIT_USAGE : WF_EXIT_FAULT;
}

int wf_job_speaks(const wf_job *job)
{
    return !job->world || weft_comm_rank(job->world) == 0;
}

void wf_job_close(wf_job *job)
{
    weft_comm_destroy(job->world);
    job->world = NULL;
    if (!job->hung) return;
    fflush(stdout);
    _exit(WF_EXIT_FAULT);
}
