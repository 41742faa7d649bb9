/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/rule.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/fields.h"

static const wf_rule *const parts[] = {wf_rules_split, wf_rules_stages, wf_rules_plan,
                                       wf_rules_batch};
enum { N_PARTS = sizeof parts / sizeof *parts };

static const wf_rule *rule_at(int i)
{
    for (int p = 0; p < N_PARTS; p++)
        for (const wf_rule *r = parts[p]; r->name; r++)
            if (i-- == 0) return r;
    return NULL;
}

int weft_layout_rule_count(void)
{
    int n = 0;
    while (rule_at(n))
        n++;
    return n;
}

const char *weft_layout_rule_name(int i)
{
    return rule_at(i)->name;
}

const char *weft_layout_rule_text(int i)
{
    return rule_at(i)->text;
}

int wf_rule_index(const char *name)
{
    int i = 0;
    while (strcmp(rule_at(i)->name, name))
        i++;
    return i;
}

weft_status weft_layout_check(const weft_layout *l, const weft_arch *a)
{
    WF_TRY(wf_field_check(wf_layout_table(), l));
    return weft_layout_plan_check(l, a);
}

weft_status weft_layout_plan_check(const weft_layout *l, const weft_arch *a)
{
    for (int p = 0; p < N_PARTS; p++)
        for (const wf_rule *r = parts[p]; r->name; r++)
            if (!r->holds(l, a)) return r->broken(l, a);
    return WEFT_OK;
}

int wf_rules_hold(const weft_layout *l, const weft_arch *a, int last)
{
    const wf_rule *r;
    for (int i = 0; (r = rule_at(i)) && (last < 0 || i <= last); i++)
        if (!r->holds(l, a)) return 0;
    return 1;
}

/* ---- nearest legal values -------------------------------------------------------- */

enum { MAX_TRIES = 4096 }; /* on either side */

static int is_legal(const wf_legal *q, int64_t x, int last)
{
    weft_layout l = *q->l;
    q->set(&l, x);
    return wf_rules_hold(&l, q->a, last);
}

/* Up to q->each legal values from x on, going by `step`; nearest first. */
static int walk(const wf_legal *q, int64_t x, int64_t step, int last, int64_t *value)
{
    int n = 0;
    for (int i = 0; i < MAX_TRIES && n < q->each && x >= q->lo && x <= q->hi;
         i++, x += step)
        if (is_legal(q, x, last)) value[n++] = x;
    return n;
}

static int search(const wf_legal *q, int last, int64_t *value)
{
    int64_t down[WF_LEGAL_MAX];
    int64_t below = q->from > q->hi ? q->hi : q->from;
    int64_t above = q->from < q->lo ? q->lo : q->from + q->step;
    int n = walk(q, below, -q->step, last, down);

    for (int i = 0; i < n; i++)
        value[i] = down[n - 1 - i];
    return n + walk(q, above, q->step, last, value + n);
}

int wf_legal_values(const wf_legal *q, int64_t *value)
{
    assert(2 * q->each <= WF_LEGAL_MAX);
    int n = search(q, -1, value);
    return n ? n : search(q, wf_rule_index(q->rule), value);
}

const char *wf_legal_text(const wf_legal *q, char *buf)
{
    int64_t value[WF_LEGAL_MAX];
    int n = wf_legal_values(q, value), used = 0;

    buf[0] = 0;
    for (int i = 0; i < n && used < WF_LEGAL - 24; i++)
        used += snprintf(buf + used, (size_t)(WF_LEGAL - used), "%s%lld", i ? " " : "",
                         (long long)value[i]);
    return buf;
}
