/* SPDX-License-Identifier: Apache-2.0 */
#define T     uint16_t
#define A     float
#define DTYPE WEFT_BF16
#define LD(x) wf_bf16_widen(x)
#define ST(x) wf_bf16_round(x)
#define EXP   expf
#define SQRT  sqrtf
#define TANH  tanhf
#define FABS  fabsf
#define TABLE wf_ref_bf16
#include "kernel/ref/template.inc"
