/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_LOAD_H
#define WF_CMD_LOAD_H

/* Does something else run on this machine? Yes where more than half of its CPUs have had
 * work for the last minute: what is measured then is too slow. 0 also where the system
 * does not tell. */
typedef struct wf_load {
    double average; /* threads that had work; below 0: not known */
    int cpus;
} wf_load;
int wf_busy(wf_load *out);
/* "the load average is 6.40 on 2 CPUs: something else runs here, and `what`" as a note, if
 * so; a job of MPI asks once, by the rank that speaks. */
void wf_note_load(const char *command, const char *what);
#endif
