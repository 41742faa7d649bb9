/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/run/data.h>

enum { SEQ = 8 };

/* Text of n bytes in which every run of four bytes is another one: sample contents tell
 * which window they are. */
static char *counting_text(int64_t n)
{
    char *s = malloc((size_t)n);
    assert_non_null(s);
    for (int64_t i = 0; i < n; i++) {
        int64_t word = i / 4;
        int64_t digit = i % 4 == 0 ? word / 4096 : i % 4 == 1 ? word / 64 : word;
        s[i] = (char)(i % 4 == 3 ? 'z' : '!' + digit % 64);
    }
    return s;
}

static weft_data *counting(int64_t n, int64_t seq, uint64_t seed)
{
    char *s = counting_text(n);
    weft_data *d = NULL;
    assert_int_equal(weft_data_from_text(s, n, seq, seed, &d), WEFT_OK);
    free(s);
    return d;
}

/* A training part of exactly `windows` windows. */
static weft_data *with_windows(int64_t windows, uint64_t seed)
{
    weft_data *d = NULL;
    assert_int_equal(weft_data_random(50, 3, windows, 0, seed, &d), WEFT_OK);
    assert_int_equal(weft_data_samples(d, WEFT_TRAIN), windows);
    return d;
}

static void the_last_tenth_is_held_out_and_shares_no_token(void **state)
{
    for (int64_t n = 2 * (SEQ + 1); n < 2000; n += 7) {
        weft_data *d = counting(n, SEQ, 1);
        int64_t held = n / 10 > SEQ + 1 ? n / 10 : SEQ + 1;
        assert_int_equal(weft_data_tokens(d, WEFT_HELD_OUT), held);
        assert_int_equal(weft_data_tokens(d, WEFT_TRAIN), n - held);
        assert_int_equal(weft_data_samples(d, WEFT_TRAIN), (n - held - 1) / SEQ);
        assert_int_equal(weft_data_samples(d, WEFT_HELD_OUT), (held - 1) / SEQ);
        assert_true(weft_data_samples(d, WEFT_TRAIN) >= 1);
        assert_int_equal(weft_data_vocab(d), 256);
        assert_int_equal(weft_data_seq(d), SEQ);
        weft_data_destroy(d);
    }
}

static void a_sample_is_its_window_and_targets_are_the_next_tokens(void **state)
{
    enum { N = 1003 };
    char *text = counting_text(N);
    weft_data *d = counting(N, SEQ, 5);

    for (weft_split s = WEFT_TRAIN; s <= WEFT_HELD_OUT; s++) {
        int64_t at = s == WEFT_HELD_OUT ? weft_data_tokens(d, WEFT_TRAIN) : 0;
        for (int64_t k = 0; k < 3 * weft_data_samples(d, s); k++) {
            int32_t tokens[SEQ], targets[SEQ];
            int64_t from = at + SEQ * weft_data_window(d, s, k);
            weft_data_sample(d, s, k, tokens, targets);
            for (int i = 0; i < SEQ; i++) {
                assert_int_equal(tokens[i], (unsigned char)text[from + i]);
                assert_int_equal(targets[i], (unsigned char)text[from + i + 1]);
            }
        }
    }
    free(text);
    weft_data_destroy(d);
}

static void every_window_comes_once_an_epoch(void **state)
{
    const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 64, 100, 1000, 4097};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        weft_data *d = with_windows(n, 11 + i);
        char *seen = calloc((size_t)n, 1);
        assert_non_null(seen);
        for (int64_t epoch = 0; epoch < 4; epoch++) {
            for (int64_t k = 0; k < n; k++) {
                int64_t w = weft_data_window(d, WEFT_TRAIN, epoch * n + k);
                assert_in_range(w, 0, n - 1);
                assert_int_equal(seen[w], epoch);
                seen[w]++;
            }
        }
        free(seen);
        weft_data_destroy(d);
    }
}

static int64_t places_kept(const weft_data *a, const weft_data *b, int64_t shift,
                           int64_t n)
{
    int64_t same = 0;
    for (int64_t k = 0; k < n; k++)
        same += weft_data_window(a, WEFT_TRAIN, k) ==
                weft_data_window(b, WEFT_TRAIN, k + shift);
    return same;
}

