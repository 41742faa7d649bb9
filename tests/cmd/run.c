/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "cmd/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/weft-test-cmd-XXXXXX";

int make_folder(void **state)
{
    setenv("NO_COLOR", "1", 1);
    setenv("COLUMNS", "80", 1);
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    setenv("LANG", "C.UTF-8", 1);
    return !mkdtemp(folder) || chdir(folder);
}

int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command);
}

char *read_text(const char *name)
{
    FILE *f = fopen(name, "rb");
    char *text = NULL;
    size_t n = 0, got, cap = 0;
    if (!f) return NULL;
    do {
        if (n + 65536 > cap) text = realloc(text, cap = 2 * cap + 131072);
        got = fread(text + n, 1, 65535, f);
        n += got;
    } while (got);
    text[n] = 0;
    fclose(f);
    return text;
}

void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static result run(const char *words)
{
    char command[4096];
    snprintf(command, sizeof command, "%s %s >.out 2>.err </dev/null", WEFT_PROGRAM,
             words);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return (result){WEXITSTATUS(status), read_text(".out"), read_text(".err")};
}

#define FORMAT(words)                                                                  \
    char words[3072];                                                                  \
    va_list ap;                                                                        \
    va_start(ap, fmt);                                                                 \
    vsnprintf(words, sizeof words, fmt, ap);                                           \
    va_end(ap)

result weft(const char *fmt, ...)
{
    FORMAT(words);
    return run(words);
}

void done(result *r)
{
    free(r->out);
    free(r->err);
}

void refuses(int rc, const char *part, const char *fmt, ...)
{
    FORMAT(words);
    result r = run(words);
    if (r.rc != rc) fail_msg("weft %s: status %d, not %d: %s", words, r.rc, rc, r.err);
    if (!strstr(r.err, part))
        fail_msg("weft %s: \"%s\" does not say \"%s\"", words, r.err, part);
    if (strncmp(r.err, "weft", 4) || strchr(r.err, '\n') != r.err + strlen(r.err) - 1)
        fail_msg("weft %s: no single line of words: %s", words, r.err);
    if (*r.out && r.rc == 2) fail_msg("weft %s: printed %s", words, r.out);
    done(&r);
}

json_t *weft_json(const char *fmt, ...)
{
    FORMAT(words);
    json_error_t error;
    result r = run(words);
    if (r.rc) fail_msg("weft %s: status %d: %s", words, r.rc, r.err);
    json_t *root = json_loads(r.out, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("weft %s: %s in %s", words, error.text, r.out);
    done(&r);
    return root;
}

double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v)) fail_msg("\"%s\" is no number", key);
    return json_number_value(v);
}
