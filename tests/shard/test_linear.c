/* SPDX-License-Identifier: Apache-2.0 */
/* A column- and a row-parallel layer beside the unsplit product, in integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "shard/lab.h"

enum { T = 3, H = 5, F = 12 }; /* z = (x A^T) B^T; A [F, H], B [H, F] */

static double x_at(int i, int j)
{
    return small_integer(i * H + j, 1);
}
static double a_at(int i, int j)
{
    return small_integer(i * H + j, 2);
}
static double b_at(int i, int j)
{
    return small_integer(i * F + j, 3);
}
static double dz_at(int i, int j)
{
    return small_integer(i * H + j, 4);
}

/* This rank's shards, and room for what comes out. */
typedef struct layer {
    int first, n; /* columns of F held */
    double x[T * H], a[F * H], b[H * F], y[T * F], z[T * H];
    double dz[T * H], dy[T * F], dx[T * H], da[F * H], db[H * F], bias_a[F], bias_b[H];
} layer;

static void fill(layer *l, int n, int rank)
{
    memset(l, 0, sizeof *l);
    l->n = F / n;
    l->first = rank * l->n;
    for (int i = 0; i < T * H; i++) {
        l->x[i] = x_at(i / H, i % H);
        l->dz[i] = dz_at(i / H, i % H);
    }
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < H; j++) {
            l->a[i * H + j] = a_at(l->first + i, j);
            l->b[j * l->n + i] = b_at(j, l->first + i);
        }
}

static weft_status sum(const weft_shard *s, weft_purpose why, weft_view *v)
{
    weft_event ev = {0};
    WF_TRY(weft_reduce_start(s, why, v, &ev));
    return weft_reduce_finish(s, v, &ev);
}

static weft_status forward(const weft_shard *s, layer *l)
{
    weft_view x = weft_view_of(l->x, WEFT_F64, T, H);
    weft_view y = weft_view_split(l->y, WEFT_F64, T, l->n, 1);
    weft_view z = weft_view_partial(l->z, WEFT_F64, T, H);

    WF_TRY(weft_column_forward(s, &x, l->a, &y));
    WF_TRY(weft_row_forward(s, &y, l->b, &z));
    return sum(s, WEFT_FOR_G_MLP, &z);
}

static weft_status backward(const weft_shard *s, layer *l)
{
    weft_view x = weft_view_of(l->x, WEFT_F64, T, H);
    weft_view y = weft_view_split(l->y, WEFT_F64, T, l->n, 1);
    weft_view dz = weft_view_of(l->dz, WEFT_F64, T, H);
    weft_view dy = weft_view_split(l->dy, WEFT_F64, T, l->n, 1);
    weft_view dx = weft_view_partial(l->dx, WEFT_F64, T, H);

    WF_TRY(weft_row_backward_input(s, &dz, l->b, &dy));
    WF_TRY(weft_row_backward_weight(s, &y, &dz, l->db, l->bias_b));
    WF_TRY(weft_column_backward_input(s, &dy, l->a, &dx));
    WF_TRY(weft_column_backward_weight(s, &x, &dy, l->da, l->bias_a));
    return sum(s, WEFT_FOR_F_MLP, &dx);
}

/* The unsplit values, element by element from their definitions. */
static double y_of(int t, int f)
{
    double y = 0;
    for (int j = 0; j < H; j++)
        y += x_at(t, j) * a_at(f, j);
    return y;
}

static double dy_of(int t, int f)
{
    double y = 0;
    for (int j = 0; j < H; j++)
        y += dz_at(t, j) * b_at(j, f);
    return y;
}

static weft_status check_streams(const layer *l)
{
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double z = 0, dx = 0;
            for (int f = 0; f < F; f++) {
                z += y_of(t, f) * b_at(h, f);
                dx += dy_of(t, f) * a_at(f, h);
            }
            CLAIM(l->z[t * H + h] == z, "z[%d,%d] is %g, not %g", t, h, l->z[t * H + h],
                  z);
            CLAIM(l->dx[t * H + h] == dx, "dx[%d,%d] is %g, not %g", t, h,
                  l->dx[t * H + h], dx);
        }
    return WEFT_OK;
}

static weft_status check_weights(const layer *l)
{
    for (int i = 0; i < l->n; i++) {
        double bias = 0;
        for (int h = 0; h < H; h++) {
            double da = 0, db = 0;
            for (int t = 0; t < T; t++) {
                da += dy_of(t, l->first + i) * x_at(t, h);
                db += dz_at(t, h) * y_of(t, l->first + i);
            }
            CLAIM(l->da[i * H + h] == da, "dA[%d,%d]", i, h);
            CLAIM(l->db[h * l->n + i] == db, "dB[%d,%d]", h, i);
        }
        for (int t = 0; t < T; t++)
            bias += dy_of(t, l->first + i);
        CLAIM(l->bias_a[i] == bias, "column bias %d", i);
    }
    for (int h = 0; h < H; h++) {
        double bias = 0;
        for (int t = 0; t < T; t++)
            bias += dz_at(t, h);
        CLAIM(l->bias_b[h] == bias, "row bias gradient %d is %g, not %g", h,
              l->bias_b[h], bias);
    }
    return WEFT_OK;
}

