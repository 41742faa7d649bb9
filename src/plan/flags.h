/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_FLAGS_H
#define WF_PLAN_FLAGS_H
#include <weft/writer.h>

#include "plan/words.h"

/* Flags of another tool, as far as they mean something here. */
typedef enum wf_arity {
    WF_ON,    /* stands alone                                           */
    WF_ONOFF, /* --a.b, --a.no_b; a value true or false may follow      */
    WF_ONE,
    WF_MANY, /* one or more values                                     */
    WF_COST  /* changes time or memory in a way that weft has no model of */
} wf_arity;

typedef struct wf_flag_row {
    const char *name; /* as the tool's manual writes it */
    wf_arity arity;
} wf_flag_row;

typedef struct wf_seen {
    const wf_word *flag;
    const char *value; /* "" for flags that stand alone; NULL: not given */
    int off;
    int line;
} wf_seen;

enum { WF_MOST_FLAGS = 112 };

typedef struct wf_flags {
    int n;
    const wf_flag_row *row;
    int underscores; /* '-' is '_' in names, as tyro has it */
    wf_seen seen[WF_MOST_FLAGS];
    const wf_words *words;
    const char *const *known; /* the tool's other flags, "--a --b", NULL after the last
                                 list; NULL: not listed */
    weft_text ignored;    /* of them, blank-separated; without a list: without a row */
    weft_text unknown;    /* in no list                                */
    weft_text unmodelled; /* given WF_COST flags                       */
} wf_flags;

/* Values point into `words`. WEFT_E_INVALID: one flag with two values, a missing value, a
 * value with an unknown variable in it. Clear after a failure too. */
weft_status wf_flags_read(wf_flags *f, const wf_words *words) WEFT_MUST_CHECK;
void wf_flags_clear(wf_flags *f);

int wf_flags_given(const wf_flags *f, const char *name);
/* NULL when not given. */
const char *wf_flags_text(const wf_flags *f, const char *name);
/* On unless given off; `absent` when not given. */
int wf_flags_on(const wf_flags *f, const char *name, int absent);
/* Is it among the values of a WF_MANY flag? Value i of it, or NULL after the last. */
int wf_flags_has(const wf_flags *f, const char *name, const char *value);
const char *wf_flags_value_at(const wf_flags *f, const char *name, int i);
/* Names a given flag as one that has no model here. */
void wf_flags_unmodelled(wf_flags *f, const char *name);
/* *out changes only where the flag was given. */
weft_status wf_flags_f64(const wf_flags *f, const char *name,
                         double *out) WEFT_MUST_CHECK;
weft_status wf_flags_i64(const wf_flags *f, const char *name,
                         int64_t *out) WEFT_MUST_CHECK;
weft_status wf_flags_i32(const wf_flags *f, const char *name,
                         int32_t *out) WEFT_MUST_CHECK;
/* Of these (blank-separated) at most one may be given. */
weft_status wf_flags_at_most_one(const wf_flags *f, const char *names) WEFT_MUST_CHECK;
#endif
