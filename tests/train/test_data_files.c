/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <weft/run/data.h>

static char folder[] = "/tmp/weft-data-XXXXXX";

/* Path in the test folder; four may be held at a time. */
static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static const char *put(const char *name, const void *bytes, size_t n)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* A token file of llm.c; count < 0: the true one. */
static const char *put_llmc(const char *name, int32_t magic, int32_t version,
                            int32_t count, int width, const uint32_t *token, int n)
{
    static unsigned char buf[1024 + 4 * 4096];
    int32_t header[256] = {magic, version, count < 0 ? n : count};
    memcpy(buf, header, sizeof header);
    for (int i = 0; i < n; i++)
        for (int b = 0; b < width; b++)
            buf[1024 + i * width + b] = (unsigned char)(token[i] >> 8 * b);
    return put(name, buf, 1024 + (size_t)(n * width));
}

static weft_status read_one(const char *path, int64_t seq, int64_t vocab, weft_data **d)
{
    return weft_data_read(1, &path, seq, vocab, 1, d);
}

/* Every token of both parts, in order, with seq 1. */
static void assert_tokens(const weft_data *d, const uint32_t *want, int64_t n)
{
    int64_t train = weft_data_tokens(d, WEFT_TRAIN);
    assert_int_equal(train + weft_data_tokens(d, WEFT_HELD_OUT), n);
    for (int64_t k = 0; k < weft_data_samples(d, WEFT_TRAIN); k++) {
        int64_t w = weft_data_window(d, WEFT_TRAIN, k);
        int32_t x, y;
        weft_data_sample(d, WEFT_TRAIN, k, &x, &y);
        assert_int_equal(x, want[w]);
        assert_int_equal(y, want[w + 1]);
    }
    for (int64_t k = 0; k < weft_data_samples(d, WEFT_HELD_OUT); k++) {
        int32_t x, y;
        weft_data_sample(d, WEFT_HELD_OUT, k, &x, &y);
        assert_int_equal(x, want[train + k]);
        assert_int_equal(y, want[train + k + 1]);
    }
}

enum { N = 500 };

static void fill(uint32_t *token, uint32_t below)
{
    for (uint32_t i = 0; i < N; i++)
        token[i] = (uint32_t)((uint64_t)i * 2654435761u % below);
    token[17] = below - 1;
}

static void token_files_round_trip(void **state)
{
    const struct {
        int32_t magic, version;
        int width;
        uint32_t below;
    } kinds[] = {
        {20240520, 1, 2, 50257}, {20240520, 1, 2, 65536}, {20240801, 7, 4, 128256}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint32_t token[N];
        weft_data *d = NULL;
        fill(token, kinds[i].below);
        /* by its magic number, whatever the name */
        const char *name = i == 1 ? "shard.tok" : "shard.bin";
        const char *path = put_llmc(name, kinds[i].magic, kinds[i].version, -1,
                                    kinds[i].width, token, N);
        assert_int_equal(read_one(path, 1, 0, &d), WEFT_OK);
        assert_int_equal(weft_data_vocab(d), kinds[i].below);
        assert_tokens(d, token, N);
        weft_data_destroy(d);
        assert_int_equal(read_one(path, 1, 200000, &d), WEFT_OK);
        assert_int_equal(weft_data_vocab(d), 200000);
        weft_data_destroy(d);
    }
}

static void a_bin_file_without_a_header_is_raw_tokens(void **state)
{
    uint32_t token[N];
    unsigned char raw[2 * N];
    weft_data *d = NULL;

    fill(token, 50257);
    for (int i = 0; i < N; i++) {
        raw[2 * i] = (unsigned char)token[i];
        raw[2 * i + 1] = (unsigned char)(token[i] >> 8);
    }
    assert_int_equal(read_one(put("train.bin", raw, sizeof raw), 1, 0, &d), WEFT_OK);
    assert_tokens(d, token, N);
    weft_data_destroy(d);
}

static void text_files_are_bytes_and_join_in_order(void **state)
{
    char all[300];
    uint32_t want[300];
    weft_data *d = NULL;

    for (int i = 0; i < 300; i++)
        want[i] = (unsigned char)(all[i] = (char)(1 + i * 7 % 255));
    const char *path[3] = {put("a.txt", all, 100), put("b", all + 100, 1),
                           put("c.md", all + 101, 199)};
    assert_int_equal(weft_data_read(3, path, 1, 0, 1, &d), WEFT_OK);
    assert_int_equal(weft_data_vocab(d), 256);
    assert_tokens(d, want, 300);
    weft_data_destroy(d);
}

