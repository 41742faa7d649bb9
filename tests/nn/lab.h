/* SPDX-License-Identifier: Apache-2.0 */
/* One chunk on one rank, and what the ranks of a TP group hold, put together again. */
#ifndef WEFT_TESTS_NN_LAB_H
#define WEFT_TESTS_NN_LAB_H
#include <weft/run/nn.h>

#include "claim.h"

typedef struct lab_spec {
    const char *arch;       /* as weft_arch_parse() takes it */
    int64_t batch, seq;     /* of a micro-batch */
    int64_t n_micro;        /* 0 means 1 */
    int64_t vocab_multiple; /* padding unit of one TP rank, 0 means 1 */
    weft_dtype t;
    double exact;
    int random_all;
    uint64_t seed;
} lab_spec;

/* A whole model as one chunk; TP over all ranks of the comm. */
typedef struct lab {
    weft_arch arch;
    weft_comm *comm;
    weft_arena *arena;
    weft_kctx *k;
    weft_group *tp;
    weft_chunk chunk;
} lab;

/* All of `spec`'s model on this rank of `comm`. On failure nothing is left. */
weft_status lab_open(weft_comm *comm, const lab_spec *spec, lab *out);
void lab_close(lab *l);

/* comm with TP over ranks 0 .. n-1 of it. */
weft_status lab_group(weft_comm *comm, int n, const char *axes, weft_group **out);

/* Logical tensors one after the other in the order of the tensor table. */
typedef struct lab_map {
    weft_arch arch;
    int n_tensors;
    int64_t *at; /* [n_tensors + 1] */
} lab_map;
weft_status lab_map_create(const weft_arch *a, lab_map *out);
void lab_map_clear(lab_map *m);
int lab_map_find(const lab_map *m, const weft_tensor_info *t); /* -1: none */

enum { LAB_WEIGHTS, LAB_GRADS };

/* What a rank holds, at its logical places in x [at[n_tensors]]; the rest is untouched. */
weft_status lab_read(const weft_chunk *c, const lab_map *m, int what, double *x);
/* The reverse, into the weights. */
weft_status lab_write(weft_chunk *c, const lab_map *m, const double *x);

/* n ranks as threads; arrays of one double per logical element, one for each rank. */
typedef struct lab_shards {
    int n;
    int64_t len;
    double *x; /* [n][len], NaN where a rank holds nothing */
} lab_shards;
weft_status lab_shards_create(int n, int64_t len, lab_shards *out);
void lab_shards_clear(lab_shards *s);
/* One array of what the ranks hold. Fails when an element is held by none, or when two
 * ranks hold different bits. */
weft_status lab_merge(const lab_shards *s, double *out);

/* max |a - b| over max |b|, of elements lo .. hi-1. */
double lab_far(const double *a, const double *b, int64_t lo, int64_t hi);

/* Deterministic tokens below vocab; targets follow, every fifth is -1 when `ignore`. */
void lab_tokens(int64_t n, int64_t vocab, int ignore, uint64_t seed, int32_t *tokens,
                int32_t *targets);
#endif
