/* SPDX-License-Identifier: Apache-2.0 */
/* What crosses ranks in a step, as integers: calls and bytes by axis set and purpose, on
 * every rank of every layout up to 4 ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "train/lab.h"

enum { MAX_ROWS = 32, STEPS = 2, EVALS = 3, BATCH = 2, SEQ = 4 };

typedef struct rows {
    int n;
    weft_count_row row[MAX_ROWS];
} rows;

/* What the closed forms are made of. */
typedef struct rank_facts {
    const weft_train_config *c;
    int tp, pp, dp, v, r; /* r: pipeline rank */
    int64_t m, h, T, tensor, acc;
    int64_t layers;  /* of this rank */
    int first, last; /* holds the first, the last stage */
    int64_t vocab;   /* rows of the padded vocabulary on a rank */
    int64_t elems;   /* parameters held, tied copy included */
    int64_t tensors; /* ... and in how many tensors */
} rank_facts;

/* Sizes of GPT-2's tensors on one of tp ranks, from the shapes. */
static void count_params(rank_facts *f)
{
    const weft_arch *a = &f->c->arch;
    int64_t h = a->hidden, n = h / f->tp, w = a->ffn / f->tp;
    int64_t unit = f->c->layout.vocab_multiple * f->tp;
    int64_t block = 3 * n * h + 3 * n + h * n + h + w * h + w + h * w + h + 4 * h;
    int both = f->first && f->last && f->pp * f->v == 1;

    f->vocab = (a->vocab + unit - 1) / unit * unit / f->tp;
    f->elems = f->layers * block + f->first * (f->vocab + a->positions) * h +
               f->last * 2 * h + (f->last && !both) * f->vocab * h;
    f->tensors = f->layers * 12 + f->first * 2 + f->last * 2 + (f->last && !both);
}

static rank_facts facts(const weft_train_config *c, int rank)
{
    const weft_layout *l = &c->layout;
    rank_facts f = {.c = c,
                    .tp = l->tp,
                    .pp = l->pp,
                    .dp = l->dp,
                    .v = l->vpp,
                    .r = rank / l->tp % l->pp,
                    .m = weft_layout_n_micro(l),
                    .h = c->arch.hidden,
                    .T = l->micro_batch * l->seq,
                    .tensor = weft_dtype_bytes(c->dtype),
                    .acc = weft_dtype_bytes(weft_dtype_acc(c->dtype)),
                    .layers = c->arch.layers / l->pp};
    f.first = f.r == 0;
    f.last = f.r == f.pp - 1;
    count_params(&f);
    return f;
}

static void put(rows *out, const char *axes, weft_purpose why, int64_t calls,
                int64_t bytes)
{
    weft_count_row *row = &out->row[out->n];

    if (!calls) return;
    out->n++;
    memset(row, 0, sizeof *row);
    snprintf(row->axes, sizeof row->axes, "%s", axes);
    row->purpose = why;
    row->calls = calls;
    row->bytes = bytes;
}

/* Forward of m micro-batches `times` times. */
static void put_forward(rows *out, const rank_facts *f, int64_t times)
{
    int64_t m = f->m * times, stream = f->T * f->h;
    int64_t sends = f->pp > 1 ? f->v - f->last : 0;

    if (f->tp > 1) {
        put(out, "tp", WEFT_FOR_G_ATTN, m * f->layers, m * f->layers * stream * f->acc);
        put(out, "tp", WEFT_FOR_G_MLP, m * f->layers, m * f->layers * stream * f->acc);
        put(out, "tp", WEFT_FOR_EMBED, f->first * m, f->first * m * stream * f->acc);
        put(out, "tp", WEFT_FOR_CE_MAX, f->last * m, f->last * m * f->T * f->acc);
        put(out, "tp", WEFT_FOR_CE_SUM, f->last * m, f->last * m * 2 * f->T * f->acc);
    }
    put(out, "p2p", WEFT_FOR_ACT, m * sends, m * sends * stream * f->tensor);
}

