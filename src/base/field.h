/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_BASE_FIELD_H
#define WF_BASE_FIELD_H
#include <stddef.h>

#include "base/json.h"
#include "base/num.h"

/* One table per described struct drives setting from text, JSON, help and completion. */

typedef enum wf_type {
    WF_I32,
    WF_I64,
    WF_F64,
    WF_BOOL,  /* stored as int32_t */
    WF_CHOICE /* one of the words of `text` ("none|head|full"), stored as its place in
                 int32_t; the first is the default */
    ,
    WF_STRING
} wf_type;

typedef enum wf_when {
    WF_NOW,
    WF_LATER /* known, but only its default is accepted: "not in this version" */
} wf_when;

typedef struct wf_field {
    const char *name;  /* as in JSON: "micro_batch"; the flag is --micro-batch     */
    const char *alias; /* other accepted names, space-separated; NULL: none        */
    wf_type type;
    wf_unit unit;
    size_t offset, size; /* in the struct; size 0: nothing is stored (WF_LATER only) */
    double min, max;     /* of numbers, inclusive; exact as doubles                 */
    const char
        *text; /* default, as the user would type it; NULL: none, stored as zero */
    wf_when when;
    const char *help; /* one line, no full stop */
} wf_field;

typedef struct wf_table {
    const char *what;   /* what a name of the table is: "layout option"          */
    const char *prefix; /* before a name in messages: "--" (hyphens) or "" (as is) */
    int n;
    const wf_field *field;
} wf_table;

/* Offset and size of a member, for table rows. */
#define WF_AT(struct_type, member)                                                     \
    offsetof(struct_type, member), sizeof(((struct_type *)0)->member)

/* Index of the field of this name or alias, with or without leading "--", '-' and '_'
 * alike; -1 when there is none. */
WEFT_API int wf_field_find(const wf_table *t, const char *name);
/* Fails with the nearest known name. */
WEFT_API WEFT_MUST_CHECK weft_status wf_field_require(const wf_table *t,
                                                      const char *name, int *index);
/* How messages call it: "--micro-batch". buf >= 64 bytes; returns buf. */
WEFT_API const char *wf_field_label(const wf_table *t, int i, char *buf);

/* Set one field from text; the struct is unchanged on failure. Messages name the field,
 * the value, the range or the unit, and for unknown names the nearest known one. */
WEFT_API WEFT_MUST_CHECK weft_status wf_field_set(const wf_table *t, void *obj,
                                                  const char *name, const char *value);
/* Every field to its default text (a bad default is a bug: asserted). */
WEFT_API void wf_field_defaults(const wf_table *t, void *obj);
/* A struct that may have been filled by hand: ranges, strings that end inside their
 * array, nothing missing that has no default, nothing that this version lacks. */
WEFT_API WEFT_MUST_CHECK weft_status wf_field_check(const wf_table *t, const void *obj);

/* Value as text that wf_field_set() takes back exactly. */
WEFT_API void wf_field_print(const wf_table *t, int i, const void *obj,
                             weft_writer *out);
/* One key and value per stored field, into an open object. */
WEFT_API void wf_field_put_json(const wf_table *t, const void *obj, wf_json *j);
#endif
