/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/torch.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static int64_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static weft_status read_shape(const json_t *j, torch_run *r)
{
    const json_t *m = json_object_get(j, "model");
    weft_arch a;

    snprintf(r->arch, sizeof r->arch,
             "layers=%d,hidden=%d,heads=%d,ffn=%d,vocab=%d,positions=%d,tied=1",
             (int)integer(m, "layers"), (int)integer(m, "hidden"),
             (int)integer(m, "heads"), (int)integer(m, "ffn"), (int)integer(m, "vocab"),
             (int)integer(m, "positions"));
    WF_TRY(weft_arch_parse(r->arch, &a));
    CLAIM(a.norm_eps == json_real_value(json_object_get(m, "norm_eps")),
          "norm_eps is %g here", a.norm_eps);
    r->batch = integer(j, "batch");
    r->seq = integer(j, "seq");
    r->lr = json_real_value(json_object_get(j, "sgd_lr"));
    CLAIM(integer(j, "sgd_steps") == TORCH_STEPS, "another number of steps");
    return lab_map_create(&a, &r->map);
}

static weft_status read_ids(const json_t *rows, int64_t batch, int64_t seq,
                            int32_t **out)
{
    WF_TRY(WF_ALLOC(batch * seq, out));
    for (int64_t i = 0; i < batch * seq; i++) {
        const json_t *row = json_array_get(rows, (size_t)(i / seq));
        (*out)[i] = (int32_t)json_integer_value(json_array_get(row, (size_t)(i % seq)));
    }
    return WEFT_OK;
}

static weft_status read_values(const json_t *list, int64_t n, double *x)
{
    CLAIM((int64_t)json_array_size(list) == n, "%d values where %lld belong",
          (int)json_array_size(list), (long long)n);
    for (int64_t i = 0; i < n; i++)
        x[i] = json_number_value(json_array_get(list, (size_t)i));
    return WEFT_OK;
}

/* The formula of make_torch_reference.py. */
static void formula(const torch_run *r, int tensor, double *x)
{
    weft_tensor_info t;

    weft_arch_tensor(&r->map.arch, tensor, &t);
    for (int64_t i = 0; i < r->map.at[tensor + 1] - r->map.at[tensor]; i++) {
        double wave = sin(0.37 * (double)i + 1.3 * tensor);
        x[i] = t.init == WEFT_INIT_ONE ? 1 + 0.1 * wave : 0.2 * wave;
    }
}

static weft_status read_tensor(torch_run *r, int i, const json_t *row,
                               const json_t *after)
{
    int64_t at = r->map.at[i], n = r->map.at[i + 1] - at;
    const char *name = json_string_value(json_object_get(row, "name"));
    const json_t *last;
    weft_tensor_info t;

    weft_arch_tensor(&r->map.arch, i, &t);
    CLAIM(name && !strcmp(name, t.name), "tensor %d is %s in the file, %s here", i,
          name, t.name);
    formula(r, i, r->weight + at);
    WF_TRY(read_values(json_object_get(row, "gradient"), n, r->grad + at));
    for (int64_t k = 0; k < n; k++)
        r->after[at + k] = NAN;
    last = json_object_get(after, name);
    return last ? read_values(last, n, r->after + at) : WEFT_OK;
}

static weft_status read_all(const json_t *j, torch_run *r)
{
    const json_t *tensors = json_object_get(j, "tensors");
    int64_t n;

    WF_TRY(read_shape(j, r));
    n = r->map.at[r->map.n_tensors];
    WF_TRY(read_ids(json_object_get(j, "tokens"), r->batch, r->seq, &r->tokens));
    WF_TRY(read_ids(json_object_get(j, "targets"), r->batch, r->seq, &r->targets));
    WF_TRY(read_values(json_object_get(j, "losses_before_each_sgd_step"), TORCH_STEPS,
                       r->loss));
    r->loss[TORCH_STEPS] = json_real_value(json_object_get(j, "loss_after_sgd"));
    WF_TRY(WF_ALLOC(n, &r->weight));
    WF_TRY(WF_ALLOC(n, &r->grad));
    WF_TRY(WF_ALLOC(n, &r->after));
    CLAIM((int)json_array_size(tensors) == r->map.n_tensors, "%d tensors in the file",
          (int)json_array_size(tensors));
    for (int i = 0; i < r->map.n_tensors; i++)
        WF_TRY(read_tensor(r, i, json_array_get(tensors, (size_t)i),
                           json_object_get(j, "weights_after_sgd")));
    return WEFT_OK;
}

weft_status torch_read(torch_run *out)
{
    json_error_t error;
    json_t *j =
        json_load_file(WEFT_TEST_DIR "/data/gpt2_tiny_torch_f64.json", 0, &error);
    torch_run r = {.batch = 0};

    if (!j)
        return WF_FAIL(WEFT_E_IO, "%s:%d: %s", error.source, error.line, error.text);
    weft_status st = read_all(j, &r);
    json_decref(j);
    if (st == WEFT_OK)
        *out = r;
    else
        torch_clear(&r);
    return st;
}

void torch_clear(torch_run *r)
{
    lab_map_clear(&r->map);
    wf_free(r->tokens);
    wf_free(r->targets);
    wf_free(r->weight);
    wf_free(r->grad);
    wf_free(r->after);
    *r = (torch_run){.batch = 0};
}
