/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_EXEC_STASH_H
#define WF_EXEC_STASH_H
#include <weft/run/nn.h>

/* The weights of a chunk under an asynchronous schedule: the newest, and those older ones
 * that a micro-batch in flight has seen in its forward and needs in its backward
 * (Narayanan et al. 2019, PipeDream, section 3.3, weight stashing). A version goes when its
 * last backward is done. */
typedef struct wf_version {
    void *w;     /* [n_elems], PARAM; NULL: free */
    int n_users; /* micro-batches between their forward and their backward */
} wf_version;

typedef struct wf_stash {
    weft_chunk *chunk;
    int n, newest;
    wf_version *version; /* [n] */
    int *seen;           /* [n_micro] version of a micro-batch in flight */
} wf_stash;

/* n: versions that may exist at once, as the schedule says. */
weft_status wf_stash_init(wf_stash *s, weft_chunk *c, int n) WEFT_MUST_CHECK;
void wf_stash_clear(wf_stash *s);
/* A forward sees the newest. */
void wf_stash_see(wf_stash *s, int64_t micro);
/* The chunk gets the weights that the micro-batch saw, for its backward; */
void wf_stash_recall(wf_stash *s, int64_t micro);
/* ... and the newest again, which may be written: a copy where another micro-batch needs
 * what it was. */
weft_status wf_stash_renew(wf_stash *s, int64_t micro) WEFT_MUST_CHECK;
#endif