static weft_status both_ways(const weft_shard *s, void *ctx)
{
    layer l;

    (void)ctx;
    fill(&l, weft_group_size(s->tp), weft_group_rank(s->tp));
    WF_TRY(forward(s, &l));
    WF_TRY(backward(s, &l));
    WF_TRY(check_streams(&l));
    return check_weights(&l);
}

static void column_then_row_equals_the_unsplit_layers(void **state)
{
    (void)state;
    for (int n = 1; n <= 6; n++)
        if (F % n == 0) on_shards(n, WEFT_F64, both_ways, NULL);
}

static weft_status adds_up(const weft_shard *s, void *ctx)
{
    layer l;

    (void)ctx;
    fill(&l, weft_group_size(s->tp), weft_group_rank(s->tp));
    WF_TRY(forward(s, &l));
    WF_TRY(backward(s, &l));
    WF_TRY(forward(s, &l));
    WF_TRY(backward(s, &l));
    for (int i = 0; i < l.n * H; i++)
        l.da[i] /= 2, l.db[i] /= 2;
    for (int i = 0; i < l.n; i++)
        l.bias_a[i] /= 2;
    for (int i = 0; i < H; i++)
        l.bias_b[i] /= 2;
    return check_weights(&l);
}

static void weight_gradients_add_to_what_is_there(void **state)
{
    (void)state;
    on_shards(2, WEFT_F64, adds_up, NULL);
}

/* Case 59: x = [1, 2], A = [3, 4]^T, bias 10. */
static weft_status eleven_and_ten(const weft_shard *s, void *ctx)
{
    int n = weft_group_size(s->tp), r = weft_group_rank(s->tp), per = 2 / n;
    double x[2] = {1, 2}, a[2] = {3, 4}, zero = 0, bias = 10, sum_[1], out;
    weft_view y = weft_view_split(x + r * per, WEFT_F64, 1, per, 1);
    weft_view z = weft_view_partial(sum_, WEFT_F64, 1, 1);

    (void)ctx;
    WF_TRY(weft_row_forward(s, &y, a + r * per, &z));
    WF_TRY(sum(s, WEFT_FOR_G_MLP, &z));
    weft_k_bias_residual(s->k, WEFT_F64, WEFT_F64, 1, 1, &zero, z.data, &bias, &out);
    CLAIM(out == 21, "21 came out as %g", out);
    return WEFT_OK;
}

static void a_row_parallel_bias_is_added_to_the_sum_once(void **state)
{
    (void)state;
    on_shards(1, WEFT_F64, eleven_and_ten, NULL);
    on_shards(2, WEFT_F64, eleven_and_ten, NULL);
}

/* Case 83: 256 + 1 in bf16 is 256; partial sums of bf16 tensors are of another type. */
static weft_status in_bf16(const weft_shard *s, void *ctx)
{
    int first = weft_group_rank(s->tp) == 0;
    uint16_t y = weft_bf16_from_f32(first ? 256 : 1), w = weft_bf16_from_f32(1);
    float out = 0;
    weft_view in = weft_view_split(&y, WEFT_BF16, 1, 1, 1);
    weft_view z = weft_view_partial(&out, weft_partial_type(s), 1, 1);

    (void)ctx;
    CLAIM(weft_partial_type(s) == WEFT_F32, "partial sums are %s",
          weft_dtype_name(weft_partial_type(s)));
    WF_TRY(weft_row_forward(s, &in, &w, &z));
    WF_TRY(sum(s, WEFT_FOR_G_MLP, &z));
    CLAIM(out == 257, "257 came out as %g", (double)out);
    return WEFT_OK;
}

static void partial_sums_of_bf16_tensors_are_summed_in_f32(void **state)
{
    (void)state;
    on_shards(2, WEFT_BF16, in_bf16, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(column_then_row_equals_the_unsplit_layers),
        cmocka_unit_test(weight_gradients_add_to_what_is_there),
        cmocka_unit_test(a_row_parallel_bias_is_added_to_the_sum_once),
        cmocka_unit_test(partial_sums_of_bf16_tensors_are_summed_in_f32)};
    return cmocka_run_group_tests_name("split linear layers", tests, NULL, NULL);
}
