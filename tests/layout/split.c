/* SPDX-License-Identifier: Apache-2.0 */
/* Layers on stages: the best split against every split, and the texts that state one. */
#include <weft/layout.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the four headers that it needs */
#include <cmocka.h>

#include "claim.h"

static uint64_t state64 = 88172645463325252u;

static int64_t below(int64_t n)
{
    state64 ^= state64 << 13;
    state64 ^= state64 >> 7;
    state64 ^= state64 << 17;
    return (int64_t)(state64 >> 16) % n;
}

/* ---- every split ------------------------------------------------------------------ */

enum { LAYERS = 9, STAGES = 5 };

/* The best so far, by the words of the header. */
typedef struct best {
    int64_t largest, squares, count[STAGES];
    int found;
} best;

static int64_t cost_of(const weft_stage_problem *q, int s, int64_t i, int64_t j)
{
    int64_t c = s == 0 ? q->embed_cost : 0;
    if (s == q->n_stages - 1) c += q->head_cost;
    for (; i < j; i++)
        c += q->layer_cost[i];
    return c;
}

static int64_t bytes_of(const weft_stage_problem *q, int s, int64_t i, int64_t j)
{
    int64_t b = s == 0 ? q->embed_bytes : 0;
    if (s == q->n_stages - 1) b += q->head_bytes;
    for (; i < j; i++)
        b += q->layer_bytes[i] + q->in_flight[s] * q->live_bytes[i];
    return b;
}

static void weigh(const weft_stage_problem *q, const int64_t *count, best *b)
{
    int64_t at = 0, largest = 0, squares = 0;

    for (int s = 0; s < q->n_stages; at += count[s++]) {
        int64_t c = cost_of(q, s, at, at + count[s]);
        if (q->limit_bytes && bytes_of(q, s, at, at + count[s]) > q->limit_bytes)
            return;
        largest = c > largest ? c : largest;
        squares += c * c;
    }
    /* splits come with early stages small first: the last of equals wins */
    if (b->found &&
        (largest > b->largest || (largest == b->largest && squares > b->squares)))
        return;
    *b = (best){.largest = largest, .squares = squares, .found = 1};
    memcpy(b->count, count, (size_t)q->n_stages * sizeof *count);
}

static void every_split(const weft_stage_problem *q, int s, int64_t left,
                        int64_t *count, best *b)
{
    int64_t least = q->empty_ends && (s == 0 || s == q->n_stages - 1) ? 0 : 1;

    if (s == q->n_stages - 1 || s == STAGES - 1) { /* which is at most the same */
        count[s] = left;
        if (left >= least) weigh(q, count, b);
        return;
    }
    for (count[s] = least; count[s] <= left; count[s]++)
        every_split(q, s + 1, left - count[s], count, b);
}

typedef struct numbers {
    int64_t cost[LAYERS], bytes[LAYERS], live[LAYERS];
    int32_t flight[STAGES];
} numbers;

/* A small problem, ties and zeros included. */
static weft_stage_problem any_problem(numbers *x)
{
    int64_t range = 1 + below(6);
    weft_stage_problem q = {.n_layers = 1 + below(LAYERS),
                            .n_stages = (int32_t)(1 + below(STAGES)),
                            .empty_ends = (int32_t)below(2),
                            .layer_cost = x->cost,
                            .embed_cost = below(range),
                            .head_cost = below(2 * range),
                            .layer_bytes = x->bytes,
                            .live_bytes = x->live,
                            .in_flight = x->flight,
                            .limit_bytes = below(2) ? 0 : 1 + below(40),
                            .embed_bytes = below(4),
                            .head_bytes = below(4)};
    for (int i = 0; i < LAYERS; i++) {
        x->cost[i] = below(range);
        x->bytes[i] = below(5);
        x->live[i] = below(3);
    }
    for (int s = 0; s < STAGES; s++)
        x->flight[s] = (int32_t)below(4);
    return q;
}

static void the_split_is_the_best_of_all(void **state)
{
    int solved = 0, refused = 0;
    (void)state;
    for (int k = 0; k < 20000; k++) {
        numbers x;
        best b = {0};
        int64_t count[STAGES] = {-1}, try[STAGES];
        weft_stage_problem q = any_problem(&x);
        every_split(&q, 0, q.n_layers, try, &b);
        weft_status st = weft_stages_balance(&q, count);
        if (!b.found) {
            assert_int_not_equal(st, WEFT_OK);
            assert_int_equal(count[0], -1);
            refused++;
            continue;
        }
        if (st) fail_msg("%s", weft_status_message());
        for (int s = 0; s < q.n_stages; s++)
            if (count[s] != b.count[s])
                fail_msg("problem %d: stage %d has %lld layers, %lld are best", k, s,
                         (long long)count[s], (long long)b.count[s]);
        solved++;
    }
    assert_true(solved > 5000 && refused > 1000);
}

/* e + 2 and e + 1 have lesser squares than e + 3 and e, by 4 in 2^121; twice, so that
 * each carry of the product matters. */
