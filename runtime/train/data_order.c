/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data.h"

#include <weft/run/random.h>

/*
 * The order of an epoch without a table: Hoang, Morris and Rogaway's swap-or-not shuffle
 * (An enciphering scheme based on a card shuffle, CRYPTO 2012). Round i pairs position x
 * with partner K_i - x mod n and swaps the two on the toss of a coin that both share, so
 * each round is a permutation, for any n. Any rank or thread can ask for any position at
 * any time: nothing is cached, locked or allocated, and an epoch costs no memory.
 */
enum { ROUNDS = 64 };

int64_t wf_data_permute(uint64_t seed, uint64_t key, int64_t epoch, int64_t n,
                        int64_t k)
{
    uint64_t epoch_key = weft_random_bits(seed, key, (uint64_t)epoch);
    uint64_t coin_key = epoch_key ^ 1; /* a site of its own beside the round keys */
    uint64_t m = (uint64_t)n, x = (uint64_t)k;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t pivot = weft_random_below(seed, epoch_key, i, m);
        uint64_t partner = pivot >= x ? pivot - x : pivot + (m - x);
        uint64_t hi = x > partner ? x : partner;
        if (weft_random_bits(seed, coin_key, hi * ROUNDS + i) & 1) x = partner;
    }
    return (int64_t)x;
}