static void *feed(void *arg)
{
    FILE *f = fopen(arg, "wb");
    for (int i = 0; f && i < 100000; i++)
        putc('a' + i % 26, f);
    return f && fclose(f) == 0 ? arg : NULL;
}

static void a_pipe_is_read_to_its_end(void **state)
{
    pthread_t writer;
    weft_data *d = NULL;
    const char *path = in_folder("pipe");

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, feed, (void *)path), 0);
    assert_int_equal(read_one(path, 10, 0, &d), WEFT_OK);
    pthread_join(writer, NULL);
    assert_int_equal(
        weft_data_tokens(d, WEFT_TRAIN) + weft_data_tokens(d, WEFT_HELD_OUT), 100000);
    weft_data_destroy(d);
}

/* The call failed, said all of the words, and left the result alone. */
static void assert_refused(weft_status got, weft_status want, const weft_data *d,
                           const char *path, const char *const *word)
{
    const char *message = weft_status_message();

    assert_int_equal(got, want);
    assert_null(d);
    if (path && !strstr(message, path)) fail_msg("no \"%s\" in: %s", path, message);
    for (; *word; word++)
        if (!strstr(message, *word)) fail_msg("no \"%s\" in: %s", *word, message);
}

#define REFUSED(call, st, path, ...)                                                   \
    do {                                                                               \
        weft_data *d = NULL;                                                           \
        weft_status got_ = (call);                                                     \
        assert_refused(got_, (st), d, (path),                                          \
                       (const char *const[]){__VA_ARGS__, NULL});                      \
    } while (0)

static void files_that_are_not_there_or_not_files(void **state)
{
    const char *path = in_folder("nothing");
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_IO, path, "--data", "No such file");
    REFUSED(read_one(folder, 1, 0, &d), WEFT_E_INVALID, folder, "a directory");
    REFUSED(read_one("/dev/zero", 1, 0, &d), WEFT_E_INVALID, "/dev/zero",
            "neither a file nor a pipe");
    REFUSED(weft_data_read(0, NULL, 1, 0, 1, &d), WEFT_E_INVALID, NULL, "--data");
}

static void an_unreadable_file_is_named(void **state)
{
    if (geteuid() == 0) {
        /* root opens any file; reading this one fails in the kernel instead */
        const char *path = "/proc/self/mem";
        REFUSED(read_one(path, 1, 0, &d), WEFT_E_IO, path, "cannot read",
                "Input/output error");
        return;
    }
    const char *path = put("secret", "abcdefgh", 8);
    assert_int_equal(chmod(path, 0), 0);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_IO, path, "cannot open",
            "Permission denied");
}

static void text_with_a_nul_byte_is_binary(void **state)
{
    const char *path = put("image.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "NUL byte at offset 8",
            "binary file", ".bin");
    REFUSED(weft_data_from_text("ab\0cdefg", 8, 1, 1, &d), WEFT_E_INVALID, NULL,
            "NUL byte at offset 2");
}

static void empty_and_short_files_say_what_is_needed(void **state)
{
    const char *path = put("empty", "", 0);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "--data", "empty");
    REFUSED(weft_data_from_text("", 0, 1, 1, &d), WEFT_E_INVALID, NULL, "empty");

    path = put("short.txt", "0123456789abcdefghi", 19);
    REFUSED(read_one(path, 9, 0, &d), WEFT_E_INVALID, path, "19 tokens", "--seq 9",
            "longest --seq is 8");
    REFUSED(read_one(path, INT64_MAX, 0, &d), WEFT_E_INVALID, path,
            "longest --seq is 8");
    weft_data *fits = NULL;
    assert_int_equal(read_one(path, 8, 0, &fits), WEFT_OK);
    weft_data_destroy(fits);

    path = put("three", "abc", 3);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "3 tokens", "at least 4");
    const char *two[2] = {path, path};
    REFUSED(weft_data_read(2, two, 4, 0, 1, &d), WEFT_E_INVALID, NULL, "2 files",
            "6 tokens", "longest --seq is 2");
}

