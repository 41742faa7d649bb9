/* SPDX-License-Identifier: Apache-2.0 */
/* Run the built program as a user does, in a folder of its own. */
#ifndef TEST_CMD_RUN_H
#define TEST_CMD_RUN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

typedef struct result {
    int rc;
    char *out, *err;
} result;

int make_folder(void **state);
int remove_folder(void **state);

/* "weft " + the formatted words, by the shell, with NO_COLOR and a plain environment. */
result weft(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void done(result *r);
/* Run, and demand the exit status; the message must hold `part`. */
void refuses(int rc, const char *part, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Run with status 0 and read its JSON. */
json_t *weft_json(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void write_text(const char *name, const char *text);
char *read_text(const char *name); /* NULL when there is no such file; free it */
double number(const json_t *object, const char *key);
#endif
