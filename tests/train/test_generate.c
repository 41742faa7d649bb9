/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: the same text however the model is split, the most likely token at temperature
 * 0, and tokens drawn with the model's probabilities otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/lab.h"

enum { VOCAB = 23, SEQ = 6, PROMPT = 3, NEW = 12, ALL = PROMPT + NEW, MAX_RANKS = 8 };
static const char arch[] = "layers=6,hidden=12,heads=6,vocab=23,positions=6";

typedef struct job {
    weft_train_config c;
    weft_data *data;
    double temperature;
    uint64_t seed;
    int32_t tokens[MAX_RANKS][ALL];
} job;

static void open_job(job *j, const char *layout, double temperature)
{
    *j = (job){.temperature = temperature, .seed = 5};
    lab_base(&j->c, arch);
    lab_layout(&j->c, layout);
    MUST(weft_data_random(VOCAB, SEQ, 64, 0, 1, &j->data));
}

static void close_job(job *j)
{
    weft_data_destroy(j->data);
}

static void prompt(int32_t *tokens)
{
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = 7 * i + 2;
}

/* A step first, so that the text is of a trained model; nothing is left behind. */
static weft_status generate(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    int32_t *tokens = j->tokens[weft_comm_rank(comm)];
    weft_arena *a = weft_engine_arena(e);
    weft_step_result r;

    WF_TRY(weft_engine_step(e, &r));
    int64_t held = weft_arena_used(a, WEFT_ACT) + weft_arena_used(a, WEFT_LOGITS);
    prompt(tokens);
    WF_TRY(weft_engine_generate(e, tokens, PROMPT, NEW, j->temperature, j->seed));
    CLAIM(weft_arena_used(a, WEFT_ACT) + weft_arena_used(a, WEFT_LOGITS) == held,
          "something is kept");
    return WEFT_OK;
}

static void text_of(const char *layout, double temperature, uint64_t seed, int32_t *out)
{
    job j;
    open_job(&j, layout, temperature);
    j.seed = seed;
    if (lab_engines(&j.c, j.data, NULL, generate, &j))
        fail_msg("%s: %s", layout, weft_status_message());
    for (int r = 1; r < weft_layout_world(&j.c.layout); r++)
        assert_memory_equal(j.tokens[r], j.tokens[0], sizeof j.tokens[0]);
    memcpy(out, j.tokens[0], sizeof j.tokens[0]);
    close_job(&j);
}

static const char *const layouts[] = {
    "tp=2 m=4",
    "tp=3 m=4",
    "tp=6 m=4",
    "pp=2 m=4",
    "pp=3 m=4",
    "dp=2 m=2",
    "dp=4 m=1",
    "tp=2 pp=2 dp=2 m=2",
    "tp=2 pp=3 m=4",
    "pp=2 vpp=3 m=4 schedule=interleaved",
    "m=2 micro_batch=2",
    "pp=6 m=4 schedule=gpipe",
    "pp=2 vpp=2 m=4 schedule=chimera",
    "tp=2 pp=3 vpp=2 m=4 schedule=zb-v",
    "pp=2 vpp=4 m=4 schedule=bitpipe stage_layers=balanced"};

static void every_split_writes_the_same_text(void **state)
{
    static const double temperature[] = {0, 0.7, 1.5};
    (void)state;
    for (int t = 0; t < 3; t++) {
        int32_t want[ALL], got[ALL];
        text_of("m=4", temperature[t], 5, want);
        for (int i = 0; i < ALL; i++)
            assert_in_range(want[i], 0, VOCAB - 1);
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
            text_of(layouts[i], temperature[t], 5, got);
            if (memcmp(got, want, sizeof want))
                fail_msg("%s writes otherwise", layouts[i]);
        }
    }
}

static void the_seed_decides(void **state)
{
    int32_t a[ALL], b[ALL];
    (void)state;
    text_of("m=4", 1, 5, a);
    text_of("m=4", 1, 5, b);
    assert_memory_equal(a, b, sizeof a);
    text_of("m=4", 1, 6, b);
    assert_memory_not_equal(a, b, sizeof a);
    text_of("m=4", 0, 5, a);
    text_of("m=4", 0, 6, b);
    assert_memory_equal(a, b, sizeof a);
}