static void put_backward(rows *out, const rank_facts *f, int64_t times)
{
    int64_t m = f->m * times, stream = f->T * f->h;
    int64_t sends = f->pp > 1 ? f->v - f->first : 0;

    if (f->tp > 1) {
        put(out, "tp", WEFT_FOR_F_ATTN, m * f->layers, m * f->layers * stream * f->acc);
        put(out, "tp", WEFT_FOR_F_MLP, m * f->layers, m * f->layers * stream * f->acc);
        put(out, "tp", WEFT_FOR_HEAD, f->last * m, f->last * m * stream * f->acc);
    }
    put(out, "p2p", WEFT_FOR_ACT_GRAD, m * sends, m * sends * stream * f->tensor);
}

/* Once a step. */
static void put_step(rows *out, const rank_facts *f, int64_t times)
{
    int64_t buckets = f->c->bucket_bytes == 1 ? f->tensors : f->v;

    if (f->pp > 1 && (f->first || f->last))
        put(out, "tied", WEFT_FOR_TIED, times, times * f->vocab * f->h * f->acc);
    if (f->dp > 1)
        put(out, "dp", WEFT_FOR_DP_GRAD, times * buckets, times * f->elems * f->acc);
    if (f->tp * f->pp > 1) put(out, "tp,pp", WEFT_FOR_NORM, times, times * 8);
    if (f->pp * f->dp > 1) put(out, "pp,dp", WEFT_FOR_LOSS, times, times * 16);
}

static const weft_count_row *find(const rows *r, const weft_count_row *like)
{
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->row[i].axes, like->axes) && r->row[i].purpose == like->purpose)
            return &r->row[i];
    return NULL;
}

static weft_status same_rows(const rows *got, const rows *want, int rank)
{
    for (int i = 0; i < want->n; i++) {
        const weft_count_row *w = &want->row[i], *g = find(got, w);
        CLAIM(g && g->calls == w->calls && g->bytes == w->bytes,
              "rank %d, %s over %s: %lld calls with %lld bytes, not %lld with %lld",
              rank, weft_purpose_name(w->purpose), w->axes, g ? (long long)g->calls : 0,
              g ? (long long)g->bytes : 0, (long long)w->calls, (long long)w->bytes);
    }
    for (int i = 0; i < got->n; i++)
        CLAIM(find(want, &got->row[i]),
              "rank %d, %s over %s: %lld calls of which no "
              "form knows",
              rank, weft_purpose_name(got->row[i].purpose), got->row[i].axes,
              (long long)got->row[i].calls);
    return WEFT_OK;
}

static weft_status check(weft_comm *comm, const rows *want)
{
    rows got;

    got.n = weft_count_rows(comm, got.row, MAX_ROWS);
    return same_rows(&got, want, weft_comm_rank(comm));
}

/* Messages that the ranks of one pipeline sent in a step; summed over ranks. */
typedef struct job {
    const weft_train_config *c;
    int64_t messages[64]; /* of each rank, in STEPS steps */
} job;

static weft_status steps(weft_engine *e, weft_comm *comm, job *j)
{
    rank_facts f = facts(j->c, weft_comm_rank(comm));
    weft_step_result r;
    rows want = {0};

    weft_count_start(comm);
    for (int i = 0; i < STEPS; i++)
        WF_TRY(weft_engine_step(e, &r));
    put_forward(&want, &f, STEPS);
    put_backward(&want, &f, STEPS);
    put_step(&want, &f, STEPS);
    WF_TRY(check(comm, &want));
    for (int i = 0; i < want.n; i++)
        if (!strcmp(want.row[i].axes, "p2p"))
            j->messages[weft_comm_rank(comm)] += want.row[i].calls;
    return WEFT_OK;
}

