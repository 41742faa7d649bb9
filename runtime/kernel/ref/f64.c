/* SPDX-License-Identifier: Apache-2.0 */
#define T     double
#define A     double
#define DTYPE WEFT_F64
#define LD(x) (x)
#define ST(x) (x)
#define EXP   exp
#define SQRT  sqrt
#define TANH  tanh
#define FABS  fabs
#define TABLE wf_ref_f64
#include "kernel/ref/template.inc"