/* Logits [VOCAB] of the last of n tokens, by the chunk itself; one rank. */
static weft_status last_logits(weft_engine *e, const int32_t *tokens, int64_t n,
                               double *out)
{
    weft_chunk *c = weft_engine_chunk(e, 0);
    int32_t in[SEQ] = {0}, targets[SEQ];
    void *none = NULL, *logits = NULL;
    double loss = 0;

    memcpy(in, tokens, (size_t)n * sizeof *in);
    for (int i = 0; i < SEQ; i++)
        targets[i] = -1;
    WF_TRY(weft_chunk_infer(c, in, targets, NULL, &none, &loss, &logits));
    memcpy(out, (double *)logits + (n - 1) * c->vocab.rows, VOCAB * sizeof *out);
    weft_arena_give(weft_engine_arena(e), logits);
    return WEFT_OK;
}

static int largest(const double *x)
{
    int best = 0;
    for (int i = 1; i < VOCAB; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

/* The window is the last SEQ tokens once there are as many. */
static weft_status greedy(weft_engine *e, weft_comm *comm, void *ctx)
{
    int32_t tokens[ALL];
    (void)ctx;
    (void)comm;
    prompt(tokens);
    WF_TRY(weft_engine_generate(e, tokens, PROMPT, NEW, 0, 1));
    for (int i = PROMPT; i < ALL; i++) {
        double x[VOCAB];
        int n = i < SEQ ? i : SEQ;
        WF_TRY(last_logits(e, tokens + i - n, n, x));
        CLAIM(tokens[i] == largest(x), "token %d is %d, the most likely is %d", i,
              tokens[i], largest(x));
    }
    return WEFT_OK;
}

static void temperature_0_takes_the_most_likely_token(void **state)
{
    job j;
    (void)state;
    open_job(&j, "m=1", 0);
    MUST(lab_engines(&j.c, j.data, NULL, greedy, NULL));
    close_job(&j);
}

/* Counts of the first new token over many seeds: each within 5 deviations of softmax. */
static weft_status frequencies(weft_engine *e, weft_comm *comm, void *ctx)
{
    enum { DRAWS = 4000 };
    const double temperature = 0.5;
    int32_t tokens[ALL];
    double x[VOCAB], sum = 0;
    int count[VOCAB] = {0};
    (void)comm;
    (void)ctx;
    for (int k = 0; k < DRAWS; k++) {
        prompt(tokens);
        WF_TRY(weft_engine_generate(e, tokens, PROMPT, 1, temperature, (uint64_t)k));
        count[tokens[PROMPT]]++;
    }
    WF_TRY(last_logits(e, tokens, PROMPT, x));
    for (int i = 0; i < VOCAB; i++)
        sum += exp(x[i] / temperature);
    for (int i = 0; i < VOCAB; i++) {
        double p = exp(x[i] / temperature) / sum;
        double off = (count[i] - DRAWS * p) / sqrt(DRAWS * p * (1 - p));
        CLAIM(fabs(off) < 5, "token %d came %d times of %d, its probability is %.4f", i,
              count[i], DRAWS, p);
    }
    return WEFT_OK;
}

static void tokens_come_with_the_models_probabilities(void **state)
{
    job j;
    (void)state;
    open_job(&j, "m=1", 0);
    MUST(lab_engines(&j.c, j.data, NULL, frequencies, NULL));
    close_job(&j);
}

static weft_status no_prompt(weft_engine *e, weft_comm *comm, void *ctx)
{
    int32_t tokens[4];
    (void)comm;
    (void)ctx;
    CLAIM(weft_engine_generate(e, tokens, 0, 4, 1, 1) == WEFT_E_INVALID,
          "an empty prompt passes");
    return WEFT_OK;
}

static void an_empty_prompt_is_refused(void **state)
{
    job j;
    (void)state;
    open_job(&j, "m=1", 0);
    MUST(lab_engines(&j.c, j.data, NULL, no_prompt, NULL));
    close_job(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_writes_the_same_text),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(temperature_0_takes_the_most_likely_token),
        cmocka_unit_test(tokens_come_with_the_models_probabilities),
        cmocka_unit_test(an_empty_prompt_is_refused)};
    return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
