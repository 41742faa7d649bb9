/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of single operations, for tests: dropped, doubled, late. */
#ifndef WF_COMM_TAMPER_H
#define WF_COMM_TAMPER_H

#include <weft/run/comm.h>

struct wf_op;

typedef enum wf_tamper_mode { WF_AS_IS, WF_DROP, WF_DOUBLE } wf_tamper_mode;

typedef struct wf_tamper {
    unsigned char mode[WEFT_N_PURPOSES];
    double delay_s[WEFT_N_PURPOSES];
    double jitter_s;
    uint64_t random;
} wf_tamper;

/* Sleep a random time before an operation starts. */
void wf_tamper_wait(wf_tamper *t);
/* What a dropped operation leaves behind: this rank's own part in `out`; a dropped block
 * goes back to its arena. */
void wf_tamper_dropped(struct wf_op *op, int size, int me);

#endif