static void sums_of_squares_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        int64_t e = (INT64_C(1) << 60) + (k ? UINT32_MAX : 0), count[3];
        int64_t cost[] = {e + 2, 1, e, e};
        weft_stage_problem q = {
            .n_layers = 4, .n_stages = 3, .layer_cost = cost, .head_cost = e};
        MUST(weft_stages_balance(&q, count));
        assert_true(count[0] == 1 && count[1] == 2 && count[2] == 1);
    }
}

/* Costs near 2^58 need all of the 128 bits. */
static void the_unit_of_the_costs_does_not_matter(void **state)
{
    const int64_t unit = 0x123456789abcdf;
    (void)state;
    for (int k = 0; k < 5000; k++) {
        numbers x;
        int64_t count[STAGES], again[STAGES];
        weft_stage_problem q = any_problem(&x);
        if (weft_stages_balance(&q, count) != WEFT_OK) continue;
        for (int i = 0; i < LAYERS; i++)
            x.cost[i] *= unit;
        q.embed_cost *= unit;
        q.head_cost *= unit;
        MUST(weft_stages_balance(&q, again));
        assert_memory_equal(again, count, (size_t)q.n_stages * sizeof *count);
    }
}

static void the_limit_that_is_named_is_the_least_that_does(void **state)
{
    int named = 0;
    (void)state;
    for (int k = 0; k < 3000; k++) {
        numbers x;
        int64_t count[STAGES];
        weft_stage_problem q = any_problem(&x);
        if (!q.limit_bytes || weft_stages_balance(&q, count) != WEFT_E_INFEASIBLE)
            continue;
        const char *at = strstr(weft_status_message(), "bytes; ");
        assert_non_null(at);
        q.limit_bytes = atoll(at + 7);
        MUST(weft_stages_balance(&q, count));
        if (--q.limit_bytes)
            assert_int_equal(weft_stages_balance(&q, count), WEFT_E_INFEASIBLE);
        named++;
    }
    assert_true(named > 100);
}

/* ---- equal layers ----------------------------------------------------------------- */

static int64_t ones[200];

static weft_stage_problem slots(int64_t layers, int stages, int64_t embed, int64_t head)
{
    for (int i = 0; i < 200; i++)
        ones[i] = 1;
    return (weft_stage_problem){.n_layers = layers,
                                .n_stages = stages,
                                .layer_cost = ones,
                                .embed_cost = embed,
                                .head_cost = head};
}

static void splits_as(int64_t layers, int stages, int64_t embed, int64_t head,
                      const char *counts)
{
    int64_t count[16];
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_stage_problem q = slots(layers, stages, embed, head);

    MUST(weft_stages_balance(&q, count));
    weft_stages_write_counts(stages, count, &out);
    assert_string_equal(text.s, counts);
    weft_text_clear(&text);
}

static void cases_1_and_4_weigh_embedding_and_head(void **state)
{
    (void)state;
    splits_as(30, 4, 1, 1, "7,8,8,7");
    splits_as(7, 2, 0, 0, "4,3");
    splits_as(61, 3, 1, 1, "20,21,20");
    splits_as(3, 2, 2, 2, "2,1");
    splits_as(12, 4, 0, 6, "4,4,3,1"); /* what the head leaves is spread evenly too */
}

/* Case 1, the property: E and H weigh a layer each. */
static void no_layer_is_lost_and_slots_differ_by_one(void **state)
{
    (void)state;
    for (int layers = 1; layers <= 130; layers++)
        for (int p = 1; p <= 16; p++) {
            int64_t count[16], sum = 0, least = 1000, most = 0;
            weft_stage_problem q = slots(layers, p, 1, 1);
            q.empty_ends = p > layers;
            weft_status st = weft_stages_balance(&q, count);
            assert_int_equal(st == WEFT_OK, p <= layers + 2);
            for (int s = 0; s < p && !st; s++) {
                int64_t n = count[s] + (s == 0) + (s == p - 1);
                sum += count[s];
                least = n < least ? n : least;
                most = n > most ? n : most;
            }
            if (st) continue;
            assert_int_equal(sum, layers);
            assert_true(least >= 1 && most - least <= 1);
        }
}

static void what_makes_no_sense_is_refused(void **state)
{
    int64_t count[16], cost[] = {1, -1, INT64_MAX, 1};
    weft_stage_problem q = slots(3, 4, 1, 1);
    (void)state;
    assert_int_equal(weft_stages_balance(&q, count), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(),
                        "3 layers make at most 3 stages, 4 are asked");
    q = slots(2, 1, 0, 0);
    q.layer_cost = cost;
    assert_int_equal(weft_stages_balance(&q, count), WEFT_E_INVALID);
    assert_string_equal(weft_status_message(), "cost -1 of layer 1 is negative");
    q.layer_cost = cost + 2;
    assert_int_equal(weft_stages_balance(&q, count), WEFT_E_INVALID);
    q = slots(0, 1, 0, 0);
    assert_int_equal(weft_stages_balance(&q, count), WEFT_E_INVALID);
}

/* ---- texts ------------------------------------------------------------------------ */

