/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs, instruction sets, memory, limits, shared memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef WEFT_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "cmd/doctor.h"
#include "cmd/load.h"

/* ---- CPUs ----------------------------------------------------------------------- */

int wf_allowed_cpus(void)
{
    enum { MOST_CPUS = 8192 };
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    int n = 0;
    if (set && !sched_getaffinity(0, size, set)) n = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return n > 0 ? n : 1;
}

/* CPUs that the control group's quota allows; 0: no limit. */
static double cpu_quota(void)
{
    char line[64];
    double quota = 0, period = 0;
    if (wf_first_line("/sys/fs/cgroup/cpu.max", line, sizeof line) &&
        sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0)
        return quota / period;
    return 0; /* "max", or another kind of control group */
}

static int under_launcher(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
}

static void check_mask(wf_doctor *d, int allowed, int online)
{
    if (allowed >= online) {
        wf_found(d, "cpu mask", WF_LEVEL_OK, "all %d CPUs of the machine may be used",
                 online);
    } else if (under_launcher() && allowed < d->threads) {
        wf_found(
            d, "cpu mask", WF_LEVEL_SLOW,
            "the launcher bound this rank to %d of %d CPUs, its %d threads share them",
            allowed, online, d->threads);
        wf_fix(d,
               "mpirun --bind-to none (MPICH: -bind-to none; srun: --cpus-per-task=%d)",
               d->threads);
    } else {
        wf_found(d, "cpu mask", WF_LEVEL_NOTE, "%d of %d CPUs may be used", allowed,
                 online);
    }
}

/* What else runs here: a job's own ranks are no one else. */
static void check_load(wf_doctor *d)
{
    wf_load now;
    int busy = wf_busy(&now);

    if (under_launcher() || now.average < 0) return;
    wf_found(d, "load", busy ? WF_LEVEL_SLOW : WF_LEVEL_OK,
             "the load average is %.2f on %d CPU%s%s", now.average, now.cpus,
             now.cpus == 1 ? "" : "s", busy ? ": something else runs here" : "");
    if (busy)
        wf_fix(
            d,
            "wait for it: ps -e --sort=-pcpu -o pcpu,pid,user,args | head shows what "
            "it is");
}

static void check_ranks(wf_doctor *d, int allowed)
{
    int wanted = d->ranks * d->threads;
    double quota = cpu_quota();
    if (quota > 0 && quota < allowed) {
        wf_found(d, "cpu quota", WF_LEVEL_SLOW,
                 "the control group allows the time of %.3g CPUs, %d are visible",
                 quota, allowed);
        wf_fix(d, "raise cpu.max (docker: --cpus), or use %d thread%s in all",
               quota < 1 ? 1 : (int)quota, quota < 2 ? "" : "s");
    }
    if (under_launcher()) return; /* the mask is one rank's, not the job's */
    if (wanted <= allowed) {
        wf_found(d, "ranks", WF_LEVEL_OK, "%d rank%s x %d thread%s on %d CPU%s",
                 d->ranks, d->ranks == 1 ? "" : "s", d->threads,
                 d->threads == 1 ? "" : "s", allowed, allowed == 1 ? "" : "s");
        return;
    }
    wf_found(d, "ranks", WF_LEVEL_SLOW, "%d rank%s x %d thread%s = %d on %d CPU%s",
             d->ranks, d->ranks == 1 ? "" : "s", d->threads, d->threads == 1 ? "" : "s",
             wanted, allowed, allowed == 1 ? "" : "s");
    wf_fix(d, "fine for tests; under Open MPI add --oversubscribe --mca "
              "mpi_yield_when_idle 1 "
              "(9x latency without)");
}

#ifdef WEFT_HAVE_HWLOC
static void check_topology(wf_doctor *d)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t)) return;
    if (!hwloc_topology_load(t)) {
        int cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
        int units = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
        wf_found(d, "topology", WF_LEVEL_NOTE,
                 "%d package(s), %d NUMA node(s), %d core(s), %d hardware thread(s)",
                 hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE),
                 hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE), cores, units);
        if (units > cores)
            wf_fix(d,
                   "GEMM gains little from the second thread of a core: %d thread%s in "
                   "all",
                   cores, cores == 1 ? "" : "s");
    }
    hwloc_topology_destroy(t);
}
#endif

void wf_doctor_cpus(wf_doctor *d)
{
    int allowed = wf_allowed_cpus(), online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    check_mask(d, allowed, online);
    check_ranks(d, allowed);
    check_load(d);
#ifdef WEFT_HAVE_HWLOC
    check_topology(d);
#endif
}

/* ---- kernels -------------------------------------------------------------------- */