static void sizes_and_headers_must_fit_the_file(void **state)
{
    uint32_t token[N];
    const char *path = put("odd.bin", "abcdefghi", 9);

    fill(token, 50257);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "9 bytes", "odd size");
    path = put_llmc("v.bin", 20240520, 2, -1, 2, token, N);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "version 2",
            "version 1 is needed");
    const int32_t counts[] = {0, N - 1, N + 1, INT32_MAX, INT32_MIN + 2};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int32_t header[256] = {20240520, 1, counts[i]};
        char buf[1024 + 2 * N] = {0};
        memcpy(buf, header, sizeof header);
        path = put("count.bin", buf, sizeof buf);
        REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "counts", "1000 bytes");
    }
    path = put_llmc("none.bin", 20240520, 1, -1, 2, token, 0);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "counts 0 tokens");
    for (size_t n = 4; n < 1024; n += 255) {
        int32_t header[256] = {20240801, 7, 1};
        path = put("cut.bin", header, n);
        REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path,
                "begins as a token file", "1024");
    }
    path = put_llmc("gpt2_124M.bin", 20240326, 3, -1, 2, token, N);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path, "not of tokens", "20240326",
            "20240520");
}

static void tokens_past_the_vocabulary_are_named(void **state)
{
    uint32_t token[N];
    weft_data *bytes;
    const char *path;

    fill(token, 50257);
    path = put_llmc("t.bin", 20240520, 1, -1, 2, token, N);
    REFUSED(read_one(path, 1, 50256, &d), WEFT_E_INVALID, path,
            "token 50256 at position 17", "--vocab 50256", "--vocab 50257 or more");
    path = put("ascii", "hello\xe2\x82\xac world", 14);
    REFUSED(read_one(path, 1, 255, &d), WEFT_E_INVALID, path, "--vocab 256 or more",
            "found 255");
    assert_int_equal(read_one(path, 1, 256, &bytes), WEFT_OK);
    weft_data_destroy(bytes);
    token[3] = 0xffffffffu;
    path = put_llmc("huge.bin", 20240801, 7, -1, 4, token, N);
    REFUSED(read_one(path, 1, 0, &d), WEFT_E_INVALID, path,
            "token 4294967295 at position 3");
    REFUSED(read_one(path, 1, -1, &d), WEFT_E_INVALID, NULL, "--vocab -1");
    REFUSED(read_one(path, 1, (int64_t)1 << 31, &d), WEFT_E_INVALID, NULL,
            "--vocab 2147483648");
}

static void kinds_do_not_mix(void **state)
{
    uint32_t token[N];
    fill(token, 300);
    const char *path[2] = {put("a.txt", "some text", 9),
                           put_llmc("b.bin", 20240520, 1, -1, 2, token, N)};
    REFUSED(weft_data_read(2, path, 1, 0, 1, &d), WEFT_E_INVALID, path[1], "a.txt",
            "text", "16-bit tokens", "one kind");
}

static void arguments_out_of_range_are_named(void **state)
{
    REFUSED(weft_data_from_text("abcdefgh", 8, 0, 1, &d), WEFT_E_INVALID, NULL,
            "--seq 0");
    REFUSED(weft_data_random(0, 4, 4, 0, 1, &d), WEFT_E_INVALID, NULL, "--vocab 0");
    REFUSED(weft_data_random(9, -3, 4, 0, 1, &d), WEFT_E_INVALID, NULL, "--seq -3");
    REFUSED(weft_data_random(9, 4, 0, 0, 1, &d), WEFT_E_INVALID, NULL,
            "0 random samples");
    REFUSED(weft_data_random(9, 4, 4, 1, 1, &d), WEFT_E_INVALID, NULL, "1-th target");
    REFUSED(weft_data_random(9, INT64_MAX / 2, INT64_MAX / 2, 0, 1, &d), WEFT_E_NOMEM,
            NULL, "do not fit");
}

static int make_folder(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_files_round_trip),
        cmocka_unit_test(a_bin_file_without_a_header_is_raw_tokens),
        cmocka_unit_test(text_files_are_bytes_and_join_in_order),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(files_that_are_not_there_or_not_files),
        cmocka_unit_test(an_unreadable_file_is_named),
        cmocka_unit_test(text_with_a_nul_byte_is_binary),
        cmocka_unit_test(empty_and_short_files_say_what_is_needed),
        cmocka_unit_test(sizes_and_headers_must_fit_the_file),
        cmocka_unit_test(tokens_past_the_vocabulary_are_named),
        cmocka_unit_test(kinds_do_not_mix),
        cmocka_unit_test(arguments_out_of_range_are_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
