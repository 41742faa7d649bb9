/* SPDX-License-Identifier: Apache-2.0 */
/* Without libFuzzer: each seed, each of its beginnings, and mutations of it. The same ones
 * every time. usage: fuzz_NAME SEED_FOLDER [MUTATIONS] */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "fuzz.h"

enum { MOST_BYTES = 1 << 16 };

static uint32_t state = 12345;

static uint32_t next(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

/* One edit: a byte or a bit changed, a piece cut, repeated, or put elsewhere. */
static size_t edit(uint8_t *s, size_t n)
{
    static const char signs[] = "0123456789,.:;=-+{}[]()\"|*EtLFBIW \n\0\xff";
    size_t at = n ? next((uint32_t)n) : 0;
    size_t len = n ? 1 + next((uint32_t)(n - at < 16 ? n - at : 16)) : 0;

    if (!n) return s[0] = (uint8_t)signs[next(sizeof signs - 1)], 1;
    switch (next(5)) {
    case 0: s[at] = (uint8_t)signs[next(sizeof signs - 1)]; return n;
    case 1: s[at] ^= (uint8_t)(1u << next(8)); return n;
    case 2: memmove(s + at, s + at + len, n - at - len); return n - len;
    case 3:
        if (n + len > MOST_BYTES) return n;
        memmove(s + at + len, s + at, n - at);
        return n + len;
    default: memmove(s + next((uint32_t)(n - len + 1)), s + at, len); return n;
    }
}

static void mutate(const uint8_t *seed, size_t n, long times)
{
    uint8_t *work = malloc(MOST_BYTES + 16);
    if (!work) abort();
    for (size_t k = 0; k < n && k < 512; k++)
        LLVMFuzzerTestOneInput(seed, k);
    for (long i = 0; i < times; i++) {
        size_t m = n;
        memcpy(work, seed, n);
        for (uint32_t e = 1 + next(4); e > 0; e--)
            m = edit(work, m);
        LLVMFuzzerTestOneInput(work, m);
    }
    free(work);
}

static size_t read_seed(const char *folder, const char *name, uint8_t *buf)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return perror(path), exit(1), 0;
    size_t n = fread(buf, 1, MOST_BYTES, f);
    fclose(f);
    return n;
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    static uint8_t seed[MOST_BYTES];
    long times = argc > 2 ? atol(argv[2]) : 2000;
    struct dirent **entry;
    int n = argc > 1 ? scandir(argv[1], &entry, not_hidden, alphasort) : -1;

    if (n < 1) return fprintf(stderr, "no seeds in %s\n", argc > 1 ? argv[1] : "?"), 1;
    for (int i = 0; i < n; i++) {
        size_t size = read_seed(argv[1], entry[i]->d_name, seed);
        LLVMFuzzerTestOneInput(seed, size);
        mutate(seed, size, times);
        free(entry[i]);
    }
    free(entry);
    printf("%d seeds, %ld mutations of each\n", n, times);
    return 0;
}
