/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one float without a branch or a table, so that a loop over them becomes
 * vectors on any instruction set. */
#ifndef WF_KERNEL_FAST_MATH_H
#define WF_KERNEL_FAST_MATH_H
#include <math.h>

#include "tensor/bf16.h"

#define ROOT_2_OVER_PI 0.79788456f
#define GELU_CUBE      0.044715f

/* e^x = 2^n e^r with n = round(x log2 e), |r| <= ln(2)/2; e^r by its Taylor series to r^7,
 * below half a unit in the last place; n by the trick of adding 1.5*2^23, which leaves it in
 * the low bits. Above ln(FLT_MAX) infinity; below ln(FLT_MIN) zero, where libm returns
 * denormals; NaN stays. At most 2 units in the last place from e^x. */
static inline float fast_exp(float x)
{
    const float shifter = 0x1.8p23f;
    const float shifted = x * 0x1.715476p+0f + shifter;
    const float n = shifted - shifter;
    const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const float y = wf_float(wf_bits(p) + (wf_bits(shifted) << 23));
    const float above = x > 0x1.62e42ep6f ? INFINITY : y;
    const float below = x < -0x1.5d589ep6f ? 0 : above;
    return x != x ? x : below;
}

/* (1 + tanh z)/2 = sigmoid(2z), z = sqrt(2/pi)(x + 0.044715 x^3): no cancellation, no
 * second function. */
static inline float gelu_gate(float x)
{
    const float z2 = 2 * ROOT_2_OVER_PI * x * (1 + GELU_CUBE * x * x);
    return 1 / (1 + fast_exp(-z2));
}
#endif
