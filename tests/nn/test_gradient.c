/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a chunk against central differences of its loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "nn/lab.h"

enum { TOKENS = 64, SAMPLES = 9 };
static const double tolerance = 1e-6; /* of the largest gradient of the tensor */

typedef struct trial {
    lab l;
    int32_t tokens[TOKENS], targets[TOKENS];
    double scale; /* 1 / valid targets */
} trial;

static weft_status loss(trial *t, double *out)
{
    void *none = NULL;
    double sum = 0;

    WF_TRY(
        weft_chunk_infer(&t->l.chunk, t->tokens, t->targets, NULL, &none, &sum, NULL));
    *out = sum * t->scale;
    return WEFT_OK;
}

/* (L(w + e) - L(w - e)) / 2e, refined once: the error falls from e^2 to e^4 */
static weft_status slope(trial *t, double *w, double *out)
{
    const double e = 1e-3, was = *w;
    double at[4];
    const double step[4] = {e, -e, e / 2, -e / 2};

    for (int i = 0; i < 4; i++) {
        *w = was + step[i];
        WF_TRY(loss(t, &at[i]));
    }
    *w = was;
    double wide = (at[0] - at[1]) / (2 * e), near = (at[2] - at[3]) / e;
    *out = (4 * near - wide) / 3;
    return WEFT_OK;
}

static weft_status check_param(trial *t, const weft_param *p)
{
    double *w = p->w;
    const double *g = p->g;
    double size = 0;
    int64_t real = p->info.is_vocab ? p->info.size[0] * p->size[1] : p->count;

    for (int64_t i = 0; i < real; i++)
        size = fmax(size, fabs(g[i]));
    CLAIM(size > 0, "the gradient of %s is zero", p->info.name);
    for (int k = 0; k < SAMPLES; k++) {
        int64_t i = k * (real - 1) / (SAMPLES - 1); /* first and last among them */
        double s;
        WF_TRY(slope(t, &w[i], &s));
        CLAIM(fabs(s - g[i]) <= tolerance * size,
              "%s[%lld]: gradient %.12g, slope %.12g, largest %.3g", p->info.name,
              (long long)i, g[i], s, size);
    }
    return WEFT_OK;
}

static weft_status check_all(trial *t)
{
    const weft_chunk *c = &t->l.chunk;
    void *none = NULL;
    double sum = 0;
    int valid = 0;

    lab_tokens(c->cfg.batch * c->cfg.seq, t->l.arch.vocab, 1, 3, t->tokens, t->targets);
    for (int64_t i = 0; i < c->cfg.batch * c->cfg.seq; i++)
        valid += t->targets[i] >= 0;
    t->scale = 1.0 / valid;
    WF_TRY(
        weft_chunk_forward(&t->l.chunk, 0, t->tokens, t->targets, NULL, &none, &sum));
    WF_TRY(weft_chunk_backward(&t->l.chunk, 0, t->scale, NULL, &none, NULL, NULL));
    for (int i = 0; i < c->n_params; i++)
        WF_TRY(check_param(t, &c->param[i]));
    return WEFT_OK;
}

static weft_status with_arch(const char *arch)
{
    lab_spec spec = {.arch = arch,
                     .batch = 2,
                     .seq = 6,
                     .vocab_multiple = 4,
                     .random_all = 1,
                     .seed = 5};
    weft_comm *self = NULL;
    trial t;

    WF_TRY(weft_comm_self(NULL, &self));
    weft_status st = lab_open(self, &spec, &t.l);
    if (st == WEFT_OK) {
        st = check_all(&t);
        lab_close(&t.l);
    }
    weft_comm_destroy(self);
    return st;
}

static void every_tensor_follows_the_slope_of_the_loss(void **state)
{
    (void)state;
    MUST(with_arch("layers=2,hidden=12,heads=3,ffn=20,vocab=11,positions=6"));
}

static void also_where_the_output_layer_is_its_own(void **state)
{
    (void)state;
    MUST(with_arch("layers=1,hidden=8,heads=2,ffn=16,vocab=7,positions=9,tied=0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tensor_follows_the_slope_of_the_loss),
        cmocka_unit_test(also_where_the_output_layer_is_its_own)};
    return cmocka_run_group_tests_name("gradients and slopes", tests, NULL, NULL);
}
