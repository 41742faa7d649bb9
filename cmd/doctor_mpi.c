/* SPDX-License-Identifier: Apache-2.0 */
/* MPI library and launcher, single-copy transfers, namespaces. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/doctor.h"

/* ---- launcher ------------------------------------------------------------------- */

/* Real path of a program on PATH; 0 when there is none. */
static int find_program(const char *name, char real[PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path && *path) {
        char candidate[PATH_MAX];
        int n = (int)strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", n, path, name);
        if (!access(candidate, X_OK) && realpath(candidate, real)) return 1;
        path += n + (path[n] == ':');
    }
    return 0;
}

/* Whose launcher a real path is, by the names that both projects install. */
static const char *launcher_of(const char *real)
{
    static const char *const mpich[] = {"hydra", "mpich"};
    static const char *const openmpi[] = {"openmpi", "orterun", "prterun", "ompi"};
    for (int i = 0; i < 2; i++)
        if (strstr(real, mpich[i])) return "mpich";
    for (int i = 0; i < 4; i++)
        if (strstr(real, openmpi[i])) return "openmpi";
    return "unknown";
}

static void check_launcher(wf_doctor *d, const char *library)
{
    char real[PATH_MAX];
    int is_openmpi = !strcmp(library, "openmpi");
    const char *own = is_openmpi ? "mpirun.openmpi" : "mpiexec.hydra";

    if (!find_program("mpirun", real)) {
        int has_own = find_program(own, real);
        wf_found(d, "launcher", has_own ? WF_LEVEL_NOTE : WF_LEVEL_BREAKS,
                 "there is no mpirun on PATH%s%s", has_own ? ", but " : "",
                 has_own ? own : "");
        wf_fix(d, has_own ? "start jobs by %s" : "install %s",
               has_own      ? own
               : is_openmpi ? "openmpi-bin"
                            : "mpich");
        return;
    }
    if (!strcmp(launcher_of(real), library)) {
        wf_found(d, "launcher", WF_LEVEL_OK, "mpirun is %.200s", real);
        return;
    }
    int has_own = find_program(own, real);
    find_program("mpirun", real);
    wf_found(d, "launcher", has_own ? WF_LEVEL_NOTE : WF_LEVEL_BREAKS,
             "mpirun is %.150s: it starts jobs of this build (%s) as N single ranks",
             real, library);
    wf_fix(d, has_own ? "start jobs by %s" : "install the launcher %s", own);
}

static void check_root(wf_doctor *d)
{
    if (geteuid() ||
        (getenv("OMPI_ALLOW_RUN_AS_ROOT") && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
        return;
    wf_found(d, "root", WF_LEVEL_NOTE,
             "Open MPI does not start jobs for root by itself");
    wf_fix(d, "mpirun --allow-run-as-root, or OMPI_ALLOW_RUN_AS_ROOT=1 and "
              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
}

void wf_doctor_mpi(wf_doctor *d)
{
#ifdef WEFT_MPI_NAME
    wf_found(d, "MPI", WF_LEVEL_OK, "this build links %s", WEFT_MPI_NAME);
    check_launcher(d, WEFT_MPI_NAME);
    if (!strcmp(WEFT_MPI_NAME, "openmpi")) check_root(d);
#else
    wf_found(d, "MPI", WF_LEVEL_NOTE,
             "this build links none: jobs stay on this machine");
    wf_fix(d, "build with -DWEFT_MPI=openmpi or mpich");
    (void)check_launcher;
    (void)check_root;
#endif
}

/* ---- single copy ---------------------------------------------------------------- */

static volatile char probe_byte = 42;

/* In a child: read a byte of its sister, as two ranks on one machine do. */
static int read_sister(pid_t sister)
{
    char got = 0;
    struct iovec local = {&got, 1}, remote = {(void *)&probe_byte, 1};
    if (process_vm_readv(sister, &local, 1, &remote, 1, 0) != 1)
        return errno ? errno : EIO;
    return got == 42 ? 0 : EIO;
}

/* errno of the transfer between two children; 0 worked, -1 could not be tried. */
static int try_single_copy(void)
{
    int status, result = -1;
    pid_t sister = fork();
    if (sister < 0) return -1;
    if (!sister) {
        pause();
        _exit(0);
    }
    pid_t reader = fork();
    if (!reader) _exit(read_sister(sister) & 127);
    if (reader > 0 && waitpid(reader, &status, 0) == reader && WIFEXITED(status))
        result = WEXITSTATUS(status);
    kill(sister, SIGKILL);
    waitpid(sister, &status, 0);
    return result;
}

void wf_doctor_copy(wf_doctor *d)
{
    char scope[16] = "absent";
    const char *off = getenv("OMPI_MCA_btl_vader_single_copy_mechanism");
    int result = try_single_copy();

    if (!wf_first_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope))
        strcpy(scope, "absent");
    if (result < 0) {
        wf_found(d, "single copy", WF_LEVEL_NOTE,
                 "could not be tried: no process could be made");
    } else if (!result) {
        wf_found(d, "single copy", WF_LEVEL_OK,
                 "processes may read each other's memory (process_vm_readv)");
    } else {
        int quiet = off && !strcmp(off, "none");
        wf_found(d, "single copy", quiet ? WF_LEVEL_OK : WF_LEVEL_SLOW,
                 "process_vm_readv between ranks: %s (ptrace_scope %s)",
                 strerror(result), scope);
        if (!quiet)
            wf_fix(d,
                   "export OMPI_MCA_btl_vader_single_copy_mechanism=none (docker: or "
                   "--cap-add SYS_PTRACE)");
    }
}

/* ---- namespaces ----------------------------------------------------------------- */

void wf_doctor_namespace(wf_doctor *d)
{
    int status;
    pid_t child = fork();
    if (!child) _exit(unshare(CLONE_NEWNET) ? errno & 127 : 0);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return;
    if (!WEXITSTATUS(status))
        wf_found(d, "namespaces", WF_LEVEL_OK,
                 "network namespaces can be made (tests of hosts)");
    else
        wf_found(d, "namespaces", WF_LEVEL_NOTE,
                 "no network namespaces (%s): tests with several hosts are skipped",
                 strerror(WEXITSTATUS(status)));
}
