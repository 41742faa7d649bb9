/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/model_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/config_reader.h"
#include "cmd/stdio_writer.h"

enum { MOST_BYTES = 1 << 24, MOST_PATH = 4096 };

static int ends_in(const char *text, size_t n, const char *end)
{
    size_t k = strlen(end);
    return n >= k && !strncmp(text + n - k, end, k);
}

static int is_folder(const char *path)
{
    struct stat at;
    return !stat(path, &at) && S_ISDIR(at.st_mode);
}

static int exists(const char *path)
{
    struct stat at;
    return !stat(path, &at);
}

/* Copies the part of `text` that is the path; *rest is what follows its comma, or "". */
static weft_status path_of(const char *text, size_t n, char path[MOST_PATH],
                           const char **rest)
{
    const char *add;

    if (exists(text)) n = strlen(text); /* a comma of its own */
    *rest = text[n] ? text + n + 1 : text + n;
    if (n + sizeof "/config.json" > MOST_PATH)
        return WF_FAIL(WEFT_E_INVALID, "'%.40s...' is too long for the name of a file",
                       text);
    memcpy(path, text, n);
    path[n] = 0;
    if (!is_folder(path)) return WEFT_OK;
    add = ends_in(path, n, "/") ? "config.json" : "/config.json";
    memcpy(path + n, add, strlen(add) + 1);
    return WEFT_OK;
}

static weft_status read_file(const char *text, size_t n, weft_arch *out)
{
    char path[MOST_PATH], *json = NULL;
    const char *rest;
    int64_t size = 0;
    weft_arch a;

    WF_TRY(path_of(text, n, path, &rest));
    WF_TRY(wf_read_file(path, MOST_BYTES, &json, &size));
    weft_status st = wf_config_parse(path, json, (size_t)size, &a);
    wf_free(json);
    if (st == WEFT_OK && *rest) st = weft_arch_change(&a, rest);
    if (st == WEFT_OK) *out = a;
    return st;
}

/* A name that is no model, where a file or folder of that name lies: which is meant. */
static weft_status point_to_file(const char *text, size_t n, weft_status st)
{
    static const char *const end[] = {"/config.json", ".json"};
    char path[MOST_PATH];

    for (int i = 0; i < 2; i++) {
        int used = snprintf(path, sizeof path, "./%.*s%s", (int)n, text, end[i]);
        if (used >= (int)sizeof path || !exists(path) || is_folder(path)) continue;
        return WF_FAIL(st, "'%.*s' is no model; did you mean %s?", (int)n, text, path);
    }
    return st;
}

weft_status wf_model_read(const char *text, weft_arch *out)
{
    size_t n = strcspn(text, ",");
    if (memchr(text, '/', n) || ends_in(text, n, ".json"))
        return read_file(text, n, out);
    weft_status st = weft_arch_parse(text, out);
    return st == WEFT_E_INVALID && !memchr(text, '=', n) ? point_to_file(text, n, st)
                                                         : st;
}

weft_status wf_model_read_trained(const char *text, weft_arch *out)
{
    weft_arch a;
    WF_TRY(wf_model_read(text, &a));
    WF_TRY(weft_arch_require_family(&a, "gpt2"));
    *out = a;
    return WEFT_OK;
}
