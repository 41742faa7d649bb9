/* SPDX-License-Identifier: Apache-2.0 */
/* A weft_shard on each of n ranks. */
#ifndef WEFT_TESTS_SHARD_LAB_H
#define WEFT_TESTS_SHARD_LAB_H
#include <weft/run/shard.h>

#include "claim.h"

typedef weft_status shard_fn(const weft_shard *s, void *ctx);

/* fn on n ranks that form one TP group; fails the test with the words of a failure. */
void on_shards(int n, weft_dtype t, shard_fn *fn, void *ctx);

/* Small integers from -3 to 3, a function of the index. */
double small_integer(int64_t i, int salt);
#endif