static void reads_as(const char *given, const char *counts, const char *megatron)
{
    int64_t count[64], again[64];
    int n = 0, m = 0;
    weft_text a = {0}, b = {0};
    weft_writer to_a = weft_text_writer(&a), to_b = weft_text_writer(&b);

    if (weft_stages_read(given, 64, &n, count))
        fail_msg("%s: %s", given, weft_status_message());
    weft_stages_write_counts(n, count, &to_a);
    weft_stages_write_megatron(n, count, &to_b);
    assert_string_equal(a.s, counts);
    assert_string_equal(b.s, megatron);
    MUST(weft_stages_read(b.s, 64, &m, again));
    assert_int_equal(m, n);
    assert_memory_equal(again, count, (size_t)n * sizeof *count);
    weft_text_clear(&a);
    weft_text_clear(&b);
}

static void counts_and_megatron_layouts_are_read(void **state)
{
    (void)state;
    reads_as("7,8,8,7", "7,8,8,7", "Et*7|(t*8|)*2t*7L");
    reads_as(" 7 , 8 * 3, 2", "7,8*3,2", "Et*7|(t*8|)*3ttL");
    reads_as("12", "12", "Et*12L");
    reads_as("0,1,0*4,2", "0,1,0*4,2", "E|t|(|)*4ttL");
    reads_as("Et*2|(t|)*6tL", "2,1*7", "Ett|(t|)*6tL");
    reads_as("Ettt|(tt|)*29,L", "3,2*29,0", "Et*3|(tt|)*29L");
    reads_as("E|t*3||t,t|L", "0,3,0,2,0", "E|t*3||tt|L");
    reads_as("E((t|)*2tt|)*2L", "1,1,2,1,1,2,0", "Et|t|tt|(t|)*2tt|L");
    reads_as("Et|*3 t L", "1,0,0,1", "Et|(|)*2tL");
    reads_as("EL", "0", "EL");
}

static void is_refused(const char *given, const char *words)
{
    int64_t count[8] = {-1};
    int n = -1;

    assert_int_equal(weft_stages_read(given, 8, &n, count), WEFT_E_INVALID);
    if (!strstr(weft_status_message(), words))
        fail_msg("%s: '%s' lacks '%s'", given, weft_status_message(), words);
    assert_int_equal(n, -1);
}

static void other_texts_are_refused_in_words(void **state)
{
    (void)state;
    is_refused("", "a value is missing");
    is_refused("7,", "a count is missing at character 3");
    is_refused("7,,8", "a count is missing at character 3");
    is_refused("-1,8", "a count is missing at character 1");
    is_refused("7 8", "'8' at character 3: counts are apart by commas");
    is_refused("7,8*", "the number after * is missing");
    is_refused("7*0", "*0: a part is there at least once");
    is_refused("99999999999999999999", "a count at character 1 is above 1000000");
    is_refused("1,1,1,1,1,1,1,1,1", "9 stages, at most 8 are taken");
    is_refused("even", "'e' is none of E t L");
    is_refused("t|tL", "E, the embedding, is missing at its beginning");
    is_refused("tE|L", "E, the embedding, comes once and first");
    is_refused("EEtL", "E, the embedding, comes once and first");
    is_refused("Et|t", "L, the loss, is missing at its end");
    is_refused("EtL|t", "'|' after L, the loss, which comes last");
    is_refused("Et|m|L", "m, multi-token prediction");
    is_refused("E(t|*3L", "a ( is not closed");
    is_refused("Et)L", "')' is none of E t L");
    is_refused("E((((((((((t))))))))))L", "more than 8 deep");
    is_refused("E(()*1000000)*1000000L", "it expands to more than");
    is_refused("E(t*1000000)*1000000L", "it expands to more than");
}

/* For the sanitizers: any text ends, and what is read is written and read again. */
static void any_text_is_read_or_refused(void **state)
{
    static const char signs[] = "EtL|*()m,0123789 x";
    int taken = 0;
    (void)state;
    for (int k = 0; k < 200000; k++) {
        char text[24] = "E";
        int64_t count[64];
        int n, len = (int)below(14);
        for (int i = 0; i < len; i++)
            text[1 + i] = signs[below((int)sizeof signs - 1)];
        strcpy(text + 1 + len, below(2) ? "L" : "");
        const char *from = below(2) ? text : text + 1;
        taken += weft_stages_read(from, 64, &n, count) == WEFT_OK;
    }
    assert_true(taken > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_split_is_the_best_of_all),
        cmocka_unit_test(sums_of_squares_are_exact),
        cmocka_unit_test(the_unit_of_the_costs_does_not_matter),
        cmocka_unit_test(the_limit_that_is_named_is_the_least_that_does),
        cmocka_unit_test(cases_1_and_4_weigh_embedding_and_head),
        cmocka_unit_test(no_layer_is_lost_and_slots_differ_by_one),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(counts_and_megatron_layouts_are_read),
        cmocka_unit_test(other_texts_are_refused_in_words),
        cmocka_unit_test(any_text_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
