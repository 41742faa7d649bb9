/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/run/random.h>

#include <math.h>
#include <string.h>

#include <Random123/philox.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* The two 64-bit words of an index pair. */
typedef struct pair {
    uint64_t even, odd;
} pair;

static pair draw(uint64_t seed, uint64_t key, uint64_t pair_index)
{
    philox4x32_ctr_t ctr = {{(uint32_t)pair_index, (uint32_t)(pair_index >> 32),
                             (uint32_t)key, (uint32_t)(key >> 32)}};
    philox4x32_key_t k = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t r = philox4x32(ctr, k);

    return (pair){(uint64_t)r.v[1] << 32 | r.v[0], (uint64_t)r.v[3] << 32 | r.v[2]};
}

/* 52 bits and a half: exact in a double, so neither 0 nor 1 comes out by rounding. */
static double to_uniform(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* Box and Muller 1958. The radius is at most sqrt(2 * 53 ln 2) = 8.57. */
static void to_normal(pair bits, double out[2])
{
    double radius = sqrt(-2 * log(to_uniform(bits.even)));
    double angle = 6.283185307179586476925 * to_uniform(bits.odd);

    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

uint64_t weft_random_key(const char *name)
{
    return XXH3_64bits(name, strlen(name));
}

uint64_t weft_random_bits(uint64_t seed, uint64_t key, uint64_t index)
{
    pair p = draw(seed, key, index >> 1);
    return index & 1 ? p.odd : p.even;
}

double weft_random_uniform(uint64_t seed, uint64_t key, uint64_t index)
{
    return to_uniform(weft_random_bits(seed, key, index));
}

double weft_random_normal(uint64_t seed, uint64_t key, uint64_t index)
{
    double z[2];
    to_normal(draw(seed, key, index >> 1), z);
    return z[index & 1];
}

/* The high 64 bits of the 128-bit product, by schoolbook in 32-bit digits. */
static uint64_t mul_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t mid = a1 * b0 + (a0 * b0 >> 32);
    uint64_t mid2 = a0 * b1 + (uint32_t)mid;

    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

uint64_t weft_random_below(uint64_t seed, uint64_t key, uint64_t index, uint64_t n)
{
    return mul_high(weft_random_bits(seed, key, index), n);
}

static void store(void *out, int64_t at, weft_dtype dtype, double x)
{
    switch (dtype) {
    case WEFT_F64: ((double *)out)[at] = x; break;
    case WEFT_F32: ((float *)out)[at] = (float)x; break;
    default: ((uint16_t *)out)[at] = weft_bf16_from_f32((float)x); break;
    }
}

/* Both values of a pair are wanted along a row: draw each block once. */
void weft_random_fill_normal(uint64_t seed, uint64_t key, weft_random_block at,
                             double std, weft_dtype dtype, void *out)
{
    double z[2] = {0, 0};

    for (int64_t r = 0; r < at.rows; r++) {
        uint64_t first = (uint64_t)(at.first + r * at.stride);
        for (int64_t c = 0; c < at.cols; c++) {
            uint64_t index = first + (uint64_t)c;
            if (c == 0 || !(index & 1)) to_normal(draw(seed, key, index >> 1), z);
            store(out, r * at.cols + c, dtype, std * z[index & 1]);
        }
    }
}

void weft_random_fill_uniform(uint64_t seed, uint64_t key, weft_random_block at,
                              double lo, double hi, weft_dtype dtype, void *out)
{
    for (int64_t r = 0; r < at.rows; r++) {
        uint64_t first = (uint64_t)(at.first + r * at.stride);
        for (int64_t c = 0; c < at.cols; c++) {
            double u = weft_random_uniform(seed, key, first + (uint64_t)c);
            store(out, r * at.cols + c, dtype, lo + (hi - lo) * u);
        }
    }
}
