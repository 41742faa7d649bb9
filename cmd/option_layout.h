/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_OPTION_LAYOUT_H
#define WF_CMD_OPTION_LAYOUT_H
#include <jansson.h>
#include <weft/status.h>

/* A scalar of a run file as the user would type it; 0 for objects, arrays and null. Numbers
 * are written to buf. */
int wf_scalar_text(const json_t *v, char *buf, size_t size, const char **text);

/* Does the object hold what only a layout's JSON does? */
int wf_is_layout(const json_t *root);
/* Keys that a layout's JSON has beside its fields: "world" and "n_micro". */
int wf_is_derived_key(const char *key);
int wf_is_layout_key(const char *key);
/* Where the object has such a key: it says what the object's own fields come to. */
weft_status wf_layout_keys_agree(const char *path, const json_t *root) WEFT_MUST_CHECK;
#endif
