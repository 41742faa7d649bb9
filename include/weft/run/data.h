/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/data.h
 * Tokens: text as bytes, or llm.c / nanoGPT token files; the held-out part; and which
 * sample comes when, a function of the number of samples consumed, never of the rank.
 *
 * The tokens are cut into a training part and a held-out part (the last tenth, at least
 * one sequence). A sample is seq+1 consecutive tokens: seq inputs, and the targets one
 * further. A part of t tokens has n = (t - 1) / seq windows; window w starts at token
 * w*seq, so that every target is learned once and the last (t - 1) mod seq tokens never.
 *
 * Sample k of the training part is window perm_e(k mod n) of epoch e = k / n; perm_e is a
 * permutation of 0..n-1 keyed by (seed, e). With `consumed` samples before a step,
 * micro-batch j of data-parallel rank r (dp ranks, b sequences each) reads samples
 * consumed + (j*dp + r)*b + 0..b-1: see weft_data_first(). Samples never run out: a step
 * that reaches the end of an epoch takes the rest of its batch from the next one, so no
 * sample is dropped or repeated and every rank has the same number in every step.
 *
 * A weft_data never changes once made: threads may share one without a lock.
 */
#ifndef WEFT_RUN_DATA_H
#define WEFT_RUN_DATA_H

#include <stdint.h>
#include <weft/status.h>

WEFT_BEGIN

typedef struct weft_data weft_data;

typedef enum weft_split { WEFT_TRAIN, WEFT_HELD_OUT } weft_split;

/**
 * Read and join files, all of one kind. Token files are those named *.bin or that begin
 * with a magic number of llm.c: 20240520 version 1 (u16), 20240801 version 7 (u32); a
 * *.bin without one is raw u16 (nanoGPT). Any other file is text: one token a byte.
 *
 * @param seq    sequence length, >= 1; at least 2*(seq+1) tokens are needed
 * @param vocab  tokens must be below it (text: 256 or more); 0: derived from the tokens
 *               (text: 256)
 * @return WEFT_E_IO: a file cannot be read. WEFT_E_INVALID, naming file and offset: empty
 *         file, directory, text with a NUL byte (binary), odd size, a header that does not
 *         fit the file, a token out of range, kinds mixed, too few tokens.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_read(int n_files,
                                                    const char *const *path,
                                                    int64_t seq, int64_t vocab,
                                                    uint64_t seed, weft_data **out);
/** Same from memory, as text (NUL bytes are refused); the bytes are copied. */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_from_text(const char *text, int64_t n,
                                                         int64_t seq, uint64_t seed,
                                                         weft_data **out);
/** Random tokens below vocab, for verify and benchmarks: `samples` windows in each split,
 *  keyed by seed. Every ignore_every-th target of a part (0: none; 1 is refused) is -1, the
 *  ignored token. */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_random(int64_t vocab, int64_t seq,
                                                      int64_t samples, int ignore_every,
                                                      uint64_t seed, weft_data **out);
WEFT_API void weft_data_destroy(weft_data *d);

/** The vocab given; else 256 for text, else the smallest that holds all tokens. */
WEFT_API int64_t weft_data_vocab(const weft_data *d);
WEFT_API int64_t weft_data_seq(const weft_data *d);
WEFT_API int64_t weft_data_tokens(const weft_data *d, weft_split s);
WEFT_API int64_t weft_data_samples(const weft_data *d,
                                   weft_split s); /**< windows a part has */

/** First sample of micro-batch `micro` on data-parallel rank `dp_rank`. */
WEFT_API int64_t weft_data_first(int64_t consumed, int64_t micro, int64_t dp,
                                 int64_t dp_rank, int64_t micro_batch);
/** Window of sample k >= 0; held-out windows come in order and wrap. */
WEFT_API int64_t weft_data_window(const weft_data *d, weft_split s, int64_t k);
/** tokens[seq] and targets[seq] of sample k >= 0; either may be NULL (a middle stage needs
 *  neither, the first only tokens, the last only targets). */
WEFT_API void weft_data_sample(const weft_data *d, weft_split s, int64_t k,
                               int32_t *tokens, int32_t *targets);
/** Targets that count (>= 0) in samples k0 .. k0+n-1. */
WEFT_API int64_t weft_data_valid(const weft_data *d, weft_split s, int64_t k0,
                                 int64_t n);

/** H(next | current) of all tokens in nats per token: the sum over pairs (a, b) of
 *  neighbours of count(a,b)/N * ln(count(a)/count(a,b)), N pairs. No model that sees only
 *  the current token can have a lower mean loss on this text. */
WEFT_API WEFT_MUST_CHECK weft_status weft_data_bigram_entropy(const weft_data *d,
                                                              double *out);

WEFT_END
#endif