/* Two independent permutations agree in one place on average, whatever n. */
static void order_changes_with_epoch_and_seed_and_nothing_else(void **state)
{
    enum { N = 5000 };
    weft_data *a = with_windows(N, 1), *b = with_windows(N, 2),
              *again = with_windows(N, 1);

    assert_in_range(places_kept(a, a, N, N), 0, 8);
    assert_in_range(places_kept(a, b, 0, N), 0, 8);
    assert_in_range(places_kept(a, b, N, N), 0, 8);
    assert_int_equal(places_kept(a, again, 0, N), N);
    weft_data_destroy(a);
    weft_data_destroy(b);
    weft_data_destroy(again);
}

/* All 24 orders of 4 windows, 1000 times each in 24,000 epochs: within 5 deviations. */
static void every_order_of_few_windows_is_equally_likely(void **state)
{
    enum { N = 4, EPOCHS = 24000 };
    int count[256] = {0};
    weft_data *d = with_windows(N, 3);

    for (int64_t e = 0; e < EPOCHS; e++) {
        int code = 0;
        for (int64_t k = 0; k < N; k++)
            code = code * 4 + (int)weft_data_window(d, WEFT_TRAIN, e * N + k);
        count[code]++;
    }
    int orders = 0;
    for (int code = 0; code < 256; code++) {
        orders += count[code] > 0;
        if (count[code]) assert_in_range(count[code], 1000 - 156, 1000 + 156);
    }
    assert_int_equal(orders, 24);
    weft_data_destroy(d);
}

/* Neighbours in the text should not stay neighbours: the distance between the windows of
 * samples k and k+1 is n/3 on average in a random order. */
static void neighbours_are_scattered(void **state)
{
    enum { N = 20000 };
    weft_data *d = with_windows(N, 9);
    double sum = 0;

    for (int64_t k = 0; k + 1 < N; k++)
        sum += fabs((double)(weft_data_window(d, WEFT_TRAIN, k) -
                             weft_data_window(d, WEFT_TRAIN, k + 1)));
    double mean = sum / (N - 1) / N;
    assert_true(fabs(mean - 1.0 / 3) < 0.01);
    weft_data_destroy(d);
}

/* Samples of one step, collected rank by rank, must be consumed .. consumed+B-1. */
static void check_step(int64_t consumed, int batch, int dp, int b)
{
    int micros = batch / (dp * b);
    char seen[64] = {0};

    for (int r = 0; r < dp; r++) {
        for (int j = 0; j < micros; j++) {
            int64_t first = weft_data_first(consumed, j, dp, r, b);
            assert_int_equal(first, consumed + j * dp * b + r * b);
            for (int i = 0; i < b; i++)
                seen[first + i - consumed]++;
        }
    }
    for (int i = 0; i < batch; i++)
        assert_int_equal(seen[i], 1);
}

/* Case 106: resume from d=8 on d=16; and any other split of the batch. */
static void case_106_a_step_reads_the_same_samples_under_any_dp(void **state)
{
    check_step(800, 16, 8, 1);
    check_step(800, 16, 16, 1);
    assert_int_equal(weft_data_first(800, 1, 8, 3, 1), 811);
    assert_int_equal(weft_data_first(800, 0, 16, 11, 1), 811);
    for (int dp = 1; dp <= 48; dp++)
        for (int b = 1; dp * b <= 48; b++)
            if (48 % (dp * b) == 0) check_step(48 * 7, 48, dp, b);
}

/* Case 117: 103 samples on 4 ranks. The epoch's last batch is filled from the next epoch:
 * no rank runs short, and in 103 steps each sample comes exactly 4 times. */
static void case_117_ranks_never_run_out_at_different_times(void **state)
{
    enum { N = 103, D = 4 };
    weft_data *d = with_windows(N, 4);
    int seen[N] = {0};

    for (int64_t step = 0; step < N; step++) {
        for (int r = 0; r < D; r++) {
            int64_t k = weft_data_first(step * D, 0, D, r, 1);
            assert_int_equal(k / N, (step * D + r) / N);
            seen[weft_data_window(d, WEFT_TRAIN, k)]++;
        }
        int64_t done = (step + 1) * D, epoch = done / N;
        for (int w = 0; done % N == 0 && w < N; w++)
            assert_int_equal(seen[w], epoch);
    }
    for (int w = 0; w < N; w++)
        assert_int_equal(seen[w], D);
    weft_data_destroy(d);
}

