/* SPDX-License-Identifier: Apache-2.0 */
/* Exact calls and bytes of one rank, per axis set and purpose. */
#ifndef WF_COMM_COUNT_H
#define WF_COMM_COUNT_H

#include <weft/run/comm.h>

typedef struct wf_count_set {
    char axes[24];
    int64_t calls[WEFT_N_PURPOSES], bytes[WEFT_N_PURPOSES];
} wf_count_set;

typedef struct wf_count {
    int on;
    wf_count_set *sets; /* [n]; set 0 is "p2p" */
    int64_t n, cap;
} wf_count;

/* The index of an axis set, made when new. */
weft_status wf_count_set_of(wf_count *k, const char *axes, int *out);
void wf_count_add(wf_count *k, int set, weft_purpose why, int64_t bytes);
void wf_count_clear(wf_count *k);

#endif
