/* SPDX-License-Identifier: Apache-2.0 */
#define T     float
#define A     float
#define DTYPE WEFT_F32
#define LD(x) (x)
#define ST(x) (x)
#define EXP   expf
#define SQRT  sqrtf
#define TANH  tanhf
#define FABS  fabsf
#define TABLE wf_ref_f32
#include "kernel/ref/template.inc"
