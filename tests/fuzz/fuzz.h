/* SPDX-License-Identifier: Apache-2.0 */
/* A harness reads any bytes and aborts when what came out breaks a promise: what is taken
 * passes its own check and survives being written and read again, what is refused has
 * words. The same file is linked with libFuzzer (WEFT_FUZZ) or with driver.c, which tries
 * seeds and some thousand mutations of them in every build. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define PROMISE(x)                                                                     \
    ((x) ? (void)0                                                                     \
         : (fprintf(stderr, "%s:%d: broken: %s (%s)\n", __FILE__, __LINE__, #x,        \
                    weft_status_message()),                                            \
            abort()))

/* A failure has words, and none of them is longer than a terminal can bear. */
#define REFUSED()                                                                      \
    PROMISE(*weft_status_message() && strlen(weft_status_message()) < 4096)

/* The bytes as text that ends; free it. */
static inline char *fuzz_text(const uint8_t *data, size_t n)
{
    char *s = malloc(n + 1);
    if (!s) abort();
    if (n) memcpy(s, data, n);
    s[n] = 0;
    return s;
}
#endif
