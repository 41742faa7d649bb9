/* SPDX-License-Identifier: Apache-2.0 */
/* backward_input, then backward_weight: the same gradients as backward, in two parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "nn/lab.h"

enum { TOKENS = 10, MICROS = 3, MAX_TOLD = 64 };
static const char arch[] = "layers=3,hidden=12,heads=6,ffn=24,vocab=13,positions=5";

static weft_status forwards(lab *l, double *sum)
{
    int32_t tokens[TOKENS], targets[TOKENS];
    void *none = NULL;

    for (int i = 0; i < MICROS; i++) {
        lab_tokens(TOKENS, l->arch.vocab, 1, (uint64_t)i, tokens, targets);
        WF_TRY(weft_chunk_forward(&l->chunk, i, tokens, targets, NULL, &none, sum));
    }
    return WEFT_OK;
}

/* What the call-back is told, in order. */
typedef struct told {
    int n, done[MAX_TOLD];
} told;

static weft_status on_ready(void *ctx, int n_done)
{
    told *t = ctx;
    CLAIM(t->n < MAX_TOLD, "told too often");
    t->done[t->n++] = n_done;
    return WEFT_OK;
}

static weft_status check_told(const told *t, int n_params)
{
    CLAIM(t->n > 2 && t->done[t->n - 1] == n_params,
          "the last of %d calls says %d of %d", t->n, t->n ? t->done[t->n - 1] : 0,
          n_params);
    for (int i = 1; i < t->n; i++)
        CLAIM(t->done[i] > t->done[i - 1], "%d after %d", t->done[i], t->done[i - 1]);
    return WEFT_OK;
}

static weft_status whole(weft_chunk *c, told *t)
{
    void *none = NULL;
    for (int i = 0; i < MICROS; i++)
        WF_TRY(weft_chunk_backward(c, i, 0.25, NULL, &none, i ? NULL : on_ready, t));
    return WEFT_OK;
}

/* I of all, then W of all; the ranks hold the activations until the W. */
static weft_status parts(weft_chunk *c, told *t, const weft_arena *a)
{
    void *none = NULL;

    for (int i = 0; i < MICROS; i++)
        WF_TRY(weft_chunk_backward_input(c, i, 0.25, NULL, &none));
    CLAIM(weft_arena_used(a, WEFT_TEMP) == 0, "%lld bytes of scratch between I and W",
          (long long)weft_arena_used(a, WEFT_TEMP));
    int64_t held = weft_arena_used(a, WEFT_ACT) + weft_arena_used(a, WEFT_LOGITS);
    for (int i = 0; i < MICROS; i++) {
        WF_TRY(weft_chunk_backward_weight(c, i, i ? NULL : on_ready, t));
        int64_t now = weft_arena_used(a, WEFT_ACT) + weft_arena_used(a, WEFT_LOGITS);
        CLAIM(now * MICROS == held * (MICROS - 1 - i),
              "after %d of %d weight gradients %lld of %lld bytes are held", i + 1,
              MICROS, (long long)now, (long long)held);
    }
    return WEFT_OK;
}

static weft_status is_empty(const weft_arena *a)
{
    for (int tag = WEFT_ACT; tag < WEFT_N_TAGS; tag++)
        CLAIM(weft_arena_used(a, (weft_tag)tag) == 0, "%lld bytes of %s are left",
              (long long)weft_arena_used(a, (weft_tag)tag),
              weft_tag_name((weft_tag)tag));
    return WEFT_OK;
}

static weft_status compare(lab *one, lab *two)
{
    told a = {0}, b = {0};
    double sum = 0, again = 0;
    size_t bytes = (size_t)(one->chunk.n_elems *
                            weft_dtype_bytes(weft_dtype_acc(one->chunk.sh.t)));

    WF_TRY(forwards(one, &sum));
    WF_TRY(whole(&one->chunk, &a));
    WF_TRY(forwards(two, &again));
    WF_TRY(parts(&two->chunk, &b, two->arena));
    CLAIM(sum == again, "two losses");
    CLAIM(!memcmp(one->chunk.g_all, two->chunk.g_all, bytes), "the gradients differ");
    WF_TRY(check_told(&a, one->chunk.n_params));
    CLAIM(!memcmp(&a, &b, sizeof a), "the two are told different things");
    WF_TRY(is_empty(one->arena));
    return is_empty(two->arena);
}

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    const weft_dtype *t = ctx;
    lab_spec spec = {.arch = arch,
                     .batch = 2,
                     .seq = 5,
                     .n_micro = MICROS,
                     .t = *t,
                     .random_all = 1};
    lab one, two;

    WF_TRY(lab_open(comm, &spec, &one));
    weft_status st = lab_open(comm, &spec, &two);
    if (st == WEFT_OK) {
        st = compare(&one, &two);
        lab_close(&two);
    }
    lab_close(&one);
    return st;
}

static void input_then_weight_gives_the_bits_of_one_backward(void **state)
{
    weft_comm_options o = {.timeout_s = 60};
    (void)state;
    for (int t = 0; t < WEFT_N_DTYPES; t++)
        for (int tp = 1; tp <= 3; tp++) {
            weft_dtype type = (weft_dtype)t;
            if (weft_loop_run(tp, &o, on_rank, &type))
                fail_msg("%s tp %d: %s", weft_dtype_name(type), tp,
                         weft_status_message());
        }
}

static weft_status out_of_order(weft_comm *comm, void *ctx)
{
    lab_spec spec = {.arch = arch, .batch = 2, .seq = 5};
    int32_t tokens[TOKENS] = {0}, targets[TOKENS] = {0};
    void *none = NULL;
    double sum = 0;
    lab l;

    (void)ctx;
    WF_TRY(lab_open(comm, &spec, &l));
    CLAIM(weft_chunk_backward(&l.chunk, 0, 1, NULL, &none, NULL, NULL) ==
              WEFT_E_INVALID,
          "a backward before its forward passes");
    WF_TRY(weft_chunk_forward(&l.chunk, 0, tokens, targets, NULL, &none, &sum));
    CLAIM(weft_chunk_forward(&l.chunk, 0, tokens, targets, NULL, &none, &sum) ==
              WEFT_E_INVALID,
          "a second forward passes");
    lab_close(&l); /* with a forward under way */
    return WEFT_OK;
}

static void out_of_order_calls_are_refused_and_an_open_forward_is_freed(void **state)
{
    (void)state;
    MUST(weft_loop_run(1, NULL, out_of_order, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_then_weight_gives_the_bits_of_one_backward),
        cmocka_unit_test(out_of_order_calls_are_refused_and_an_open_forward_is_freed)};
    return cmocka_run_group_tests_name("backward in one and in two", tests, NULL, NULL);
}
