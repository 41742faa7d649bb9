/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_CONFIG_READER_H
#define WF_CMD_CONFIG_READER_H
#include <jansson.h>
#include <weft/arch.h>

/* Typed reading of a config.json. Every message names the file, the key as the file has it,
 * what was found and what is needed. */

typedef struct wf_config {
    const char *file;  /* as the user named it                 */
    const char *scope; /* "" or "text_config.": before each key */
    const json_t *object;
    const char *model_type;
    weft_arch *arch;
} wf_config;

/* A key that fills a field of weft_arch. */
typedef struct wf_config_key {
    const char *key; /* '|' between names of the same thing: the first present counts */
    const char
        *field; /* name in the table of weft_arch                                */
    const char *otherwise; /* where the file has none: NULL: it must; "": the family's
                              value; else this text                                     */
} wf_config_key;

/* NULL when the key is absent or null. */
const json_t *wf_config_get(const wf_config *c, const char *key);
/* The message: "FILE: KEY: found FOUND, needed NEEDED". */
weft_status wf_config_wrong(const wf_config *c, const char *key, const json_t *found,
                            const char *needed) WEFT_MUST_CHECK;
/* Fills fields from keys, up to one whose key is NULL. */
weft_status wf_config_fill(const wf_config *c,
                           const wf_config_key *keys) WEFT_MUST_CHECK;
/* Sets a field that the reader worked out from `key`. */
weft_status wf_config_set(const wf_config *c, const char *key, const char *field,
                          int64_t value) WEFT_MUST_CHECK;
/* Value of a key that need not be there. */
weft_status wf_config_int(const wf_config *c, const char *key, int64_t min, int64_t max,
                          int64_t otherwise, int64_t *out) WEFT_MUST_CHECK;
weft_status wf_config_bool(const wf_config *c, const char *key, int otherwise,
                           int *out) WEFT_MUST_CHECK;
weft_status wf_config_text(const wf_config *c, const char *key, const char *otherwise,
                           const char **out) WEFT_MUST_CHECK;
/* Fails unless the key is absent or has this value: for what changes the computation. */
weft_status wf_config_only_bool(const wf_config *c, const char *key,
                                int value) WEFT_MUST_CHECK;

/* Reads the text of a config.json; `file` is for messages. What is in no family is an
 * error that names the nearest. */
weft_status wf_config_parse(const char *file, const char *text, size_t n,
                            weft_arch *out) WEFT_MUST_CHECK;
/* The families' part: c->model_type is in the file. */
weft_status wf_config_model(wf_config *c) WEFT_MUST_CHECK;
#endif
