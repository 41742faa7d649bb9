/* SPDX-License-Identifier: Apache-2.0 */
/* bf16 conversions in line, for loops that a compiler shall vectorise: no branch, only
 * integer operations and one select. */
#ifndef WF_TENSOR_BF16_H
#define WF_TENSOR_BF16_H
#include <stdint.h>
#include <string.h>

static inline uint32_t wf_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float wf_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float wf_bf16_widen(uint16_t x)
{
    return wf_float((uint32_t)x << 16);
}

/* Round to nearest, ties to even. A NaN whose payload sits in the low half only would
 * round to infinity, hence the quiet bit. */
static inline uint16_t wf_bf16_round(float x)
{
    uint32_t u = wf_bits(x);
    uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
    uint32_t quiet = u | 0x00400000u;
    return (uint16_t)((x != x ? quiet : rounded) >> 16);
}
#endif
