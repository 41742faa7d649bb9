/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_TRAIN_DATA_H
#define WF_TRAIN_DATA_H
#include <weft/run/data.h>

/* A training part of n[WEFT_TRAIN] tokens, then the held-out part. Tokens are u16, or i32
 * where the vocabulary needs it. Immutable once a creating call has returned it. */
struct weft_data {
    void *token;
    int wide;     /* i32 */
    int64_t cap;  /* tokens there is room for; reading only */
    int64_t n[2]; /* by weft_split */
    int64_t seq, vocab;
    int ignore_every; /* 0: every target counts */
    uint64_t seed, order_key;
};

static inline int32_t wf_data_token(const weft_data *d, int64_t i)
{
    return d->wide ? ((const int32_t *)d->token)[i] : ((const uint16_t *)d->token)[i];
}

static inline int64_t wf_data_total(const weft_data *d)
{
    return d->n[WEFT_TRAIN] + d->n[WEFT_HELD_OUT];
}

/* Position k of a permutation of 0..n-1 keyed by (seed, key, epoch). */
int64_t wf_data_permute(uint64_t seed, uint64_t key, int64_t epoch, int64_t n,
                        int64_t k);

/* An empty object; checks --seq. */
weft_status wf_data_new(int64_t seq, uint64_t seed, weft_data **out);
/* Cut the tokens in the two parts; refuses fewer than 2*(seq+1). flag ("--data " or "") and
 * `what` name the source. */
weft_status wf_data_cut(weft_data *d, int64_t total, const char *flag,
                        const char *what);
#endif