static int has_flag(const char *flags, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = flags; (s = strstr(s, name)); s += n)
        if ((s == flags || s[-1] == ' ') && (s[n] == ' ' || s[n] == '\n' || !s[n]))
            return 1;
    return 0;
}

/* The "flags" line of /proc/cpuinfo; free it. */
static char *cpu_flags(void)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char *line = NULL;
    size_t size = 0;
    int found = 0;
    while (f && !found && getline(&line, &size, f) > 0)
        found = !strncmp(line, "flags", 5) || !strncmp(line, "Features", 8);
    if (f) fclose(f);
    if (found) return line;
    free(line);
    return NULL;
}

static void check_isa(wf_doctor *d)
{
    static const char *const sets[] = {"avx2", "avx512f", "avx512_bf16", "amx_bf16"};
    char text[128] = "";
    char *flags = cpu_flags();
    int n = 0,
        bf16 = flags && (has_flag(flags, "amx_bf16") || has_flag(flags, "avx512_bf16"));

    for (int i = 0; flags && i < 4; i++)
        if (has_flag(flags, sets[i]))
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", n ? " " : "",
                          sets[i]);
    free(flags);
    wf_found(d, "instructions", bf16 ? WF_LEVEL_OK : WF_LEVEL_NOTE, "%s",
             n ? text : "none of avx2, avx512, amx");
    if (!bf16) wf_fix(d, "no bf16 instructions: --dtype f32 is faster here than bf16");
}

static void check_threads(wf_doctor *d)
{
    const char *omp = getenv("OMP_NUM_THREADS");
    long n = omp ? strtol(omp, NULL, 10) : 0;
    if (n <= 1 || n * d->ranks <= wf_allowed_cpus()) return;
    wf_found(d, "threads", WF_LEVEL_NOTE,
             "OMP_NUM_THREADS=%ld x %d rank%s is more than %d CPU%s; weft sets each "
             "rank's own count",
             n, d->ranks, d->ranks == 1 ? "" : "s", wf_allowed_cpus(),
             wf_allowed_cpus() == 1 ? "" : "s");
}

void wf_doctor_kernels(wf_doctor *d)
{
    check_isa(d);
#ifdef WEFT_HAVE_RUN
#ifdef WEFT_WITH_BLAS
    wf_found(d, "BLAS", WF_LEVEL_OK, "linked, for f32 and f64 GEMM");
#else
    wf_found(d, "BLAS", WF_LEVEL_SLOW, "this build has none: f64 runs on plain loops");
    wf_fix(d, "install libopenblas-dev and build with -DWEFT_BLAS=ON");
#endif
#ifdef WEFT_WITH_ONEDNN
    wf_found(d, "oneDNN", WF_LEVEL_OK, "linked, for f32 and bf16 GEMM");
#else
    wf_found(d, "oneDNN", WF_LEVEL_SLOW,
             "this build has none: bf16 runs on plain loops");
    wf_fix(d, "install libdnnl-dev and build with -DWEFT_ONEDNN=ON");
#endif
#else
    wf_found(d, "libweft-run", WF_LEVEL_NOTE,
             "this build has none: it plans and draws only");
    wf_fix(d, "build with -DWEFT_RUN=ON");
#endif
    check_threads(d);
}

/* ---- memory and limits ---------------------------------------------------------- */

static double available_memory(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    double kib = 0;
    while (f && fgets(line, sizeof line, f) &&
           sscanf(line, "MemAvailable: %lf", &kib) != 1)
        ;
    if (f) fclose(f);
    return kib * 1024;
}

static double cgroup_limit(void)
{
    char line[64];
    double bytes = 0;
    if (wf_first_line("/sys/fs/cgroup/memory.max", line, sizeof line))
        sscanf(line, "%lf", &bytes);
    return bytes; /* 0 for "max" */
}

static void check_memory(wf_doctor *d)
{
    double gib = 1024.0 * 1024 * 1024, free_bytes = available_memory(),
           limit = cgroup_limit();
    double usable = limit > 0 && limit < free_bytes ? limit : free_bytes;
    int little = usable < d->ranks * 0.0625 * gib;
    wf_found(d, "memory", little ? WF_LEVEL_BREAKS : WF_LEVEL_OK,
             "%.3g GiB can be used%s, %.3g GiB a rank", usable / gib,
             usable == limit ? " (the control group's limit)" : "",
             usable / gib / d->ranks);
    if (little)
        wf_fix(
            d,
            "fewer ranks, or more memory; weft train --dry-run says what a rank needs");
}

/* "8 MiB": buf >= 24 bytes. */
static const char *size_text(double bytes, char *buf)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    snprintf(buf, 24, bytes < 100 ? "%.3g %s" : "%.0f %s", bytes, unit[u]);
    return buf;
}

