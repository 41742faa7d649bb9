/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <weft/run/tensor.h>

#include "base/error.h"
#include "base/near.h"
#include "tensor/bf16.h"

static const char *const dtype_names[WEFT_N_DTYPES] = {"f64", "f32", "bf16"};

int64_t weft_dtype_bytes(weft_dtype t)
{
    return t == WEFT_F64 ? 8 : t == WEFT_F32 ? 4 : 2;
}

const char *weft_dtype_name(weft_dtype t)
{
    return dtype_names[t];
}

weft_status weft_dtype_parse(const char *text, weft_dtype *out)
{
    for (int t = 0; t < WEFT_N_DTYPES; t++)
        if (strcmp(text, dtype_names[t]) == 0) {
            *out = (weft_dtype)t;
            return WEFT_OK;
        }
    const char *near = wf_nearest_in(text, WEFT_N_DTYPES, dtype_names);
    return WF_FAIL(WEFT_E_INVALID, "dtype \"%s\" is not one of f64 f32 bf16%s%s%s",
                   text, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

weft_dtype weft_dtype_acc(weft_dtype t)
{
    return t == WEFT_F64 ? WEFT_F64 : WEFT_F32;
}

const char *weft_tag_name(weft_tag tag)
{
    static const char *const names[WEFT_N_TAGS] = {
        "params", "grads", "optimizer", "activations", "logits", "comm", "temporaries",
    };
    return names[tag];
}

uint16_t weft_bf16_from_f32(float x)
{
    return wf_bf16_round(x);
}

float weft_bf16_to_f32(uint16_t x)
{
    return wf_bf16_widen(x);
}