static weft_status evaluation(weft_engine *e, weft_comm *comm, const job *j)
{
    rank_facts f = facts(j->c, weft_comm_rank(comm));
    rows want = {0};
    double loss;

    weft_count_start(comm);
    WF_TRY(weft_engine_evaluate(e, EVALS, &loss));
    put_forward(&want, &f, EVALS);
    if (f.pp * f.dp > 1) put(&want, "pp,dp", WEFT_FOR_LOSS, 1, 8);
    return check(comm, &want);
}

static weft_status on_engine(weft_engine *e, weft_comm *comm, void *ctx)
{
    WF_TRY(steps(e, comm, ctx));
    return evaluation(e, comm, ctx);
}

/* 2 m (p v - 1) messages for each TP rank of each replica. */
static void check_messages(const weft_train_config *c, const job *j)
{
    const weft_layout *l = &c->layout;
    int64_t sum = 0, each = 2 * weft_layout_n_micro(l) * (l->pp * l->vpp - 1);

    for (int i = 0; i < weft_layout_world(l); i++)
        sum += j->messages[i];
    if (l->pp > 1) assert_int_equal(sum, STEPS * l->tp * l->dp * each);
}

static void check_case(const weft_train_config *c, const weft_data *data)
{
    job j = {.c = c};

    if (lab_engines(c, data, NULL, on_engine, &j))
        fail_msg("%s: %s", lab_text(&c->layout), weft_status_message());
    check_messages(c, &j);
}

static void walk(const char *arch, weft_dtype t, int world, int micros, int64_t bucket)
{
    weft_train_config c;
    weft_data *data;
    weft_verify_case *cases;
    int n;

    lab_base(&c, arch);
    c.dtype = t;
    c.bucket_bytes = bucket;
    MUST(weft_data_random(c.arch.vocab, SEQ, 200, 7, 1, &data));
    MUST(weft_verify_cases(&c.arch, SEQ, world, micros, 0, &cases, &n));
    for (int i = 0; i < n; i++) {
        c.layout = cases[i].layout;
        c.layout.micro_batch = BATCH;
        c.layout.global_batch *= BATCH;
        check_case(&c, data);
    }
    print_message("%d layouts, %s\n", n, weft_dtype_name(t));
    weft_verify_cases_free(cases);
    weft_data_destroy(data);
}

static void f64_steps_send_what_the_closed_forms_say(void **state)
{
    (void)state;
    walk("layers=4,hidden=12,heads=6,vocab=53,positions=4", WEFT_F64, 4, 4, 1 << 30);
}

static void bf16_sums_cross_in_f32_and_activations_in_bf16(void **state)
{
    (void)state;
    walk("layers=4,hidden=12,heads=4,vocab=21,positions=4", WEFT_BF16, 4, 2, 0);
}

static void buckets_of_one_tensor_carry_the_same_bytes(void **state)
{
    (void)state;
    walk("layers=4,hidden=12,heads=2,vocab=21,positions=4", WEFT_F32, 4, 2, 1);
}

static void eight_ranks_send_what_the_closed_forms_say(void **state)
{
    weft_train_config c;
    weft_data *data;
    (void)state;
    lab_base(&c, "layers=4,hidden=12,heads=6,vocab=53,positions=4");
    c.bucket_bytes = 1 << 30;
    MUST(weft_data_random(c.arch.vocab, SEQ, 200, 7, 1, &data));
    lab_layout(&c, "tp=2 pp=2 dp=2 m=6 micro_batch=2");
    check_case(&c, data);
    lab_layout(&c, "tp=2 pp=2 dp=2 vpp=2 m=4 schedule=interleaved micro_batch=2");
    check_case(&c, data);
    weft_data_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f64_steps_send_what_the_closed_forms_say),
        cmocka_unit_test(bf16_sums_cross_in_f32_and_activations_in_bf16),
        cmocka_unit_test(buckets_of_one_tensor_carry_the_same_bytes),
        cmocka_unit_test(eight_ranks_send_what_the_closed_forms_say)};
    return cmocka_run_group_tests_name("what crosses ranks", tests, NULL, NULL);
}
