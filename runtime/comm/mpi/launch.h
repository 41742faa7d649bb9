/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about who started this process; no MPI needed. */
#ifndef WF_COMM_LAUNCH_H
#define WF_COMM_LAUNCH_H

#include <weft/run/comm.h>

typedef struct wf_launch {
    const char *name;
    int size; /* 0: not said */
    int rank; /* what the launcher calls this process */
} wf_launch;

/* A launcher ends all processes when the first one fails: where every process fails by one
 * cause, those that are not rank 0 wait this long, so that its words get out. */
#define WF_SPEAK_FIRST_S 1.0

/* 1 and *out when a launcher started this process; else 0. */
int wf_launched(wf_launch *out);

#endif
