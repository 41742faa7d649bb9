/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on ranks that are threads, described in a line of text. */
#ifndef WEFT_TESTS_TRAIN_LAB_H
#define WEFT_TESTS_TRAIN_LAB_H
#include <weft/run/verify.h>

#include "claim.h"

/* The two models of `weft verify --all-layouts`. */
enum { LAB_MODELS = 2 };
extern const char *const lab_models[LAB_MODELS];

/* f64, SGD of rate 0.1 without clipping, every tensor drawn at random, small buckets.
 * Fails the test for a bad model. */
void lab_base(weft_train_config *c, const char *arch);
/* "tp=2 pp=2 m=4 schedule=gpipe": fields of weft_layout and m, the number of
 * micro-batches. Degrees that are not given are 1, seq is the model's positions, m is 1
 * and vocab_multiple 2. Fails the test for an illegal layout. */
void lab_layout(weft_train_config *c, const char *words);
/* The layout as text; a static buffer. */
const char *lab_text(const weft_layout *l);

typedef weft_status lab_fn(weft_comm *comm, void *ctx);
/* Limit of a wait; 120 unless a test sets it. */
extern double lab_timeout_s;
/* fn on every rank of the layout. */
weft_status lab_ranks(const weft_train_config *c, lab_fn *fn, void *ctx);

/* One engine on every rank: opened, handed to fn, closed. before (may be NULL) runs before
 * the engine is made. */
typedef weft_status lab_engine_fn(weft_engine *e, weft_comm *comm, void *ctx);
weft_status lab_engines(const weft_train_config *c, const weft_data *data,
                        void (*before)(weft_comm *comm, void *ctx), lab_engine_fn *fn,
                        void *ctx);

/* One layout verified against the unsplit run. */
typedef struct lab_verify {
    weft_train_config cfg;
    const weft_data *data;
    const weft_reference *ref;
    double tolerance;
    void (*before)(weft_comm *comm, void *ctx); /* on every rank; may be NULL */
    void *ctx;
    weft_verify_report report; /* of rank 0; clear it */
} lab_verify;
weft_status lab_verify_run(lab_verify *v);

double lab_median(double *x, int n); /* sorts x */

/* Ask that other processes do not delay the threads of this one, for tests whose threads
 * mostly sleep. Without the right to it nothing changes. */
void lab_urgent(void);
#endif
