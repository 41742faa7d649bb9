/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `weft doctor`: findings, and the checks that make them. */
#ifndef WF_CMD_DOCTOR_H
#define WF_CMD_DOCTOR_H
#include <weft/export.h>

typedef enum wf_level {
    WF_LEVEL_OK,
    WF_LEVEL_NOTE,  /* worth knowing                     */
    WF_LEVEL_SLOW,  /* a run works, but not as it should */
    WF_LEVEL_BREAKS /* a run would fail                  */
} wf_level;

typedef struct wf_finding {
    const char *name;
    wf_level level;
    char found[256];
    char fix[256]; /* "" when there is nothing to do */
} wf_finding;

enum { WF_MOST_FINDINGS = 40 };

/* The job that is to run here, and what was found. */
typedef struct wf_doctor {
    int ranks, threads; /* on this machine; threads of each rank */
    int n;
    wf_finding finding[WF_MOST_FINDINGS];
} wf_doctor;

/* Add a finding; `fix` is a format too, NULL: nothing to do. */
void wf_found(wf_doctor *d, const char *name, wf_level level, const char *fmt, ...)
    WEFT_PRINTF(4, 5);
void wf_fix(wf_doctor *d, const char *fmt, ...) WEFT_PRINTF(2, 3);

/* CPUs this process may use. */
int wf_allowed_cpus(void);
/* First line of a small file into buf; 0 when it cannot be read. */
int wf_first_line(const char *path, char *buf, int size);

void wf_doctor_cpus(wf_doctor *d); /* mask, quota, oversubscription, load, topology */
void wf_doctor_kernels(wf_doctor *d);   /* instruction sets, oneDNN, BLAS, threads */
void wf_doctor_memory(wf_doctor *d);    /* memory, limits, /tmp                    */
void wf_doctor_shm(wf_doctor *d);       /* /dev/shm: size, leftovers               */
void wf_doctor_mpi(wf_doctor *d);       /* library and launcher, root              */
void wf_doctor_copy(wf_doctor *d);      /* single-copy between processes           */
void wf_doctor_namespace(wf_doctor *d); /* network namespaces, for the tests       */
#endif