/* Case 58: stage 0 asks for tokens, the last stage for targets, of the same sample. */
static void case_58_first_and_last_stage_see_the_same_sample(void **state)
{
    weft_data *stage0 = counting(900, SEQ, 7), *last = counting(900, SEQ, 7);

    for (int64_t k = 0; k < 3 * 16; k++) {
        int32_t tokens[SEQ], targets[SEQ], both[2][SEQ];
        weft_data_sample(stage0, WEFT_TRAIN, k, tokens, NULL);
        weft_data_sample(last, WEFT_TRAIN, k, NULL, targets);
        weft_data_sample(last, WEFT_TRAIN, k, both[0], both[1]);
        assert_memory_equal(tokens, both[0], sizeof tokens);
        assert_memory_equal(targets, both[1], sizeof targets);
        assert_memory_equal(tokens + 1, targets, (SEQ - 1) * sizeof *tokens);
    }
    weft_data_destroy(stage0);
    weft_data_destroy(last);
}

static void held_out_windows_come_in_order_and_wrap(void **state)
{
    weft_data *d = counting(3000, SEQ, 2);
    int64_t n = weft_data_samples(d, WEFT_HELD_OUT);

    for (int64_t k = 0; k < 3 * n; k++)
        assert_int_equal(weft_data_window(d, WEFT_HELD_OUT, k), k % n);
    weft_data_destroy(d);
}

static void random_tokens_cover_the_vocabulary_and_depend_on_the_seed(void **state)
{
    const int64_t vocabs[] = {1, 2, 50257, 65536, 65537, 200000};
    for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; i++) {
        weft_data *a = NULL, *b = NULL, *c = NULL;
        int32_t x[64], y[64], z[64];
        double sum = 0;
        int64_t v = vocabs[i], n = 300;
        assert_int_equal(weft_data_random(v, 64, n, 0, 1, &a), WEFT_OK);
        assert_int_equal(weft_data_random(v, 64, n, 0, 1, &b), WEFT_OK);
        assert_int_equal(weft_data_random(v, 64, n, 0, 2, &c), WEFT_OK);
        assert_int_equal(weft_data_vocab(a), v);
        for (int64_t k = 0; k < n; k++) {
            weft_data_sample(a, WEFT_TRAIN, k, x, NULL);
            weft_data_sample(b, WEFT_TRAIN, k, y, NULL);
            assert_memory_equal(x, y, sizeof x);
            for (int t = 0; t < 64; t++) {
                assert_in_range(x[t], 0, v - 1);
                sum += x[t];
            }
        }
        double mean = sum / (64.0 * (double)n), expect = (double)(v - 1) / 2;
        assert_true(fabs(mean - expect) <= 5 * (double)v / sqrt(12 * 64.0 * (double)n));
        weft_data_sample(c, WEFT_TRAIN, 0, z, NULL);
        weft_data_sample(a, WEFT_TRAIN, 0, x, NULL);
        if (v > 1) assert_memory_not_equal(x, z, sizeof x);
        weft_data_destroy(a);
        weft_data_destroy(b);
        weft_data_destroy(c);
    }
}

static void valid_counts_the_targets_that_are_not_ignored(void **state)
{
    for (int every = 0; every <= 13; every++) {
        if (every == 1) continue;
        weft_data *d = NULL;
        assert_int_equal(weft_data_random(9, 5, 12, every, 3, &d), WEFT_OK);
        int64_t valid = 0, ignored = 0, k0 = 7, n = 29;
        for (int64_t k = k0; k < k0 + n; k++) {
            int32_t targets[5];
            weft_data_sample(d, WEFT_TRAIN, k, NULL, targets);
            for (int i = 0; i < 5; i++)
                targets[i] >= 0 ? valid++ : ignored++;
        }
        assert_int_equal(weft_data_valid(d, WEFT_TRAIN, k0, n), valid);
        assert_true(every ? ignored > 0 : ignored == 0);
        assert_int_equal(weft_data_valid(d, WEFT_HELD_OUT, 0, 12),
                         every ? 60 - 60 / every : 60);
        weft_data_destroy(d);
    }
}

/* 65536 is the first token that two bytes cannot hold. */
static void a_vocabulary_past_two_bytes_keeps_its_last_token(void **state)
{
    int32_t tokens[64], most = 0;
    weft_data *d = NULL;

    assert_int_equal(weft_data_random(65537, 64, 8000, 0, 1, &d), WEFT_OK);
    for (int64_t k = 0; k < 8000; k++) {
        weft_data_sample(d, WEFT_HELD_OUT, k, tokens, NULL);
        for (int i = 0; i < 64; i++)
            if (tokens[i] > most) most = tokens[i];
    }
    assert_int_equal(most, 65536);
    weft_data_destroy(d);
}

static double entropy_of(const char *text, int64_t n)
{
    weft_data *d = NULL;
    double h = -1;
    assert_int_equal(weft_data_from_text(text, n, 1, 0, &d), WEFT_OK);
    assert_int_equal(weft_data_bigram_entropy(d, &h), WEFT_OK);
    weft_data_destroy(d);
    return h;
}

