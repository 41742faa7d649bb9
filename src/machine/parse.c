/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "base/num.h"

enum { MAX_WORD = 256 };

static const char *preset_name(const void *ctx, int i)
{
    return weft_machine_preset_at(i)->name;
}

static weft_status preset(const char *name, weft_machine *out)
{
    int n = weft_machine_preset_count();
    for (int i = 0; i < n; i++)
        if (!strcmp(name, preset_name(NULL, i))) {
            *out = *weft_machine_preset_at(i);
            return WEFT_OK;
        }
    const char *near = wf_nearest(name, n, preset_name, NULL);
    return WF_FAIL(WEFT_E_INVALID,
                   "machine '%s' is unknown%s%s%s; `weft machine list` has all", name,
                   near ? ", nearest is " : "", near ? near : "", "");
}

/* "8x8": nodes and ranks of each; "64": that many ranks in nodes of the usual size. */
static weft_status shape(const char *text, weft_machine *m)
{
    char first[MAX_WORD];
    const char *x = strchr(text, 'x');
    int64_t nodes = 1, ranks;

    if (!x)
        return WF_FAIL(
            WEFT_E_INVALID,
            "machine shape '%s': nodes x ranks of a node are needed, such as "
            "8x8",
            text);
    snprintf(first, sizeof first, "%.*s", (int)(x - text), text);
    WF_TRY(wf_num_i64("nodes", first, WF_COUNT, &nodes));
    WF_TRY(wf_num_i64("ranks of a node", x + 1, WF_PLAIN, &ranks));
    if (nodes < 1 || ranks < 1 || nodes > 1 << 24 || ranks > 1 << 24)
        return WF_FAIL(WEFT_E_INVALID, "machine shape '%s': 1 .. 16777216 of each",
                       text);
    m->nodes = (int32_t)nodes;
    m->ranks_per_node = (int32_t)ranks;
    return WEFT_OK;
}

/* The innermost links join a box, but for racks whose links join many. */
static void fit_domain(weft_machine *m, int32_t usual)
{
    weft_tier *t = &m->tier[0];
    if (t->ranks > usual) return; /* a rack of boxes */
    t->ranks = m->ranks_per_node;
}

static weft_status change(char *pair, weft_machine *m)
{
    char *value = strchr(pair, '=');
    if (!value)
        return WF_FAIL(WEFT_E_INVALID,
                       "machine change '%s': field=value is needed, such as "
                       "memory=80GiB",
                       pair);
    *value++ = 0;
    return weft_machine_set(m, pair, value);
}

weft_status weft_machine_parse(const char *text, weft_machine *out)
{
    char copy[1024], *next, *at = copy;
    weft_machine m;

    if (strlen(text) >= sizeof copy)
        return WF_FAIL(WEFT_E_INVALID,
                       "machine '%.40s...' is longer than %d characters", text,
                       (int)sizeof copy - 1);
    strcpy(copy, text);
    next = strchr(copy, ',');
    if (next) *next++ = 0;
    char *colon = strchr(at, ':');
    if (colon) *colon++ = 0;
    WF_TRY(preset(at, &m));
    if (colon) {
        int32_t usual = m.ranks_per_node;
        WF_TRY(shape(colon, &m));
        fit_domain(&m, usual);
    }
    while (next) {
        at = next;
        next = strchr(at, ',');
        if (next) *next++ = 0;
        WF_TRY(change(at, &m));
    }
    WF_TRY(weft_machine_check(&m));
    *out = m;
    return WEFT_OK;
}
