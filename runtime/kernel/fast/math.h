/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one float without a branch or a table, so that a loop over them becomes
 * vectors on any instruction set. */
#ifndef WF_KERNEL_FAST_MATH_H
#define WF_KERNEL_FAST_MATH_H
#include <math.h>

#include "tensor/bf16.h"

#define ROOT_2_OVER_PI 0.79788456f
#define GELU_CUBE      0.044715f

/* e^x = 2^n e^r with n = round(x log2 e), |r| <= ln(2)/2. n by adding 1.5*2^23, which leaves
 * it in the low bits; ln 2 in two parts, the first short enough that n times it is exact;
 * e^r = 1 + r + r^2 q(r), q of degree 4 through the Chebyshev points (1.1e-8 off at most).
 * Within 2 units in the last place of e^x. Infinity from 127.5 ln 2 = 88.38 on, zero below
 * -126.5 ln 2 = -87.68; NaN stays. */
static inline float fast_exp(float x)
{
    const float shifter = 0x1.8p23f;
    const float low = x < -88.0f ? -88.0f : x;  /* n -127: the exponent bits of zero */
    const float in = low > 89.0f ? 89.0f : low; /* n 128: those of infinity */
    const float shifted = in * 0x1.715476p+0f + shifter;
    const float n = shifted - shifter;
    const float r = (in - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    float p = 0x1.6d112cp-10f;
    p = p * r + 0x1.120b9p-7f;
    p = p * r + 0x1.55551ap-5f;
    p = p * r + 0x1.5554dcp-3f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * wf_float((wf_bits(shifted) << 23) + 0x3f800000u);
}

/* (1 + tanh z)/2 = sigmoid(2z), z = sqrt(2/pi)(x + 0.044715 x^3): no cancellation, no
 * second function. */
static inline float gelu_gate(float x)
{
    const float z2 = 2 * ROOT_2_OVER_PI * x * (1 + GELU_CUBE * x * x);
    return 1 / (1 + fast_exp(-z2));
}
#endif
