/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WEFT_FAULT=rank:2,step:3,kind:stop|exit|alloc|cut, for tests: the fault strikes that rank
 * when it notes that step. A comm that has no such rank is not affected.
 *
 *   stop   the rank stops for ever (a process stops itself, a thread sleeps)
 *   exit   the process ends with status 41; a thread's next call fails
 *   alloc  the next call fails as if memory had run out
 *   cut    from here on nothing the rank sends arrives, and nothing arrives at it
 */
#ifndef WF_COMM_FAULT_H
#define WF_COMM_FAULT_H

#include <stdint.h>
#include <weft/run/comm.h>

typedef enum wf_fault_kind {
    WF_FAULT_NONE,
    WF_FAULT_STOP,
    WF_FAULT_EXIT,
    WF_FAULT_ALLOC,
    WF_FAULT_CUT
} wf_fault_kind;

typedef struct wf_fault {
    wf_fault_kind kind;
    int rank;
    int64_t step;
    int struck; /* the step was reached */
} wf_fault;

enum { WF_FAULT_EXIT_STATUS = 41 };

/* NULL or "": none. */
weft_status wf_fault_parse(const char *text, wf_fault *out);
/* This rank is at `step`. Does not return from stop, nor from exit of a process. */
void wf_fault_strike(wf_fault *f, int rank, int64_t step, int is_process);
/* The failure that exit and alloc cause, or WEFT_OK. */
weft_status wf_fault_check(const wf_fault *f);

#endif
