/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/run/probe.h
 * Time what the ranks of this machine and the links between them do, and describe it as a
 * weft_machine: what `weft machine measure` writes.
 *
 * Everything is timed by small benchmarks alone, on all ranks at once, since they share
 * memory bandwidth, caches and the vector and matrix units: never from a training run.
 * Operands that a layer has not just made move through a pool larger than the caches of a
 * core, as they do in training.
 * The number kept of each benchmark is the median over its calls and the mean over ranks.
 */
#ifndef WEFT_RUN_PROBE_H
#define WEFT_RUN_PROBE_H

#include <weft/machine.h>
#include <weft/run/comm.h>
#include <weft/run/kernel.h>

WEFT_BEGIN

typedef struct weft_probe_options {
    weft_backend backend;
    int threads; /**< OpenMP threads of a rank                            */
    int n_dtypes;
    weft_dtype dtype[WEFT_N_DTYPES]; /**< [n_dtypes]; the last one's kernels give the
                                          constants of efficiency          */
    double seconds; /**< about how long all of it may take; a slow link and large
                         matmuls, of which at least three calls are timed, may exceed it */
    int quick;      /**< fewer shapes and sizes                              */
} weft_probe_options;

/** What was timed, for whoever wants to know. */
typedef struct weft_probe_report {
    double seconds;   /**< that it took                                      */
    int matmuls;      /**< benchmarks: shapes x variants                     */
    int kernels;      /**< other kernels                                     */
    int messages;     /**< sizes of collectives and messages                 */
    char kernel[128]; /**< weft_kctx_describe()                              */
    char cpus[64];    /**< affinity masks of all ranks, "0-1", "0;1" by rank */
} weft_probe_report;

/**
 * Collective over comm; every rank gets the same machine. Of `out` everything is filled
 * but name, device and source. Ranks of one host are one domain of links; hosts must hold
 * equally many consecutive ranks.
 *
 * @return WEFT_OK; WEFT_E_INVALID for options out of range; WEFT_E_MISMATCH when the ranks
 *         are not spread evenly, with what was found; failures of communication.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_probe_machine(weft_comm *comm,
                                                        const weft_probe_options *o,
                                                        weft_machine *out,
                                                        weft_probe_report *report);

/* ---- the arithmetic of it ---------------------------------------------------------- */

/** One measured message or collective: `steps` * alpha + `bytes` / beta = `seconds`. */
typedef struct weft_timing {
    double steps, bytes, seconds;
} weft_timing;

/**
 * alpha and beta with the least sum of squared relative errors, neither negative: where
 * the free optimum would have a negative one, the best with that one at its bound. Time
 * that does not grow with the size (a pointer handed over) gives a bandwidth at which the
 * largest message takes a hundredth of the fastest one.
 * @return WEFT_OK; WEFT_E_INVALID for fewer than two timings or times not above 0.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_fit_alpha_beta(int n, const weft_timing *t,
                                                         weft_alpha_beta *out);

/**
 * beta alone, with the alpha that a short message gave: of links whose short messages go
 * through buffers and bursts faster than any row of long ones, so that one line through
 * both is neither.
 * @return as weft_fit_alpha_beta(), for fewer than one timing.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_fit_bandwidth(int n, const weft_timing *t,
                                                        double alpha_s,
                                                        double *bytes_per_s);

/**
 * rate = top * k / (k + half_k) by least squares of k/rate = (k + half_k) / top, which is
 * linear. half_k is not below 0, top is not above `peak`.
 * @return WEFT_OK; WEFT_E_INVALID as above.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_fit_half_k(int n, const double *k,
                                                     const double *rate, double peak,
                                                     double *top, double *half_k);

/** Median of x [n], which is reordered; n >= 1. */
WEFT_API double weft_median(int n, double *x);

WEFT_END
#endif
