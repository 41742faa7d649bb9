/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded PyTorch run in tests/data. */
#ifndef WEFT_TESTS_NN_TORCH_H
#define WEFT_TESTS_NN_TORCH_H
#include "nn/lab.h"

enum { TORCH_STEPS = 3 };

typedef struct torch_run {
    char arch[160]; /* for weft_arch_parse() */
    int64_t batch, seq;
    double lr;
    int32_t *tokens, *targets;    /* [batch * seq] */
    double loss[TORCH_STEPS + 1]; /* before each step, and after the last */
    lab_map map;
    double *weight; /* the formula's, before the first step */
    double *grad;   /* of the first step */
    double *after;  /* weights after the steps; NaN where the file has none */
} torch_run;

/* Reads the file and checks its names and shapes against the tensor table. */
weft_status torch_read(torch_run *out);
void torch_clear(torch_run *r);
#endif