static const char *count_text(double count, char *buf)
{
    snprintf(buf, 24, "%.0f", count);
    return buf;
}

static void check_limit(wf_doctor *d, int which, const char *name, double need,
                        const char *(*text)(double, char *), wf_level level,
                        const char *fix)
{
    struct rlimit limit;
    char a[24], b[24];
    if (getrlimit(which, &limit)) return;
    double has = (double)limit.rlim_cur;
    if (limit.rlim_cur == RLIM_INFINITY) {
        wf_found(d, name, WF_LEVEL_OK, "no limit");
    } else if (has >= need) {
        wf_found(d, name, WF_LEVEL_OK, "%s", text(has, a));
    } else {
        wf_found(d, name, level, "%s, %s are needed", text(has, a), text(need, b));
        wf_fix(d, "%s", fix);
    }
}

static int is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void check_temp(wf_doctor *d)
{
    enum { LONGEST = 60 }; /* sockets below it have at most 108 bytes */
    const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (access(dir, W_OK | X_OK)) {
        wf_found(d, "temporary", WF_LEVEL_BREAKS, "%.100s cannot be written", dir);
        wf_fix(d, "set TMPDIR to a folder that can");
    } else if (strlen(dir) > LONGEST) {
        wf_found(d, "temporary", WF_LEVEL_BREAKS,
                 "TMPDIR has %zu characters: socket paths below it may pass 108",
                 strlen(dir));
        wf_fix(d, "export TMPDIR=/tmp");
    } else {
        wf_found(d, "temporary", WF_LEVEL_OK, "%s can be written", dir);
    }
}

void wf_doctor_memory(wf_doctor *d)
{
    int infiniband = is_folder("/sys/class/infiniband");
    check_memory(d);
    check_limit(d, RLIMIT_NOFILE, "open files", 64 + 16.0 * d->ranks, count_text,
                WF_LEVEL_BREAKS, "ulimit -n 4096");
    if (infiniband)
        check_limit(
            d, RLIMIT_MEMLOCK, "locked memory", 1 << 30, size_text, WF_LEVEL_BREAKS,
            "InfiniBand registers buffers: ulimit -l unlimited, or limits.conf");
    else
        check_limit(d, RLIMIT_MEMLOCK, "locked memory", 0, size_text, WF_LEVEL_NOTE,
                    "");
    /* a process maps libraries once, a work area and buffers for every thread */
    check_limit(d, RLIMIT_AS, "address space",
                (1 + 0.1875 * d->ranks * d->threads) * (1 << 30), size_text,
                WF_LEVEL_BREAKS, "ulimit -v unlimited");
    check_temp(d);
}

/* ---- /dev/shm ------------------------------------------------------------------- */

/* Segments of jobs whose process is gone: their names end in, or hold, a process id. */
static int left_over(const char *name)
{
    static const char *const prefix[] = {"vader_segment.", "sm_segment.", "psm2_shm.",
                                         "mpich_shar_tmp"};
    for (int i = 0; i < 4; i++)
        if (!strncmp(name, prefix[i], strlen(prefix[i]))) return 1;
    return 0;
}

static void check_left_over(wf_doctor *d)
{
    DIR *dir = opendir("/dev/shm");
    int n = 0;
    char first[64] = "";
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!left_over(e->d_name)) continue;
        if (!n++) snprintf(first, sizeof first, "%.63s", e->d_name);
    }
    if (dir) closedir(dir);
    if (!n) return;
    wf_found(d, "left over", WF_LEVEL_NOTE,
             "%d shared segment(s) in /dev/shm, such as %s", n, first);
    wf_fix(d, "if no MPI job runs now they are a killed job's: remove them");
}

void wf_doctor_shm(wf_doctor *d)
{
    const double need = 16.0 * 1024 * 1024 * d->ranks;
    struct statvfs fs;
    char a[24], b[24];
    if (statvfs("/dev/shm", &fs)) {
        wf_found(d, "shared memory", WF_LEVEL_BREAKS, "/dev/shm is missing");
        wf_fix(d, "mount -t tmpfs tmpfs /dev/shm, or one process without MPI (weft "
                  "train alone)");
        return;
    }
    double free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    if (free_bytes < need) {
        wf_found(d, "shared memory", WF_LEVEL_BREAKS,
                 "/dev/shm has %s free, %d ranks under MPI need about %s (bus error)",
                 size_text(free_bytes, a), d->ranks, size_text(need, b));
        wf_fix(d, "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm");
    } else {
        wf_found(d, "shared memory", WF_LEVEL_OK, "/dev/shm has %s free",
                 size_text(free_bytes, a));
    }
    check_left_over(d);
}
