/* SPDX-License-Identifier: Apache-2.0 */
/* A layout and a model from text, for the tests of layout. After cmocka.h. */
#ifndef WEFT_TESTS_LAYOUT_GIVEN_H
#define WEFT_TESTS_LAYOUT_GIVEN_H

#include <stdio.h>
#include <string.h>
#include <weft/layout.h>

static inline weft_arch given_arch(const char *text)
{
    weft_arch a;
    if (weft_arch_parse(text, &a)) fail_msg("%s: %s", text, weft_status_message());
    return a;
}

/* "--tp 2 --micro-batch 4": set on top of *l. */
static inline weft_status given_set(weft_layout *l, const char *flags)
{
    char text[256], *save = NULL;
    snprintf(text, sizeof text, "%s", flags);
    for (char *flag = strtok_r(text, " ", &save); flag;
         flag = strtok_r(NULL, " ", &save)) {
        const char *value = strtok_r(NULL, " ", &save);
        weft_status st = weft_layout_plan_set(l, flag, value ? value : "");
        if (st != WEFT_OK) return st;
    }
    return WEFT_OK;
}

/* Degrees that are not given are 1; --seq is 8 and --global-batch 8 unless given. */
static inline weft_layout given_layout(const char *flags)
{
    weft_layout l;
    weft_layout_defaults(&l);
    l.seq = l.global_batch = 8;
    if (given_set(&l, flags) || weft_layout_resolve(&l, 0, NULL))
        fail_msg("%s: %s", flags, weft_status_message());
    return l;
}

#endif
