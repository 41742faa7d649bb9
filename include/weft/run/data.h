/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/data.h
 * Tokens: text as bytes, or llm.c / nanoGPT token files; the held-out part; and which
 * sample comes when, a function of the number of samples consumed, never of the rank.
 *
 * The tokens are cut into a training part and a held-out part (the last tenth, at least
 * one sequence). A sample is seq+1 consecutive tokens: seq inputs, and the targets one
 * further. Sample number k of the training part is window perm_e(k mod n) of epoch
 * e = k / n, where n = (tokens - 1) / seq windows that do not overlap and perm_e is a
 * permutation drawn from (seed, e) with Philox. With `consumed` samples before a step,
 * micro-batch j of data-parallel rank r (dp ranks, b sequences each) reads samples
 * consumed + j*dp*b + r*b ... + b-1.
 */
#ifndef WEFT_RUN_DATA_H
#define WEFT_RUN_DATA_H

#include <stdint.h>
#include <weft/writer.h>

WEFT_BEGIN

typedef struct weft_data weft_data;

typedef enum weft_split { WEFT_TRAIN, WEFT_HELD_OUT } weft_split;

/** Read and join files. Text: byte values, vocab 256; a text file with NUL bytes is refused
 *  as binary (offset named). .bin: llm.c (magic 20240520, version 1, u16) or nanoGPT (raw
 *  u16, recognised by the absence of the magic). Empty files, odd sizes, header counts that
 *  do not fit the file, and token >= vocab (vocab 0: derived) are errors that name the file.
 *  Needs at least 2*(seq+1) tokens. */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_read(int n_files, const char *const *path,
                                                    int64_t seq, int64_t vocab, uint64_t seed,
                                                    weft_data **out);
/** Same from memory; bytes are copied. */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_from_text(const char *text, int64_t n, int64_t seq,
                                                         uint64_t seed, weft_data **out);
/** Random tokens, for verify and benchmarks: `samples` samples of each split, keyed by seed;
 *  every `ignore_every`-th target (0: none) is -1, the ignored token. */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_random(int64_t vocab, int64_t seq, int64_t samples,
                                                      int ignore_every, uint64_t seed,
                                                      weft_data **out);
WEFT_API void weft_data_destroy(weft_data *d);
WEFT_API int64_t weft_data_vocab(const weft_data *d);  /**< smallest that holds all tokens; 256 for text */
WEFT_API int64_t weft_data_tokens(const weft_data *d, weft_split s);
WEFT_API int64_t weft_data_samples(const weft_data *d, weft_split s); /**< windows per epoch */
/** tokens[seq], targets[seq] of sample k >= 0 (held-out: windows in order, wrapping). */
WEFT_API void weft_data_sample(const weft_data *d, weft_split s, int64_t k, int32_t *tokens,
                               int32_t *targets);
/** Targets that count (>= 0) in samples k0 .. k0+n-1. */
WEFT_API int64_t weft_data_valid(const weft_data *d, weft_split s, int64_t k0, int64_t n);
/** Cross-entropy in nats per token of the held-out part under an add-one... see data.c:
 *  the empirical conditional entropy H(next | current) of the whole text. */
WEFT_API double weft_data_bigram_entropy(const weft_data *d);

WEFT_END
#endif