/* By the definition, from a table of all pairs. */
static double entropy_by_table(const char *s, int64_t n)
{
    static double pair[256][256], one[256];
    double h = 0;

    memset(pair, 0, sizeof pair);
    memset(one, 0, sizeof one);
    for (int64_t i = 0; i + 1 < n; i++) {
        pair[(unsigned char)s[i]][(unsigned char)s[i + 1]]++;
        one[(unsigned char)s[i]]++;
    }
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++)
            if (pair[a][b] > 0)
                h -= pair[a][b] / (double)(n - 1) * log(pair[a][b] / one[a]);
    return h;
}

static void bigram_entropy_follows_its_definition(void **state)
{
    /* after a: b, b, c; after b: a, a; after c: nothing */
    double h = 3.0 / 5 * (2.0 / 3 * log(1.5) + 1.0 / 3 * log(3));
    assert_true(fabs(entropy_of("ababac", 6) - h) < 1e-15);
    assert_true(entropy_of("abababababab", 12) == 0);
    assert_true(entropy_of("aaaa", 4) == 0);

    for (int64_t n = 4; n < 30000; n = n * 3 + 1) {
        char *s = counting_text(n);
        assert_true(fabs(entropy_of(s, n) - entropy_by_table(s, n)) < 1e-12);
        free(s);
    }
}

/* Independent tokens: knowing the current one does not help, H = ln V less the bias of
 * counting, about (V-1)^2 / 2N. */
static void bigram_entropy_of_independent_tokens_is_that_of_one(void **state)
{
    weft_data *d = NULL;
    double h = 0;
    assert_int_equal(weft_data_random(16, 100, 2000, 0, 1, &d), WEFT_OK);
    assert_int_equal(weft_data_bigram_entropy(d, &h), WEFT_OK);
    assert_true(fabs(h - log(16)) < 0.001);
    weft_data_destroy(d);

    assert_int_equal(weft_data_random(100000, 100, 2000, 0, 1, &d), WEFT_OK);
    assert_int_equal(weft_data_bigram_entropy(d, &h), WEFT_OK);
    assert_true(h > 0 &&
                h < log(5)); /* each token seen 4 times: few successors known */
    weft_data_destroy(d);
}

static void *reader(void *arg)
{
    const weft_data *d = arg;
    int64_t n = weft_data_samples(d, WEFT_TRAIN), *sum = malloc(sizeof *sum);
    int32_t tokens[SEQ], targets[SEQ];

    *sum = 0;
    for (int64_t k = 0; k < 3 * n; k++) {
        weft_data_sample(d, WEFT_TRAIN, k, tokens, targets);
        *sum += weft_data_valid(d, WEFT_TRAIN, k, 2) + (k + 1) * tokens[0] * targets[1];
    }
    return sum;
}

static void rank_threads_share_one_without_a_lock(void **state)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int64_t *sum[THREADS];
    weft_data *d = counting(2500, SEQ, 6);

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, reader, d), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], (void **)&sum[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(*sum[i], *sum[0]);
        if (i) free(sum[i]);
    }
    free(sum[0]);
    weft_data_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_tenth_is_held_out_and_shares_no_token),
        cmocka_unit_test(a_sample_is_its_window_and_targets_are_the_next_tokens),
        cmocka_unit_test(every_window_comes_once_an_epoch),
        cmocka_unit_test(order_changes_with_epoch_and_seed_and_nothing_else),
        cmocka_unit_test(every_order_of_few_windows_is_equally_likely),
        cmocka_unit_test(neighbours_are_scattered),
        cmocka_unit_test(case_106_a_step_reads_the_same_samples_under_any_dp),
        cmocka_unit_test(case_117_ranks_never_run_out_at_different_times),
        cmocka_unit_test(case_58_first_and_last_stage_see_the_same_sample),
        cmocka_unit_test(held_out_windows_come_in_order_and_wrap),
        cmocka_unit_test(random_tokens_cover_the_vocabulary_and_depend_on_the_seed),
        cmocka_unit_test(a_vocabulary_past_two_bytes_keeps_its_last_token),
        cmocka_unit_test(valid_counts_the_targets_that_are_not_ignored),
        cmocka_unit_test(bigram_entropy_follows_its_definition),
        cmocka_unit_test(bigram_entropy_of_independent_tokens_is_that_of_one),
        cmocka_unit_test(rank_threads_share_one_without_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
