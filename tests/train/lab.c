/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "train/lab.h"

#include <sched.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lab_models[LAB_MODELS] = {
    "layers=24,hidden=24,heads=24,ffn=48,vocab=40,positions=4",
    "layers=6,hidden=12,heads=6,vocab=53,positions=4"};

void lab_base(weft_train_config *c, const char *arch)
{
    weft_train_defaults(c);
    MUST(weft_arch_parse(arch, &c->arch));
    c->dtype = WEFT_F64;
    c->optimizer = WEFT_SGD;
    c->lr = (weft_lr){.lr = 0.1, .min_lr = 0.1, .style = WEFT_DECAY_CONSTANT};
    c->clip_grad = 0;
    c->random_all = 1;
    c->bucket_bytes = 4096;
}

void lab_layout(weft_train_config *c, const char *words)
{
    weft_layout *l = &c->layout;
    char text[256], *at = text;
    int64_t m = 1;

    weft_layout_defaults(l);
    l->seq = c->arch.positions;
    l->vocab_multiple = 2;
    snprintf(text, sizeof text, "%s", words);
    while (*at) {
        char *end = at + strcspn(at, " "), *value = strchr(at, '=');
        if (*end) *end++ = 0;
        assert_non_null(value);
        *value++ = 0;
        if (!strcmp(at, "m"))
            m = atoi(value);
        else
            MUST(weft_layout_set(l, at, value));
        at = end;
    }
    MUST(weft_layout_resolve(l, 0, NULL));
    l->global_batch = m * l->micro_batch * l->dp;
    MUST(weft_layout_check(l, &c->arch));
}

const char *lab_text(const weft_layout *l)
{
    static char out[128];
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);

    weft_layout_write_text(l, &w);
    snprintf(out, sizeof out, "%s", text.s);
    weft_text_clear(&text);
    return out;
}

double lab_timeout_s = 120;

weft_status lab_ranks(const weft_train_config *c, lab_fn *fn, void *ctx)
{
    weft_comm_options o = {.timeout_s = lab_timeout_s, .yield = 1};
    return weft_loop_run(weft_layout_world(&c->layout), &o, fn, ctx);
}

typedef struct job {
    const weft_train_config *cfg;
    const weft_data *data;
    void (*before)(weft_comm *comm, void *ctx);
    lab_engine_fn *fn;
    void *ctx;
} job;

static weft_status with_engine(weft_comm *comm, void *ctx)
{
    const job *j = ctx;
    weft_engine *e = NULL;

    if (j->before) j->before(comm, j->ctx);
    WF_TRY(weft_engine_create(comm, j->cfg, j->data, &e));
    weft_status st = j->fn(e, comm, j->ctx);
    weft_engine_destroy(e);
    return st;
}

weft_status lab_engines(const weft_train_config *c, const weft_data *data,
                        void (*before)(weft_comm *comm, void *ctx), lab_engine_fn *fn,
                        void *ctx)
{
    job j = {c, data, before, fn, ctx};
    return lab_ranks(c, with_engine, &j);
}

static weft_status verify_rank(weft_comm *comm, void *ctx)
{
    lab_verify *v = ctx;
    weft_verify_report r;

    if (v->before) v->before(comm, v->ctx);
    WF_TRY(weft_verify_layout(comm, &v->cfg, v->data, v->ref, v->tolerance, &r));
    if (weft_comm_rank(comm) == 0)
        v->report = r;
    else
        weft_verify_report_clear(&r);
    return WEFT_OK;
}

weft_status lab_verify_run(lab_verify *v)
{
    v->report = (weft_verify_report){0};
    return lab_ranks(&v->cfg, verify_rank, v);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double lab_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

void lab_urgent(void)
{
    struct sched_param p = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    (void)sched_setscheduler(0, SCHED_FIFO, &p);
}
